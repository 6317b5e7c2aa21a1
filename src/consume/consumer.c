/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "base/wait.h"
#include "consume/consumer_internal.h"

enum {
    STANDBY_MS = 100,      /* how often a server that makes no changes looks whether it does */
    TICK_MS = 1000,        /* how often it looks for events that nobody told it of */
    REPORT_MS = 100,       /* how often the position is written down at most */
    BACKOFF_FIRST_MS = 50, /* until a target that failed is tried again, doubling ... */
    BACKOFF_MOST_MS = 2000,
    LOOK_MS = 1000, /* how often a target looks whether it still has what it was told */
};

bool consumer_is_stopping(struct consumer *consumer)
{
    pthread_mutex_lock(&consumer->mutex);
    bool stopping = consumer->stopping;
    pthread_mutex_unlock(&consumer->mutex);
    return stopping;
}

/* ---- Pages ---------------------------------------------------------------------------------- */

/* Some more of the page; false: there are no more now, or they cannot be read. */
static bool consumer_page_read_some(struct consumer *consumer, enum tidings_err *err)
{
    size_t room = CONSUMER_PAGE - consumer->n;
    uint32_t limit = room < consumer->limit ? (uint32_t)room : consumer->limit;
    struct tidings_op op = {.kind = TIDINGS_OP_EVENTS,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = CONSUMER_ACTING_USER,
                            .u.page = {.limit = limit,
                                       .after.a = consumer->n
                                                      ? consumer->events[consumer->n - 1].event_id
                                                      : consumer->position}};
    struct tidings_answer answer;
    tidings_answer_init(&answer);
    *err = tidings_run(consumer->tidings, &op, &answer);
    size_t n = *err ? 0 : answer.u.events.n;
    if (n)
        memcpy(consumer->events + consumer->n, answer.u.events.rows, n * sizeof *consumer->events);
    consumer->n += n;
    tidings_answer_release(&answer);
    return n == limit;
}

static bool consumer_page_read(struct consumer *consumer)
{
    enum tidings_err err = TIDINGS_OK;
    consumer->n = 0;
    while (consumer->n < CONSUMER_PAGE && consumer_page_read_some(consumer, &err))
        ;
    if (err) {
        char text[CONSUMER_TROUBLE_MAX];
        snprintf(text, sizeof text, "the events cannot be read: %s", tidings_err_text(err));
        consume_note(consumer, text);
    }
    return !err;
}

static bool consumer_page_tell(struct consumer *consumer)
{
    struct consumer_page page = {.events = consumer->events, .n = consumer->n};
    consumer->waiting_since = consumer->events[0].happened_at;
    uint64_t generation = consumer->generation;
    bool fine = consumer->target->tell(consumer->ctx, consumer, &page);
    if (page.done && consumer->term && consumer->generation == generation) {
        consumer->position = consumer->events[page.done - 1].event_id;
        consumer->told += page.done - page.refused;
        consumer->refused += page.refused;
    }
    if (!fine)
        return false;
    consumer->waiting_since = 0;
    bool failed = consumer->failing_since != 0;
    consume_note(consumer, "");
    return !failed || !consumer->term ||
           consumer_row_read(consumer, consumer->term); /* what was missed? */
}

/* Milliseconds until the position is to be written down; -1: it is. */
static int consumer_until_report(const struct consumer *consumer)
{
    int64_t left_ms = consumer->reported_ms + REPORT_MS - wait_now_ms();
    bool waits = consumer->target->step && consumer->waiting_since;
    if (consumer->position == consumer->stored &&
        (!consumer->target->step || waits == consumer->stored_waiting))
        return -1;
    return left_ms > 0 ? (int)left_ms : 0;
}

static int consumer_back_off(struct consumer *consumer)
{
    int ms = consumer->backoff_ms ? consumer->backoff_ms : BACKOFF_FIRST_MS;
    consumer->backoff_ms = 2 * ms < BACKOFF_MOST_MS ? 2 * ms : BACKOFF_MOST_MS;
    return ms;
}

/* Whether the target has what it was told, or that is not to be asked now. */
static bool consumer_look(struct consumer *consumer)
{
    int64_t now_ms = wait_now_ms();
    if (!consumer->target->look || (consumer->has_looked && now_ms - consumer->looked_ms < LOOK_MS))
        return true;
    if (!consumer->target->look(consumer->ctx, consumer, !consumer->has_looked))
        return false;
    consumer->looked_ms = now_ms;
    consumer->has_looked = true;
    return consumer->term != 0;
}

/* ---- Targets that read by themselves -------------------------------------------------------- */

static void consumer_take_work(struct consumer *consumer, const struct consumer_work *work)
{
    if (!consumer->term || consumer->generation != work->generation)
        return;
    if (consumer->position < work->position)
        consumer->position = work->position;
    consumer->told += work->told;
    consumer->waiting_since = work->waiting_since;
}

