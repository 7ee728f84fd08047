/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What must hold when things go wrong: counts and handles stay right under
 * races, cancelled threads and missing memory, and a foreign caller gets no more
 * than the kernel would give it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "scene.h"

static const char *const mode_names[] = {"rcu", "lockref", "refwalk", "locked"};

static unsigned fds_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	REQUIRE(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* ---- memory that is counted, and that runs out ------------------------- */

struct memory {
	struct pathcache_allocator allocator;
	_Atomic int64_t live;
	_Atomic uint64_t asked;
	uint64_t fail_from, fail_to; /* the so-manieth question, from 1; 0 = never */
};

/* In front of each piece; keeps the alignment. */
struct piece {
	size_t size;
	size_t spare;
};

static void *memory_alloc(void *ctx, size_t size)
{
	struct memory *memory = ctx;
	uint64_t n = atomic_fetch_add(&memory->asked, 1) + 1;
	struct piece *piece;
	void *raw;

	if (n >= memory->fail_from && n < memory->fail_to)
		return NULL;
	if (posix_memalign(&raw, 16, sizeof(*piece) + size) != 0)
		return NULL;
	piece = raw;
	piece->size = size;
	atomic_fetch_add(&memory->live, 1);
	return piece + 1;
}

static void memory_free(void *ctx, void *ptr, size_t size)
{
	struct memory *memory = ctx;
	struct piece *piece = (struct piece *)ptr - 1;

	CHECK_EQ(size, piece->size);
	atomic_fetch_sub(&memory->live, 1);
	free(piece);
}

static void memory_init(struct memory *memory, struct pathcache_options *opt)
{
	*memory = (struct memory){
		.allocator = {.alloc = memory_alloc, .free = memory_free, .ctx = memory}};
	pathcache_options_init(opt);
	opt->allocator = &memory->allocator;
}

struct shortage {
	struct memory memory;
	struct pathcache *cache;
	uint32_t mode;
	unsigned nth;
	bool once;
};

static void right(const struct shortage *s, const char *what, ssize_t got, ssize_t want)
{
	if (got != want && got != -ENOMEM)
		ts_fail(__FILE__, __LINE__,
		        "%s, %s from the %u. piece of memory on: %s is %zd, not %zd",
		        mode_names[s->mode], s->once ? "none" : "nothing", s->nth, what, got, want);
}
#define RIGHT(call, want) right(s, #call, call, want)

static void ask_from(struct shortage *s, struct pathcache_entry *start)
{
	struct pathcache_how how = {.size = sizeof(how), .start = start};
	struct pathcache *c = s->cache;
	struct pathcache_attr attr;
	char buf[256];
	int fd;

	RIGHT(pathcache_stat(c, "c/../../b/c/f", &how, &attr), 0);
	RIGHT(pathcache_invalidate_name(c, NULL, "a"), 0);
	RIGHT(pathcache_stat(c, "c/f", &how, &attr), 0);
	RIGHT(pathcache_realpath(c, "c/f", &how, buf, sizeof(buf)), 8);
	RIGHT(pathcache_entry_stat(c, start, &attr), 0);
	RIGHT(pathcache_invalidate_path(c, "/a/b/c/f"), 0);
	RIGHT(pathcache_invalidate_subtree(c, start), 0);
	RIGHT(pathcache_access(c, "c/f", R_OK, &how), 0);
	fd = pathcache_open_fd(c, "c/f", O_RDONLY, &how);
	right(s, "open_fd", fd < 0 ? fd : 0, 0);
	if (fd >= 0)
		close(fd);
}

static void ask_all(struct shortage *s)
{
	struct pathcache *c = s->cache;
	struct pathcache_entry *entry;
	struct pathcache_attr attr;
	char buf[256];
	int rc;

	RIGHT(pathcache_stat(c, "/l/c/f", NULL, &attr), 0);
	RIGHT(pathcache_stat(c, "/a/b/c/absent", NULL, &attr), -ENOENT);
	RIGHT(pathcache_stat(c, "/dangling", NULL, &attr), -ENOENT);
	RIGHT(pathcache_readlink(c, "/l", NULL, buf, sizeof(buf)), 3);
	RIGHT(pathcache_realpath(c, "/l/c/f", NULL, buf, sizeof(buf)), 8);
	rc = pathcache_get(c, "/a/b", NULL, &entry);
	right(s, "get", rc, 0);
	if (rc)
		return;
	ask_from(s, entry);
	pathcache_put(c, entry);
}

/* Return: whether memory was asked for so often that it did run out. */
static bool run_short(struct shortage *s, const char *dir)
{
	struct pathcache_options opt;
	unsigned fds = fds_open();
	bool ran_out;
	int rc;

	memory_init(&s->memory, &opt);
	opt.mode = s->mode;
	opt.max_dirfds = 8;
	s->memory.fail_from = s->nth;
	s->memory.fail_to = s->once ? s->nth + 1 : UINT64_MAX;
	rc = pathcache_open(&s->cache, dir, &opt);
	right(s, "open", rc, 0);
	if (rc == 0) {
		ask_all(s);
		ask_all(s);
		CHECK_EQ(pathcache_close(s->cache), 0);
	}
	ran_out = atomic_load(&s->memory.asked) >= s->nth;
	if (atomic_load(&s->memory.live) || fds_open() != fds)
		ts_fail(__FILE__, __LINE__, "%s, %u. piece: %lld pieces and %d descriptors left",
		        mode_names[s->mode], s->nth, (long long)atomic_load(&s->memory.live),
		        (int)(fds_open() - fds));
	return ran_out;
}

static void memory_that_runs_out_anywhere_harms_no_answer(void)
{
	struct shortage s = {0};
	struct ts_tree tree;

	ts_tree_make(&tree);
	ts_dir(&tree, "a", 0755);
	ts_dir(&tree, "a/b", 0755);
	ts_dir(&tree, "a/b/c", 0755);
	ts_file(&tree, "a/b/c/f", 0644, "f");
	ts_symlink(&tree, "l", "a/b");
	ts_symlink(&tree, "dangling", "nowhere");
	for (s.mode = 0; s.mode <= PATHCACHE_MODE_LOCKED; s.mode++)
		for (int once = 0; once < 2; once++) {
			s.once = once != 0;
			for (s.nth = 1; s.nth <= 100; s.nth++)
				if (!run_short(&s, tree.path))
					break;
			CHECK(s.nth > 10);
		}
	ts_tree_remove(&tree);
}

/* ---- directories that lead only to each other -------------------------- */

/* b, held, becomes its own parent's parent; the way up from a is then known as b. */
static void rings_of_dead_directories_are_freed_at_close(void)
{
	struct pathcache_how how = {.size = sizeof(how)};
	struct pathcache_entry *held;
	struct pathcache_options opt;
	struct pathcache_attr attr;
	struct memory memory;
	struct app app;

	memory_init(&memory, &opt);
	app_begin_with(&app, &opt);
	for (int round = 0; round < 5; round++) {
		ts_ns_add(&app.ns, "/a", S_IFDIR | 0755, NULL);
		ts_ns_add(&app.ns, "/a/b", S_IFDIR | 0755, NULL);
		ts_ns_add(&app.ns, "/a/b/f", S_IFREG | 0644, NULL);
		CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
		held = ts_get(app.cache, "/a/b");
		CHECK_EQ(ts_stat_err(app.cache, "/a/b/f"), 0);
		ts_ns_rename(&app.ns, "/a/b", "/b");
		ts_ns_rename(&app.ns, "/a", "/b/a");
		how.start = held;
		CHECK_EQ(pathcache_stat(app.cache, "a", &how, &attr), 0);
		pathcache_put(app.cache, held);
		CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
		for (int i = 0; i < 10; i++)
			CHECK(pathcache_maintain(app.cache, 10000) >= 0);
		ts_ns_remove(&app.ns, "/b/a");
		ts_ns_remove(&app.ns, "/b");
	}
	app_end(&app);
	CHECK_EQ(atomic_load(&memory.live), 0);
}

/* ---- held entries ------------------------------------------------------ */

static void close_is_refused_while_an_invalidated_link_is_held(void)
{
	struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_NOFOLLOW};
	struct pathcache_entry *entry;
	struct app app;
	char buf[16];

	for (int seen_again = 0; seen_again < 2; seen_again++) {
		app_begin(&app);
		ts_ns_add(&app.ns, "/l", S_IFLNK | 0777, "text");
		REQUIRE(pathcache_get(app.cache, "/l", &how, &entry) == 0);
		CHECK_EQ(pathcache_invalidate_entry(app.cache, entry), 0);
		if (seen_again)
			CHECK_EQ(pathcache_readlink(app.cache, "/l", NULL, buf, sizeof(buf)), 4);
		if (pathcache_close(app.cache) != -EBUSY)
			ts_die(__FILE__, __LINE__, "closed while a link is held");
		pathcache_put(app.cache, entry);
		app_end(&app);
	}
}

