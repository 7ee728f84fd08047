/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rules of path resolution, one row each: what the literal table says and
 * what the kernel says, cold and hot, in every mode, for a cache of a
 * directory and for a cache of "/".
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "oracle.h"
#include "run.h"
#include "tree.h"

#define MODES 4

struct row {
	const char *path;
	int stat, lstat;          /* errno */
	const char *same, *lsame; /* what it is, where that can be told plainly */
};

static const struct row rows[] = {
	{"", ENOENT, ENOENT, NULL, NULL},
	{"f", 0, 0, "f", "f"},
	{"d", 0, 0, "d", "d"},
	{"d/", 0, 0, "d", "d"},
	{"d//", 0, 0, "d", "d"},
	{"d/.", 0, 0, "d", "d"},
	{"d/g", 0, 0, "d/g", "d/g"},
	{"d//g", 0, 0, "d/g", "d/g"},
	{"./d/./g", 0, 0, "d/g", "d/g"},
	{"d/sub/..", 0, 0, "d", "d"},
	{"d/sub/../g", 0, 0, "d/g", "d/g"},
	{"d/../f", 0, 0, "f", "f"},
	{"./d//g", 0, 0, "d/g", "d/g"},
	{"d/sub/../../d/g", 0, 0, "d/g", "d/g"},
	{"f/", ENOTDIR, ENOTDIR, NULL, NULL},
	{"f//", ENOTDIR, ENOTDIR, NULL, NULL},
	{"f/.", ENOTDIR, ENOTDIR, NULL, NULL},
	{"f/..", ENOTDIR, ENOTDIR, NULL, NULL},
	{"f/x", ENOTDIR, ENOTDIR, NULL, NULL},
	{"f/../f", ENOTDIR, ENOTDIR, NULL, NULL},
	{"lf/", ENOTDIR, ENOTDIR, NULL, NULL},
	{"lf/x", ENOTDIR, ENOTDIR, NULL, NULL},
	{"missing", ENOENT, ENOENT, NULL, NULL},
	{"missing/", ENOENT, ENOENT, NULL, NULL},
	{"missing/.", ENOENT, ENOENT, NULL, NULL},
	{"missing/..", ENOENT, ENOENT, NULL, NULL},
	{"missing/x", ENOENT, ENOENT, NULL, NULL},
	{"d/missing/../g", ENOENT, ENOENT, NULL, NULL},
	{"ld", 0, 0, "d", "ld"},
	{"ld/", 0, 0, "d", "d"},
	{"ld/.", 0, 0, "d", "d"},
	{"ld/g", 0, 0, "d/g", "d/g"},
	{"lds", 0, 0, "d", "lds"},
	{"lds/", 0, 0, "d", "d"},
	{"lds/g", 0, 0, "d/g", "d/g"},
	{"lsub/..", 0, 0, "d", "d"},
	{"lsub/../g", 0, 0, "d/g", "d/g"},
	{"lf", 0, 0, "f", "lf"},
	{"dang", ENOENT, 0, NULL, "dang"},
	{"dang/", ENOENT, ENOENT, NULL, NULL},
	{"dang/x", ENOENT, ENOENT, NULL, NULL},
	{"loop", ELOOP, 0, NULL, "loop"},
	{"loop/", ELOOP, ELOOP, NULL, NULL},
	{"loop/x", ELOOP, ELOOP, NULL, NULL},
	{"two", ELOOP, 0, NULL, "two"},
	{"lfs", ENOTDIR, 0, NULL, "lfs"},
	{"self", 0, 0, ".", "self"},
	{"self/self/f", 0, 0, "f", "f"},
	{"lup/f", 0, 0, "f", "f"},
	{"c40", 0, 0, "f", "c40"},
	{"c41", ELOOP, 0, NULL, "c41"},
	{"c39/", ENOTDIR, ENOTDIR, NULL, NULL},
	{"c41/", ELOOP, ELOOP, NULL, NULL},
	{"noexec", 0, 0, "noexec", "noexec"},
	{"noexec/", 0, 0, "noexec", "noexec"},
	{"noexec/.", 0, 0, "noexec", "noexec"},
	{"noexec/..", 0, 0, ".", "."},
	{"noexec/x", 0, 0, "noexec/x", "noexec/x"},
	{"noexec/absent", ENOENT, ENOENT, NULL, NULL},
	{"only/existing", 0, 0, "only/existing", "only/existing"},
	{"only/absent", ENOENT, ENOENT, NULL, NULL},
	{"lno", 0, 0, "noexec/x", "lno"},
	{"\xff", 0, 0, "\xff", "\xff"},
	{"\xfe", 0, 0, "\xfe", "\xfe"},
	{"\xff\xfe", ENOENT, ENOENT, NULL, NULL},
	{"...", 0, 0, "...", "..."},
	{"..x", 0, 0, "..x", "..x"},
	{"d/...", ENOENT, ENOENT, NULL, NULL},
	{"back\\slash", 0, 0, "back\\slash", "back\\slash"},
	{"new\nline", 0, 0, "new\nline", "new\nline"},
	{"hard", 0, 0, "f", "f"},
	{"fifo", 0, 0, "fifo", "fifo"},
	{"fifo/", ENOTDIR, ENOTDIR, NULL, NULL},
	{"setid", 0, 0, "setid", "setid"},
};

/* What ts_nobody is told. */
static const struct {
	const char *path;
	int stat;
} nobody_rows[] = {
	{"f", 0},
	{"noexec", 0},
	{"noexec/", 0},
	{"noexec/.", EACCES},
	{"noexec/..", EACCES},
	{"noexec/x", EACCES},
	{"noexec/absent", EACCES},
	{"noexec/absent/y", EACCES},
	{"noexec/x/y", EACCES},
	{"lno", EACCES},
	{"only/existing", 0},
	{"only/absent", ENOENT},
	{"only/existing/", ENOTDIR},
	{"d/sub/../g", 0},
};

