#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Does strace.awk make of strace's lines the operations that they are?
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/strace" <<'END'
10 execve("/usr/bin/make", ["make", "a = b) = 3"], 0x5 /* 8 vars */) = 0
10 access("/etc/ld.so.preload", R_OK) = -1 ENOENT (No such file or directory)
10 newfstatat(3</usr/lib/libc.so.6>, "", {st_mode=S_IFREG|0755, ...}, AT_EMPTY_PATH) = 0
10 openat(AT_FDCWD</home/me/src>, "Makefile", O_RDONLY) = 3</home/me/src/Makefile>
10 newfstatat(AT_FDCWD</home/me/src>, "l", {st_mode=S_IFLNK|0777, ...}, AT_SYMLINK_NOFOLLOW) = 0
10 statx(AT_FDCWD</home/me/src>, "l", AT_STATX_SYNC_AS_STAT|AT_SYMLINK_NOFOLLOW, STATX_MODE, 0x7) = 0
10 readlink("l", "target", 4095) = 6
10 readlink("/proc/self/exe", "/usr/bin/make"..., 13) = 13
10 vfork( <unfinished ...>
11 chdir("sub") = 0
11 stat("x", <unfinished ...>
10 <... vfork resumed>) = 11
10 stat("x", 0x7) = -1 ENOENT (No such file or directory)
11 <... stat resumed>{st_mode=S_IFREG|0644, ...}) = 0
11 openat(AT_FDCWD</home/me/src/sub>, "dir", O_RDONLY|O_NOFOLLOW|O_DIRECTORY) = 4</home/me/src/sub/dir>
11 openat(4</home/me/src/sub/dir>, "f", O_RDONLY|O_NOFOLLOW) = -1 ELOOP (Too many levels of symbolic links)
11 openat(4</home/me/src/sub/dir>, "f", O_WRONLY|O_CREAT|O_EXCL, 0666) = -1 EEXIST (File exists)
11 openat(AT_FDCWD</home/me/src/sub>, ".", O_RDWR|O_TMPFILE, 0600) = 5</home/me/src/sub/#12>
11 fchdir(4</home/me/src/sub/dir>) = 0
11 rename("a b", "c\"\303\274\\d") = 0
11 renameat2(AT_FDCWD</home/me/src/sub/dir>, "p", 4</home/me/src/sub/dir>, "q", RENAME_NOREPLACE) = -1 EEXIST (File exists)
11 unlinkat(4</home/me/src/sub/dir>, "d", AT_REMOVEDIR) = -1 ENOTEMPTY (Directory not empty)
11 unlinkat(4</home/me/src/sub/dir>, "u", 0) = 0
11 symlinkat("../to", 4</home/me/src/sub/dir>, "s") = 0
11 linkat(AT_FDCWD</home/me/src/sub/dir>, "u", AT_FDCWD</home/me/src/sub/dir>, "v", 0) = 0
11 utimensat(3</x>, NULL, NULL, 0) = 0
11 utimensat(AT_FDCWD</home/me/src/sub/dir>, "v", NULL, AT_SYMLINK_NOFOLLOW) = 0
11 fchmodat(AT_FDCWD</home/me/src/sub/dir>, "v", 0644) = 0
11 getxattr("/home/me/src", "user.x", NULL, 0) = -1 ENODATA (No data available)
11 getcwd("/home/me/src/sub/dir", 4096) = 21
11 stat("/never", <unfinished ...>
12 mkdir("/home/meadow", 0777) = ?
10 mkdir("/home/meadow", 0777) = 0
END
cat >"$work/want" <<'END'
exec /usr/bin/make ok
access /etc/ld.so.preload ENOENT
open /src/Makefile ok
lstat /src/l ok
lstat /src/l ok
readlink /src/l ok
readlink /proc/self/exe ok
chdir /src/sub ok
stat /src/x ENOENT
stat /src/sub/x ok
opendir /src/sub/dir ok
opennf /src/sub/dir/f ELOOP
create /src/sub/dir/f EEXIST
rename /src/sub/dir/a b /src/sub/dir/c"ü\d ok
rename /src/sub/dir/p /src/sub/dir/q EEXIST
rmdir /src/sub/dir/d ENOTEMPTY
unlink /src/sub/dir/u ok
symlink /src/sub/dir/s ok
create /src/sub/dir/v ok
utime /src/sub/dir/v ok
chmod /src/sub/dir/v ok
getxattr /src ENODATA
mkdir /home/meadow ok
END
LC_ALL=C awk -v cwd=/home/me/src -v maps='/home/me/src=/src
/home/me=/home/user' -f "$here/strace.awk" "$work/strace" >"$work/got"
diff -u "$work/want" "$work/got"