static void close_is_refused_while_a_removed_entry_is_held(void)
{
	static const char *const paths[] = {"/d", "/d/f"};
	struct pathcache_entry *entry;
	struct app app;

	for (int i = 0; i < 2; i++) {
		app_begin(&app);
		ts_ns_add(&app.ns, "/d", S_IFDIR | 0755, NULL);
		ts_ns_add(&app.ns, "/d/f", S_IFREG | 0644, NULL);
		entry = ts_get(app.cache, paths[i]);
		ts_ns_remove(&app.ns, "/d/f");
		ts_ns_remove(&app.ns, "/d");
		CHECK_EQ(pathcache_invalidate_all(app.cache), 0);
		CHECK_EQ(ts_stat_err(app.cache, paths[i]), -ENOENT);
		if (pathcache_close(app.cache) != -EBUSY)
			ts_die(__FILE__, __LINE__, "closed while %s is held", paths[i]);
		pathcache_put(app.cache, entry);
		app_end(&app);
	}
}

static void an_entry_of_an_own_namespace_has_a_path(void)
{
	struct pathcache_entry *dir, *file;
	struct app app;
	char buf[64];

	app_begin(&app);
	ts_ns_add(&app.ns, "/a", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "/a/b", S_IFREG | 0644, NULL);
	file = ts_get(app.cache, "/a/b");
	dir = ts_get(app.cache, "/a");
	CHECK_EQ(pathcache_entry_path(app.cache, file, buf, sizeof(buf)), 4);
	CHECK(strcmp(buf, "/a/b") == 0);
	CHECK_EQ(pathcache_entry_path(app.cache, dir, buf, sizeof(buf)), 2);
	CHECK(strcmp(buf, "/a") == 0);
	CHECK_EQ(pathcache_entry_path(app.cache, file, buf, 4), -ERANGE);
	CHECK_EQ(pathcache_invalidate_name(app.cache, dir, "b"), 0);
	CHECK_EQ(pathcache_entry_path(app.cache, file, buf, sizeof(buf)), -ENOENT);
	pathcache_put(app.cache, file);
	pathcache_put(app.cache, dir);
	app_end(&app);
}

static void told_is(struct app *app, const char *path)
{
	struct pathcache_entry *entry = ts_get(app->cache, path);
	ssize_t len = (ssize_t)strlen(path);
	char buf[512];

	CHECK_EQ(pathcache_realpath(app->cache, path, NULL, buf, sizeof(buf)), len);
	CHECK(strcmp(buf, path) == 0);
	CHECK_EQ(pathcache_entry_path(app->cache, entry, buf, sizeof(buf)), len);
	CHECK(strcmp(buf, path) == 0);
	pathcache_put(app->cache, entry);
}

static void a_path_of_any_depth_is_told(void)
{
	char dir[256] = "", file[264];
	struct app app;

	app_begin(&app);
	for (int depth = 1; depth <= 110; depth++) {
		strcat(dir, "/d");
		ts_ns_add(&app.ns, dir, S_IFDIR | 0755, NULL);
		told_is(&app, dir);
		snprintf(file, sizeof(file), "%s/f", dir);
		ts_ns_add(&app.ns, file, S_IFREG | 0644, NULL);
		told_is(&app, file);
	}
	app_end(&app);
}

