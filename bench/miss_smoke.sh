#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does bench_miss run all its scenarios, are the answers right, and does it leave nothing?
# usage: miss_smoke.sh BENCH_MISS
. "$(dirname "$0")/smoke.sh"

mkdir -p "$work/tree/a/b" "$work/tmp"
for i in 1 2 3 4 5 6 7 8; do
	echo "$i" >"$work/tree/a/f$i"
	ln -s "../f$i" "$work/tree/a/b/l$i"
done
ln -s nowhere "$work/tree/dangling"

"$bench" --help >"$work/help" || fail "--help failed"
expect '^usage: bench_miss' "$work/help"

# A tree of its own, which is more than /tree has; then one that is there.
PATHCACHE_SEED=1 "$bench" --quick --files 3000 --tmp "$work/tmp" --csv "$work/csv" \
	>"$work/out" 2>"$work/err" || fail "the bench failed"
expect '^seed: 1$' "$work/out"
expect '^cold-scan +cache-quarter .* 1\.40 (met|missed)' "$work/out"
expect '^cold-scan +fstatat( +[0-9.]+){5} +1\.00 +(1\.00|-) +-$' "$work/out"
expect '^churn +cache .* 1\.25 (met|missed)' "$work/out"
expect '^beside-misses ' "$work/out"
"$bench" --quick --dir "$work/tree" --scenario cold-scan >"$work/out" 2>"$work/err" ||
	fail "the bench failed with --dir"
expect '^20 files, mean depth ' "$work/out"
[ -z "$(ls "$work/tmp")" ] || fail "files were left"

expect '^miss,churn,cache,.*;floor_ns=[1-9][0-9.]*(;ratio_less_floor=-?[0-9.]+)?$' "$work/csv"
expect '^bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra$' "$work/csv"
awk -F, '
NF != 11 || (NR > 1 && !($9 <= $7 && $7 <= $10 && $8 > 0)) { bad = bad " line " NR }
{ seen = seen " " $2 "/" $3 }
END {
	want = " scenario/mode cold-scan/fstatat cold-scan/cache cold-scan/cache-quarter" \
		" churn/system-calls churn/cache" \
		" evict-p99/reader-alone evict-p99/beside-syscalls evict-p99/beside-misses"
	if (bad || seen != want) {
		print "wrong in the CSV file:" bad " rows:" seen
		exit 1
	}
}' "$work/csv" >&2 || fail "the CSV file is not as it should be"

refuses 1 "$work/absent: No such file or directory" --quick --dir "$work/absent"
refuses 1 "$work/absent/csv: No such file or directory" --quick --csv "$work/absent/csv"
refuses 2 'no such scenario: warp' --scenario churn,warp
refuses 2 'not a number of rounds: 3' --rounds 3
refuses 2 'usage' --no-such-option
