# SPDX-License-Identifier: LGPL-2.1-or-later
#
# usage: strace -f -y ... | LC_ALL=C awk -v cwd=DIR -v maps=LIST -f strace.awk
# Turns what record.sh makes strace(1) write into operations, one a line: "OP PATH RESULT".
# cwd: of the first process. maps: FROM=TO, one a line; a path at or below FROM is told as
# one below TO, by the first that fits.

BEGIN {
	split("stat stat64 newfstatat fstatat64 statx", calls, " ")
	for (i in calls) op[calls[i]] = "stat"
	op["lstat"] = op["lstat64"] = "lstat"
	op["access"] = op["faccessat"] = op["faccessat2"] = "access"
	op["readlink"] = op["readlinkat"] = "readlink"
	op["open"] = op["openat"] = op["openat2"] = "open"
	op["execve"] = op["execveat"] = "exec"
	op["creat"] = op["mknod"] = op["mknodat"] = "create"
	op["unlink"] = op["unlinkat"] = "unlink"
	op["rmdir"] = "rmdir"
	op["mkdir"] = op["mkdirat"] = "mkdir"
	op["chmod"] = op["fchmodat"] = op["fchmodat2"] = "chmod"
	op["chown"] = op["lchown"] = op["fchownat"] = "chown"
	op["utime"] = op["utimes"] = op["utimensat"] = op["futimesat"] = "utime"
	op["truncate"] = "utime" # other attributes, of which no more is said
	nmaps = split(maps, map, "\n")
	# The bytes that strace writes in octal.
	for (i = 1; i < 256; i++) byte[sprintf("%o", i)] = sprintf("%c", i)
	escape["n"] = "\n"; escape["t"] = "\t"; escape["r"] = "\r"; escape["v"] = "\v"; escape["f"] = "\f"
}

function unescape(text,   out, c) {
	while (match(text, /\\/)) {
		out = out substr(text, 1, RSTART - 1)
		text = substr(text, RSTART + 1)
		if (match(text, /^[0-7][0-7][0-7]/) || match(text, /^[0-7][0-7]/) || match(text, /^[0-7]/)) {
			c = substr(text, 1, RLENGTH)
			text = substr(text, RLENGTH + 1)
			sub(/^0+/, "", c)
			out = out byte[c]
		} else {
			c = substr(text, 1, 1)
			text = substr(text, 2)
			out = out (c in escape ? escape[c] : c)
		}
	}
	return out text
}

# What is at the front of rest is taken off it: a directory's descriptor, or a text.
function take_dir(   text) {
	if (!match(rest, /^(AT_FDCWD|-?[0-9]+)(<[^>]*>)?(\(deleted\))?, /))
		return ""
	text = substr(rest, 1, RLENGTH)
	rest = substr(rest, RLENGTH + 1)
	if (!match(text, /<[^>]*>/))
		return here[pid]
	text = substr(text, 1, RSTART + RLENGTH - 1)
	is_cwd = text ~ /^AT_FDCWD/
	text = unescape(substr(text, RSTART + 1, length(text) - RSTART - 1))
	if (is_cwd)
		here[pid] = text
	return text
}

function take_text(   text) {
	if (!match(rest, /^"([^"\\]|\\.)*"/))
		return ""
	text = substr(rest, 2, RLENGTH - 2)
	rest = substr(rest, RLENGTH + 1)
	return unescape(text)
}

# A path, with the descriptor that it begins at where the call has one.
function take_path(   dir, name) {
	dir = take_dir()
	name = take_text()
	sub(/^, /, "", rest)
	if (name == "" || name ~ /\n/)
		return ""
	if (name ~ /^\//)
		return name
	if (dir == "")
		dir = here[pid]
	return (dir == "/" ? "" : dir) "/" name
}

function mapped(path,   i, from, at) {
	for (i = 1; i <= nmaps; i++) {
		at = index(map[i], "=")
		from = substr(map[i], 1, at - 1)
		if (from != "" && (path == from || index(path, from "/") == 1))
			return substr(map[i], at + 1) substr(path, length(from) + 1)
	}
	return path
}

function tell(what, path) {
	if (path != "")
		print what, mapped(path), result
}

# What an open is called: the flags are in rest.
function open_kind() {
	if (rest ~ /O_TMPFILE/) return ""
	if (rest ~ /O_CREAT/) return "create"
	if (rest ~ /O_DIRECTORY/) return "opendir"
	return rest ~ /O_NOFOLLOW/ ? "opennf" : "open"
}

function tell_two(what,   from, to) {
	from = take_path()
	to = take_path()
	if (from == "" || to == "")
		return
	if (what == "rename")
		print what, mapped(from), mapped(to), result
	else
		tell(what, to)
}

function tell_one(what,   path) {
	path = take_path()
	if (what == "stat" && rest ~ /AT_SYMLINK_NOFOLLOW/) what = "lstat"
	if (what == "unlink" && rest ~ /AT_REMOVEDIR/) what = "rmdir"
	if (what == "open") what = open_kind()
	if (what != "") tell(what, path)
}

function call(name,   path) {
	if (name ~ /^(clone3?|fork|vfork)$/) {
		if (value + 0 > 0 && !(value + 0 in seen)) here[value + 0] = here[pid]
	} else if (name == "chdir") {
		path = take_path()
		tell("chdir", path)
		if (result == "ok") here[pid] = path
	} else if (name == "fchdir") {
		rest = rest ", "
		path = take_dir()
		if (result == "ok") here[pid] = path
	} else if (name ~ /^rename/) {
		tell_two("rename")
	} else if (name ~ /^link/) {
		tell_two("create")
	} else if (name ~ /^symlink/) {
		take_text()
		sub(/^, /, "", rest)
		tell_one("symlink")
	} else if (name != "getcwd") {
		tell_one(name in op ? op[name] : name)
	}
}

{
	pid = $1 + 0
	line = $0
	sub(/^[0-9]+ +/, "", line)
	if (!(pid in seen)) {
		# A child may be heard of before its parent has been told its number.
		if (!(pid in here)) here[pid] = forker in here ? here[forker] : cwd
		seen[pid] = 1
	}
	if (line ~ /^(clone3?|fork|vfork)\(/) forker = pid
	if (line ~ / <unfinished \.\.\.>$/) {
		sub(/ <unfinished \.\.\.>$/, "", line)
		begun[pid] = line
		next
	}
	if (line ~ /^<\.\.\. [a-z0-9_]+ resumed>/) {
		sub(/^<\.\.\. [a-z0-9_]+ resumed>/, "", line)
		line = begun[pid] line
		delete begun[pid]
	}
	if (!match(line, /^[a-z0-9_]+\(/))
		next
	name = substr(line, 1, RLENGTH - 1)
	rest = substr(line, RLENGTH + 1)
	if (!match(rest, /\) += (-1 E[A-Z0-9]+ .*|-?[0-9]+(<.*>)?(\(deleted\))?|\?.*)$/))
		next
	value = substr(rest, RSTART)
	rest = substr(rest, 1, RSTART - 1)
	sub(/^\) += /, "", value)
	if (value ~ /^\?/)
		next
	result = "ok"
	if (value ~ /^-1 E/) {
		split(value, words, " ")
		result = words[2]
	}
	call(name)
}
