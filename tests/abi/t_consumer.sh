#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: t_consumer.sh C-COMPILER PREFIX FLAVOUR shared|static
# A program compiled with what the installed .pc file says, and nothing else, runs.
set -euo pipefail

cc=$1 prefix=$2 flavour=$3 kind=$4
source=$(dirname "$0")/consumer.c
program=$prefix/consumer-$flavour-$kind
pc=$(find "$prefix" -name "pathcache-$flavour.pc")
[[ -n $pc ]] || { echo "no pathcache-$flavour.pc below $prefix" >&2; exit 1; }
libdir=$(dirname "$(dirname "$pc")")
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH

if [[ $kind == static ]]; then
	libs=$(pkg-config --static --libs "pathcache-$flavour")
	libs=${libs/-lpathcache-$flavour/-l:libpathcache-$flavour.a}
else
	libs=$(pkg-config --libs "pathcache-$flavour")
fi
# The words of pkg-config's answer are separate arguments.
# shellcheck disable=SC2046,SC2086
"$cc" -Wall -Wextra -Werror $(pkg-config --cflags "pathcache-$flavour") "$source" \
	-o "$program" $libs

if [[ $kind == static ]]; then
	if readelf -d "$program" | grep -q 'NEEDED.*libpathcache'; then
		echo "$program uses the shared library" >&2
		exit 1
	fi
	"$program"
else
	LD_LIBRARY_PATH=$libdir "$program"
fi
