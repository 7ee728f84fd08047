/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small tree that changes at random, and a cache that only the kernel tells of it:
 * whenever it has synced, both give one answer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "living.h"

static struct ts_rng rng;

/*
 * inotify tells of a new link only where it is made, and only to those who look at
 * it while it is there: it is made in the root, and is a round's last change.
 */
static bool links_anywhere;

/* A path of up to three names of three. */
static const char *any_path(char *buf, size_t size)
{
	size_t len = 0;
	unsigned n = 1 + ts_below(&rng, 3);

	for (unsigned i = 0; i < n; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%c", i ? "/" : "",
		                        'a' + (int)ts_below(&rng, 3));
	return buf;
}

static void write_some(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_WRONLY | O_APPEND | O_NONBLOCK);

	if (fd < 0)
		return;
	if (ts_below(&rng, 4))
		REQUIRE(write(fd, "text", 4) == 4);
	else
		REQUIRE(ftruncate(fd, 0) == 0);
	close(fd);
}

/* Most fail, as they may. Return: whether another may follow at once. */
static bool change(int dirfd)
{
	static const mode_t modes[] = {0755, 0700, 0644, 0711};
	char path[32], other[32];
	const char *p = any_path(path, sizeof(path)), *o = any_path(other, sizeof(other));
	int fd;

	switch (ts_below(&rng, 12)) {
	case 0:
	case 1:
		mkdirat(dirfd, p, 0755);
		break;
	case 2:
	case 3:
		fd = openat(dirfd, p, O_CREAT | O_EXCL | O_WRONLY, 0644);
		if (fd >= 0)
			close(fd);
		break;
	case 4:
		unlinkat(dirfd, p, 0);
		break;
	case 5:
		unlinkat(dirfd, p, AT_REMOVEDIR);
		break;
	case 6:
		renameat(dirfd, p, dirfd, o);
		break;
	case 7:
		renameat2(dirfd, p, dirfd, o, RENAME_EXCHANGE);
		break;
	case 8:
		if (!links_anywhere)
			other[1] = '\0';
		linkat(dirfd, p, dirfd, o, 0);
		return links_anywhere;
	case 9:
		/* Never up, wherever the link is moved: nothing outside the tree is touched. */
		symlinkat(o, dirfd, p);
		break;
	case 10:
		fchmodat(dirfd, p, modes[ts_below(&rng, 4)], 0);
		break;
	default:
		write_some(dirfd, p);
	}
	return true;
}

static bool ask(struct scene *s)
{
	static const enum ts_op ops[] = {TS_STAT, TS_LSTAT, TS_READLINK, TS_REALPATH};
	char path[32];

	return AGREE(&s->view, .op = ops[ts_below(&rng, 4)], .path = any_path(path, sizeof(path)));
}

static void random_in(struct scene *s)
{
	double end = (double)ts_now_ns() / 1e9 + ts_seconds(4) / 4;
	bool good = true;

	rng = ts_rng(1);
	links_anywhere = ts_stats(s->cache).event_source == PATHCACHE_SOURCE_FANOTIFY;
	for (unsigned round = 0; good && (round < 200 || (double)ts_now_ns() / 1e9 < end);
	     round++) {
		for (unsigned n = 1 + ts_below(&rng, 4); n && change(s->tree.fd); n--)
			;
		/* What is asked before is old, or not; it must not stay so. */
		for (unsigned n = ts_below(&rng, 4); n; n--) {
			char path[32];

			ts_stat_err(s->cache, any_path(path, sizeof(path)));
		}
		if (round % 8 == 0)
			REQUIRE(pathcache_maintain(s->cache, 1) >= 0);
		CHECK_EQ(pathcache_sync(s->cache), 0);
		for (unsigned n = 0; good && n < 6; n++)
			good = ask(s);
	}
	CHECK(ts_stats(s->cache).hits > 100);
}

static void a_synced_cache_agrees_with_the_kernel(void)
{
	every(random_in);
}

static void in_few_watches_too(void)
{
	struct pathcache_options opt = events_options(0);

	opt.max_watches = 3;
	every_with(&opt, random_in);
}

static void and_in_little_memory(void)
{
	struct pathcache_options opt = events_options(0);

	opt.budget = 1 << 17;
	every_with(&opt, random_in);
}

int main(int argc, char **argv)
{
	static const struct ts_case cases[] = {
		TS_CASE(a_synced_cache_agrees_with_the_kernel),
		TS_CASE(in_few_watches_too),
		TS_CASE(and_in_little_memory),
	};

	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
