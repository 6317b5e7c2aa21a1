/* SPDX-License-Identifier: MIT */
/*
 * A lane: a thread that changes things. It takes all calls that wait, locks their users, runs the changes in memory, loads what
 * they lack, runs those again, writes what has changed, and commits once. Calls of one user are always on the same lane of a
 * server. What a call answers with is a reader's business.
 */
#include <stdlib.h>
#include <time.h>

#include "base/thread.h"
#include "base/wait.h"
#include "domain/ids.h"
#include "engine/cluster/cluster.h"
#include "engine/ops/ops.h"

enum { ROUNDS_MAX = 4096, TRIES_MAX = 16 };

/* A batch waits for a lock for a part of the time that is left to it, and a call by itself for a second, so that somebody who
 * holds one for long does not hold up everybody else's calls behind it. */
enum { LOCK_PART = 4 };

/* ---- What operations need ------------------------------------------------------------------- */

struct plan {
    enum hold hold;
    enum need need;
    bool
        alone; /* in a batch of its own: it reads lists, which others of the batch might be about to change */
};

/* What is not here locks nothing but its user, and needs to know which posts are deleted. */
static const struct plan plans[TIDINGS_OP_COUNT] = {
#define SHARED                             \
    {                                      \
        HOLD_SHARED, NEED_DELETIONS, false \
    }
#define ALONE                          \
    {                                  \
        HOLD_ALONE, NEED_COUNTS, false \
    }
    [TIDINGS_OP_FOLLOW] = SHARED,
    [TIDINGS_OP_UNFOLLOW] = SHARED,
    [TIDINGS_OP_REACT] = SHARED,
    [TIDINGS_OP_UNREACT] = SHARED,
    [TIDINGS_OP_COMMENT] = SHARED,
    [TIDINGS_OP_COMMENT_DELETE] = SHARED,
    [TIDINGS_OP_COMMENT_HIDE] = SHARED,
    [TIDINGS_OP_COMMENT_RESTORE] = SHARED,
    [TIDINGS_OP_SUBSCRIBE] = SHARED,
    [TIDINGS_OP_UNSUBSCRIBE] = SHARED,
    [TIDINGS_OP_PREFERENCES_SET] = SHARED,
    [TIDINGS_OP_PUBLISH] = ALONE,
    [TIDINGS_OP_EDIT] = ALONE,
    [TIDINGS_OP_DELETE] = ALONE,
    [TIDINGS_OP_SCENE_PUBLISH] = ALONE,
    [TIDINGS_OP_SCENE_EDIT] = ALONE,
    [TIDINGS_OP_SCENE_DELETE] = ALONE,
    [TIDINGS_OP_READING_CLEAR] = {HOLD_NOTHING, NEED_DELETIONS, true},
    [TIDINGS_OP_WEBHOOK_SET] = {HOLD_NOTHING, NEED_DELETIONS, true},
    [TIDINGS_OP_WEBHOOK_DELETE] = {HOLD_NOTHING, NEED_DELETIONS, true},
    [TIDINGS_OP_WEBHOOK_RETRY] = {HOLD_NOTHING, NEED_DELETIONS, true},
    [TIDINGS_OP_WEBHOOK_REPORT] = {HOLD_NOTHING, NEED_DELETIONS, true},
    [TIDINGS_OP_CONSUMER_SET] = {HOLD_NOTHING, NEED_DELETIONS, true},
#undef SHARED
#undef ALONE
};

static struct plan plan_of(const struct tidings_op *op)
{
    struct plan plan = plans[op->kind];
    bool marks = op->kind == TIDINGS_OP_MARK_READ || op->kind == TIDINGS_OP_NOTIFICATIONS_MARK;
    if (!plan.hold)
        plan.need = marks && !op->u.mark.n_post_ids ? NEED_IDS : NEED_DELETIONS;
    return plan;
}

/*
 * A list of posts to be marked is refused at the first one that is not there, which all of them seem to be before they are
 * loaded: so what such a call will ask for is wanted beforehand.
 */
