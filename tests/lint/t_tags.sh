#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: t_tags.sh ROOT
#
# Memory orders are argued in docs/memory-model.md, one row a tag:
#  - an atomic operation of lockref/, rcu_path/ or cache/ that is not relaxed has a tag such as
#    [P3] in a comment on its line or within the 3 lines of code above it;
#  - no atomic operation leaves its order to the default;
#  - each tag in those comments has exactly one row, which begins "| P3 |";
#  - each row's tag stands at two places at least: both ends of a pair are marked. A place is a
#    comment that belongs to an operation as above, or that says "[P3]:".
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
model=docs/memory-model.md
[[ -f $model ]] || { echo "no $model" >&2; exit 1; }
mapfile -t sources < <("$here/sources.sh" | grep -E '^(lockref|rcu_path|cache)/' || true)
[[ ${#sources[@]} -gt 0 ]] || { echo "no sources to look at" >&2; exit 1; }

awk -v near=3 '
function report(where, message) {
	printf "%s: %s\n", where, message
	bad = 1
}
# Divide the line into code and comment, given whether it begins inside a comment.
function divide(line,   at, closing) {
	code = comment = ""
	while (line != "") {
		if (inside) {
			closing = index(line, "*/")
			if (!closing) {
				comment = comment line
				return
			}
			comment = comment substr(line, 1, closing - 1)
			line = substr(line, closing + 2)
			inside = 0
			continue
		}
		if (!match(line, /\/\*|\/\//)) {
			code = code line
			return
		}
		at = substr(line, RSTART, 2)
		code = code substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + 2)
		if (at == "//") {
			comment = comment line
			return
		}
		inside = 1
	}
}
# Note each tag of the comment, and whether it marks a place by itself.
function note_tags(   rest, tag, place) {
	rest = comment
	while (match(rest, /\[[A-Z][0-9]+\]/)) {
		tag = substr(rest, RSTART + 1, RLENGTH - 2)
		rest = substr(rest, RSTART + RLENGTH)
		place = FILENAME ":" FNR
		if (!(tag in first))
			first[tag] = place
		seen[tag] = FNR
		seen_place[tag] = place
		lines_since[tag] = 0
		if (rest ~ /^:/)
			mark(tag)
	}
}
function mark(tag) {
	if (!((tag, seen_place[tag]) in marked)) {
		marked[tag, seen_place[tag]] = 1
		places[tag]++
	}
}
FNR == 1 {
	inside = 0
	split("", lines_since)
}
FILENAME == ARGV[1] {
	if ($0 ~ /^\| *[A-Z][0-9]+ *\|/) {
		tag = $2
		if (tag in row)
			report(FILENAME ":" FNR, "second row for " tag)
		row[tag] = FILENAME ":" FNR
	}
	next
}
{
	divide($0)
	if (code ~ /[^ \t]/ || comment == "")
		for (tag in lines_since)
			lines_since[tag]++
	note_tags()
	strong = code ~ /memory_order_(acquire|release|acq_rel|seq_cst|consume)/ ||
		code ~ /__ATOMIC_(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST|CONSUME)/
	if (code ~ /atomic_(load|store|exchange|fetch_[a-z]+|compare_exchange_[a-z]+|flag_[a-z_]+)[ ]*\(/ &&
	    code !~ /_explicit[ ]*\(/)
		report(FILENAME ":" FNR, "memory order left to the default")
	if (!strong)
		next
	tagged = 0
	for (tag in lines_since)
		if (lines_since[tag] <= near) {
			tagged = 1
			mark(tag)
		}
	if (!tagged)
		report(FILENAME ":" FNR, "order without a tag: " $0)
}
END {
	for (tag in first)
		if (!(tag in row))
			report(first[tag], "tag " tag " has no row in " ARGV[1])
	for (tag in row)
		if (places[tag] < 2)
			report(row[tag], "tag " tag " marks " places[tag] + 0 \
				" place(s) in the sources; a pair has two ends")
	exit bad
}
' "$model" "${sources[@]}"
