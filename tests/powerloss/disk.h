/* SPDX-License-Identifier: MIT */
/*
 * What a disk may hold. Fed with the records of a trace (shim/shim.h) in order, it knows at every point
 * which bytes, sizes and names are durable, and what else has been written since and may have reached
 * the disk or not, in any order:
 *
 *   - each page of a file is as it was synced last, or as any write since has left it;
 *   - a file is as long as it was synced last, or as any change since has left it; what is missing is zeros;
 *   - a name made, changed or removed is durable once its directory has been synced; before that it
 *     may have happened or not, whatever became of others. Syncing a file does not keep its name.
 */
#ifndef TIDINGS_TESTS_DISK_H
#define TIDINGS_TESTS_DISK_H

#include <stddef.h>

#include "model/random.h"
#include "shim/shim.h"

enum { DISK_PAGE = 4096, DISK_SECTOR = 512 };

struct disk;

/* How the part that is not durable is chosen. */
enum disk_style {
    DISK_NOTHING, /* nothing of it has reached the disk */
    DISK_ALL,     /* all of it has: the process was killed, not the machine */
    DISK_SOME,    /* each page, size and name on its own */
    DISK_BEFORE,  /* everything up to an earlier point */
    DISK_BY_FILE, /* all of some files and nothing of others; each name on its own */
    DISK_TORN,    /* like DISK_SOME, but sector by sector */
    DISK_STYLES
};

const char *disk_style_name(enum disk_style style);

/* `lying` is the number of the record from which on syncs do nothing; UINT64_MAX: they always work. */
struct disk *disk_new(uint64_t lying);
void disk_free(struct disk *disk);

void disk_feed(struct disk *disk, uint64_t number, const struct trace_record *record,
               const char *path, const uint8_t *data);

/* Writes a state that the disk may be in now into `dir`, which is made. */
void disk_write(const struct disk *disk, enum disk_style style, struct rng *rng, const char *dir);

#endif
