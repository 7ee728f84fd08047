#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: t_header.sh HEADER C-COMPILER
# The header alone compiles without a warning in each language level a user may have.
set -euo pipefail

header=$1 cc=$2
strict=(-fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wundef -Wshadow
	-Werror)
failed=0

compiles() {
	local compiler=$1 language=$2 std=$3
	# Twice, since the guard is part of what is tested.
	if ! printf '#include "%s"\n#include "%s"\nint main(void) { return 0; }\n' \
		"$header" "$header" |
		"$compiler" -x "$language" -std="$std" "${strict[@]}" -; then
		echo "$compiler -std=$std: not clean" >&2
		failed=1
	fi
}

cxx=$(command -v g++ || command -v c++ || command -v clang++) || {
	echo "no C++ compiler" >&2
	exit 1
}
c_compilers=("$cc")
cxx_compilers=("$cxx")
if command -v clang >/dev/null; then
	c_compilers+=(clang)
	cxx_compilers+=(clang)
fi
for compiler in "${c_compilers[@]}"; do
	for std in c99 c11 c17 gnu11; do compiles "$compiler" c $std; done
done
for compiler in "${cxx_compilers[@]}"; do
	for std in c++11 c++17 c++20; do compiles "$compiler" c++ $std; done
done
exit $failed
