#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does bench_scale run everywhere, with more threads than CPUs, and keep what it has when broken off?
# usage: scale_smoke.sh BENCH_SCALE STATIC (1: it is to be one static program)
. "$(dirname "$0")/../smoke.sh"
static=$2

"$bench" --help >"$work/help" || fail "--help failed"
expect '^usage: bench_scale' "$work/help"
scenarios=$(sed -n 's/^scenarios: //p' "$work/help")
expect '^modes of references: word .* rcu$' "$work/help"
expect '^modes of lookups: rcu ' "$work/help"

if [ "$static" -eq 1 ]; then
	if readelf -lW "$bench" | grep -Eq 'INTERP|DYNAMIC'; then fail "it is not static"; fi
fi

cpus=$(nproc)
"$bench" --quick --threads 1,$((cpus + 1)) --csv "$work/out.csv" \
	--mode word,lockref,locked_ticket,rwsem_perthread,rcu,rcu-walk,locked \
	>"$work/out" 2>"$work/err" || fail "the bench failed"
expect "^$cpus CPUs, [0-9]+ cores, [0-9]+ packages, [0-9]+ nodes" "$work/out"
expect '^on: .* threads pinned;' "$work/out"
expect '^at least [0-9]+ s$' "$work/err"
expect ' 0 s left$' "$work/err"
awk -F, -v scenarios="$scenarios" -v most=$((cpus + 1)) '
NR == 1 { header = $0; next }
NF != 11 || $1 != "scale" || !($9 <= $7 && $7 <= $10 && $8 > 0) || $11 !~ /rel=.*fairness=/ {
	bad = bad " line " NR
}
{ seen[$2, $4]++ }
END {
	n = split(scenarios, s, " ")
	for (i = 1; i <= n; i++)
		if (!seen[s[i], 1] || !seen[s[i], most])
			bad = bad " " s[i]
	if (header != "bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra")
		bad = bad " header"
	if (bad) {
		print "wrong or missing in the CSV file:" bad
		exit 1
	}
}' "$work/out.csv" >&2 || fail "the CSV file is not as it should be"

expect "\"cpus\": $cpus," "$work/out.json"
expect '"threads_go_to": \[' "$work/out.json"
expect '"line": ".* threads pinned;' "$work/out.json"
[ "$(grep -c '"of_core"' "$work/out.json")" -eq "$cpus" ] || fail "not all CPUs are in the JSON file"
if command -v python3 >/dev/null; then
	python3 -m json.tool "$work/out.json" >/dev/null || fail "what is in out.json is not JSON"
fi

# Waiters that keep their processor are left out where there are more threads than CPUs.
if grep -q '^modes of references: .* locked_mcs ' "$work/help"; then
	"$bench" --quick --threads 1,$((cpus + 1)) --scenario open3 --mode word,locked_mcs \
		--csv "$work/mcs.csv" >"$work/out" 2>"$work/err" || fail "the bench failed"
	[ "$(grep -c ',locked_mcs,' "$work/mcs.csv")" -eq 1 ] || fail "locked_mcs ran with too many threads"
fi

# Broken off: whole rows, and some of them.
status=0
timeout -s INT 0.5 "$bench" --scenario same_file --mode rcu --threads 1,1,1,1,1,1,1,1,1 \
	--round-ms 15 --csv "$work/part.csv" >"$work/out" 2>"$work/err" || status=$?
[ "$status" -ne 0 ] || fail "it was not broken off"
awk -F, 'NF != 11 { bad = 1 } END { exit bad || NR < 2 }' "$work/part.csv" ||
	fail "a run that is broken off does not keep its rows"

# A machine that has nothing: no /sys, no /proc, no library, no file.
if [ "$static" -eq 1 ] && [ "$(id -u)" -eq 0 ] && chroot / true 2>/dev/null; then
	mkdir "$work/empty"
	cp "$bench" "$work/empty/bench"
	chroot "$work/empty" /bench --quick --threads 2 --scenario open3,hot500 --mode word,rcu \
		--csv /out.csv >"$work/out" 2>"$work/err" || fail "it needs something to be there"
	expect '/sys does not tell' "$work/out"
	[ "$(grep -c '^scale,' "$work/empty/out.csv")" -eq 3 ] || fail "rows are missing there"
fi

refuses 1 "$work/absent/csv: No such file or directory" --quick --csv "$work/absent/csv"
refuses 2 'no such scenario: warp' --scenario open3,warp
refuses 2 'no such mode in this build: none' --mode rcu,none
refuses 2 'not a number of threads: 0' --threads 2,0
refuses 2 'not a number of rounds: 3' --rounds 3
refuses 2 'usage' --no-such-option
