/* SPDX-License-Identifier: MIT */
#include "push/endpoint.h"

#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "push/message.h"

enum {
    PAGES_A_STEP = 8,          /* of events looked at in one go, so that others get their turn */
    SKIPPED_MOST = 10000,      /* events passed by before the position is reported */
    REPORT_EVERY_MS = 3600000, /* and at least so often, if it has moved */
    HOLD_MS = 1000,            /* until the engine gets a report again that it could not take */
    UNREADABLE_MS = 60000,     /* until damaged events are looked at again */
    ACTING_USER = 1,           /* an operation has somebody acting; here it does not matter who */
};

static int64_t read_clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void push_clock_start(struct push_shared *shared)
{
    shared->started_ms = read_clock_ms(CLOCK_REALTIME);
    shared->started_up_ms = read_clock_ms(CLOCK_BOOTTIME);
}

static int64_t now_ms(const struct endpoint *endpoint)
{
    const struct push_shared *shared = endpoint->shared;
    return shared->started_ms + (read_clock_ms(CLOCK_BOOTTIME) - shared->started_up_ms);
}

/* By how much the clock is ahead of the time here, because it was set. */
static int64_t clock_ahead_ms(const struct endpoint *endpoint)
{
    return read_clock_ms(CLOCK_REALTIME) - now_ms(endpoint);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A time here as the clock has it; 0 stays what it is. */
static int64_t by_clock(int64_t time, int64_t ahead)
{
    return time && time + ahead > 0 ? time + ahead : 0;
}

static char *copy_text(struct tidings_text text)
{
    return strndup(text.p ? text.p : "", text.n);
}

struct endpoint *endpoint_new(struct push_shared *shared, const struct tidings_webhook *webhook)
{
    struct endpoint *endpoint = calloc(1, sizeof *endpoint);
    if (!endpoint)
        return NULL;
    endpoint->shared = shared;
    int64_t now = now_ms(endpoint), ahead = clock_ahead_ms(endpoint);
    int64_t latest = now + (int64_t)shared->config.backoff_most_ms;
    memcpy(endpoint->name, webhook->name.p,
           webhook->name.n < ENDPOINT_NAME_MAX ? webhook->name.n : ENDPOINT_NAME_MAX);
    endpoint->generation = webhook->generation;
    endpoint->url = copy_text(webhook->url);
    endpoint->secret = copy_text(webhook->secret);
    endpoint->old_secret = copy_text(webhook->old_secret);
    endpoint->old_secret_until = now + webhook->old_secret_ms;
    endpoint->events = webhook->events;
    endpoint->look = true;
    endpoint->position = endpoint->scanned = webhook->position;
    endpoint->reported_at = now;
    endpoint->has_letters = webhook->letters_again != 0;
    endpoint->attempts = webhook->attempts;
    /* A clock that was set while nothing ran must not make it wait for days. */
    endpoint->retry_at = least(by_clock(webhook->retry_at, -ahead), latest);
    endpoint->failing_since = least(by_clock(webhook->failing_since, -ahead), now);
    call_init(&endpoint->call);
    tidings_answer_init(&endpoint->answer);
    if (endpoint->url && endpoint->secret && endpoint->old_secret)
        return endpoint;
    endpoint_free(endpoint);
    return NULL;
}

static void free_secret(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

void endpoint_free(struct endpoint *endpoint)
{
    call_release(&endpoint->call);
    tidings_answer_release(&endpoint->answer);
    free_secret(endpoint->secret);
    free_secret(endpoint->old_secret);
    free(endpoint->url);
    free(endpoint);
}

void endpoint_abort(struct endpoint *endpoint)
{
    if (endpoint->phase != ENDPOINT_CALLING)
        return;
    call_end(&endpoint->call, endpoint->shared->multi);
    endpoint->phase = ENDPOINT_IDLE;
}

bool endpoint_is_quiet(const struct endpoint *endpoint)
{
    return endpoint->phase == ENDPOINT_IDLE || endpoint->phase == ENDPOINT_HOLDING;
}

static void log_endpoint(const struct endpoint *endpoint, enum log_level level, const char *message)
{
    struct log_line line;
    log_begin(&line, level, message);
    log_text(&line, "webhook", endpoint->name);
    log_u64(&line, "event_id", endpoint->event.event_id);
    if (*endpoint->error)
        log_text(&line, "error", endpoint->error);
    log_end(&line);
}

static void hold(struct endpoint *endpoint)
{
    endpoint->phase = ENDPOINT_HOLDING;
    endpoint->hold_until = now_ms(endpoint) + HOLD_MS;
}

/* ---- The next event ------------------------------------------------------------------------- */

/* Goes through a page of events up to the first that is for this webhook. False if they cannot be read. */
static bool look_at_page(struct endpoint *endpoint)
{
    struct tidings_answer answer;
    struct tidings_op op = {
        .kind = TIDINGS_OP_EVENTS,
        .role = TIDINGS_ROLE_SERVICE,
        .user_id = ACTING_USER,
        .u.page = {.limit = endpoint->shared->config.page, .after.a = endpoint->scanned}};
    tidings_answer_init(&answer);
    bool ok = !tidings_run(endpoint->shared->config.tidings, &op, &answer);
    for (size_t i = 0; ok && i < answer.u.events.n && !endpoint->has_event; i++) {
        endpoint->event = answer.u.events.rows[i];
        endpoint->has_event = tidings_webhook_wants(endpoint->events, &endpoint->event);
        if (endpoint->has_event)
            break; /* the position stays that of the event before, until this one is told */
        endpoint->scanned = endpoint->event.event_id;
        endpoint->skipped++;
    }
    if (ok && !answer.u.events.n)
        endpoint->look = false;
    tidings_answer_release(&answer);
    return ok;
}

static bool look_for_event(struct endpoint *endpoint)
{
    bool ok = true;
    if (endpoint->has_letters)
        return true;
    for (int i = 0; i < PAGES_A_STEP && ok && endpoint->look && !endpoint->has_event; i++)
        ok = look_at_page(endpoint);
    return ok;
}

/* ---- Dead letters that are to be told again ---------------------------------------------------- */

/* The next one's event id; 0: there are no more. False: they cannot be read. */
static bool next_letter(struct endpoint *endpoint, uint64_t *event_id)
{
    struct tidings_answer answer;
    struct tidings_op op = {.kind = TIDINGS_OP_LETTERS,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = ACTING_USER,
                            .u.letters = {.name = {endpoint->name, strlen(endpoint->name)},
                                          .again = true,
                                          .after = endpoint->letters_after,
                                          .limit = 1}};
    tidings_answer_init(&answer);
    enum tidings_err err = tidings_run(endpoint->shared->config.tidings, &op, &answer);
    *event_id = !err && answer.u.letters.n ? answer.u.letters.rows[0].event_id : 0;
    tidings_answer_release(&answer);
    return !err || err == TIDINGS_NOT_FOUND;
}

/* Those whose events are not kept any more stay what they are. */
static bool look_for_letter(struct endpoint *endpoint)
{
    struct tidings_answer answer;
    uint64_t event_id;
    if (!next_letter(endpoint, &event_id))
        return false;
    if (!event_id) {
        endpoint->has_letters = false;
        return true;
    }
    struct tidings_op op = {.kind = TIDINGS_OP_EVENTS,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = ACTING_USER,
                            .u.page = {.limit = 1, .after.a = event_id - 1}};
    tidings_answer_init(&answer);
    bool ok = !tidings_run(endpoint->shared->config.tidings, &op, &answer);
    if (ok && answer.u.events.n && answer.u.events.rows[0].event_id == event_id) {
        endpoint->event = answer.u.events.rows[0];
        endpoint->has_event = endpoint->is_letter = true;
    }
    tidings_answer_release(&answer);
    if (ok)
        endpoint->letters_after = event_id;
    return ok;
}

/* ---- Reporting ------------------------------------------------------------------------------ */

/* On the engine's thread, or on ours. Under the mutex to the end: whoever sees the flag may then be
 * sure that nothing here is used any more. */
static void report_done(struct tidings_call *call)
{
    struct endpoint *endpoint = call->ctx;
    pthread_mutex_lock(&endpoint->shared->mutex);
    endpoint->reported = true;
    curl_multi_wakeup(endpoint->shared->multi);
    pthread_mutex_unlock(&endpoint->shared->mutex);
}

static void send_report(struct endpoint *endpoint)
{
    endpoint->phase = ENDPOINT_REPORTING;
    endpoint->reported = false;
    endpoint->report = (struct tidings_call){
        .op = &endpoint->op, .answer = &endpoint->answer, .done = report_done, .ctx = endpoint};
    tidings_submit(endpoint->shared->config.tidings, &endpoint->report);
}

/* Where it stands now; the counts are of what happened since the last report. */
static void report(struct endpoint *endpoint, uint64_t delivered, uint64_t failed, uint64_t dead)
{
    int64_t ahead = clock_ahead_ms(endpoint);
    endpoint->op = (struct tidings_op){
        .kind = TIDINGS_OP_WEBHOOK_REPORT,
        .role = TIDINGS_ROLE_SERVICE,
        .user_id = ACTING_USER,
        .u.webhook_report = {.name = {endpoint->name, strlen(endpoint->name)},
                             .generation = endpoint->generation,
                             .position = endpoint->scanned,
                             .attempts = endpoint->attempts,
                             .retry_at = by_clock(endpoint->retry_at, ahead),
                             .failing_since = by_clock(endpoint->failing_since, ahead),
                             .delivered = delivered,
                             .failed = failed,
                             .dead = dead},
    };
    if (endpoint->is_letter && delivered)
        endpoint->op.u.webhook_report.settled = endpoint->event.event_id;
    if (endpoint->dead_event)
        endpoint->op.u.webhook_report.dead_event = endpoint->dead_event;
    endpoint->dead_event = 0;
    if (endpoint->has_event && !endpoint->is_letter)
        endpoint->op.u.webhook_report.waiting_since = endpoint->event.happened_at;
    if (failed)
        endpoint->op.u.webhook_report.last_error =
            (struct tidings_text){endpoint->error, strlen(endpoint->error)};
    send_report(endpoint);
}

/* A report that the engine could not take is given again: it must not be lost while it runs. */
static void finish_report(struct endpoint *endpoint)
{
    enum tidings_err err = tidings_finish(endpoint->shared->config.tidings, &endpoint->report);
    if (err && err != TIDINGS_NOT_FOUND) {
        hold(endpoint);
        return;
    }
    endpoint->phase = ENDPOINT_IDLE;
    endpoint->stale |= err == TIDINGS_NOT_FOUND;
    endpoint->position = endpoint->op.u.webhook_report.position;
    endpoint->skipped = 0;
    endpoint->reported_at = now_ms(endpoint);
}

static bool is_reported(struct endpoint *endpoint)
{
    pthread_mutex_lock(&endpoint->shared->mutex);
    bool reported = endpoint->reported;
    pthread_mutex_unlock(&endpoint->shared->mutex);
    return reported;
}

/* ---- What became of a call ------------------------------------------------------------------ */

static void pass_event(struct endpoint *endpoint)
{
    endpoint->scanned = endpoint->event.event_id;
    endpoint->has_event = false;
    endpoint->attempts = 0;
    endpoint->retry_at = 0;
}

/* The letter is told, or dead once more: either way the next one comes. */
static void end_letter(struct endpoint *endpoint, bool told)
{
    if (!told)
        endpoint->dead_event = endpoint->event.event_id;
    report(endpoint, told, !told, 0);
    endpoint->has_event = endpoint->is_letter = false;
}

static void succeed(struct endpoint *endpoint)
{
    *endpoint->error = '\0';
    if (endpoint->failing_since)
        log_endpoint(endpoint, LOG_INFO, "the webhook works again");
    if (endpoint->is_letter) {
        endpoint->failing_since = 0;
        end_letter(endpoint, true);
        return;
    }
    pass_event(endpoint);
    endpoint->failing_since = 0;
    look_for_event(endpoint); /* the report tells whether more is waiting */
    report(endpoint, 1, 0, 0);
}

/* When it happened is by the clock, as it was then: the lesser of the two ages is not too great, whenever the clock was set. */
static int64_t event_age_ms(const struct endpoint *endpoint)
{
    int64_t now = now_ms(endpoint);
    return least(now, now + clock_ahead_ms(endpoint)) - endpoint->event.happened_at;
}

static void fail(struct endpoint *endpoint)
{
    const struct push_config *config = &endpoint->shared->config;
    if (endpoint->is_letter) {
        log_endpoint(endpoint, LOG_WARN, "the webhook refuses a dead letter again");
        end_letter(endpoint, false);
        return;
    }
    int64_t now = now_ms(endpoint);
    uint64_t random = 0;
    if (!endpoint->failing_since)
        log_endpoint(endpoint, LOG_WARN, "the webhook fails");
    endpoint->failing_since = endpoint->failing_since ? endpoint->failing_since : now;
    endpoint->attempts += endpoint->attempts < UINT32_MAX;
    uint32_t attempts = endpoint->attempts;
    bool dead = message_is_hopeless(event_age_ms(endpoint), now - endpoint->failing_since,
                                    config->give_up_ms, config->kept_ms);
    if (dead) {
        log_endpoint(endpoint, LOG_ERROR, "the webhook's event is given up");
        endpoint->dead_event = endpoint->event.event_id;
        pass_event(endpoint);
        attempts = 1;
        look_for_event(endpoint);
    }
    RAND_bytes((unsigned char *)&random, sizeof random);
    endpoint->retry_at = now + message_backoff_ms(config->backoff_first_ms, config->backoff_most_ms,
                                                  attempts, random);
    report(endpoint, 0, 1, dead);
}

void endpoint_called(struct endpoint *endpoint, CURLcode code)
{
    bool ok = call_succeeded(&endpoint->call, code, endpoint->error);
    call_end(&endpoint->call, endpoint->shared->multi);
    if (ok)
        succeed(endpoint);
    else
        fail(endpoint);
}

/* ---- A step --------------------------------------------------------------------------------- */

static void start_call(struct endpoint *endpoint)
{
    const struct push_config *config = &endpoint->shared->config;
    struct call_target target = {
        .rules = config->rules,
        .ca_file = config->ca_file,
        .timeout_ms = config->timeout_ms,
        .url = endpoint->url,
        .secret = endpoint->secret,
        .old_secret = now_ms(endpoint) < endpoint->old_secret_until ? endpoint->old_secret : NULL,
        .by_tag = !endpoint->events,
        .owner = endpoint,
    };
    const char *wrong = call_start(&endpoint->call, endpoint->shared->multi, &target,
                                   &endpoint->event, endpoint->attempts + 1);
    endpoint->phase = ENDPOINT_CALLING;
    if (wrong) {
        snprintf(endpoint->error, sizeof endpoint->error, "%s", wrong);
        fail(endpoint);
    }
}

/* Nothing waits: where it stands is written down now and then, not for every event passed by. */
static int64_t step_waiting(struct endpoint *endpoint, int64_t now, int64_t most)
{
    bool moved = endpoint->scanned > endpoint->position;
    if (endpoint->skipped >= SKIPPED_MOST ||
        (moved && now - endpoint->reported_at >= REPORT_EVERY_MS))
        report(endpoint, 0, 0, 0);
    return endpoint->look ? 0 : most;
}

/* Between calls: the next one, if there is something to tell and it is time. */
static int64_t step_idle(struct endpoint *endpoint, int64_t most)
{
    int64_t now = now_ms(endpoint);
    if (!endpoint->has_event && endpoint->look && now < endpoint->hold_until)
        return most;
    bool fine = endpoint->has_event || !endpoint->has_letters || look_for_letter(endpoint);
    if (fine && !endpoint->has_event && endpoint->has_letters)
        return 0; /* that one is not kept: the next */
    if (!fine || (!endpoint->has_event && !look_for_event(endpoint))) {
        log_endpoint(endpoint, LOG_ERROR, "the events cannot be read");
        endpoint->hold_until = now + UNREADABLE_MS;
        return most;
    }
    if (!endpoint->has_event)
        return step_waiting(endpoint, now, most);
    int64_t wait = endpoint->retry_at - now;
    if (wait > 0)
        return wait < most ? wait : most;
    if (tidings_term(endpoint->shared->config.tidings) != endpoint->shared->term)
        return 0; /* another server may have called: push.c looks what has become of it */
    start_call(endpoint);
    return 0;
}

int64_t endpoint_step(struct endpoint *endpoint, int64_t most)
{
    if (endpoint->phase == ENDPOINT_REPORTING && is_reported(endpoint))
        finish_report(endpoint);
    if (endpoint->phase == ENDPOINT_HOLDING && now_ms(endpoint) >= endpoint->hold_until)
        send_report(endpoint);
    if (endpoint->phase == ENDPOINT_IDLE && !endpoint->stale)
        return step_idle(endpoint, most);
    return most;
}
