#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: t_install.sh CMAKE BUILD-DIR PREFIX
# cmake --install puts the public header, the libraries and what finds them into PREFIX.
set -euo pipefail

cmake=$1 build=$2 prefix=$3
rm -rf "$prefix"
"$cmake" --install "$build" --prefix "$prefix" >/dev/null

headers=$(cd "$prefix" && find . -name '*.h')
if [[ $headers != ./include/pathcache.h ]]; then
	printf 'installed headers are not just include/pathcache.h:\n%s\n' "$headers" >&2
	exit 1
fi
for flavour in memb qsbr bp; do
	for file in libpathcache-$flavour.so libpathcache-$flavour.so.0 \
		libpathcache-$flavour.a pathcache-$flavour.pc; do
		[[ -n $(find "$prefix" -name "$file") ]] || {
			echo "not installed: $file" >&2
			exit 1
		}
	done
done