/* As where a file system hands out an inode number again and nobody has told of it. */
static void an_object_whose_identity_is_used_again_is_freed(void)
{
	static const uint32_t types[] = {S_IFDIR | 0755, S_IFREG | 0644, S_IFLNK | 0777};
	uint32_t is;
	struct app app;

	for (size_t from = 0; from < 3; from++)
		for (size_t to = 0; to < 3; to++) {
			app_begin(&app);
			ts_ns_add(&app.ns, "/old", types[from], from == 2 ? "x" : NULL);
			ts_ns_add(&app.ns, "/new", types[to], to == 2 ? "yy" : NULL)->id =
				ts_ns_find(&app.ns, "/old")->id;
			for (int i = 0; i < 4; i++) {
				CHECK_EQ(ts_stat_flags(app.cache, "/old", PATHCACHE_NOFOLLOW), 0);
				is = i % 2 ? PATHCACHE_NOFOLLOW | PATHCACHE_DIRECTORY
				           : PATHCACHE_NOFOLLOW;
				CHECK_EQ(ts_stat_flags(app.cache, "/new", is),
				         i % 2 && to != 0 ? -ENOTDIR : 0);
				CHECK_EQ(pathcache_invalidate_name(app.cache, NULL,
				                                   i % 2 ? "new" : "old"),
				         0);
			}
			/* Both are in memory when it closes. */
			CHECK_EQ(ts_stat_flags(app.cache, "/old", PATHCACHE_NOFOLLOW), 0);
			CHECK_EQ(ts_stat_flags(app.cache, "/new", PATHCACHE_NOFOLLOW), 0);
			app_end(&app);
		}
}

struct putter {
	struct ts_thread thread;
	struct pathcache *cache;
	struct pathcache_entry *entry;
	pthread_barrier_t *barrier;
	unsigned rounds;
};

static void meet(pthread_barrier_t *barrier)
{
	ts_offline();
	pthread_barrier_wait(barrier);
	ts_online();
}

static void put_each_round(void *arg)
{
	struct putter *p = arg;

	for (unsigned i = 0; i < p->rounds; i++) {
		meet(p->barrier);
		pathcache_put(p->cache, p->entry);
		meet(p->barrier);
	}
}

/* Whoever comes last retires the directory, and only one of them. */
static void a_nameless_directory_and_its_last_child_may_be_put_at_once(void)
{
	struct putter putters[2];
	pthread_barrier_t barrier;
	struct app app;
	unsigned rounds = ts_scale(1500);

	app_begin(&app);
	REQUIRE(pthread_barrier_init(&barrier, NULL, 3) == 0);
	ts_ns_add(&app.ns, "/s", S_IFDIR | 0755, NULL);
	ts_ns_add(&app.ns, "/s/d", S_IFDIR | 0755, NULL);
	for (int i = 0; i < 2; i++) {
		putters[i] =
			(struct putter){.cache = app.cache, .barrier = &barrier, .rounds = rounds};
		ts_thread_start(&putters[i].thread, put_each_round, &putters[i]);
	}
	for (unsigned i = 0; i < rounds; i++) {
		putters[0].entry = ts_get(app.cache, "/s");
		putters[1].entry = ts_get(app.cache, "/s/d");
		CHECK_EQ(pathcache_invalidate_name(app.cache, putters[0].entry, "d"), 0);
		CHECK_EQ(pathcache_invalidate_name(app.cache, NULL, "s"), 0);
		meet(&barrier);
		meet(&barrier);
		if (i % 16 == 0)
			CHECK(pathcache_maintain(app.cache, 64) >= 0);
	}
	for (int i = 0; i < 2; i++)
		ts_thread_join(&putters[i].thread);
	pthread_barrier_destroy(&barrier);
	app_end(&app);
}

/* ---- storms ------------------------------------------------------------ */

struct storm {
	struct app app;
	char path[256], above[256]; /* above: the directory that path is in */
	struct pathcache_entry *entry;
	uint32_t mode;
	_Atomic bool stop;
	_Atomic uint64_t answers, wrong, changes;
};

static bool storm_on(struct storm *s)
{
	ts_quiescent();
	return !atomic_load_explicit(&s->stop, memory_order_relaxed);
}

static void storm_answer(struct storm *s, bool ok)
{
	atomic_fetch_add_explicit(&s->answers, 1, memory_order_relaxed);
	if (!ok)
		atomic_fetch_add_explicit(&s->wrong, 1, memory_order_relaxed);
}

static void storm_stat(void *arg)
{
	struct storm *s = arg;
	struct pathcache_attr attr;

	while (storm_on(s))
		storm_answer(s, pathcache_stat(s->app.cache, s->path, NULL, &attr) == 0);
}

static void storm_get(void *arg)
{
	struct storm *s = arg;
	struct pathcache_entry *entry;
	int rc;

	while (storm_on(s)) {
		rc = pathcache_get(s->app.cache, s->path, NULL, &entry);
		storm_answer(s, rc == 0);
		if (rc == 0)
			pathcache_put(s->app.cache, entry);
	}
}

static void storm_path(void *arg)
{
	struct storm *s = arg;
	char buf[256];
	ssize_t n;

	while (storm_on(s)) {
		n = pathcache_entry_path(s->app.cache, s->entry, buf, sizeof(buf));
		storm_answer(s, n == -ENOENT ||
		                        (n == (ssize_t)strlen(s->path) && !strcmp(buf, s->path)));
	}
}

/* The name above and everything below it again and again, each time found anew. */
static void storm_above(void *arg)
{
	struct storm *s = arg;
	struct pathcache_attr attr;

	while (storm_on(s)) {
		pathcache_invalidate_path(s->app.cache, s->above);
		storm_answer(s, pathcache_stat(s->app.cache, s->path, NULL, &attr) == 0);
		atomic_fetch_add_explicit(&s->changes, 1, memory_order_relaxed);
	}
}

static void storm_top(void *arg)
{
	struct storm *s = arg;

	while (storm_on(s)) {
		pathcache_invalidate_name(s->app.cache, NULL, "d");
		pathcache_maintain(s->app.cache, 100000);
		atomic_fetch_add_explicit(&s->changes, 1, memory_order_relaxed);
	}
}

static void storm_everything(void *arg)
{
	struct storm *s = arg;

	for (unsigned i = 0; storm_on(s); i++) {
		pathcache_invalidate_name(s->app.cache, NULL, "d");
		pathcache_invalidate_entry(s->app.cache, s->entry);
		if (i % 4 == 0)
			pathcache_invalidate_path(s->app.cache, s->above);
		if (i % 16 == 0)
			pathcache_invalidate_all(s->app.cache);
		if (i % 64 == 0)
			pathcache_maintain(s->app.cache, 1000);
		atomic_fetch_add_explicit(&s->changes, 1, memory_order_relaxed);
	}
}

