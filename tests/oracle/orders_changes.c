/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is changed while lookups are under way, and which of them may see it. */
#include <string.h>
#include <sys/stat.h>

#include "orders.h"
#include "pathcache.h"

#define DIR_ALL (S_IFDIR | 0755u)
#define FILE_ALL (S_IFREG | 0644u)

/* Numbers of what is made meanwhile: the same in whatever order. */
#define ID_NEW 100u
#define ID_AGAIN 101u
#define ID_KIND 102u
#define ID_DIRECTORY 103u
#define ID_BELOW 104u

#define NOBODY 65534u

/* Names are long enough for their paths to be remembered. */
static void add(struct stage *stage, const char *path, uint32_t mode, uint64_t id)
{
	ts_ns_add(&stage->ns, path, mode, NULL)->id = id;
}

/* path, which is in the directory at, was made. */
static int created(struct stage *stage, enum place at, const char *path)
{
	struct pathcache_reply reply = ts_ns_reply(&stage->ns, path);

	if (stage->told)
		return pathcache_created(stage->cache, stage->at[at], strrchr(path, '/') + 1,
		                         &reply);
	ts_ns_find(&stage->ns, path)->handed_out--;
	return pathcache_created(stage->cache, stage->at[at], strrchr(path, '/') + 1, NULL);
}

/* Attributes of the object were. */
static int changed(struct stage *stage, enum place at)
{
	const char *path = at == PARENT_FILE ? "parent/file" : "parent/directory";
	struct pathcache_reply reply = ts_ns_reply(&stage->ns, path);

	ts_ns_find(&stage->ns, path)->handed_out--;
	return pathcache_changed(stage->cache, stage->at[at], stage->told ? &reply.attr : NULL);
}

static void create(struct stage *stage)
{
	add(stage, "other/new-file", FILE_ALL, ID_NEW);
}

static int create_hook(struct stage *stage)
{
	return created(stage, OTHER, "other/new-file");
}

static void remove_a_link(struct stage *stage)
{
	ts_ns_remove(&stage->ns, "parent/file");
}

static int remove_a_link_hook(struct stage *stage)
{
	return pathcache_removed(stage->cache, stage->at[PARENT], "file");
}

static void move_file(struct stage *stage)
{
	ts_ns_rename(&stage->ns, "parent/directory/file", "other/moved-file");
}

static int move_file_hook(struct stage *stage)
{
	return pathcache_renamed(stage->cache, stage->at[PARENT_DIRECTORY], "file",
	                         stage->at[OTHER], "moved-file", PATHCACHE_RENAME_NOREPLACE);
}

static void move_directory(struct stage *stage)
{
	ts_ns_rename(&stage->ns, "parent/directory", "other/moved");
}

static int move_directory_hook(struct stage *stage)
{
	return pathcache_renamed(stage->cache, stage->at[PARENT], "directory", stage->at[OTHER],
	                         "moved", 0);
}

static void move_parent(struct stage *stage)
{
	ts_ns_rename(&stage->ns, "parent", "other/parent");
}

static int move_parent_hook(struct stage *stage)
{
	return pathcache_renamed(stage->cache, NULL, "parent", stage->at[OTHER], "parent", 0);
}

static void exchange_directories(struct stage *stage)
{
	ts_ns_exchange(&stage->ns, "parent/directory", "other/directory");
}

static int exchange_directories_hook(struct stage *stage)
{
	return pathcache_renamed(stage->cache, stage->at[PARENT], "directory", stage->at[OTHER],
	                         "directory", PATHCACHE_RENAME_EXCHANGE);
}

static void exchange_files(struct stage *stage)
{
	ts_ns_exchange(&stage->ns, "parent/directory/file", "parent/file");
}

static int exchange_files_hook(struct stage *stage)
{
	return pathcache_renamed(stage->cache, stage->at[PARENT_DIRECTORY], "file",
	                         stage->at[PARENT], "file", PATHCACHE_RENAME_EXCHANGE);
}

static void replace(struct stage *stage)
{
	ts_ns_rename(&stage->ns, "other/directory/file", "parent/directory/file");
}

static int replace_hook(struct stage *stage)
{
	return pathcache_renamed(stage->cache, stage->at[OTHER_DIRECTORY], "file",
	                         stage->at[PARENT_DIRECTORY], "file", 0);
}

