#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does bench_evict run all its scenarios with all policies, and are its hit rates possible ones?
# usage: evict_smoke.sh BENCH_EVICT
. "$(dirname "$0")/smoke.sh"

# Seven queries, without the one that has "..". Paths: y is found twice. Names: so is all that
# is needed to know that a file is no directory.
mkdir "$work/traces"
cat >"$work/traces/small.trace" <<'END'
stat /x/y ok
opendir /x/./d ok
lstat /x/with space ENOENT
access /x/none/s/t ENOENT
unlink /x/y ok
stat /x/y ok
readlink /x/y EINVAL
open /x/y/u ENOTDIR
opendir /x/../d ok
END
for i in $(seq 40); do
	for j in 1 2 3; do echo "stat /dir$((i % 9))/file$i ok"; done
done >"$work/traces/other.trace"
# A query is no hit by its last name alone, which the optimum keeps.
for i in 1 2 3; do echo "stat /a/b/c/d/e/f/g/h ok"; done >"$work/traces/deep.trace"
echo "no trace" >"$work/traces/README"

"$bench" --help >"$work/help" || fail "--help failed"
expect '^usage: bench_evict' "$work/help"
scenarios=$(sed -n 's/^scenarios: //p' "$work/help")
policies=$(sed -n '/^policies:/,$s/^  \([^ ]*\) .*/\1/p' "$work/help")

PATHCACHE_SEED=1 "$bench" --quick --csv "$work/csv" --trace "$work/traces" \
	>"$work/out" 2>"$work/err" || fail "the bench failed"
expect '^seed: 1$' "$work/out"
expect '^small  *1/1  *28\.57 .* -$' "$work/out"
# The library has less than the policies here: what waits for a grace period is in its budget.
expect '^small  *1/1  *42\.86 .* [0-9][0-9]*\.[0-9][0-9]*$' "$work/out"
expect '^deep  *1/4  *0\.00 ' "$work/out"
expect '^mean of 3 traces, objects: names, capacity 1/4 of them$' "$work/out"

# The same seed, the same hit rates.
PATHCACHE_SEED=1 PATHCACHE_TRACES=$work/traces "$bench" --quick --no-library \
	--scenario hot,paths --csv "$work/again" >"$work/out" 2>"$work/err" ||
	fail "the bench failed without the library"
grep -v ',library,' "$work/csv" >"$work/policies"
[ "$(grep -c . "$work/again")" -gt 200 ] || fail "too few rows in the CSV file"
if grep -vxFf "$work/policies" "$work/again" >"$work/out"; then
	fail "other figures for the same seed"
fi

# No policy beats the optimum of single objects.
expect '^bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra$' "$work/csv"
awk -F, -v scenarios="$scenarios" '
function value(name,   n, i, parts) {
	n = split($11, parts, ";")
	for (i = 1; i <= n; i++)
		if (index(parts[i], name "=") == 1)
			return substr(parts[i], length(name) + 2)
	return "none"
}
NR == 1 { next }
{ seen[$2 ~ /^(hot|scan|shift|zipf)_/ ? substr($2, 1, index($2, "_") - 1) : value("keys") "s"] = 1 }
NF != 11 || value("hit_percent") !~ /^[0-9.]+$/ || value("queries") + 0 <= 0 {
	bad = bad " line " NR
}
{ key = $2 " " value("keys") " " value("size"); hit = value("hit_percent") + 0 }
$3 == "opt" { best[key] = hit }
value("keys") != "name" && $3 != "library" && hit > best[key] + 0.001 {
	bad = bad " " $3 " beats the optimum in " key
}
$3 == "library" && (value("bytes") + 0 > value("budget") + 0) { bad = bad " over budget in " key }
$3 == "library" { library[value("keys")] = 1 }
END {
	n = split(scenarios, s, " ")
	for (i = 1; i <= n; i++)
		if (!seen[s[i]])
			bad = bad " no " s[i]
	if (!library["number"] || !library["name"])
		bad = bad " the library is missing"
	if (bad) {
		print "wrong in the CSV file:" substr(bad, 1, 400)
		exit 1
	}
}' "$work/csv" >&2 || fail "the CSV file is not as it should be"
for policy in $policies; do
	"$bench" --quick --scenario zipf --no-library --policy "$policy" >"$work/out" \
		2>"$work/err" || fail "--policy $policy failed"
	expect "^hit %  .* $policy( |\$)" "$work/out"
done

refuses 1 "$work/absent: No such file or directory" --trace "$work/absent"
refuses 1 'README: No data available' --scenario paths "$work/traces/README"
refuses 1 "$work/absent/csv: No such file or directory" --quick --csv "$work/absent/csv"
refuses 2 'no such scenario: warp' --scenario hot,warp
refuses 2 'not a list of policies: lru,mru' --policy lru,mru
refuses 2 'not a number of one-shots: 1' --one-shots 1
refuses 2 'usage' --no-such-option
