/* SPDX-License-Identifier: MIT */
/*
 * Opening and closing the data directory. The order of the steps is what makes it safe: `state` names
 * this run of the machine only while data.mdb is a file that this run of the machine wrote.
 */
#include "engine/local/storage/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MESSAGE_BYTES 512

static _Thread_local char last_message[MESSAGE_BYTES];

enum tidings_err store_fail(enum tidings_err err, const char **message, const char *text, bool why)
{
    const char *reason = strerror(errno);
    snprintf(last_message, sizeof last_message, "%s%s%s", text, why ? ": " : "", why ? reason : "");
    *message = last_message;
    return err;
}

static enum tidings_err fail(enum tidings_err err, const char **message, const char *text)
{
    return store_fail(err, message, text, false);
}

static enum tidings_err fail_with(enum tidings_err err, const char **message, const char *text)
{
    return store_fail(err, message, text, true);
}

/* ---- The lock ------------------------------------------------------------------------------- */

enum tidings_err store_lock(const char *dir, int *fd, const char **message)
{
    char path[PATH_BYTES];
    if (!path_join(path, dir, "lock"))
        return fail(TIDINGS_INVALID, message, "the path of the data directory is too long");
    if (dir_make(dir))
        return fail_with(TIDINGS_IO, message, "the data directory cannot be made");
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*fd < 0)
        return fail_with(TIDINGS_IO, message,
                         "the lock file in the data directory cannot be opened");
    if (flock(*fd, LOCK_EX | LOCK_NB)) {
        close(*fd);
        *fd = -1;
        return fail(TIDINGS_LOCKED, message, "another process uses this data directory");
    }
    return TIDINGS_OK;
}

bool store_is_locked(const char *dir)
{
    char path[PATH_BYTES];
    int fd = path_join(path, dir, "lock") ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    store_unlock(&fd);
    return locked;
}

void store_unlock(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Of the directory `log`: it is there in a backup, too, and nobody replaces it. */
static int lock_log(const char *log_dir, int how)
{
    int fd = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, how))
        store_unlock(&fd);
    return fd;
}

int store_hold(const char *log_dir)
{
    return lock_log(log_dir, LOCK_SH);
}

int store_hold_alone(const char *log_dir)
{
    return lock_log(log_dir, LOCK_EX | LOCK_NB);
}

/* ---- What is there -------------------------------------------------------------------------- */

static bool is_there(const char *path)
{
    struct stat stat;
    return !lstat(path, &stat);
}

/* The state of the directory, a new one's if it is empty. */
static enum tidings_err find_state(struct store *store, const char *data, struct state *state,
                                   const char **message)
{
    bool found;
    enum tidings_err err = state_read(store->dir, state, &found);
    if (err == TIDINGS_VERSION)
        return fail(err, message,
                    "the data directory has a format that this version does not know");
    if (err == TIDINGS_CORRUPT)
        return fail(err, message, "the file `state` in the data directory is damaged");
    if (err)
        return fail_with(err, message, "the file `state` in the data directory cannot be read");
    if (found)
        return TIDINGS_OK;
    if (is_there(data))
        return fail(TIDINGS_VERSION, message,
                    "the data directory has data but no file `state`: another format, or not ours");
    if (!dir_is_empty(store->log_dir) || !dir_is_empty(store->base_dir))
        return fail(
            TIDINGS_CORRUPT, message,
            "the data directory has no file `state`: a backup or restore that was not finished");
    *state = (struct state){.boot = NO_BOOT};
    if (getrandom(state->id, sizeof state->id, 0) != sizeof state->id)
        return fail_with(TIDINGS_IO, message, "no random numbers");
    /* Before there is a data.mdb: one without a state would pass for another format's after a crash. */
    if (state_write(store->dir, state))
        return fail_with(file_error(), message, "the file `state` cannot be written");
    return TIDINGS_OK;
}

/* ---- The image ------------------------------------------------------------------------------ */

static struct image_job job_of(const struct store_options *options, struct store *store,
                               const char *path, uint64_t reaches)
{
    return (struct image_job){
        .log_dir = store->log_dir,
        .base_dir = store->base_dir,
        .id = store->id,
        .path = path,
        .map_bytes = (size_t)store->settings.map_mb << 20,
        .number = store->until,
        .reaches = reaches,
        .progress = options->progress,
    };
}

static enum tidings_err say(const struct image_job *job, enum tidings_err err, const char **message)
{
    if (job->message[0])
        return fail(err, message, job->message);
    return fail_with(err, message, "the data cannot be recovered");
}

/* A new data.mdb from the newest base image and the log. */
static enum tidings_err make_image(const struct store_options *options, struct store *store,
                                   const char *data, uint64_t reaches, struct redo_end *end,
                                   const char **message)
{
    char fresh[PATH_BYTES];
    if (!path_join(fresh, store->dir, "data.mdb.new"))
        return TIDINGS_INVALID;
    struct image_job job = job_of(options, store, fresh, reaches);
    enum tidings_err err = image_make(&job);
    *end = job.end;
    if (err)
        return say(&job, err, message);
    if (rename(fresh, data) || dir_sync(store->dir))
        return fail_with(file_error(), message, "data.mdb cannot be replaced");
    return TIDINGS_OK;
}

