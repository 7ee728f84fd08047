/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "play.h"

#include "harness.h"
#include "play_change.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CLOCK_READINGS = 1000,
	TOLD_MAX = 5, /* wrong answers that are told one by one */
};

/* ---- life ---- */

static uint64_t clock_cost(void)
{
	uint64_t least = UINT64_MAX, before = bench_now_ns();

	for (int i = 0; i < CLOCK_READINGS; i++) {
		uint64_t now = bench_now_ns();

		if (now - before < least)
			least = now - before;
		before = now;
	}
	return least;
}

int play_open(struct play *play, const struct recording *recording, uint64_t complete_max)
{
	int error;

	*play = (struct play){.recording = recording, .clock_ns = clock_cost()};
	error = staged_init(&play->staged);
	if (error)
		return error;
	error = origin_infer(&play->origin, recording);
	if (error) {
		staged_fini(&play->staged);
		return error;
	}
	play->setup = (struct rival_setup){
		.dir = play->staged.dir,
		.fd = play->staged.fd,
		.expected = recording->distinct,
		.complete_max = complete_max,
	};
	return 0;
}

void play_close(struct play *play)
{
	origin_fini(&play->origin);
	staged_fini(&play->staged);
}

/* Where nothing changes once is enough. */
static int restore(struct play *play)
{
	int error = 0;

	if (!play->restored || play->recording->changes)
		error = origin_restore(&play->origin, &play->staged, NULL, NULL);
	play->restored = !error;
	return error;
}

int play_begin(struct play *play, const struct rival_ops *ops, struct contestant *rival)
{
	int error = restore(play);

	*rival = (struct contestant){.ops = ops};
	return error ? error : ops->create(ops, &play->setup, &rival->self);
}

static void told(void *arg, enum operation_kind kind, const char *path)
{
	const struct contestant *rival = arg;
	const struct change change = {.kind = kind, .path = path};

	if (rival->ops->told)
		rival->ops->told(rival->self, &change);
}

int play_again(struct play *play, struct contestant *rival)
{
	if (!play->recording->changes)
		return 0;
	return origin_restore(&play->origin, &play->staged, told, rival);
}

int play_end(struct contestant *rival)
{
	return rival->ops->destroy(rival->self);
}

/* ---- a pass ---- */

static void query(struct play *play, struct contestant *rival, const struct operation *op)
{
	rival->ops->ask(rival->self, op->kind, operation_path(play->recording, op), &play->answer);
	if (operation_opens(op->kind) && !play->answer.result)
		close(play->answer.fd);
}

static void change(struct play *play, struct contestant *rival, const struct operation *op)
{
	struct change change;

	if (!play_change(play, op, &change) && change.path && rival->ops->told)
		rival->ops->told(rival->self, &change);
}

static uint64_t without(uint64_t ns, uint64_t cost)
{
	return ns > cost ? ns - cost : 0;
}

/* The clock is read where queries end and changes begin, and the other way round. */
void play_timed(struct play *play, struct contestant *rival, struct play_time *time)
{
	const struct operation *op = play->recording->ops, *end = op + play->recording->count;
	uint64_t ns[2] = {0, 0}, readings[2] = {0, 0}, start = bench_now_ns();

	while (op < end) {
		bool changes = operation_is_change(op);
		uint64_t now;

		if (changes)
			change(play, rival, op++);
		else
			query(play, rival, op++);
		if (op < end && operation_is_change(op) == changes)
			continue;
		now = bench_now_ns();
		ns[changes] += now - start;
		readings[changes]++;
		start = now;
	}
	time->query_ns += without(ns[0], readings[0] * play->clock_ns);
	time->change_ns += without(ns[1], readings[1] * play->clock_ns);
}

/* ---- a pass that is checked ---- */