static void recreate(struct stage *stage)
{
	ts_ns_remove(&stage->ns, "parent/directory/file");
	add(stage, "parent/directory/file", S_IFREG | 0600, ID_AGAIN);
}

static int recreate_hook(struct stage *stage)
{
	int rc = pathcache_removed(stage->cache, stage->at[PARENT_DIRECTORY], "file");

	return rc ? rc : created(stage, PARENT_DIRECTORY, "parent/directory/file");
}

static void recreate_directory(struct stage *stage)
{
	ts_ns_remove(&stage->ns, "parent/directory");
	add(stage, "parent/directory", DIR_ALL, ID_DIRECTORY);
	add(stage, "parent/directory/below", FILE_ALL, ID_BELOW);
}

static void change_kind(struct stage *stage)
{
	ts_ns_remove(&stage->ns, "parent/directory/file");
	add(stage, "parent/directory/file", DIR_ALL, ID_KIND);
}

static void swap_link(struct stage *stage)
{
	ts_ns_rename(&stage->ns, "spare-link", "a-long-link");
}

static int swap_link_hook(struct stage *stage)
{
	return pathcache_renamed(stage->cache, NULL, "spare-link", NULL, "a-long-link", 0);
}

/* What was told of the old text may be copied from it still. */
static void turn_link(struct stage *stage)
{
	struct ts_object *link = ts_ns_find(&stage->ns, "a-long-link");
	char *text = link->link;

	pthread_mutex_lock(&stage->ns.lock);
	link->link = stage->text;
	stage->text = text;
	pthread_mutex_unlock(&stage->ns.lock);
}

static int turn_link_hook(struct stage *stage)
{
	return pathcache_changed(stage->cache, stage->at[LONG_LINK], NULL);
}

static void shut(struct stage *stage)
{
	ts_ns_set(&stage->ns, "parent/directory", 0700, 0);
}

static int shut_hook(struct stage *stage)
{
	return changed(stage, PARENT_DIRECTORY);
}

static void resize(struct stage *stage)
{
	ts_ns_set(&stage->ns, "parent/file", 0644, 77);
}

static int resize_hook(struct stage *stage)
{
	return changed(stage, PARENT_FILE);
}

static void link_file(struct stage *stage)
{
	ts_ns_link(&stage->ns, "parent/directory/file", "other/second-name");
}

static int link_file_hook(struct stage *stage)
{
	return pathcache_linked(stage->cache, stage->at[DEEP_FILE], stage->at[OTHER],
	                        "second-name");
}

#define STAT_OF(p) \
	{ \
		STAT, p, 0, 0, false \
	}

