/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fork: is this process a child of the one that used the library?
 *
 * A child has one thread. What its parent's others held at that moment, locks
 * and read sections, is held for ever in it; so it takes no lock and waits for
 * no grace period: hits go on, all else is refused with -ECHILD. Found out by
 * a page that the kernel wipes in a child; there is no pthread_atfork(3), which
 * would outlive a plug-in's library.
 *
 *   a hit takes        nothing but a read section and its thread's counters
 *   anything else      asks pc_is_child() before its first lock
 */
#ifndef PC_FORK_H
#define PC_FORK_H

#include <stdbool.h>

/*
 * From now on a child will be known. Return: 0; -ECHILD: this is one.
 * Context: before the library's first lock or registration.
 */
int pc_fork_watch(void);

/* Context: any; slow paths only. */
bool pc_is_child(void);

#endif