/* /d/d/.../f, with so many directories. */
static struct storm *storm_make(unsigned depth, uint32_t mode)
{
	struct storm *s = calloc(1, sizeof(*s));
	struct pathcache_options opt;

	REQUIRE(s && 2 * depth + 3 < sizeof(s->path));
	pathcache_options_init(&opt);
	opt.mode = mode;
	s->mode = mode;
	app_begin_with(&s->app, &opt);
	for (unsigned i = 0; i < depth; i++) {
		strcat(s->path, "/d");
		ts_ns_add(&s->app.ns, s->path, S_IFDIR | 0755, NULL);
	}
	strcpy(s->above, s->path);
	strcat(s->path, "/f");
	ts_ns_add(&s->app.ns, s->path, S_IFREG | 0644, NULL);
	s->entry = ts_get(s->app.cache, s->path);
	return s;
}

static void storm_run(struct storm *s, void (*const fns[3])(void *), double seconds)
{
	struct ts_thread threads[3];

	for (int i = 0; i < 3; i++)
		ts_thread_start(&threads[i], fns[i], s);
	ts_sleep_us((unsigned)(ts_seconds(seconds) * 1e6));
	atomic_store(&s->stop, true);
	for (int i = 0; i < 3; i++) {
		if (!ts_thread_ends(&threads[i], 20000))
			ts_die(__FILE__, __LINE__, "%s: a thread hangs", mode_names[s->mode]);
		ts_thread_join(&threads[i]);
	}
	CHECK(atomic_load(&s->answers) > 0);
	CHECK(atomic_load(&s->changes) > 0);
	CHECK_EQ(atomic_load(&s->wrong), 0);
	CHECK_EQ(ts_stat_err(s->app.cache, s->path), 0);
	pathcache_put(s->app.cache, s->entry);
	app_end(&s->app);
	free(s);
}

static void the_path_of_a_deep_entry_is_told_while_its_names_change(void)
{
	static void (*const fns[])(void *) = {storm_path, storm_path, storm_above};
	static const unsigned depths[] = {2, 46, 47, 48, 49, 80};

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		storm_run(storm_make(depths[i], PATHCACHE_MODE_RCU), fns, 0.2);
}

static void a_path_of_many_components_is_walked_while_its_names_change(void)
{
	static void (*const fns[])(void *) = {storm_stat, storm_get, storm_top};
	static const unsigned depths[] = {46, 48, 60, 100};

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		storm_run(storm_make(depths[i], PATHCACHE_MODE_RCU), fns, 0.3);
}

static void no_mode_hangs_while_everything_is_invalidated(void)
{
	static void (*const fns[])(void *) = {storm_stat, storm_get, storm_everything};

	for (uint32_t mode = 0; mode <= PATHCACHE_MODE_LOCKED; mode++)
		storm_run(storm_make(4, mode), fns, 0.4);
}

/* Each look at it makes a new node, whose text must be asked for again. */
static void a_link_that_is_not_kept_and_tells_its_text_late_is_followed(void)
{
	static const uint32_t flags[] = {0, PATHCACHE_REPLY_PRIVATE, PATHCACHE_REPLY_NO_CACHE};
	struct pathcache_options opt;
	struct app app;

	pathcache_options_init(&opt);
	for (int kept = 0; kept < 2; kept++)
		for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
			opt.budget = kept ? UINT64_C(1) << 26 : 0;
			app_begin_with(&app, &opt);
			ts_ns_add(&app.ns, "/d", S_IFDIR | 0755, NULL);
			ts_ns_add(&app.ns, "/d/f", S_IFREG | 0644, NULL);
			ts_ns_add(&app.ns, "/l", S_IFLNK | 0777, "d")->late_link = true;
			ts_ns_find(&app.ns, "/l")->reply_flags = flags[i];
			CHECK_EQ(ts_stat_err(app.cache, "/l/f"), 0);
			CHECK_EQ(ts_stat_err(app.cache, "/l"), 0);
			CHECK_EQ(ts_stat_err(app.cache, "/l/absent"), -ENOENT);
			CHECK(ts_ns_calls(&app.ns, TS_LOOKUP) < 100);
			app_end(&app);
		}
}

/* ---- a backend whose every reply has a handle of its own --------------- */

#define HANDLE_ALIVE 0x600dU

/* Freed when the run is over, so that one released twice can be told. */
struct handle {
	_Atomic uint32_t state;
	uint64_t id;
	struct handle *made_before;
};

struct replies {
	struct pathcache *cache;
	_Atomic int64_t live;
	_Atomic uint64_t missing, strange, twice;
	_Atomic uint64_t generation;
	struct handle *_Atomic made;
	_Atomic bool stop;
};

static void reply_with(struct replies *r, struct pathcache_reply *reply, uint64_t id, uint32_t mode)
{
	struct handle *handle = malloc(sizeof(*handle));

	REQUIRE(handle);
	atomic_init(&handle->state, HANDLE_ALIVE);
	handle->id = id;
	handle->made_before = atomic_load(&r->made);
	while (!atomic_compare_exchange_weak(&r->made, &handle->made_before, handle))
		;
	atomic_fetch_add(&r->live, 1);
	reply->object = (struct pathcache_object){
		.id = id, .generation = atomic_load(&r->generation), .handle = handle};
	reply->attr.mask = PATHCACHE_ATTR_BASIC;
	reply->attr.mode = mode;
	reply->attr.nlink = 1;
}

static void handle_check(struct replies *r, const struct pathcache_object *object)
{
	const struct handle *handle = object->handle;

	if (!handle)
		atomic_fetch_add(&r->missing, 1);
	else if (atomic_load(&handle->state) != HANDLE_ALIVE || handle->id != object->id)
		atomic_fetch_add(&r->strange, 1);
}

/* An object's number tells its type: directories end in 1 to 5, links in 6 to 10, files in 11 to 15. */
static uint32_t mode_of(uint64_t id)
{
	uint64_t last = id % 16;

	return last <= 5 ? S_IFDIR | 0755 : last <= 10 ? S_IFLNK | 0777 : S_IFREG | 0644;
}

