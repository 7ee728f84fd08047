/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What figures were measured on, and with what: without it they say little. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

/*
 * CPUs and their model, pinning of the last cell, compiler and flags, versions
 * of liburcu and the kernel; one line. One thread; good until the next call.
 */
const char *machine_line(void);

#endif