static void want_marked(struct desk *desk, const struct tidings_op *op)
{
    bool scenes = op->kind == TIDINGS_OP_NOTIFICATIONS_MARK;
    struct sheet *sheet = &desk->sheet;
    for (size_t i = 0; i < op->u.mark.n_post_ids; i++) {
        const uint64_t post_key[ROW_KEYS] = {op->u.mark.post_ids[i]};
        const struct value *post = sheet_get(sheet, scenes ? KIND_SCENE : KIND_POST, post_key);
        if (!post || !post->exists)
            continue;
        uint64_t author = post->numbers[scenes ? SCENE_STORY : POST_AUTHOR];
        uint64_t number = post->numbers[scenes ? SCENE_NUMBER : POST_NUMBER];
        const uint64_t author_key[ROW_KEYS] = {author}, pair_key[ROW_KEYS] = {op->user_id, author};
        const uint64_t map_key[ROW_KEYS] = {op->user_id, author, number / READMAP_POSTS};
        sheet_get(sheet, scenes ? KIND_STORY : KIND_AUTHOR, author_key);
        sheet_get(sheet, scenes ? KIND_SUBSCRIPTION : KIND_FOLLOWING, pair_key);
        sheet_get(sheet, scenes ? KIND_SCENE_READ_MAP : KIND_READ_MAP, map_key);
    }
}

static bool marks(const struct tidings_op *op)
{
    return op->kind == TIDINGS_OP_MARK_READ || op->kind == TIDINGS_OP_MARK_UNREAD ||
           op->kind == TIDINGS_OP_NOTIFICATIONS_MARK;
}

/* ---- One call ------------------------------------------------------------------------------- */

/* An operation's id, and where the server's ids stood before it. */
struct stamp {
    uint64_t id;
    struct ids_mark before;
    uint64_t moves; /* that its tries have made of them */
};

/* What a try has left behind goes. */
static void undo(struct desk *desk, const struct desk_view *view, size_t news)
{
    sheet_undo(&desk->sheet);
    desk->n_events = view->n_events;
    desk->n_positions = view->n_positions;
    desk->news.n = news;
}

/* The user's row says when the user last changed anything. */
static void put_version(struct desk *desk, uint64_t user, uint64_t stamp)
{
    const uint64_t key[ROW_KEYS] = {user};
    const struct value *row = sheet_peek(&desk->sheet, KIND_USER, key);
    struct value value = row ? *row : (struct value){0};
    value.exists = true;
    value.numbers[USER_VERSION] = stamp;
    sheet_put(&desk->sheet, KIND_USER, key, &value);
}

static void tell_fault(struct cluster *cluster)
{
    pthread_mutex_lock(&cluster->stats_mutex);
    cluster->stats.faults++;
    pthread_mutex_unlock(&cluster->stats_mutex);
    if (cluster->fault)
        cluster->fault(cluster->fault_ctx, "a stored count would have gone below zero; run verify");
}

/* The user's last change may be of a server whose ids were further ahead than this one's lease goes. */
static void take_stamp(struct lane *lane, struct stamp *stamp, int64_t now_ms, uint64_t version)
{
    struct ids *ids = lane->desk.ids;
    stamp->before = ids_mark(ids);
    stamp->moves = 1;
    stamp->id = ids_next(ids, now_ms, version);
    struct moment at = {.wall_ms = id_time_ms(version) + 1};
    struct standing standing; /* if it is another one the batch will be fenced */
    if (!stamp->id && !server_extend(lane->cluster, &at, &standing) && !standing.off)
        stamp->id = ids_next(ids, now_ms, version);
}

