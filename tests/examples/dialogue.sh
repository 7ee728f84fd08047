# SPDX-License-Identifier: LGPL-2.1-or-later
# A program that answers lines with lines, one by one. Sourced after lib.sh.

# start COMMAND...: lines to it go through descriptor 3, its own come through 4.
start()
{
	mkfifo "$work/to" "$work/from"
	"$@" <"$work/to" >"$work/from" 2>"$work/err" &
	program=$!
	trap 'kill "$program" 2>/dev/null || :; rm -rf "$work"' EXIT
	exec 3>"$work/to" 4<"$work/from"
}

tell()
{
	echo "$1" >&3
}

# reply: in $line
reply()
{
	IFS= read -r line <&4 || fail "no answer"
}

# ask LINE ANSWER
ask()
{
	tell "$1"
	reply
	[ "$line" = "$2" ] || fail "'$1' was answered '$line', not '$2'"
}

# The same, where the answer may take some seconds to become right.
ask_until()
{
	tries=0
	while tell "$1" && reply && [ "$line" != "$2" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 200 ] || fail "'$1' is still answered '$line', not '$2'"
		sleep 0.05
	done
}

# It ends by itself once there is nothing more to read.
stop()
{
	exec 3>&-
	status=0
	wait "$program" || status=$?
	[ "$status" -eq 0 ] || fail "ended with $status"
	exec 4<&-
	trap 'rm -rf "$work"' EXIT
	[ ! -s "$work/err" ] || fail "said something"
}