static int consumer_work(struct consumer *consumer, bool *eager)
{
    struct consumer_work work = {.generation = consumer->generation};
    bool fine = consumer->target->step(consumer->ctx, consumer, &work);
    consumer_take_work(consumer, &work);
    if (!fine)
        return consumer->failing_since ? consumer_back_off(consumer) : 0;
    consumer->backoff_ms = 0;
    consume_note(consumer, "");
    if (!consumer_until_report(consumer))
        consumer_row_tell_position(consumer);
    if (work.more || !consumer->term)
        return 0;
    *eager = true;
    int left_ms = consumer_until_report(consumer);
    return left_ms < 0 ? TICK_MS : left_ms;
}

/* ---- The thread ----------------------------------------------------------------------------- */

static void consumer_rest(struct consumer *consumer)
{
    consumer->term = 0;
    consumer->filling = consumer->reconciling = 0;
    consumer->has_looked = false;
    consumer->failing_since = 0;
    *consumer->trouble = '\0';
    consumer->target->rest(consumer->ctx);
}

/* How long to wait until the next look; *eager: unless something happens. */
static int consumer_step(struct consumer *consumer, bool *eager)
{
    uint64_t term = tidings_term(consumer->tidings);
    *eager = false;
    if (!term || (consumer->term && consumer->term != term))
        consumer_rest(consumer);
    if (!term)
        return STANDBY_MS;
    bool changed = atomic_exchange(&consumer->changed, false);
    if ((changed || !consumer->term) && !consumer_row_read(consumer, term))
        return consumer_back_off(consumer);
    if (consumer->target->step)
        return consumer_work(consumer, eager);
    if (!consumer_look(consumer) || !consumer_fill_step(consumer) ||
        !consumer_letters_tell(consumer) || !consumer_compare_step(consumer) ||
        !consumer_page_read(consumer))
        return consumer_back_off(consumer);
    if (consumer->n && !consumer_page_tell(consumer))
        return consumer->failing_since ? consumer_back_off(consumer) : 0;
    if (!consumer->n)
        consume_note(consumer, "");
    consumer->backoff_ms = 0;
    if (!consumer_until_report(consumer))
        consumer_row_tell_position(consumer);
    if (consumer->n == CONSUMER_PAGE || !consumer->term || consumer->filling ||
        consumer->reconcile || consumer->has_letters_again)
        return 0;
    *eager = true;
    int left_ms = consumer_until_report(consumer);
    return left_ms < 0 ? TICK_MS : left_ms;
}

/* False: it is time to stop. */
static bool consumer_wait(struct consumer *consumer, int ms, bool eager)
{
    struct timespec until = wait_until_ms((unsigned)ms);
    int rc = 0;
    pthread_mutex_lock(&consumer->mutex);
    while (!rc && !consumer->stopping && !(eager && consumer->happened))
        rc = pthread_cond_timedwait(&consumer->woken, &consumer->mutex, &until);
    consumer->happened = false;
    bool go_on = !consumer->stopping;
    pthread_mutex_unlock(&consumer->mutex);
    return go_on;
}

static void *consumer_main(void *arg)
{
    struct consumer *consumer = arg;
    bool eager = false;
    int ms = 0;
    thread_name(consumer->target->name + 1);
    while (consumer_wait(consumer, ms, eager))
        ms = consumer_step(consumer, &eager);
    if (consumer->term && consumer->position != consumer->stored)
        consumer_row_tell_position(consumer);
    consumer->target->rest(consumer->ctx);
    return NULL;
}

/* On the engine's thread. */
static void consumer_heed(struct tidings_watcher *watcher, const struct tidings_event *events,
                          size_t n)
{
    struct consumer *consumer = (struct consumer *)watcher;
    bool changed = !n;
    for (size_t i = 0; i < n; i++)
        changed |= events[i].type == TIDINGS_EVENT_WEBHOOK_CHANGED;
    if (changed)
        atomic_store(&consumer->changed, true);
    pthread_mutex_lock(&consumer->mutex);
    consumer->happened = true;
    pthread_cond_signal(&consumer->woken);
    pthread_mutex_unlock(&consumer->mutex);
}

struct consumer *consume_target_start(struct tidings *tidings, const struct consumer_target *target,
                                      void *ctx, uint32_t page)
{
    struct consumer *consumer = calloc(1, sizeof *consumer);
    if (!consumer)
        return NULL;
    consumer->tidings = tidings;
    consumer->target = target;
    consumer->ctx = ctx;
    consumer->limit = page;
    consumer->watcher.tell = consumer_heed;
    pthread_mutex_init(&consumer->mutex, NULL);
    wait_init(&consumer->woken);
    if (!pthread_create(&consumer->thread, NULL, consumer_main, consumer)) {
        tidings_watch(tidings, &consumer->watcher);
        return consumer;
    }
    pthread_cond_destroy(&consumer->woken);
    pthread_mutex_destroy(&consumer->mutex);
    free(consumer);
    return NULL;
}

void consume_target_stop(struct consumer *consumer)
{
    if (!consumer)
        return;
    tidings_unwatch(consumer->tidings, &consumer->watcher);
    pthread_mutex_lock(&consumer->mutex);
    consumer->stopping = true;
    pthread_cond_signal(&consumer->woken);
    pthread_mutex_unlock(&consumer->mutex);
    pthread_join(consumer->thread, NULL);
    pthread_cond_destroy(&consumer->woken);
    pthread_mutex_destroy(&consumer->mutex);
    free(consumer);
}
