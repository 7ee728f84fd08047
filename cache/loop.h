/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * loop: one descriptor that is readable when there is something to do, for the
 * application's event loop or for the cache's own thread.
 *
 * Made when the first descriptor is added. Sources of events may replace theirs
 * while the application polls; this one stays as it is until close.
 */
#ifndef PC_LOOP_H
#define PC_LOOP_H

#include <stdint.h>

struct pc_loop {
	int fd; /* const after open; an epoll instance, -1: nothing to wait for */
};

void pc_loop_init(struct pc_loop *l);
void pc_loop_fini(struct pc_loop *l);

/* Have a descriptor, though nothing to wait for yet. Return: 0; -errno. Context: open. */
int pc_loop_open(struct pc_loop *l);

/* events: EPOLLIN... Return: 0; -errno. Context: any. */
int pc_loop_add(struct pc_loop *l, int fd, uint32_t events);

/* Before fd is closed. */
void pc_loop_remove(struct pc_loop *l, int fd);

#endif
