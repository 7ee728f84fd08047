#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does record.sh record a small program, and does bench_replay replay what it wrote?
# usage: record_test.sh BENCH_REPLAY
set -eu
bench=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! command -v strace >/dev/null || ! strace -qq -o /dev/null true 2>/dev/null; then
	echo "no strace(1), or it may not trace here"
	exit 77
fi

cat >"$work/program" <<'END'
mkdir 'a dir' 'a dir/x'
cd 'a dir'
echo text >first
mv first x/second
ln -s x link
cat link/second
test -e nothing
(cd x && rm second && rmdir ../x)
rm link
cd ..
rmdir 'a dir'
exit 3
END
cd "$work"
status=0
"$here/record.sh" --map "$(pwd -P)=/src/small" "$work/small.trace.xz" sh program >"$work/out" ||
	status=$?
[ "$status" -eq 3 ] || { echo "ended with $status, not as the program"; exit 1; }
xz -dc small.trace.xz >trace

# In this order, whatever else the tools of this machine do.
awk '
BEGIN {
	n = split("open /src/small/program ok|mkdir /src/small/a dir ok|mkdir /src/small/a dir/x ok|" \
		"chdir /src/small/a dir ok|create /src/small/a dir/first ok|" \
		"rename /src/small/a dir/first /src/small/a dir/x/second ok|" \
		"symlink /src/small/a dir/link ok|open /src/small/a dir/link/second ok|" \
		"unlink /src/small/a dir/x/second ok|rmdir /src/small/a dir/x/../x ok|" \
		"unlink /src/small/a dir/link ok|rmdir /src/small/a dir ok", want, "|")
	at = 1
}
$0 == want[at] { at++ }
/ \/src\/small\/a dir\/nothing ENOENT$/ { absent = 1 }
index($0, work) { named = 1 }
END {
	if (at <= n) print "not recorded in its place: " want[at]
	if (!absent) print "an absent name was not recorded"
	if (named) print "a path was not mapped"
	exit at <= n || !absent || named
}' work="$work" trace || { cat trace; exit 1; }

"$bench" --quick --mode rcu,syscall small.trace.xz >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
# Where the link that it makes leads is not recorded.
grep -Eq '^as recorded: .* \((99|100)\.' "$work/out" || { cat "$work/out"; exit 1; }