static const struct {
	const char *path;
	uint64_t flags;
	int stat;
} flag_rows[] = {
	{"f", PATHCACHE_DIRECTORY, ENOTDIR},
	{"d", PATHCACHE_DIRECTORY, 0},
	{"ld", PATHCACHE_DIRECTORY, 0},
	{"ld", PATHCACHE_DIRECTORY | PATHCACHE_NOFOLLOW, ENOTDIR},
	{"lf", PATHCACHE_DIRECTORY, ENOTDIR},
	{"missing", PATHCACHE_DIRECTORY, ENOENT},
	{"..", PATHCACHE_BENEATH, EXDEV},
	{"d/../..", PATHCACHE_BENEATH, EXDEV},
	{"d/..", PATHCACHE_BENEATH, 0},
	{"d/../f", PATHCACHE_BENEATH, 0},
	{"d/sub/../../../f", PATHCACHE_BENEATH, EXDEV},
	{"/f", PATHCACHE_BENEATH, EXDEV},
	{"/", PATHCACHE_BENEATH, EXDEV},
	{"labs", PATHCACHE_BENEATH, EXDEV},
	{"labs", PATHCACHE_BENEATH | PATHCACHE_NOFOLLOW, 0},
	{"lout", PATHCACHE_BENEATH, EXDEV},
	{"lup/f", PATHCACHE_BENEATH, 0},
	{"missing/../..", PATHCACHE_BENEATH, ENOENT},
	{"f/../..", PATHCACHE_BENEATH, ENOTDIR},
	{"..", PATHCACHE_IN_ROOT, 0},
	{"../../../f", PATHCACHE_IN_ROOT, 0},
	{"/f", PATHCACHE_IN_ROOT, 0},
	{"/../f", PATHCACHE_IN_ROOT, 0},
	{"labs", PATHCACHE_IN_ROOT, 0},
	{"lout", PATHCACHE_IN_ROOT, 0},
	{"labs/../f", PATHCACHE_IN_ROOT, 0},
	{"ld", PATHCACHE_NO_SYMLINKS, ELOOP},
	{"ld", PATHCACHE_NO_SYMLINKS | PATHCACHE_NOFOLLOW, 0},
	{"ld/", PATHCACHE_NO_SYMLINKS | PATHCACHE_NOFOLLOW, ELOOP},
	{"ld/g", PATHCACHE_NO_SYMLINKS, ELOOP},
	{"d/g", PATHCACHE_NO_SYMLINKS, 0},
	{"dang", PATHCACHE_NO_SYMLINKS, ELOOP},
	{"missing", PATHCACHE_NO_SYMLINKS, ENOENT},
	{"d/sub/../g", PATHCACHE_NO_XDEV, 0},
	{"ld/g", PATHCACHE_NO_XDEV | PATHCACHE_BENEATH, 0},
	{"ld", PATHCACHE_NO_SYMLINKS | PATHCACHE_BENEATH, ELOOP},
	{"f", PATHCACHE_BENEATH | PATHCACHE_IN_ROOT, EINVAL},
};

static struct ts_tree tree;
static bool foreign; /* a foreign caller's questions can be asked of the kernel */
static char *generated[16];
static struct row generated_rows[16];
static size_t ngenerated;

/* ---- the tree ---------------------------------------------------------- */

static void build(void)
{
	ts_tree_make(&tree);
	ts_file(&tree, "f", 0644, "text");
	ts_hardlink(&tree, "f", "hard");
	ts_dir(&tree, "d", 0755);
	ts_dir(&tree, "d/sub", 0755);
	ts_file(&tree, "d/g", 0600, "more");
	ts_symlink(&tree, "ld", "d");
	ts_symlink(&tree, "lds", "d/");
	ts_symlink(&tree, "lsub", "d/sub");
	ts_symlink(&tree, "lf", "f");
	ts_symlink(&tree, "dang", "nowhere");
	ts_symlink(&tree, "loop", "loop");
	ts_symlink(&tree, "two", "owt");
	ts_symlink(&tree, "owt", "two");
	ts_symlink(&tree, "lfs", "f/");
	ts_symlink(&tree, "self", ".");
	ts_symlink(&tree, "lup", "d/sub/../..");
	ts_symlink(&tree, "labs", "/d");
	ts_symlink(&tree, "lout", "d/../../f");
	ts_dir(&tree, "noexec", 0755);
	ts_file(&tree, "noexec/x", 0644, "");
	ts_chmod(&tree, "noexec", 0);
	ts_symlink(&tree, "lno", "noexec/x");
	ts_dir(&tree, "only", 0711);
	ts_file(&tree, "only/existing", 0644, "");
	ts_file(&tree, "\xff", 0644, "1");
	ts_file(&tree, "\xfe", 0644, "22");
	ts_file(&tree, "...", 0644, "333");
	ts_file(&tree, "..x", 0644, "4444");
	ts_file(&tree, "back\\slash", 0644, "");
	ts_file(&tree, "new\nline", 0644, "");
	ts_file(&tree, "setid", 0600, "");
	ts_chmod(&tree, "setid", 04755);
	REQUIRE(mkfifoat(tree.fd, "fifo", 0640) == 0);
	ts_symlink(&tree, "c1", "f");
	for (int i = 2; i <= 41; i++) {
		char from[16], to[16];

		snprintf(from, sizeof(from), "c%d", i);
		snprintf(to, sizeof(to), "c%d", i - 1);
		ts_symlink(&tree, from, to);
	}
	foreign = ts_nobody_reaches(tree.path);
}

