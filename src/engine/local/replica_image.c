/* SPDX-License-Identifier: MIT */
/*
 * The image in MySQL and the age of the log there, on a thread and a connection of its own. The writer uploads its newest base
 * image when the log behind the image in MySQL has grown long, or does not go back to its beginning and there is none; removes
 * images that a newer one replaces; and trims the log (rule 15). Every server looks at what there is, for its status.
 *
 * Data of more than image_mysql_mb have no image in MySQL: the log is trimmed behind images that two replicas hold.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "engine/local/replica_internal.h"
#include "engine/local/rows/keys.h"

enum {
    IMAGE_LOOK_MS = 1000, /* how often the writer looks at what there is, and the others */
    IMAGE_FOLLOWER_LOOK_MS = 5000,
    IMAGE_PIECE_BYTES = 1 << 20, /* small: appends wait for none of them long */
    IMAGE_HELD_MS =
        10000, /* images of two replicas count when they were there for so long: one that was
                              restarted has two rows for a moment */
};

static const char too_large[] =
    "the data have more than image_mysql_mb: MySQL alone cannot rebuild them, and the log is "
    "trimmed behind images that two servers hold";

/* An upload under way. It is gone on with after a failure of MySQL's. */
struct image_upload {
    int fd; /* -1: there is none */
    struct base base;
    uint64_t number, bytes, done;
    uint32_t piece, crc;
};

struct replica_keeper {
    struct replica *replica;
    struct log_mysql *log;
    pthread_t thread;
    struct image_upload upload;
    uint8_t *piece;
    struct log_kept kept;
    struct log_image image; /* its number is 0 if there is none */
    uint64_t held;          /* position that images of two replicas reach, and since when */
    int64_t held_ms;

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t stopped;
    bool stopping;
    struct tidings_replica_log told;
};

static bool image_keeper_writes(const struct replica_keeper *keeper)
{
    const struct replica *replica = keeper->replica;
    return atomic_load(&replica->local->role) == TIDINGS_WRITER && !atomic_load(&replica->stopping);
}

/* ---- What there is ------------------------------------------------------------------------------ */

uint64_t replica_image_position(struct replica *replica)
{
    return keeper_newest(replica->local->store).number;
}

static bool image_look(struct replica_keeper *keeper)
{
    struct log_image image = {0};
    enum log_outcome outcome = log_mysql_kept(keeper->log, &keeper->kept);
    if (!outcome)
        outcome = log_mysql_image_newest(keeper->log, &image);
    if (outcome && outcome != LOG_EMPTY)
        return false;
    if (image.position < keeper->kept.after)
        image = (struct log_image){0}; /* the log does not go on behind it */
    keeper->image = image;
    pthread_mutex_lock(&keeper->mutex);
    keeper->told.records = keeper->kept.records;
    keeper->told.bytes = keeper->kept.bytes;
    keeper->told.has_image = image.number != 0;
    keeper->told.image_position = image.position;
    keeper->told.image_bytes = image.bytes;
    keeper->told.image_at_ms = image.at_ms;
    pthread_mutex_unlock(&keeper->mutex);
    return true;
}

static void image_tell(struct replica_keeper *keeper, const char *warning)
{
    pthread_mutex_lock(&keeper->mutex);
    snprintf(keeper->told.warning, sizeof keeper->told.warning, "%s", warning);
    pthread_mutex_unlock(&keeper->mutex);
}

void replica_image_status(struct replica *replica, struct tidings_replica *status)
{
    struct replica_keeper *keeper = replica->keeper;
    if (!keeper)
        return;
    pthread_mutex_lock(&keeper->mutex);
    status->log = keeper->told;
    pthread_mutex_unlock(&keeper->mutex);
}

/* ---- Uploading ---------------------------------------------------------------------------------- */

static void image_upload_end(struct image_upload *upload)
{
    if (upload->fd >= 0)
        close(upload->fd);
    *upload = (struct image_upload){.fd = -1};
}

/* As a base image: as much log as the image has bytes. Without one, only a log that does not go back to its beginning needs it at
 * once. */
static bool image_is_due(const struct replica_keeper *keeper)
{
    uint64_t least = keeper->replica->local->settings.snapshot_log_mb << 20;
    const struct log_kept *kept = &keeper->kept;
    const struct log_image *image = &keeper->image;
    if (!image->number)
        return kept->after || kept->bytes >= least;
    return image->log_bytes >= (image->bytes > least ? image->bytes : least);
}

