#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each lint passes a small tree that keeps its rules, and fails every tree that breaks one.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0
licence='/* SPDX-License-Identifier: LGPL-2.1-or-later */'

# file PATH: standard input, after the licence line.
file() {
	mkdir -p "$(dirname "$tree/$1")"
	{ echo "$licence"; cat; } >"$tree/$1"
}

good_tree() {
	rm -rf "${tree:?}"/*
	mkdir -p "$tree/docs"
	cp "$here/../../.clang-format" "$tree/.clang-format"
	file lockref/lockref.h <<'END'
#include <stdatomic.h>
END
	file rcu_path/slot.h <<'END'
#include "lockref.h"
END
	file rcu_path/slot.c <<'END'
#include "slot.h"

void rp_set(_Atomic(int) *p)
{
	/* release [P1]: publishes it. Pairs with rp_get(). */
	atomic_store_explicit(p, 1, memory_order_release);
}

int rp_get(_Atomic(int) *p)
{
	/*
	 * acquire [P1]: whoever sees 1 sees what it was made of, as rp_set()
	 * had it; [P1] in a sentence marks nothing.
	 */
	return atomic_load_explicit(p, memory_order_acquire);
}
END
	file cache/pathcache.h <<'END'
void pathcache_none(void);
END
	file cache/lookup.c <<'END'
#include "pathcache.h"

#include "slot.h"
END
	file examples/stat.c <<'END'
#include "pathcache.h"
END
	file tests/cache/t_none.c <<'END'
#include "slot.h"
_Static_assert(1, "this word is not meant");
END
	printf '| tag | what |\n| --- | --- |\n| P1 | slot |\n' >"$tree/docs/memory-model.md"
}

expect() {
	local wanted=$1 lint=$2 what=$3 got=pass
	"$here/t_$lint.sh" "$tree" >"$tree/output" 2>&1 || got=fail
	if [[ $got != "$wanted" ]]; then
		echo "$lint: $what: expected $wanted, got $got" >&2
		cat "$tree/output" >&2
		failed=1
	fi
	rm -f "$tree/output"
}

# breaks LINT WHAT COMMAND...: the good tree, changed by COMMAND, fails LINT.
breaks() {
	local lint=$1 what=$2
	shift 2
	good_tree
	"$@"
	expect fail "$lint" "$what"
}

append() { printf '%b\n' "$2" >>"$tree/$1"; }
edit() { sed -i "$2" "$tree/$1"; }

good_tree
for lint in format includes tags text; do
	expect pass $lint "a tree that keeps the rules"
done

breaks format "spaces for a tab" append lockref/lockref.h 'void f(void)\n{\n  g();\n}'

breaks includes "lockref includes rcu_path" append lockref/lockref.h '#include "slot.h"'
breaks includes "rcu_path includes cache" append rcu_path/slot.c '#include "pathcache.h"'
breaks includes "up by a relative path" append rcu_path/slot.c '#include "../cache/pathcache.h"'
breaks includes "example includes an internal header" append examples/stat.c '#include "slot.h"'
breaks includes "no such header" append cache/lookup.c '#include "nowhere.h"'
breaks includes "rcu_path knows liburcu" append rcu_path/slot.c '#include <urcu/pointer.h>'
breaks includes "folder outside the layers" file misc/x.c </dev/null

breaks tags "order without a tag" edit rcu_path/slot.c 's/\[P1\]/P1/'
breaks tags "tag without a row" edit docs/memory-model.md '/P1/d'
breaks tags "two rows" append docs/memory-model.md '| P1 | again |'
breaks tags "row without code" append docs/memory-model.md '| P2 | nothing |'
breaks tags "one end only" edit rcu_path/slot.c '/^int rp_get/,$d'
breaks tags "tag too far above" edit rcu_path/slot.c 's|.*publishes it.*|&\n\n\n\n\n|'
breaks tags "tag in code, not in a comment" edit rcu_path/slot.c 's|.*publishes it.*|	x[P1];|'
breaks tags "order by default" append cache/lookup.c 'int f(_Atomic(int) *p) { return atomic_load(p); }'
breaks tags "fence without a tag" append cache/lookup.c \
	'void f(void)\n{\n\tatomic_thread_fence(memory_order_seq_cst);\n}'
breaks tags "no table" rm "$tree/docs/memory-model.md"

breaks text "no licence line" edit cache/lookup.c 1d
breaks text "unfinished" append cache/lookup.c '/* TO''DO */'
breaks text "assert in a test" append tests/cache/t_none.c 'int f(void) { assert(0); }'
breaks text "switch with ifdef" append cache/lookup.c '#ifdef PC_TESTING\n#endif'
breaks text "white space at a line's end" append cache/lookup.c 'int x; '

exit $failed