static void generate(const char *before, const char *unit, size_t times, const char *after,
                     struct row row)
{
	size_t len = strlen(before) + times * strlen(unit) + strlen(after) + 1;
	char *path = malloc(len);

	REQUIRE(path && ngenerated < 16);
	strcpy(path, before);
	for (size_t i = 0; i < times; i++)
		strcat(path, unit);
	strcat(path, after);
	row.path = path;
	generated[ngenerated] = path;
	generated_rows[ngenerated++] = row;
}

static void generate_long(void)
{
	static const struct row dot = {NULL, 0, 0, ".", "."}, file = {NULL, 0, 0, "f", "f"},
				noent = {NULL, ENOENT, ENOENT, NULL, NULL},
				notdir = {NULL, ENOTDIR, ENOTDIR, NULL, NULL},
				loop = {NULL, ELOOP, ELOOP, NULL, NULL},
				toolong = {NULL, ENAMETOOLONG, ENAMETOOLONG, NULL, NULL};

	generate("", "n", 255, "", noent);
	generate("", "n", 256, "", toolong);
	generate("", "n", 256, "/", toolong);
	generate("missing/", "n", 256, "", noent);
	generate("f/", "n", 256, "", notdir);
	generate("d/", "n", 256, "/x", toolong);
	generate("", "./", 2047, ".", dot);
	generate("", "./", 2048, "", toolong);
	generate("", "/", 4095, "", (struct row){NULL, 0, 0, NULL, NULL});
	generate("d", "/", 4093, "g", (struct row){NULL, 0, 0, "d/g", "d/g"});
	generate("", "self/", 40, "f", file);
	generate("", "self/", 41, "f", loop);
	generate("", "self/", 40, "lf", (struct row){NULL, ELOOP, 0, NULL, "lf"});
	generate("", "d/../", 800, "f", file);
	generate("", "n", 4095, "", toolong);
}

/* ---- rows in every setting --------------------------------------------- */

enum way { ROOTED, ROOTED_SLASH, WHOLE_START, WHOLE_PREFIX, WAYS };

/* Return: false when the row cannot be put so. */
static bool spell(enum way way, const char *path, char *out, size_t size)
{
	bool prefixed = way == ROOTED_SLASH || way == WHOLE_PREFIX;

	if (prefixed && (!*path || strlen(path) + strlen(tree.path) > 2000))
		return false;
	snprintf(out, size, "%s%s%s", way == WHOLE_PREFIX ? tree.path : "", prefixed ? "/" : "",
	         path);
	return true;
}

static void check_literal(const struct ts_view *view, const struct ts_query *query,
                          const struct row *row)
{
	static struct ts_answer answer;
	bool lstat = query->op == TS_LSTAT;
	int want = lstat ? row->lstat : row->stat;
	const char *same = lstat ? row->lsame : row->same;

	ts_ask_cache(view, query, &answer);
	if (answer.err != want) {
		ts_fail(__FILE__, __LINE__, "the table says %s",
		        want ? strerrorname_np(want) : "success");
		ts_print_query(stderr, view, query);
		ts_print_answer(stderr, query, "cache", &answer);
	} else if (!want && same && answer.attr.ino != ts_ino(&tree, same)) {
		ts_fail(__FILE__, __LINE__, "should be %s", same);
		ts_print_query(stderr, view, query);
	}
}

static void check_ops(const struct ts_view *view, struct ts_query query)
{
	for (int round = 0; round < 2; round++) {
		for (query.op = TS_STAT; query.op <= TS_REALPATH; query.op++) {
			for (query.amode = 0; query.amode < 8; query.amode++) {
				if (query.amode && query.op != TS_ACCESS)
					break;
				ts_agree(__FILE__, __LINE__, view, &query);
			}
		}
	}
}

static void check_row(const struct ts_view *view, enum way way, const struct ts_start *start,
                      const struct row *row)
{
	static const struct ts_cred member = {
		.uid = 1000, .gid = 1000, .ngroups = 2, .groups = {4, 0}};
	struct ts_query query = {.start = start};
	char path[2 * PATH_MAX];

	if (!spell(way, row->path, path, sizeof(path)))
		return;
	query.path = path;
	for (int round = 0; round < 2; round++) {
		if (way == ROOTED || way == WHOLE_START) {
			query.op = TS_STAT;
			check_literal(view, &query, row);
			query.op = TS_LSTAT;
			check_literal(view, &query, row);
		}
	}
	check_ops(view, query);
	if (!foreign)
		return;
	query.cred = &ts_nobody;
	check_ops(view, query);
	query.cred = &member;
	check_ops(view, query);
}

static void check_rows(const struct ts_view *view, enum way way, const struct ts_start *start)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(view, way, start, &rows[i]);
	for (size_t i = 0; i < ngenerated; i++)
		check_row(view, way, start, &generated_rows[i]);
}

static struct ts_start start_at(const struct ts_view *view, const char *path)
{
	struct ts_start start = {.entry = ts_get(view->cache, path)};

