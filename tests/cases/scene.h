/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a case starts from: a cache of an empty real tree, or of an empty namespace. */
#ifndef TS_SCENE_H
#define TS_SCENE_H

#include "namespace.h"
#include "oracle.h"
#include "run.h"
#include "tree.h"

struct scene {
	struct ts_tree tree;
	struct ts_view view;
	struct pathcache *cache; /* that of the view */
};

void scene_begin(struct scene *scene);
void scene_begin_with(struct scene *scene, const struct pathcache_options *opt);
void scene_end(struct scene *scene);
/* pathcache_invalidate_path(), which must succeed. */
void changed(struct pathcache *cache, const char *path);
/* pathcache_invalidate_entry() of what path leads to now. */
void changed_object(struct pathcache *cache, const char *path);

struct app {
	struct ts_namespace ns;
	struct pathcache *cache;
};

void app_begin(struct app *app);
void app_begin_with(struct app *app, const struct pathcache_options *opt);
/* Closes; checks that every handle was given back. */
void app_end(struct app *app);

/* One stat in a thread of its own. */
struct asker {
	struct ts_thread thread;
	struct pathcache *cache;
	const char *path;
	const struct ts_cred *cred;
	struct pathcache_attr attr;
	int rc;
};

void asker_start(struct asker *asker, struct pathcache *cache, const char *path);
/* Waits at most 10 s, then ends the program. Return: what stat returned. */
int asker_finish(struct asker *asker);

struct pathcache_attr attr_of(struct pathcache *cache, const char *path);

#endif
