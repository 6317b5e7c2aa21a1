/* SPDX-License-Identifier: MIT */
#include "consume/consumer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/thread.h"
#include "base/wait.h"

enum {
    STANDBY_MS = 100,      /* how often a server that makes no changes looks whether it does */
    TICK_MS = 1000,        /* how often it looks for events that nobody told it of */
    REPORT_MS = 100,       /* how often the position is written down at most */
    BACKOFF_FIRST_MS = 50, /* until a target that failed is tried again, doubling ... */
    BACKOFF_MOST_MS = 2000,
    TELL_AGAIN_MS = 10000, /* how often another reason of the same failing is written down */
    LOOK_MS = 1000,        /* how often a target looks whether it still has what it was told */
    FILL_TELL_MS = 10000,  /* how often the log says how far filling is */
    ACTING_USER = 1,       /* an operation has somebody acting; here it does not matter who */
};

struct consumer {
    struct tidings_watcher watcher;
    struct tidings *tidings;
    const struct consumer_target *target;
    void *ctx;
    uint32_t limit;
    pthread_t thread;

    pthread_mutex_t mutex; /* guards these two */
    pthread_cond_t woken;
    bool happened;
    bool stopping;
    _Atomic bool changed; /* the row may be another than it was: somebody has sent it back */

    uint64_t term;       /* in which the row was read; 0: it is not this server's turn */
    uint64_t generation; /* of the row, and where it is */
    uint64_t stored;
    uint64_t position;      /* told up to here */
    uint64_t told, refused; /* since the last report */
    uint64_t missed;        /* events, in all, that were removed before they were told */
    bool has_missed;        /* that was read once */
    int64_t reported_ms;

    uint64_t wish;                   /* as the row has it: the target is to be made anew; 0: no */
    uint64_t filling;                /* the wish that is being fulfilled; 0: none */
    uint64_t reconcile, reconciling; /* the same of comparing */
    struct consumer_fill comparison;
    bool has_letters_again; /* some dead letters are to be told again */
    struct consumer_fill fill;
    int64_t fill_told_ms;
    int64_t looked_ms;
    bool has_looked; /* in this term */

    char trouble[CONSUMER_TROUBLE_MAX + 1];
    char told_trouble[CONSUMER_TROUBLE_MAX + 1]; /* as the row has it */
    int64_t failing_since;                       /* by the clock; 0: it gets on */
    int64_t told_trouble_ms;
    int64_t waiting_since; /* of the first event of the page */
    bool stored_waiting;   /* whether the row has a time of that */
    int backoff_ms;

    size_t n;
    struct tidings_event events[CONSUMER_PAGE];
};

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct tidings_text name_of(const struct consumer *consumer)
{
    return (struct tidings_text){consumer->target->name, strlen(consumer->target->name)};
}

static void log_consumer(const struct consumer *consumer, enum log_level level, const char *message,
                         const char *error)
{
    struct log_line line;
    log_begin(&line, level, message);
    log_text(&line, "consumer", consumer->target->name + 1);
    log_u64(&line, "position", consumer->position);
    if (*error)
        log_text(&line, "error", error);
    log_end(&line);
}

/* ---- The row -------------------------------------------------------------------------------- */

static struct tidings_op row_op(const struct consumer *consumer, enum tidings_op_kind kind,
                                uint64_t position)
{
    return (struct tidings_op){
        .kind = kind,
        .role = TIDINGS_ROLE_SERVICE,
        .user_id = ACTING_USER,
        .u.webhook_report = {.name = name_of(consumer),
                             .generation = consumer->generation,
                             .position = position,
                             .fills = consumer->target->fill != NULL,
                             .reconciles = consumer->target->reconcile != NULL},
    };
}