	start.fd = openat(view->fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(start.fd >= 0);
	return start;
}

static void start_end(const struct ts_view *view, struct ts_start *start)
{
	pathcache_put(view->cache, start->entry);
	close(start->fd);
}

static void every_row_equals_the_kernel_in_a_rooted_cache(void)
{
	for (uint32_t mode = 0; mode < MODES; mode++) {
		struct ts_view view = {0};

		ts_view_open_mode(&view, tree.path, mode);
		check_rows(&view, ROOTED, NULL);
		ts_view_close(&view);
		view = (struct ts_view){0};
		ts_view_open_mode(&view, tree.path, mode);
		check_rows(&view, ROOTED_SLASH, NULL);
		ts_view_close(&view);
	}
}

static void every_row_equals_the_kernel_in_a_cache_of_slash(void)
{
	for (uint32_t mode = 0; mode < MODES; mode++) {
		struct ts_view view = {0};
		struct ts_start start;

		ts_view_open_mode(&view, "/", mode);
		start = start_at(&view, tree.path);
		check_rows(&view, WHOLE_START, &start);
		start_end(&view, &start);
		ts_view_close(&view);
		view = (struct ts_view){0};
		ts_view_open_mode(&view, "/", mode);
		check_rows(&view, WHOLE_PREFIX, NULL);
		ts_view_close(&view);
	}
}

/* Answers must not depend on what was asked before: all in reverse order, one cold cache each. */
static void each_row_alone_on_a_cold_cache(void)
{
	for (size_t i = sizeof(rows) / sizeof(rows[0]); i-- > 0;) {
		struct ts_view view = {0};

		ts_view_open_mode(&view, tree.path, i % MODES);
		for (int op = TS_REALPATH; op >= TS_STAT; op--)
			AGREE(&view, .op = (enum ts_op)op, .path = rows[i].path);
		ts_view_close(&view);
	}
}

static void a_foreign_caller_is_told_what_the_table_says(void)
{
	if (!foreign) {
		ts_skip("needs root, and a TMPDIR that uid 65534 can search");
		return;
	}
	for (uint32_t mode = 0; mode < MODES; mode++) {
		struct ts_view view = {0};

		ts_view_open_mode(&view, tree.path, mode);
		for (int round = 0; round < 3; round++) {
			for (size_t i = 0; i < sizeof(nobody_rows) / sizeof(nobody_rows[0]); i++) {
				const char *path = nobody_rows[i].path;

				if (round == 1)
					ts_stat_err(view.cache, path);
				CHECK_EQ(-ts_stat_as(view.cache, path, &ts_nobody),
				         nobody_rows[i].stat);
			}
		}
		ts_view_close(&view);
	}
}

static void capabilities_count_as_the_kernel_counts_them(void)
{
	static const struct ts_cred search = {.uid = 65534,
	                                      .gid = 65534,
	                                      .caps = PATHCACHE_CAP_DAC_READ_SEARCH},
				    over = {.uid = 65534,
	                                    .gid = 65534,
	                                    .caps = PATHCACHE_CAP_DAC_OVERRIDE},
				    bare_root = {.uid = 0, .gid = 0};
	const struct ts_cred *const creds[] = {&search, &over, &bare_root, &ts_nobody};
	struct ts_view view = {0};

	if (!foreign) {
		ts_skip("needs root");
		return;
	}
	ts_view_open(&view, tree.path, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t c = 0; c < 4; c++)
			check_ops(&view, (struct ts_query){.path = rows[i].path, .cred = creds[c]});
	ts_view_close(&view);
}

/* ---- flags ------------------------------------------------------------- */

static void check_flags(const struct ts_view *view, const struct ts_start *start)
{
	for (size_t i = 0; i < sizeof(flag_rows) / sizeof(flag_rows[0]); i++) {
		struct ts_query query = {
			.path = flag_rows[i].path, .flags = flag_rows[i].flags, .start = start};
		struct row row = {.stat = flag_rows[i].stat};

		for (int round = 0; round < 2; round++) {
			query.op = TS_STAT;
			check_literal(view, &query, &row);
			for (query.op = TS_STAT; query.op <= TS_REALPATH; query.op++)
				if (query.op != TS_READLINK || !(query.flags & PATHCACHE_DIRECTORY))
					ts_agree(__FILE__, __LINE__, view, &query);
		}
	}
}

static void flags_equal_openat2(void)
{
	for (uint32_t mode = 0; mode < MODES; mode++) {
		struct ts_view view = {0};
		struct ts_start start;

		ts_view_open_mode(&view, tree.path, mode);
		check_flags(&view, NULL);
		ts_view_close(&view);
		view = (struct ts_view){0};
		ts_view_open_mode(&view, "/", mode);
		start = start_at(&view, tree.path);
		check_flags(&view, &start);
		start_end(&view, &start);
		ts_view_close(&view);
	}
}

/* Every row under every set of flags, from a directory below the root too. */
static void flags_equal_openat2_on_every_row(void)
{
	static const uint64_t sets[] = {PATHCACHE_BENEATH,
	                                PATHCACHE_IN_ROOT,
	                                PATHCACHE_NO_SYMLINKS,
	                                PATHCACHE_NO_XDEV,
	                                PATHCACHE_DIRECTORY,
	                                PATHCACHE_BENEATH | PATHCACHE_NO_SYMLINKS,
	                                PATHCACHE_IN_ROOT | PATHCACHE_NOFOLLOW,
	                                PATHCACHE_BENEATH | PATHCACHE_NOFOLLOW};
	struct ts_view view = {0};
	struct ts_start start;

	ts_view_open(&view, tree.path, NULL);
	start = start_at(&view, "d");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++) {
			char up[PATH_MAX];

			snprintf(up, sizeof(up), "../%s", rows[i].path);
			for (int round = 0; round < 2; round++) {
				AGREE(&view, .path = rows[i].path, .flags = sets[s]);
				if (!(sets[s] & (PATHCACHE_BENEATH | PATHCACHE_IN_ROOT)))
					continue;
				AGREE(&view, .path = rows[i].path, .flags = sets[s],
				      .start = &start);
				AGREE(&view, .path = up, .flags = sets[s], .start = &start);
			}
		}
	}
	start_end(&view, &start);
	ts_view_close(&view);
}

static void unknown_flags_are_refused(void)
{
	struct ts_view view = {0};
	struct pathcache_how how = {.size = sizeof(how), .flags = UINT64_C(1) << 40};
	struct pathcache_attr attr;

	ts_view_open(&view, tree.path, NULL);
	CHECK_EQ(pathcache_stat(view.cache, "f", &how, &attr), -EINVAL);
	ts_view_close(&view);
}

