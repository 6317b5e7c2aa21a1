/* SPDX-License-Identifier: MIT */
/*
 * Backup and restore. Base images never change, and the log only grows, so reading both while a
 * server writes is safe as long as nothing is removed meanwhile: see store_hold. The target is locked
 * like a data directory in use, and its file `state` comes last: a backup without it is not complete.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/local/storage/store.h"

struct place {
    char dir[PATH_BYTES], log_dir[PATH_BYTES], base_dir[PATH_BYTES];
};

static bool place_of(const char *dir, struct place *place)
{
    snprintf(place->dir, sizeof place->dir, "%s", dir);
    return path_join(place->log_dir, dir, "log") && path_join(place->base_dir, dir, "snapshots");
}

/* ---- The target ----------------------------------------------------------------------------- */

/* Refuses a target that another process uses, or in which there is something: but for a lock file that
 * somebody left, which says nothing. Somebody else's directory is left as it is. */
static enum tidings_err check_target(const struct place *to, const char **message)
{
    if (store_is_locked(to->dir))
        return store_fail(TIDINGS_LOCKED, message, "another process uses the target directory",
                          false);
    if (!dir_has_only(to->dir, "lock"))
        return store_fail(TIDINGS_INVALID, message, "the target directory is not empty", false);
    return TIDINGS_OK;
}

/* Once more with the lock: others may have been quicker. */
static enum tidings_err fill_target(const struct place *to, const char **message)
{
    if (!dir_has_only(to->dir, "lock"))
        return store_fail(TIDINGS_INVALID, message, "the target directory is not empty", false);
    if (dir_make(to->log_dir) || dir_make(to->base_dir))
        return store_fail(file_error(), message, "the target directory cannot be filled", true);
    return TIDINGS_OK;
}

/* Makes the target, for this process alone until `lock` is closed; -1 on failure. */
static enum tidings_err make_place(const char *dir, struct place *to, int *lock,
                                   const char **message)
{
    *lock = -1;
    if (!place_of(dir, to))
        return store_fail(TIDINGS_INVALID, message, "the path of the target is too long", false);
    if (dir_make(to->dir))
        return store_fail(file_error(), message, "the target directory cannot be made", true);
    enum tidings_err err = check_target(to, message);
    if (!err)
        err = store_lock(to->dir, lock, message);
    if (!err)
        err = fill_target(to, message);
    if (err)
        store_unlock(lock);
    return err;
}

/* Everything in the directory is in place: now it may be used. */
static enum tidings_err finish_place(const struct place *to, const uint8_t *id, uint64_t reaches,
                                     const char **message)
{
    struct state state = {.boot = NO_BOOT, .reaches = reaches};
    memcpy(state.id, id, sizeof state.id);
    if (dir_sync(to->log_dir) || dir_sync(to->base_dir) || state_write(to->dir, &state))
        return store_fail(file_error(), message, "the target directory cannot be finished", true);
    return TIDINGS_OK;
}

static enum tidings_err read_state(const char *dir, struct state *state, const char **message)
{
    bool found;
    enum tidings_err err = state_read(dir, state, &found);
    if (err == TIDINGS_VERSION)
        return store_fail(err, message, "the source has a format that this version does not know",
                          false);
    if (err)
        return store_fail(err, message, "the file `state` of the source cannot be read", false);
    if (!found)
        return store_fail(TIDINGS_NOT_FOUND, message,
                          "the source is neither a data directory nor a complete backup", false);
    return TIDINGS_OK;
}

/* ---- Backup --------------------------------------------------------------------------------- */

struct copying {
    const struct place *from, *to;
    const struct state *state; /* of the source */
    struct tidings_backup *backup;
    struct manifest manifest;
    struct progress progress;
    uint64_t done;
};

