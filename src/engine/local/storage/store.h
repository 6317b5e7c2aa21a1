/* SPDX-License-Identifier: MIT */
/*
 * The data directory: the lock, the redo log, the base images, the image in use, and the rules of which of them to
 * trust after what happened.
 *
 *     lock        held by the process that has the directory open
 *     state       the directory's format and id; who wrote data.mdb last, and whether it ended in order
 *     data.mdb    the image in use: trusted after a clean end, or a crash of the process alone
 *     log/        the redo log
 *     snapshots/  base images
 *     backup      in a backup that was not opened yet: what it consists of
 */
#ifndef LOCAL_STORE_H
#define LOCAL_STORE_H

#include <pthread.h>

#include "base/boot.h"
#include "base/buf.h"
#include "engine/local/storage/image.h"

enum { COMPLAINT_BYTES = 256 };

/* What the server keeps beside our files: without it all cursors would be void. */
#define STORE_SEAL_KEY "seal.key"

struct store_options {
    const char *dir;
    const struct tidings_settings *settings;
    bool each_second;
    bool elsewhere; /* what the log holds is decided elsewhere: its unsure end is dropped */
    bool remake;    /* data.mdb is made anew, whatever it looks like */
    void (*notice)(void *ctx, const char *text); /* what it found and went on; may be NULL */
    void *notice_ctx;
    struct tidings_progress progress;
    void (*pause)(void *ctx); /* see kv_options */
    void (*resume)(void *ctx);
    void *ctx;
    /* The time of records up to which all are at least that old. Thread-safe. */
    int64_t (*limit_ms)(void *clock, int64_t age_ms);
    void *clock;
};

struct store {
    char dir[PATH_BYTES], log_dir[PATH_BYTES], base_dir[PATH_BYTES];
    uint8_t id[REDO_ID_BYTES];
    struct tidings_settings settings;
    int64_t (*limit_ms)(void *clock, int64_t age_ms);
    void *clock;
    int lock_fd;
    struct kv *kv;
    struct redo *redo;
    uint64_t until; /* records behind it are not sure, and dropped; UINT64_MAX: all are */
    bool read_only; /* it was opened on a full disk, and nothing is written until the next time */
    uint64_t log_before; /* bytes of log behind the newest base image when it was opened */

    pthread_t keeper;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t wanted;
    bool keeping;
    _Atomic bool stopping;
    bool base_wanted;         /* a base image is to be made, however little log there is */
    uint64_t based_bytes;     /* redo_bytes when the newest base image was made */
    uint64_t bases, failures; /* base images made, and not made, since opening */
};

/* Remembers a text until the thread's next failure. With `why`, the reason in errno is behind it. */
enum tidings_err store_fail(enum tidings_err err, const char **message, const char *text, bool why);

/* On failure *message is a text of store_fail. */
enum tidings_err store_open(const struct store_options *options, struct store **store,
                            const char **message);

/* Ends in order, unless the log has failed. */
void store_close(struct store *store);

/* ---- keeper.c: base images and what is too old, on a thread of its own ------------------------- */

bool keeper_start(struct store *store);
void keeper_stop(struct store *store);

/* A base image of now is to be made, soon. */
void keeper_want(struct store *store);

/* The newest base image; its number is 0 if there is none. */
struct base keeper_newest(const struct store *store);

/* Which of the base images, oldest first, to keep, if those up to a time are older than keep_ms; answers the record up
 * to which no log is needed. */
uint64_t keeper_choose(const struct base *bases, size_t n, int64_t limit_ms, int64_t keep_ms,
                       bool *keep);

/* How many of the log's segments, by their first records, hold nothing behind that record. */
size_t keeper_spare(const uint64_t *firsts, size_t n, uint64_t needed);

/* What it has to say of itself in tidings_stats. */
void store_stats(struct store *store, struct tidings_stats *stats);

/* ---- state.c --------------------------------------------------------------------------------- */

/* Version 4 is 5 without chains in the log, version 3 is 4 without the table of names. Either becomes 5 when it is opened,
 * before anything is written to it. */
enum { STORE_FORMAT = 5, STORE_FORMAT_OLDEST = 3 };

struct state {
    uint64_t format; /* as it was read: it is always written with STORE_FORMAT */
    uint8_t id[REDO_ID_BYTES];
    char boot[BOOT_BYTES]; /* under which data.mdb was last written, or NO_BOOT */
    bool is_clean;         /* it ended in order, with this batch */
    uint64_t number;
    uint64_t reaches; /* base images and log are known to go to this batch; 0: nothing is known */
};

/* *found is false if there is none. VERSION if it is of another format, CORRUPT if it is not one. */
enum tidings_err state_read(const char *dir, struct state *state, bool *found);
enum tidings_err state_write(const char *dir, const struct state *state);

/* ---- manifest.c: what a backup consists of, so that it cannot lose some of it unnoticed --------- */

struct manifest {
    struct buf lines;
};

void manifest_init(struct manifest *manifest);
void manifest_release(struct manifest *manifest);

/* A file, by its path in the backup. */
void manifest_add(struct manifest *manifest, const char *name, uint64_t bytes, uint32_t crc);

/* Writes it into the backup, which goes to this batch. */
enum tidings_err manifest_write(struct manifest *manifest, const char *dir, uint64_t number,
                                int64_t time_ms);

/* OK if the files are those of the manifest, or there is none; CORRUPT, with the first complaint, if they are not. */
enum tidings_err manifest_check(const char *dir, struct tidings_progress progress,
                                char complaint[COMPLAINT_BYTES]);

/* From now on the directory is no backup any more, but one that is written to. */
enum tidings_err manifest_remove(const char *dir);

/* ---- Locks: held by a descriptor, and gone with the process ------------------------------------ */

/* Takes the directory for this process: LOCKED if another has it. The descriptor keeps it. */
enum tidings_err store_lock(const char *dir, int *fd, const char **message);

/* Whether another has it; leaves no trace in the directory. */
bool store_is_locked(const char *dir);

/*
 * While somebody holds the log, in this process or another, no keeper removes log or base images of the
 * directory; waits if it is just removing. Alone: for the keeper, if nobody holds it. -1 if it cannot be had.
 */
int store_hold(const char *log_dir);
int store_hold_alone(const char *log_dir);

/* Gives any of these back. -1 is fine. */
void store_unlock(int *fd);

#endif