static enum tidings_err open_image(const struct store_options *options, struct store *store,
                                   const char *data, const char **message)
{
    struct kv_options kv = {
        .path = data,
        .map_bytes = (size_t)store->settings.map_mb << 20,
        .readers = (unsigned)store->settings.readers_max,
        .to_read = true,
        .pause = options->pause,
        .resume = options->resume,
        .ctx = options->ctx,
    };
    enum tidings_err err = kv_open(&kv, &store->kv, message);
    store->read_only = store->read_only || (!err && kv_lacks_room(store->kv));
    return err;
}

/* The rest of the log onto a data.mdb that is trusted. What that one holds must be in the log: nobody could recover
 * it. */
static enum tidings_err catch_up(const struct store_options *options, struct store *store,
                                 uint64_t reaches, struct redo_end *end, const char **message)
{
    uint64_t before = kv_applied(store->kv);
    if (store->until < before) /* what was visible is sure */
        store->until = before;
    struct image_job job = job_of(options, store, NULL, before > reaches ? before : reaches);
    enum tidings_err err = image_replay(store->kv, &job);
    *end = job.end;
    if (err == TIDINGS_NO_SPACE) { /* what was not replayed was not acknowledged either */
        store->read_only = true;
        return TIDINGS_OK;
    }
    return err ? say(&job, err, message) : TIDINGS_OK;
}

/* Whether data.mdb holds what was written to it: this run of the machine wrote it, or it was closed in order. */
static bool is_trusted(const struct state *state, const char *data, const char *boot)
{
    bool same_boot = !strcmp(state->boot, boot) && strcmp(boot, NO_BOOT) != 0;
    struct stat stat;
    return !lstat(data, &stat) && stat.st_size && (state->is_clean || same_boot);
}

static void tell(const struct store_options *options, const char *text)
{
    if (options->notice)
        options->notice(options->notice_ctx, text);
}

static void tell_of_damage(const struct store_options *options, const char *why)
{
    char text[MESSAGE_BYTES];
    snprintf(text, sizeof text, "data.mdb is damaged and is made anew: %s", why);
    tell(options, text);
}

/* Says that this process writes to data.mdb. If there is no room to say it, it does not write. */
static enum tidings_err begin_running(struct store *store, const struct state *state,
                                      const char *boot, const char **message)
{
    struct state running = *state;
    running.is_clean = false;
    snprintf(running.boot, sizeof running.boot, "%s", boot);
    if (!state->is_clean && !strcmp(state->boot, boot) && state->format == STORE_FORMAT)
        return TIDINGS_OK; /* it does so already */
    enum tidings_err err = state_write(store->dir, &running);
    store->read_only = err == TIDINGS_NO_SPACE;
    if (err && !store->read_only)
        return fail_with(err, message, "the file `state` cannot be written");
    return TIDINGS_OK;
}

/* Opens data.mdb as it is, unless it is not what the state says, or nothing that can be opened: then store->kv is
 * NULL. Want of room or memory is no reason to make it anew, which takes more of both. */
static enum tidings_err open_trusted(const struct store_options *options, struct store *store,
                                     const struct state *state, const char *data, const char *boot,
                                     const char **message)
{
    enum tidings_err err = begin_running(store, state, boot, message);
    if (!err)
        err = open_image(options, store, data, message);
    if (err == TIDINGS_NO_SPACE || err == TIDINGS_NO_MEMORY)
        return err;
    if (!err && (!state->is_clean || kv_applied(store->kv) == state->number))
        return TIDINGS_OK;
    tell_of_damage(options, err ? *message : "it is not what was closed");
    kv_close(store->kv);
    store->kv = NULL;
    return TIDINGS_OK;
}

static enum tidings_err use_image(const struct store_options *options, struct store *store,
                                  const struct state *state, const char *data, struct redo_end *end,
                                  const char **message)
{
    struct state running = {.reaches = state->reaches};
    enum tidings_err err = TIDINGS_OK;
    memcpy(running.id, state->id, sizeof running.id);
    boot_name(running.boot);
    if (!options->remake && is_trusted(state, data, running.boot))
        err = open_trusted(options, store, state, data, running.boot, message);
    if (err)
        return err;
    if (store->kv)
        return catch_up(options, store, state->reaches, end, message);
    /* Until the new one is in its place, nothing may say that the old one is good. */
    struct state nothing = {.boot = NO_BOOT, .reaches = state->reaches};
    memcpy(nothing.id, state->id, sizeof nothing.id);
    if (state_write(store->dir, &nothing))
        err = fail_with(file_error(), message, "the file `state` cannot be written");
    if (!err)
        err = make_image(options, store, data, state->reaches, end, message);
    if (!err && state_write(store->dir, &running))
        err = fail_with(file_error(), message, "the file `state` cannot be written");
    return err ? err : open_image(options, store, data, message);
}

/* ---- Opening -------------------------------------------------------------------------------- */

