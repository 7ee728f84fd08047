#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: t_text.sh ROOT
# Licence lines are there, nothing is marked as unfinished, tests do not lean on assert().
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
licence='SPDX-License-Identifier: LGPL-2.1-or-later'
failed=0

complain() {
	if [[ -n $2 ]]; then
		printf '%s:\n%s\n' "$1" "$2" >&2
		failed=1
	fi
}

mapfile -t sources < <("$here/sources.sh")
mapfile -t texts < <("$here/sources.sh" --all)
[[ ${#sources[@]} -gt 0 ]] || { echo "no sources in $1" >&2; exit 1; }

complain "first line is not /* $licence */" \
	"$(awk -v wanted="/* $licence */" 'FNR == 1 && $0 != wanted { print FILENAME }' \
		"${sources[@]}")"

# Scripts have it below the line that names their interpreter.
scripts=()
for file in "${texts[@]}"; do
	case $file in
	*.sh | *.py | *.cmake | *.map | *CMakeLists.txt | dev | .ci/run) scripts+=("$file") ;;
	esac
done
if [[ ${#scripts[@]} -gt 0 ]]; then
	complain "no licence line among the first two" \
		"$(for file in "${scripts[@]}"; do
			head -n 2 "$file" | grep -qF "$licence" || echo "$file"
		done)"
fi

# In two pieces, so that this line does not find itself.
unfinished='\b(TO''DO|FIX''ME|XX''X)\b'
complain "marked as unfinished" "$(grep -InE "$unfinished" "${texts[@]}" || true)"

# The release build, which is tested too, compiles assert() to nothing.
complain "assert() in a test does nothing in a release build" \
	"$(printf '%s\n' "${sources[@]}" | grep '^tests/' |
		xargs -r grep -nE '(^|[^_[:alnum:]])assert\(' || true)"
# They are always defined, as 0 or 1, so that -Wundef finds a misspelt one.
complain "a build switch is asked for with #ifdef, where #if is right" \
	"$(grep -nE '(ifn?def|defined)[ (]+PC_(TESTING|JEMALLOC|FLAVOUR_[A-Z]+)\b' \
		"${sources[@]}" || true)"
complain "white space at the end of a line" \
	"$(printf '%s\n' "${texts[@]}" | grep -vE '\.md$' | xargs -r grep -InE '[ 	]+$' || true)"

exit $failed