static int replies_lookup(void *ctx, const struct pathcache_object *dir, const char *name,
                          size_t len, const struct pathcache_cred *cred,
                          struct pathcache_reply *reply)
{
	struct replies *r = ctx;
	uint64_t id = dir->id * 16;

	(void)cred;
	handle_check(r, dir);
	if (len != 2 || name[0] == 'n')
		return -ENOENT;
	if (name[0] == '.')
		return -ESTALE;
	id += (uint64_t)(name[1] - '0') + (name[0] == 'd' ? 1 : name[0] == 'l' ? 6 : 11);
	reply_with(r, reply, id, mode_of(id));
	reply->flags = name[1] == '3'   ? PATHCACHE_REPLY_PRIVATE
	               : name[1] == '4' ? PATHCACHE_REPLY_NO_CACHE
	                                : 0;
	return 0;
}

static int replies_getattr(void *ctx, const struct pathcache_object *obj,
                           const struct pathcache_cred *cred, struct pathcache_reply *reply)
{
	(void)cred;
	handle_check(ctx, obj);
	reply->attr.mask = PATHCACHE_ATTR_BASIC;
	reply->attr.mode = mode_of(obj->id);
	reply->attr.nlink = 1;
	return 0;
}

static ssize_t replies_readlink(void *ctx, const struct pathcache_object *obj, char *buf,
                                size_t size)
{
	handle_check(ctx, obj);
	REQUIRE(size >= 2);
	memcpy(buf, "d1", 2);
	return 2;
}

static void replies_release(void *ctx, const struct pathcache_object *obj)
{
	struct replies *r = ctx;
	struct handle *handle = obj->handle;

	if (!handle)
		atomic_fetch_add(&r->missing, 1);
	else if (atomic_exchange(&handle->state, 0) != HANDLE_ALIVE)
		atomic_fetch_add(&r->twice, 1);
	else
		atomic_fetch_sub(&r->live, 1);
}

static void handles_free(struct replies *r)
{
	struct handle *handle;

	while ((handle = atomic_load(&r->made))) {
		atomic_store(&r->made, handle->made_before);
		free(handle);
	}
}

static void replies_ask(void *arg)
{
	static _Atomic uint64_t stream;
	struct replies *r = arg;
	struct ts_rng rng = ts_rng(atomic_fetch_add(&stream, 1));
	struct pathcache_entry *held = NULL;
	struct pathcache_how how = {.size = sizeof(how)};
	struct pathcache_attr attr;
	char path[64], name[3];

	while (!atomic_load(&r->stop)) {
		unsigned what = ts_below(&rng, 16);

		snprintf(path, sizeof(path), "d%u/%c%u/%c%u", ts_below(&rng, 5), "dl"[what == 1],
		         ts_below(&rng, 5), "dfn"[ts_below(&rng, 3)], ts_below(&rng, 5));
		snprintf(name, sizeof(name), "%c%u", "df"[ts_below(&rng, 2)], ts_below(&rng, 5));
		how.start = what < 8 ? held : NULL;
		ts_quiescent();
		if (what == 15) {
			pathcache_invalidate_name(r->cache, held, name);
		} else if (what == 14) {
			pathcache_maintain(r->cache, 50);
		} else if (what == 13) {
			atomic_fetch_add(&r->generation, 1);
			pathcache_invalidate_all(r->cache);
		} else if (what == 12) {
			if (held)
				pathcache_put(r->cache, held);
			how.flags = PATHCACHE_DIRECTORY;
			if (pathcache_get(r->cache, path, &how, &held) != 0)
				held = NULL;
			how.flags = 0;
		} else {
			pathcache_stat(r->cache, path, &how, &attr);
		}
	}
	if (held)
		pathcache_put(r->cache, held);
}

static void replies_run(struct replies *r, uint64_t budget, uint32_t mode)
{
	static const struct pathcache_ops ops = {.size = sizeof(ops),
	                                         .lookup = replies_lookup,
	                                         .getattr = replies_getattr,
	                                         .readlink = replies_readlink,
	                                         .release = replies_release};
	struct pathcache_reply root = {.size = sizeof(root)};
	struct pathcache_options opt;
	struct ts_thread threads[2];

	pathcache_options_init(&opt);
	opt.budget = budget;
	opt.mode = mode;
	reply_with(r, &root, 1, S_IFDIR | 0755);
	REQUIRE(pathcache_open_ops(&r->cache, &ops, r, &root, &opt) == 0);
	for (int i = 0; i < 2; i++)
		ts_thread_start(&threads[i], replies_ask, r);
	ts_sleep_us((unsigned)(ts_seconds(0.25) * 1e6));
	atomic_store(&r->stop, true);
	for (int i = 0; i < 2; i++)
		ts_thread_join(&threads[i]);
	CHECK_EQ(pathcache_close(r->cache), 0);
}

static void every_handle_is_whole_until_it_is_released_once(void)
{
	static const uint64_t budgets[] = {0, 4096, 40000, 300000, UINT64_C(64) << 20};

	for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++)
		for (uint32_t mode = 0; mode <= PATHCACHE_MODE_LOCKED; mode += 2) {
			struct replies *r = calloc(1, sizeof(*r));

			REQUIRE(r);
			replies_run(r, budgets[i], mode);
			if (atomic_load(&r->missing) || atomic_load(&r->strange) ||
			    atomic_load(&r->twice) || atomic_load(&r->live))
				ts_fail(__FILE__, __LINE__,
				        "%s, budget %llu: handles missing %llu, freed or foreign "
				        "%llu, released twice %llu, never %lld",
				        mode_names[mode], (unsigned long long)budgets[i],
				        (unsigned long long)atomic_load(&r->missing),
				        (unsigned long long)atomic_load(&r->strange),
				        (unsigned long long)atomic_load(&r->twice),
				        (long long)atomic_load(&r->live));
			handles_free(r);
			free(r);
		}
}

/* ---- a backend that gets stuck, or answers nonsense -------------------- */

enum callback { IN_LOOKUP, IN_GETATTR, IN_READLINK, IN_ACCESS, CALLBACKS };

struct odd {
	struct pathcache *cache;
	_Atomic int stick_in;      /* the next call of this kind never returns; -1 = none */
	enum callback nonsense_in; /* each call of this kind returns 1; CALLBACKS = none */
	_Atomic unsigned calls[CALLBACKS];
	sem_t stuck;
};

