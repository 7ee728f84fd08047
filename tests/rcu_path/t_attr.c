/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The packed form of attributes: each field comes back as it was, at the ends
 * of its range and at random, and what does not fit is refused.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "node.h"
#include "run.h"

#define SEC_MIN INT64_C(-2147483648)
#define SEC_MAX INT64_C(15032385535)
#define NSEC_MAX UINT32_C(0x3fffffff)

struct field {
	const char *name;
	size_t offset, size;
	uint64_t min, max; /* what fits; times are signed */
};

#define FIELD(f, lo, hi) \
	{ \
		.name = #f, .offset = offsetof(struct rp_attr, f), \
		.size = sizeof(((struct rp_attr *)0)->f), .min = (uint64_t)(lo), \
		.max = (uint64_t)(hi) \
	}

static const struct field fields[] = {
	FIELD(mask, 0, UINT16_MAX),         FIELD(mode, S_IFREG, S_IFREG | 07777),
	FIELD(uid, 0, UINT32_MAX),          FIELD(gid, 0, UINT32_MAX),
	FIELD(nlink, 0, UINT32_MAX),        FIELD(blksize, 0, UINT32_MAX),
	FIELD(ino, 0, UINT64_MAX),          FIELD(dev, 0, UINT64_MAX),
	FIELD(rdev, 0, UINT64_MAX),         FIELD(size, 0, UINT64_MAX),
	FIELD(blocks, 0, UINT64_MAX),       FIELD(attributes, 0, UINT32_MAX),
	FIELD(mnt_id, 0, UINT64_MAX),       FIELD(atime_sec, SEC_MIN, SEC_MAX),
	FIELD(mtime_sec, SEC_MIN, SEC_MAX), FIELD(ctime_sec, SEC_MIN, SEC_MAX),
	FIELD(btime_sec, SEC_MIN, SEC_MAX), FIELD(atime_nsec, 0, NSEC_MAX),
	FIELD(mtime_nsec, 0, NSEC_MAX),     FIELD(ctime_nsec, 0, NSEC_MAX),
	FIELD(btime_nsec, 0, NSEC_MAX),
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static void field_set(struct rp_attr *a, const struct field *f, uint64_t value)
{
	uint32_t half = (uint32_t)value;

	memcpy((char *)a + f->offset, f->size == 4 ? (void *)&half : (void *)&value, f->size);
}

static uint64_t field_get(const struct rp_attr *a, const struct field *f)
{
	uint32_t half;
	uint64_t value;

	memcpy(f->size == 4 ? (void *)&half : (void *)&value, (const char *)a + f->offset, f->size);
	return f->size == 4 ? half : value;
}

static uint32_t type_for(const struct rp_attr *a, struct ts_rng *rng)
{
	static const uint32_t types[] = {S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO, S_IFSOCK};

	if (a->rdev)
		return ts_below(rng, 2) ? S_IFCHR : S_IFBLK;
	return types[ts_below(rng, sizeof(types) / sizeof(types[0]))];
}

static void expect_same(const struct rp_attr *got, const struct rp_attr *want)
{
	for (size_t i = 0; i < FIELDS; i++)
		if (field_get(got, &fields[i]) != field_get(want, &fields[i]))
			ts_fail(__FILE__, __LINE__, "%s is %#llx, not %#llx", fields[i].name,
			        (unsigned long long)field_get(got, &fields[i]),
			        (unsigned long long)field_get(want, &fields[i]));
}

/* Through a node, as hits read it. Return: whether it told all. */
static bool through_node(const struct rp_attr *a, struct rp_attr *out, struct rp_perm *perm,
                         uint64_t *mnt)
{
	struct rp_dirnode n;
	uint32_t flags;
	bool told;

	memset(&n, 0, sizeof(n));
	n.node.type = a->mode & S_IFMT;
	rp_node_attr_write(&n.node, a, RP_N_ASK, 5);
	*perm = rp_node_perm(&n.node);
	*mnt = rp_node_mnt(&n.node);
	CHECK_EQ(rp_node_attr_stamp(&n.node), 5);
	CHECK(rp_node_attr_valid(&n.node, 5));
	CHECK(!rp_node_attr_valid(&n.node, 6));
	CHECK(!rp_node_attr_read(&n.node, 6, out, &flags));
	memset(out, 0xa5, sizeof(*out));
	told = rp_node_attr_read(&n.node, 5, out, &flags);
	CHECK(!told || flags == RP_N_ASK);
	rp_node_attr_drop(&n.node, 7);
	CHECK(!rp_node_attr_valid(&n.node, 0));
	CHECK(!rp_node_attr_read(&n.node, 0, out + 1, &flags));
	return told;
}

static void expect_kept(const struct rp_attr *a)
{
	struct rp_attr out[2];
	struct rp_perm perm;
	uint64_t words[RP_ATTR_WORDS], mnt;

	CHECK(rp_attr_pack(a, words));
	CHECK(through_node(a, out, &perm, &mnt));
	expect_same(out, a);
	CHECK_EQ(perm.mode, a->mode);
	CHECK_EQ(perm.uid, a->uid);
	CHECK_EQ(perm.gid, a->gid);
	CHECK_EQ(mnt, a->mnt_id);
}

/* Nothing is told, but what paths are searched by is. */
static void expect_refused(const struct rp_attr *a)
{
	struct rp_attr out[2];
	struct rp_perm perm;
	uint64_t words[RP_ATTR_WORDS], mnt;

	CHECK(!rp_attr_pack(a, words));
	CHECK(!through_node(a, out, &perm, &mnt));
	CHECK_EQ(perm.mode, a->mode & 0xffff);
	CHECK_EQ(perm.uid, a->uid);
	CHECK_EQ(perm.gid, a->gid);
	CHECK_EQ(mnt, a->mnt_id);
}

/* Each field at an end of its range, all others at the other. */
static void every_field_comes_back_at_its_extremes(void)
{
	for (size_t i = 0; i < FIELDS; i++) {
		for (int high = 0; high < 2; high++) {
			struct rp_attr a;

			for (size_t k = 0; k < FIELDS; k++)
				field_set(&a, &fields[k],
				          (k == i) == high ? fields[k].max : fields[k].min);
			if (a.rdev)
				a.mode = S_IFCHR | (a.mode & 07777);
			expect_kept(&a);
		}
	}
}

static void random_attributes_come_back(void)
{
	struct ts_rng rng = ts_rng(1);

	for (unsigned n = ts_scale(200000); n; n--) {
		struct rp_attr a;

		for (size_t i = 0; i < FIELDS; i++) {
			uint64_t range = fields[i].max - fields[i].min;
			uint64_t value = ts_rand(&rng) >> ts_below(&rng, 64);

			field_set(&a, &fields[i],
			          fields[i].min +
			                  (range == UINT64_MAX ? value : value % (range + 1)));
		}
		if (ts_below(&rng, 2))
			a.rdev = 0;
		a.mode = type_for(&a, &rng) | (a.mode & 07777);
		expect_kept(&a);
	}
}

static void times_fit_from_1901_to_2446(void)
{
	static const struct {
		int64_t sec;
		bool fits;
	} table[] = {
		{SEC_MIN, true},
		{SEC_MIN - 1, false},
		{-1, true},
		{0, true},
		{1, true},
		{SEC_MAX, true},
		{SEC_MAX + 1, false},
		{INT64_MIN, false},
		{INT64_MAX, false},
		{INT64_C(253402300799), false},
		{INT64_C(1) << 62, false},
	};
	static const struct field *const times = fields + 13;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		for (size_t k = 0; k < 4; k++) {
			struct rp_attr a = {.mode = S_IFREG, .uid = 1, .gid = 2, .mnt_id = 3};

			field_set(&a, &times[k], (uint64_t)table[i].sec);
			if (table[i].fits)
				expect_kept(&a);
			else
				expect_refused(&a);
		}
	}
}