const struct change orders_changes[CHANGES_KNOWN] = {
	[CREATE] = {"create",
                    create,
                    create_hook,
                    {{"other", "new-file"}},
                    NULL,
                    {STAT_OF("other/new-file"), {ACCESS, "other/new-file/", 0, 0, false, false}}},
	[REMOVE] = {"remove one of two names",
                    remove_a_link,
                    remove_a_link_hook,
                    {{"parent", "file"}},
                    NULL,
                    {STAT_OF("parent/file"),
                     STAT_OF("other/link-of-file"),
                     {GET, "other/link-of-file", 0, 0, false, false},
                     {REALPATH, "parent/file", 0, 0, false, false}}},
	[MOVE_FILE] = {"move a file",
                       move_file,
                       move_file_hook,
                       {{"parent/directory", "file"}, {"other", "moved-file"}},
                       NULL,
                       {STAT_OF("parent/directory/file"),
                        STAT_OF("other/moved-file"),
                        STAT_OF("a-long-link/file"),
                        {GET, "parent/directory/file", 0, 0, false, false}}},
	[MOVE_DIRECTORY] = {"move a directory",
                            move_directory,
                            move_directory_hook,
                            {{"parent", "directory"}, {"other", "moved"}},
                            NULL,
                            {STAT_OF("parent/directory/file"),
                             STAT_OF("other/moved/file"),
                             STAT_OF("a-long-link/../file"),
                             {STAT, "../a-long-name-that-is-absent", 0, 0, true, false},
                             {REALPATH, "../.", 0, 0, true, false},
                             {REALPATH, "other/moved/file", 0, 0, false, false}}},
	[MOVE_PARENT] = {"move what is above",
                         move_parent,
                         move_parent_hook,
                         {{"", "parent"}, {"other", "parent"}},
                         NULL,
                         {STAT_OF("parent/directory/file"),
                          STAT_OF("other/parent/directory/file"),
                          {REALPATH, "a-long-link/file", 0, 0, false, false},
                          {REALPATH, ".", 0, 0, true, false},
                          {STAT, "../../parent/directory", 0, 0, true, true}}},
	[EXCHANGE_DIRECTORIES] = {"exchange directories",
                                  exchange_directories,
                                  exchange_directories_hook,
                                  {{"parent", "directory"}, {"other", "directory"}},
                                  NULL,
                                  {STAT_OF("parent/directory/file"),
                                   STAT_OF("other/directory/file"),
                                   STAT_OF("a-long-link/file"),
                                   {REALPATH, "../directory/file", 0, 0, true, false}}},
	[EXCHANGE_FILES] = {"exchange files",
                            exchange_files,
                            exchange_files_hook,
                            {{"parent/directory", "file"}, {"parent", "file"}},
                            NULL,
                            {STAT_OF("parent/directory/file"),
                             STAT_OF("parent/file"),
                             {GET, "parent/file", 0, 0, false, false}}},
	[REPLACE] = {"replace",
                     replace,
                     replace_hook,
                     {{"parent/directory", "file"}, {"other/directory", "file"}},
                     NULL,
                     {STAT_OF("parent/directory/file"),
                      STAT_OF("other/directory/file"),
                      {GET, "parent/directory/file", 0, 0, false, false}}},
	[RECREATE] = {"recreate",
                      recreate,
                      recreate_hook,
                      {{"parent/directory", "file"}},
                      NULL,
                      {STAT_OF("parent/directory/file"),
                       {GET, "a-long-link/file", 0, 0, false, false},
                       {ACCESS, "parent/directory/file", 0, 0, false, false}}},
	[RECREATE_DIRECTORY] = {"recreate a directory",
                                recreate_directory,
                                NULL,
                                {{"parent", "directory"}},
                                NULL,
                                {STAT_OF("parent/directory/file"),
                                 STAT_OF("parent/directory/below"),
                                 STAT_OF("a-long-link/below"),
                                 {REALPATH, "parent/directory/below", 0, 0, false, false}}},
	[CHANGE_KIND] = {"change what kind it is",
                         change_kind,
                         recreate_hook,
                         {{"parent/directory", "file"}},
                         NULL,
                         {STAT_OF("parent/directory/file/below"),
                          STAT_OF("parent/directory/file/.")}},
	[SWAP_LINK] = {"swap a link",
                       swap_link,
                       swap_link_hook,
                       {{"", "a-long-link"}, {"", "spare-link"}},
                       NULL,
                       {STAT_OF("a-long-link/file"),
                        {READLINK, "a-long-link", PATHCACHE_NOFOLLOW, 0, false, false},
                        {STAT, "a-long-link", PATHCACHE_NOFOLLOW, 0, false, false},
                        {REALPATH, "a-long-link/../directory", 0, 0, false, false}}},
	[TURN_LINK] = {"turn a link",
                       turn_link,
                       turn_link_hook,
                       {{"", "a-long-link"}},
                       "a-long-link",
                       {STAT_OF("a-long-link/file"),
                        {READLINK, "a-long-link", PATHCACHE_NOFOLLOW, 0, false, false},
                        {REALPATH, "a-long-link/file", 0, 0, false, false}}},
	[SHUT] = {"shut a directory",
                  shut,
                  shut_hook,
                  {{"parent", "directory"}},
                  "parent/directory",
                  {{STAT, "parent/directory/file", 0, NOBODY, false, false},
                   {STAT, "a-long-link/absent-name", 0, NOBODY, false, false},
                   {STAT, "file", 0, NOBODY, true, false},
                   STAT_OF("parent/directory"),
                   STAT_OF("parent/directory/file")}},
	[RESIZE] = {"resize",
                    resize,
                    resize_hook,
                    {{"parent", "file"}},
                    "parent/file",
                    {STAT_OF("parent/file"),
                     STAT_OF("other/link-of-file"),
                     {GET, "other/link-of-file", 0, 0, false, false}}},
	[LINK] = {"link",
                  link_file,
                  link_file_hook,
                  {{"other", "second-name"}, {"parent/directory/file", NULL}},
                  NULL,
                  {STAT_OF("parent/directory/file"),
                   STAT_OF("other/second-name"),
                   {GET, "parent/directory/file", 0, 0, false, false}}},
};
