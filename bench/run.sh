#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: run.sh [--full] [--only LIST] [--limit SECONDS] --out DIR FOLDER
#
# Run each benchmark that was built in FOLDER, one after the other, and make a report of
# their rows in DIR: NAME.csv and NAME.txt (what it printed) of each, results.csv and
# results.json, experiments.csv, charts/ and report.html.
#
# A quick run, which is the default, is over in 10 minutes: what is not done by then is
# ended, and the report says so. --full takes as long as it takes. --limit sets another
# time, --only runs these alone.
#
# Exit status: 0 also where a benchmark was not built or had no time left; 1 where one failed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kind=quick limit=600 only="" out="" folder=""
report_s=20 # what is kept for the report
child=""

# name, seconds of a quick and of a full run (until there was one here), arguments of both.
# The longest are not the last: what had no time left is then a short one.
benches() {
	# All but the largest sets; --max-paths would cut the recorded tree, and links out of it.
	local lookups=hot500,paths5k,paths100k,depth,same_file,same_dir,disjoint,negative
	lookups+=,symlink,dotdot,rename_none,rename_1,rename_1k,rename_storm,names20,access
	cat <<-END
	demo     50   70 --max-paths 100000                    |
	lookup  260  900 --round-ms 10 --scenario $lookups     |
	lockref 130  600 --round-ms 10 --rounds 11             | --rounds 11
	evidence 40   80                                       |
	replay   40   90 --round-ms 20                         |
	sim      20   20                                       |
	events   15   60 --round-ms 200                        |
	miss     20  300 --files 20000 --loops 5000 --round-ms 100 | --full
	bound    20  900 --negatives 300000 --names 30000      | --full
	evict    20  120 --quick                               |
	END
}

die() { printf 'run.sh: %s\n' "$*" >&2; exit 2; }

parse() {
	while [[ $# -gt 0 ]]; do
		case $1 in
		--full) kind=full limit=${limit_given:-0} ;;
		--only | --limit | --out)
			[[ $# -gt 1 ]] || die "$1 needs something after it"
			if [[ $1 == --only ]]; then
				only=$2
			elif [[ $1 == --out ]]; then
				out=$2
			else
				[[ $2 =~ ^[1-9][0-9]*$ ]] || die "not a number of seconds: $2"
				limit=$2 limit_given=$2
			fi
			shift
			;;
		-*) die "no such option: $1" ;;
		*) [[ -z $folder ]] || die "more than one folder: $1"; folder=$1 ;;
		esac
		shift
	done
	[[ -n $out && -n $folder ]] || die "usage: run.sh [OPTION...] --out DIR FOLDER"
	[[ -d $folder ]] || die "no such folder: $folder"
	command -v python3 >/dev/null || die "no python3: ./dev setup bench"
}

check_only() {
	local name
	for name in ${only//,/ }; do
		benches | grep -q "^$name " || die "no such benchmark: $name"
	done
}

# Seconds of the last run of that kind that went to its end, else those stated.
expected() {
	local name=$1 stated=$2 known
	known=$(awk -v kind="$kind" -v name="$name" '$1 == kind && $2 == name { s = $3 } END { print s }' \
		"$out/durations" 2>/dev/null || true)
	printf '%s\n' "${known:-$stated}"
}

# Lines "name seconds arguments" of what is to be run.
plan() {
	local name quick full args rest
	while read -r name quick full rest; do
		[[ -z $only || ,$only, == *",$name,"* ]] || continue
		if [[ $kind == full ]]; then
			args=${rest#*|}
			quick=$full
		else
			args=${rest%|*}
		fi
		printf '%s %s %s\n' "$name" "$(expected "$name" "$quick")" "$args"
	done < <(benches)
}

show() {
	if [[ -t 2 ]]; then printf '\r\e[K%s' "$1" >&2; else printf '%s\n' "$1" >&2; fi
}

minutes() {
	if [[ $1 -lt 90 ]]; then printf '%d s' "$1"; else printf '%d min' $((($1 + 30) / 60)); fi
}

note() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$out/runs"; }

stop() {
	trap - INT TERM
	[[ -z $child ]] || kill "$child" 2>/dev/null || true
	printf '\nrun.sh: stopped; rows so far are in %s\n' "$out" >&2
	exit 130
}

# Wait for the child and tell how far it is: where it is, seconds of all that follow it.
watch() {
	local place=$1 expect=$2 later=$3 begin=$SECONDS spent left
	if [[ ! -t 2 ]]; then show "$place; about $(minutes $((expect + later))) left"; fi
	while [[ -t 2 ]] && kill -0 "$child" 2>/dev/null; do
		spent=$((SECONDS - begin))
		left=$((expect > spent ? expect - spent : 0))
		show "$place, $spent s; about $(minutes $((left + later))) left"
		sleep 1
	done
	wait "$child"
}

# run_one PLACE NAME EXPECTED LATER ALLOWED ARGUMENT...; ALLOWED 0: as long as it takes
run_one() {
	local place=$1 name=$2 expect=$3 later=$4 allowed=$5 begin=$SECONDS status=0 spent last
	shift 5
	timeout --kill-after=5 "$allowed" "$folder/bench_$name" --csv "$out/$name.csv" "$@" \
		>"$out/$name.txt" 2>"$out/$name.err" </dev/null &
	child=$!
	watch "$place" "$expect" "$later" || status=$?
	child=""
	spent=$((SECONDS - begin))
	case $status in
	0)
		printf '%s %s %s\n' "$kind" "$name" "$spent" >>"$out/durations"
		note "$name" "$spent" ran
		;;
	124 | 137) note "$name" "$spent" "was ended after $spent s: no time was left for more" ;;
	*)
		last=$(tail -n 1 "$out/$name.err" | tr -d '\t')
		note "$name" "$spent" "failed with exit status $status: $last"
		show "bench_$name failed with exit status $status; see $out/$name.err"
		[[ ! -t 2 ]] || printf '\n' >&2
		failed=1
		;;
	esac
}

run_all() {
	local names=() seconds=() arguments=() name expect args i later left total
	while read -r name expect args; do
		if [[ ! -x $folder/bench_$name ]]; then
			note "$name" 0 "was not built"
			continue
		fi
		names+=("$name") seconds+=("$expect") arguments+=("$args")
	done < <(plan)
	total=${#names[@]}
	for ((i = 0; i < total; i++)); do
		later=0
		for expect in "${seconds[@]:i + 1}"; do later=$((later + expect)); done
		left=0
		if [[ $limit -gt 0 ]]; then
			left=$((limit - report_s - SECONDS))
			if [[ $left -le 0 ]]; then
				note "${names[i]}" 0 "had no time left"
				continue
			fi
		fi
		# Words on purpose: the arguments stand in the table above.
		# shellcheck disable=SC2086
		run_one "$((i + 1)) of $total: ${names[i]}" "${names[i]}" "${seconds[i]}" "$later" "$left" \
			${arguments[i]}
	done
	[[ ! -t 2 ]] || printf '\r\e[K' >&2
}

forget_last_run() {
	local name
	mkdir -p "$out"
	rm -f "$out/runs" "$out/results.csv" "$out/results.json" "$out/experiments.csv" \
		"$out/report.html"
	for name in $(benches | cut -d' ' -f1); do
		rm -f "$out/$name.csv" "$out/$name.txt" "$out/$name.err"
	done
}

parse "$@"
check_only
trap stop INT TERM
failed=0
forget_last_run
: >"$out/runs"
run_all
python3 "$here/report/report.py" --kind "$kind" "$out"
exit $failed
