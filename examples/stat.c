/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pathcache-stat: stat(1), readlink(1), realpath(1) and test(1) -r -w -x on
 * the command line, answered through a cache.
 *
 * Shows: opening with options, a held directory for relative paths, each kind
 * of query, errors, and the counters.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <pathcache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_ANSWERED = 0, EXIT_SOME_FAILED = 1, EXIT_TROUBLE = 2 };

enum query { QUERY_STAT, QUERY_ACCESS, QUERY_READLINK, QUERY_REALPATH };

struct command {
	const char *root; /* NULL: "/", and relative paths start at the current directory */
	enum query query;
	int amode;
	uint32_t mode;
	uint64_t repeat;
	uint64_t flags;
	int stats;
	int null_input;
	char **paths;
	int npaths;
};

/* What a query gives: attributes, or text of length bytes. */
struct answer {
	struct pathcache_attr attr;
	char text[PATH_MAX];
	ssize_t length;
};

struct session {
	const struct command *command;
	struct pathcache *cache;
	struct pathcache_entry *cwd;
	int cwd_error; /* why cwd is NULL */
	int status;
};

static const char help[] =
	"usage: pathcache-stat [OPTION]... PATH...\n"
	"       pathcache-stat [OPTION]... --null [PATH]... <NAMES\n"
	"Show what PATH leads to, answered through a cache.\n"
	"\n"
	"  --access MODE    may this process do MODE (of the letters r, w, x; f: exists)?\n"
	"  --readlink       the text of the symbolic link PATH\n"
	"  --realpath       the canonical path, without links, \".\" and \"..\"\n"
	"  --nofollow       the last component is not followed when it is a link\n"
	"  --root DIR       PATH is looked up within DIR, as after chroot(2)\n"
	"  --mode MODE      how a lookup is protected: rcu (default), lockref, refwalk,\n"
	"                   locked\n"
	"  --repeat N       then look PATH up N times more and show the time of one\n"
	"  --stats          show the counters of the cache at the end\n"
	"  -0, --null       read more paths from standard input, each ended by a NUL\n"
	"  --help           show this text\n"
	"  --version        show the version\n"
	"\n"
	"Exit status: 0 all paths were answered; 1 some were an error (or, with\n"
	"--access, denied); 2 wrong usage, or the cache could not be opened.\n";

/* ---- options ---- */

static _Noreturn void usage_error(const char *problem, const char *argument)
{
	fprintf(stderr,
	        "pathcache-stat: %s%s\n"
	        "Try 'pathcache-stat --help'.\n",
	        problem, argument);
	exit(EXIT_TROUBLE);
}

static void set_query(struct command *command, enum query query)
{
	if (command->query != QUERY_STAT && command->query != query)
		usage_error("only one of --access, --readlink and --realpath can be asked", "");
	command->query = query;
}

static int parse_access(const char *letters)
{
	int amode = F_OK;

	if (!strcmp(letters, "f"))
		return F_OK;
	if (!*letters)
		usage_error("--access needs letters of r, w, x", "");
	for (const char *letter = letters; *letter; letter++) {
		switch (*letter) {
		case 'r':
			amode |= R_OK;
			break;
		case 'w':
			amode |= W_OK;
			break;
		case 'x':
			amode |= X_OK;
			break;
		default:
			usage_error("--access knows the letters r, w, x, not ", letters);
		}
	}
	return amode;
}

static uint32_t parse_mode(const char *name)
{
	static const struct {
		const char *name;
		enum pathcache_mode mode;
	} modes[] = {
		{"rcu", PATHCACHE_MODE_RCU},
		{"lockref", PATHCACHE_MODE_LOCKREF},
		{"refwalk", PATHCACHE_MODE_REFWALK},
		{"locked", PATHCACHE_MODE_LOCKED},
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (!strcmp(name, modes[i].name))
			return (uint32_t)modes[i].mode;
	}
	usage_error("--mode is one of rcu, lockref, refwalk, locked, not ", name);
}

static uint64_t parse_count(const char *text)
{
	unsigned long long count;
	char *end;

	errno = 0;
	count = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || !count)
		usage_error("--repeat needs a number of at least 1, not ", text);
	return count;
}

static _Noreturn void show_and_exit(const char *text)
{
	int bad = fputs(text, stdout) < 0 || fflush(stdout);

	exit(bad ? EXIT_TROUBLE : EXIT_ANSWERED);
}

static void show_version(void)
{
	char text[64];

	snprintf(text, sizeof(text), "pathcache-stat %d.%d.%d\n", PATHCACHE_VERSION_MAJOR,
	         PATHCACHE_VERSION_MINOR, PATHCACHE_VERSION_PATCH);
	show_and_exit(text);
}

enum option_id {
	OPT_ACCESS = 256,
	OPT_READLINK,
	OPT_REALPATH,
	OPT_NOFOLLOW,
	OPT_ROOT,
	OPT_MODE,
	OPT_REPEAT,
	OPT_STATS,
	OPT_HELP,
	OPT_VERSION,
};

