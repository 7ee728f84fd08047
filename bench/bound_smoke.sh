#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does bench_bound run all its scenarios, and does the bound hold in each?
# usage: bound_smoke.sh BENCH_BOUND
set -eu
bench=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail()
{
	echo "bound_smoke: $*" >&2
	for file in "$work/out" "$work/err"; do
		if [ -f "$file" ]; then tail -n 30 "$file" | sed 's/^/  /' >&2; fi
	done
	exit 1
}

expect()
{
	grep -Eq -- "$1" "$2" || fail "no line like '$1' in $(basename "$2")"
}

"$bench" --help >"$work/help" || fail "--help failed"
expect '^usage: bench_bound' "$work/help"
scenarios=$(sed -n 's/^scenarios: //p' "$work/help")

"$bench" --quick --csv "$work/csv" >"$work/out" 2>"$work/err" || fail "the bench failed"
for scenario in $scenarios; do
	expect "^$scenario .* holds" "$work/out"
done

expect '^bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra$' "$work/csv"
awk -F, -v scenarios="$scenarios" '
NR == 1 { next }
NF != 11 || !($6 > 0 && $7 > 0) || $11 !~ /bytes_peak=[1-9].*;lost=0;verdict=holds$/ {
	bad = bad " line " NR
}
{ seen = seen (seen ? " " : "") $2 }
END {
	if (bad || seen != scenarios) {
		print "wrong in the CSV file:" bad " rows: " seen
		exit 1
	}
}' "$work/csv" >&2 || fail "the CSV file is not as it should be"

refuses()
{
	want=$1
	text=$2
	shift 2
	status=0
	"$bench" "$@" >"$work/out" 2>"$work/err" || status=$?
	[ "$status" -eq "$want" ] || fail "'$*' ended with $status, not $want"
	expect "$text" "$work/err"
}

refuses 1 "$work/absent/csv: No such file or directory" --quick --csv "$work/absent/csv"
refuses 2 'no such scenario: warp' --scenario negatives,warp
refuses 2 'not a number of MiB: 0' --budget 0
refuses 2 'usage' --no-such-option