/* A file of the source, by its path in it. If the checksum is known and wrong, there is no copy: CORRUPT. */
static enum tidings_err copy_one(struct copying *copying, const char *name, uint64_t n,
                                 const uint32_t *known)
{
    char from[PATH_BYTES], to[PATH_BYTES];
    struct stat stat;
    uint32_t crc = 0;
    if (!path_join(from, copying->from->dir, name) || !path_join(to, copying->to->dir, name))
        return TIDINGS_IO;
    copying->progress.before = copying->done;
    enum tidings_err err = file_copy(from, to, n, &crc, &copying->progress);
    if (!err && lstat(to, &stat))
        err = TIDINGS_IO;
    if (!err && known && crc != *known) {
        unlink(to);
        err = TIDINGS_CORRUPT;
    }
    if (err)
        return err;
    copying->done += (uint64_t)stat.st_size;
    manifest_add(&copying->manifest, name, (uint64_t)stat.st_size, crc);
    return TIDINGS_OK;
}

static enum tidings_err copy_seal_key(struct copying *copying)
{
    char path[PATH_BYTES];
    struct stat stat;
    if (!path_join(path, copying->from->dir, STORE_SEAL_KEY))
        return TIDINGS_IO;
    return lstat(path, &stat) ? TIDINGS_OK : copy_one(copying, STORE_SEAL_KEY, 0, NULL);
}

/* The newest base image that is whole; *number is where the log has to begin behind. */
static enum tidings_err copy_base(struct copying *copying, uint64_t *number)
{
    struct base *bases;
    size_t n;
    enum tidings_err err = base_list(copying->from->base_dir, &bases, &n);
    *number = 0;
    while (!err && n-- && !*number) {
        char name[BASE_NAME_BYTES], path[PATH_BYTES];
        base_name(&bases[n], name);
        snprintf(path, sizeof path, "snapshots/%s", name);
        err = copy_one(copying, path, 0, &bases[n].crc);
        if (!err)
            *number = bases[n].number;
        else if (err == TIDINGS_CORRUPT)
            err = TIDINGS_OK; /* an older one, and more of the log */
    }
    free(bases);
    return err;
}

static bool go_on(void *ctx, const struct redo_record *record)
{
    (void)ctx;
    (void)record;
    return true;
}

/* The log behind the record as far as it goes now, to the end of a whole record: it may be growing. */
static enum tidings_err copy_log(struct copying *copying, uint64_t number, const char **message)
{
    uint64_t *firsts;
    size_t n;
    if (redo_segments(copying->from->log_dir, &firsts, &n))
        return store_fail(TIDINGS_IO, message, "the log cannot be read", true);
    /* Of the last two, one at least has been begun. */
    struct redo_scan scan = {.dir = copying->from->log_dir,
                             .id = copying->state->id,
                             .after = n ? firsts[n > 1 ? n - 2 : 0] - 1 : 0,
                             .visit = go_on};
    enum tidings_err err = redo_scan(&scan);
    if (err)
        store_fail(err, message, scan.message, false);
    for (size_t i = 0; i < n && !err; i++) {
        char name[SEGMENT_NAME_BYTES], path[PATH_BYTES];
        if ((i + 1 < n && firsts[i + 1] <= number + 1) || firsts[i] > scan.end.segment)
            continue;
        segment_name(firsts[i], name);
        snprintf(path, sizeof path, "log/%s", name);
        err = copy_one(copying, path, firsts[i] == scan.end.segment ? scan.end.offset : 0, NULL);
        if (err)
            store_fail(err, message, "the backup cannot be written", true);
    }
    free(firsts);
    return err;
}

/* Reads the log that was copied to its end, which must be where the source's is. */
static enum tidings_err look_through(struct copying *copying, uint64_t number, const char **message)
{
    uint64_t reaches = copying->state->reaches;
    struct redo_scan scan = {.dir = copying->to->log_dir,
                             .id = copying->state->id,
                             .after = number,
                             .reaches = reaches > number ? reaches : 0,
                             .visit = go_on};
    enum tidings_err err = redo_scan(&scan);
    if (err)
        return store_fail(err, message, scan.message, false);
    copying->backup->batch = scan.end.number;
    copying->backup->time_ms = scan.end.time_ms;
    copying->backup->bytes = copying->done;
    return TIDINGS_OK;
}

