#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: t_symbols.sh HEADER C-COMPILER SHARED-LIBRARY ARCHIVE
# The shared library exports what the header declares, no more and no less; the archive's
# global names stay within the project's prefixes.
set -euo pipefail

header=$1 cc=$2 shared=$3 archive=$4
failed=0

expect_empty() {
	if [[ -n $2 ]]; then
		printf '%s:\n%s\n' "$1" "$2" >&2
		failed=1
	fi
}

declared=$("$cc" -E -P "$header" | grep -o '\bpathcache_[a-z0-9_]* *(' | tr -d ' (' | sort -u)
exported=$(nm -D --defined-only "$shared" | awk '$2 ~ /[A-Z]/ && $2 != "A" { print $3 }' |
	sed 's/@.*//' | sort -u)
[[ -n $declared ]] || { echo "found no function in $header" >&2; exit 1; }

expect_empty "declared, not exported" "$(comm -23 <(echo "$declared") <(echo "$exported"))"
expect_empty "exported, not declared" "$(comm -13 <(echo "$declared") <(echo "$exported"))"

versions=$(nm -D --defined-only "$shared" | awk '$2 == "T" { print $3 }' |
	grep -v '@@PATHCACHE_0\.1$' || true)
expect_empty "without the version node PATHCACHE_0.1" "$versions"

foreign=$(nm -g --defined-only "$archive" 2>/dev/null | awk 'NF == 3 { print $3 }' |
	grep -Ev '^(pathcache|pc|rp|lockref)_|^DW\.ref\.__gcc_personality' || true)
expect_empty "global names of the archive outside the prefixes" "$foreign"

dynamic=$(readelf -dW "$shared")
for wanted in "soname: \[$(basename "$shared" | sed 's/\.so.*/.so.0/')\]" NODELETE; do
	grep -q "$wanted" <<<"$dynamic" || { echo "$shared lacks: $wanted" >&2; failed=1; }
done
if grep -q TEXTREL <<<"$dynamic"; then
	echo "$shared has text relocations" >&2
	failed=1
fi
exit $failed