/* Runs it on what is at hand; false if that is not enough. The stamp is kept for the next try. */
static bool try_call(struct lane *lane, struct tidings_call *call, size_t index,
                     struct stamp *stamp)
{
    struct desk *desk = &lane->desk;
    struct desk_view own = desk_view_of(lane->cluster, desk, call->op, index);
    struct reply reply = {call->op, call->answer, answer_clear(call->answer)};
    const struct value *user = desk_get(&own.view, KIND_USER, call->op->user_id, 0, 0);
    size_t news = desk->news.n;
    own.view.err = &own.err;
    own.need = plan_of(call->op).need;
    if (!user)
        return false;
    if (marks(call->op))
        want_marked(desk, call->op);
    if (stamp->id <= user->numbers[USER_VERSION])
        take_stamp(lane, stamp, own.view.now_ms, user->numbers[USER_VERSION]);
    struct ids_mark begun = ids_mark(desk->ids);
    own.last_id = own.view.stamp = stamp->id;
    own.view.now_ms = id_time_ms(own.last_id);
    own.view.news = engine_is_watched(&lane->cluster->engine) || atomic_load(&lane->cluster->others)
                        ? &desk->news
                        : NULL;
    if (!own.last_id) {
        call->err = TIDINGS_CLOCK;
        return true;
    }
    enum tidings_err err = op_change(&own.view, &reply);
    arena_clear(&desk->scratch);
    if (own.incomplete) {
        undo(desk, &own, news);
        ids_rewind(desk->ids, begun, own.n_ids);
        stamp->moves += own.n_ids ? own.n_ids + 1 : 0;
        return false;
    }
    call->err = err ? err : own.err;
    if (own.view.fault)
        tell_fault(lane->cluster);
    if (call->err) {
        undo(desk, &own, news);
        ids_rewind(desk->ids, stamp->before, stamp->moves + own.n_ids);
        return true;
    }
    /* Opening what is read already is but a look. */
    if (call->op->kind == TIDINGS_OP_OPEN && !call->op->once && !desk->sheet.n_undo) {
        ids_rewind(desk->ids, stamp->before, stamp->moves + own.n_ids);
        return true;
    }
    if (desk->sheet.n_undo)
        put_version(desk, call->op->user_id, own.last_id);
    sheet_keep(&desk->sheet);
    atomic_store(&lane->cluster->elapsed_ms, own.view.elapsed_ms);
    return true;
}

/* ---- A batch -------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* How long the connection waits for locks, if that is to change; how many statements it takes. */
static unsigned put_lock_wait(struct lane *lane)
{
    if (lane->session_lock_s == lane->lock_s)
        return 0;
    buf_printf(&lane->desk.text, "SET innodb_lock_wait_timeout=%u;", lane->lock_s);
    lane->session_lock_s = lane->lock_s;
    return 1;
}

/* All users, in the order of their ids, whether they have a row already or not. */
static void put_locks(struct desk *desk, struct tidings_call **calls, size_t n)
{
    uint64_t users[BATCH_MAX];
    for (size_t i = 0; i < n; i++)
        users[i] = calls[i]->op->user_id;
    qsort(users, n, sizeof *users, by_number);
    buf_literal(&desk->text, "BEGIN;INSERT INTO user (");
    kind_put_columns(&desk->text, KIND_USER);
    buf_literal(&desk->text, ") VALUES ");
    for (size_t i = 0; i < n; i++) {
        if (i && users[i] == users[i - 1])
            continue;
        buf_printf(&desk->text, "%s(%llu", i ? "," : "", (unsigned long long)users[i]);
        for (unsigned k = 0; k < kind_numbers(KIND_USER); k++)
            buf_literal(&desk->text, ",0");
        buf_char(&desk->text, ')');
        sheet_get(&desk->sheet, KIND_USER, (const uint64_t[ROW_KEYS]){users[i]});
    }
    sheet_get(&desk->sheet, KIND_EPOCH, (const uint64_t[ROW_KEYS]){1});
    buf_literal(&desk->text, " ON DUPLICATE KEY UPDATE version=version");
}

/* Nothing of the batch has happened. If it is begun again, and refused then, time must not have gone on. */
static void give_back(struct desk *desk, const struct stamp *stamps, size_t n)
{
    while (n--)
        if (stamps[n].id)
            ids_rewind(desk->ids, stamps[n].before, stamps[n].moves);
}

