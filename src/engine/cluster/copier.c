/* SPDX-License-Identifier: MIT */
#include "engine/cluster/copier.h"

#include <stdlib.h>

#include "base/thread.h"
#include "base/wait.h"
#include "domain/events.h"
#include "engine/cluster/cluster.h"

enum { EVERY_MS = 50, STANDBY_MS = 1000, AWAY_MS = 250 };

/* What was written in a Redis that another has taken the place of may be lost. It was written so long ago at most; and it is gone through
 * once in so long at most, since a slot that moves looks the same. */
enum { LOOK_BACK_S = 120, LOOK_BACK_EVERY_MS = 60000 };

/* ---- What is wanted ---------------------------------------------------------------------------- */

static bool is_same(const struct copier_want *a, const struct copier_want *b)
{
    return a->user == b->user && a->refused == b->refused && a->kind == b->kind;
}

/* Each has one place: no queue to be searched, and nothing is there twice. */
static void want(struct copier *copier, struct copier_want wanted)
{
    uint64_t hash = (wanted.user * 4 + wanted.kind + 3 * (uint64_t)wanted.refused);
    struct copier_want *place =
        &copier->wants[(hash * UINT64_C(0x9E3779B97F4A7C15) >> 32) % COPIER_WANTS];
    if (place->is_there && !is_same(place, &wanted)) {
        atomic_fetch_add(&copier->dropped, 1);
        return;
    }
    *place = wanted;
    place->is_there = true;
}

static void want_copy(struct copier *copier, enum mirror_kind kind, uint64_t user)
{
    want(copier, (struct copier_want){.kind = kind, .user = user});
}

static void note(struct copier *copier, const struct tidings_call *call)
{
    const struct tidings_op *op = call->op;
    switch (op->kind) {
    case TIDINGS_OP_COUNTERS:
        want_copy(copier, MIRROR_COUNTS, op->u.user.user_id);
        break;
    case TIDINGS_OP_COUNTERS_MANY:
        for (size_t i = 0; i < op->u.many.n_user_ids; i++)
            want_copy(copier, MIRROR_COUNTS, op->u.many.user_ids[i]);
        break;
    case TIDINGS_OP_FOLLOWING:
    case TIDINGS_OP_FOLLOWERS:
        if (!op->u.users.page.after.a)
            want_copy(copier,
                      op->kind == TIDINGS_OP_FOLLOWING ? MIRROR_FOLLOWING : MIRROR_FOLLOWERS,
                      op->u.users.user_id);
        break;
    case TIDINGS_OP_FOLLOW:
    case TIDINGS_OP_UNFOLLOW:
        if (call->err == TIDINGS_RATE_LIMITED)
            want(copier,
                 (struct copier_want){.refused = true,
                                      .until_ms = wait_now_ms() + call->answer->retry_after_ms,
                                      .user = op->user_id});
        break;
    default:
        break;
    }
}

void copier_note(struct cluster *cluster, struct tidings_call *const *calls, size_t n)
{
    struct copier *copier = &cluster->copier;
    if (!copier->mirror)
        return;
    pthread_mutex_lock(&copier->mutex);
    for (size_t i = 0; i < n; i++)
        note(copier, calls[i]);
    pthread_mutex_unlock(&copier->mutex);
}

/* ---- Filling ----------------------------------------------------------------------------------- */

/* Those that are wanted. Nobody else is held up if it does not work: they stay missing. */
static void fill(struct copier *copier, struct mirror_copy *all, size_t n)
{
    struct consumer *consumer = &copier->consumer;
    mirror_claim(copier->mirror, all, n);
    if (!consumer_connect(consumer) || mirror_read(&consumer->desk, all, n))
        consumer_fail(consumer);
    else
        atomic_fetch_add(&copier->filled, mirror_store(copier->mirror, all, n));
    desk_clear(&consumer->desk);
}

/* Lists are long: few at a time. */
static void fill_wanted(struct copier *copier, struct mirror_copy *all, size_t n)
{
    size_t begun = 0, lists = 0;
    for (size_t i = 0; i < n; i++) {
        lists += all[i].wanted && all[i].kind != MIRROR_COUNTS;
        if (lists < MIRROR_LISTS_MAX)
            continue;
        fill(copier, all + begun, i + 1 - begun);
        begun = i + 1;
        lists = 0;
    }
    bool any = false;
    for (size_t i = begun; i < n; i++)
        any |= all[i].wanted;
    if (any)
        fill(copier, all + begun, n - begun);
}

static void fill_missing(struct copier *copier, size_t n)
{
    if (!n)
        return;
    mirror_find_missing(copier->mirror, copier->copies, n);
    fill_wanted(copier, copier->copies, n);
}

