/* SPDX-License-Identifier: MIT */
/*
 * A directory that joins a log in MySQL: an empty one, and one that cannot go on, since the log is not kept from its position on
 * (outdated) or says otherwise (diverged). It is filled with the base image of a peer, or with the one in MySQL, in a directory of
 * its own, which takes the place of what is there when it is complete:
 *
 *     rejoin       a file: the directory must join anew. It has the name of the directory into which the contents go
 *     joining/     is being filled; complete if there is a `state` in it
 *     joined/      complete, and what was there before is in its place: to be moved up
 *
 * Every step can be interrupted, and is gone on with at the next opening. Nothing is removed but an outdated directory, when the
 * next one is put aside.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "engine/local/replica_internal.h"
#include "engine/local/rows/keys.h"

enum {
    JOIN_LOG_BYTES = 64 << 20, /* of log, from its beginning, for which no image is fetched */
    JOIN_SEEN_MS = 10000,      /* a peer that was not seen for so long is not asked */
    JOIN_PATIENCE_MS = 120000, /* while a peer makes its base image */
    JOIN_ALONE_MS = 10000,     /* while there is no peer: the first one may be starting */
    JOIN_PAUSE_US = 200000,
    ASIDE_BYTES = 64,
    ASIDE_MAX = 100,
};

static const char mark_name[] = "rejoin", joining_name[] = "joining", joined_name[] = "joined";
static const char outdated_prefix[] = "outdated-", diverged_prefix[] = "diverged-";

struct replica_joining {
    struct replica *replica;
    const char *dir;
    char path[PATH_BYTES];     /* DIR/joining */
    char base_dir[PATH_BYTES]; /* and its snapshots */
    struct tidings_progress progress;
    uint8_t cluster[LOG_CLUSTER_BYTES];
    struct log_kept kept;
};

static bool join_has(const char *dir, const char *name)
{
    char path[PATH_BYTES];
    struct stat stat;
    return path_join(path, dir, name) && !lstat(path, &stat);
}

static enum tidings_err join_complain(const char **message, const char *text)
{
    return store_fail(file_error(), message, text, true);
}

/* ---- The mark --------------------------------------------------------------------------------- */

/* The name of the directory into which the contents go; false if there is no mark. */
static bool rejoin_mark_read(const char *dir, char aside[ASIDE_BYTES])
{
    char path[PATH_BYTES];
    uint8_t *bytes;
    size_t n;
    if (!path_join(path, dir, mark_name) || file_read(path, ASIDE_BYTES - 1, &bytes, &n))
        return false;
    n = strcspn((const char *)bytes, "\n") < n ? strcspn((const char *)bytes, "\n") : n;
    snprintf(aside, ASIDE_BYTES, "%.*s", (int)n, (const char *)bytes);
    free(bytes);
    bool is_ours = !strncmp(aside, outdated_prefix, sizeof outdated_prefix - 1) ||
                   !strncmp(aside, diverged_prefix, sizeof diverged_prefix - 1);
    if (!is_ours || strchr(aside, '/')) /* whatever it is: nothing is lost */
        snprintf(aside, ASIDE_BYTES, "%s0", diverged_prefix);
    return true;
}

static enum tidings_err rejoin_mark_write(const char *dir, bool diverged, uint64_t position)
{
    char aside[ASIDE_BYTES];
    int n = 0;
    for (unsigned i = 0; i < ASIDE_MAX; i++) {
        n = snprintf(aside, sizeof aside, "%s%" PRIu64,
                     diverged ? diverged_prefix : outdated_prefix, position);
        if (i)
            n += snprintf(aside + n, sizeof aside - (size_t)n, ".%u", i);
        if (!join_has(dir, aside))
            break;
    }
    aside[n] = '\n';
    return file_replace(dir, mark_name, aside, (size_t)n + 1);
}

