#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Record what a program and its children ask of paths, and which names they change, for
# bench_replay. See docs/benchmarks.md for the format.
set -eu

usage()
{
	cat <<-'END'
	usage: record.sh [--map FROM=TO]... FILE COMMAND [ARGUMENT...]

	Runs COMMAND under strace(1) and writes its path operations to FILE, compressed where
	that ends in .xz. Ends as COMMAND does. A path at or below FROM is written as one below
	TO, by the first --map that fits; use it for folders whose names are nobody's business.
	END
}

die()
{
	echo "record.sh: $*" >&2
	exit 2
}

maps=
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage; exit 0 ;;
	--map)
		case ${2:-} in
		/*=/*) maps="$maps$2
" ;;
		*) die "not FROM=TO, both absolute: ${2:-}" ;;
		esac
		shift 2
		;;
	-*) die "no option $1; see --help" ;;
	*) break ;;
	esac
done
if [ $# -lt 2 ]; then
	usage >&2
	exit 2
fi
file=$1
shift
command -v strace >/dev/null || die "there is no strace(1)"

raw=$(mktemp)
trap 'rm -f "$raw"' EXIT
status=0
strace -f -y -qq -s 4096 -e signal=none -o "$raw" \
	-e trace=%file,fchdir,clone,clone3,fork,vfork -- "$@" || status=$?
[ -s "$raw" ] || die "strace recorded nothing"

# Paths are bytes, and awk(1) has to read them so.
convert()
{
	LC_ALL=C awk -v cwd="$PWD" -v maps="$maps" \
		-f "$(dirname "$0")/strace.awk" "$raw"
}
case $file in
*.xz) convert | xz -9e >"$file" ;;
*) convert >"$file" ;;
esac
exit "$status"
