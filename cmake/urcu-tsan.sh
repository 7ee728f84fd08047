#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# usage: urcu-tsan.sh PREFIX
#
# Builds a liburcu into PREFIX that the thread sanitizer can see into: 0.15 or
# later, its atomics made of compiler builtins, compiled with -fsanitize=thread.
# The source is Debian's package from a newer suite, taken from the mirror that
# apt is set up with; apt's own lists and sources are only read. Quick when
# PREFIX is there already, or was found to be out of reach within the last hour.
set -euo pipefail

suites="trixie forky sid"
least=0.15
[[ $# -eq 1 ]] || { echo "usage: $0 PREFIX" >&2; exit 2; }
mkdir -p "$(dirname "$1")"
prefix=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$prefix.work
unreachable=$prefix.unreachable
cc=${CC:-cc}
# The sanitizer's runtime is tied to the compiler: another compiler, another build.
built_by="$("$cc" --version | head -n 1)"

fail() { printf 'urcu-tsan: %s\n' "$*" >&2; exit 1; }

if [[ -f $prefix/built-by && $(<"$prefix/built-by") == "$built_by" ]]; then
	exit 0
fi
if [[ -f $unreachable && -n $(find "$unreachable" -mmin -60) ]]; then
	fail "not tried again: $(<"$unreachable") (rm $unreachable to try now)"
fi
for tool in apt-get dpkg-source make; do
	command -v "$tool" >/dev/null || fail "no $tool: the source comes from a Debian mirror"
done

give_up() {
	printf '%s\n' "$*" >"$unreachable"
	fail "$*"
}

# "OPTIONS URI" of the first deb entry that has this release's main component, from
# both notations that apt reads. OPTIONS is in one-line notation, [] or [signed-by=FILE].
main_entry() {
	local codename
	codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
	cat /dev/null $(find /etc/apt -maxdepth 2 -name '*.list' 2>/dev/null) |
		awk -v codename="$codename" '
		$1 == "deb" {
			line = $0
			options = "[]"
			if (match(line, /\[[^]]*\]/)) {
				options = substr(line, RSTART, RLENGTH)
				line = substr(line, 1, RSTART - 1) substr(line, RSTART + RLENGTH)
			}
			gsub(/arch=[^] ]*/, "", options)
			n = split(line, f, " ")
			for (i = 4; i <= n; i++)
				if (f[3] == codename && f[i] == "main") {
					print options, f[2]
					exit
				}
		}'
	local file
	for file in /etc/apt/sources.list.d/*.sources; do
		[[ -f $file ]] && { cat "$file"; echo; }
	done | sed '/^#/d' | awk -v codename="$codename" '
		function has(list, word) { return index(" " list " ", " " word " ") > 0 }
		function flush_stanza(   uri, key) {
			if (has(f["types"], "deb") && has(f["suites"], codename) &&
			    has(f["components"], "main") && f["enabled"] != "no") {
				split(f["uris"], uri, " ")
				key = f["signed-by"]
				print (key ~ /^\// ? "[signed-by=" key "]" : "[]"), uri[1]
			}
			split("", f)
		}
		/^[ \t]*$/ { flush_stanza(); next }
		/^[^ \t]/ {
			name = tolower(substr($0, 1, index($0, ":") - 1))
			value = substr($0, index($0, ":") + 1)
			sub(/^[ \t]+/, "", value)
			sub(/[ \t]+$/, "", value)
			f[name] = value
		}
		END { flush_stanza() }'
}

apt() {
	apt-get -q \
		-o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" \
		-o Acquire::http::Timeout=30 -o Acquire::Retries=1 -o APT::Sandbox::User= "$@"
}

# Unpack the first suite's source that is new enough into $work/source. Debian's patches stay
# out: they touch inputs of automake, which would have to be installed to build at all.
obtain_source() {
	local entry suite version
	entry=$(main_entry | head -n 1)
	[[ -n $entry ]] || give_up "apt has no entry for this release's main archive"
	for suite in $suites; do
		rm -rf "$work"
		mkdir -p "$work"/{lists,cache/archives}/partial
		printf 'deb-src %s %s main\n' "$entry" "$suite" >"$work/sources.list"
		apt update >"$work/log" 2>&1 || continue
		version=$(apt source --print-uris liburcu 2>/dev/null |
			sed -n 's/.* liburcu_\([0-9.]*\)\.orig\.tar\.[a-z0-9]* .*/\1/p' | head -n 1)
		dpkg --compare-versions "${version:-0}" ge "$least" || continue
		if (cd "$work" && apt source --download-only liburcu >>log 2>&1 &&
			dpkg-source --no-check --skip-patches -x liburcu_*.dsc source >>log 2>&1); then
			return 0
		fi
	done
	tail -n 5 "$work/log" >&2
	give_up "no suite of $suites gave the source of liburcu $least or later"
}

# Chained, since its status is looked at: set -e is off in here. Only what is installed is
# built: the tests alone would take minutes.
build() {
	cd "$work/source" &&
		./configure --prefix="$prefix" --enable-compiler-atomic-builtins --disable-static \
			CC="$cc" CFLAGS="-O1 -g -fsanitize=thread" LDFLAGS="-fsanitize=thread" &&
		make -j "$(nproc)" -C include install &&
		make -j "$(nproc)" -C src install
}

echo "urcu-tsan: building liburcu for the thread sanitizer" >&2
obtain_source
rm -rf "$prefix"
log=$work/log
(build) >>"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "the build failed; see $log"; }
printf '%s\n' "$built_by" >"$prefix/built-by"
rm -rf "$work" "$unreachable"