/* Rounds of loading and running, until every call has its outcome. */
static enum sql_outcome run_all(struct lane *lane, struct tidings_call **calls, size_t n)
{
    bool ready[BATCH_MAX] = {false};
    struct stamp stamps[BATCH_MAX] = {{.id = 0}};
    size_t left = n;
    unsigned statements = 2 + put_lock_wait(lane) + memory_put_begin(lane);
    put_locks(&lane->desk, calls, n);
    for (int round = 0; left; round++, statements = 0) {
        enum sql_outcome outcome =
            round < ROUNDS_MAX ? desk_load(&lane->desk, statements) : SQL_TIMEOUT;
        if (outcome) {
            give_back(&lane->desk, stamps, n);
            return outcome;
        }
        for (size_t i = 0; i < n; i++) {
            if (ready[i])
                continue;
            ready[i] = try_call(lane, calls[i], i, &stamps[i]);
            left -= ready[i];
        }
        if (lane->desk.sheet.failed)
            return SQL_FULL;
    }
    return SQL_DONE;
}

/*
 * Every batch that changes anything says so in its lane's row, so that it can be found out whether it was committed. The row
 * also keeps out what must not happen any more: batches of a server that slept while another took its slot, one that was
 * looked for and not found, but is still on its way, and one whose marks in Redis may be gone. No batch but NULL is possible then, which is refused, and the statements
 * behind are not executed.
 */
static void put_batch(struct lane *lane)
{
    lane->batch++;
    news_put_passing(lane);
    if (memory_is_marked(lane) && !lane->desk.n_positions)
        buf_literal(&lane->desk.text, "SELECT position FROM news_position WHERE id=1;");
    buf_printf(&lane->desk.text, "UPDATE lane SET batch=IF(fence=%llu AND batch<%llu",
               (unsigned long long)lane->standing.fence, (unsigned long long)lane->batch);
    memory_put_limit(lane);
    buf_printf(&lane->desk.text, ",%llu,NULL) WHERE slot=%u AND lane=%u;COMMIT",
               (unsigned long long)lane->batch, lane->standing.slot, lane->number);
}

/* Writes and commits; the position that the batch's are counted from. */
static enum sql_outcome commit(struct lane *lane, uint64_t *position, bool *sent)
{
    struct desk *desk = &lane->desk;
    bool more = true;
    if (!desk_write(desk))
        return desk->sheet.failed ? SQL_FULL : sql_run_text(desk->sql, "ROLLBACK");
    put_batch(lane);
    *sent = true;
    turn_begin(lane);
    sql_until(desk->sql, late_enough(lane->until_ms));
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    while (!outcome && more) {
        if (sql_row(desk->sql))
            *position = sql_u64(desk->sql, 0);
        outcome = sql_next(desk->sql, &more);
    }
    buf_clear(&desk->text);
    return outcome;
}

/* ---- One try -------------------------------------------------------------------------------- */

/* Those who watch hear of it before those who asked for it. */
static void tell(struct lane *lane, uint64_t position)
{
    struct news *news = &lane->desk.news;
    for (size_t i = 0; i < news->n; i++)
        if (news->events[i].event_id & POSITION_LATER)
            news->events[i].event_id = news->events[i].event_id - POSITION_LATER + position;
    turn_take(lane, lane->desk.n_positions ? position : 0);
    if (news->lost)
        engine_tell(&lane->cluster->engine, NULL, 0);
    else if (news->n)
        engine_tell(&lane->cluster->engine, news->events, news->n);
    turn_end(lane);
}

static struct moment latest(struct lane *lane, struct tidings_call **calls, size_t n)
{
    struct moment last = {0};
    for (size_t i = 0; i < n; i++) {
        struct moment now = cluster_now(lane->cluster, calls[i]->op);
        last = now.wall_ms > last.wall_ms ? now : last;
    }
    return last;
}