static int odd_call(struct odd *odd, enum callback callback)
{
	int wanted = (int)callback;

	atomic_fetch_add(&odd->calls[callback], 1);
	if (atomic_compare_exchange_strong(&odd->stick_in, &wanted, -1)) {
		sem_post(&odd->stuck);
		for (;;)
			pause();
	}
	return odd->nonsense_in == callback ? 1 : 0;
}

static void odd_attr(struct pathcache_reply *reply, uint64_t id)
{
	reply->attr.mask = PATHCACHE_ATTR_BASIC;
	reply->attr.mode = id == 1 ? S_IFDIR | 0755 : id == 2 ? S_IFLNK | 0777 : S_IFREG | 0644;
	reply->attr.nlink = 1;
	reply->flags = id > 2 ? PATHCACHE_REPLY_ASK_ACCESS : 0;
}

static int odd_lookup(void *ctx, const struct pathcache_object *dir, const char *name, size_t len,
                      const struct pathcache_cred *cred, struct pathcache_reply *reply)
{
	(void)dir;
	(void)len;
	(void)cred;
	reply->object.id = name[0] == 'l' ? 2 : 3;
	odd_attr(reply, reply->object.id);
	return odd_call(ctx, IN_LOOKUP);
}

static int odd_getattr(void *ctx, const struct pathcache_object *obj,
                       const struct pathcache_cred *cred, struct pathcache_reply *reply)
{
	(void)cred;
	odd_attr(reply, obj->id);
	return odd_call(ctx, IN_GETATTR);
}

static ssize_t odd_readlink(void *ctx, const struct pathcache_object *obj, char *buf, size_t size)
{
	(void)obj;
	(void)size;
	odd_call(ctx, IN_READLINK);
	buf[0] = 'f';
	return 1;
}

static int odd_access(void *ctx, const struct pathcache_object *obj, int amode,
                      const struct pathcache_cred *cred)
{
	(void)obj;
	(void)amode;
	(void)cred;
	return odd_call(ctx, IN_ACCESS);
}

static const struct pathcache_ops odd_ops = {.size = sizeof(odd_ops),
                                             .lookup = odd_lookup,
                                             .getattr = odd_getattr,
                                             .readlink = odd_readlink,
                                             .access = odd_access};

static void odd_begin(struct odd *odd)
{
	struct pathcache_reply root = {.size = sizeof(root), .object = {.id = 1}};

	memset(odd, 0, sizeof(*odd));
	odd->nonsense_in = CALLBACKS;
	atomic_store(&odd->stick_in, -1);
	REQUIRE(sem_init(&odd->stuck, 0, 0) == 0);
	odd_attr(&root, 1);
	REQUIRE(pathcache_open_ops(&odd->cache, &odd_ops, odd, &root, NULL) == 0);
}

static void odd_end(struct odd *odd)
{
	CHECK_EQ(pathcache_close(odd->cache), 0);
	sem_destroy(&odd->stuck);
}

/* Something that needs the callback. */
static int odd_ask(struct odd *odd, enum callback callback)
{
	struct pathcache_attr attr;
	char buf[16];
	int rc = 0;

	switch (callback) {
	case IN_LOOKUP:
	case IN_GETATTR:
		rc = pathcache_stat(odd->cache, "/f", NULL, &attr);
		break;
	case IN_READLINK:
		rc = (int)pathcache_readlink(odd->cache, "/l", NULL, buf, sizeof(buf));
		break;
	case IN_ACCESS:
		rc = pathcache_access(odd->cache, "/f", R_OK, NULL);
		break;
	case CALLBACKS:
		break;
	}
	return rc;
}

static void a_positive_code_of_a_backend_is_trouble(void)
{
	static const enum callback callbacks[] = {IN_LOOKUP, IN_GETATTR, IN_ACCESS};
	struct odd odd;

	for (size_t i = 0; i < sizeof(callbacks) / sizeof(callbacks[0]); i++) {
		odd_begin(&odd);
		if (callbacks[i] == IN_GETATTR) {
			CHECK_EQ(odd_ask(&odd, IN_LOOKUP), 0);
			changed_object(odd.cache, "/f");
		}
		odd.nonsense_in = callbacks[i];
		CHECK(odd_ask(&odd, callbacks[i]) < 0);
		CHECK(atomic_load(&odd.calls[callbacks[i]]) > 0);
		odd.nonsense_in = CALLBACKS;
		CHECK_EQ(odd_ask(&odd, callbacks[i]), 0);
		odd_end(&odd);
	}
}

/* ---- cancelled threads ------------------------------------------------- */

static enum callback cancel_in;

/* Unregistered: the library does it when the thread ends, however it ends. */
static void *cancelled_main(void *arg)
{
	odd_ask(arg, cancel_in);
	return NULL;
}

static void cancel_and_join(pthread_t thread)
{
	void *result;

	ts_offline();
	REQUIRE(pthread_cancel(thread) == 0);
	REQUIRE(pthread_join(thread, &result) == 0);
	ts_online();
	CHECK(result == PTHREAD_CANCELED);
}

static void stuck_begin(struct odd *odd, pthread_t *thread, enum callback callback)
{
	cancel_in = callback;
	atomic_store(&odd->stick_in, (int)callback);
	REQUIRE(pthread_create(thread, NULL, cancelled_main, odd) == 0);
	ts_offline();
	while (sem_wait(&odd->stuck) != 0)
		;
	ts_online();
}

static void a_thread_cancelled_in_a_callback_leaves_nothing_held(void)
{
	struct odd odd;
	pthread_t thread;

	if (!TS_CAN_CANCEL) {
		ts_skip("not under the address sanitizer");
		return;
	}
	for (enum callback callback = IN_LOOKUP; callback < CALLBACKS; callback++) {
		odd_begin(&odd);
		if (callback == IN_GETATTR) {
			CHECK_EQ(odd_ask(&odd, IN_LOOKUP), 0);
			changed_object(odd.cache, "/f");
		}
		stuck_begin(&odd, &thread, callback);
		cancel_and_join(thread);
		CHECK(odd_ask(&odd, callback) >= 0);
		odd_end(&odd);
	}
}