/* In the same term, and if nobody has sent it back, it may be further than the row. */
static void take_row(struct consumer *consumer, const struct tidings_webhook *row, bool same_term)
{
    bool goes_on = same_term && consumer->generation == row->generation;
    consumer->generation = row->generation;
    consumer->stored = row->position;
    consumer->wish = row->rebuild;
    consumer->reconcile = row->reconcile;
    consumer->has_letters_again = row->letters_again != 0;
    consumer->stored_waiting = row->waiting_since != 0;
    if (!goes_on)
        consumer->told = consumer->refused = 0;
    consumer->has_looked &= same_term;
    if (!goes_on || consumer->position < row->position)
        consumer->position = row->position;
    if (consumer->has_missed && row->dead > consumer->missed) {
        char text[64];
        snprintf(text, sizeof text, "%llu events",
                 (unsigned long long)(row->dead - consumer->missed));
        log_consumer(consumer, LOG_ERROR, "events were removed before they could be told", text);
    }
    consumer->missed = row->dead;
    consumer->has_missed = true;
    snprintf(consumer->told_trouble, sizeof consumer->told_trouble, "%s",
             row->failing_since ? row->last_error.p : "");
}

/* False if the row cannot be known now. */
static bool set_row(struct consumer *consumer, uint64_t term, uint64_t position, bool rebuild)
{
    struct tidings_op op = row_op(consumer, TIDINGS_OP_CONSUMER_SET, position);
    struct tidings_answer answer;
    op.u.webhook_report.rebuild = rebuild;
    tidings_answer_init(&answer);
    enum tidings_err err = tidings_run(consumer->tidings, &op, &answer);
    if (!err)
        take_row(consumer, &answer.u.webhook, consumer->term == term);
    consumer->term = err ? 0 : term;
    tidings_answer_release(&answer);
    return !err;
}

/* Where it is; the row is made if there is none. */
static bool read_row(struct consumer *consumer, uint64_t term)
{
    return set_row(consumer, term, TIDINGS_ID_MAX, false);
}

/* What a report says besides where the consumer is. */
struct report_extra {
    uint64_t rebuilt, reconciled; /* wishes that are fulfilled */
    uint64_t dead_event, settled; /* dead letters */
    const char *reason;
};

/* What has become of it is written down. False if it could not be, or counts no more: then the row is read again. */
static bool report_extra(struct consumer *consumer, const struct report_extra *extra)
{
    struct tidings_op op = row_op(consumer, TIDINGS_OP_WEBHOOK_REPORT, consumer->position);
    struct tidings_answer answer;
    op.u.webhook_report.rebuilt = extra->rebuilt;
    op.u.webhook_report.reconciled = extra->reconciled;
    op.u.webhook_report.dead_event = extra->dead_event;
    op.u.webhook_report.settled = extra->settled;
    if (extra->reason)
        op.u.webhook_report.dead_reason =
            (struct tidings_text){extra->reason, strnlen(extra->reason, CONSUMER_TROUBLE_MAX)};
    op.u.webhook_report.delivered = consumer->told;
    op.u.webhook_report.failed = consumer->refused;
    op.u.webhook_report.failing_since = consumer->failing_since;
    op.u.webhook_report.waiting_since = consumer->waiting_since;
    op.u.webhook_report.last_error =
        (struct tidings_text){consumer->trouble, strlen(consumer->trouble)};
    tidings_answer_init(&answer);
    enum tidings_err err = tidings_run(consumer->tidings, &op, &answer);
    tidings_answer_release(&answer);
    consumer->reported_ms = consumer->told_trouble_ms = wait_now_ms();
    if (err) {
        consumer->term = 0;
        return false;
    }
    consumer->stored = consumer->position;
    consumer->stored_waiting = consumer->waiting_since != 0;
    consumer->told = consumer->refused = 0;
    memcpy(consumer->told_trouble, consumer->trouble, sizeof consumer->trouble);
    return true;
}

static bool report(struct consumer *consumer)
{
    return report_extra(consumer, &(struct report_extra){0});
}

/* ---- What targets say ----------------------------------------------------------------------- */

