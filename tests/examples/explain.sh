#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: explain.sh PATHCACHE_EXPLAIN
. "$(dirname "$0")/lib.sh"
pexplain=$1

tree=$work/tree
mkdir -p "$tree/directory"
printf 'contents' >"$tree/directory/file"
ln -s directory/file "$tree/link"

run 0 "$pexplain" --root "$tree" /link /directory/././none
is err ""
sed 's/known for [0-9]* ms/known for N ms/' "$work/out" >"$work/same" && mv "$work/same" "$work/out"
is out "/link, before it was asked:
  start     -                    known for N ms, until a change is announced
  missing   link                 to ask: what the name leads to
  from memory: no answer
/link, after it was asked:
  start     -                    known for N ms, until a change is announced
  link      link                 known for N ms, until a change is announced
  directory directory            known for N ms, until a change is announced
  leaf      file                 known for N ms, until a change is announced
  from memory: answered
/directory/././none, before it was asked:
  start     -                    known for N ms, until a change is announced
  directory directory            known for N ms, until a change is announced
  missing   none                 to ask: what the name leads to
  from memory: no answer
/directory/././none, after it was asked:
  start     -                    known for N ms, until a change is announced, in a memo
  directory directory            known for N ms, until a change is announced, in a memo
  absent    none                 known for N ms, until a change is announced, in a memo
  from memory: No such file or directory"

run 0 "$pexplain" --root "$tree" --dump --metrics /directory/file
is err ""
has out '^  d directory  .* bytes, [0-9]+ ms$'
has out '^  - file  .* bytes, [0-9]+ ms, used$'
has out '^# TYPE pathcache_lookups_total counter$'
has out '^pathcache_lookups_total 3$'
has out '^pathcache_hits_total\{by="walk"\} [12]$'

run 0 "$pexplain" --help
has out '^usage: '
run 2 "$pexplain"
run 2 "$pexplain" --root "$tree/none" /
is err "$tree/none: No such file or directory"