static void cached_never_asks(void)
{
	struct ts_view view = {0};
	uint64_t calls;

	ts_view_open(&view, tree.path, NULL);
	CHECK_EQ(ts_stat_flags(view.cache, "f", PATHCACHE_CACHED), -EAGAIN);
	CHECK_EQ(ts_stat_flags(view.cache, "d/g", PATHCACHE_CACHED), -EAGAIN);
	CHECK_EQ(ts_stat_err(view.cache, "d"), 0);
	CHECK_EQ(ts_stat_flags(view.cache, "d/g", PATHCACHE_CACHED), -EAGAIN);
	CHECK_EQ(ts_stat_flags(view.cache, "d", PATHCACHE_CACHED), 0);
	CHECK_EQ(ts_stat_err(view.cache, "missing"), -ENOENT);
	CHECK_EQ(ts_stat_err(view.cache, "lf"), 0);
	CHECK_EQ(ts_stat_err(view.cache, "f/x"), -ENOTDIR);
	calls = ts_stats(view.cache).backend_calls;
	CHECK_EQ(ts_stat_flags(view.cache, "missing", PATHCACHE_CACHED), -ENOENT);
	CHECK_EQ(ts_stat_flags(view.cache, "missing/y", PATHCACHE_CACHED), -ENOENT);
	CHECK_EQ(ts_stat_flags(view.cache, "lf", PATHCACHE_CACHED), 0);
	CHECK_EQ(ts_stat_flags(view.cache, "f/x", PATHCACHE_CACHED), -ENOTDIR);
	CHECK_EQ(ts_stat_flags(view.cache, "never/x", PATHCACHE_CACHED), -EAGAIN);
	CHECK_EQ(ts_stats(view.cache).backend_calls, calls);
	CHECK_EQ(pathcache_invalidate_name(view.cache, NULL, "missing"), 0);
	CHECK_EQ(ts_stat_flags(view.cache, "missing", PATHCACHE_CACHED), -EAGAIN);
	ts_view_close(&view);
}

/* ---- hits -------------------------------------------------------------- */

static void check_hot(const struct ts_view *view, struct ts_query query)
{
	static struct ts_answer answer;

	for (query.op = TS_STAT; query.op <= TS_REALPATH; query.op++) {
		uint64_t calls;

		ts_ask_cache(view, &query, &answer);
		calls = ts_stats(view->cache).backend_calls;
		ts_ask_cache(view, &query, &answer);
		if (ts_stats(view->cache).backend_calls == calls)
			continue;
		ts_fail(__FILE__, __LINE__, "the second time asks the backend again");
		ts_print_query(stderr, view, &query);
	}
}

static void the_second_time_asks_nothing(void)
{
	for (uint32_t mode = 0; mode < MODES; mode++) {
		struct ts_view view = {0};

		ts_view_open_mode(&view, tree.path, mode);
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			check_hot(&view, (struct ts_query){.path = rows[i].path});
			check_hot(&view,
			          (struct ts_query){.path = rows[i].path, .cred = &ts_nobody});
		}
		ts_view_close(&view);
	}
}

/* ---- the other calls --------------------------------------------------- */

static void realpath_equals_the_c_library(void)
{
	struct ts_view view = {0};
	char path[2 * PATH_MAX], want[PATH_MAX], got[PATH_MAX];

	ts_view_open(&view, "/", NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!spell(WHOLE_PREFIX, rows[i].path, path, sizeof(path)))
			continue;
		for (int round = 0; round < 2; round++) {
			const char *ok = realpath(path, want);
			int err = ok ? 0 : errno;
			ssize_t rc = pathcache_realpath(view.cache, path, NULL, got, sizeof(got));

			CHECK_EQ(rc < 0 ? -rc : 0, err);
			if (ok && rc > 0)
				CHECK(strcmp(got, want) == 0 && (size_t)rc == strlen(want));
		}
	}
	ts_view_close(&view);
}

static void short_buffers_truncate_or_say_so(void)
{
	struct ts_view view = {0};
	char buf[16];

	ts_view_open(&view, tree.path, NULL);
	for (int round = 0; round < 2; round++) {
		memset(buf, 'Z', sizeof(buf));
		CHECK_EQ(pathcache_readlink(view.cache, "lsub", NULL, buf, 3), 3);
		CHECK(memcmp(buf, "d/sZ", 4) == 0);
		CHECK_EQ(pathcache_readlink(view.cache, "lsub", NULL, buf, 5), 5);
		CHECK_EQ(pathcache_realpath(view.cache, "d/g", NULL, buf, 4), -ERANGE);
		CHECK_EQ(pathcache_realpath(view.cache, "d/g", NULL, buf, 5), 4);
		CHECK(strcmp(buf, "/d/g") == 0);
		CHECK_EQ(pathcache_realpath(view.cache, ".", NULL, buf, 2), 1);
		CHECK(strcmp(buf, "/") == 0);
		CHECK_EQ(pathcache_realpath(view.cache, ".", NULL, buf, 1), -ERANGE);
	}
	ts_view_close(&view);
}

