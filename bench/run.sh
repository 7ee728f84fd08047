#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: run.sh FOLDER
# Run each benchmark that was built in FOLDER, one after the other.
set -euo pipefail

failed=()
for bench in "$1"/bench_*; do
	[[ -f $bench && -x $bench ]] || continue
	printf '\n== %s\n' "$(basename "$bench")"
	"$bench" || failed+=("$(basename "$bench")")
done
if [[ ${#failed[@]} -gt 0 ]]; then
	echo "failed: ${failed[*]}" >&2
	exit 1
fi
