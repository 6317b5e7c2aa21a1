/* SPDX-License-Identifier: MIT */
/*
 * A replica's life, and its thread, which follows the log, keeps the lease, and takes over. Another thread appends
 * (replica_append.c).
 */
#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "engine/local/replica_internal.h"

enum {
    POLL_MS = 10,         /* how often a follower asks for records, ... */
    PUSHED_POLL_MS = 100, /* ... if the writer sends them by itself */
    AWAY_MS = 200,        /* and while MySQL is away */
    RENEW_MS = 800,       /* how often the lease is renewed */
    SEEN_MS = 1000,       /* how often the replica says that it is there */
    LAST_WORDS_MS = 1000, /* for giving back the lease when it ends */
};

/* ---- What is told ------------------------------------------------------------------------------- */

void replica_say(struct replica *replica, const char *text, bool for_good)
{
    struct local *local = replica->local;
    pthread_mutex_lock(&replica->mutex);
    bool is_new = strcmp(replica->trouble, text) != 0;
    snprintf(replica->trouble, sizeof replica->trouble, "%.250s", text);
    replica->broken = replica->broken || for_good;
    pthread_mutex_unlock(&replica->mutex);
    if (is_new && *text && local->fault)
        local->fault(local->fault_ctx, text);
}

void replica_tell(struct replica *replica, const char *format, ...)
{
    struct local *local = replica->local;
    char text[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (local->fault)
        local->fault(local->fault_ctx, text);
}

/*
 * When this replica was last known to have all; 0: never. A writer had all when it asked for the lease that it got last, but for
 * an append that was under way then: MySQL has committed it, perhaps, and another server shown it.
 */
static int64_t replica_had_all_ms(const struct replica *replica)
{
    int64_t lacks_ms = atomic_load(&replica->lacks_ms);
    int64_t current_ms = atomic_load(&replica->current_ms);
    int64_t leased_ms = atomic_load(&replica->lease_ms) - LOG_LEASE_MS;
    int64_t had_ms = leased_ms > current_ms ? leased_ms : current_ms;
    return lacks_ms && lacks_ms < had_ms ? lacks_ms : had_ms;
}

int64_t replica_age(struct local *local)
{
    struct replica *replica = local->replica;
    if (replica_knows_all(local))
        return 0;
    int64_t age_ms = wait_now_ms() - replica_had_all_ms(replica);
    return age_ms > 0 ? age_ms : 1;
}

uint64_t replica_term(struct local *local)
{
    struct replica *replica = local->replica;
    uint64_t fence = atomic_load(&replica->fence);
    return wait_now_ms() < atomic_load(&replica->lease_ms) ? fence : 0;
}

void replica_status(struct local *local, struct tidings_replica *status)
{
    struct replica *replica = local->replica;
    int64_t current_ms = replica_had_all_ms(replica);
    pthread_mutex_lock(&replica->mutex);
    snprintf(status->trouble, sizeof status->trouble, "%s", replica->trouble);
    status->broken = replica->broken;
    pthread_mutex_unlock(&replica->mutex);
    snprintf(status->following, sizeof status->following, "mysql");
    status->on_mysql = true;
    status->diverged = atomic_load(&replica->diverged);
    status->takeovers = atomic_load(&replica->takeovers);
    status->reappended = atomic_load(&replica->reappended);
    replica_image_status(replica, status);
    status->rejoin = atomic_load(&replica->rejoin);
    status->connected = !status->trouble[0];
    status->end = status->position;
    status->age_ms = status->role == TIDINGS_WRITER ? 0
                     : current_ms                   ? wait_now_ms() - current_ms
                                                    : -1;
}

/* ---- The thread --------------------------------------------------------------------------------------------- */

static void replica_register(struct replica *replica, int64_t *told_ms)
{
    struct peer_end end = local_end(replica->local);
    struct log_replica row = {.id = replica->id, .position = end.position, .era = end.era};
    if (wait_now_ms() - *told_ms < SEEN_MS)
        return;
    row.image_position = replica_image_position(replica);
    snprintf(row.address, sizeof row.address, "%.250s", replica->address);
    enum log_outcome outcome = log_mysql_register(replica->asking, &row);
    if (outcome == LOG_DONE && !replica->noted)
        replica->noted = replica_identity_note(replica);
    if (replica_is_silent(outcome) && atomic_load(&replica->local->role) != TIDINGS_WRITER)
        replica_away_note(replica, true);
    *told_ms = wait_now_ms();
}

static void replica_wait(struct replica *replica, unsigned ms)
{
    struct timespec until = wait_until_ms(ms);
    int rc = 0;
    pthread_mutex_lock(&replica->mutex);
    while (!replica->reads && !replica->hurry && !atomic_load(&replica->stopping) && !rc)
        rc = pthread_cond_timedwait(&replica->changed, &replica->mutex, &until);
    replica->hurry = false;
    pthread_mutex_unlock(&replica->mutex);
}

bool replica_is_broken(struct replica *replica)
{
    pthread_mutex_lock(&replica->mutex);
    bool broken = replica->broken;
    pthread_mutex_unlock(&replica->mutex);
    return broken;
}

static void *replica_main(void *arg)
{
    struct replica *replica = arg;
    struct local *local = replica->local;
    struct log_writer writer;
    int64_t told_ms = 0, renewed_ms = 0;
    thread_name("replica");
    thread_block_sigpipe();
    while (!atomic_load(&replica->stopping)) {
        bool at_end = true, ok = true, takes = false;
        int64_t asked_ms = wait_now_ms();
        struct tidings_call *reads = replica_reads_take(replica, &replica->reads);
        if (atomic_load(&local->role) == TIDINGS_WRITER) {
            if (wait_now_ms() - renewed_ms >= RENEW_MS || reads) {
                replica_lease_keep(replica);
                renewed_ms = wait_now_ms();
            }
        }
        if (atomic_load(&local->role) != TIDINGS_WRITER && !replica_is_broken(replica)) {
            ok = replica_follow(replica, &writer, &at_end);
            at_end |= replica->seen.ahead_ms != 0;
            takes = ok && replica_may_take_over(replica, &writer) && at_end;
        } else if (atomic_load(&local->role) != TIDINGS_WRITER) {
            ok = false; /* no question will make reads exact: none waits for one */
        }
        replica_reads_conclude(replica, reads, asked_ms, ok);
        replica_unsure_expire(replica, wait_now_ms());
        if (takes)
            replica_take_over(replica, &writer);
        replica_register(replica, &told_ms);
        bool writes = atomic_load(&local->role) == TIDINGS_WRITER;
        if (ok && at_end)
            replica_wait(replica,
                         writes || atomic_load(&replica->is_pushed) ? PUSHED_POLL_MS : POLL_MS);
        else if (!ok)
            replica_wait(replica, AWAY_MS);
    }
    replica_reads_complete(replica, replica_reads_take(replica, &replica->reads), false);
    return NULL;
}

/* ---- Life ----------------------------------------------------------------------------------------------------- */

static enum tidings_err replica_refuse(struct replica *replica, enum log_outcome outcome,
                                       const char **message)
{
    return store_fail(outcome == LOG_REFUSED ? TIDINGS_INVALID : TIDINGS_UNREACHABLE, message,
                      log_mysql_message(replica->asking), false);
}

enum { PURPOSE_BYTES = 16 };

bool replica_key_derive(const char *purpose, const uint8_t secret[LOG_SECRET_BYTES],
                        uint8_t key[TIDINGS_SECRET_BYTES])
{
    uint8_t bytes[PURPOSE_BYTES + LOG_SECRET_BYTES] = {0};
    size_t n = strlen(purpose) + 1;
    assert(n <= PURPOSE_BYTES);
    memcpy(bytes, purpose, n);
    memcpy(bytes + n, secret, LOG_SECRET_BYTES);
    bool ok = digest_sha256((struct bytes){bytes, n + LOG_SECRET_BYTES}, key);
    explicit_bzero(bytes, sizeof bytes);
    return ok;
}

static enum tidings_err replica_secret_read(struct replica *replica, const char **message)
{
    uint8_t secret[LOG_SECRET_BYTES], peer_key[WIRE_KEY_BYTES];
    if (replica->local->wire_context)
        return TIDINGS_OK;
    enum log_outcome outcome = log_mysql_secret(replica->asking, secret);
    if (outcome == LOG_DONE)
        outcome = log_mysql_seal(replica->asking, replica->seal_secret);
    if (outcome != LOG_DONE)
        return replica_refuse(replica, outcome, message);
    bool ok = replica_key_derive("tidings peer 1", secret, peer_key);
    if (ok)
        replica->local->wire_context = wire_context_new(peer_key);
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(peer_key, sizeof peer_key);
    return replica->local->wire_context ? TIDINGS_OK : TIDINGS_NO_MEMORY;
}

enum tidings_err replica_open(struct local *local, const struct tidings_options *options,
                              const char **message)
{
    struct replica *replica = calloc(1, sizeof *replica);
    if (!replica)
        return TIDINGS_NO_MEMORY;
    local->replica = replica;
    replica->local = local;
    replica->pushed_fd = -1;
    replica->decider = (struct kv_decider){replica_decide_begin, replica_decide_end, replica};
    pthread_mutex_init(&replica->mutex, NULL);
    wait_init(&replica->changed);
    wait_init(&replica->append_changed);
    const char *why = NULL;
    if (getrandom(&replica->id, sizeof replica->id, 0) != sizeof replica->id)
        return TIDINGS_IO;
    replica->id = (replica->id >> 1) | 1;
    if (log_mysql_open(options->mysql, options->mysql_password, &replica->asking, &why) ||
        log_mysql_open(options->mysql, options->mysql_password, &replica->appending, &why)) {
        char text[COMPLAINT_BYTES];
        snprintf(text, sizeof text, "mysql: %.200s", why ? why : "out of memory");
        return store_fail(TIDINGS_INVALID, message, text, false);
    }
    enum log_outcome outcome = log_mysql_check(replica->asking, NULL);
    replica->begins = outcome == LOG_EMPTY;
    if (replica->begins)
        return TIDINGS_OK;
    if (outcome != LOG_DONE)
        return replica_refuse(replica, outcome, message);
    enum tidings_err err = replica_secret_read(replica, message);
    return err ? err : replica_join(replica, options, message);
}

bool replica_begins(const struct local *local)
{
    return local->replica->begins;
}

uint64_t replica_fence(struct local *local)
{
    struct replica *replica = local->replica;
    bool holds = atomic_load(&local->role) == TIDINGS_WRITER &&
                 wait_now_ms() < atomic_load(&replica->lease_ms);
    return holds ? atomic_load(&replica->fence) : 0;
}

/* Not the secret itself, which opens connections between servers. */
enum tidings_err replica_secret(struct local *local, uint8_t secret[TIDINGS_SECRET_BYTES])
{
    memcpy(secret, local->replica->seal_secret, TIDINGS_SECRET_BYTES);
    return TIDINGS_OK;
}

/* What the directory seals cursors with; random bytes if it has sealed none. */
static enum tidings_err replica_seal_read(const char *dir, uint8_t seal[TIDINGS_SECRET_BYTES])
{
    char path[PATH_BYTES];
    uint8_t *bytes = NULL;
    size_t n = 0;
    bool found = path_join(path, dir, STORE_SEAL_KEY) &&
                 !file_read(path, TIDINGS_SECRET_BYTES, &bytes, &n) && n == TIDINGS_SECRET_BYTES;
    if (found)
        memcpy(seal, bytes, TIDINGS_SECRET_BYTES);
    if (bytes)
        explicit_bzero(bytes, n);
    free(bytes);
    return found || getrandom(seal, TIDINGS_SECRET_BYTES, 0) == TIDINGS_SECRET_BYTES ? TIDINGS_OK
                                                                                     : TIDINGS_IO;
}

/* The directory has what the servers of the log seal cursors with: these are good, too, when it is a lone server again. */
static enum tidings_err replica_seal_keep(struct replica *replica, const char **message)
{
    const char *dir = replica->local->store->dir;
    uint8_t own[TIDINGS_SECRET_BYTES];
    enum tidings_err err = replica_seal_read(dir, own);
    bool is_new = err || memcmp(own, replica->seal_secret, sizeof own) != 0;
    explicit_bzero(own, sizeof own);
    if (is_new &&
        file_replace(dir, STORE_SEAL_KEY, replica->seal_secret, sizeof replica->seal_secret))
        return store_fail(file_error(), message, "seal.key cannot be written", true);
    return TIDINGS_OK;
}

/* Of servers that are started together on an empty database, one begins the log: the directories of the others have an id of
 * their own by then, and nothing else. */
static enum tidings_err replica_begin_late(struct replica *replica, const char **message)
{
    static const char text[] = "another server began the log before this directory had anything";
    replica_rejoin(replica, REJOIN_OUTDATED, text);
    return store_fail(TIDINGS_STANDBY, message, text, false);
}

/* The directory's own history begins the log, if there is none. */
enum tidings_err replica_begin(struct local *local, const char **message)
{
    struct replica *replica = local->replica;
    struct log_beginning beginning = {.position = kv_applied(local->kv),
                                      .era = atomic_load(&local->era)};
    struct chain chain = kv_chain(local->kv);
    memcpy(beginning.cluster, local->store->id, LOG_CLUSTER_BYTES);
    memcpy(beginning.chain, chain.bytes, LOG_CHAIN_BYTES);
    enum tidings_err err = replica_seal_read(local->store->dir, beginning.seal);
    if (err)
        return err;
    enum log_outcome outcome = log_mysql_begin(replica->asking, &beginning);
    explicit_bzero(beginning.seal, sizeof beginning.seal);
    if (outcome == LOG_FORMER)
        return replica_join_former(replica, message);
    if (outcome == LOG_REFUSED && !beginning.position)
        return replica_begin_late(replica, message);
    if (outcome != LOG_DONE)
        return replica_refuse(replica, outcome, message);
    err = replica_secret_read(replica, message);
    if (!err)
        err = replica_seal_keep(replica, message);
    return err ? err : replica_join_check(replica, message);
}

/* Listens for the other servers. */
static enum tidings_err replica_listen(struct replica *replica,
                                       const struct tidings_options *options, const char **message)
{
    struct local *local = replica->local;
    char host[LOG_HOST_BYTES], listen[PEER_ADDRESS_BYTES];
    enum log_outcome outcome = log_mysql_local_host(replica->asking, host);
    if (outcome != LOG_DONE)
        return replica_refuse(replica, outcome, message);
    if (options->peer_listen)
        snprintf(listen, sizeof listen, "%s", options->peer_listen);
    else
        snprintf(listen, sizeof listen, "%s:0", host);
    enum tidings_err err = peers_start(local, listen, local->wire_context, message);
    if (err)
        return err;
    if (options->peer_address)
        snprintf(replica->address, sizeof replica->address, "%s", options->peer_address);
    else
        peers_address(local, listen, replica->address);
    return TIDINGS_OK;
}

enum tidings_err replica_start(struct local *local, const struct tidings_options *options,
                               const char **message)
{
    struct replica *replica = local->replica;
    struct follower *follower = &local->follower;
    enum tidings_err err = replica_listen(replica, options, message);
    if (err)
        return err;
    atomic_store(&replica->diverged, replica_join_has_diverged(options->dir));
    follower->records = calloc(TAIL_READ_RECORDS, sizeof *follower->records);
    follower->chainer = chainer_new();
    if (!follower->records || !follower->chainer)
        return TIDINGS_NO_MEMORY;
    if (!replica_identity_begin(replica))
        return store_fail(file_error(), message, "the file `replica` cannot be written", true);
    err = replica_image_start(replica, options);
    if (err)
        return err;
    kv_decide_by(local->kv, &replica->decider);
    err = replica_push_start(replica);
    if (!err)
        err = forward_start(local, replica->id);
    if (err)
        return err;
    if (pthread_create(&replica->appender, NULL, replica_appender_main, replica))
        return TIDINGS_NO_MEMORY;
    replica->started = true;
    if (!pthread_create(&replica->follower, NULL, replica_main, replica))
        return TIDINGS_OK;
    return TIDINGS_NO_MEMORY;
}

void replica_stop(struct local *local)
{
    struct replica *replica = local->replica;
    if (!replica || !replica->started)
        return;
    pthread_mutex_lock(&replica->mutex);
    atomic_store(&replica->stopping, true);
    pthread_cond_broadcast(&replica->changed);
    pthread_mutex_unlock(&replica->mutex);
    pthread_join(replica->follower, NULL);
    replica_unsure_expire(replica, INT64_MAX);
    replica_push_stop(replica);
    replica_reads_complete(replica, replica_reads_take(replica, &replica->word_reads), false);
    replica_reads_complete(replica, replica_reads_take(replica, &replica->reads), false);
    replica_image_stop(replica);
    uint64_t fence = atomic_load(&replica->fence);
    replica_step_down(replica);
    pthread_mutex_lock(&replica->mutex);
    replica->append_ends = true;
    pthread_cond_broadcast(&replica->append_changed);
    pthread_mutex_unlock(&replica->mutex);
    pthread_join(replica->appender, NULL);
    log_mysql_set_deadline(replica->asking, LAST_WORDS_MS);
    if (fence)
        log_mysql_give_back(replica->asking, fence);
    log_mysql_forget(replica->asking, replica->id);
    replica->started = false;
}

void replica_release(struct local *local)
{
    struct replica *replica = local->replica;
    if (!replica)
        return;
    if (replica->pushed_fd >= 0)
        close(replica->pushed_fd);
    log_mysql_close(replica->asking);
    log_mysql_close(replica->appending);
    pthread_cond_destroy(&replica->changed);
    pthread_cond_destroy(&replica->append_changed);
    pthread_mutex_destroy(&replica->mutex);
    free(replica);
    local->replica = NULL;
}
