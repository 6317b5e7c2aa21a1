/* SPDX-License-Identifier: MIT */
/* From records to what is durable and what is not. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { PENDING_MAX = 8 };

void *disk_room(void *old, size_t n, size_t size)
{
    void *p = reallocarray(old, n, size);
    if (!p)
        abort();
    return p;
}

struct disk *disk_new(uint64_t lying)
{
    struct disk *disk = calloc(1, sizeof *disk);
    if (!disk)
        abort();
    disk->lying = lying;
    return disk;
}

/* ---- Histories ---------------------------------------------------------------------------------- */

static const struct version *newest(const struct history *history)
{
    return history->n ? &history->pending[history->n - 1] : &history->durable;
}

/* A file that is never synced would gather versions without end. Forgets one, but never the last before
 * a sync: that is the one to become durable. */
static void forget_one(struct history *history)
{
    unsigned at = 1;
    while (at + 1 < history->n && history->pending[at].epoch != history->pending[at + 1].epoch)
        at++;
    if (at + 1 >= history->n)
        return;
    free(history->pending[at].bytes);
    memmove(&history->pending[at], &history->pending[at + 1],
            (history->n - at - 1) * sizeof *history->pending);
    history->n--;
}

static void add_version(struct history *history, struct version version)
{
    if (history->n >= PENDING_MAX)
        forget_one(history);
    history->pending = disk_room(history->pending, history->n + 1, sizeof *history->pending);
    history->pending[history->n++] = version;
}

/* What was there before `begin` is durable. */
static void settle(struct history *history, uint64_t begin)
{
    unsigned n = 0;
    for (; n < history->n && history->pending[n].at < begin; n++) {
        free(history->durable.bytes);
        history->durable = history->pending[n];
    }
    history->n -= n;
    memmove(history->pending, history->pending + n, history->n * sizeof *history->pending);
}

static void history_release(struct history *history)
{
    free(history->durable.bytes);
    for (unsigned i = 0; i < history->n; i++)
        free(history->pending[i].bytes);
    free(history->pending);
}

/* ---- Files -------------------------------------------------------------------------------------- */

/* Inode numbers are used again when a file is gone: the newest node is meant. */
static struct node *node_of(const struct disk *disk, uint64_t ino)
{
    for (size_t i = disk->n_nodes; i > 0; i--)
        if (disk->nodes[i - 1]->ino == ino)
            return disk->nodes[i - 1];
    abort();
}

static struct node *make_node(struct disk *disk, uint64_t ino, bool is_dir)
{
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        abort();
    node->ino = ino;
    node->is_dir = is_dir;
    disk->nodes = disk_room(disk->nodes, disk->n_nodes + 1, sizeof *disk->nodes);
    return disk->nodes[disk->n_nodes++] = node;
}

static struct history *page_of(struct node *node, size_t number)
{
    if (number >= node->n_pages) {
        node->pages = disk_room(node->pages, number + 1, sizeof *node->pages);
        memset(node->pages + node->n_pages, 0, (number + 1 - node->n_pages) * sizeof *node->pages);
        node->n_pages = number + 1;
    }
    return &node->pages[number];
}

static void write_page(struct disk *disk, struct node *node, size_t number, size_t from,
                       const uint8_t *bytes, size_t n)
{
    struct history *page = page_of(node, number);
    const struct version *old = newest(page);
    uint8_t *made = disk_room(NULL, DISK_PAGE, 1);
    if (old->bytes)
        memcpy(made, old->bytes, DISK_PAGE);
    else
        memset(made, 0, DISK_PAGE);
    if (bytes)
        memcpy(made + from, bytes, n);
    else
        memset(made + from, 0, n);
    add_version(page, (struct version){.at = disk->now, .epoch = node->syncs, .bytes = made});
}

/* `bytes` NULL is zeros. */
static void write_bytes(struct disk *disk, struct node *node, uint64_t offset, const uint8_t *bytes,
                        uint64_t n)
{
    while (n) {
        size_t from = offset % DISK_PAGE;
        size_t part = DISK_PAGE - from < n ? DISK_PAGE - from : n;
        write_page(disk, node, offset / DISK_PAGE, from, bytes, part);
        bytes = bytes ? bytes + part : NULL;
        offset += part;
        n -= part;
    }
}

static void add_size(const struct disk *disk, struct node *node, uint64_t size)
{
    add_version(&node->size, (struct version){.at = disk->now, .epoch = node->syncs, .size = size});
}

static void resize(struct disk *disk, struct node *node, uint64_t size)
{
    uint64_t old = newest(&node->size)->size;
    uint64_t end = (uint64_t)node->n_pages * DISK_PAGE;
    if (end > old)
        end = old;
    if (size < end) /* what is cut off comes back as zeros, if the file grows again */
        write_bytes(disk, node, size, NULL, end - size);
    add_size(disk, node, size);
}

