/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A temporary directory tree on a real file system. Every call ends the
 * program when the system refuses: a test on a tree that is not there proves
 * nothing. Paths are relative to the tree.
 */
#ifndef TS_TREE_H
#define TS_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ts_tree {
	char path[PATH_MAX];
	int fd;
};

/*
 * Give the process a mount namespace of its own, in which the directory for
 * temporary files is a new one that no other program sees. Before any thread.
 * Return: false when the system does not allow it; then nothing has changed.
 */
bool ts_isolate(void);
/* Whether it did: then the process may mount as it likes. */
bool ts_isolated(void);

void ts_tree_make(struct ts_tree *tree);
void ts_tree_remove(struct ts_tree *tree);

void ts_dir(const struct ts_tree *tree, const char *path, mode_t mode);
void ts_file(const struct ts_tree *tree, const char *path, mode_t mode, const char *text);
void ts_append(const struct ts_tree *tree, const char *path, const char *text);
void ts_symlink(const struct ts_tree *tree, const char *path, const char *text);
void ts_hardlink(const struct ts_tree *tree, const char *from, const char *to);
void ts_rename(const struct ts_tree *tree, const char *from, const char *to);
void ts_exchange(const struct ts_tree *tree, const char *one, const char *two);
void ts_unlink(const struct ts_tree *tree, const char *path);
void ts_rmdir(const struct ts_tree *tree, const char *path);
void ts_chmod(const struct ts_tree *tree, const char *path, mode_t mode);
void ts_chown(const struct ts_tree *tree, const char *path, uid_t uid, gid_t gid);
/* A new link made aside and renamed over path. */
void ts_swap_link(const struct ts_tree *tree, const char *path, const char *text);
uint64_t ts_ino(const struct ts_tree *tree, const char *path);

#endif
