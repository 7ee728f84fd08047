#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Is a report whole in a real browser: that of an invented run, and that of the benches here?
# usage: page_smoke.sh FOLDER-OF-BENCHES
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1

here=$(cd "$(dirname "$0")" && pwd)
benches=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "page_smoke: $*" >&2; cat "$work/out" >&2 || true; exit 1; }
check() { "$here/check_page.sh" "$1" >"$work/out" 2>&1; }

command -v python3 >/dev/null || { echo "no python3: ./dev setup bench" >&2; exit 77; }
command -v gnuplot >/dev/null || { echo "no gnuplot: ./dev setup bench" >&2; exit 77; }
python3 "$here/invented.py" "$work/run"
python3 "$here/report.py" "$work/run" >"$work/out"
[[ $(find "$work/run/charts" -name '*.svg' | wc -l) -eq 12 ]] || fail "not all charts were drawn"
status=0
check "$work/run/report.html" || status=$?
[[ $status -ne 77 ]] || { cat "$work/out"; exit 77; }
[[ $status -eq 0 ]] || fail "the page of the invented run has faults"

# Controls: a page with one fault of each kind, and every one is named.
sed -e 's|charts/depth.svg|charts/none.svg|' -e 's|<h1>|<h1 style="width: 3000px">|' \
	-e 's|</body>|<script>no_such_thing()</script></body>|' \
	-e '/What ran<\/b>/,/<\/tbody>/{s|<tbody>.*|<tbody>|;/^<tr>/d}' \
	-e '0,/<td class="text">open3<\/td>/s|<td class="text">open3</td>|<td></td>|' \
	"$work/run/report.html" >"$work/run/bad.html"
! check "$work/run/bad.html" || fail "no fault was noticed"
for fault in 'broken picture: charts/none.svg' 'empty table: What ran' \
	'cell without a reason: open3' 'ReferenceError' 'wider than the window'; do
	grep -q "$fault" "$work/out" || fail "not noticed: $fault"
done

# The benches that are built, on little.
mkdir -p "$work/tree/a/b/c" "$work/own"
for i in 1 2 3 4 5 6 7 8; do echo "$i" >"$work/tree/a/b/c/f$i"; done
ln -s b/c "$work/tree/a/link"
one() {
	local name=$1
	shift
	[[ -x $benches/bench_$name ]] || return 0
	"$benches/bench_$name" --quick --csv "$work/own/$name.csv" "$@" >"$work/own/$name.txt" \
		2>"$work/out" || fail "bench_$name failed"
}
one lookup --dir "$work/tree" --scenario hot500,same_file,depth,rename_none,rename_1k
one events --scenario rate,hits
one bound --scenario negatives
python3 "$here/report.py" "$work/own" >"$work/out" || fail "no report of the benches here"
python3 "$here/check_results.py" "$work/own" "$here/../published.csv"
check "$work/own/report.html" || fail "the page of the benches here has faults"