static bool same_attr(const struct pathcache_attr *attr, const struct stat *st)
{
	return attr->mode == st->st_mode && attr->ino == st->st_ino && attr->uid == st->st_uid &&
	       attr->gid == st->st_gid && attr->nlink == st->st_nlink &&
	       attr->size == (uint64_t)st->st_size && attr->mtime_sec == st->st_mtim.tv_sec &&
	       attr->mtime_nsec == (uint32_t)st->st_mtim.tv_nsec &&
	       attr->ctime_sec == st->st_ctim.tv_sec &&
	       attr->ctime_nsec == (uint32_t)st->st_ctim.tv_nsec;
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

/* told: what the rival has said; play->answer: what the kernel says. */
static bool is_right(const struct play *play, enum operation_kind kind, const struct answer *told)
{
	const struct answer *answer = &play->answer;

	if (told->result != answer->result)
		return false;
	if (told->result)
		return true;
	if (operation_opens(kind))
		return same_file(told->fd, answer->fd);
	if (kind == OPERATION_READLINK)
		return told->length == answer->length &&
		       !memcmp(told->text, answer->text, (size_t)told->length);
	return kind > OPERATION_LSTAT || same_attr(&told->attr, &answer->st);
}

static void tell_wrong(const struct contestant *rival, const char *path, const struct answer *told,
                       const struct answer *answer)
{
	fprintf(stderr, "%s: wrong answer: %s: said \"%s\", the kernel \"%s\"%s\n",
	        rival->ops->mode, path, strerror(-told->result), strerror(-answer->result),
	        told->result == answer->result ? ", but of another file or state" : "");
}

static void check_query(struct play *play, struct contestant *rival, const struct operation *op,
                        struct play_check *check)
{
	static struct answer told;
	const char *path = operation_path(play->recording, op);

	rival->ops->ask(rival->self, op->kind, path, &told);
	kernel_ask(play->staged.fd, op->kind, path, &play->answer);
	if (!is_right(play, op->kind, &told)) {
		if (rival_is_exact(rival->ops) && check->wrong < TOLD_MAX)
			tell_wrong(rival, path, &told, &play->answer);
		check->wrong++;
	}
	if (!operation_opens(op->kind))
		return;
	if (!told.result)
		close(told.fd);
	if (!play->answer.result)
		close(play->answer.fd);
}

/* sum += sign * (after - before), but for what tells of changes themselves. */
static void add_counts(struct rival_counts *sum, const struct rival_counts *counts, int sign)
{
	sum->queries += (uint64_t)sign * counts->queries;
	sum->hits += (uint64_t)sign * counts->hits;
	sum->restarts += (uint64_t)sign * counts->restarts;
	sum->nreasons = counts->nreasons;
	for (size_t i = 0; i < counts->nreasons; i++) {
		sum->reasons[i].name = counts->reasons[i].name;
		sum->reasons[i].n += (uint64_t)sign * counts->reasons[i].n;
	}
}

static void check_change(struct play *play, struct contestant *rival, const struct operation *op,
                         struct play_check *check)
{
	struct rival_counts before, after;

	/* A table's scans are to be told, a cache's questions for directories are not. */
	if (!rival_is_exact(rival->ops)) {
		change(play, rival, op);
		return;
	}
	rival->ops->count(rival->self, &before);
	change(play, rival, op);
	rival->ops->count(rival->self, &after);
	add_counts(&check->counts, &before, 1);
	add_counts(&check->counts, &after, -1);
}

void play_checked(struct play *play, struct contestant *rival, struct play_check *check)
{
	struct rival_counts counts;

	*check = (struct play_check){0};
	rival->ops->count(rival->self, &counts);
	add_counts(&check->counts, &counts, -1);
	for (size_t i = 0; i < play->recording->count; i++) {
		const struct operation *op = &play->recording->ops[i];

		if (operation_is_change(op))
			check_change(play, rival, op, check);
		else
			check_query(play, rival, op, check);
	}
	rival->ops->count(rival->self, &counts);
	add_counts(&check->counts, &counts, 1);
}

int play_agreement(struct play *play, struct play_agreement *agreement)
{
	int error = restore(play);

	*agreement = (struct play_agreement){0};
	for (size_t i = 0; i < play->recording->count && !error; i++) {
		const struct operation *op = &play->recording->ops[i];
		struct change change;
		int result;

		if (operation_is_change(op)) {
			result = play_change(play, op, &change);
		} else {
			kernel_ask(play->staged.fd, op->kind, operation_path(play->recording, op),
			           &play->answer);
			result = play->answer.result;
			agreement->calls++;
			if (operation_opens(op->kind) && !result) {
				agreement->calls++;
				close(play->answer.fd);
			}
		}
		agreement->agree += result == op->result;
	}
	return error;
}