void replica_rejoin(struct replica *replica, enum rejoin_why why, const char *text)
{
    char sentence[COMPLAINT_BYTES];
    struct local *local = replica->local;
    uint64_t position = kv_applied(local->kv);
    bool marked = !rejoin_mark_write(local->store->dir, why == REJOIN_DIVERGED, position);
    snprintf(sentence, sizeof sentence, "%.150s: %s", text,
             marked ? "it must join anew, which opening it again does"
                    : "it must join anew, and there is no room to note it");
    replica_say(replica, sentence, true);
    atomic_store(&replica->rejoin, marked);
}

bool replica_join_has_diverged(const char *dir)
{
    DIR *stream = opendir(dir);
    struct stat stat;
    bool found = false;
    char path[PATH_BYTES];
    if (!stream)
        return false;
    for (struct dirent *entry; !found && (entry = readdir(stream));)
        found = !strncmp(entry->d_name, diverged_prefix, sizeof diverged_prefix - 1) &&
                path_join(path, dir, entry->d_name) && !lstat(path, &stat) && S_ISDIR(stat.st_mode);
    closedir(stream);
    return found;
}

/* ---- One directory in the place of another ------------------------------------------------------ */

static enum tidings_err join_move(const char *from_dir, const char *to_dir, const char *name,
                                  const char **message)
{
    char from[PATH_BYTES], to[PATH_BYTES];
    if (!join_has(from_dir, name))
        return TIDINGS_OK;
    if (!path_join(from, from_dir, name) || !path_join(to, to_dir, name) || rename(from, to))
        return join_complain(message, "what was fetched cannot take its place");
    return TIDINGS_OK;
}

/* What is there goes into the directory that the mark names. */
static enum tidings_err join_put_aside(const char *dir, const char *aside, const char **message)
{
    static const char *const names[] = {
        "state", "data.mdb",  "data.mdb-lock", "data.mdb.new",
        "log",   "snapshots", "backup",        "replaced",
    };
    char path[PATH_BYTES];
    enum tidings_err err = TIDINGS_OK;
    if (!path_join(path, dir, aside) || dir_make(path))
        return join_complain(message, "what is there cannot be put aside");
    for (size_t i = 0; i < sizeof names / sizeof *names && !err; i++)
        err = join_move(dir, path, names[i], message);
    if (!err && (dir_sync(path) || dir_sync(dir)))
        err = join_complain(message, "what is there cannot be put aside");
    return err;
}

/* Outdated directories but this one. */
static void join_remove_outdated(const char *dir, const char *aside)
{
    DIR *stream = opendir(dir);
    char path[PATH_BYTES];
    if (!stream)
        return;
    for (struct dirent *entry; (entry = readdir(stream));)
        if (!strncmp(entry->d_name, outdated_prefix, sizeof outdated_prefix - 1) &&
            strcmp(entry->d_name, aside) != 0 && path_join(path, dir, entry->d_name))
            dir_remove(path);
    closedir(stream);
}

static enum tidings_err join_move_up(const char *dir, const char **message)
{
    static const char *const names[] = {"log", "snapshots", "state"};
    char joined[PATH_BYTES], mark[PATH_BYTES], aside[ASIDE_BYTES];
    enum tidings_err err = TIDINGS_OK;
    if (!path_join(joined, dir, joined_name) || !path_join(mark, dir, mark_name))
        return TIDINGS_INVALID;
    for (size_t i = 0; i < sizeof names / sizeof *names && !err; i++) {
        err = join_move(joined, dir, names[i], message);
        if (!err && dir_sync(dir))
            err = join_complain(message, "what was fetched cannot take its place");
    }
    if (err)
        return err;
    if (rejoin_mark_read(dir, aside)) {
        join_remove_outdated(dir, aside);
        if (unlink(mark))
            return join_complain(message, "the file `rejoin` cannot be removed");
    }
    dir_remove(joined); /* a seal key may be in it */
    return dir_sync(dir) ? join_complain(message, "the data directory cannot be filled")
                         : TIDINGS_OK;
}