static bool image_begin(struct replica_keeper *keeper, const struct base *base)
{
    char name[BASE_NAME_BYTES], path[PATH_BYTES];
    struct image_upload *upload = &keeper->upload;
    struct key era = key_meta("era");
    struct kv_summary summary;
    struct stat stat;
    struct local *local = keeper->replica->local;
    base_name(base, name);
    if (!path_join(path, local->store->base_dir, name))
        return false;
    *upload = (struct image_upload){.fd = open(path, O_RDONLY | O_CLOEXEC), .base = *base};
    if (upload->fd < 0 || fstat(upload->fd, &stat) || !stat.st_size ||
        kv_peek(path, &era, &summary) || summary.applied != base->number) {
        image_upload_end(upload);
        return false;
    }
    upload->bytes = (uint64_t)stat.st_size;
    if (upload->bytes > local->settings.image_mysql_mb << 20) {
        image_tell(keeper, too_large);
        image_upload_end(upload);
        return false;
    }
    image_tell(keeper, "");
    struct log_image image = {
        .position = base->number, .era = summary.number, .at_ms = base->time_ms};
    memcpy(image.chain, summary.chain.bytes, LOG_CHAIN_BYTES);
    if (log_mysql_image_begin(keeper->log, &image, &upload->number)) {
        image_upload_end(upload);
        return false;
    }
    return true;
}

/* Pieces that are left. False: it failed, and goes on later or begins anew. */
static bool image_put_pieces(struct replica_keeper *keeper)
{
    struct image_upload *upload = &keeper->upload;
    while (upload->done < upload->bytes && image_keeper_writes(keeper)) {
        ssize_t n = pread(upload->fd, keeper->piece, IMAGE_PIECE_BYTES, (off_t)upload->done);
        if (n <= 0) {
            image_upload_end(upload);
            return false;
        }
        enum log_outcome outcome = log_mysql_image_put(keeper->log, upload->number, upload->piece,
                                                       (struct bytes){keeper->piece, (size_t)n});
        if (outcome == LOG_REFUSED)
            image_upload_end(upload);
        if (outcome)
            return false;
        upload->crc = crc32c(upload->crc, keeper->piece, (size_t)n);
        upload->done += (uint64_t)n;
        upload->piece++;
    }
    return upload->done == upload->bytes;
}

static void image_tidy(struct replica_keeper *keeper, uint64_t own)
{
    bool more = true;
    while (more && image_keeper_writes(keeper))
        if (log_mysql_image_tidy(keeper->log, own, &more))
            return;
}

static void image_upload(struct replica_keeper *keeper)
{
    struct image_upload *upload = &keeper->upload;
    struct store *store = keeper->replica->local->store;
    if (upload->fd < 0) {
        if (!image_is_due(keeper))
            return;
        struct base base = keeper_newest(store);
        if (!base.number || (keeper->image.number && base.number <= keeper->image.position) ||
            base.number < keeper->kept.after) {
            keeper_want(store);
            return;
        }
        if (!image_begin(keeper, &base))
            return;
        image_tidy(keeper, upload->number);
    }
    if (!image_put_pieces(keeper))
        return;
    if (upload->crc != upload->base.crc) {
        replica_say(keeper->replica, "its newest base image is damaged: another one is made",
                    false);
        image_upload_end(upload);
        keeper_want(store);
        return;
    }
    enum log_outcome outcome =
        log_mysql_image_end(keeper->log, upload->number, upload->piece, upload->bytes, upload->crc);
    if (outcome == LOG_DONE || outcome == LOG_REFUSED)
        image_upload_end(upload);
}

/* ---- Trimming ----------------------------------------------------------------------------------- */

/* The position that images of two replicas of this era reach; 0: there are no two. */
static uint64_t image_held_by_two(struct replica_keeper *keeper)
{
    struct log_replica *replicas = calloc(LOG_REPLICAS_MAX, sizeof *replicas);
    uint64_t first = 0, second = 0;
    size_t n = 0;
    if (replicas)
        log_mysql_replicas(keeper->log, replicas, LOG_REPLICAS_MAX, &n);
    for (size_t i = 0; i < n; i++) {
        uint64_t position = replicas[i].image_position;
        if (replicas[i].silent_ms >= LOG_LEASE_MS || replicas[i].era != keeper->kept.writer.era)
            continue;
        second = position > first ? first : position > second ? position : second;
        first = position > first ? position : first;
    }
    free(replicas);
    return second;
}