static enum tidings_err open_log(const struct store_options *options, struct store *store,
                                 const struct redo_end *end, bool was_clean, const char **message)
{
    struct redo_options redo = {
        .dir = store->log_dir,
        .id = store->id,
        .segment_bytes = store->settings.log_segment_mb << 20,
        .each_second = options->each_second,
    };
    /* Of what the last process wrote and nobody synced, only the pages in memory are known. */
    enum tidings_err err = (was_clean && store->until == UINT64_MAX) || store->read_only
                               ? TIDINGS_OK
                               : redo_rewrite(store->log_dir, end);
    store->read_only = store->read_only || err == TIDINGS_NO_SPACE;
    if (err && !store->read_only)
        return fail_with(err, message, "the end of the log cannot be written anew");
    err = redo_open(&redo, kv_applied(store->kv), &store->redo);
    if (!err)
        kv_log(store->kv, store->redo, store->id);
    if (!err && store->read_only) {
        redo_give_up(store->redo);
        tell(options, "there is no room on the disk: nothing is written until the next start");
    }
    return err;
}

struct sureness {
    uint64_t sure, last;
};

static bool note_sure(void *ctx, const struct redo_record *record)
{
    struct sureness *sureness = ctx;
    uint64_t sure = record->is_chained ? record->sure : record->number;
    if (sure > sureness->sure)
        sureness->sure = sure;
    sureness->last = record->number;
    return true;
}

/* How far the log is sure, as its last segments say. Damage is met again by whoever replays. */
static void find_sure(struct store *store)
{
    struct sureness sureness = {0};
    uint64_t *firsts;
    size_t n;
    if (redo_segments(store->log_dir, &firsts, &n))
        return;
    struct redo_scan scan = {.dir = store->log_dir,
                             .id = store->id,
                             .after = n ? firsts[n > 1 ? n - 2 : 0] - 1 : 0,
                             .visit = note_sure,
                             .ctx = &sureness};
    redo_scan(&scan);
    free(firsts);
    if (sureness.sure < sureness.last)
        store->until = sureness.sure;
}

/* Before anything in it is changed. */
static enum tidings_err check_backup(const struct store_options *options, const struct store *store,
                                     const char **message)
{
    char complaint[COMPLAINT_BYTES];
    enum tidings_err err = manifest_check(store->dir, options->progress, complaint);
    return err ? fail(err, message, complaint) : TIDINGS_OK;
}

static enum tidings_err open_parts(const struct store_options *options, struct store *store,
                                   const char **message)
{
    char data[PATH_BYTES];
    struct state state;
    struct redo_end end = {0};
    if (!path_join(data, store->dir, "data.mdb") || !path_join(store->log_dir, store->dir, "log") ||
        !path_join(store->base_dir, store->dir, "snapshots"))
        return fail(TIDINGS_INVALID, message, "the path of the data directory is too long");
    enum tidings_err err = find_state(store, data, &state, message);
    if (err)
        return err;
    err = check_backup(options, store, message);
    if (err)
        return err;
    memcpy(store->id, state.id, sizeof store->id);
    if (dir_make(store->log_dir) || dir_make(store->base_dir))
        return fail_with(file_error(), message, "the data directory cannot be filled");
    store->until = UINT64_MAX;
    if (options->elsewhere)
        find_sure(store);
    err = use_image(options, store, &state, data, &end, message);
    if (!err)
        err = open_log(options, store, &end, state.is_clean, message);
    if (!err && !store->read_only && manifest_remove(store->dir))
        err = fail_with(file_error(), message, "the file `backup` cannot be removed");
    if (!err && !keeper_start(store))
        err = TIDINGS_NO_MEMORY;
    return err;
}

enum tidings_err store_open(const struct store_options *options, struct store **out,
                            const char **message)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        return TIDINGS_NO_MEMORY;
    store->settings = *options->settings;
    store->limit_ms = options->limit_ms;
    store->clock = options->clock;
    store->lock_fd = -1;
    snprintf(store->dir, sizeof store->dir, "%s", options->dir);
    enum tidings_err err = store_lock(store->dir, &store->lock_fd, message);
    if (!err)
        err = open_parts(options, store, message);
    if (err) {
        redo_close(store->redo);
        kv_close(store->kv);
        if (store->lock_fd >= 0)
            close(store->lock_fd);
        free(store);
        return err;
    }
    *out = store;
    return TIDINGS_OK;
}

/* ---- Closing -------------------------------------------------------------------------------- */

void store_close(struct store *store)
{
    if (!store)
        return;
    uint64_t newest = kv_applied(store->kv);
    struct state state = {.boot = NO_BOOT, .is_clean = true, .number = newest, .reaches = newest};
    memcpy(state.id, store->id, sizeof state.id);
    keeper_stop(store);
    /* If it could only read, all is as the one before has left it. */
    bool clean = !redo_close(store->redo) && !store->read_only && kv_finish(store->kv);
    kv_close(store->kv);
    if (clean)
        state_write(store->dir, &state);
    close(store->lock_fd);
    free(store);
}
