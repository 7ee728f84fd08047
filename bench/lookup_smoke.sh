#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does bench_lookup run all its scenarios with all its rivals, and are they right?
# usage: lookup_smoke.sh BENCH_LOOKUP
. "$(dirname "$0")/smoke.sh"

tree=$work/tree
mkdir -p "$tree/a/b/c" "$tree/empty" "$work/tmp"
for i in 1 2 3 4 5 6 7 8; do
	echo "$i" >"$tree/a/f$i"
	echo "$i" >"$tree/a/b/c/g$i"
done
ln -s ../a "$tree/empty/link"
cat >"$work/replay.trace" <<'END'
stat /x/y ok
opendir /x/d ok
stat /x/with space ENOENT
readlink /x/y EINVAL
unlink /x/changed ok
stat /x/y ok
END

"$bench" --help >"$work/help" || fail "--help failed"
expect '^usage: bench_lookup' "$work/help"
scenarios=$(sed -n 's/^scenarios: //p' "$work/help")
modes=$(sed -n 's/^rivals in this build: //p' "$work/help")
for mode in rcu rcu-walk rcu-many lockref refwalk locked private syscall statx_fd access; do
	case " $modes " in
	*" $mode "*) ;;
	*) fail "no rival $mode" ;;
	esac
done

TMPDIR=$work/tmp PATHCACHE_SEED=1 "$bench" --quick --dir "$tree" --csv "$work/csv" \
	"$work/replay.trace" >"$work/out" 2>"$work/err" || fail "the bench failed"
expect '^seed: 1$' "$work/out"
expect '^recorded below .*: 22 files and directories' "$work/out"
expect '^hot500; floor of a system call here: getppid [0-9.]+ ns$' "$work/out"
expect '^hot500 +rcu +1( +[0-9.]+){6}( +[0-9.-]+){3} +[0-9]+/[0-9]+/[0-9]+ +1\.00' "$work/out"
expect '^  access, memo / access\(2\)  ' "$work/out"
expect '^verified: access: 21 answers are right in all modes \(may it be read\)' "$work/out"
expect '^verified: trace: 3 answers are right in all modes' "$work/out"
expect '^  hot500, memo / walk  ' "$work/out"
expect '^  bytes per file, names20, memos / none  ' "$work/out"
if grep -E '^left out: .*changed meanwhile|wrong answer' "$work/out" "$work/err"; then
	fail "not all answers were right"
fi
[ -z "$(ls "$work/tmp")" ] || fail "files were left in TMPDIR"

expect '^bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra$' "$work/csv"
# Where the kernel refuses rings they are left out, with the reason.
if grep -q '^left out: uring: ' "$work/out"; then
	modes=$(echo " $modes " | sed 's/ uring / /')
fi
# Columns before the file ends: each scenario with each rival that answers it, alone and by two
# threads or more.
awk -F, -v scenarios="$scenarios" -v modes="$modes" '
function answers(scenario, mode,   kernel) {
	# No file has the names of names20.
	kernel = mode ~ /^(syscall|statx_fd|uring|access)$/
	if (kernel && scenario == "names20")
		return 0
	if (scenario == "access")
		return mode ~ /^(rcu|rcu-walk|rcu-many|lockref|refwalk|locked|access)$/
	return mode != "access"
}
NF != 11 || (NR > 1 && !($9 <= $7 && $7 <= $10 && $8 > 0)) { bad = bad " line " NR }
NR > 1 && $11 !~ /;p50=[0-9]+;p99=[0-9]+;p999=[1-9][0-9]*$/ { bad = bad " latency " NR }
# The floor is less than any call, unless the machine was busy elsewhere when it was taken.
$3 == "syscall" && $11 !~ /;x_call=1\.000;x_above_floor=0\.[0-9]+;/ { bad = bad " floor " NR }
$3 == "rcu" && $2 != "names20" && $11 !~ /;x_call=[0-9.]+;x_above_floor=[0-9]/ { bad = bad " floor " NR }
$4 == 1 { alone[$2, $3]++ }
$2 == "depth" && $3 == "rcu" && $4 == 1 { depths = depths " " $5 + 0 }
$2 == "same_file" && $4 == 2 { two = 1 }
$2 == "symlink" && $11 ~ /place=middle/ { middle = 1 }
$2 == "hot500" && $3 == "private" && $4 == 1 && match($11, /bytes_per_file=[0-9.]+/) {
	each = substr($11, RSTART + 15, RLENGTH - 15)
}
$2 == "hot500" && $3 == "private" && $4 == 2 && match($11, /bytes_per_file=[0-9.]+/) {
	shared = substr($11, RSTART + 15, RLENGTH - 15) < 1.9 * each
}
$3 == "statx_fd" && $11 !~ /held_dirs=[1-9][0-9]*;held_paths=1\.000/ { bad = bad " held " $2 }
$2 == "rename_storm" && $11 ~ /on_path=1.*renames_per_s=[1-9]/ { renamed = 1 }
END {
	n = split(scenarios, s, " ")
	m = split(modes, r, " ")
	for (i = 1; i <= n; i++)
		for (j = 1; j <= m; j++)
			if (!alone[s[i], r[j]] != !answers(s[i], r[j]))
				bad = bad " " s[i] "/" r[j]
	if (depths != " 1 2 4 8 16")
		bad = bad " depths" depths
	if (!each || shared)
		bad = bad " memory of private tables"
	if (!two || !middle || !renamed)
		bad = bad " two " two " middle " middle " renamed " renamed
	if (bad) {
		print "wrong or missing in the CSV file:" substr(bad, 1, 400)
		exit 1
	}
}' "$work/csv" >&2 || fail "the CSV file is not as it should be"

# Not all directories can be held then; the rest is asked by path, and it is told.
(
	ulimit -n 258
	exec "$bench" --quick --dir "$tree" --scenario hot500 --mode statx_fd --csv "$work/csv"
) >"$work/out" 2>"$work/err" || fail "the bench failed where two directories can be held"
expect '^note: statx_fd: the directories of [0-9]+ of [0-9]+ paths are held' "$work/err"
expect ';held_dirs=2;held_paths=0\.[0-9]+;' "$work/csv"

refuses 1 "$work/absent: No such file or directory" --quick --dir "$work/absent"
refuses 1 "$work/absent: No such file or directory" --quick --dir "$tree" --scenario trace \
	--traces "$work/absent"
refuses 1 "$work/absent/csv: No such file or directory" --quick --csv "$work/absent/csv"
refuses 2 'no such scenario: warp' --scenario hot500,warp
refuses 2 'no such rival: none' --mode rcu,none
refuses 2 'not the size of a batch: 0' --batch 0
refuses 2 'not a number of rounds: 3' --rounds 3
refuses 2 'usage' --no-such-option
