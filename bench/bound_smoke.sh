#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does bench_bound run all its scenarios, and does the bound hold in each?
# usage: bound_smoke.sh BENCH_BOUND
. "$(dirname "$0")/smoke.sh"

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

refuses 1 "$work/absent/csv: No such file or directory" --quick --csv "$work/absent/csv"
refuses 2 'no such scenario: warp' --scenario negatives,warp
refuses 2 'not a number of MiB: 0' --budget 0
refuses 2 'usage' --no-such-option
