#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Do all scenarios of bench_lockref run, and are its ways to count exact?
# usage: smoke.sh BENCH_LOCKREF
. "$(dirname "$0")/../smoke.sh"

"$bench" --help >"$work/help" || fail "--help failed"
expect '^usage: bench_lockref' "$work/help"

# The control comes last: a count that loses references is found out.
"$bench" --check >"$work/out" 2>"$work/err" || fail "a way to count is not exact"
for mode in word lockref_wait1000 locked_tas rcuref saturating percpu_atomic rwsem_perthread; do
	expect "^$mode: (exact|not on this system)$" "$work/out"
done
expect '^rcu: exact$' "$work/out"
expect '^broken: caught, ' "$work/out"

"$bench" --quick --threads 2 --mode word,lockref,percpu,rcu \
	--csv "$work/csv" >"$work/out" 2>"$work/err" || fail "the bench failed"
for scenario in open1 open3 stat2 sporadic_10 sporadic_1k sporadic_100k recover mix dying \
	near_readmostly_shared near_readmostly_apart near_written_shared near_written_apart; do
	expect "^$scenario +word +2 " "$work/out"
	expect "^$scenario +rcu +2 " "$work/out"
	expect "^lockref,$scenario,lockref,2,0.00,1,.*retries=" "$work/csv"
done
expect '^lockref,self,word,2,.*pair=a;rel=1\.0000' "$work/csv"
expect '^lockref,self,word,2,.*pair=b;rel=[0-9]' "$work/csv"
# Of four turns in a row, one at least saw the lock taken.
expect '^lockref,sporadic_100k,[a-z]+,2,.*sections_per_s=[0-9.]*[1-9]' "$work/csv"
expect '^lockref,recover,word,2,.*before=[0-9.]+;during=[0-9.]+;after=[0-9.]+;.*recovers=[01]' \
	"$work/csv"
expect '^lockref,open3,lockref,2,.*fairness=[0-9.]+;p50=[0-9]+;p99=[1-9]' "$work/csv"
expect '^A against A, 2 threads: [0-9.]+ % apart \(median of pairs\), (within|NOT within) 3 %$' \
	"$work/out"
expect '^open3, 2 threads: word [0-9.]+ x lockref$' "$work/out"
expect '^open3, 2 threads: rcu [0-9.]+ x (word|lockref)$' "$work/out"
expect '^on: [0-9]+ CPU' "$work/out"

expect '^bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra$' "$work/csv"
awk -F, 'NF != 11 || (NR > 1 && !($9 <= $7 && $7 <= $10 && $8 > 0)) { exit 1 }' "$work/csv" ||
	fail "the CSV file is not as it should be"

"$bench" --quick --threads 1 --scenario percpu >"$work/out" 2>"$work/err" ||
	fail "readers of a lock failed"
grep -q 'no membarrier' "$work/err" || expect '^percpu +rwsem_perthread +1 ' "$work/out"

refuses 1 "$work/absent/csv: No such file or directory" --quick --csv "$work/absent/csv"
refuses 2 'no such scenario: warp' --scenario open3,warp
refuses 2 'no such mode: warp' --mode word,warp
refuses 2 'not a number of rounds: 3' --rounds 3
refuses 2 'not a number of threads: 0' --threads 0
refuses 2 'what is this: x' x
refuses 2 'usage' --no-such-option