static uint64_t bytes_in(const char *dir)
{
    uint64_t sum = 0;
    DIR *stream = opendir(dir);
    if (!stream)
        return 0;
    for (struct dirent *entry; (entry = readdir(stream));) {
        char path[PATH_BYTES];
        struct stat stat;
        if (path_join(path, dir, entry->d_name) && !lstat(path, &stat) && S_ISREG(stat.st_mode))
            sum += (uint64_t)stat.st_size;
    }
    closedir(stream);
    return sum;
}

static enum tidings_err copy_files(struct copying *copying, const char **message)
{
    uint64_t number;
    enum tidings_err err = copy_base(copying, &number);
    if (!err)
        err = copy_seal_key(copying);
    if (err)
        return store_fail(err, message, "the backup cannot be written", true);
    err = copy_log(copying, number, message);
    if (err)
        return err;
    progress_end(&copying->progress);
    return look_through(copying, number, message);
}

static enum tidings_err copy_all(const struct place *from, const struct place *to,
                                 const struct state *state, struct tidings_backup *backup,
                                 const char **message)
{
    struct copying copying = {
        .from = from,
        .to = to,
        .state = state,
        .backup = backup,
        .progress = {.to = backup->progress,
                     .what = "copying",
                     .total = bytes_in(from->base_dir) + bytes_in(from->log_dir)},
    };
    manifest_init(&copying.manifest);
    enum tidings_err err = copy_files(&copying, message);
    if (!err && manifest_write(&copying.manifest, to->dir, backup->batch, backup->time_ms))
        err = store_fail(file_error(), message, "the backup cannot be written", true);
    manifest_release(&copying.manifest);
    return err ? err : finish_place(to, state->id, backup->batch, message);
}

enum tidings_err tidings_backup_dir(const char *dir, struct tidings_backup *backup,
                                    const char **message)
{
    struct place from, to;
    struct state state;
    int lock = -1;
    if (!place_of(dir, &from))
        return store_fail(TIDINGS_INVALID, message, "the path of the source is too long", false);
    int held = store_hold(from.log_dir);
    enum tidings_err err = read_state(from.dir, &state, message);
    if (!err)
        err = make_place(backup->dest, &to, &lock, message);
    if (!err)
        err = copy_all(&from, &to, &state, backup, message);
    store_unlock(&lock);
    store_unlock(&held);
    return err;
}

/* ---- Restore -------------------------------------------------------------------------------- */

/* What there is to restore from. */
struct choice {
    struct base oldest; /* base image; zeros if there is none */
    uint64_t
        before; /* the batch that the newest base image goes to of which all is older; 0: none */
    uint64_t first; /* record of the log */
};

static enum tidings_err look_at(const struct place *from, int64_t until_ms, struct choice *choice)
{
    struct base *bases = NULL;
    uint64_t *firsts = NULL;
    size_t n_bases, n_firsts;
    *choice = (struct choice){.first = 1};
    enum tidings_err err = base_list(from->base_dir, &bases, &n_bases);
    if (!err)
        err = redo_segments(from->log_dir, &firsts, &n_firsts);
    if (!err && n_bases)
        choice->oldest = bases[0];
    for (size_t i = 0; !err && i < n_bases; i++)
        if (bases[i].time_ms <= until_ms)
            choice->before = bases[i].number;
    if (!err && (n_bases || n_firsts))
        choice->first = n_firsts ? firsts[0] : bases[0].number + 1;
    free(bases);
    free(firsts);
    return err;
}

/* The last batch that was there then. The earliest is that of the oldest base image, unless the log goes back to the
 * beginning. */
static enum tidings_err find_moment(const struct place *from, const uint8_t *id, int64_t until_ms,
                                    uint64_t *number, const char **message)
{
    struct choice choice;
    char text[128];
    enum tidings_err err = look_at(from, until_ms, &choice);
    if (err)
        return store_fail(err, message, "the source cannot be read", true);
    uint64_t after = choice.before ? choice.before : choice.first - 1;
    *number = redo_until(from->log_dir, id, after, until_ms);
    bool found = choice.before || *number > after; /* otherwise everything there is came later */
    if ((found && *number >= choice.oldest.number) || choice.first == 1)
        return TIDINGS_OK;
    snprintf(text, sizeof text,
             "that moment is not kept any more: the earliest is %" PRId64 " (ms since 1970)",
             choice.oldest.time_ms);
    return store_fail(TIDINGS_NOT_FOUND, message, text, false);
}

