#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: embed.sh EXAMPLE
. "$(dirname "$0")/lib.sh"
embed=$1

printf 'seven b' >"$work/file"
mkdir "$work/dir"
ln -s ../file "$work/dir/link"
run 0 "$embed" "$work/file"
is out "$work/file: 7 bytes"
is err ""
run 0 "$embed" "$work/dir/link"
is out "$work/dir/link: 7 bytes"
run 1 "$embed" "$work/absent"
is out ""
is err "$work/absent: No such file or directory"
run 1 "$embed" "$work/file/x"
is err "$work/file/x: Not a directory"