static void attributes_convert_to_struct_stat(void)
{
	static const char *const names[] = {"f", "d", "lf", "fifo", "setid"};
	struct ts_view view = {0};

	ts_view_open(&view, tree.path, NULL);
	for (size_t i = 0; i < 5; i++) {
		struct pathcache_how how = {.size = sizeof(how), .flags = PATHCACHE_NOFOLLOW};
		struct pathcache_attr attr;
		struct stat want, got;

		REQUIRE(fstatat(tree.fd, names[i], &want, AT_SYMLINK_NOFOLLOW) == 0);
		CHECK_EQ(pathcache_stat(view.cache, names[i], &how, &attr), 0);
		CHECK_EQ(pathcache_attr_to_stat(&attr, &got), 0);
		CHECK_EQ(got.st_dev, want.st_dev);
		CHECK_EQ(got.st_ino, want.st_ino);
		CHECK_EQ(got.st_mode, want.st_mode);
		CHECK_EQ(got.st_nlink, want.st_nlink);
		CHECK_EQ(got.st_uid, want.st_uid);
		CHECK_EQ(got.st_gid, want.st_gid);
		CHECK_EQ(got.st_rdev, want.st_rdev);
		CHECK_EQ(got.st_size, want.st_size);
		CHECK_EQ(got.st_blksize, want.st_blksize);
		CHECK_EQ(got.st_mtim.tv_sec, want.st_mtim.tv_sec);
		CHECK_EQ(got.st_mtim.tv_nsec, want.st_mtim.tv_nsec);
		CHECK_EQ(got.st_ctim.tv_sec, want.st_ctim.tv_sec);
		CHECK_EQ(got.st_ctim.tv_nsec, want.st_ctim.tv_nsec);
		CHECK_EQ(got.st_atim.tv_sec, want.st_atim.tv_sec);
	}
	ts_view_close(&view);
}

/* The fifo would block, and a dead link must not. */
static void open_fd_equals_open(void)
{
	static const int flags[] = {
		O_RDONLY,           O_WRONLY, O_PATH, O_RDONLY | O_DIRECTORY, O_RDONLY | O_NOFOLLOW,
		O_PATH | O_NOFOLLOW};
	struct ts_view view = {0};

	ts_view_open(&view, tree.path, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strncmp(rows[i].path, "fifo", 4) == 0)
			continue;
		for (size_t f = 0; f < 2 * sizeof(flags) / sizeof(flags[0]); f++) {
			struct open_how how = {.flags = (unsigned)flags[f / 2] | O_CLOEXEC,
			                       .resolve = RESOLVE_IN_ROOT};
			int want = ts_openat2(tree.fd, rows[i].path, &how);
			int err = want < 0 ? errno : 0;
			int got = pathcache_open_fd(view.cache, rows[i].path, flags[f / 2], NULL);
			struct stat a, b;

			if ((got < 0 ? -got : 0) != err)
				ts_fail(__FILE__, __LINE__, "open_fd(%s, %#o) is %d, not %d",
				        rows[i].path, flags[f / 2], got < 0 ? -got : 0, err);
			if (got >= 0 && want >= 0 && fstat(got, &a) == 0 && fstat(want, &b) == 0)
				CHECK(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
			if (got >= 0) {
				CHECK(fcntl(got, F_GETFD) & FD_CLOEXEC);
				close(got);
			}
			if (want >= 0)
				close(want);
		}
	}
	CHECK_EQ(pathcache_open_fd(view.cache, "new", O_RDWR | O_CREAT, NULL), -EINVAL);
	CHECK_EQ(pathcache_open_fd(view.cache, "d", O_RDWR | O_TMPFILE, NULL), -EINVAL);
	ts_view_close(&view);
}

/* What memory says of an absent name is an answer, not a doubt. */
static void open_fd_of_an_absent_name_resolves_it_once(void)
{
	struct ts_view view = {0};
	uint64_t hits;

	ts_view_open(&view, tree.path, NULL);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pathcache_open_fd(view.cache, "absent", O_RDONLY, NULL), -ENOENT);
	hits = ts_stats(view.cache).hits;
	CHECK_EQ(pathcache_open_fd(view.cache, "absent", O_RDONLY, NULL), -ENOENT);
	CHECK_EQ(ts_stats(view.cache).hits, hits + 1);
	ts_view_close(&view);
}

static void open_fd_asks_for_the_given_caller(void)
{
	struct pathcache_cred cred = ts_to_cred(&ts_nobody);
	struct pathcache_how how = {.size = sizeof(how), .cred = &cred};
	struct ts_view view = {0};
	int fd;

	ts_view_open(&view, tree.path, NULL);
	for (int round = 0; round < 2; round++) {
		CHECK_EQ(pathcache_open_fd(view.cache, "d/g", O_RDONLY, &how), -EACCES);
		CHECK_EQ(pathcache_open_fd(view.cache, "f", O_WRONLY, &how), -EACCES);
		CHECK_EQ(pathcache_open_fd(view.cache, "noexec/x", O_PATH, &how), -EACCES);
		fd = pathcache_open_fd(view.cache, "f", O_RDONLY, &how);
		CHECK(fd >= 0);
		close(fd);
	}
	ts_view_close(&view);
}

/* ---- held directories -------------------------------------------------- */

#define DEEP 100
#define STEP 10