/* Nothing is written with a clock that is not believed. */
static enum sql_outcome refuse_all(struct tidings_call **calls, size_t n)
{
    for (size_t i = 0; i < n; i++)
        calls[i]->err = TIDINGS_CLOCK;
    return SQL_DONE;
}

/* How far it got: without a connection nothing was tried, and what was sent may have happened although it was LOST. */
struct attempt {
    bool begun, sent;
};

static enum sql_outcome try_batch(struct lane *lane, struct tidings_call **calls, size_t n,
                                  struct attempt *attempt)
{
    struct desk *desk = &lane->desk;
    uint64_t position = 0;
    *attempt = (struct attempt){false, false};
    lane->until_ms = calls_until(calls, n);
    if (!desk->sql)
        lane->session_lock_s = 0;
    if (!desk_connect(lane->cluster, desk, lane->until_ms))
        return SQL_LOST;
    struct moment at = latest(lane, calls, n);
    enum sql_outcome outcome = server_extend(lane->cluster, &at, &lane->standing);
    if (outcome)
        return outcome;
    if (lane->standing.off)
        return refuse_all(calls, n);
    attempt->begun = true;
    desk->slot = lane->standing.slot;
    desk->hold = plan_of(calls[0]->op).hold;
    desk->news.lost = false;
    outcome = run_all(lane, calls, n);
    if (!outcome)
        outcome = memory_mark(lane);
    uint64_t began_us = wait_now_us();
    if (!outcome)
        outcome = commit(lane, &position, &attempt->sent);
    lane->commit_us = wait_now_us() - began_us;
    if (outcome)
        turn_drop(lane);
    if (outcome == SQL_LOST && attempt->sent) {
        outcome = lane_look_back(lane);
        desk->news.lost |= !outcome; /* at which position is not known */
    }
    if (!outcome) {
        desk_put_copies(desk);
        tell(lane, position);
        outcome = memory_tell(lane, position ? position + desk->n_positions : 0);
    } else if (outcome != SQL_LOST) {
        memory_unmark(lane);
    }
    desk_tell_refusal(lane->cluster, desk, outcome);
    if (outcome == SQL_FENCED)
        server_is_fenced(lane->cluster, &lane->standing);
    /* One that takes no changes may not be the one any more that does. */
    if (outcome == SQL_LOST || outcome == SQL_READ_ONLY)
        desk_disconnect(desk);
    else if (outcome)
        sql_run_text(desk->sql, "ROLLBACK");
    desk_clear(desk);
    return outcome;
}

/* ---- As many as it takes -------------------------------------------------------------------- */

static void complete(struct tidings_call **calls, size_t n, enum tidings_err err)
{
    for (size_t i = 0; i < n; i++) {
        calls[i]->err = err;
        calls[i]->done(calls[i]);
    }
}

/* Those whose time is over are; how many are left. */
static size_t drop_late(struct tidings_call **calls, size_t n)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        if (call_is_late(calls[i]))
            complete(&calls[i], 1, TIDINGS_TIMEOUT);
        else
            calls[left++] = calls[i];
    return left;
}

/* Refused calls are done; the others go on to be answered. */
static void hand_over(struct lane *lane, struct tidings_call **calls, size_t n)
{
    bool closed;
    copier_note(lane->cluster, calls, n);
    for (size_t i = 0; i < n; i++)
        if (calls[i]->err) {
            calls[i]->done(calls[i]);
        } else {
            calls[i]->until_ms = late_enough(calls[i]->until_ms);
            queue_push(&lane->cluster->reads, calls[i], 0, &closed);
        }
}

static void count(struct lane *lane, size_t n, enum sql_outcome outcome)
{
    struct tidings_stats *stats = &lane->cluster->stats;
    pthread_mutex_lock(&lane->cluster->stats_mutex);
    stats->changes += n;
    stats->batches += !outcome;
    stats->failures += outcome != SQL_DONE;
    if (!outcome) {
        stats->commit_us += lane->commit_us;
        stats->batch_size[stats_bucket(n)]++;
        stats->commit_time_us[stats_bucket(lane->commit_us)]++;
    }
    pthread_mutex_unlock(&lane->cluster->stats_mutex);
}