/* DIR/joining is complete. */
static enum tidings_err join_swap(const char *dir, const char **message)
{
    char from[PATH_BYTES], to[PATH_BYTES], aside[ASIDE_BYTES];
    enum tidings_err err = TIDINGS_OK;
    if (!path_join(from, dir, joining_name) || !path_join(to, dir, joined_name))
        return TIDINGS_INVALID;
    if (rejoin_mark_read(dir, aside))
        err = join_put_aside(dir, aside, message);
    if (!err && (rename(from, to) || dir_sync(dir)))
        err = join_complain(message, "what was fetched cannot take its place");
    return err ? err : join_move_up(dir, message);
}

/* ---- Images ------------------------------------------------------------------------------------- */

static enum tidings_err join_refuse_image(const char **message, const char *text)
{
    return store_fail(TIDINGS_CORRUPT, message, text, false);
}

/* Whether the log in MySQL goes on behind an image. */
static enum tidings_err join_check_follows(struct replica_joining *joining,
                                           const struct kv_summary *image, const char **message)
{
    struct log_mysql *log = joining->replica->asking;
    struct log_batch batch;
    struct chain next = image->chain;
    enum log_outcome outcome = log_mysql_read(log, image->applied, 1, 0, &batch);
    if (outcome)
        return store_fail(TIDINGS_UNREACHABLE, message, log_mysql_message(log), false);
    const uint8_t *chain = batch.n ? batch.records[0].chain : batch.writer.chain;
    uint64_t position = batch.n ? image->applied + 1 : image->applied;
    if (batch.n) {
        struct redo_record record = {.number = position,
                                     .time_ms = batch.records[0].at_ms,
                                     .changes = batch.records[0].bytes};
        struct chainer *chainer = chainer_new();
        bool ok = chainer && chain_next(chainer, &image->chain, &record, &next);
        chainer_free(chainer);
        if (!ok)
            return TIDINGS_NO_MEMORY;
    }
    bool goes_on = batch.writer.position >= position && !memcmp(next.bytes, chain, LOG_CHAIN_BYTES);
    return goes_on ? TIDINGS_OK
                   : join_refuse_image(message, "the image is of another history than the log");
}

/* Whether what was fetched is of this cluster and the log goes on behind it. */
static enum tidings_err join_check(struct replica_joining *joining, const char **message)
{
    char name[BASE_NAME_BYTES], path[PATH_BYTES];
    struct key era = key_meta("era");
    struct kv_summary summary;
    struct base *bases, base = {0};
    struct state state;
    bool found = false;
    size_t n;
    if (state_read(joining->path, &state, &found) || !found ||
        memcmp(state.id, joining->cluster, LOG_CLUSTER_BYTES) != 0)
        return join_refuse_image(message, "the image is of another cluster");
    if (!base_list(joining->base_dir, &bases, &n) && n)
        base = bases[n - 1];
    free(bases);
    base_name(&base, name);
    if (!n || !path_join(path, joining->base_dir, name) || kv_peek(path, &era, &summary) ||
        summary.applied != base.number)
        return join_refuse_image(message, "the image is not what it is called");
    return join_check_follows(joining, &summary, message);
}

/* ---- The image in MySQL --------------------------------------------------------------------------- */

static enum tidings_err join_fail_mysql(struct log_mysql *log, const char **message)
{
    return store_fail(TIDINGS_UNREACHABLE, message, log_mysql_message(log), false);
}

static enum tidings_err join_write_pieces(struct replica_joining *joining,
                                          const struct log_image *image, int fd,
                                          const char **message)
{
    struct log_mysql *log = joining->replica->asking;
    struct progress progress = {
        .to = joining->progress, .what = "fetching the image from MySQL", .total = image->bytes};
    uint64_t done = 0;
    uint32_t crc = 0;
    for (uint32_t i = 0; i < image->pieces; i++) {
        struct bytes bytes;
        if (log_mysql_image_get(log, image->number, i, &bytes))
            return join_fail_mysql(log, message);
        if (bytes.n > image->bytes - done)
            return join_refuse_image(message, "the image in MySQL is longer than it says");
        if (file_write(fd, bytes.p, bytes.n, done))
            return join_complain(message, "the base image cannot be written");
        crc = crc32c(crc, bytes.p, bytes.n);
        done += bytes.n;
        progress_tell(&progress, done);
    }
    progress_end(&progress);
    if (done != image->bytes || crc != image->crc)
        return join_refuse_image(message, "the image in MySQL is damaged");
    return fsync(fd) ? join_complain(message, "the base image cannot be written") : TIDINGS_OK;
}

