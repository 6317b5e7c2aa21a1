/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/wait.h"
#include "consume/consumer_internal.h"

enum { TELL_AGAIN_MS = 10000 /* how often another reason of the same failing is written down */ };

static int64_t consumer_wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct tidings_text consumer_row_name(const struct consumer *consumer)
{
    return (struct tidings_text){consumer->target->name, strlen(consumer->target->name)};
}

static void consumer_row_log(const struct consumer *consumer, enum log_level level,
                             const char *message, const char *error)
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

static struct tidings_op consumer_row_op(const struct consumer *consumer, enum tidings_op_kind kind,
                                         uint64_t position)
{
    return (struct tidings_op){
        .kind = kind,
        .role = TIDINGS_ROLE_SERVICE,
        .user_id = CONSUMER_ACTING_USER,
        .u.webhook_report = {.name = consumer_row_name(consumer),
                             .generation = consumer->generation,
                             .position = position,
                             .fills = consumer->target->fill != NULL,
                             .reconciles = consumer->target->reconcile != NULL},
    };
}

/* In the same term, and if nobody has sent it back, it may be further than the row. */
static void consumer_row_take(struct consumer *consumer, const struct tidings_webhook *row,
                              bool same_term)
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
        consumer_row_log(consumer, LOG_ERROR, "events were removed before they could be told",
                         text);
    }
    consumer->missed = row->dead;
    consumer->has_missed = true;
    snprintf(consumer->told_trouble, sizeof consumer->told_trouble, "%s",
             row->failing_since ? row->last_error.p : "");
}

bool consumer_row_set(struct consumer *consumer, uint64_t term, uint64_t position, bool rebuild)
{
    struct tidings_op op = consumer_row_op(consumer, TIDINGS_OP_CONSUMER_SET, position);
    struct tidings_answer answer;
    op.u.webhook_report.rebuild = rebuild;
    tidings_answer_init(&answer);
    enum tidings_err err = tidings_run(consumer->tidings, &op, &answer);
    if (!err)
        consumer_row_take(consumer, &answer.u.webhook, consumer->term == term);
    consumer->term = err ? 0 : term;
    tidings_answer_release(&answer);
    return !err;
}

bool consumer_row_read(struct consumer *consumer, uint64_t term)
{
    return consumer_row_set(consumer, term, TIDINGS_ID_MAX, false);
}

bool consumer_row_tell(struct consumer *consumer, const struct consumer_report *extra)
{
    struct tidings_op op = consumer_row_op(consumer, TIDINGS_OP_WEBHOOK_REPORT, consumer->position);
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

bool consumer_row_tell_position(struct consumer *consumer)
{
    return consumer_row_tell(consumer, &(struct consumer_report){0});
}

/* ---- What targets say ----------------------------------------------------------------------- */

void consume_note(struct consumer *consumer, const char *trouble)
{
    snprintf(consumer->trouble, sizeof consumer->trouble, "%s", trouble);
    if (*trouble && !consumer->failing_since) {
        consumer->failing_since = consumer_wall_ms();
        consumer_row_log(consumer, LOG_WARN, "the consumer fails", consumer->trouble);
    } else if (!*trouble && consumer->failing_since) {
        consumer->failing_since = 0;
        consumer_row_log(consumer, LOG_INFO, "the consumer works again", "");
    }
    bool first = !*consumer->told_trouble != !*consumer->trouble;
    bool other = strcmp(consumer->told_trouble, consumer->trouble) != 0 &&
                 wait_now_ms() - consumer->told_trouble_ms >= TELL_AGAIN_MS;
    if (consumer->term && (first || other))
        consumer_row_tell_position(consumer);
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
           consumer_row_tell(consumer,
                             &(struct consumer_report){.dead_event = event_id, .reason = reason});
}

bool consume_goes_on(struct consumer *consumer)
{
    uint64_t term = consumer->term, generation = consumer->generation;
    if (!term || tidings_term(consumer->tidings) != term || consumer_is_stopping(consumer))
        return false;
    if (!atomic_exchange(&consumer->changed, false))
        return true;
    return consumer_row_read(consumer, term) && consumer->generation == generation;
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
    consumer_row_log(consumer, LOG_WARN, "the consumer's target is to be made anew", why);
    return consumer->term && consumer_row_set(consumer, consumer->term, TIDINGS_ID_MAX, true);
}

bool consume_go_back(struct consumer *consumer, uint64_t position, const char *why)
{
    consumer_row_log(consumer, LOG_WARN, "the consumer goes back", why);
    return consumer->term && (position >= consumer->position ||
                              consumer_row_set(consumer, consumer->term, position, false));
}
