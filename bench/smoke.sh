# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What the smoke runs of the benches share. Sourced by bench/NAME_smoke.sh, whose
# argument is the bench; $work is a folder of its own that goes at the end.
set -eu
bench=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail()
{
	echo "$(basename "$0" .sh): $*" >&2
	for file in "$work/out" "$work/err"; do
		if [ -f "$file" ]; then tail -n 30 "$file" | sed 's/^/  /' >&2; fi
	done
	exit 1
}

expect()
{
	grep -Eq -- "$1" "$2" || fail "no line like '$1' in $(basename "$2")"
}

refuses()
{
	want=$1
	text=$2
	shift 2
	status=0
	"$bench" "$@" >"$work/out" 2>"$work/err" || status=$?
	[ "$status" -eq "$want" ] || fail "'$*' ended with $status, not $want"
	expect "$text" "$work/err"
}
