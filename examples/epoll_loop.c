/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A server with a loop of its own, which asks the cache and tends it in one thread.
 *
 * usage: example-epoll-loop DIRECTORY
 * Requests are paths below DIRECTORY, one a line, on standard input (a pipe or a
 * terminal); the answers go to standard output. Whatever others change in DIRECTORY
 * meanwhile, the next answer knows of it.
 *
 * The same works with every loop: poll(2) waits for POLLIN on pathcache_fd(), libuv
 * has uv_poll_init(), libevent event_new(..., EV_READ | EV_PERSIST, ...). Whenever the
 * descriptor was readable, and once after it was added, there may be maintenance.
 */
#include <errno.h>
#include <pathcache.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define WORK 256     /* objects to tend in one turn, so that requests do not wait long */
#define IDLE_MS 1000 /* after so long without anything memory is tended, too */

struct server {
	struct pathcache *cache;
	int epoll;
	int more; /* maintenance is left */
	int over;
	size_t length;
	char input[8192];
};

static int fail(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(error));
	return 2;
}

/* ---- requests ---- */

static void answer(struct server *server, const char *path)
{
	struct pathcache_attr attr;
	int error = pathcache_stat(server->cache, path, NULL, &attr);

	if (error)
		printf("%s: %s\n", path, strerror(-error));
	else
		printf("%s: %llu bytes\n", path, (unsigned long long)attr.size);
}

static void take_requests(struct server *server)
{
	char *line = server->input, *end;
	ssize_t got = read(STDIN_FILENO, server->input + server->length,
	                   sizeof(server->input) - server->length);

	if (got <= 0) {
		server->over = 1;
		return;
	}
	server->length += (size_t)got;
	while ((end = memchr(line, '\n', server->length)) != NULL) {
		*end = '\0';
		answer(server, line);
		server->length -= (size_t)(end + 1 - line);
		line = end + 1;
	}
	memmove(server->input, line, server->length);
	server->over = server->length == sizeof(server->input); /* no path is that long */
	fflush(stdout);
}

/* ---- the loop ---- */

static int wait_for(struct server *server, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) ? errno : 0;
}

static void maintain(struct server *server)
{
	server->more = pathcache_maintain(server->cache, WORK) == 1;
}

static int turn(struct server *server)
{
	struct epoll_event events[2];
	int requests = 0, n;

	n = epoll_wait(server->epoll, events, 2, server->more ? 0 : IDLE_MS);
	if (n < 0)
		return errno == EINTR ? 0 : errno;
	for (int i = 0; i < n; i++)
		requests |= events[i].data.fd == STDIN_FILENO;
	/* Changes first: a request that comes after one is answered by it. */
	if (n != requests || n == 0)
		maintain(server);
	if (requests)
		take_requests(server);
	return 0;
}

static int serve(struct server *server)
{
	int fd = pathcache_fd(server->cache);
	int error;

	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (server->epoll < 0)
		return fail("epoll", errno);
	error = wait_for(server, STDIN_FILENO);
	if (!error && fd >= 0)
		error = wait_for(server, fd);
	/* What has happened before it was waited for. */
	maintain(server);
	while (!error && !server->over)
		error = turn(server);
	close(server->epoll);
	return error ? fail("epoll", error) : 0;
}

int main(int argc, char **argv)
{
	static struct server server;
	struct pathcache_options options;
	int error, status;

	if (argc != 2)
		return fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]), 2;
	pathcache_options_init(&options);
	options.coherence = PATHCACHE_COHERENCE_EVENTS;
	error = pathcache_open(&server.cache, argv[1], &options);
	if (error)
		return fail(argv[1], -error);
	status = serve(&server);
	pathcache_close(server.cache);
	return status;
}