static void sync_file(struct node *node, const struct trace_record *record)
{
    uint64_t end = record->length ? record->offset + record->length : UINT64_MAX;
    settle(&node->size, record->begin);
    for (size_t i = record->offset / DISK_PAGE; i < node->n_pages && i * DISK_PAGE < end; i++)
        settle(&node->pages[i], record->begin);
}

/* ---- Names -------------------------------------------------------------------------------------- */

static struct node *parent_of(const struct disk *disk, const char *path)
{
    char *parent = strdup(path);
    char *slash = strrchr(parent, '/');
    if (slash)
        *slash = '\0';
    else
        *parent = '\0';
    struct node *found = *path ? names_find(&disk->current, parent) : NULL;
    free(parent);
    return found;
}

static void change_names(struct disk *disk, const struct trace_record *record, const char *path)
{
    struct change change = {.at = disk->now, .kind = (enum trace_kind)record->kind};
    change.path = strndup(path, record->path_bytes);
    change.dirs[0] = parent_of(disk, change.path);
    if (change.kind == TRACE_RENAME || change.kind == TRACE_LINK) {
        size_t n = strlen(change.path) + 1;
        change.to = strndup(path + n, record->path_bytes - n);
        change.dirs[1] = parent_of(disk, change.to);
    }
    if (change.kind == TRACE_CREATE || change.kind == TRACE_MKDIR)
        change.node = make_node(disk, record->ino, change.kind == TRACE_MKDIR);
    names_apply(&disk->current, &change);
    disk->changes = disk_room(disk->changes, disk->n_changes + 1, sizeof change);
    disk->changes[disk->n_changes++] = change;
}

static bool is_durable(const struct change *change)
{
    return !change->dirs[0] && !change->dirs[1];
}

static void sync_dir(struct disk *disk, const struct node *dir, uint64_t begin)
{
    size_t n = 0;
    for (size_t i = 0; i < disk->n_changes; i++)
        for (int j = 0; j < 2; j++)
            if (disk->changes[i].at < begin && disk->changes[i].dirs[j] == dir)
                disk->changes[i].dirs[j] = NULL;
    for (; n < disk->n_changes && is_durable(&disk->changes[n]); n++) {
        names_apply(&disk->durable, &disk->changes[n]);
        free(disk->changes[n].path);
        free(disk->changes[n].to);
    }
    disk->n_changes -= n;
    memmove(disk->changes, disk->changes + n, disk->n_changes * sizeof *disk->changes);
}

/* ---- Records ------------------------------------------------------------------------------------ */

static void synced(struct disk *disk, const struct trace_record *record)
{
    struct node *node = node_of(disk, record->ino);
    if (disk->now >= disk->lying)
        return;
    if (node->is_dir)
        sync_dir(disk, node, record->begin);
    else
        sync_file(node, record);
}

static void written(struct disk *disk, const struct trace_record *record, const uint8_t *data)
{
    struct node *node = node_of(disk, record->ino);
    uint64_t end = record->offset + record->data_bytes;
    if (end > newest(&node->size)->size)
        add_size(disk, node, end);
    write_bytes(disk, node, record->offset, data, record->data_bytes);
}

void disk_feed(struct disk *disk, uint64_t number, const struct trace_record *record,
               const char *path, const uint8_t *data)
{
    disk->now = number;
    switch ((enum trace_kind)record->kind) {
    case TRACE_MKDIR:
    case TRACE_CREATE:
    case TRACE_RENAME:
    case TRACE_LINK:
    case TRACE_UNLINK:
        change_names(disk, record, path);
        break;
    case TRACE_WRITE:
        written(disk, record, data);
        break;
    case TRACE_SIZE:
        resize(disk, node_of(disk, record->ino), record->offset);
        break;
    case TRACE_SYNCED:
        synced(disk, record);
        break;
    case TRACE_SYNC:
        node_of(disk, record->ino)->syncs++;
        break;
    case TRACE_MARK:
        break;
    }
}

void disk_free(struct disk *disk)
{
    for (size_t i = 0; i < disk->n_nodes; i++) {
        history_release(&disk->nodes[i]->size);
        for (size_t j = 0; j < disk->nodes[i]->n_pages; j++)
            history_release(&disk->nodes[i]->pages[j]);
        free(disk->nodes[i]->pages);
        free(disk->nodes[i]);
    }
    for (size_t i = 0; i < disk->n_changes; i++) {
        free(disk->changes[i].path);
        free(disk->changes[i].to);
    }
    names_release(&disk->durable);
    names_release(&disk->current);
    free(disk->changes);
    free(disk->nodes);
    free(disk);
}
