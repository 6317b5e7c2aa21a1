/* SPDX-License-Identifier: MIT */
/*
 * Images: files of LMDB that are made of the redo log. The one in use is data.mdb. A base image is a
 * copy that was finished, synced and never touched again:
 *
 *     snapshots/0000000000004711-1794744000000-9d3c0a11.mdb
 *               the batch it goes to, the latest time of any batch in it, the checksum of the file
 *
 * Recovery, the next base image and a restore to some moment are the same thing: a base image and
 * the log behind it, up to somewhere.
 */
#ifndef LOCAL_IMAGE_H
#define LOCAL_IMAGE_H

#include "engine/local/storage/redo.h"

struct base {
    uint64_t number;
    int64_t time_ms;
    uint32_t crc;
};

enum { BASE_NAME_BYTES = 64 };
void base_name(const struct base *base, char name[BASE_NAME_BYTES]);

/* The reverse; false if it is not such a name. */
bool base_parse(const char *name, struct base *base);

/* All base images of the directory, oldest first; from malloc. */
enum tidings_err base_list(const char *dir, struct base **bases, size_t *n);

/* What to make, and of what. */
struct image_job {
    const char *log_dir;
    const char *base_dir;
    const uint8_t *id; /* of the log; NULL: whatever it is */
    const char *path;  /* the file to make */
    size_t map_bytes;  /* what it may grow to */
    uint64_t number;   /* not beyond this batch */
    uint64_t reaches;  /* the data are known to go to this batch: less is damage */
    bool for_good;     /* a base image: synced, with its checksum */
    bool salvage;      /* a damaged log is used up to the damage */
    struct tidings_progress progress;
    const _Atomic bool *cancel; /* when it becomes true it ends with CLOSED; may be NULL */
    struct base made;           /* out */
    struct redo_end end;        /* out: where the log ends; the image if it stopped before */
    char message[256];          /* out: what is wrong; with salvage, what was lost */
};

/*
 * Makes the file from the newest base image that is whole and old enough, and the log. The caller gives
 * it its name. On failure there is no file. If the process is killed meanwhile there may be a second one, whose name ends in
 * IMAGE_PACKED.
 */
#define IMAGE_PACKED ".new"
enum tidings_err image_make(struct image_job *job);

/* Brings an image that is open up to the log's end. */
enum tidings_err image_replay(struct kv *kv, struct image_job *job);

#endif
