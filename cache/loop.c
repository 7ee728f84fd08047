/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

void pc_loop_init(struct pc_loop *l)
{
	l->fd = -1;
}

void pc_loop_fini(struct pc_loop *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

int pc_loop_add(struct pc_loop *l, int fd, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.fd = fd};

	if (l->fd < 0)
		l->fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->fd < 0 || epoll_ctl(l->fd, EPOLL_CTL_ADD, fd, &ev))
		return -errno;
	return 0;
}

void pc_loop_remove(struct pc_loop *l, int fd)
{
	epoll_ctl(l->fd, EPOLL_CTL_DEL, fd, NULL);
}
