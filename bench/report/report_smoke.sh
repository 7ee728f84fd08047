#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does a run become results, comparisons and a page, and is nothing lost or mixed up?
# usage: report_smoke.sh
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1

here=$(cd "$(dirname "$0")" && pwd)
published=$here/../published.csv
command -v python3 >/dev/null || { echo "no python3: ./dev setup bench" >&2; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "report_smoke: $*" >&2; exit 1; }
report() { python3 "$here/report.py" --published "$published" "$1" >"$work/out" 2>"$work/err"; }
check() { python3 "$here/check_results.py" "$1" "$published"; }
# figure ID COLUMN: what experiments.csv of the invented run has there.
figure() {
	python3 - "$work/run/experiments.csv" "$1" "$2" <<-'END'
	import csv, sys
	row = next(r for r in csv.DictReader(open(sys.argv[1])) if r["id"] == sys.argv[2])
	print(row[sys.argv[3]])
	END
}
is() { [[ $(figure "$1" "$2") == "$3" ]] || fail "$1, $2: $(figure "$1" "$2"), not $3"; }

python3 "$here/invented.py" "$work/run"
report "$work/run" || fail "no report of the invented run: $(cat "$work/err")"
check "$work/run" || fail "not all rows arrived"

# Equal threads where there are; else the most, which is said.
is prototype/cas/1 measured 80000000.0
is prototype/cas/1 measured_threads 1
is freebsd/before/104 measured 1000000.0
is freebsd/before/104 measured_threads 2
[[ $(figure freebsd/before/104 measured_note) == *'2 threads, the most here'*'2 CPUs'* ]] ||
	fail "it is not said that there were fewer threads"
# Ratios go by pairs of rounds; of the same depth, and of latency where that was published.
is arm/queued/224 measured 0.25
[[ $(figure dircache/depth8/1 measured) == 0.0466* ]] || fail "dircache/depth8 is wrong"
is degrade/after/60 measured 30200000.0
is inc_not_zero/retries/112 measured 0.3
is prototype/getppid/1 measured 100.0
[[ $(figure percpu/plain/18 measured) == 115473441.* ]] || fail "not the rate of each reader"
# What the model says, and what it does not.
is open3/nopause/96 predicted 8000000.0
is open3/nopause/2 predicted_note "the model's constants were solved from this figure"
[[ $(figure freeing/churn/1 predicted_note) == 'outside the model'* ]] ||
	fail "it is not said that the model has no such figure"
is fallback/missing_kbuild/24 measured 0.04
grep -q 'miss</td><td class="long">took longer' "$work/run/report.html" ||
	fail "the page does not tell of the bench that was ended"

# Controls: what check_results.py is there to find.
cp -r "$work/run" "$work/bad"
sed -i '$d' "$work/bad/results.csv"
! check "$work/bad" 2>/dev/null || fail "a lost row was not noticed"
cp "$work/run/results.csv" "$work/bad/results.csv"
sed -i 's/"mops": 40.0/"mops": 41.0/' "$work/bad/results.json"
! check "$work/bad" 2>/dev/null || fail "another figure was not noticed"
cp "$work/run/results.json" "$work/bad/results.json"
sed -i '/^arm\/queued/d' "$work/bad/experiments.csv"
! check "$work/bad" 2>/dev/null || fail "a missing experiment was not noticed"

# A bench that was ended in the middle of a line; none at all; a file of somebody else.
printf 'lookup,hot500,rc' >>"$work/run/lookup.csv"
report "$work/run" || fail "an unfinished line: $(cat "$work/err")"
mkdir "$work/empty"
report "$work/empty" || fail "an empty run: $(cat "$work/err")"
check "$work/empty" || fail "an empty run has reasons for everything"
grep -q '^open3/pause/1,.*,not measured in this run: bench_lockref was not built,' \
	"$work/empty/experiments.csv" || fail "it is not said why nothing was measured"
echo "a,b" >"$work/empty/other.csv"
! report "$work/empty" || fail "a file of somebody else was taken"
grep -q 'other.csv: the first line is not that of a bench' "$work/err" || fail "no clear message"