static enum tidings_err join_from_mysql(struct replica_joining *joining, const char **message)
{
    char name[BASE_NAME_BYTES], path[PATH_BYTES];
    struct log_mysql *log = joining->replica->asking;
    struct log_image image;
    enum log_outcome outcome = log_mysql_image_newest(log, &image);
    if (outcome)
        return join_fail_mysql(log, message);
    struct base base = {image.position, image.at_ms, image.crc};
    enum tidings_err err = join_make_rooms(joining->path, joining->base_dir, message);
    if (err)
        return err;
    base_name(&base, name);
    int fd = path_join(path, joining->base_dir, name)
                 ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                 : -1;
    if (fd < 0)
        return join_complain(message, "the base image cannot be written");
    err = join_write_pieces(joining, &image, fd, message);
    close(fd);
    return err ? err
               : join_end(joining->path, joining->base_dir, joining->cluster, image.position,
                          message);
}

/* ---- Where to get it ------------------------------------------------------------------------------ */

static int join_by_image(const void *a, const void *b)
{
    uint64_t x = ((const struct log_replica *)a)->image_position,
             y = ((const struct log_replica *)b)->image_position;
    return (x < y) - (x > y);
}

/* The servers of the log that were seen lately, newest image first; from malloc. */
static size_t join_peers(struct replica_joining *joining, struct log_replica **peers)
{
    size_t n = 0, kept = 0;
    *peers = calloc(LOG_REPLICAS_MAX, sizeof **peers);
    if (!*peers || log_mysql_replicas(joining->replica->asking, *peers, LOG_REPLICAS_MAX, &n))
        return 0;
    for (size_t i = 0; i < n; i++)
        if ((*peers)[i].silent_ms < JOIN_SEEN_MS && (*peers)[i].address[0])
            (*peers)[kept++] = (*peers)[i];
    qsort(*peers, kept, sizeof **peers, join_by_image);
    return kept;
}

/* Ends a failed attempt: what it has fetched goes, since the disk may be full. */
static void join_give_up(const struct replica_joining *joining, const char *from, const char *why)
{
    char text[COMPLAINT_BYTES];
    const struct local *local = joining->replica->local;
    dir_remove(joining->path);
    snprintf(text, sizeof text, "the image of %.60s was not taken: %.150s", from, why);
    if (local->fault)
        local->fault(local->fault_ctx, text);
}

static enum tidings_err join_from_peers(struct replica_joining *joining, bool *again,
                                        const char **message)
{
    struct local *local = joining->replica->local;
    struct log_replica *peers;
    size_t n = join_peers(joining, &peers);
    uint64_t least = joining->kept.after ? joining->kept.after : 1;
    enum tidings_err err = TIDINGS_UNREACHABLE;
    *message = "no other server of this log was seen lately";
    for (size_t i = 0; i < n && err && err != TIDINGS_NO_SPACE; i++) {
        bool later = false;
        err = join_from_peer(local->wire_context, peers[i].address, least, joining->path,
                             joining->progress, &later, message);
        if (!err)
            err = join_check(joining, message);
        if (err && !later)
            join_give_up(joining, peers[i].address, *message);
        *again = *again || later;
    }
    free(peers);
    return err;
}

/* The log goes back to its beginning: an empty directory of the community. */
static enum tidings_err join_from_nothing(struct replica_joining *joining, const char **message)
{
    enum tidings_err err = join_make_rooms(joining->path, joining->base_dir, message);
    return err ? err : join_end(joining->path, joining->base_dir, joining->cluster, 0, message);
}

