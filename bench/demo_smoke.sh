#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does the demo work, and does it notice what it has to?
# usage: demo_smoke.sh BENCH_DEMO jemalloc|libc
set -eu
demo=$1
allocator=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail()
{
	echo "demo_smoke: $*" >&2
	for file in "$work/out" "$work/err"; do
		if [ -f "$file" ]; then sed 's/^/  /' "$file" >&2; fi
	done
	exit 1
}

expect()
{
	grep -Eq -- "$1" "$2" || fail "no line like '$1' in $(basename "$2")"
}

tree=$work/tree
mkdir -p "$tree/a/b/c" "$tree/empty"
for i in 1 2 3 4 5 6 7 8; do
	echo "$i" >"$tree/a/f$i"
	echo "$i" >"$tree/a/b/c/g$i"
done
ln -s ../a "$tree/empty/link"
ln -s nowhere "$tree/dangling"
# 1 root, 4 directories, 16 files, 2 links
paths=23

PATHCACHE_SEED=1 "$demo" --quick --csv "$work/csv" "$tree" >"$work/out" 2>"$work/err" ||
	fail "the demo failed"
expect '^seed: 1$' "$work/out"
expect "^verified: $paths answers equal the kernel's in all 5 modes" "$work/out"
expect "^memos: $paths of $paths paths, [1-9][0-9]* bytes each\$" "$work/out"
expect '^floor of a system call here: getppid [0-9.]+ ns$' "$work/out"
expect '^questions to the kernel while measuring, all caches: 0$' "$work/out"
if [ "$allocator" = jemalloc ]; then
	for mode in rcu rcu-walk; do
		expect "^memory of the $mode cache .*: 0 stores, 0 wrong .*, 0 questions to the kernel\$" \
			"$work/out"
		expect "^read-only, $mode: one lookup answered\$" "$work/out"
	done
	expect '^memory of the rcu cache .* [1-9][0-9]* answered by memos' "$work/out"
	expect '^memory of the rcu-walk cache .* 0 answered by memos' "$work/out"
	for mode in lockref refwalk locked; do
		expect "^read-only, $mode: one lookup died of SIGSEGV" "$work/out"
	done
else
	expect '(: 0 stores, 0 wrong|^zero stores: not proved)' "$work/out"
fi

expect '^bench,scenario,mode,threads,depth,paths,ns_per_op,mops,min,max,extra$' "$work/csv"
for mode in rcu rcu-walk lockref refwalk locked syscall; do
	for scenario in all hot500; do
		expect "^demo,$scenario,$mode,1,[0-9.]+,$paths,[0-9.]+,[0-9.]+,[0-9.]+,[0-9.]+," \
			"$work/csv"
	done
	expect "^demo,hot500,$mode,1,.*;x_call=[0-9.]+;x_above_floor=-?[0-9.]+;" "$work/csv"
	expect "^demo,same_file,$mode,2,[0-9.]+,1,[0-9.]+,[0-9.]+,[0-9.]+,[0-9.]+," "$work/csv"
	expect "^hot500 +$mode +1( +[0-9.]+){5} +-?[0-9.]+ +[0-9-]+\$" "$work/out"
done
awk -F, 'NF != 11 || (NR > 1 && !($9 <= $7 && $7 <= $10 && $8 > 0)) { bad = 1 } END { exit bad }' \
	"$work/csv" || fail "a row of the CSV file is malformed: $(cat "$work/csv")"

refuses()
{
	want=$1
	text=$2
	shift 2
	status=0
	"$demo" "$@" >"$work/out" 2>"$work/err" || status=$?
	[ "$status" -eq "$want" ] || fail "'$*' ended with $status, not $want"
	expect "$text" "$work/err"
}

refuses 1 "$work/absent: No such file or directory" --quick "$work/absent"
refuses 1 "$tree/a/f1: Not a directory" --quick "$tree/a/f1"
refuses 1 "$work/absent/csv: No such file or directory" --quick --csv "$work/absent/csv" "$tree"
refuses 2 'more than one directory' "$tree" "$tree"
refuses 2 'not a number of MiB: lots' --budget lots "$tree"
refuses 2 'usage' --no-such-option
"$demo" --help >"$work/out" || fail "--help failed"
expect '^usage: bench_demo' "$work/out"