void consume_note(struct consumer *consumer, const char *trouble)
{
    snprintf(consumer->trouble, sizeof consumer->trouble, "%s", trouble);
    if (*trouble && !consumer->failing_since) {
        consumer->failing_since = wall_ms();
        log_consumer(consumer, LOG_WARN, "the consumer fails", consumer->trouble);
    } else if (!*trouble && consumer->failing_since) {
        consumer->failing_since = 0;
        log_consumer(consumer, LOG_INFO, "the consumer works again", "");
    }
    bool first = !*consumer->told_trouble != !*consumer->trouble;
    bool other = strcmp(consumer->told_trouble, consumer->trouble) != 0 &&
                 wait_now_ms() - consumer->told_trouble_ms >= TELL_AGAIN_MS;
    if (consumer->term && (first || other))
        report(consumer);
}

bool consume_refused(struct consumer *consumer, uint64_t event_id, const char *reason)
{
    struct log_line line;
    log_begin(&line, LOG_ERROR, "nobody takes an event: it is passed over");
    log_text(&line, "consumer", consumer->target->name + 1);
    log_u64(&line, "event_id", event_id);
    log_text(&line, "error", reason);
    log_end(&line);
    return consumer->term &&
           report_extra(consumer, &(struct report_extra){.dead_event = event_id, .reason = reason});
}

static bool is_stopping(struct consumer *consumer)
{
    pthread_mutex_lock(&consumer->mutex);
    bool stopping = consumer->stopping;
    pthread_mutex_unlock(&consumer->mutex);
    return stopping;
}

bool consume_goes_on(struct consumer *consumer)
{
    uint64_t term = consumer->term, generation = consumer->generation;
    if (!term || tidings_term(consumer->tidings) != term || is_stopping(consumer))
        return false;
    if (!atomic_exchange(&consumer->changed, false))
        return true;
    return read_row(consumer, term) && consumer->generation == generation;
}

uint64_t consume_position(const struct consumer *consumer)
{
    return consumer->position;
}

bool consume_is_filling(const struct consumer *consumer)
{
    return consumer->wish != 0;
}

bool consume_rebuild(struct consumer *consumer, const char *why)
{
    log_consumer(consumer, LOG_WARN, "the consumer's target is to be made anew", why);
    return consumer->term && set_row(consumer, consumer->term, TIDINGS_ID_MAX, true);
}

bool consume_go_back(struct consumer *consumer, uint64_t position, const char *why)
{
    log_consumer(consumer, LOG_WARN, "the consumer goes back", why);
    return consumer->term &&
           (position >= consumer->position || set_row(consumer, consumer->term, position, false));
}

/* ---- Pages ---------------------------------------------------------------------------------- */