static enum tidings_err join_fetch(struct replica_joining *joining, const char **message)
{
    int64_t began_ms = wait_now_ms(), patience_ms = JOIN_ALONE_MS;
    bool from_start = !joining->kept.after;
    if (from_start && joining->kept.bytes < JOIN_LOG_BYTES)
        return join_from_nothing(joining, message);
    for (;;) {
        bool again = false;
        enum tidings_err err = join_from_peers(joining, &again, message);
        if (err && err != TIDINGS_NO_SPACE) {
            err = join_from_mysql(joining, message);
            if (!err)
                err = join_check(joining, message);
            if (err == TIDINGS_CORRUPT)
                join_give_up(joining, "MySQL", *message);
        }
        if (err && err != TIDINGS_NO_SPACE && from_start)
            return join_from_nothing(joining, message);
        patience_ms = again ? JOIN_PATIENCE_MS : patience_ms;
        bool is_final = err == TIDINGS_NO_SPACE || (err == TIDINGS_CORRUPT && !again);
        if (!err || is_final || wait_now_ms() - began_ms > patience_ms)
            return err;
        usleep(JOIN_PAUSE_US);
        log_mysql_kept(joining->replica->asking, &joining->kept);
    }
}

/* ---- Joining -------------------------------------------------------------------------------------- */

/* Whether the directory is an empty one, or must join anew. */
static bool join_is_due(const char *dir)
{
    char log_dir[PATH_BYTES], base_dir[PATH_BYTES];
    struct state state;
    bool found;
    if (join_has(dir, mark_name))
        return true;
    if (state_read(dir, &state, &found) || found || join_has(dir, "data.mdb"))
        return false; /* opening it says what is wrong with it */
    return path_join(log_dir, dir, "log") && path_join(base_dir, dir, "snapshots") &&
           dir_is_empty(log_dir) && dir_is_empty(base_dir);
}

static enum tidings_err join_anew(struct replica_joining *joining, const char **message)
{
    struct log_mysql *log = joining->replica->asking;
    if (dir_remove(joining->path))
        return join_complain(message, "a former attempt to join cannot be removed");
    if (log_mysql_cluster(log, joining->cluster) || log_mysql_kept(log, &joining->kept))
        return join_fail_mysql(log, message);
    enum tidings_err err = join_fetch(joining, message);
    if (!err)
        return join_swap(joining->dir, message);
    dir_remove(joining->path);
    return err;
}

enum tidings_err replica_join(struct replica *replica, const struct tidings_options *options,
                              const char **message)
{
    struct replica_joining joining = {
        .replica = replica, .dir = options->dir, .progress = options->progress};
    enum tidings_err err = TIDINGS_OK;
    int lock = -1;
    bool is_up = join_has(options->dir, joined_name);
    if (!path_join(joining.path, options->dir, joining_name) ||
        !path_join(joining.base_dir, joining.path, "snapshots"))
        return store_fail(TIDINGS_INVALID, message, "the path of the data directory is too long",
                          false);
    bool complete = join_has(joining.path, "state");
    if (!is_up && !complete && !join_is_due(options->dir))
        return TIDINGS_OK;
    err = store_lock(options->dir, &lock, message);
    if (!err && is_up)
        err = join_move_up(options->dir, message);
    else if (!err && complete)
        err = join_swap(options->dir, message);
    else if (!err)
        err = join_anew(&joining, message);
    store_unlock(&lock);
    return err;
}

enum tidings_err replica_join_check(struct replica *replica, const char **message)
{
    struct local *local = replica->local;
    struct log_batch batch;
    enum log_outcome outcome = log_mysql_read(replica->asking, kv_applied(local->kv), 1, 0, &batch);
    if (outcome != LOG_TRIMMED)
        return TIDINGS_OK; /* whoever follows the log meets what is wrong with it */
    char text[COMPLAINT_BYTES];
    snprintf(text, sizeof text, "%.200s", log_mysql_message(replica->asking));
    replica_rejoin(replica, REJOIN_OUTDATED, text);
    return store_fail(TIDINGS_STANDBY, message, text, false);
}

enum tidings_err replica_join_former(struct replica *replica, const char **message)
{
    char text[COMPLAINT_BYTES];
    snprintf(text, sizeof text, "%.200s", log_mysql_message(replica->asking));
    replica_rejoin(replica, REJOIN_DIVERGED, text);
    return store_fail(TIDINGS_STANDBY, message, text, false);
}
