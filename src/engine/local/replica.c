/* SPDX-License-Identifier: MIT */
/*
 * Two threads beside the writer's: one follows the log, keeps the lease, and takes over; the other appends, so that the own log
 * is synced beside MySQL's commit (rule 8). The role changes in the writer's turn alone.
 */
#include "engine/local/replica.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/thread.h"
#include "base/wait.h"
#include "engine/local/local.h"
#include "engine/log/mysql_log.h"

enum {
    POLL_MS = 10,          /* how often a follower asks for records */
    AWAY_MS = 200,         /* and while MySQL is away */
    RENEW_MS = 800,        /* how often the lease is renewed */
    SEEN_MS = 1000,        /* how often the replica says that it is there */
    READ_BYTES = 16 << 20, /* of records in one question */
    LAST_WORDS_MS = 1000,  /* for giving back the lease when it ends */
};

enum append_state { APPEND_NONE, APPEND_WANTED, APPEND_DONE };

struct replica {
    struct local *local;
    uint64_t id;
    char address[PEER_ADDRESS_BYTES];
    struct log_mysql *asking, *appending; /* one thread's each */
    uint8_t seal_secret[TIDINGS_SECRET_BYTES];
    struct kv_decider decider;
    pthread_t follower, appender;
    bool started;

    _Atomic bool stopping;
    _Atomic uint64_t fence;     /* 0: it is not the writer */
    _Atomic int64_t lease_ms;   /* until when it is, by the monotonic clock (rule 6) */
    _Atomic int64_t current_ms; /* when it was last known to have all; 0: never */
    _Atomic bool append_underway;
    _Atomic bool away; /* the last question was not answered: reads do not wait for the next */

    struct {
        uint64_t server; /* of MySQL, that answers, and since when that one */
        int64_t since_ms;
        int64_t until_ms; /* end of the lease, and since when that one */
        int64_t leased_ms;
    } seen; /* the thread that follows */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    enum append_state append_state;
    const struct redo_record *record; /* to be appended, and the chain before it */
    struct chain before;
    enum tidings_err append_result;
    struct tidings_call *reads;      /* that wait for a question, newest first */
    struct tidings_call *late_reads; /* that wait for the append under way (rule 13) */
    bool broken;
    char trouble[COMPLAINT_BYTES];
};

/* ---- What is told ------------------------------------------------------------------------------- */

static void say(struct replica *replica, const char *text, bool for_good)
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

int64_t replica_age(struct local *local)
{
    struct replica *replica = local->replica;
    if (atomic_load(&local->role) == TIDINGS_WRITER &&
        wait_now_ms() < atomic_load(&replica->lease_ms))
        return 0;
    int64_t current_ms = atomic_load(&replica->current_ms);
    int64_t age_ms = wait_now_ms() - current_ms;
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
    int64_t current_ms = atomic_load(&replica->current_ms);
    pthread_mutex_lock(&replica->mutex);
    snprintf(status->trouble, sizeof status->trouble, "%s", replica->trouble);
    status->broken = replica->broken;
    pthread_mutex_unlock(&replica->mutex);
    snprintf(status->following, sizeof status->following, "mysql");
    status->connected = !status->trouble[0];
    status->end = status->position;
    status->age_ms = status->role == TIDINGS_WRITER ? 0
                     : current_ms                   ? wait_now_ms() - current_ms
                                                    : -1;
}

/* ---- Appending, on a thread of its own ----------------------------------------------------------- */

static enum tidings_err append(struct replica *replica, const struct redo_record *record,
                               const struct chain *before)
{
    struct log_end end = {.fence = atomic_load(&replica->fence), .position = record->number - 1};
    struct log_record appended = {
        .position = record->number, .at_ms = record->time_ms, .bytes = record->changes};
    int64_t sent_ms = wait_now_ms();
    memcpy(end.chain, before->bytes, LOG_CHAIN_BYTES);
    memcpy(appended.chain, record->chain.bytes, LOG_CHAIN_BYTES);
    enum log_outcome outcome = log_mysql_append(replica->appending, &end, true, &appended, 1);
    bool late = wait_now_ms() - sent_ms >= LOG_LEASE_MS; /* rule 6 */
    if (outcome == LOG_DONE && !late) {
        atomic_store(&replica->lease_ms, sent_ms + LOG_LEASE_MS);
        return TIDINGS_OK;
    }
    if (outcome == LOG_UNREACHABLE || outcome == LOG_FAILED) {
        say(replica, log_mysql_message(replica->appending), false);
        return TIDINGS_UNREACHABLE;
    }
    atomic_store(&replica->fence,
                 0); /* rule 4: whatever became of it, it is not the writer any more */
    return outcome == LOG_REFUSED ? TIDINGS_UNREACHABLE : TIDINGS_UNCERTAIN;
}