/* Up to where the log may be trimmed, as far as images go. */
static uint64_t image_trim_limit(struct replica_keeper *keeper)
{
    uint64_t image = keeper->image.number ? keeper->image.position : 0;
    if (!keeper->told.warning[0]) /* this thread alone writes it */
        return image;
    uint64_t held = image_held_by_two(keeper), limit = 0;
    if (held < keeper->held || wait_now_ms() - keeper->held_ms >= IMAGE_HELD_MS) {
        limit = held < keeper->held ? 0 : keeper->held;
        keeper->held = held;
        keeper->held_ms = wait_now_ms();
    }
    return limit > image ? limit : image;
}

static void image_trim(struct replica_keeper *keeper)
{
    struct local *local = keeper->replica->local;
    int64_t age_ms = (int64_t)local->settings.log_mysql_hours * 60 * 60 * 1000;
    int64_t before_ms = local->store->limit_ms(local->store->clock, age_ms);
    uint64_t limit = image_trim_limit(keeper);
    bool more = limit > keeper->kept.after;
    while (more && image_keeper_writes(keeper))
        if (log_mysql_trim(keeper->log, limit, before_ms, &more))
            return;
}

/* ---- The thread --------------------------------------------------------------------------------- */

/* False when it is time to stop. */
static bool image_wait(struct replica_keeper *keeper, bool writes)
{
    struct timespec until = wait_until_ms(writes ? IMAGE_LOOK_MS : IMAGE_FOLLOWER_LOOK_MS);
    int rc = 0;
    pthread_mutex_lock(&keeper->mutex);
    while (!keeper->stopping && !rc)
        rc = pthread_cond_timedwait(&keeper->stopped, &keeper->mutex, &until);
    bool go_on = !keeper->stopping;
    pthread_mutex_unlock(&keeper->mutex);
    return go_on;
}

static void *image_keeper_main(void *arg)
{
    struct replica_keeper *keeper = arg;
    thread_name("images");
    bool writes;
    do {
        writes = image_keeper_writes(keeper);
        if (!writes)
            image_upload_end(&keeper->upload);
        if (!image_look(keeper) || !writes)
            continue;
        image_upload(keeper);
        image_tidy(keeper, keeper->upload.number);
        image_trim(keeper);
    } while (image_wait(keeper, writes));
    image_upload_end(&keeper->upload);
    return NULL;
}

static void image_keeper_free(struct replica_keeper *keeper)
{
    log_mysql_close(keeper->log);
    pthread_cond_destroy(&keeper->stopped);
    pthread_mutex_destroy(&keeper->mutex);
    free(keeper->piece);
    free(keeper);
}

enum tidings_err replica_image_start(struct replica *replica, const struct tidings_options *options)
{
    struct replica_keeper *keeper = calloc(1, sizeof *keeper);
    const char *why;
    if (!keeper)
        return TIDINGS_NO_MEMORY;
    keeper->replica = replica;
    keeper->upload.fd = -1;
    keeper->piece = malloc(IMAGE_PIECE_BYTES);
    pthread_mutex_init(&keeper->mutex, NULL);
    wait_init(&keeper->stopped);
    bool ok = keeper->piece &&
              !log_mysql_open(options->mysql, options->mysql_password, &keeper->log, &why) &&
              !pthread_create(&keeper->thread, NULL, image_keeper_main, keeper);
    if (ok) {
        replica->keeper = keeper;
        return TIDINGS_OK;
    }
    image_keeper_free(keeper);
    return TIDINGS_NO_MEMORY;
}

/* When the replica is stopping. */
void replica_image_stop(struct replica *replica)
{
    struct replica_keeper *keeper = replica->keeper;
    if (!keeper)
        return;
    pthread_mutex_lock(&keeper->mutex);
    keeper->stopping = true;
    pthread_cond_signal(&keeper->stopped);
    pthread_mutex_unlock(&keeper->mutex);
    pthread_join(keeper->thread, NULL);
    replica->keeper = NULL;
    image_keeper_free(keeper);
}
