/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who asks what while what is changed. */
#include "orders.h"
#include "run.h"

/* Changes that come to the same in either order. */
static const enum which beside[][2] = {
	{MOVE_DIRECTORY, SWAP_LINK},
	{MOVE_DIRECTORY, CREATE},
	{MOVE_DIRECTORY, RESIZE},
	{MOVE_DIRECTORY, REMOVE},
	{EXCHANGE_DIRECTORIES, SWAP_LINK},
	{EXCHANGE_DIRECTORIES, TURN_LINK},
	{EXCHANGE_DIRECTORIES, REMOVE},
	{MOVE_FILE, SWAP_LINK},
	{MOVE_FILE, SHUT},
	{RECREATE, SHUT},
	{SHUT, RESIZE},
	{MOVE_PARENT, SWAP_LINK},
	{MOVE_PARENT, CREATE},
	{RECREATE_DIRECTORY, SWAP_LINK},
	{REPLACE, SWAP_LINK},
	{REPLACE, REMOVE},
	{LINK, SHUT},
	{LINK, REMOVE},
	{TURN_LINK, SHUT},
};

/* And some that only one after the other can make; there and back among them. */
static const enum which in_turn[][2] = {
	{RESIZE, REMOVE},
	{EXCHANGE_DIRECTORIES, EXCHANGE_DIRECTORIES},
	{EXCHANGE_FILES, EXCHANGE_FILES},
	{TURN_LINK, TURN_LINK},
	{LINK, RECREATE},
	{SHUT, MOVE_DIRECTORY},
	{REPLACE, MOVE_FILE},
	{MOVE_FILE, MOVE_DIRECTORY},
	{SHUT, EXCHANGE_DIRECTORIES},
	{RECREATE, MOVE_PARENT},
	{CHANGE_KIND, MOVE_DIRECTORY},
	{EXCHANGE_DIRECTORIES, MOVE_DIRECTORY},
};

static bool is_over(const struct tally *tally)
{
	return tally->cut || tally->wrong;
}

/* play, announced in every way that suits a and b, from a cold, a warm and a hot cache. */
static void every_way(struct play play, const struct change *a, const struct change *b,
                      unsigned bound, struct tally *tally)
{
	for (play.style = 0; play.style < STYLES; play.style++)
		for (play.warmth = 0; play.warmth < WARMTHS && !is_over(tally); play.warmth++)
			if (orders_suits(a, play.style) && orders_suits(b, play.style))
				orders_play(&play, bound, tally);
}

void orders_lookup_beside_change(unsigned bound, struct tally *tally)
{
	for (unsigned i = 0; i < CHANGES_KNOWN; i++) {
		const struct change *c = &orders_changes[i];

		for (const struct query *q = c->ask; q->op; q++)
			every_way((struct play){.ask = {{q, q}}, .change = {{c}}}, c, c, bound,
			          tally);
	}
}

void orders_lookups_beside_change(unsigned bound, struct tally *tally)
{
	for (unsigned i = 0; i < CHANGES_KNOWN; i++) {
		const struct change *c = &orders_changes[i];

		for (const struct query *q = c->ask; q->op; q++)
			for (const struct query *p = q; p->op; p++)
				every_way((struct play){.ask = {{q}, {p}}, .change = {{c}}}, c, c,
				          bound, tally);
	}
}

/* What a and b may each be seen by, while both are made. */
static void two_changes(struct play play, const struct change *a, const struct change *b,
                        unsigned bound, struct tally *tally)
{
	for (unsigned i = 0; i < 2; i++)
		for (const struct query *q = (i ? b : a)->ask; q->op; q++) {
			play.ask[0][0] = q;
			every_way(play, a, b, bound, tally);
		}
}

void orders_lookup_beside_changes(unsigned bound, struct tally *tally)
{
	for (unsigned i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		const struct change *a = &orders_changes[beside[i][0]];
		const struct change *b = &orders_changes[beside[i][1]];

		two_changes((struct play){.change = {{a}, {b}}}, a, b, bound, tally);
	}
}

void orders_lookup_beside_changes_in_turn(unsigned bound, struct tally *tally)
{
	for (unsigned i = 0; i < sizeof(in_turn) / sizeof(in_turn[0]); i++) {
		const struct change *a = &orders_changes[in_turn[i][0]];
		const struct change *b = &orders_changes[in_turn[i][1]];

		two_changes((struct play){.change = {{a, b}}}, a, b, bound, tally);
	}
}
