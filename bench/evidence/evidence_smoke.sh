#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does bench_evidence count, and do hits store nothing that others use?
# usage: evidence_smoke.sh BENCH_EVIDENCE COUNTED (1: accesses are counted in this build)
. "$(dirname "$0")/../smoke.sh"
counted=$2

"$bench" --help >"$work/help" || fail "--help failed"
expect '^usage: bench_evidence' "$work/help"
scenarios=$(sed -n 's/^scenarios: //p' "$work/help")
modes=$(sed -n 's/^modes in this build: //p' "$work/help")
for mode in rcu rcu-walk lockref refwalk locked; do
	case " $modes " in
	*" $mode "*) ;;
	*) fail "no mode $mode" ;;
	esac
done

TMPDIR=$work "$bench" --quick --csv "$work/csv" >"$work/out" 2>"$work/err" || fail "the bench failed"
expect '^scenario +mode +instr +loads ' "$work/out"
expect '^on: ' "$work/out"
instructions=1
if grep -q '^left out: instructions' "$work/out"; then instructions=0; fi
if [ "$counted" -eq 0 ]; then expect '^left out: accesses' "$work/out"; fi
expect '^bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra$' "$work/csv"
awk -F, -v counted="$counted" -v instructions="$instructions" -v scenarios="$scenarios" '
function value(key,   n, i, pairs) {
	n = split($11, pairs, ";")
	for (i = 1; i <= n; i++)
		if (index(pairs[i], key "=") == 1)
			return substr(pairs[i], length(key) + 2)
	return "none"
}
function must(what, holds) {
	if (!holds)
		bad = bad "\n" $2 "/" $3 ": " what ": " $11
}
NR == 1 { next }
{
	must("11 columns", NF == 11)
	seen[$2] = 1
	if (instructions)
		must("instructions", value("instructions") + 0 > 3)
	unseen = value("rmw") ~ /^(asm|lib)$/
}
counted && !unseen { must("lines", value("lines") + 0 > 0) }
# The claims that the library makes of its own lookups.
counted && $2 ~ /^hit/ && !unseen {
	rows++
	must("nothing stored that others use", value("shared_stores") == 0)
	must("nothing left uncounted", value("unseen_calls") == 0)
	must("its mark of a read section and its counter", $3 == "private" || value("own_stores") + 0 >= 3)
}
counted && $2 ~ /^hit/ && ($3 == "rcu" || $3 == "rcu-walk") {
	must("no read-modify-write", value("rmw") == 0)
}
counted && $2 == "hit" && $3 == "lockref" { must("get and put", value("rmw") == 2); lockref = 1 }
counted && $2 == "hit" && $3 == "refwalk" { must("get and put of each", value("rmw") == 20); refwalk = 1 }
# And what distinguishes the ways to count references.
counted && $2 == "ref" && $3 ~ /^(word|word_cas|lockref|rcuref)$/ {
	refs++
	must("two read-modify-writes and no store", value("rmw") == 2 && value("shared_stores") == 0)
	must("one line", value("lines") == 1)
}
counted && $2 == "ref" && $3 == "locked_tas" {
	refs++
	must("a store of the count and one of the lock each", value("rmw") == 2 && value("shared_stores") == 4)
}
counted && $2 == "ref" && $3 == "rcu" {
	refs++
	must("nothing that others use is written", value("rmw") == 0 && value("shared_stores") == 0)
}
END {
	n = split(scenarios, s, " ")
	for (i = 1; i <= n; i++)
		if (!seen[s[i]])
			bad = bad "\nno scenario " s[i]
	if (counted && refs != 6)
		bad = bad "\nrows of references: " refs
	if (counted && (rows < 15 || !lockref || !refwalk))
		bad = bad "\nrows of lookups: " rows
	if (bad) {
		print "wrong in the CSV file:" bad
		exit 1
	}
}' "$work/csv" >&2 || fail "the CSV file is not as it should be"

refuses 1 "$work/absent/csv: No such file or directory" --quick --csv "$work/absent/csv"
refuses 2 'no such scenario: warp' --scenario hit,warp
refuses 2 'no such mode in this build: none' --mode rcu,none
refuses 2 'not a number of operations: 0' --loop 0
refuses 2 'usage' --no-such-option
