#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: t_format.sh ROOT
# Every C source is laid out as .clang-format says.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
command -v clang-format >/dev/null || { echo "no clang-format: ./dev setup" >&2; exit 1; }
mapfile -t sources < <("$here/sources.sh")
[[ ${#sources[@]} -gt 0 ]] || { echo "no sources in $1" >&2; exit 1; }
if ! printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -n 16 clang-format --dry-run -Werror; then
	echo "to rewrite them: ./dev lint --fix" >&2
	exit 1
fi
