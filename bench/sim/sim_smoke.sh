#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does the model print all its tables, write sound rows, and the same ones again?
# usage: sim_smoke.sh BENCH_SIM
. "$(dirname "$0")/../smoke.sh"

"$bench" --help >"$work/help" || fail "--help failed"
expect '^usage: bench_sim' "$work/help"
expect '^scenarios: .*\bnear_written_apart\b' "$work/help"
expect '^modes: .*\brwsem_percpu_atomic\b' "$work/help"

"$bench" --quick --csv "$work/csv" >"$work/out" 2>"$work/err" || fail "the model failed"
for table in open3 stat2 relax limit spin degrade arm percpu percpu_arm neighbours prototype \
	prototype_calls prototype_refs; do
	expect "^Table $table\$" "$work/out"
done
expect '^A model: nothing of this is measured\.$' "$work/out"
expect '^x86-64 2x24x2 +lockref +2 +op/s +4400421 +[0-9]+ +[-+][0-9]+ %  solved from this' "$work/out"
expect '^x86-64 2x24x2 +lockref +96 +op/s +6649326 +[0-9]+ +[-+][0-9]+ %' "$work/out"
expect 'outside the model: ' "$work/out"
# Constants give back what they were solved from.
awk '/solved from this/ {
	match($0, /[-+][0-9]+ %/)
	error = substr($0, RSTART, RLENGTH - 2) + 0
	n++
	if (error > 6 || error < -6) { print; bad = 1 }
}
END { exit bad || n < 10 }' "$work/out" >&2 || fail "constants do not fit"
expect '^Shapes: [0-9]+ of [0-9]+ ' "$work/out"
expect '^stat2 +pause: collapses from 2 to 8 .* holds$' "$work/out"
if grep -q '^on: ' "$work/out"; then fail "the model says that it was measured"; fi

expect '^bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra$' "$work/csv"
awk -F, '
NF != 11 { bad = bad " line " NR }
$2 == "published" {
	if ($11 !~ /^machine=[^;]+;published=[^;]+;value=[0-9.e+]+;standing=(solved|predicted)$/)
		bad = bad " published " NR
	published++
	if ($11 ~ /;published=stat2\/nopause\/2;.*;standing=solved$/ && $8 > 4.1 && $8 < 4.7)
		fits++
	next
}
NR > 1 && !($1 == "sim" && $7 > 0 && $8 > 0 && $9 == $7 && $10 == $7) {
	bad = bad " line " NR
}
NR > 1 && $11 !~ /^machine=(x86-64 2x24x2|x86-64 2x48x2);retries=/ { bad = bad " machine " NR }
NR > 1 && $2 == "recover" && $11 !~ /;before=.*;during=.*;after=/ { bad = bad " recover " NR }
# One thread pays the sum of its costs: twice the 6.41 ns of an addition.
$2 == "open3" && $3 == "word" && $4 == 1 && $7 != "12.82" { bad = bad " open3/word/1 is " $7 }
{ seen[$2 "/" $3 "/" $4]++ }
END {
	n = split("open1/word/1 open3/word/1 open3/lockref_pause/8 stat2/urcu_ref/2 mix/locked_mcs/8" \
		" recover/lockref/8 sporadic_10/lockref/8 sporadic_1k/word/8 sporadic_100k/rcu/2" \
		" dying/rcuref/8 near_readmostly_shared/word/8 near_written_apart/saturating/8" \
		" percpu/rwsem_perthread/2 open3/rcu/8", want, " ")
	for (i = 1; i <= n; i++)
		if (seen[want[i]] != 2)
			bad = bad " " want[i] " is there " seen[want[i]] + 0 " times"
	if (published < 60 || fits != 1)
		bad = bad " published rows " published + 0 ", " fits + 0 " fit"
	if (bad) {
		print "wrong in the CSV file:" bad
		exit 1
	}
}' "$work/csv" >&2 || fail "the CSV file is not as it should be"

# The smallest ratio that is printed is that of the rows.
smallest=$(awk -F, '
$2 == "open3" && $4 == 8 { rate[$11 ~ /2x24x2/, $3] = $8 }
END {
	least = 1e9
	for (key in rate) {
		split(key, part, SUBSEP)
		if (part[2] ~ /^lockref/ && rate[part[1], "word"] / rate[key] < least)
			least = rate[part[1], "word"] / rate[key]
	}
	printf "%.2f", least
}' "$work/csv")
expect "^the word does 1\.1 times what each lockref does +1\.10 +$smallest +holds" "$work/out"

few="--quick --scenario open3,mix --mode word,locked_tas"
"$bench" $few --csv "$work/once" >"$work/out" 2>"$work/err" || fail "it failed with a few rows"
"$bench" $few --csv "$work/again" >"$work/out2" 2>"$work/err" || fail "the second run failed"
[ "$(wc -l <"$work/once")" -eq 25 ] || fail "--scenario and --mode do not choose rows"
cmp -s "$work/once" "$work/again" || fail "the same options gave other rows"
cmp -s "$work/out" "$work/out2" || fail "the same options gave another output"
"$bench" $few --seed 2 --order fifo --hold none --csv "$work/again" \
	>"$work/out2" 2>"$work/err" || fail "it failed with another seed, order and hold"
if cmp -s "$work/once" "$work/again"; then fail "they change nothing"; fi
expect 'first come, first served' "$work/out2"

refuses 2 'no such scenario: warp' --scenario open3,warp
"$bench" --quick --scenario published --csv "$work/again" >"$work/out2" 2>"$work/err" ||
	fail "it failed with --scenario published"
[ "$(cut -d, -f2 "$work/again" | sort -u | tr '\n' ' ')" = 'published scenario ' ] ||
	fail "other rows beside those of published figures"
refuses 2 'no such mode: magic' --mode magic
refuses 2 'no such order: lifo' --order lifo
refuses 2 'no such hold: long' --hold long
refuses 2 'not a seed: x' --seed x
refuses 2 'not an option: open3' open3
refuses 2 'usage' --no-such-option
refuses 1 "$work/absent: No such file or directory" --published "$work/absent"
refuses 1 "$work/csv: not a table of figures" --published "$work/csv"
refuses 1 "$work/absent/csv: No such file or directory" --quick --csv "$work/absent/csv"
grep -v '^stat2/nopause/2,' "$(dirname "$0")/../published.csv" >"$work/less"
refuses 1 "$work/less: lacks a figure" --published "$work/less"