static void *appender_main(void *arg)
{
    struct replica *replica = arg;
    thread_name("appender");
    pthread_mutex_lock(&replica->mutex);
    while (!atomic_load(&replica->stopping) || replica->append_state == APPEND_WANTED) {
        if (replica->append_state != APPEND_WANTED) {
            pthread_cond_wait(&replica->changed, &replica->mutex);
            continue;
        }
        const struct redo_record *record = replica->record;
        struct chain before = replica->before;
        pthread_mutex_unlock(&replica->mutex);
        enum tidings_err err = append(replica, record, &before);
        pthread_mutex_lock(&replica->mutex);
        replica->append_result = err;
        replica->append_state = APPEND_DONE;
        pthread_cond_broadcast(&replica->changed);
    }
    pthread_mutex_unlock(&replica->mutex);
    return NULL;
}

static void decide_begin(void *ctx, const struct redo_record *record, const struct chain *before)
{
    struct replica *replica = ctx;
    atomic_store(&replica->append_underway, true);
    pthread_mutex_lock(&replica->mutex);
    replica->record = record;
    replica->before = *before;
    replica->append_state = APPEND_WANTED;
    pthread_cond_broadcast(&replica->changed);
    pthread_mutex_unlock(&replica->mutex);
}

static enum tidings_err decide_end(void *ctx)
{
    struct replica *replica = ctx;
    pthread_mutex_lock(&replica->mutex);
    while (replica->append_state != APPEND_DONE)
        pthread_cond_wait(&replica->changed, &replica->mutex);
    enum tidings_err err = replica->append_result;
    replica->append_state = APPEND_NONE;
    pthread_mutex_unlock(&replica->mutex);
    if (!atomic_load(&replica->fence)) /* in the writer's turn */
        atomic_store(&replica->local->role, TIDINGS_FOLLOWER);
    return err;
}

/* ---- Reads ----------------------------------------------------------------------------------------- */

static void complete_reads(struct tidings_call *reads)
{
    while (reads) {
        struct tidings_call *call = reads;
        reads = call->next;
        call->done(call);
    }
}

static struct tidings_call *take_reads(struct replica *replica, struct tidings_call **list)
{
    pthread_mutex_lock(&replica->mutex);
    struct tidings_call *reads = *list;
    *list = NULL;
    pthread_mutex_unlock(&replica->mutex);
    return reads;
}

/* Rule 13: the writer knows all that was acknowledged, while its lease holds and no append is under way. */
static bool knows_all(struct local *local, const struct replica *replica)
{
    return atomic_load(&local->role) == TIDINGS_WRITER &&
           wait_now_ms() < atomic_load(&replica->lease_ms) &&
           !atomic_load(&replica->append_underway);
}

void replica_submit_read(struct local *local, struct tidings_call *call)
{
    struct replica *replica = local->replica;
    if (knows_all(local, replica) || atomic_load(&replica->away)) {
        call->done(call);
        return;
    }
    bool writes = atomic_load(&local->role) == TIDINGS_WRITER;
    pthread_mutex_lock(&replica->mutex);
    bool stopping = atomic_load(&replica->stopping);
    bool late = writes && atomic_load(&replica->append_underway);
    struct tidings_call **list = late ? &replica->late_reads : &replica->reads;
    if (!stopping) {
        call->next = *list;
        *list = call;
        if (!late)
            pthread_cond_broadcast(&replica->changed);
    }
    pthread_mutex_unlock(&replica->mutex);
    if (stopping)
        call->done(call);
}

void replica_batch_done(struct local *local)
{
    struct replica *replica = local->replica;
    pthread_mutex_lock(&replica->mutex);
    atomic_store(&replica->append_underway, false);
    struct tidings_call *reads = replica->late_reads;
    replica->late_reads = NULL;
    pthread_mutex_unlock(&replica->mutex);
    complete_reads(reads);
}

