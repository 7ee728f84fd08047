#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: own_namespace.sh EXAMPLE
. "$(dirname "$0")/lib.sh"

run 0 "$1"
is err ""
is out "- a miss, then a hit
uid 1000: /home/alice/note is /home/alice/note, 8 bytes (asked the store 3 times)
uid 1000: /home/alice/note is /home/alice/note, 8 bytes (asked the store 0 times)
- a link
uid 1000: /today is /motd, 5 bytes (asked the store 2 times)
uid 1000: /today is /motd, 5 bytes (asked the store 0 times)
- permission is judged from memory, for each caller
uid 1001: /home/alice/note: Permission denied (asked the store 0 times)
- a name known to be absent
uid 1000: /news: No such file or directory (asked the store 1 times)
uid 1000: /news: No such file or directory (asked the store 0 times)
- it is made: unknown to the cache until announced, and then without a question
uid 1000: /news: No such file or directory (asked the store 0 times)
uid 1000: /news is /news, 8 bytes (asked the store 0 times)
- it is removed, and that is announced
uid 1000: /news: No such file or directory (asked the store 0 times)
- a directory is renamed: what is below it goes with it
uid 1000: /home/alice/note: No such file or directory (asked the store 0 times)
uid 1000: /people/alice/note is /people/alice/note, 8 bytes (asked the store 0 times)
- an answer that is one caller's own is never given to another
uid 1000: /people/me/note is /people/alice/note, 8 bytes (asked the store 2 times)
uid 1001: /people/me/note is /people/bob/note, 12 bytes (asked the store 4 times)
handles the cache still holds: 0"
