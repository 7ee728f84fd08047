/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A living file system: what the kernel tells of, and which object it means. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "living.h"

/* ---- what is told ---------------------------------------------------------- */

/* G11, C1, C2 */
EVERY(what_is_known_is_kept_until_an_event_says_otherwise)
{
	struct pathcache_stats then;

	ts_dir(&s->tree, "d", 0755);
	ts_file(&s->tree, "d/f", 0644, "text");
	keep(s, "d/f");
	keep(s, "d/absent");
	keep(s, "d");
	CHECK(ts_stats(s->cache).watches >= 2);
	then = ts_stats(s->cache);
	ts_append(&s->tree, "d/f", "more");
	agree(s, "d/f");
	CHECK_EQ(attr_of(s->cache, "d/f").size, 8);
	ts_chmod(&s->tree, "d/f", 0600);
	agree(s, "d/f");
	ts_file(&s->tree, "d/absent", 0644, "");
	agree(s, "d/absent");
	agree(s, "d");
	CHECK(ts_stats(s->cache).events_applied > then.events_applied);
	CHECK(ts_stats(s->cache).invalidations > then.invalidations);
}

/* A1, A2 */
EVERY(a_link_that_is_swapped_leads_elsewhere)
{
	ts_dir(&s->tree, "r1", 0755);
	ts_dir(&s->tree, "r2", 0755);
	ts_file(&s->tree, "r1/a", 0644, "one");
	ts_file(&s->tree, "r1/b", 0644, "one");
	ts_file(&s->tree, "r2/a", 0644, "three");
	ts_file(&s->tree, "r2/b", 0644, "three");
	ts_symlink(&s->tree, "cur", "r1");
	ts_symlink(&s->tree, "x", "cur/a");
	keep(s, "cur/a");
	keep(s, "cur/b");
	keep(s, "x");
	for (int i = 0; i < 4; i++) {
		ts_swap_link(&s->tree, "cur", i % 2 ? "r1" : "r2");
		CHECK_EQ(pathcache_sync(s->cache), 0);
		CHECK_EQ(attr_of(s->cache, "cur/a").size, i % 2 ? 3 : 5);
		CHECK_EQ(attr_of(s->cache, "cur/b").size, i % 2 ? 3 : 5);
		agree(s, "x");
	}
}

/* A7, C10, C11 */
EVERY(a_name_that_is_replaced_is_another_object)
{
	ts_dir(&s->tree, "d1", 0755);
	ts_dir(&s->tree, "d2", 0755);
	for (int i = 0; i < 8; i++) {
		ts_file(&s->tree, "d1/t", i % 2 ? 0755 : 0644, "one");
		keep(s, "d1/t");
		keep(s, "d2/t");
		if (i % 3)
			ts_rename(&s->tree, "d1/t", "d2/t");
		else
			ts_unlink(&s->tree, "d1/t");
		agree(s, "d1/t");
		agree(s, "d2/t");
	}
}

/* A11 */
EVERY(a_name_changes_its_type)
{
	ts_file(&s->tree, "x", 0644, "file");
	keep(s, "x/index");
	keep(s, "x");
	ts_unlink(&s->tree, "x");
	ts_dir(&s->tree, "x", 0755);
	ts_file(&s->tree, "x/index", 0644, "text");
	agree(s, "x/index");
	agree(s, "x");
}

/* B2, E1: by another process. */
EVERY(others_changes_are_seen)
{
	pid_t pid;
	int status;

	ts_dir(&s->tree, "d", 0755);
	ts_file(&s->tree, "d/f", 0644, "text");
	ts_file(&s->tree, "d/gone", 0644, "text");
	keep(s, "d/f");
	keep(s, "d/gone");
	keep(s, "d/new");
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0) {
		if (fchmodat(s->tree.fd, "d", 0700, 0) || unlinkat(s->tree.fd, "d/gone", 0) ||
		    openat(s->tree.fd, "d/new", O_CREAT | O_WRONLY, 0644) < 0)
			_exit(1);
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK_EQ(pathcache_sync(s->cache), 0);
	AGREE(&s->view, .path = "d/f");
	AGREE(&s->view, .path = "d/gone");
	AGREE(&s->view, .path = "d/new");
	AGREE(&s->view, .path = "d");
	CHECK_EQ(ts_stat_as(s->cache, "d/f", &ts_nobody), -EACCES);
	CHECK_EQ(ts_stat_as(s->cache, "d/gone", &ts_nobody), -EACCES);
}

/* ---- watches belong to objects ------------------------------------------------ */

