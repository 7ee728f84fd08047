# SPDX-License-Identifier: LGPL-2.1-or-later
# Common parts of the tests of the example programs. Sourced; $work is a folder of its own.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail()
{
	echo "FAIL: $*" >&2
	for file in "$work/out" "$work/err"; do
		if [ -s "$file" ]; then
			echo "--- $(basename "$file")" >&2
			cat "$file" >&2
		fi
	done
	exit 1
}

# run STATUS COMMAND...: output and errors go to $work/out and $work/err.
run()
{
	want=$1
	shift
	status=0
	"$@" >"$work/out" 2>"$work/err" || status=$?
	[ "$status" -eq "$want" ] || fail "'$*' ended with $status, not $want"
}

# The whole of the output, or of the errors, is TEXT and a newline; nothing when TEXT is "".
is()
{
	printf '%s' "$2${2:+
}" >"$work/want"
	cmp -s "$work/want" "$work/$1" || fail "$1 is not: $2"
}

has()
{
	grep -Eq -- "$2" "$work/$1" || fail "no line like '$2' in $1"
}
