/* SPDX-License-Identifier: MIT */
/* The names in a directory tree: a list of paths. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static struct name *find(const struct names *names, const char *path, size_t n)
{
    for (size_t i = 0; i < names->n; i++)
        if (strlen(names->all[i].path) == n && !memcmp(names->all[i].path, path, n))
            return &names->all[i];
    return NULL;
}

struct node *names_find(const struct names *names, const char *path)
{
    struct name *found = find(names, path, strlen(path));
    return found ? found->node : NULL;
}

bool names_reach(const struct names *names, const char *path)
{
    for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
        const struct name *dir = find(names, path, (size_t)(at - path));
        if (!dir || !dir->node->is_dir)
            return false;
    }
    return true;
}

static void drop(struct names *names, struct name *name)
{
    free(name->path);
    *name = names->all[--names->n];
}

static void add(struct names *names, const char *path, struct node *node)
{
    struct name *old = find(names, path, strlen(path));
    if (old)
        drop(names, old);
    names->all = disk_room(names->all, names->n + 1, sizeof *names->all);
    names->all[names->n++] = (struct name){strdup(path), node};
}

static void rename_below(struct names *names, const char *from, const char *to)
{
    size_t n = strlen(from);
    for (size_t i = 0; i < names->n; i++) {
        char *path = names->all[i].path;
        if (strncmp(path, from, n) || path[n] != '/')
            continue;
        char *moved = disk_room(NULL, strlen(to) + strlen(path + n) + 1, 1);
        memcpy(moved, to, strlen(to));
        memcpy(moved + strlen(to), path + n, strlen(path + n) + 1);
        free(path);
        names->all[i].path = moved;
    }
}

void names_apply(struct names *names, const struct change *change)
{
    struct name *found = find(names, change->path, strlen(change->path));
    switch (change->kind) {
    case TRACE_CREATE:
    case TRACE_MKDIR:
        add(names, change->path, change->node);
        break;
    case TRACE_LINK:
        if (found)
            add(names, change->to, found->node);
        break;
    case TRACE_RENAME:
        if (found) {
            add(names, change->to, found->node);
            rename_below(names, change->path, change->to);
            drop(names, find(names, change->path, strlen(change->path)));
        }
        break;
    case TRACE_UNLINK:
        if (found)
            drop(names, found);
        break;
    default:
        break;
    }
}

void names_copy(const struct names *from, struct names *to)
{
    *to = (struct names){disk_room(NULL, from->n + 1, sizeof *to->all), from->n};
    for (size_t i = 0; i < from->n; i++)
        to->all[i] = (struct name){strdup(from->all[i].path), from->all[i].node};
}

void names_release(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->all[i].path);
    free(names->all);
}