/* D13: only one call's string is bounded. */
static void a_tree_deeper_than_any_path_is_walked_by_handles(void)
{
	char name[101] = "", step[STEP * 101 + 1] = "", whole[16384];
	struct ts_view view = {0};
	struct ts_start at;
	int fd = dup(tree.fd), next;
	ssize_t len;

	memset(name, 'a', 100);
	for (int i = 0; i < DEEP; i++) {
		REQUIRE(mkdirat(fd, name, 0755) == 0);
		next = openat(fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		REQUIRE(next >= 0);
		close(fd);
		fd = next;
	}
	REQUIRE((next = openat(fd, "end", O_CREAT | O_WRONLY | O_CLOEXEC, 0644)) >= 0);
	close(next);
	close(fd);
	for (int i = 0; i < STEP; i++)
		strcat(strcat(step, name), "/");
	ts_view_open(&view, tree.path, NULL);
	at = start_at(&view, ".");
	for (int i = 0; i < DEEP / STEP; i++) {
		struct pathcache_how how = {.size = sizeof(how), .start = at.entry};
		struct pathcache_entry *entry;

		AGREE(&view, .path = "end", .start = &at);
		AGREE(&view, .path = step, .start = &at);
		REQUIRE(pathcache_get(view.cache, step, &how, &entry) == 0);
		next = openat(at.fd, step, O_PATH | O_DIRECTORY | O_CLOEXEC);
		REQUIRE(next >= 0);
		start_end(&view, &at);
		at = (struct ts_start){.entry = entry, .fd = next};
	}
	for (int round = 0; round < 2; round++) {
		struct pathcache_how how = {.size = sizeof(how), .start = at.entry};

		AGREE(&view, .path = "end", .start = &at);
		AGREE(&view, .path = "end/", .start = &at);
		AGREE(&view, .path = ".", .start = &at);
		AGREE(&view, .path = "..", .start = &at);
		AGREE(&view, .path = "../../..", .start = &at);
		AGREE(&view, .path = "absent", .start = &at);
		AGREE(&view, .op = TS_ACCESS, .amode = R_OK, .path = "end", .start = &at);
		CHECK_EQ(pathcache_realpath(view.cache, "end", &how, whole, 4096), -ERANGE);
		len = pathcache_realpath(view.cache, "end", &how, whole, sizeof(whole));
		CHECK_EQ(len, DEEP * 101 + 4);
		CHECK_EQ(pathcache_entry_path(view.cache, at.entry, whole, 4096), -ERANGE);
		len = pathcache_entry_path(view.cache, at.entry, whole, sizeof(whole));
		CHECK_EQ(len, DEEP * 101);
		CHECK(strncmp(whole + 1, step, 1009) == 0);
	}
	start_end(&view, &at);
	ts_view_close(&view);
}

static void a_start_that_is_no_directory_fails_as_the_kernel_does(void)
{
	struct ts_view view = {0};
	struct ts_start file = {0};

	ts_view_open(&view, tree.path, NULL);
	file.entry = ts_get(view.cache, "f");
	file.fd = openat(tree.fd, "f", O_PATH | O_CLOEXEC);
	for (int round = 0; round < 2; round++) {
		AGREE(&view, .path = "x", .start = &file);
		AGREE(&view, .path = "..", .start = &file);
		AGREE(&view, .path = ".", .start = &file);
		AGREE(&view, .path = "", .start = &file);
	}
	start_end(&view, &file);
	ts_view_close(&view);
}

static void a_start_is_searched_for_the_caller(void)
{
	struct ts_view view = {0};
	struct ts_start start;

	if (!foreign) {
		ts_skip("needs root");
		return;
	}
	ts_view_open(&view, tree.path, NULL);
	start = start_at(&view, "noexec");
	for (int round = 0; round < 2; round++) {
		AGREE(&view, .path = "x", .start = &start, .cred = &ts_nobody);
		AGREE(&view, .path = ".", .start = &start, .cred = &ts_nobody);
		AGREE(&view, .path = "..", .start = &start, .cred = &ts_nobody);
		AGREE(&view, .path = "absent", .start = &start, .cred = &ts_nobody);
		AGREE(&view, .path = "", .start = &start, .cred = &ts_nobody);
		AGREE(&view, .path = "x", .start = &start);
	}
	start_end(&view, &start);
	ts_view_close(&view);
}

static void an_id_belongs_to_one_object(void)
{
	static const char *const same[][2] = {
		{"f", "hard"}, {"f", "lf"}, {"d", "ld/"}, {"d/g", "lds/g"}, {"d", "d/sub/.."}};
	struct ts_view view = {0};
	struct pathcache_entry *a, *b;
	struct pathcache_attr attr;

	ts_view_open(&view, tree.path, NULL);
	for (size_t i = 0; i < 5; i++) {
		a = ts_get(view.cache, same[i][0]);
		b = ts_get(view.cache, same[i][1]);
		CHECK_EQ(pathcache_entry_id(a), pathcache_entry_id(b));
		CHECK_EQ(pathcache_entry_stat(view.cache, a, &attr), 0);
		CHECK_EQ(attr.ino, ts_ino(&tree, same[i][0]));
		pathcache_ref(view.cache, a);
		CHECK_EQ(pathcache_close(view.cache), -EBUSY);
		pathcache_put(view.cache, a);
		pathcache_put(view.cache, a);
		pathcache_put(view.cache, b);
	}
	a = ts_get(view.cache, "f");
	b = ts_get(view.cache, "d/g");
	CHECK(pathcache_entry_id(a) != pathcache_entry_id(b));
	pathcache_put(view.cache, a);
	pathcache_put(view.cache, b);
	ts_view_close(&view);
}

/* ---- listing, credentials, other file systems -------------------------- */

struct listing {
	const char *dir;
	unsigned count, stop_at;
	uint64_t cookie;
};

static int listed(void *arg, const char *name, size_t len, uint64_t ino, uint32_t type,
                  uint64_t cookie)
{
	struct listing *listing = arg;
	struct stat st;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", listing->dir, name);
	CHECK_EQ(len, strlen(name));
	CHECK(strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
	if (fstatat(tree.fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		ts_fail(__FILE__, __LINE__, "listed but absent: %s", path);
	} else {
		CHECK_EQ(ino, st.st_ino);
		CHECK(type == 0 || type == (st.st_mode & S_IFMT));
	}
	listing->cookie = cookie;
	return ++listing->count == listing->stop_at;
}

static unsigned count_names(const char *path)
{
	int fd = openat(tree.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(fd);
	unsigned n = 0;

	REQUIRE(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static void a_listing_has_every_name_once(void)
{
	struct ts_view view = {0};
	struct pathcache_entry *dir, *file;
	struct listing all = {.dir = "."}, part = {.dir = ".", .stop_at = 5};

	ts_view_open(&view, tree.path, NULL);
	dir = ts_get(view.cache, "/");
	file = ts_get(view.cache, "f");
	CHECK_EQ(pathcache_readdir(view.cache, dir, 0, listed, &all), 0);
	CHECK_EQ(all.count, count_names("."));
	CHECK_EQ(pathcache_readdir(view.cache, dir, 0, listed, &part), 0);
	CHECK_EQ(part.count, 5);
	part.stop_at = 0;
	CHECK_EQ(pathcache_readdir(view.cache, dir, part.cookie, listed, &part), 0);
	CHECK_EQ(part.count, all.count);
	CHECK_EQ(pathcache_readdir(view.cache, file, 0, listed, &all), -ENOTDIR);
	pathcache_put(view.cache, dir);
	pathcache_put(view.cache, file);
	ts_view_close(&view);
}

static void own_credentials(void *arg)
{
	static const struct ts_cred other = {.uid = 1234,
	                                     .gid = 77,
	                                     .ngroups = 2,
	                                     .groups = {5, 9},
	                                     .caps = PATHCACHE_CAP_DAC_READ_SEARCH};
	struct pathcache_cred cred = {.size = sizeof(cred)};
	uint32_t groups[8];

	(void)arg;
	ts_switch_to(&other);
	CHECK_EQ(pathcache_cred_self(&cred, groups, 8), 0);
	CHECK_EQ(cred.uid, 1234);
	CHECK_EQ(cred.gid, 77);
	CHECK_EQ(cred.ngroups, 2);
	CHECK(cred.groups == groups && groups[0] == 5 && groups[1] == 9);
	CHECK_EQ(cred.caps, PATHCACHE_CAP_DAC_READ_SEARCH);
	CHECK_EQ(pathcache_cred_self(&cred, groups, 1), -ERANGE);
	ts_switch_back();
}

static void a_thread_reads_its_own_credentials(void)
{
	struct ts_thread thread;

	if (!ts_can_switch()) {
		ts_skip("needs root");
		return;
	}
	ts_thread_start(&thread, own_credentials, NULL);
	ts_thread_join(&thread);
}

static void proc_is_answered_by_the_kernel(void)
{
	struct ts_view view = {0};
	char got[64], want[64];
	struct stat st;

	if (stat("/proc/self/status", &st) != 0) {
		ts_skip("no /proc");
		return;
	}
	ts_view_open(&view, "/", NULL);
	for (int round = 0; round < 2; round++) {
		ssize_t n = readlink("/proc/self", want, sizeof(want));

		CHECK_EQ(pathcache_readlink(view.cache, "/proc/self", NULL, got, sizeof(got)), n);
		CHECK(n > 0 && memcmp(got, want, (size_t)n) == 0);
		CHECK_EQ(ts_stat_err(view.cache, "/proc/self/status"), 0);
		CHECK_EQ(ts_stat_err(view.cache, "/proc/self/absent"), -ENOENT);
		CHECK_EQ(ts_stat_err(view.cache, "/proc/999999999"), -ENOENT);
		CHECK_EQ(ts_stat_err(view.cache, "/proc/self/status/x"), -ENOTDIR);
		AGREE(&view, .path = "/proc/..");
		AGREE(&view, .path = "/proc/sys/../..");
		CHECK_EQ(ts_stat_flags(view.cache, "/proc", PATHCACHE_NO_XDEV), -EXDEV);
		CHECK_EQ(ts_stat_flags(view.cache, "/proc/self", PATHCACHE_NO_XDEV), -EXDEV);
	}
	ts_view_close(&view);
}

static void open_fails_as_open_does(void)
{
	char path[PATH_MAX + 16];
	struct pathcache *cache;

	CHECK_EQ(pathcache_open(&cache, "/nonexistent-directory", NULL), -ENOENT);
	snprintf(path, sizeof(path), "%s/f", tree.path);
	CHECK_EQ(pathcache_open(&cache, path, NULL), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/loop", tree.path);
	CHECK_EQ(pathcache_open(&cache, path, NULL), -ELOOP);
}

static const struct ts_case cases[] = {
	TS_CASE(every_row_equals_the_kernel_in_a_rooted_cache),
	TS_CASE(every_row_equals_the_kernel_in_a_cache_of_slash),
	TS_CASE(each_row_alone_on_a_cold_cache),
	TS_CASE(a_foreign_caller_is_told_what_the_table_says),
	TS_CASE(capabilities_count_as_the_kernel_counts_them),
	TS_CASE(flags_equal_openat2),
	TS_CASE(flags_equal_openat2_on_every_row),
	TS_CASE(unknown_flags_are_refused),
	TS_CASE(cached_never_asks),
	TS_CASE(the_second_time_asks_nothing),
	TS_CASE(realpath_equals_the_c_library),
	TS_CASE(short_buffers_truncate_or_say_so),
	TS_CASE(attributes_convert_to_struct_stat),
	TS_CASE(open_fd_equals_open),
	TS_CASE(open_fd_of_an_absent_name_resolves_it_once),
	TS_CASE(open_fd_asks_for_the_given_caller),
	TS_CASE(a_start_that_is_no_directory_fails_as_the_kernel_does),
	TS_CASE(a_start_is_searched_for_the_caller),
	TS_CASE(an_id_belongs_to_one_object),
	TS_CASE(a_listing_has_every_name_once),
	TS_CASE(a_thread_reads_its_own_credentials),
	TS_CASE(proc_is_answered_by_the_kernel),
	TS_CASE(open_fails_as_open_does),
	/* Last: it leaves a tree behind that slows the others' listings. */
	TS_CASE(a_tree_deeper_than_any_path_is_walked_by_handles),
};

int main(int argc, char **argv)
{
	int status;

	build();
	generate_long();
	status = ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
	ts_tree_remove(&tree);
	for (size_t i = 0; i < ngenerated; i++)
		free(generated[i]);
	return status;
}
