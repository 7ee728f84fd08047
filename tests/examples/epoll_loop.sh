#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: epoll_loop.sh EXAMPLE
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/dialogue.sh"

tree=$work/tree
mkdir -p "$tree/dir"
printf 'four' >"$tree/dir/file"

start "$1" "$tree"
ask dir/file "dir/file: 4 bytes"
ask dir/file "dir/file: 4 bytes"
ask dir/new "dir/new: No such file or directory"

# Each change was finished before the request, so the very next answer knows of it.
printf 'more' >>"$tree/dir/file"
ask dir/file "dir/file: 8 bytes"
printf 'x' >"$tree/dir/new"
ask dir/new "dir/new: 1 bytes"
mv "$tree/dir/new" "$tree/dir/file"
ask dir/file "dir/file: 1 bytes"
ask dir/new "dir/new: No such file or directory"
mv "$tree/dir" "$tree/moved"
ask dir/file "dir/file: No such file or directory"
ask moved/file "moved/file: 1 bytes"
rm "$tree/moved/file"
ask moved/file "moved/file: No such file or directory"
stop

run 2 "$1"
has err '^usage: '
run 2 "$1" "$tree/absent"
is err "$tree/absent: No such file or directory"