static void take_option(struct command *command, int option)
{
	switch (option) {
	case OPT_ACCESS:
		set_query(command, QUERY_ACCESS);
		command->amode = parse_access(optarg);
		break;
	case OPT_READLINK:
		set_query(command, QUERY_READLINK);
		break;
	case OPT_REALPATH:
		set_query(command, QUERY_REALPATH);
		break;
	case OPT_NOFOLLOW:
		command->flags |= PATHCACHE_NOFOLLOW;
		break;
	case OPT_ROOT:
		command->root = optarg;
		break;
	case OPT_MODE:
		command->mode = parse_mode(optarg);
		break;
	case OPT_REPEAT:
		command->repeat = parse_count(optarg);
		break;
	case OPT_STATS:
		command->stats = 1;
		break;
	case '0':
		command->null_input = 1;
		break;
	case OPT_HELP:
		show_and_exit(help);
	case OPT_VERSION:
		show_version();
		break;
	default: /* getopt_long() has said what is wrong */
		fputs("Try 'pathcache-stat --help'.\n", stderr);
		exit(EXIT_TROUBLE);
	}
}

static void parse_command(struct command *command, int argc, char **argv)
{
	static const struct option longs[] = {
		{"access", required_argument, NULL, OPT_ACCESS},
		{"readlink", no_argument, NULL, OPT_READLINK},
		{"realpath", no_argument, NULL, OPT_REALPATH},
		{"nofollow", no_argument, NULL, OPT_NOFOLLOW},
		{"root", required_argument, NULL, OPT_ROOT},
		{"mode", required_argument, NULL, OPT_MODE},
		{"repeat", required_argument, NULL, OPT_REPEAT},
		{"stats", no_argument, NULL, OPT_STATS},
		{"null", no_argument, NULL, '0'},
		{"help", no_argument, NULL, OPT_HELP},
		{"version", no_argument, NULL, OPT_VERSION},
		{0},
	};
	int option;

	*command = (struct command){.mode = PATHCACHE_MODE_RCU};
	while ((option = getopt_long(argc, argv, "0", longs, NULL)) != -1)
		take_option(command, option);
	command->paths = argv + optind;
	command->npaths = argc - optind;
	if (!command->npaths && !command->null_input)
		usage_error("no path given", "");
	if (command->query == QUERY_REALPATH && command->flags & PATHCACHE_NOFOLLOW)
		usage_error("--realpath follows links, so --nofollow cannot be had with it", "");
}

/* ---- printing ---- */

static const char *type_name(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "regular file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symbolic link";
	case S_IFCHR:
		return "character device";
	case S_IFBLK:
		return "block device";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	default:
		return "unknown type";
	}
}

static void print_time(const char *label, int64_t seconds, uint32_t nanoseconds)
{
	time_t when = (time_t)seconds;
	char date[64], zone[16];
	struct tm tm;

	/* A year that does not fit struct tm is still a valid time stamp. */
	if (!localtime_r(&when, &tm)) {
		printf("%s: @%jd.%09u\n", label, (intmax_t)seconds, nanoseconds);
		return;
	}
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
	strftime(zone, sizeof(zone), "%z", &tm);
	printf("%s: %s.%09u %s\n", label, date, nanoseconds, zone);
}

static void print_attr(const char *path, const struct answer *answer)
{
	const struct pathcache_attr *attr = &answer->attr;

	printf("  File: %s", path);
	if (answer->length > 0)
		printf(" -> %.*s", (int)answer->length, answer->text);
	printf("\n  Size: %ju  Blocks: %ju  %s\n", (uintmax_t)attr->size, (uintmax_t)attr->blocks,
	       type_name(attr->mode));
	printf("Device: %u,%u  Inode: %ju  Links: %u", major(attr->dev), minor(attr->dev),
	       (uintmax_t)attr->ino, attr->nlink);
	if (S_ISCHR(attr->mode) || S_ISBLK(attr->mode))
		printf("  Device type: %u,%u", major(attr->rdev), minor(attr->rdev));
	printf("\n  Mode: %04o  Uid: %u  Gid: %u\n", attr->mode & 07777, attr->uid, attr->gid);
	print_time("Access", attr->atime_sec, attr->atime_nsec);
	print_time("Modify", attr->mtime_sec, attr->mtime_nsec);
	print_time("Change", attr->ctime_sec, attr->ctime_nsec);
	if (attr->mask & PATHCACHE_ATTR_BTIME)
		print_time(" Birth", attr->btime_sec, attr->btime_nsec);
}

static void print_answer(const struct command *command, const char *path,
                         const struct answer *answer)
{
	switch (command->query) {
	case QUERY_STAT:
		print_attr(path, answer);
		break;
	case QUERY_ACCESS:
		printf("%s: allowed\n", path);
		break;
	case QUERY_READLINK:
	case QUERY_REALPATH:
		printf("%.*s\n", (int)answer->length, answer->text);
		break;
	}
}