static void a_waiter_takes_over_from_a_cancelled_leader(void)
{
	struct asker waiter = {0};
	struct odd odd;
	pthread_t thread;

	if (!TS_CAN_CANCEL) {
		ts_skip("not under the address sanitizer");
		return;
	}
	odd_begin(&odd);
	stuck_begin(&odd, &thread, IN_LOOKUP);
	asker_start(&waiter, odd.cache, "/f");
	CHECK(!ts_thread_ends(&waiter.thread, 100));
	CHECK_EQ(atomic_load(&odd.calls[IN_LOOKUP]), 1);
	cancel_and_join(thread);
	CHECK_EQ(asker_finish(&waiter), 0);
	CHECK_EQ(atomic_load(&odd.calls[IN_LOOKUP]), 2);
	odd_end(&odd);
}

struct doomed {
	struct pathcache *cache;
	struct pathcache_entry *entry; /* to put; NULL: ask */
	const char *path;
};

static void *doomed_main(void *arg)
{
	struct doomed *doomed = arg;
	struct pathcache_attr attr;

	pthread_cancel(pthread_self());
	if (doomed->entry)
		pathcache_put(doomed->cache, doomed->entry);
	else
		pathcache_stat(doomed->cache, doomed->path, NULL, &attr);
	return NULL;
}

static void doomed_run(struct doomed *doomed)
{
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, doomed_main, doomed) == 0);
	ts_offline();
	REQUIRE(pthread_join(thread, NULL) == 0);
	ts_online();
}

/* System calls are where a thread is cancelled: some are made with the cache's lock held. */
static void a_thread_cancelled_at_a_system_call_leaves_nothing_held(void)
{
	struct doomed doomed = {0};
	struct asker asker = {0};
	unsigned fds = fds_open();
	struct scene s;

	scene_begin(&s);
	ts_dir(&s.tree, "a", 0755);
	ts_dir(&s.tree, "a/b", 0755);
	ts_file(&s.tree, "a/b/f", 0644, "f");
	doomed.cache = s.cache;
	doomed.path = "/a/b/f";
	doomed_run(&doomed);
	asker_start(&asker, s.cache, "/a/b/f");
	CHECK_EQ(asker_finish(&asker), 0);
	doomed.entry = ts_get(s.cache, "/a/b");
	changed(s.cache, "/a/b");
	doomed_run(&doomed);
	asker_start(&asker, s.cache, "/a/absent");
	CHECK_EQ(asker_finish(&asker), -ENOENT);
	scene_end(&s);
	CHECK_EQ(fds_open(), fds);
}

/* ---- foreign callers and descriptors ----------------------------------- */

