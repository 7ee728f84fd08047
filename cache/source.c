/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_WAIT_MS 1000 /* an event is queued by the call that makes it; more than enough */

int pc_probe_make(char *path, size_t size)
{
	int fd = memfd_create("pathcache", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	snprintf(path, size, "/proc/self/fd/%d", fd);
	return fd;
}

int pc_probe_changed(struct pc_source *s, int probe)
{
	struct pollfd poller = {.fd = s->fd, .events = POLLIN};
	int rc = fchmod(probe, 0600) || fchmod(probe, 0400) ? -errno : 0;

	/* Its event, and that of its end, are read like any: of a key nobody has. */
	if (!rc)
		rc = poll(&poller, 1, PROBE_WAIT_MS) == 1 ? 0 : -ENOSYS;
	close(probe);
	return rc;
}
