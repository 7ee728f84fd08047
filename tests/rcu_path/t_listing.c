/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Listings against a plain array of names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listing.h"
#include "run.h"

#define NAMES_MAX 3000u

/* The slow model: what was put in, in order. */
struct model {
	uint32_t n;
	char (*name)[RP_NAME_MAX + 1];
	size_t len[NAMES_MAX];
	uint64_t ino[NAMES_MAX], cookie[NAMES_MAX];
	uint8_t type[NAMES_MAX];
	char *entries;
	size_t bytes;
};

static struct rp_secret secret;
static struct rp_node dir; /* an address, never followed */

static void model_begin(struct model *m)
{
	memset(m, 0, sizeof(*m));
	m->name = calloc(NAMES_MAX, sizeof(*m->name));
	m->entries = calloc(NAMES_MAX, RP_LISTED_MAX);
	REQUIRE(m->name && m->entries);
}

static void model_end(struct model *m)
{
	free(m->name);
	free(m->entries);
}

static bool model_has(const struct model *m, const char *name, size_t len)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->len[i] == len && memcmp(m->name[i], name, len) == 0)
			return true;
	return false;
}

static void model_add(struct model *m, struct ts_rng *rng, const char *name, size_t len)
{
	struct rp_listed *e = (struct rp_listed *)(void *)(m->entries + m->bytes);
	uint32_t i = m->n++;

	memcpy(m->name[i], name, len);
	m->len[i] = e->len = (uint8_t)len;
	m->ino[i] = e->ino = ts_rand(rng);
	m->cookie[i] = e->cookie = (ts_rand(rng) << 12 | i) + 1;
	m->type[i] = e->type = (uint8_t)ts_below(rng, 16);
	memcpy(e->name, name, len);
	m->bytes += rp_listed_size(len);
}

/* Few different bytes and short names, so that many are alike. */
static size_t name_draw(struct ts_rng *rng, char *name)
{
	size_t len = 1 + ts_below(rng, ts_below(rng, 20) ? 6 : RP_NAME_MAX);

	for (size_t i = 0; i < len; i++)
		name[i] = (char)('a' + ts_below(rng, 3));
	return len;
}

static struct rp_dentry *listing_make(const struct model *m, bool *good)
{
	struct rp_dentry *d = calloc(1, rp_listing_size(m->n, m->bytes));

	REQUIRE(d);
	*good = rp_listing_init(d, &secret, &dir, m->entries, m->bytes, m->n);
	return d;
}

static const struct rp_listed *find(const struct rp_dentry *d, const char *name, size_t len)
{
	return rp_listing_find(rp_listing_of(d), rp_name_hash(&secret, &dir, name, len), name, len);
}

static void check_entry(const struct model *m, uint32_t i, const struct rp_listed *e)
{
	CHECK_EQ(e->len, m->len[i]);
	CHECK(memcmp(e->name, m->name[i], m->len[i]) == 0);
	CHECK_EQ(e->ino, m->ino[i]);
	CHECK_EQ(e->cookie, m->cookie[i]);
	CHECK_EQ(e->type, m->type[i]);
}

static void check_order(const struct model *m, const struct rp_dentry *d)
{
	const struct rp_listing *l = rp_listing_of(d);
	size_t at = 0;

	CHECK_EQ(rp_listing_bytes(l), m->bytes);
	CHECK_EQ(rp_listing_seek(l, 0), 0);
	for (uint32_t i = 0; i < m->n; i++) {
		const struct rp_listed *e = rp_listing_at(l, at);

		check_entry(m, i, e);
		at += rp_listed_size(e->len);
		CHECK_EQ(rp_listing_seek(l, e->cookie), at);
	}
	CHECK_EQ(at, m->bytes);
	CHECK(rp_listing_seek(l, UINT64_MAX) == SIZE_MAX);
}

static void a_name_is_found_exactly_if_it_was_listed(void)
{
	struct ts_rng rng = ts_rng(1);
	char name[RP_NAME_MAX + 1];
	unsigned rounds = ts_scale(60);

	for (unsigned round = 0; round < rounds; round++) {
		uint32_t want = ts_below(&rng, round % 8 ? 60 : NAMES_MAX);
		struct rp_dentry *d;
		struct model m;
		bool good;

		model_begin(&m);
		for (uint32_t i = 0; i < want; i++) {
			size_t len = name_draw(&rng, name);

			if (!model_has(&m, name, len))
				model_add(&m, &rng, name, len);
		}
		d = listing_make(&m, &good);
		CHECK(good);
		CHECK(rp_dentry_is_listing(d));
		CHECK_EQ(rp_dentry_bytes(d), rp_listing_size(m.n, m.bytes));
		check_order(&m, d);
		for (uint32_t i = 0; i < m.n; i++) {
			const struct rp_listed *e = find(d, m.name[i], m.len[i]);

			REQUIRE(e);
			check_entry(&m, i, e);
		}
		for (int i = 0; i < 500; i++) {
			size_t len = name_draw(&rng, name);

			CHECK_EQ(find(d, name, len) != NULL, model_has(&m, name, len));
		}
		free(d);
		model_end(&m);
	}
}

static void a_name_listed_twice_is_refused(void)
{
	static const char *const names[] = {"a", "b", "longer-than-eight", "c", "b"};
	struct ts_rng rng = ts_rng(2);
	struct model m;
	bool good;

	for (uint32_t n = 0; n <= 5; n++) {
		model_begin(&m);
		for (uint32_t i = 0; i < n; i++)
			model_add(&m, &rng, names[i], strlen(names[i]));
		free(listing_make(&m, &good));
		CHECK_EQ(good, n < 5);
		model_end(&m);
	}
}

static void an_empty_directory_has_no_name(void)
{
	struct rp_dentry *d;
	struct model m;
	bool good;

	model_begin(&m);
	d = listing_make(&m, &good);
	CHECK(good);
	CHECK(!find(d, "a", 1));
	CHECK_EQ(rp_listing_seek(rp_listing_of(d), 0), 0);
	CHECK_EQ(rp_listing_bytes(rp_listing_of(d)), 0);
	free(d);
	model_end(&m);
}

static void a_listing_takes_little_memory(void)
{
	struct ts_rng rng = ts_rng(3);
	char name[32];
	struct model m;

	model_begin(&m);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "file-%07d", i);
		model_add(&m, &rng, name, 12);
	}
	printf("      %zu bytes a name of 12\n", rp_listing_size(m.n, m.bytes) / m.n);
	CHECK(rp_listing_size(m.n, m.bytes) / m.n <= 45);
	model_end(&m);
	CHECK_EQ(rp_listing_size(UINT32_MAX / 2, 0), 0);
	CHECK_EQ(rp_listing_size(1, (size_t)1 << 40), 0);
}

static void loose_dentries_without_a_name_are_no_listings(void)
{
	struct rp_dentry d = {.flags = RP_D_LOOSE};

	CHECK(!rp_dentry_is_listing(&d));
	CHECK_EQ(rp_dentry_bytes(&d), rp_dentry_size(0));
}

static const struct ts_case cases[] = {
	TS_CASE(a_name_is_found_exactly_if_it_was_listed),
	TS_CASE(a_name_listed_twice_is_refused),
	TS_CASE(an_empty_directory_has_no_name),
	TS_CASE(a_listing_takes_little_memory),
	TS_CASE(loose_dentries_without_a_name_are_no_listings),
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(secret.words) / sizeof(secret.words[0]); i++)
		secret.words[i] = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
