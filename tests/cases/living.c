/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "living.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct setup {
	const char *label;
	const char *tmpdir; /* NULL: as it is */
	uint32_t source;
} setups[] = {
	{"inotify", NULL, PATHCACHE_SOURCE_INOTIFY},
	{"inotify, tmpfs", "/dev/shm", PATHCACHE_SOURCE_INOTIFY},
	{"fanotify", NULL, PATHCACHE_SOURCE_FANOTIFY},
	{"fanotify, tmpfs", "/dev/shm", PATHCACHE_SOURCE_FANOTIFY},
};

#define SETUPS (sizeof(setups) / sizeof(setups[0]))

struct pathcache_options events_options(uint32_t source)
{
	struct pathcache_options opt;

	pathcache_options_init(&opt);
	opt.coherence = PATHCACHE_COHERENCE_EVENTS;
	opt.source = source;
	/* Nothing is right for having expired. */
	opt.name_ttl_ms = opt.attr_ttl_ms = opt.negative_ttl_ms = 1000000;
	return opt;
}

/* Can a cache be opened so? */
static bool is_possible(const struct setup *setup)
{
	struct pathcache_options opt = events_options(setup->source);
	const char *dir = setup->tmpdir ? setup->tmpdir : ".";
	struct pathcache *cache;
	int rc = access(dir, W_OK) ? -errno : pathcache_open(&cache, dir, &opt);

	if (rc) {
		printf("      not with %s: %s\n", setup->label, strerror(-rc));
		return false;
	}
	CHECK_EQ(ts_stats(cache).event_source, setup->source);
	CHECK_EQ(pathcache_close(cache), 0);
	return true;
}

static void in_setup(const struct setup *setup, struct pathcache_options *opt,
                     void (*run)(struct scene *s))
{
	char *old = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
	unsigned long before = ts_failures();
	struct scene s;

	if (setup->tmpdir)
		setenv("TMPDIR", setup->tmpdir, 1);
	opt->source = setup->source;
	scene_begin_with(&s, opt);
	run(&s);
	scene_end(&s);
	if (ts_failures() != before)
		printf("      ... with %s\n", setup->label);
	if (old)
		setenv("TMPDIR", old, 1);
	else
		unsetenv("TMPDIR");
	free(old);
}

void every_with(struct pathcache_options *opt, void (*run)(struct scene *s))
{
	unsigned n = 0;

	for (size_t i = 0; i < SETUPS; i++) {
		if (!is_possible(&setups[i]))
			continue;
		in_setup(&setups[i], opt, run);
		n++;
	}
	if (!n)
		ts_skip("no events here");
}

void every(void (*run)(struct scene *s))
{
	struct pathcache_options opt = events_options(0);

	every_with(&opt, run);
}

bool is_kept(struct pathcache *cache, const char *path)
{
	int rc = ts_stat_flags(cache, path, PATHCACHE_CACHED);

	return rc != -EAGAIN;
}

void keep(struct scene *s, const char *path)
{
	for (int i = 0; i < 3; i++)
		ts_stat_err(s->cache, path);
	/* Others' files may have made the queue run over, and then nothing is. */
	if (!ts_stats(s->cache).events_overflows && !is_kept(s->cache, path))
		ts_fail(__FILE__, __LINE__, "%s is not kept", path);
}

void agree(struct scene *s, const char *path)
{
	CHECK_EQ(pathcache_sync(s->cache), 0);
	for (int hot = 0; hot < 2; hot++) {
		AGREE(&s->view, .path = path);
		AGREE(&s->view, .op = TS_LSTAT, .path = path);
	}
}
