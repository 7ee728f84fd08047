/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cred.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cache.h"

static_assert(RP_CAP_DAC_OVERRIDE == PATHCACHE_CAP_DAC_OVERRIDE, "one meaning");
static_assert(RP_CAP_DAC_READ_SEARCH == PATHCACHE_CAP_DAC_READ_SEARCH, "one meaning");

#define DAC_BITS ((1u << CAP_DAC_OVERRIDE) | (1u << CAP_DAC_READ_SEARCH))

/* The first word of each set holds all that matter here. */
static int caps_get(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};

	return syscall(SYS_capget, &h, data) ? -errno : 0;
}

static int caps_set(const struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};

	return syscall(SYS_capset, &h, data) ? -errno : 0;
}

static uint32_t caps_to_rp(uint32_t effective)
{
	return (effective & (1u << CAP_DAC_OVERRIDE) ? RP_CAP_DAC_OVERRIDE : 0) |
	       (effective & (1u << CAP_DAC_READ_SEARCH) ? RP_CAP_DAC_READ_SEARCH : 0);
}

static uint32_t caps_from_rp(uint32_t caps)
{
	return (caps & RP_CAP_DAC_OVERRIDE ? 1u << CAP_DAC_OVERRIDE : 0) |
	       (caps & RP_CAP_DAC_READ_SEARCH ? 1u << CAP_DAC_READ_SEARCH : 0);
}

int pc_cred_take(const struct pathcache_cred *cred, struct rp_cred *out)
{
	struct pathcache_cred mine = {.uid = UINT32_MAX, .gid = UINT32_MAX};
	int rc = pc_versioned_copy(&mine, sizeof(mine), cred);

	if (rc)
		return rc;
	if (mine.ngroups && !mine.groups)
		return -EINVAL;
	out->uid = mine.uid;
	out->gid = mine.gid;
	out->groups = mine.groups;
	out->ngroups = mine.ngroups;
	out->caps = mine.caps & (RP_CAP_DAC_OVERRIDE | RP_CAP_DAC_READ_SEARCH);
	return 0;
}

static int groups_current(gid_t **groups)
{
	int n = getgroups(0, NULL);

	if (n < 0)
		return -errno;
	*groups = malloc(((size_t)n + 1) * sizeof(**groups));
	if (!*groups)
		return -ENOMEM;
	n = getgroups(n, *groups);
	if (n < 0) {
		free(*groups);
		*groups = NULL;
		return -EAGAIN;
	}
	return n;
}

int pc_cred_current(struct rp_cred *out, gid_t **groups)
{
	struct __user_cap_data_struct caps[2];
	int n, rc = caps_get(caps);

	if (rc)
		return rc;
	n = groups_current(groups);
	if (n < 0)
		return n;
	out->uid = geteuid();
	out->gid = getegid();
	out->caps = caps_to_rp(caps[0].effective);
	out->groups = *groups;
	out->ngroups = (size_t)n;
	return 0;
}

int pathcache_cred_self(struct pathcache_cred *cred, uint32_t *groups, size_t max)
{
	struct rp_cred self;
	gid_t *mine;
	int rc;

	if (!cred || (max && !groups))
		return -EINVAL;
	rc = pc_cred_current(&self, &mine);
	if (rc)
		return rc;
	if (self.ngroups > max) {
		free(mine);
		return -ERANGE;
	}
	memset(cred, 0, sizeof(*cred));
	cred->size = sizeof(*cred);
	cred->uid = self.uid;
	cred->gid = self.gid;
	cred->caps = self.caps;
	if (self.ngroups)
		memcpy(groups, self.groups, self.ngroups * sizeof(*groups));
	cred->groups = groups;
	cred->ngroups = self.ngroups;
	free(mine);
	return 0;
}

bool pc_cred_equal(const struct rp_cred *a, const struct rp_cred *b)
{
	return a == b || (a->uid == b->uid && a->gid == b->gid && a->caps == b->caps &&
	                  a->ngroups == b->ngroups &&
	                  (a->ngroups == 0 ||
	                   memcmp(a->groups, b->groups, a->ngroups * sizeof(*a->groups)) == 0));
}

bool pc_cred_can_assume(void)
{
	const uint32_t need = (1u << CAP_SETUID) | (1u << CAP_SETGID);
	struct __user_cap_data_struct caps[2];

	return caps_get(caps) == 0 && (caps[0].effective & need) == need;
}

/* setfsuid(2) tells no error; asking again tells what is in force. */
static bool fs_ids_set(uint32_t uid, uint32_t gid)
{
	syscall(SYS_setfsgid, gid);
	syscall(SYS_setfsuid, uid);
	return (uint32_t)syscall(SYS_setfsuid, -1) == uid &&
	       (uint32_t)syscall(SYS_setfsgid, -1) == gid;
}

/* Make effective what set and keep say: bits of keep stay as they are. */
static bool effective_set(const uint32_t set[2], const uint32_t keep[2])
{
	struct __user_cap_data_struct caps[2];

	if (caps_get(caps))
		return false;
	for (int i = 0; i < 2; i++)
		caps[i].effective = (caps[i].effective & keep[i]) | set[i];
	return caps_set(caps) == 0;
}

int pc_cred_assume(const struct rp_cred *cred, struct pc_cred_saved *saved)
{
	const uint32_t dac[2] = {caps_from_rp(cred->caps), 0};
	const uint32_t other[2] = {~DAC_BITS, UINT32_MAX};
	struct __user_cap_data_struct caps[2];
	int rc = caps_get(caps);

	if (rc)
		return rc;
	saved->ngroups = groups_current(&saved->groups);
	if (saved->ngroups < 0)
		return saved->ngroups;
	saved->caps[0] = caps[0].effective;
	saved->caps[1] = caps[1].effective;
	saved->uid = (uint32_t)syscall(SYS_setfsuid, -1);
	saved->gid = (uint32_t)syscall(SYS_setfsgid, -1);
	/* The groups first: it takes a capability. The ids before the capabilities, which follow them. */
	if (syscall(SYS_setgroups, cred->ngroups, cred->groups) == 0 &&
	    fs_ids_set(cred->uid, cred->gid) && effective_set(dac, other))
		return 0;
	pc_cred_restore(saved);
	return -EPERM;
}

void pc_cred_restore(struct pc_cred_saved *saved)
{
	const uint32_t none[2] = {0, 0};

	/* Going back to uid 0 raises more than there was, so all of it is set as it was. */
	if (!fs_ids_set(saved->uid, saved->gid) ||
	    syscall(SYS_setgroups, saved->ngroups, saved->groups) != 0 ||
	    !effective_set(saved->caps, none))
		abort();
	free(saved->groups);
}
