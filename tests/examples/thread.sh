#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: thread.sh EXAMPLE
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/dialogue.sh"

tree=$work/tree
mkdir -p "$tree/dir"
printf 'four' >"$tree/dir/file"

start "$1" "$tree"
ask dir/file "dir/file: 4 bytes"
ask dir/file "dir/file: 4 bytes"

# Without being asked for it, before long.
printf 'more' >>"$tree/dir/file"
ask_until dir/file "dir/file: 8 bytes"

# Or at once.
for size in 1 2 3 4 5 6 7; do
	printf '%0*d' "$size" 0 >"$tree/dir/file"
	tell sync
	ask dir/file "dir/file: $size bytes"
done
mv "$tree/dir" "$tree/moved"
tell sync
ask dir/file "dir/file: No such file or directory"
ask moved/file "moved/file: 7 bytes"
stop

run 2 "$1"
has err '^usage: '
run 2 "$1" "$tree/absent"
is err "$tree/absent: No such file or directory"