/* Some more of the page; false: there are no more now, or they cannot be read. */
static bool read_some(struct consumer *consumer, enum tidings_err *err)
{
    size_t room = CONSUMER_PAGE - consumer->n;
    uint32_t limit = room < consumer->limit ? (uint32_t)room : consumer->limit;
    struct tidings_op op = {.kind = TIDINGS_OP_EVENTS,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = ACTING_USER,
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

static bool read_page(struct consumer *consumer)
{
    enum tidings_err err = TIDINGS_OK;
    consumer->n = 0;
    while (consumer->n < CONSUMER_PAGE && read_some(consumer, &err))
        ;
    if (err) {
        char text[CONSUMER_TROUBLE_MAX];
        snprintf(text, sizeof text, "the events cannot be read: %s", tidings_err_text(err));
        consume_note(consumer, text);
    }
    return !err;
}

static bool tell_page(struct consumer *consumer)
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
    return !failed || !consumer->term || read_row(consumer, consumer->term); /* what was missed? */
}

/* Milliseconds until the position is to be written down; -1: it is. */
static int until_report(const struct consumer *consumer)
{
    int64_t left_ms = consumer->reported_ms + REPORT_MS - wait_now_ms();
    bool waits = consumer->target->step && consumer->waiting_since;
    if (consumer->position == consumer->stored &&
        (!consumer->target->step || waits == consumer->stored_waiting))
        return -1;
    return left_ms > 0 ? (int)left_ms : 0;
}

static int back_off(struct consumer *consumer)
{
    int ms = consumer->backoff_ms ? consumer->backoff_ms : BACKOFF_FIRST_MS;
    consumer->backoff_ms = 2 * ms < BACKOFF_MOST_MS ? 2 * ms : BACKOFF_MOST_MS;
    return ms;
}

/* ---- Making it anew ------------------------------------------------------------------------- */

static void log_fill(const struct consumer *consumer, const char *message)
{
    struct log_line line;
    log_begin(&line, LOG_INFO, message);
    log_text(&line, "consumer", consumer->target->name + 1);
    log_u64(&line, "users", consumer->fill.done);
    log_end(&line);
}

/* Under a new number, so that whoever wishes it later is not taken for fulfilled. */
static bool fill_begin(struct consumer *consumer)
{
    if (!set_row(consumer, consumer->term, TIDINGS_ID_MAX, true))
        return false;
    consumer->filling = consumer->wish;
    consumer->reconciling = 0; /* what was compared before is of no worth */
    consumer->fill = (struct consumer_fill){0};
    consumer->fill_told_ms = wait_now_ms();
    log_fill(consumer, "the consumer's target is made anew");
    return true;
}

/* What was wished, or missed, meanwhile stays wished. */
static bool fill_end(struct consumer *consumer)
{
    if (!report_extra(consumer, &(struct report_extra){.rebuilt = consumer->filling}))
        return false;
    log_fill(consumer, "the consumer's target is made");
    consumer->filling = 0;
    return read_row(consumer, consumer->term);
}

/* Whether all is well so far: there is nothing to be filled, or a step was done. */
static bool fill_step(struct consumer *consumer)
{
    if (!consumer->wish || !consumer->target->fill)
        return true;
    if (consumer->filling != consumer->wish && !fill_begin(consumer))
        return false;
    switch (consumer->target->fill(consumer->ctx, consumer, &consumer->fill)) {
    case CONSUMER_FILL_FAILED:
        return false;
    case CONSUMER_FILL_DONE:
        return fill_end(consumer);
    case CONSUMER_FILL_MORE:
        break;
    }
    if (wait_now_ms() - consumer->fill_told_ms >= FILL_TELL_MS) {
        log_fill(consumer, "the consumer's target is being made anew");
        consumer->fill_told_ms = wait_now_ms();
    }
    return consumer->term != 0;
}

/* ---- Comparing ------------------------------------------------------------------------------ */

static void log_comparison(const struct consumer *consumer, const char *message)
{
    struct log_line line;
    log_begin(&line, LOG_INFO, message);
    log_text(&line, "consumer", consumer->target->name + 1);
    log_u64(&line, "looked_at", consumer->comparison.done);
    log_end(&line);
}

/* Whether all is well so far: nothing is to be compared, or a step was done. */
static bool reconcile_step(struct consumer *consumer)
{
    bool fills = consumer->wish && consumer->target->fill;
    if (!consumer->reconcile || !consumer->target->reconcile || fills)
        return true;
    if (consumer->reconciling != consumer->reconcile) {
        consumer->reconciling = consumer->reconcile;
        consumer->comparison = (struct consumer_fill){0};
        log_comparison(consumer, "what stands at the consumer's target is compared");
    }
    switch (consumer->target->reconcile(consumer->ctx, consumer, &consumer->comparison)) {
    case CONSUMER_FILL_FAILED:
        return false;
    case CONSUMER_FILL_MORE:
        return consumer->term != 0;
    case CONSUMER_FILL_DONE:
        break;
    }
    if (!report_extra(consumer, &(struct report_extra){.reconciled = consumer->reconciling}))
        return false;
    log_comparison(consumer, "what stands at the consumer's target was compared");
    return read_row(consumer, consumer->term);
}

/* ---- Dead letters --------------------------------------------------------------------------- */

/* The event, if it is kept. False: it cannot be read now. */
static bool read_event(struct consumer *consumer, uint64_t event_id, struct tidings_event *event,
                       bool *found)
{
    struct tidings_op op = {.kind = TIDINGS_OP_EVENTS,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = ACTING_USER,
                            .u.page = {.limit = 1, .after.a = event_id - 1}};
    struct tidings_answer answer;
    tidings_answer_init(&answer);
    enum tidings_err err = tidings_run(consumer->tidings, &op, &answer);
    *found = !err && answer.u.events.n && answer.u.events.rows[0].event_id == event_id;
    if (*found)
        *event = answer.u.events.rows[0];
    tidings_answer_release(&answer);
    return !err;
}

/* It is told, or refused once more. False: the target does not get on, and the letter waits. */
static bool tell_letter(struct consumer *consumer, uint64_t event_id)
{
    struct tidings_event event;
    struct consumer_page page = {.events = &event, .n = 1};
    bool found;
    if (!read_event(consumer, event_id, &event, &found))
        return false;
    if (!found)
        return report_extra(consumer,
                            &(struct report_extra){.dead_event = event_id,
                                                   .reason = "the event is not kept any more"});
    if (!consumer->target->tell(consumer->ctx, consumer, &page) || !page.done)
        return false;
    consume_note(consumer, "");
    if (page.refused)
        return consumer->term != 0;
    consumer->told++;
    return consumer->term && report_extra(consumer, &(struct report_extra){.settled = event_id});
}

/* All that are to be told again, in the order of their events. False: the target does not get on. */
static bool tell_letters(struct consumer *consumer)
{
    struct tidings_op op = {
        .kind = TIDINGS_OP_LETTERS,
        .role = TIDINGS_ROLE_SERVICE,
        .user_id = ACTING_USER,
        .u.letters = {.name = name_of(consumer), .again = true, .limit = consumer->limit}};
    struct tidings_answer answer;
    if (!consumer->has_letters_again)
        return true;
    tidings_answer_init(&answer);
    bool fine = !tidings_run(consumer->tidings, &op, &answer);
    size_t n = fine ? answer.u.letters.n : 0;
    for (size_t i = 0; fine && i < n; i++)
        fine = tell_letter(consumer, answer.u.letters.rows[i].event_id);
    tidings_answer_release(&answer);
    if (fine && !n)
        consumer->has_letters_again = false;
    return fine;
}

/* Whether the target has what it was told, or that is not to be asked now. */
static bool look_after(struct consumer *consumer)
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

static void take_work(struct consumer *consumer, const struct consumer_work *work)
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
    take_work(consumer, &work);
    if (!fine)
        return consumer->failing_since ? back_off(consumer) : 0;
    consumer->backoff_ms = 0;
    consume_note(consumer, "");
    if (!until_report(consumer))
        report(consumer);
    if (work.more || !consumer->term)
        return 0;
    *eager = true;
    int left_ms = until_report(consumer);
    return left_ms < 0 ? TICK_MS : left_ms;
}

/* ---- The thread ----------------------------------------------------------------------------- */

static void rest(struct consumer *consumer)
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
        rest(consumer);
    if (!term)
        return STANDBY_MS;
    bool changed = atomic_exchange(&consumer->changed, false);
    if ((changed || !consumer->term) && !read_row(consumer, term))
        return back_off(consumer);
    if (consumer->target->step)
        return consumer_work(consumer, eager);
    if (!look_after(consumer) || !fill_step(consumer) || !tell_letters(consumer) ||
        !reconcile_step(consumer) || !read_page(consumer))
        return back_off(consumer);
    if (consumer->n && !tell_page(consumer))
        return consumer->failing_since ? back_off(consumer) : 0;
    if (!consumer->n)
        consume_note(consumer, "");
    consumer->backoff_ms = 0;
    if (!until_report(consumer))
        report(consumer);
    if (consumer->n == CONSUMER_PAGE || !consumer->term || consumer->filling ||
        consumer->reconcile || consumer->has_letters_again)
        return 0;
    *eager = true;
    int left_ms = until_report(consumer);
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
        report(consumer);
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
