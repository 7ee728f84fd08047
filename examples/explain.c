/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pathcache-explain: what a cache of the file system would answer from memory
 * for each path, and why: first before it was asked, then after.
 *
 * Shows: explaining an answer, telling all names in memory, the statistics as
 * Prometheus reads them.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pathcache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char help[] =
	"usage: pathcache-explain [OPTION]... PATH...\n"
	"Show what a cache would answer for PATH from memory, and why: before it was\n"
	"asked, and after.\n"
	"\n"
	"  --root DIR  PATH is looked up within DIR, as after chroot(2)\n"
	"  --dump      then show all names in memory\n"
	"  --metrics   then show all statistics, as Prometheus reads them\n"
	"  --help      show this text\n"
	"\n"
	"Exit status: 0; 2 wrong usage, or the cache could not be opened.\n";

/* ---- why an answer comes ---- */

static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[PATHCACHE_KIND_START] = "start",     [PATHCACHE_KIND_DIRECTORY] = "directory",
		[PATHCACHE_KIND_LINK] = "link",       [PATHCACHE_KIND_LEAF] = "leaf",
		[PATHCACHE_KIND_NEGATIVE] = "absent", [PATHCACHE_KIND_LISTING] = "listing",
		[PATHCACHE_KIND_MISSING] = "missing",
	};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "of a later version";
}

static const char *needs_name(uint32_t needs)
{
	static const char *const names[] = {
		[PATHCACHE_NEEDS_NOTHING] = "nothing",
		[PATHCACHE_NEEDS_NAME] = "what the name leads to",
		[PATHCACHE_NEEDS_START] = "whether the directory is what it was",
		[PATHCACHE_NEEDS_PARENT] = "which directory is above",
		[PATHCACHE_NEEDS_TEXT] = "the text of the link",
		[PATHCACHE_NEEDS_ATTR] = "its attributes",
		[PATHCACHE_NEEDS_SEARCH] = "whether it may be searched",
		[PATHCACHE_NEEDS_KERNEL] = "about all below it, each time",
	};

	return needs < sizeof(names) / sizeof(names[0]) ? names[needs] : "for something else";
}

static int print_binding(void *arg, const struct pathcache_binding *b)
{
	(void)arg;
	printf("  %-10s%-20s ", kind_name(b->kind), b->len ? b->name : "-");
	if (b->needs)
		printf("to ask: %s\n", needs_name(b->needs));
	else
		printf("known for %" PRIu64 " ms, until a change is announced%s%s\n", b->age_ms,
		       b->held ? ", held" : "", b->memo ? ", in a memo" : "");
	return 0;
}

static void explain(struct pathcache *cache, const char *path)
{
	struct pathcache_attr attr;
	int error;

	for (int asked = 0; asked < 2; asked++) {
		printf("%s, %s it was asked:\n", path, asked ? "after" : "before");
		error = pathcache_explain(cache, path, NULL, print_binding, NULL);
		printf("  from memory: %s\n", error == -EAGAIN ? "no answer"
		                              : error          ? strerror(-error)
		                                               : "answered");
		if (!asked)
			/* Three times: a path that is asked again gets a memo. */
			for (int i = 0; i < 3; i++)
				pathcache_stat(cache, path, NULL, &attr);
	}
}

/* ---- all of it ---- */

static char type_letter(const struct pathcache_dentry *d)
{
	switch (d->type & S_IFMT) {
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	case S_IFREG:
		return '-';
	default:
		return d->type ? 's' : ' ';
	}
}

static int print_dentry(void *arg, const struct pathcache_dentry *d)
{
	(void)arg;
	printf("  %c %-20s in %" PRIu64 ", %" PRIu64 " + %" PRIu64 " bytes, %" PRIu64 " ms%s%s%s\n",
	       type_letter(d), d->len ? d->name : "-", d->dir, d->bytes, d->object_bytes, d->age_ms,
	       d->flags & PATHCACHE_DENTRY_NEGATIVE ? ", absent" : "",
	       d->flags & PATHCACHE_DENTRY_USED ? ", used" : "",
	       d->flags & PATHCACHE_DENTRY_STALE ? ", stale" : "");
	return 0;
}

static void print_metrics(struct pathcache *cache)
{
	char text[8192];

	if (pathcache_stats_text(cache, text, sizeof(text)) > 0)
		fputs(text, stdout);
}

/* ---- the command ---- */

static int usage_error(void)
{
	fputs("Try 'pathcache-explain --help'.\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static int dump, metrics;
	static const struct option longs[] = {
		{"root", required_argument, NULL, 'r'},
		{"dump", no_argument, &dump, 1},
		{"metrics", no_argument, &metrics, 1},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct pathcache *cache;
	const char *root = "/";
	int option, error;

	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (option == 'h')
			return fputs(help, stdout) < 0 || fflush(stdout) ? 2 : 0;
		if (option == '?')
			return usage_error();
		if (option == 'r')
			root = optarg;
	}
	if (optind == argc)
		return usage_error();
	error = pathcache_open(&cache, root, NULL);
	if (error)
		return fprintf(stderr, "%s: %s\n", root, strerror(-error)), 2;
	for (int i = optind; i < argc; i++)
		explain(cache, argv[i]);
	if (dump) {
		puts("in memory:");
		pathcache_dump(cache, print_dentry, NULL);
	}
	if (metrics)
		print_metrics(cache);
	pathcache_close(cache);
	return fflush(stdout) || ferror(stdout) ? 2 : 0;
}