/* ---- Following --------------------------------------------------------------------------------------- */

static struct redo_record record_of(const struct log_record *from)
{
    struct redo_record record = {.number = from->position,
                                 .sure = from->position,
                                 .time_ms = from->at_ms,
                                 .is_chained = true,
                                 .changes = from->bytes};
    memcpy(record.chain.bytes, from->chain, CHAIN_BYTES);
    return record;
}

/* One question, and what it brought. False: it cannot go on now. */
static bool follow(struct replica *replica, struct log_writer *writer, bool *at_end)
{
    struct local *local = replica->local;
    struct redo_record *records = local->follower.records;
    struct log_batch batch;
    struct peer_end end = local_end(local);
    int64_t asked_ms = wait_now_ms();
    enum log_outcome outcome =
        log_mysql_read(replica->asking, end.position, TAIL_READ_RECORDS, READ_BYTES, &batch);
    atomic_store(&replica->away, outcome != LOG_DONE);
    if (outcome != LOG_DONE) {
        bool for_good = outcome == LOG_TRIMMED || outcome == LOG_CORRUPT;
        say(replica, log_mysql_message(replica->asking), for_good);
        return false;
    }
    for (size_t i = 0; i < batch.n; i++)
        records[i] = record_of(&batch.records[i]);
    enum tidings_err err = batch.n ? apply_records(local, records, batch.n) : TIDINGS_OK;
    if (err) {
        char text[COMPLAINT_BYTES];
        snprintf(text, sizeof text, "following the log stands still behind batch %" PRIu64 ": %s",
                 end.position, tidings_err_text(err));
        say(replica, text, err == TIDINGS_CORRUPT || err == TIDINGS_UNCERTAIN);
        return false;
    }
    end = local_end(local);
    *writer = batch.writer;
    *at_end = end.position == writer->position;
    bool differs = end.position > writer->position ||
                   (*at_end && memcmp(end.chain.bytes, writer->chain, CHAIN_BYTES) != 0);
    if (differs) {
        say(replica, "this directory has changes that the log in MySQL does not have", true);
        return false;
    }
    bool believed = writer->ready && writer->server == writer->asked; /* rule 12 */
    if (*at_end && believed)
        atomic_store(&replica->current_ms, asked_ms);
    say(replica, "", false);
    return true;
}

/* ---- The lease -------------------------------------------------------------------------------------------- */

static void step_down(struct replica *replica)
{
    struct local *local = replica->local;
    pthread_mutex_lock(&local->writer.turn);
    atomic_store(&replica->fence, 0);
    atomic_store(&local->role, TIDINGS_FOLLOWER);
    pthread_mutex_unlock(&local->writer.turn);
}

static void keep_lease(struct replica *replica)
{
    int64_t sent_ms = wait_now_ms();
    uint64_t fence = atomic_load(&replica->fence);
    enum log_outcome outcome = fence ? log_mysql_renew(replica->asking, fence) : LOG_REFUSED;
    if (outcome == LOG_DONE && atomic_load(&replica->lease_ms) < sent_ms + LOG_LEASE_MS)
        atomic_store(&replica->lease_ms, sent_ms + LOG_LEASE_MS);
    bool over = wait_now_ms() >= atomic_load(&replica->lease_ms);
    if (outcome == LOG_REFUSED || over) {
        say(replica, "another server makes changes now, or the lease is over", false);
        step_down(replica);
    } else if (outcome != LOG_DONE) {
        say(replica, log_mysql_message(replica->asking), false);
    } else {
        say(replica, "", false);
    }
}

/* Rule 5: to the end, under the new fence, before anything is executed. */
static bool read_to_end(struct replica *replica, struct log_writer *writer)
{
    bool at_end = false;
    while (!at_end && !atomic_load(&replica->stopping))
        if (!follow(replica, writer, &at_end))
            return false;
    return at_end;
}

/*
 * Whether the lease is over: by MySQL's clock. If that was set back, it never is: then when the row has not moved for so long.
 * Rule 7: on another server of MySQL than the fence was taken on, a whole lease later than that one was first seen.
 */