static bool may_be_tried_again(enum sql_outcome outcome, struct attempt attempt)
{
    return outcome == SQL_AGAIN || outcome == SQL_FENCED ||
           (outcome == SQL_LOST && attempt.begun && !attempt.sent);
}

/* Another call's row, or what it writes, may be at fault. */
static bool may_be_one_of_them(enum sql_outcome outcome)
{
    return outcome == SQL_AGAIN || outcome == SQL_LOCKED || outcome == SQL_REFUSED ||
           outcome == SQL_FULL;
}

static unsigned lock_wait_s(struct tidings_call **calls, size_t n)
{
    int64_t part_s = (calls_until(calls, n) - wait_now_ms()) / 1000 / LOCK_PART;
    return part_s > LOCK_LEAST_S ? (unsigned)part_s : LOCK_LEAST_S;
}

/* Again after a deadlock, with another connection or in another slot; those whose time is over meanwhile are dropped from *n. */
static enum sql_outcome try_often(struct lane *lane, struct tidings_call **calls, size_t *n,
                                  bool by_itself, struct attempt *attempt)
{
    enum sql_outcome outcome = SQL_AGAIN;
    *attempt = (struct attempt){false, false};
    for (int i = 0; i < TRIES_MAX && may_be_tried_again(outcome, *attempt); i++) {
        *n = drop_late(calls, *n);
        if (!*n)
            break;
        lane->lock_s = by_itself ? LOCK_LEAST_S : lock_wait_s(calls, *n);
        outcome = try_batch(lane, calls, *n, attempt);
        cluster_note_change(lane->cluster, outcome);
    }
    return outcome;
}

static void end_batch(struct lane *lane, struct tidings_call **calls, size_t n,
                      enum sql_outcome outcome, struct attempt attempt)
{
    count(lane, n, outcome);
    if (!outcome)
        hand_over(lane, calls, n);
    else if (outcome == SQL_LOST && attempt.sent)
        complete(calls, n, TIDINGS_UNCERTAIN);
    else
        complete(calls, drop_late(calls, n), sql_err(outcome));
}

static void run_by_itself(struct lane *lane, struct tidings_call *call)
{
    struct attempt attempt;
    size_t n = 1;
    enum sql_outcome outcome = try_often(lane, &call, &n, true, &attempt);
    if (n)
        end_batch(lane, &call, n, outcome, attempt);
}

/* All together; then each by itself, so that one does not spoil it for all. */
static void run_batch(struct lane *lane, struct tidings_call **calls, size_t n)
{
    struct attempt attempt;
    enum sql_outcome outcome = try_often(lane, calls, &n, false, &attempt);
    if (n > 1 && may_be_one_of_them(outcome))
        for (size_t i = 0; i < n; i++)
            run_by_itself(lane, calls[i]);
    else if (n)
        end_batch(lane, calls, n, outcome, attempt);
}

static bool go_together(const struct tidings_op *a, const struct tidings_op *b)
{
    struct plan x = plan_of(a), y = plan_of(b);
    return x.hold == y.hold && !x.alone && !y.alone;
}

/* Those that lock alike go together. */
static void run_all_batches(struct lane *lane, struct tidings_call **calls, size_t n)
{
    struct tidings_call *batch[BATCH_MAX];
    while (n) {
        size_t taken = 0, kept = 0;
        for (size_t i = 0; i < n; i++) {
            if (!taken || go_together(batch[0]->op, calls[i]->op))
                batch[taken++] = calls[i];
            else
                calls[kept++] = calls[i];
        }
        run_batch(lane, batch, taken);
        n = kept;
    }
}

void *lane_main(void *arg)
{
    struct lane *lane = arg;
    struct tidings_call *calls[BATCH_MAX];
    size_t n;
    thread_name("lane");
    while ((n = queue_take(&lane->queue, calls, BATCH_MAX)))
        run_all_batches(lane, calls, n);
    return NULL;
}