static void tell_refused(struct copier *copier)
{
    uint64_t users[MIRROR_MAX];
    int64_t left_ms[MIRROR_MAX], now_ms = wait_now_ms();
    size_t n = 0;
    for (size_t i = 0; i < COPIER_WANTS && n < MIRROR_MAX; i++) {
        const struct copier_want *wanted = &copier->taken[i];
        if (!wanted->is_there || !wanted->refused || wanted->until_ms <= now_ms)
            continue;
        users[n] = wanted->user;
        left_ms[n++] = wanted->until_ms - now_ms;
    }
    mirror_refuse(copier->mirror, users, left_ms, n);
}

static void serve_wants(struct copier *copier)
{
    size_t n = 0;
    pthread_mutex_lock(&copier->mutex);
    memcpy(copier->taken, copier->wants, sizeof copier->taken);
    memset(copier->wants, 0, sizeof copier->wants);
    pthread_mutex_unlock(&copier->mutex);
    tell_refused(copier);
    for (size_t i = 0; i < COPIER_WANTS; i++) {
        const struct copier_want *wanted = &copier->taken[i];
        if (!wanted->is_there || wanted->refused)
            continue;
        copier->copies[n++] = (struct mirror_copy){.kind = wanted->kind, .user = wanted->user};
        if (n < MIRROR_MAX)
            continue;
        fill_missing(copier, n);
        n = 0;
    }
    fill_missing(copier, n);
}

/* ---- Renewing ---------------------------------------------------------------------------------- */

bool copier_remake(struct copier *copier, struct mirror_copy *all, size_t n)
{
    if (!mirror_cancel(copier->mirror, all, n) || !mirror_remove(copier->mirror, all, n))
        return false;
    fill_wanted(copier, all, n);
    return true;
}

/* Only those that are there are asked for in MySQL. */
static bool renew_counts(struct copier *copier, struct mirror_copy *all, size_t n,
                         uint64_t position)
{
    struct consumer *consumer = &copier->consumer;
    size_t wanted = 0;
    if (!mirror_cancel(copier->mirror, all, n) || !mirror_look(copier->mirror, all, n, position))
        return false;
    for (size_t i = 0; i < n; i++)
        wanted += all[i].wanted;
    if (!wanted)
        return true;
    if (!consumer_connect(consumer) || mirror_read(&consumer->desk, all, n)) {
        consumer_fail(consumer);
        return false;
    }
    atomic_fetch_add(&copier->renewed, wanted);
    return mirror_renew(copier->mirror, all, n);
}

static size_t name(struct copier *copier, size_t n, enum mirror_kind kind, uint64_t user)
{
    copier->named[n] = (struct copier_named){kind, user};
    return n + (user != 0);
}

/* Counts of everybody who is named in an event may have changed; lists only by follows. */
static size_t name_all(struct copier *copier, const struct tidings_event *event, size_t n)
{
    bool of_user = !strcmp(tidings_event_target(event->type), "user");
    bool follow =
        event->type == TIDINGS_EVENT_FOLLOW_CREATED || event->type == TIDINGS_EVENT_FOLLOW_CANCELED;
    n = name(copier, n, MIRROR_COUNTS, event->actor_user_id);
    n = name(copier, n, MIRROR_COUNTS, event->author_id);
    n = name(copier, n, MIRROR_COUNTS, of_user ? event->target_id : 0);
    n = name(copier, n, MIRROR_FOLLOWING, follow ? event->actor_user_id : 0);
    return name(copier, n, MIRROR_FOLLOWERS, follow ? event->target_id : 0);
}

static int compare(const void *a, const void *b)
{
    const struct copier_named *x = a, *y = b;
    int kinds = (x->kind > y->kind) - (x->kind < y->kind);
    return kinds ? kinds : (x->user > y->user) - (x->user < y->user);
}

/* Each once. What cannot be read names nobody. */
static size_t fold(struct copier *copier)
{
    const struct consumer *consumer = &copier->consumer;
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < consumer->n; i++)
        if (event_is_sound(&consumer->events[i]))
            n = name_all(copier, &consumer->events[i], n);
    qsort(copier->named, n, sizeof *copier->named, compare);
    for (size_t i = 0; i < n; i++)
        if (!i || compare(&copier->named[kept - 1], &copier->named[i]) != 0)
            copier->named[kept++] = copier->named[i];
    return kept;
}

/* The next of them that are of one kind; how many. */
static size_t take_some(struct copier *copier, size_t from, size_t n)
{
    size_t taken = 0;
    enum mirror_kind kind = copier->named[from].kind;
    for (; taken < MIRROR_MAX && from < n && copier->named[from].kind == kind; from++)
        copier->copies[taken++] =
            (struct mirror_copy){.kind = kind, .user = copier->named[from].user};
    return taken;
}

