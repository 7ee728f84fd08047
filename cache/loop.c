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

int pc_loop_open(struct pc_loop *l)
{
	if (l->fd < 0)
		l->fd = epoll_create1(EPOLL_CLOEXEC);
	return l->fd < 0 ? -errno : 0;
}

int pc_loop_add(struct pc_loop *l, int fd, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.fd = fd};

	int rc = pc_loop_open(l);

	if (rc)
		return rc;
	return epoll_ctl(l->fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

void pc_loop_remove(struct pc_loop *l, int fd)
{
	epoll_ctl(l->fd, EPOLL_CTL_DEL, fd, NULL);
}
