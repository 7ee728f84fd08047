#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: stat.sh PATHCACHE_STAT
. "$(dirname "$0")/lib.sh"
pstat=$1

tree=$work/tree
mkdir -p "$tree/dir/sub"
printf 'contents' >"$tree/dir/file"
chmod 0640 "$tree/dir/file"
ln -s dir/file "$tree/link"
ln -s dir "$tree/dlink"
ln -s /dir/file "$tree/absolute"
ln -s nowhere "$tree/dangling"
ln -s loop "$tree/loop"
mkfifo "$tree/fifo"

# Every field that stat(1) knows of, for several kinds of files, links followed and not.
check_attributes()
{
	path=$1
	follow=$2
	option=$3
	run 0 "$pstat" $option "$path"
	has out "^  Size: $(stat $follow -c %s "$path")  Blocks: $(stat $follow -c %b "$path")  "
	has out "  Inode: $(stat $follow -c %i "$path")  Links: $(stat $follow -c %h "$path")"
	has out "^  Mode: $(stat $follow -c %a "$path" | sed 's/^/0000/;s/.*\(....\)$/\1/')  "
	has out "  Uid: $(stat $follow -c %u "$path")  Gid: $(stat $follow -c %g "$path")$"
	has out "^Modify: $(stat $follow -c %y "$path" | sed 's/[+]/[+]/')$"
	has out "^Change: $(stat $follow -c %z "$path" | sed 's/[+]/[+]/')$"
	is err ""
}
for path in "$tree" "$tree/dir/file" "$tree/fifo" "$tree/link" "$tree/dlink/sub"; do
	check_attributes "$path" -L ""
	check_attributes "$path" "" --nofollow
done
for mode in rcu lockref refwalk locked; do
	check_attributes "$tree/link" -L "--mode $mode"
done
run 0 "$pstat" --nofollow "$tree/link"
has out "^  File: $tree/link -> dir/file$"
has out 'symbolic link$'
run 0 "$pstat" /dev/null
has out 'character device$'
has out '  Device type: 1,3$'

# Errors: to stderr, one line each, and the other paths are answered.
run 1 "$pstat" --readlink "$tree/absent" "$tree/link" "$tree/dir/file/x" "$tree/dir"
is out "dir/file"
is err "$tree/absent: No such file or directory
$tree/dir/file/x: Not a directory
$tree/dir: Invalid argument"
run 1 "$pstat" "$tree/loop" "$tree/dangling" ""
is out ""
is err "$tree/loop: Too many levels of symbolic links
$tree/dangling: No such file or directory
: No such file or directory"
long=$(printf '%0256d' 0)
run 1 "$pstat" "$tree/$long"
is err "$tree/$long: File name too long"

# Relative paths start at the current directory, or at --root when there is one.
canonical=$(cd "$tree" && pwd -P)
(cd "$tree/dir" && run 0 "$pstat" --realpath file ../link . .. && is out "$canonical/dir/file
$canonical/dir/file
$canonical/dir
$canonical")
run 0 "$pstat" --root "$tree" --realpath dlink/file absolute /.. ../../dir
is out "/dir/file
/dir/file
/
/dir"
gone=$work/gone
mkdir "$gone"
(cd "$gone" && rmdir "$gone" && run 1 "$pstat" --realpath x / && is out "/" &&
	is err "x: No such file or directory")

# Names from standard input, in which even a newline is a byte of the name.
mkdir "$tree/new
line"
printf '%s\0' "$tree/dir" "$tree/new
line" "$tree/absent" >"$work/names"
status=0
"$pstat" -0 --realpath "$tree/link" <"$work/names" >"$work/out" 2>"$work/err" || status=$?
[ "$status" -eq 1 ] || fail "-0 ended with $status"
is out "$canonical/dir/file
$canonical/dir
$canonical/new
line"
is err "$tree/absent: No such file or directory"
printf '%s' "$tree/dir" >"$work/names"
run 0 "$pstat" --null --realpath <"$work/names"
is out "$canonical/dir"
: >"$work/names"
run 0 "$pstat" --null <"$work/names"
is out ""

run 0 "$pstat" --access f "$tree/dir/file"
is out "$tree/dir/file: allowed"
run 1 "$pstat" --access x "$tree/dir/file"
is err "$tree/dir/file: Permission denied"
run 1 "$pstat" --access f "$tree/dangling"
is err "$tree/dangling: No such file or directory"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 0711 "$work"
	chmod 0700 "$tree/dir/sub"
	other="setpriv --reuid 65534 --regid 65534 --clear-groups"
	if $other "$pstat" --help >/dev/null 2>&1; then
		run 1 $other "$pstat" --access r "$tree/dir/file" "$tree/dir" "$tree/dir/sub/."
		is out "$tree/dir: allowed"
		is err "$tree/dir/file: Permission denied
$tree/dir/sub/.: Permission denied"
	fi
fi

run 0 "$pstat" --repeat 1000 --readlink "$tree/link"
has out '^dir/file$'
has out "^$tree/link: 1000 lookups, [0-9]+[.][0-9] ns each$"
run 1 "$pstat" --repeat 10 "$tree/absent"
has out "^$tree/absent: 10 lookups, [0-9.]+ ns each$"
run 0 "$pstat" --stats --realpath "$tree/dir" "$tree/dir" "$tree/dir"
has out '^lookups: [0-9]+, answered from memory: ([2-9]|[0-9]{2,})$'
has out '^questions to the kernel: [1-9]'
has out '^in memory: [1-9][0-9]* names'

# Wrong usage and what cannot be opened.
misuse()
{
	text=$1
	shift
	run 2 "$pstat" "$@"
	is out ""
	has err "$text"
}
misuse 'no path given'
misuse 'only one of' --access r --readlink "$tree"
misuse 'not rz' --access rz "$tree"
misuse 'needs letters' --access '' "$tree"
misuse 'not fast' --mode fast "$tree"
misuse 'at least 1, not 0$' --repeat 0 "$tree"
misuse 'at least 1, not -1$' --repeat=-1 "$tree"
misuse 'at least 1, not 1x$' --repeat 1x "$tree"
misuse 'at least 1, not 99999999999999999999$' --repeat 99999999999999999999 "$tree"
misuse 'realpath follows' --realpath --nofollow "$tree"
misuse "pathcache-stat --help" --frobnicate "$tree"
misuse "$tree/absent: No such file or directory" --root "$tree/absent" /
misuse "$tree/dir/file: Not a directory" --root "$tree/dir/file" /
run 0 "$pstat" --help
has out '^usage: pathcache-stat'
run 0 "$pstat" --version
has out '^pathcache-stat [0-9]+[.][0-9]+[.][0-9]+$'
if [ -c /dev/full ]; then
	status=0
	"$pstat" "$tree" >/dev/full 2>"$work/err" || status=$?
	[ "$status" -eq 2 ] || fail "a full disk ended with $status"
fi
