#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does bench_events run all its scenarios, and does it leave nothing?
# usage: events_smoke.sh BENCH_EVENTS
. "$(dirname "$0")/smoke.sh"

mkdir "$work/tmp"
"$bench" --help >"$work/help" || fail "--help failed"
expect '^usage: bench_events' "$work/help"

"$bench" --quick --tmp "$work/tmp" --csv "$work/csv" >"$work/out" 2>"$work/err" ||
	fail "the bench failed"
expect '^rate +inotify .* changes/s, .* of a CPU drains, 0 overflows' "$work/out"
expect '^delay +inotify .*p50 .* us, p99 .* us of [1-9]' "$work/out"
expect '^hit-memo +inotify .* x announced, 1\.05 (met|missed)' "$work/out"
expect '^hit-walk +ttl .* x announced' "$work/out"
expect '^sync +hit-strict .* x fstatat, [0-9.]+ x what it does above the floor of [1-9][0-9]*$' "$work/out"
expect '^events,sync,hit,.*;ratio_above_floor=[0-9.]+;' "$work/csv"
[ -z "$(ls "$work/tmp")" ] || fail "files were left"

expect '^bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra$' "$work/csv"
awk -F, 'NF != 11 || (NR > 1 && !($9 <= $7 && $7 <= $10 && $8 > 0)) { exit 1 }' "$work/csv" ||
	fail "the CSV file is not as it should be"

refuses 1 "$work/absent/csv: No such file or directory" --quick --csv "$work/absent/csv"
refuses 2 'no such scenario: warp' --scenario rate,warp
refuses 2 'not a number of rounds: 3' --rounds 3
refuses 2 'what is this: x' x
refuses 2 'usage' --no-such-option