static bool may_take_over(struct replica *replica, const struct log_writer *writer)
{
    int64_t now_ms = wait_now_ms();
    if (replica->seen.server != writer->asked) {
        replica->seen.server = writer->asked;
        replica->seen.since_ms = now_ms;
    }
    if (replica->seen.until_ms != writer->until_ms) {
        replica->seen.until_ms = writer->until_ms;
        replica->seen.leased_ms = now_ms;
    }
    bool stuck =
        writer->lease_left_ms > LOG_LEASE_MS && now_ms - replica->seen.leased_ms > LOG_LEASE_MS;
    bool moved = writer->holder && writer->server != writer->asked;
    return (writer->lease_left_ms <= 0 || stuck) &&
           (!moved || now_ms - replica->seen.since_ms > LOG_LEASE_MS);
}

static void take_over(struct replica *replica, const struct log_writer *seen)
{
    struct local *local = replica->local;
    struct log_holder holder = {.id = replica->id, .address = replica->address};
    struct log_writer writer;
    struct log_end end = {0};
    int64_t sent_ms = wait_now_ms();
    if (log_mysql_take(replica->asking, seen, &holder, &end.fence) != LOG_DONE ||
        !read_to_end(replica, &writer) || writer.fence != end.fence)
        return;
    struct peer_end own = local_end(local);
    end.position = own.position;
    memcpy(end.chain, own.chain.bytes, CHAIN_BYTES);
    if (log_mysql_confirm(replica->asking, &end, own.era) != LOG_DONE)
        return;
    pthread_mutex_lock(&local->writer.turn);
    atomic_store(&replica->lease_ms, sent_ms + LOG_LEASE_MS);
    atomic_store(&replica->fence, end.fence);
    enum tidings_err err = promote_in_turn(local, false);
    pthread_mutex_unlock(&local->writer.turn);
    replica_batch_done(local);
    if (err) {
        say(replica, tidings_err_text(err), false);
        step_down(replica);
        return;
    }
    writer_wake(local);
}

/* ---- The thread --------------------------------------------------------------------------------------------- */

static void be_there(struct replica *replica, int64_t *told_ms)
{
    struct peer_end end = local_end(replica->local);
    struct log_replica row = {.id = replica->id, .position = end.position, .era = end.era};
    if (wait_now_ms() - *told_ms < SEEN_MS)
        return;
    snprintf(row.address, sizeof row.address, "%.250s", replica->address);
    log_mysql_register(replica->asking, &row);
    *told_ms = wait_now_ms();
}

static void wait_a_moment(struct replica *replica, unsigned ms)
{
    struct timespec until = wait_until_ms(ms);
    int rc = 0;
    pthread_mutex_lock(&replica->mutex);
    while (!replica->reads && !atomic_load(&replica->stopping) && !rc)
        rc = pthread_cond_timedwait(&replica->changed, &replica->mutex, &until);
    pthread_mutex_unlock(&replica->mutex);
}

static bool is_broken(struct replica *replica)
{
    pthread_mutex_lock(&replica->mutex);
    bool broken = replica->broken;
    pthread_mutex_unlock(&replica->mutex);
    return broken;
}

static void *follower_main(void *arg)
{
    struct replica *replica = arg;
    struct local *local = replica->local;
    struct log_writer writer;
    int64_t told_ms = 0, renewed_ms = 0;
    thread_name("replica");
    while (!atomic_load(&replica->stopping)) {
        bool at_end = true, ok = true;
        struct tidings_call *reads = take_reads(replica, &replica->reads);
        if (atomic_load(&local->role) == TIDINGS_WRITER) {
            if (wait_now_ms() - renewed_ms >= RENEW_MS || reads) {
                keep_lease(replica);
                renewed_ms = wait_now_ms();
            }
        }
        if (atomic_load(&local->role) != TIDINGS_WRITER && !is_broken(replica)) {
            ok = follow(replica, &writer, &at_end);
            if (ok && may_take_over(replica, &writer) && at_end)
                take_over(replica, &writer);
        }
        complete_reads(reads); /* with their age, if it could not be asked */
        be_there(replica, &told_ms);
        if (ok && at_end)
            wait_a_moment(replica, POLL_MS);
        else if (!ok)
            wait_a_moment(replica, AWAY_MS);
    }
    complete_reads(take_reads(replica, &replica->reads));
    return NULL;
}

/* ---- Life ----------------------------------------------------------------------------------------------------- */

