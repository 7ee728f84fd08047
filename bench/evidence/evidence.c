/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "evidence.h"

#include "harness.h"
#include "staged.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- figures ---- */

double evidence_value(const struct evidence *row, const char *key)
{
	size_t len = strlen(key);

	if (!strcmp(key, "instructions"))
		return row->instructions > 0 ? row->instructions : -1;
	for (const char *at = row->counts; *at; at += strspn(at, ";")) {
		if (!strncmp(at, key, len) && at[len] == '=')
			return strtod(at + len + 1, NULL);
		at += strcspn(at, ";");
	}
	return -1;
}

void evidence_text(const struct evidence *row, char *buf, size_t size)
{
	*buf = '\0';
	if (row->instructions > 0)
		snprintf(buf, size, "instructions=%g%s", row->instructions,
		         row->counts[0] ? ";" : "");
	strncat(buf, row->counts, size - strlen(buf) - 1);
}

/* ---- other programs ---- */

/* Start it; out: its standard output. Return: 0; -errno. */
static int run(char *const *argv, FILE **out, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int ends[2], error;

	if (pipe(ends))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	posix_spawn_file_actions_addclose(&actions, ends[1]);
	error = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	*out = error ? NULL : fdopen(ends[0], "r");
	if (!*out)
		close(ends[0]);
	return -error;
}

static int finish(FILE *out, pid_t pid, const char *what)
{
	int status;

	fclose(out);
	if (waitpid(pid, &status, 0) < 0)
		return bench_complain(what, -errno);
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : bench_complain(what, -ECHILD);
}

/* Where this program is. Return: 0; -errno. */
static int find_self(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);

	if (n < 0)
		return -errno;
	path[n] = '\0';
	return 0;
}

/* ---- accesses ---- */

static void take_counts(char *line, const struct subject *subjects, struct evidence *rows, size_t n)
{
	char *mode = strchr(line, ' '), *text = mode ? strchr(mode + 1, ' ') : NULL;

	if (!text)
		return;
	*mode++ = *text++ = '\0';
	text[strcspn(text, "\n")] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(subjects[i].scenario, line) && !strcmp(subjects[i].mode, mode))
			snprintf(rows[i].counts, sizeof(rows[i].counts), "%s", text);
	}
}

int evidence_count(const struct evidence_options *opt, const struct subject *subjects,
                   struct evidence *rows, size_t n)
{
	char program[PATH_MAX + sizeof("/evidence_count")], self[PATH_MAX], line[512];
	char scenarios[512], modes[1024];
	char *argv[] = {program, scenarios, modes, NULL};
	FILE *out;
	pid_t pid;
	int error;

	if (!EVIDENCE_COUNTED) {
		puts("left out: accesses: this build has no evidence_count (gcc, no sanitizer)");
		return 0;
	}
	error = find_self(self, sizeof(self));
	if (error)
		return bench_complain("/proc/self/exe", error);
	snprintf(program, sizeof(program), "%s/evidence_count", dirname(self));
	snprintf(scenarios, sizeof(scenarios), "%s", opt->scenarios ? opt->scenarios : "");
	snprintf(modes, sizeof(modes), "%s", opt->modes ? opt->modes : "");
	error = run(argv, &out, &pid);
	if (error)
		return bench_complain(program, error);
	while (fgets(line, sizeof(line), out))
		take_counts(line, subjects, rows, n);
	return finish(out, pid, "evidence_count");
}

/* ---- instructions ---- */

/* What callgrind wrote of the i-th time that it left the loop. 0: nothing. */
static uint64_t read_part(const char *dir, size_t i)
{
	char path[PATH_MAX + 32], line[512];
	uint64_t total = 0;
	FILE *part;

	snprintf(path, sizeof(path), "%s/part.%zu", dir, i);
	part = fopen(path, "re");
	if (!part)
		return 0;
	while (!total && fgets(line, sizeof(line), part)) {
		if (!strncmp(line, "summary: ", 9))
			total = strtoull(line + 9, NULL, 10);
	}
	fclose(part);
	return total;
}

static int read_parts(const struct evidence_options *opt, const char *dir, struct evidence *rows,
                      size_t n)
{
	for (size_t i = 0; i < n * opt->tries; i++) {
		uint64_t once = read_part(dir, 2 * i + 1), twice = read_part(dir, 2 * i + 2);
		double *least = &rows[i / opt->tries].instructions;
		double got = (double)(twice - once) / (double)opt->loop;

		if (!once || !twice) {
			fprintf(stderr, "bench_evidence: callgrind wrote no count of loop %zu\n",
			        i);
			return -EIO;
		}
		/* Alike: that one does not run under valgrind. */
		if (once == twice)
			continue;
		if (i % opt->tries == 0 || got < *least)
			*least = got;
	}
	return 0;
}

/* The words of a command line. */
struct command {
	char words[11][PATH_MAX + 32];
	char *argv[12];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void add_word(struct command *command,
                                                           const char *format, ...)
{
	char *word = command->words[command->n];
	va_list args;

	va_start(args, format);
	vsnprintf(word, sizeof(command->words[0]), format, args);
	va_end(args);
	command->argv[command->n++] = word;
}

/* Return: 0; 1: there is no callgrind; -errno. */
static int run_callgrind(const struct evidence_options *opt, const char *dir, const char *self)
{
	struct command command = {.n = 0};
	FILE *out;
	pid_t pid;
	int error;

	add_word(&command, "valgrind");
	add_word(&command, "--quiet");
	add_word(&command, "--tool=callgrind");
	add_word(&command, "--callgrind-out-file=%s/part", dir);
	add_word(&command, "--toggle-collect=evidence_loop");
	add_word(&command, "--dump-after=evidence_loop");
	add_word(&command, "%s", self);
	add_word(&command, "--loop=%ju", (uintmax_t)opt->loop);
	if (opt->tries == 1)
		add_word(&command, "--quick");
	if (opt->scenarios)
		add_word(&command, "--scenario=%s", opt->scenarios);
	if (opt->modes)
		add_word(&command, "--mode=%s", opt->modes);
	error = run(command.argv, &out, &pid);
	if (error == -ENOENT) {
		puts("left out: instructions: valgrind is not installed");
		return 1;
	}
	return error ? bench_complain("valgrind", error) : finish(out, pid, "valgrind");
}

int evidence_instructions(const struct evidence_options *opt, struct evidence *rows, size_t n)
{
	struct staged staged;
	char self[PATH_MAX];
	int error;

	if (EVIDENCE_SANITIZED) {
		puts("left out: instructions: a sanitizer's would be counted too");
		return 0;
	}
	error = find_self(self, sizeof(self));
	if (error)
		return bench_complain("/proc/self/exe", error);
	error = staged_init(&staged);
	if (error)
		return bench_complain("a temporary directory", error);
	error = run_callgrind(opt, staged.dir, self);
	if (!error)
		error = read_parts(opt, staged.dir, rows, n);
	staged_fini(&staged);
	return error < 0 ? error : 0;
}
