#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does bench_replay replay with all its rivals, and is it known who is right?
# usage: replay_smoke.sh BENCH_REPLAY SHIPPED_TRACE
. "$(dirname "$0")/../smoke.sh"

shipped=$2
mkdir "$work/tmp"
export TMPDIR="$work/tmp"
# Names with blanks, all kinds, and the spellings by which tables go wrong.
cat >"$work/small.trace" <<'END'
# a comment
exec /bin/tool ok
stat /x/y ok
stat /x/d/../y ok
stat /x/./y ok
getxattr /x/y ENODATA
opendir /x/d ok
open /x/with space ENOENT
create /x/with space ok
open /x/with space ok
readlink /x/y EINVAL
readlink /x/link ok
lstat /x/link ok
stat /x/link ok
opennf /x/link ELOOP
lstat /x/absent/deep ENOENT
mkdir /x/new ok
create /x/new/f ok
stat /x/new/f ok
rename /x/new /x/moved ok
stat /x/new/f ENOENT
stat /x/moved/f ok
chmod /x/moved/f ok
chown /x/moved/f ok
utime /x/moved/f ok
stat /x/moved/f ok
symlink /x/made ok
readlink /x/made ok
stat /x/made ok
access /x/y ok
unlink /x/y ok
access /x/d/../y ENOENT
stat /x/y ENOENT
stat /x/./y ENOENT
unlink /x/y ENOENT
rmdir /x/d ENOTEMPTY
stat /x/d/inside ok
stat /x/y/below ENOENT
stat // ok
mkdir / EEXIST
stat /../above ok
stat relative ok
END

"$bench" --help >"$work/help" || fail "--help failed"
expect '^usage: bench_replay' "$work/help"
expect '^scenarios: compile$' "$work/help"
modes=$(sed -n 's/^rivals in this build: //p' "$work/help")
for mode in rcu rcu-walk lockref refwalk locked syscall; do
	case " $modes " in
	*" $mode "*) ;;
	*) fail "no rival $mode" ;;
	esac
done

"$bench" --quick --csv "$work/csv" "$work/small.trace" >"$work/out" 2>"$work/err" ||
	fail "the bench failed"
expect '^small: 26 queries of 14 paths, 12 changes; left out: 1 getxattr, 2 path$' "$work/out"
expect '^of these: stat 14, lstat 2, access 2, readlink 3, open 2, opendir 1, opennf 1, exec 1, create 2, ' \
	"$work/out"
expect '^as recorded: 38 of 38 results \(100\.00 %\); 0 places could not be made$' "$work/out"
expect '^floor of a system call here: getppid [0-9.]+ ns, of a query [0-9.]+ ns' "$work/out"
expect '^pass +mode .* x syscall +x \(call - floor\)' "$work/out"
expect '^on: ' "$work/out"
[ -z "$(ls "$TMPDIR")" ] || fail "files were left in TMPDIR"

expect '^bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra$' "$work/csv"
awk -F, -v modes="$modes" '
NR == 1 { next }
function value(name) {
	if (!match(";" $11, ";" name "=[^;]*"))
		return ""
	return substr(";" $11, RSTART + length(name) + 2, RLENGTH - length(name) - 2)
}
NF != 11 || $1 != "replay" || $2 != "small" || !($9 <= $7 && $7 <= $10 && $8 > 0) { bad = bad " line " NR }
{ seen[value("pass"), $3]++; wrong[$3] += value("wrong"); scans[$3] += value("fallback_scans") }
value("pass") == "hot" && $3 == "rcu" { hot = value("hit_rate") }
value("pass") == "cold" && $3 == "rcu" {
	cold = value("hit_rate"); names = value("fallback_name")
	asked = value("asked_per_query"); restarts = value("restarts_per_query")
}
value("agree") != "1.0000" || value("queries") != 26 { bad = bad " figures of line " NR }
END {
	n = split(modes, m, " ")
	for (i = 1; i <= n; i++) {
		if (seen["cold", m[i]] != 1 || seen["hot", m[i]] != 1)
			bad = bad " " m[i]
		if (m[i] ~ /^(lfht|ck|glib)$/ && !(wrong[m[i]] && scans[m[i]]))
			bad = bad " " m[i] " is right of all spellings"
		if (m[i] !~ /^(lfht|ck|glib)$/ && wrong[m[i]])
			bad = bad " " m[i] " is wrong"
	}
	if (restarts != "0.00000000" || asked + cold < 0.999 || asked + cold > 1.001)
		bad = bad " asked " asked " restarts " restarts
	if (!(cold > 0 && cold < hot && hot < 1 && names > 0))
		bad = bad " hits " cold " " hot " names " names
	if (bad) {
		print "wrong or missing in the CSV file:" bad
		exit 1
	}
}' "$work/csv" >&2 || fail "the CSV file is not as it should be"

"$bench" --quick --mode rcu,syscall --opens lookup --complete 1000 "$shipped" \
	>"$work/out" 2>"$work/err" || fail "the bench failed with the shipped recording"
expect '^compile: 11420 queries of [0-9]+ paths, 59 changes' "$work/out"
expect '^compile +rcu +11420 +59 ' "$work/out"
grep -q 'wrong answer' "$work/err" && fail "not all answers were right"

refuses 1 "$work/absent: No such file or directory" "$work/absent"
refuses 1 "$work/absent/csv: No such file or directory" --quick --csv "$work/absent/csv"
refuses 2 'no such trace: warp' --scenario compile,warp
refuses 2 'no such rival: none' --mode rcu,none
refuses 2 'not fd or lookup: maybe' --opens maybe
refuses 2 'not a number of rounds: 3' --rounds 3
refuses 2 'usage' --no-such-option
echo 'stat relative ok' >"$work/none.trace"
refuses 1 'none.trace: No data available' "$work/none.trace"