/* Each bit that has no place, alone. */
static void what_does_not_fit_is_refused(void)
{
	for (size_t i = 0; i < FIELDS; i++) {
		const struct field *f = &fields[i];

		for (unsigned bit = 0; bit < f->size * 8; bit++) {
			uint64_t value = UINT64_C(1) << bit;
			struct rp_attr a = {.mode = S_IFREG, .uid = 1, .gid = 2, .mnt_id = 3};

			if (value <= f->max || strstr(f->name, "_sec") ||
			    f->offset == offsetof(struct rp_attr, mode))
				continue;
			field_set(&a, f, value);
			expect_refused(&a);
		}
	}
}

static void a_mode_above_16_bits_is_refused(void)
{
	for (unsigned bit = 16; bit < 32; bit++) {
		struct rp_attr a = {.mode = S_IFREG | 0644 | 1u << bit, .uid = 1, .gid = 2};

		expect_refused(&a);
	}
}

static void only_devices_have_an_rdev(void)
{
	static const uint32_t types[] = {S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO, S_IFSOCK};
	struct rp_attr a = {.uid = 1, .gid = 2, .rdev = 1};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		a.mode = types[i] | 0600;
		expect_refused(&a);
	}
	a.mode = S_IFCHR | 0600;
	expect_kept(&a);
	a.mode = S_IFBLK | 0600;
	expect_kept(&a);
}

static const struct ts_case cases[] = {
	TS_CASE(every_field_comes_back_at_its_extremes),
	TS_CASE(random_attributes_come_back),
	TS_CASE(times_fit_from_1901_to_2446),
	TS_CASE(what_does_not_fit_is_refused),
	TS_CASE(a_mode_above_16_bits_is_refused),
	TS_CASE(only_devices_have_an_rdev),
};

int main(int argc, char **argv)
{
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
