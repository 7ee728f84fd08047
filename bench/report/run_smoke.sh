#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does run.sh run what there is, tell what became of each, and keep to its time? Tried on
# programs that only write rows.
# usage: run_smoke.sh
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || { echo "no python3: ./dev setup bench" >&2; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"

fail() { echo "run_smoke: $*" >&2; cat "$work/err" >&2 || true; exit 1; }
run() {
	status=0
	"$here/../run.sh" --out "$work/out" "$@" >"$work/said" 2>"$work/err" || status=$?
}
# state NAME TEXT: what became of it.
state() {
	awk -F'\t' -v name="$1" '$1 == name { print $3 }' "$work/out/runs" | grep -q "^$2" ||
		fail "$1 is not said to have been: $2: $(cat "$work/out/runs")"
}
# bench NAME COMMAND: a program of that name; $csv and $args are there for it.
bench() {
	cat >"$work/bin/bench_$1" <<-END
	#!/usr/bin/env bash
	csv=\$2 args="\${*:3}"
	echo "on: 3 CPUs (none), threads pinned"
	echo "bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra" >"\$csv"
	echo "$1,all,some,1,0.00,1,10.00,100.0000,9.00,11.00,args=\${args//[ ,]/_}" >>"\$csv"
	$2
	END
	chmod +x "$work/bin/bench_$1"
}

bench lookup 'exit 0'
bench miss 'exit 0'
bench bound 'echo "bench_bound: no: broken" >&2; exit 3'
run "$work/bin"
[[ $status -eq 1 ]] || fail "a failure was not told by the exit status $status"
state lookup 'ran$'
state bound 'failed with exit status 3: bench_bound: no: broken$'
state lockref 'was not built$'
grep -q '^1 of 3: lookup; about [0-9]* ' "$work/err" || fail "no progress was told"
grep -q '^bench,.*' "$work/out/results.csv" || fail "no results"
[[ $(wc -l <"$work/out/results.csv") -eq 4 ]] || fail "not all rows arrived"
grep -q 'miss,.*args=--files_20000' "$work/out/results.csv" || fail "not the quick arguments"
grep -q '3 CPUs (none), threads pinned' "$work/out/report.html" || fail "no machine on the page"

# What one run took is what the next one expects.
echo 'quick miss 77' >>"$work/out/durations"
run --only miss "$work/bin"
[[ $status -eq 0 ]] || fail "a run of one bench ended with $status"
grep -q '^1 of 1: miss; about 77 s left$' "$work/err" || fail "what was recorded is not used"
! grep -q '^lookup' "$work/out/results.csv" || fail "rows of the last run are still there"

run --full --only miss "$work/bin"
grep -q 'miss,.*args=--full' "$work/out/results.csv" || fail "not the full arguments"

bench lookup 'sleep 60'
run --limit 23 --only lookup,bound "$work/bin"
[[ $status -eq 0 ]] || fail "a bench that was ended is no failure, but: $status"
state lookup 'was ended after [0-9]* s'
state bound 'had no time left$'
grep -q '^lookup,all' "$work/out/results.csv" || fail "the rows before its end are lost"

run --only warp "$work/bin"
[[ $status -eq 2 ]] || fail "an unknown name was taken"
grep -q 'no such benchmark: warp' "$work/err" || fail "no clear message"
run --limit soon "$work/bin"
[[ $status -eq 2 ]] || fail "'soon' was taken for a number"