/* G2, G3 */
EVERY(a_directory_keeps_its_watch_wherever_it_is_moved)
{
	struct pathcache_entry *held;
	struct pathcache_attr attr;

	ts_dir(&s->tree, "a", 0755);
	ts_dir(&s->tree, "a/b", 0755);
	ts_dir(&s->tree, "a/b/d", 0755);
	ts_file(&s->tree, "a/b/d/f", 0644, "text");
	keep(s, "a/b/d/f");
	keep(s, "a/b/d/new");
	held = ts_get(s->cache, "a/b/d");
	ts_rename(&s->tree, "a", "z");
	agree(s, "a/b/d/f");
	agree(s, "z/b/d/f");
	keep(s, "z/b/d/new");
	/* One that has the old name is another. */
	ts_dir(&s->tree, "a", 0755);
	ts_dir(&s->tree, "a/b", 0755);
	ts_dir(&s->tree, "a/b/d", 0755);
	ts_file(&s->tree, "a/b/d/new", 0644, "");
	agree(s, "z/b/d/new");
	agree(s, "a/b/d/new");
	ts_rename(&s->tree, "z/b/d", "e");
	ts_file(&s->tree, "e/new", 0644, "text");
	agree(s, "e/new");
	agree(s, "z/b/d/new");
	CHECK_EQ(pathcache_entry_stat(s->cache, held, &attr), 0);
	CHECK_EQ(attr.ino, ts_ino(&s->tree, "e"));
	pathcache_put(s->cache, held);
}

EVERY(a_directory_that_is_removed_and_made_again_is_another)
{
	for (int i = 0; i < 12; i++) {
		ts_dir(&s->tree, "d", 0755);
		keep(s, "d/f");
		ts_file(&s->tree, "d/f", 0644, "text");
		agree(s, "d/f");
		keep(s, "d/f");
		ts_unlink(&s->tree, "d/f");
		ts_rmdir(&s->tree, "d");
		if (i % 2)
			agree(s, "d/f");
	}
}

EVERY(halves_of_a_move_may_come_apart)
{
	char from[32], to[32];

	ts_dir(&s->tree, "a", 0755);
	ts_dir(&s->tree, "b", 0755);
	for (unsigned i = 0; i < 200; i++) {
		snprintf(from, sizeof(from), "a/a-name-that-takes-room-%u", i);
		snprintf(to, sizeof(to), "b/%u", i);
		ts_file(&s->tree, from, 0644, "");
		keep(s, from);
		keep(s, to);
	}
	for (unsigned i = 0; i < 200; i++) {
		snprintf(from, sizeof(from), "a/a-name-that-takes-room-%u", i);
		snprintf(to, sizeof(to), "b/%u", i);
		ts_rename(&s->tree, from, to);
	}
	while (pathcache_maintain(s->cache, 1) == 1)
		;
	for (unsigned i = 0; i < 200; i++) {
		snprintf(from, sizeof(from), "a/a-name-that-takes-room-%u", i);
		snprintf(to, sizeof(to), "b/%u", i);
		AGREE(&s->view, .path = from);
		AGREE(&s->view, .path = to);
	}
}

/* C6, C7 */
EVERY(a_further_link_is_a_change_of_the_file)
{
	ts_dir(&s->tree, "a", 0755);
	ts_dir(&s->tree, "b", 0755);
	ts_file(&s->tree, "a/f", 0644, "text");
	keep(s, "a/f");
	keep(s, "b/none");
	ts_hardlink(&s->tree, "a/f", "b/g");
	agree(s, "a/f");
	CHECK_EQ(attr_of(s->cache, "a/f").nlink, 2);
	agree(s, "b/g");
	ts_append(&s->tree, "b/g", "more");
	agree(s, "a/f");
	ts_unlink(&s->tree, "b/g");
	agree(s, "a/f");
}

/* C8: linked from where no cache looks. */
EVERY(a_file_with_links_elsewhere_is_not_believed)
{
	char path[PATH_MAX];
	int fd;

	ts_dir(&s->tree, "d", 0755);
	ts_dir(&s->tree, "far", 0755);
	ts_file(&s->tree, "d/f", 0644, "text");
	ts_hardlink(&s->tree, "d/f", "far/g");
	ts_stat_err(s->cache, "d/f");
	ts_stat_err(s->cache, "d/f");
	snprintf(path, sizeof(path), "%s/far/g", s->tree.path);
	fd = open(path, O_WRONLY | O_APPEND);
	REQUIRE(fd >= 0 && write(fd, "more", 4) == 4);
	close(fd);
	agree(s, "d/f");
}

int main(int argc, char **argv)
{
	static const struct ts_case cases[] = {
		TS_CASE(what_is_known_is_kept_until_an_event_says_otherwise),
		TS_CASE(a_link_that_is_swapped_leads_elsewhere),
		TS_CASE(a_name_that_is_replaced_is_another_object),
		TS_CASE(a_name_changes_its_type),
		TS_CASE(others_changes_are_seen),
		TS_CASE(a_directory_keeps_its_watch_wherever_it_is_moved),
		TS_CASE(a_directory_that_is_removed_and_made_again_is_another),
		TS_CASE(halves_of_a_move_may_come_apart),
		TS_CASE(a_further_link_is_a_change_of_the_file),
		TS_CASE(a_file_with_links_elsewhere_is_not_believed),
	};

	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
