#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The README shows the compiled example, and names only files that exist.
# usage: readme.sh SOURCE_FOLDER
. "$(dirname "$0")/lib.sh"
source=$1

sed -n '/^\/\* README begins \*\/$/,/^\/\* README ends \*\/$/p' "$source/examples/embed.c" |
	sed '1d;$d' >"$work/example"
[ -s "$work/example" ] || fail "examples/embed.c has no marked part"
sed -n '/^```c$/,/^```$/p' "$source/README.md" | sed '1d;$d' >"$work/shown"
diff -u "$work/example" "$work/shown" >"$work/out" || fail "README.md shows another example"

lines=$(wc -l <"$work/example")
[ "$lines" -le 25 ] || fail "the example has grown to $lines lines"

sed -n 's/^[^`]*](\([^):#]*\)).*/\1/p' "$source/README.md" >"$work/links"
[ -s "$work/links" ] || fail "README.md has no links, or they are written in another way"
while read -r link; do
	[ -e "$source/$link" ] || fail "README.md links to $link, which does not exist"
done <"$work/links"
