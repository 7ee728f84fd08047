/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of mounts, as text: what is read of it, and what is refused. */
#define _GNU_SOURCE
#include "mountinfo.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run.h"

static int read_text(struct pc_mount_table *t, const char *text, size_t len)
{
	int fd = memfd_create("table", MFD_CLOEXEC), rc;

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, text, len) == (ssize_t)len);
	rc = pc_mount_table_read(t, fd);
	close(fd);
	return rc;
}

static void lines_are_taken_apart(void)
{
	static const char text[] =
		"40 36 0:41 / /b\\040c rw,nosuid,noexec - tmpfs none\\134x rw,size=1k\n"
		"36 35 98:0 /sub /mnt/d rw,noatime master:1 shared:7 - ext3 /dev/r ro,errors=x\n"
		"35 1 8:1 / / rw - ext4 /dev/s rw\n"
		"41 36 0:42 / /mnt/\\303\\244 ro - nfs  rw\n";
	const struct pc_mount *m;
	struct pc_mount_table t;

	REQUIRE(read_text(&t, text, sizeof(text) - 1) == 0);
	CHECK_EQ(t.n, 4);
	m = pc_mount_by_id(&t, 36);
	REQUIRE(m != NULL);
	CHECK_EQ(m->parent, 35);
	CHECK(strcmp(m->dev, "98:0") == 0 && strcmp(m->root, "/sub") == 0);
	CHECK(strcmp(m->point, "/mnt/d") == 0 && strcmp(m->name, "d") == 0);
	CHECK(strcmp(m->type, "ext3") == 0 && strcmp(m->source, "/dev/r") == 0);
	CHECK_EQ(m->flags, PC_MOUNT_RO);
	m = pc_mount_by_id(&t, 40);
	REQUIRE(m != NULL);
	CHECK(strcmp(m->name, "b c") == 0 && strcmp(m->source, "none\\x") == 0);
	CHECK_EQ(m->flags, PC_MOUNT_NOEXEC);
	m = pc_mount_by_id(&t, 41);
	REQUIRE(m != NULL);
	CHECK(strcmp(m->name, "\xc3\xa4") == 0 && strcmp(m->source, "") == 0);
	CHECK_EQ(m->flags, PC_MOUNT_RO);
	m = pc_mount_by_id(&t, 35);
	REQUIRE(m != NULL);
	CHECK(strcmp(m->name, "") == 0);
	CHECK(pc_mount_by_id(&t, 1) == NULL);
	pc_mount_table_free(&t);
}

static void what_is_no_table_is_refused(void)
{
	static const char *const texts[] = {
		"x",
		"\n",
		"36 35 98:0 / /mnt rw - ext3 src rw", /* cut off */
		"36 35 98:0 / /mnt rw ext3 src rw\n",
		"36 35 98:0 / mnt rw - ext3 src rw\n",
		"36 35 98:0 /\n",
		"36 -1 98:0 / /mnt rw - ext3 src rw\n",
		"99999999999 35 98:0 / /mnt rw - ext3 src rw\n",
		"36 35 98:0 / /mnt rw -\n",
		"36 35 98:0 / /a rw - ext3 s rw\n36 35 98:0 / /b rw - ext3 s rw\n",
	};
	struct pc_mount_table t;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (read_text(&t, texts[i], strlen(texts[i])) != -EBADMSG)
			ts_fail(__FILE__, __LINE__, "row %zu", i);
	CHECK_EQ(read_text(&t, "36 35 98:0 / /\0 rw - e s rw\n", 28), -EBADMSG);
	CHECK_EQ(pc_mount_table_read(&t, -1), -EBADF);
	CHECK_EQ(read_text(&t, "", 0), 0);
	CHECK_EQ(t.n, 0);
	pc_mount_table_free(&t);
}

static void a_long_table_is_read(void)
{
	static char text[1 << 20];
	struct pc_mount_table t;
	size_t len = 0;

	for (unsigned i = 0; i < 9000; i++)
		len += (size_t)sprintf(text + len, "%u 1 0:%u / /m/%u rw - tmpfs none rw\n",
		                       10000 - i, i, i);
	REQUIRE(read_text(&t, text, len) == 0);
	CHECK_EQ(t.n, 9000);
	for (unsigned i = 0; i < 9000; i += 100) {
		const struct pc_mount *m = pc_mount_by_id(&t, 10000 - i);
		char name[16];

		sprintf(name, "%u", i);
		CHECK(m && strcmp(m->name, name) == 0);
	}
	pc_mount_table_free(&t);
}

/* This process's own. */
static void the_kernel_s_is_understood(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct pc_mount_table t;

	if (!f) {
		ts_skip("no /proc");
		return;
	}
	CHECK_EQ(pc_mount_table_read(&t, fileno(f)), 0);
	CHECK(t.n > 0);
	/* From the beginning, again. */
	pc_mount_table_free(&t);
	CHECK_EQ(pc_mount_table_read(&t, fileno(f)), 0);
	CHECK(t.n > 0);
	pc_mount_table_free(&t);
	fclose(f);
}

int main(int argc, char **argv)
{
	static const struct ts_case cases[] = {
		TS_CASE(lines_are_taken_apart),
		TS_CASE(what_is_no_table_is_refused),
		TS_CASE(a_long_table_is_read),
		TS_CASE(the_kernel_s_is_understood),
	};

	return ts_run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
