/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How a path is opened, in a real tree, that leads to a file with several names.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

/* Opening path from start gives the file whose inode number is want. */
static void opens(const struct scene *s, struct pathcache_entry *start, const char *path,
                  uint64_t want)
{
	struct pathcache_how how = {.size = sizeof(how), .start = start};

	for (int hot = 0; hot < 4; hot++) {
		int fd = pathcache_open_fd(s->cache, path, hot % 2 ? O_RDONLY : O_PATH,
		                           start ? &how : NULL);
		struct stat st;

		CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == want);
		if (fd >= 0)
			close(fd);
	}
}

static void a_path_opens_what_it_leads_to_and_not_what_another_name_does(void)
{
	uint64_t old;

	for (unsigned round = 0; round < 2; round++) {
		struct scene s;

		scene_begin(&s);
		ts_dir(&s.tree, "d", 0755);
		ts_file(&s.tree, "d/a", 0644, "old");
		ts_hardlink(&s.tree, "d/a", "d/b");
		ts_file(&s.tree, "d/new", 0644, "new");
		old = ts_ino(&s.tree, "d/a");
		opens(&s, NULL, round ? "d/a" : "d/b", old);
		opens(&s, NULL, round ? "d/b" : "d/a", old);
		/* Nobody has said so yet. */
		ts_rename(&s.tree, "d/new", "d/b");
		opens(&s, NULL, "d/a", old);
		opens(&s, NULL, "d/b", ts_ino(&s.tree, "d/b"));
		scene_end(&s);
	}
}

static const struct ts_case cases[] = {
	TS_CASE(a_path_opens_what_it_leads_to_and_not_what_another_name_does),
};

int main(int argc, char **argv)
{
	ts_isolate();
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