static enum tidings_err make_base(struct image_job *job, const struct place *to,
                                  const char **message)
{
    char name[BASE_NAME_BYTES], final[PATH_BYTES];
    enum tidings_err err = image_make(job);
    if (err && job->message[0])
        return store_fail(err, message, job->message, false);
    if (err)
        return store_fail(err, message, "the data cannot be restored", true);
    base_name(&job->made, name);
    if (!path_join(final, to->base_dir, name) || rename(job->path, final))
        return store_fail(file_error(), message, "the data cannot be put into its place", true);
    return TIDINGS_OK;
}

static enum tidings_err restore_seal_key(const char *from, const char *to)
{
    char old[PATH_BYTES], copy[PATH_BYTES];
    struct stat stat;
    if (!path_join(old, from, STORE_SEAL_KEY) || !path_join(copy, to, STORE_SEAL_KEY))
        return TIDINGS_IO;
    return lstat(old, &stat) ? TIDINGS_OK : file_copy(old, copy, 0, NULL, NULL);
}

/* With salvage, what is wrong with the backup is no reason to stop, but to say so. */
static enum tidings_err check_backup(const struct place *from, struct tidings_restore *restore,
                                     const char **message)
{
    char complaint[COMPLAINT_BYTES] = "";
    enum tidings_err err = manifest_check(from->dir, restore->progress, complaint);
    snprintf(restore->lost, sizeof restore->lost, "%s", complaint);
    if (err == TIDINGS_CORRUPT && restore->salvage)
        return TIDINGS_OK;
    return err ? store_fail(err, message, complaint, false) : TIDINGS_OK;
}

/* The data as they were, in their place; *restore says what they are. */
static enum tidings_err restore_to(const struct place *from, const struct place *to,
                                   struct state *state, uint64_t number,
                                   struct tidings_restore *restore, const char **message)
{
    char path[PATH_BYTES];
    if (!path_join(path, to->base_dir, "unfinished"))
        return store_fail(TIDINGS_INVALID, message, "the path of the target is too long", false);
    struct image_job job = {
        .log_dir = from->log_dir,
        .base_dir = from->base_dir,
        .id = state->id,
        .path = path,
        .map_bytes = SIZE_MAX / 4,
        .number = number,
        .reaches = state->reaches,
        .for_good = true,
        .salvage = restore->salvage,
        .progress = restore->progress,
    };
    enum tidings_err err = make_base(&job, to, message);
    if (!err && restore_seal_key(from->dir, to->dir))
        err = store_fail(file_error(), message, "seal.key cannot be copied", true);
    restore->batch = job.made.number;
    restore->time_ms = job.made.time_ms;
    if (job.message[0])
        snprintf(restore->lost, sizeof restore->lost, "%s", job.message);
    /* From here on it has a history of its own. */
    if (!err && getrandom(state->id, sizeof state->id, 0) != sizeof state->id)
        err = store_fail(TIDINGS_IO, message, "no random numbers", true);
    return err ? err : finish_place(to, state->id, job.made.number, message);
}

enum tidings_err tidings_restore(struct tidings_restore *restore, const char **message)
{
    struct place from, to;
    struct state state;
    uint64_t number = UINT64_MAX;
    int lock = -1;
    if (!place_of(restore->from, &from))
        return store_fail(TIDINGS_INVALID, message, "the path of the source is too long", false);
    int held = store_hold(from.log_dir);
    enum tidings_err err = read_state(from.dir, &state, message);
    if (!err)
        err = check_backup(&from, restore, message);
    if (!err && restore->until_ms)
        err = find_moment(&from, state.id, restore->until_ms, &number, message);
    if (!err)
        err = make_place(restore->dir, &to, &lock, message);
    if (!err)
        err = restore_to(&from, &to, &state, number, restore, message);
    store_unlock(&lock);
    store_unlock(&held);
    return err;
}
