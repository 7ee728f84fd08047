/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What lies together in a node: a link's text and a device's number in one
 * word, a lock and a count in another.
 */
#define _GNU_SOURCE
#include <string.h>

#include "node.h"
#include "run.h"

/* Attributes of a link are written beside its text, not over it. */
static void a_link_keeps_its_text(void)
{
	struct rp_attr a = {.mode = S_IFLNK | 0777, .rdev = 0xdead}, out = {0};
	struct rp_text text = {.len = 0};
	struct rp_node n;
	uint32_t flags;

	memset(&n, 0, sizeof(n));
	n.type = S_IFLNK;
	CHECK(rp_node_set_text(&n, &text));
	rp_node_attr_write(&n, &a, 0, 1);
	CHECK(rp_node_text(&n) == &text);
	CHECK(!rp_node_attr_read(&n, 0, &out, &flags));
	a.rdev = 0;
	rp_node_attr_write(&n, &a, 0, 2);
	CHECK(rp_node_attr_read(&n, 0, &out, &flags));
	CHECK_EQ(out.rdev, 0);
	CHECK(rp_node_text(&n) == &text);
}

/* A device's number is no text. */
static void a_device_has_no_text(void)
{
	struct rp_attr a = {.mode = S_IFBLK | 0600, .rdev = 0xdead};
	struct rp_node n;

	memset(&n, 0, sizeof(n));
	n.type = S_IFBLK;
	rp_node_attr_write(&n, &a, 0, 1);
	CHECK(rp_node_text(&n) == NULL);
}

/* The lock of the locked mode lies in the reference word and is in nobody's way. */
static void a_node_is_killed_under_its_lock(void)
{
	struct rp_node n;

	memset(&n, 0, sizeof(n));
	lockref_init(&n.ref, 1);
	rp_node_spin_lock(&n);
	CHECK(lockref_flags(&n.ref) == RP_REF_LOCKED);
	CHECK(lockref_get(&n.ref));
	CHECK(!lockref_put(&n.ref));
	CHECK(!lockref_put(&n.ref));
	CHECK(lockref_doom(&n.ref));
	rp_node_spin_unlock(&n);
	CHECK(lockref_is_dead(&n.ref));
	CHECK(!rp_node_get_rcu(&n, true));
	CHECK((lockref_flags(&n.ref) & RP_REF_LOCKED) == 0);
	lockref_init(&n.ref, LOCKREF_DOOM | 1);
	CHECK(rp_node_get_rcu(&n, true));
	CHECK(!rp_node_put_rcu(&n, true));
	CHECK(rp_node_put_rcu(&n, true));
	lockref_init(&n.ref, LOCKREF_DOOM);
	rp_node_spin_lock(&n);
	CHECK(lockref_try_kill(&n.ref));
}

static const struct ts_case cases[] = {
	TS_CASE(a_link_keeps_its_text),
	TS_CASE(a_device_has_no_text),
	TS_CASE(a_node_is_killed_under_its_lock),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
