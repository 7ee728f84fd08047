#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: t_includes.sh ROOT
# Includes go down only: examples, bench, tests -> cache -> rcu_path -> lockref.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cd "$1"

# Folder, and the folders whose headers it may include besides its own.
arrows() {
	cat <<-'END'
	lockref
	rcu_path  lockref
	cache     rcu_path lockref
	bench     cache rcu_path lockref
	examples  cache/pathcache.h
	tests     cache rcu_path lockref
	cmake     cache/pathcache.h
	END
}

# Folder, and a pattern of <headers> that it knows nothing of.
strangers() {
	cat <<-'END'
	lockref   ^urcu
	rcu_path  ^urcu
	lockref   ^jemalloc
	rcu_path  ^jemalloc
	END
}

awk '
function dirname(path) { return match(path, /\/[^\/]*$/) ? substr(path, 1, RSTART - 1) : "." }
function top(path) { return index(path, "/") ? substr(path, 1, index(path, "/") - 1) : "." }
function report(message) {
	printf "%s:%d: %s\n", FILENAME, FNR, message
	bad = 1
}
function tail(text, end) { return substr(text, length(text) - length(end) + 1) == end }
# "a/b/../c" -> "a/c"
function tidy(path) {
	while (match(path, /[^\/]+\/\.\.\//))
		path = substr(path, 1, RSTART - 1) substr(path, RSTART + RLENGTH)
	gsub(/\/\.\//, "/", path)
	sub(/^\.\//, "", path)
	return path
}
# The file that #include "name" in file means: beside it, else elsewhere in its own top folder,
# else in the folder of another layer.
function resolve(file, name,   path, i) {
	path = tidy(dirname(file) "/" name)
	if (path in exists)
		return path
	for (path in exists)
		if (top(path) == top(file) && tail(path, "/" name))
			return path
	for (i = 1; i <= nfolders; i++)
		if ((folders[i] "/" name) in exists)
			return folders[i] "/" name
	return ""
}
function allowed(from, to,   i, n, targets) {
	if (top(from) == top(to))
		return 1
	n = split(arrow[top(from)], targets, " ")
	for (i = 1; i <= n; i++)
		if (targets[i] == to || targets[i] == top(to))
			return 1
	return 0
}
phase == "arrows" {
	folders[++nfolders] = $1
	name = $1
	$1 = ""
	arrow[name] = $0
	next
}
phase == "strangers" { stranger[++nstrangers] = $1; pattern[nstrangers] = $2; next }
phase == "files" { exists[$0] = 1; next }
FNR == 1 && !(top(FILENAME) in arrow) { report("folder " top(FILENAME) " has no place in the layers") }
/^[ \t]*#[ \t]*include(_next)?[ \t]*</ {
	name = $0
	sub(/^[^<]*</, "", name)
	sub(/>.*/, "", name)
	for (i = 1; i <= nstrangers; i++)
		if (stranger[i] == top(FILENAME) && name ~ pattern[i])
			report("<" name "> is not for " top(FILENAME) "/")
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
	name = $0
	sub(/^[^"]*"/, "", name)
	sub(/".*/, "", name)
	target = resolve(FILENAME, name)
	if (target == "")
		report("\"" name "\" is nowhere in this tree")
	else if (!allowed(FILENAME, target))
		report(top(FILENAME) "/ may not include " target)
}
END { exit bad }
' phase=arrows <(arrows) phase=strangers <(strangers) phase=files <("$here/sources.sh") \
	phase=sources $("$here/sources.sh")
