#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# usage: check_page.sh PAGE
# Open a report in a browser without a window, as wide as a phone: are all pictures there, all
# tables filled, and is nothing said on the console? Prints what is wrong.
# Exit status: 0 all well, 1 faults, 77 there is no browser.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "$(dirname "$1")" && pwd)
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
	echo "no chromium: ./dev setup test" >&2
	exit 77
}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

cp -r "$folder/." "$copy/page"
{
	sed '/<head>/q' "$1" | sed 's/<head>.*/<head>/'
	printf '<script>\n'
	cat "$here/check_page.js"
	printf '</script>\n'
	sed '1,/<head>/{/<head>/!d;s/.*<head>//}' "$1"
} >"$copy/page/checked.html"

# The browser's own remarks are many; those of the page have CONSOLE in them.
HOME=$copy timeout 60 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
	--enable-logging=stderr --window-size=400,800 --virtual-time-budget=10000 \
	--dump-dom "file://$copy/page/checked.html" >"$copy/dom" 2>"$copy/log" ||
	{ echo "the browser failed:" >&2; tail -n 5 "$copy/log" >&2; exit 1; }
status=0
if grep 'CONSOLE' "$copy/log" >&2; then status=1; fi
sed -n '/<pre id="check">/,/<\/pre>/p' "$copy/dom" | sed 's/.*<pre id="check">//; s/<\/pre>.*//' \
	>"$copy/result"
cat "$copy/result"
grep -q '^checked: [1-9][0-9]* pictures, [1-9][0-9]* tables, 0 faults$' "$copy/result" || status=1
exit $status