static void print_stats(struct pathcache *cache)
{
	struct pathcache_stats stats = {.size = sizeof(stats)};

	if (pathcache_get_stats(cache, &stats))
		return;
	printf("lookups: %ju, answered from memory: %ju\n", (uintmax_t)stats.lookups,
	       (uintmax_t)stats.hits);
	printf("questions to the kernel: %ju, answers kept: %ju, not kept: %ju\n",
	       (uintmax_t)stats.backend_calls, (uintmax_t)stats.fills,
	       (uintmax_t)(stats.uncached + stats.stale_fills));
	printf("in memory: %ju names (%ju of them absent), %ju objects, %ju bytes\n",
	       (uintmax_t)stats.dentries, (uintmax_t)stats.negatives, (uintmax_t)stats.nodes,
	       (uintmax_t)stats.bytes);
	printf("descriptors of directories: %ju\n", (uintmax_t)stats.dirfds);
}

/* ---- queries ---- */

static struct pathcache_how how_of(const struct session *session)
{
	return (struct pathcache_how){
		.size = sizeof(struct pathcache_how),
		.start = session->cwd,
		.flags = session->command->flags,
	};
}

static int ask(struct session *session, const char *path, struct answer *answer)
{
	const struct command *command = session->command;
	const struct pathcache_how how = how_of(session);

	answer->length = 0;
	switch (command->query) {
	case QUERY_STAT:
		return pathcache_stat(session->cache, path, &how, &answer->attr);
	case QUERY_ACCESS:
		return pathcache_access(session->cache, path, command->amode, &how);
	case QUERY_READLINK:
		answer->length = pathcache_readlink(session->cache, path, &how, answer->text,
		                                    sizeof(answer->text));
		break;
	case QUERY_REALPATH:
		answer->length = pathcache_realpath(session->cache, path, &how, answer->text,
		                                    sizeof(answer->text));
		break;
	}
	return answer->length < 0 ? (int)answer->length : 0;
}

/* stat(1) shows where a link leads; a link that has gone meanwhile is shown without. */
static void add_link_text(struct session *session, const char *path, struct answer *answer)
{
	const struct pathcache_how how = how_of(session);

	if (session->command->query != QUERY_STAT || !S_ISLNK(answer->attr.mode))
		return;
	answer->length =
		pathcache_readlink(session->cache, path, &how, answer->text, sizeof(answer->text));
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void repeat(struct session *session, const char *path)
{
	uint64_t count = session->command->repeat, start;
	struct answer answer;
	double ns;

	start = now_ns();
	for (uint64_t i = 0; i < count; i++)
		ask(session, path, &answer);
	ns = (double)(now_ns() - start) / (double)count;
	printf("%s: %ju lookups, %.1f ns each\n", path, (uintmax_t)count, ns);
}

static void look_up(struct session *session, const char *path)
{
	int no_start = *path != '/' && session->cwd_error;
	struct answer answer;
	int error;

	error = no_start ? session->cwd_error : ask(session, path, &answer);
	if (error) {
		fflush(stdout);
		fprintf(stderr, "%s: %s\n", path, strerror(-error));
		session->status = EXIT_SOME_FAILED;
	} else {
		add_link_text(session, path, &answer);
		print_answer(session->command, path, &answer);
	}
	if (session->command->repeat && !no_start)
		repeat(session, path);
}

static void look_up_input(struct session *session)
{
	size_t capacity = 0;
	char *path = NULL;

	while (getdelim(&path, &capacity, '\0', stdin) > 0)
		look_up(session, path);
	if (ferror(stdin)) {
		perror("standard input");
		session->status = EXIT_TROUBLE;
	}
	free(path);
}

/* ---- the session ---- */

/* Without --root, relative paths start at the current directory, held for the session. */
static void hold_cwd(struct session *session)
{
	char *path;

	if (session->command->root)
		return;
	path = getcwd(NULL, 0);
	session->cwd_error =
		path ? pathcache_get(session->cache, path, NULL, &session->cwd) : -errno;
	free(path);
}

static int open_session(struct session *session)
{
	const char *root = session->command->root ? session->command->root : "/";
	struct pathcache_options options;
	int error;

	pathcache_options_init(&options);
	options.mode = session->command->mode;
	error = pathcache_open(&session->cache, root, &options);
	if (error) {
		fprintf(stderr, "pathcache-stat: %s: %s\n", root, strerror(-error));
		return error;
	}
	hold_cwd(session);
	return 0;
}

static int close_session(struct session *session)
{
	int error;

	if (session->cwd)
		pathcache_put(session->cache, session->cwd);
	error = pathcache_close(session->cache);
	if (error)
		fprintf(stderr, "pathcache-stat: closing: %s\n", strerror(-error));
	return error;
}

int main(int argc, char **argv)
{
	struct command command;
	struct session session = {.command = &command};

	parse_command(&command, argc, argv);
	if (open_session(&session))
		return EXIT_TROUBLE;
	for (int i = 0; i < command.npaths; i++)
		look_up(&session, command.paths[i]);
	if (command.null_input)
		look_up_input(&session);
	if (command.stats)
		print_stats(session.cache);
	if (close_session(&session))
		session.status = EXIT_TROUBLE;
	if (fflush(stdout) || ferror(stdout)) {
		perror("standard output");
		session.status = EXIT_TROUBLE;
	}
	return session.status;
}
