#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: sources.sh [--all] [ROOT]
# The C and C++ sources below ROOT (default .), one a line; --all: every text file that people write.
set -euo pipefail

names=(-name '*.c' -o -name '*.h' -o -name '*.cpp')
if [[ ${1:-} == --all ]]; then
	names=(-type f)
	shift
fi
cd "${1:-.}"
find . \( -path ./.git -o -path ./build -o -path ./LICENSE \) -prune -o \
	-type f \( "${names[@]}" \) -print | sed 's|^\./||' | sort
