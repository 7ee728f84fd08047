/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "scene.h"

#include <string.h>

void scene_begin_with(struct scene *scene, const struct pathcache_options *opt)
{
	memset(scene, 0, sizeof(*scene));
	ts_tree_make(&scene->tree);
	ts_view_open(&scene->view, scene->tree.path, opt);
	scene->cache = scene->view.cache;
}

void scene_begin(struct scene *scene)
{
	scene_begin_with(scene, NULL);
}

void scene_end(struct scene *scene)
{
	ts_view_close(&scene->view);
	ts_tree_remove(&scene->tree);
}

void changed(struct pathcache *cache, const char *path)
{
	CHECK_EQ(pathcache_invalidate_path(cache, path), 0);
}

void changed_object(struct pathcache *cache, const char *path)
{
	struct pathcache_entry *entry = ts_get(cache, path);

	CHECK_EQ(pathcache_invalidate_entry(cache, entry), 0);
	pathcache_put(cache, entry);
}

void app_begin_with(struct app *app, const struct pathcache_options *opt)
{
	ts_ns_init(&app->ns);
	ts_ns_open(&app->ns, &app->cache, opt);
}

void app_begin(struct app *app)
{
	app_begin_with(app, NULL);
}

void app_end(struct app *app)
{
	CHECK_EQ(pathcache_close(app->cache), 0);
	CHECK_EQ(ts_ns_unreleased(&app->ns), 0);
	ts_ns_fini(&app->ns);
}

static void asker_run(void *arg)
{
	struct asker *asker = arg;
	struct pathcache_cred cred;
	struct pathcache_how how = {.size = sizeof(how)};

	if (asker->cred) {
		cred = ts_to_cred(asker->cred);
		how.cred = &cred;
	}
	asker->rc = pathcache_stat(asker->cache, asker->path, &how, &asker->attr);
}

void asker_start(struct asker *asker, struct pathcache *cache, const char *path)
{
	asker->cache = cache;
	asker->path = path;
	ts_thread_start(&asker->thread, asker_run, asker);
}

int asker_finish(struct asker *asker)
{
	REQUIRE(ts_thread_ends(&asker->thread, 10000));
	ts_thread_join(&asker->thread);
	return asker->rc;
}

struct pathcache_attr attr_of(struct pathcache *cache, const char *path)
{
	struct pathcache_attr attr = {0};
	int rc = pathcache_stat(cache, path, NULL, &attr);

	if (rc != 0)
		ts_fail(__FILE__, __LINE__, "stat %s: %d", path, rc);
	return attr;
}