static enum tidings_err refuse(struct replica *replica, enum log_outcome outcome,
                               const char **message)
{
    return store_fail(outcome == LOG_REFUSED ? TIDINGS_INVALID : TIDINGS_UNREACHABLE, message,
                      log_mysql_message(replica->asking), false);
}

/* An empty directory becomes one of the community whose log there is. */
static enum tidings_err adopt_community(struct replica *replica, const char *dir,
                                        const char **message)
{
    struct state state;
    bool found;
    if (state_read(dir, &state, &found) || found)
        return TIDINGS_OK; /* opening it says what is wrong with it */
    state = (struct state){.boot = NO_BOOT};
    enum log_outcome outcome = log_mysql_cluster(replica->asking, state.id);
    if (outcome != LOG_DONE)
        return refuse(replica, outcome, message);
    if (dir_make(dir) || state_write(dir, &state))
        return store_fail(file_error(), message, "the data directory cannot be made", true);
    return TIDINGS_OK;
}

enum tidings_err replica_open(struct local *local, const struct tidings_options *options,
                              const char **message)
{
    struct replica *replica = calloc(1, sizeof *replica);
    if (!replica)
        return TIDINGS_NO_MEMORY;
    local->replica = replica;
    replica->local = local;
    replica->decider = (struct kv_decider){decide_begin, decide_end, replica};
    pthread_mutex_init(&replica->mutex, NULL);
    wait_init(&replica->changed);
    const char *why = NULL;
    if (getrandom(&replica->id, sizeof replica->id, 0) != sizeof replica->id)
        return TIDINGS_IO;
    replica->id = (replica->id >> 1) | 1;
    if (log_mysql_open(options->mysql, options->mysql_password, &replica->asking, &why) ||
        log_mysql_open(options->mysql, options->mysql_password, &replica->appending, &why))
        return store_fail(TIDINGS_INVALID, message, why ? why : "out of memory", false);
    enum log_outcome outcome = log_mysql_check(replica->asking, NULL);
    if (outcome == LOG_EMPTY)
        return TIDINGS_OK;
    return outcome == LOG_DONE ? adopt_community(replica, options->dir, message)
                               : refuse(replica, outcome, message);
}

/* Not the secret itself, which opens connections between servers. */
enum tidings_err replica_secret(struct local *local, uint8_t secret[TIDINGS_SECRET_BYTES])
{
    memcpy(secret, local->replica->seal_secret, TIDINGS_SECRET_BYTES);
    return TIDINGS_OK;
}

static enum tidings_err read_secret(struct replica *replica, const char **message)
{
    static const char purpose[] = "tidings seal 1";
    uint8_t bytes[sizeof purpose + LOG_SECRET_BYTES];
    memcpy(bytes, purpose, sizeof purpose);
    enum log_outcome outcome = log_mysql_secret(replica->asking, bytes + sizeof purpose);
    if (outcome != LOG_DONE)
        return refuse(replica, outcome, message);
    bool ok = digest_sha256((struct bytes){bytes, sizeof bytes}, replica->seal_secret);
    explicit_bzero(bytes, sizeof bytes);
    return ok ? TIDINGS_OK : TIDINGS_NO_MEMORY;
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
    enum log_outcome outcome = log_mysql_begin(replica->asking, &beginning);
    return outcome == LOG_DONE ? read_secret(replica, message) : refuse(replica, outcome, message);
}

enum tidings_err replica_start(struct local *local)
{
    struct replica *replica = local->replica;
    struct follower *follower = &local->follower;
    follower->records = calloc(TAIL_READ_RECORDS, sizeof *follower->records);
    follower->chainer = chainer_new();
    if (!follower->records || !follower->chainer)
        return TIDINGS_NO_MEMORY;
    kv_decide_by(local->kv, &replica->decider);
    if (pthread_create(&replica->appender, NULL, appender_main, replica))
        return TIDINGS_NO_MEMORY;
    replica->started = true;
    if (!pthread_create(&replica->follower, NULL, follower_main, replica))
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
    uint64_t fence = atomic_load(&replica->fence);
    step_down(replica);
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
    log_mysql_close(replica->asking);
    log_mysql_close(replica->appending);
    pthread_cond_destroy(&replica->changed);
    pthread_mutex_destroy(&replica->mutex);
    free(replica);
    local->replica = NULL;
}
