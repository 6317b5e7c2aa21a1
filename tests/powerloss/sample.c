/* SPDX-License-Identifier: MIT */
/* Chooses one of the states that a disk may be in, and writes it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

struct choice {
    enum disk_style style;
    struct rng *rng;
    unsigned percent; /* SOME, TORN: how much has reached the disk */
    uint64_t point;   /* BEFORE: what is older has */
    bool this_file;   /* BY_FILE */
};

const char *disk_style_name(enum disk_style style)
{
    static const char *const names[DISK_STYLES] = {
        [DISK_NOTHING] = "nothing unsynced", [DISK_ALL] = "everything",
        [DISK_SOME] = "some pages",          [DISK_BEFORE] = "all up to a point",
        [DISK_BY_FILE] = "some files",       [DISK_TORN] = "some sectors"};
    return names[style];
}

static unsigned before(const struct history *history, uint64_t point)
{
    unsigned n = 0;
    while (n < history->n && history->pending[n].at < point)
        n++;
    return n;
}

/* 0 is what is durable, n the n-th version after it. */
static unsigned choose(const struct choice *choice, const struct history *history)
{
    switch (choice->style) {
    case DISK_ALL:
        return history->n;
    case DISK_SOME:
    case DISK_TORN:
        return history->n && rng_percent(choice->rng, choice->percent)
                   ? (unsigned)rng_between(choice->rng, 1, history->n)
                   : 0;
    case DISK_BEFORE:
        return before(history, choice->point);
    case DISK_BY_FILE:
        return choice->this_file ? history->n : 0;
    case DISK_NOTHING:
    case DISK_STYLES:
        break;
    }
    return 0;
}

static const struct version *version_of(const struct history *history, unsigned number)
{
    return number ? &history->pending[number - 1] : &history->durable;
}

static bool happened(const struct choice *choice, const struct change *change)
{
    if (!change->dirs[0] && !change->dirs[1])
        return true;
    switch (choice->style) {
    case DISK_ALL:
        return true;
    case DISK_BEFORE:
        return change->at < choice->point;
    case DISK_SOME:
    case DISK_TORN:
        return rng_percent(choice->rng, choice->percent);
    case DISK_BY_FILE:
        return rng_percent(choice->rng, 50);
    case DISK_NOTHING:
    case DISK_STYLES:
        break;
    }
    return false;
}

/* ---- Writing ------------------------------------------------------------------------------------ */

static _Noreturn void give_up(const char *path)
{
    perror(path);
    exit(EXIT_FAILURE);
}

/* Each sector on its own. */
static void tear(const struct choice *choice, const struct history *page, uint8_t bytes[DISK_PAGE])
{
    for (size_t at = 0; at < DISK_PAGE; at += DISK_SECTOR) {
        const struct version *version = version_of(page, choose(choice, page));
        if (version->bytes)
            memcpy(bytes + at, version->bytes + at, DISK_SECTOR);
        else
            memset(bytes + at, 0, DISK_SECTOR);
    }
}

static void write_file(const struct node *node, struct choice *choice, const char *path)
{
    uint8_t torn[DISK_PAGE];
    choice->this_file = rng_percent(choice->rng, 50);
    uint64_t size = version_of(&node->size, choose(choice, &node->size))->size;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size))
        give_up(path);
    for (size_t i = 0; i < node->n_pages && i * DISK_PAGE < size; i++) {
        const struct history *page = &node->pages[i];
        const uint8_t *bytes = version_of(page, choose(choice, page))->bytes;
        uint64_t left = size - i * DISK_PAGE;
        size_t n = left < DISK_PAGE ? left : DISK_PAGE;
        if (choice->style == DISK_TORN && page->n) {
            tear(choice, page, torn);
            bytes = torn;
        }
        if (bytes && pwrite(fd, bytes, n, (off_t)(i * DISK_PAGE)) != (ssize_t)n)
            give_up(path);
    }
    close(fd);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->path, ((const struct name *)b)->path);
}

void disk_write(const struct disk *disk, enum disk_style style, struct rng *rng, const char *dir)
{
    static const unsigned percents[] = {10, 50, 90};
    struct choice choice = {.style = style, .rng = rng, .percent = percents[rng_below(rng, 3)]};
    struct names names;
    char path[4096];
    choice.point = disk->now - rng_below(rng, disk->now < 200 ? disk->now : 200);
    names_copy(&disk->durable, &names);
    for (size_t i = 0; i < disk->n_changes; i++)
        if (happened(&choice, &disk->changes[i]))
            names_apply(&names, &disk->changes[i]);
    qsort(names.all, names.n, sizeof *names.all, by_path); /* directories before what is in them */
    for (size_t i = 0; i < names.n; i++) {
        const struct name *name = &names.all[i];
        if (!names_reach(&names, name->path))
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, name->path);
        if (!name->node->is_dir)
            write_file(name->node, &choice, path);
        else if (mkdir(path, 0700))
            give_up(path);
    }
    names_release(&names);
}