static bool renew_page(struct copier *copier)
{
    struct consumer *consumer = &copier->consumer;
    uint64_t position = consumer->events[consumer->n - 1].event_id;
    size_t n = fold(copier);
    for (size_t i = 0; i < n;) {
        size_t taken = take_some(copier, i, n);
        bool fine = copier->copies[0].kind == MIRROR_COUNTS
                        ? renew_counts(copier, copier->copies, taken, position)
                        : copier_remake(copier, copier->copies, taken);
        if (!fine || !consumer_goes_on(consumer))
            return false;
        i += taken;
    }
    return true;
}

static enum sql_outcome move(struct consumer *consumer, bool *moved)
{
    buf_literal(&consumer->desk.text, "BEGIN;");
    return consumer_commit(consumer, consumer->events[consumer->n - 1].event_id, consumer->n,
                           moved);
}

/* Whether there may be more. */
static bool go_through_page(struct copier *copier)
{
    struct consumer *consumer = &copier->consumer;
    if (!consumer->held || !consumer_connect(consumer) || consumer_read(consumer)) {
        consumer_fail(consumer);
        return false;
    }
    if (!consumer->n)
        return false;
    bool fine = renew_page(copier);
    consumer_note(consumer, fine ? "" : mirror_trouble(copier->mirror));
    return fine && consumer_settle(consumer, move) && consumer->n == CONSUMER_PAGE;
}

/* ---- Looking back ------------------------------------------------------------------------------ */

static enum sql_outcome move_back(struct consumer *consumer, bool *moved)
{
    struct desk *desk = &consumer->desk;
    uint64_t position = 0;
    buf_printf(&desk->text,
               "SELECT position FROM outbox_event WHERE position <= %llu AND happened_at < "
               "(UNIX_TIMESTAMP(NOW(3)) - %d) * 1000 ORDER BY position DESC LIMIT 1",
               (unsigned long long)consumer->position, LOOK_BACK_S);
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    if (!outcome && sql_row(desk->sql))
        position = sql_u64(desk->sql, 0);
    buf_clear(&desk->text);
    if (outcome)
        return outcome;
    buf_literal(&desk->text, "BEGIN;");
    return consumer_commit(consumer, position, 0, moved);
}

/* Whoever has just taken the lease does not know what became of what another has written. */
static void look_back(struct copier *copier)
{
    int64_t now_ms = wait_now_ms();
    copier->looks_back |= mirror_was_replaced(copier->mirror);
    if (!copier->looks_back ||
        (copier->looked_back_ms && now_ms - copier->looked_back_ms < LOOK_BACK_EVERY_MS))
        return;
    if (consumer_settle(&copier->consumer, move_back)) {
        copier->looked_back_ms = now_ms;
        copier->looks_back = false;
    }
}

/* ---- The thread -------------------------------------------------------------------------------- */

static bool take(struct copier *copier)
{
    struct consumer *consumer = &copier->consumer;
    int64_t now_ms = wait_now_ms();
    if (consumer->held || now_ms - copier->standby_ms < STANDBY_MS)
        return consumer->held;
    copier->standby_ms = now_ms;
    if (!consumer_connect(consumer) || !consumer_take(consumer))
        return false;
    copier->looks_back = true;
    return true;
}

/* How long to wait until the next look. */
static int work(struct copier *copier)
{
    struct consumer *consumer = &copier->consumer;
    serve_wants(copier);
    if (!consumer->cluster->settings.workers || !take(copier) || !consumer_goes_on(consumer))
        return EVERY_MS;
    look_back(copier);
    bool more = go_through_page(copier);
    if (*consumer->trouble)
        return AWAY_MS;
    more |= consumer->held && rebuild_step(copier);
    return more ? 0 : EVERY_MS;
}

static void *copier_main(void *arg)
{
    struct copier *copier = arg;
    thread_name("copier");
    int pause_ms = 0;
    while (ticker_wait(&copier->consumer.ticker, pause_ms))
        pause_ms = work(copier);
    consumer_let_go(&copier->consumer);
    return NULL;
}

void copier_init(struct cluster *cluster)
{
    struct copier *copier = &cluster->copier;
    consumer_init(&copier->consumer, cluster, TIDINGS_CONSUMER_COPIES, true);
    pthread_mutex_init(&copier->mutex, NULL);
}

void copier_release(struct cluster *cluster)
{
    struct copier *copier = &cluster->copier;
    mirror_close(copier->mirror);
    pthread_mutex_destroy(&copier->mutex);
    consumer_release(&copier->consumer);
}

enum tidings_err copier_start(struct cluster *cluster)
{
    struct copier *copier = &cluster->copier;
    if (!copier->mirror)
        return TIDINGS_OK;
    return ticker_start(&copier->consumer.ticker, copier_main, copier) ? TIDINGS_OK
                                                                       : TIDINGS_NO_MEMORY;
}

void copier_status(struct cluster *cluster, struct tidings_cluster *status)
{
    struct copier *copier = &cluster->copier;
    status->redis.filled = atomic_load(&copier->filled);
    status->redis.renewed = atomic_load(&copier->renewed);
    status->redis.dropped = atomic_load(&copier->dropped);
}
