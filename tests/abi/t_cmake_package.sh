#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: t_cmake_package.sh CMAKE PREFIX BUILD-DIR C-COMPILER
# A project that says find_package(pathcache CONFIG) builds and runs with each target.
set -euo pipefail

cmake=$1 prefix=$2 build=$3 cc=$4
rm -rf "$build"
"$cmake" -G Ninja -S "$(dirname "$0")/package" -B "$build" -DCMAKE_PREFIX_PATH="$prefix" \
	-DCMAKE_C_COMPILER="$cc" >/dev/null
"$cmake" --build "$build" >/dev/null
for program in "$build"/consumer-*; do
	"$program" || { echo "$program failed" >&2; exit 1; }
done