static int open_as(struct scene *s, const char *path, int oflags, const struct ts_cred *who)
{
	struct pathcache_cred cred = ts_to_cred(who);
	struct pathcache_how how = {.size = sizeof(how), .cred = &cred};
	int fd = pathcache_open_fd(s->cache, path, oflags, &how);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int access_as(struct scene *s, const char *path, int amode, const struct ts_cred *who)
{
	struct pathcache_cred cred = ts_to_cred(who);
	struct pathcache_how how = {.size = sizeof(how), .cred = &cred};

	return pathcache_access(s->cache, path, amode, &how);
}

static off_t size_on_disk(const struct scene *s, const char *path)
{
	struct stat st;

	REQUIRE(fstatat(s->tree.fd, path, &st, 0) == 0);
	return st.st_size;
}

static void a_refused_open_does_not_truncate(void)
{
	static const int accs[] = {O_WRONLY, O_RDWR, O_RDONLY};
	struct scene s;

	if (geteuid() != 0) {
		ts_skip("only root may ask for others");
		return;
	}
	scene_begin(&s);
	ts_file(&s.tree, "f", 0644, "0123456789");
	for (size_t i = 0; i < sizeof(accs) / sizeof(accs[0]); i++) {
		CHECK_EQ(open_as(&s, "/f", accs[i] | O_TRUNC, &ts_nobody), -EACCES);
		CHECK_EQ(size_on_disk(&s, "f"), 10);
	}
	ts_file(&s.tree, "g", 0666, "0123456789");
	CHECK_EQ(open_as(&s, "/g", O_WRONLY | O_TRUNC, &ts_nobody), 0);
	CHECK_EQ(size_on_disk(&s, "g"), 0);
	CHECK_EQ(attr_of(s.cache, "/g").size, 0);
	scene_end(&s);
}

struct acl_entry {
	uint16_t tag, perm;
	uint32_t id;
};

/* acl(5) as the kernel stores it: 1 owner, 2 user, 4 group, 16 mask, 32 others. */
static bool acl_set(const struct scene *s, const char *path, uint16_t user_1000, uint16_t group)
{
	struct {
		uint32_t version;
		struct acl_entry entries[5];
	} acl = {.version = 2,
	         .entries = {{1, 6, UINT32_MAX},
	                     {2, user_1000, 1000},
	                     {4, group, UINT32_MAX},
	                     {16, 6, UINT32_MAX},
	                     {32, 0, UINT32_MAX}}};
	char full[PATH_MAX + 16];

	snprintf(full, sizeof(full), "%s/%s", s->tree.path, path);
	return setxattr(full, "system.posix_acl_access", &acl, sizeof(acl), 0) == 0;
}

static void an_acl_is_honoured_for_a_foreign_caller(void)
{
	static const struct ts_cred user = {.uid = 1000, .gid = 1000};
	static const struct ts_cred other = {.uid = 1001, .gid = 1000};
	struct scene s;
	bool can;

	if (!ts_can_switch()) {
		ts_skip("only root may ask for others");
		return;
	}
	scene_begin(&s);
	ts_file(&s.tree, "denies", 0660, "text");
	ts_chown(&s.tree, "denies", 0, 1000);
	ts_file(&s.tree, "grants", 0660, "text");
	ts_chown(&s.tree, "grants", 0, 1000);
	/* Last: a chown may take an ACL's mask along. */
	can = acl_set(&s, "denies", 0, 6) && acl_set(&s, "grants", 6, 0);
	if (can) {
		for (int i = 0; i < 2; i++) {
			CHECK_EQ(access_as(&s, "/denies", R_OK, &user), -EACCES);
			CHECK_EQ(open_as(&s, "/denies", O_RDONLY, &user), -EACCES);
			CHECK_EQ(access_as(&s, "/denies", R_OK | W_OK, &other), 0);
			CHECK_EQ(open_as(&s, "/denies", O_RDWR, &other), 0);
			CHECK_EQ(access_as(&s, "/grants", R_OK | W_OK, &user), 0);
			CHECK_EQ(open_as(&s, "/grants", O_RDWR, &user), 0);
			CHECK_EQ(access_as(&s, "/grants", R_OK, &other), -EACCES);
			CHECK_EQ(open_as(&s, "/grants", O_RDONLY, &other), -EACCES);
		}
		CHECK_EQ(open_as(&s, "/denies", O_WRONLY | O_TRUNC, &user), -EACCES);
		CHECK_EQ(size_on_disk(&s, "denies"), 4);
	} else {
		ts_skip(strerror(errno));
	}
	scene_end(&s);
}

/* ---- structs of a later version ---------------------------------------- */

#define TAIL 16

/* A struct with bytes after its end that this version does not know. */
#define LONGER(type) \
	union { \
		struct type s; \
		unsigned char bytes[sizeof(struct type) + TAIL]; \
	}

static void a_longer_how_is_taken_while_its_tail_is_zero(void)
{
	LONGER(pathcache_how) how = {.bytes = {0}};
	LONGER(pathcache_cred) cred = {.bytes = {0}};
	struct pathcache_attr attr;
	struct scene s;

	scene_begin(&s);
	ts_file(&s.tree, "f", 0644, "f");
	how.s.size = sizeof(how);
	CHECK_EQ(pathcache_stat(s.cache, "/f", &how.s, &attr), 0);
	cred.s.size = sizeof(cred);
	how.s.cred = &cred.s;
	CHECK_EQ(pathcache_stat(s.cache, "/f", &how.s, &attr), 0);
	cred.bytes[sizeof(cred) - 1] = 1;
	CHECK_EQ(pathcache_stat(s.cache, "/f", &how.s, &attr), -E2BIG);
	cred.bytes[sizeof(cred) - 1] = 0;
	how.bytes[sizeof(struct pathcache_how)] = 1;
	CHECK_EQ(pathcache_stat(s.cache, "/f", &how.s, &attr), -E2BIG);
	CHECK_EQ(pathcache_open_fd(s.cache, "/f", O_RDONLY, &how.s), -E2BIG);
	how.bytes[sizeof(struct pathcache_how)] = 0;
	how.s.size = 0;
	CHECK_EQ(pathcache_stat(s.cache, "/f", &how.s, &attr), -EINVAL);
	scene_end(&s);
}

/* The descriptor's way passes the struct on. */
static void a_longer_how_opens_a_descriptor(void)
{
	LONGER(pathcache_how) how = {.bytes = {0}};
	LONGER(pathcache_cred) cred = {.bytes = {0}};
	struct scene s;
	int fd;

	scene_begin(&s);
	ts_file(&s.tree, "f", 0644, "f");
	how.s.size = sizeof(how);
	cred.s.size = sizeof(cred);
	how.s.cred = &cred.s;
	fd = pathcache_open_fd(s.cache, "/f", O_RDONLY, &how.s);
	CHECK(fd >= 0);
	if (fd >= 0)
		close(fd);
	scene_end(&s);
}

static void longer_options_and_callbacks_are_taken_while_their_tail_is_zero(void)
{
	struct pathcache_reply root = {.size = sizeof(root), .object = {.id = 1}};
	LONGER(pathcache_options) opt = {.bytes = {0}};
	LONGER(pathcache_ops) ops = {.bytes = {0}};
	struct pathcache *cache;
	struct odd odd = {.nonsense_in = CALLBACKS};

	atomic_store(&odd.stick_in, -1);
	odd_attr(&root, 1);
	ops.s = odd_ops;
	ops.s.size = sizeof(ops);
	pathcache_options_init(&opt.s);
	opt.s.size = sizeof(opt);
	REQUIRE(pathcache_open_ops(&cache, &ops.s, &odd, &root, &opt.s) == 0);
	CHECK_EQ(ts_stat_err(cache, "/f"), 0);
	CHECK_EQ(pathcache_close(cache), 0);
	ops.bytes[sizeof(ops) - 1] = 1;
	CHECK_EQ(pathcache_open_ops(&cache, &ops.s, &odd, &root, &opt.s), -E2BIG);
	ops.bytes[sizeof(ops) - 1] = 0;
	opt.bytes[sizeof(opt) - 1] = 1;
	CHECK_EQ(pathcache_open_ops(&cache, &ops.s, &odd, &root, &opt.s), -E2BIG);
}

static const struct ts_case cases[] = {
	TS_CASE(memory_that_runs_out_anywhere_harms_no_answer),
	TS_CASE(rings_of_dead_directories_are_freed_at_close),
	TS_CASE(close_is_refused_while_an_invalidated_link_is_held),
	TS_CASE(close_is_refused_while_a_removed_entry_is_held),
	TS_CASE(an_entry_of_an_own_namespace_has_a_path),
	TS_CASE(a_path_of_any_depth_is_told),
	TS_CASE(an_object_whose_identity_is_used_again_is_freed),
	TS_CASE(a_nameless_directory_and_its_last_child_may_be_put_at_once),
	TS_CASE(the_path_of_a_deep_entry_is_told_while_its_names_change),
	TS_CASE(a_path_of_many_components_is_walked_while_its_names_change),
	TS_CASE(no_mode_hangs_while_everything_is_invalidated),
	TS_CASE(a_link_that_is_not_kept_and_tells_its_text_late_is_followed),
	TS_CASE(every_handle_is_whole_until_it_is_released_once),
	TS_CASE(a_positive_code_of_a_backend_is_trouble),
	TS_CASE(a_thread_cancelled_in_a_callback_leaves_nothing_held),
	TS_CASE(a_waiter_takes_over_from_a_cancelled_leader),
	TS_CASE(a_thread_cancelled_at_a_system_call_leaves_nothing_held),
	TS_CASE(a_refused_open_does_not_truncate),
	TS_CASE(an_acl_is_honoured_for_a_foreign_caller),
	TS_CASE(a_longer_how_is_taken_while_its_tail_is_zero),
	TS_CASE(a_longer_how_opens_a_descriptor),
	TS_CASE(longer_options_and_callbacks_are_taken_while_their_tail_is_zero),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
