/* SPDX-License-Identifier: MIT */
/* What operators and targets wish: that a target be made anew, that it be compared, that dead letters be told again. */
#include "base/log.h"
#include "base/wait.h"
#include "consume/consumer_internal.h"

enum { FILL_TELL_MS = 10000 /* how often the log says how far filling is */ };

/* ---- Making it anew ------------------------------------------------------------------------- */

static void consumer_fill_log(const struct consumer *consumer, const char *message)
{
    struct log_line line;
    log_begin(&line, LOG_INFO, message);
    log_text(&line, "consumer", consumer->target->name + 1);
    log_u64(&line, "users", consumer->fill.done);
    log_end(&line);
}

/* Under a new number, so that whoever wishes it later is not taken for fulfilled. */
static bool consumer_fill_begin(struct consumer *consumer)
{
    if (!consumer_row_set(consumer, consumer->term, TIDINGS_ID_MAX, true))
        return false;
    consumer->filling = consumer->wish;
    consumer->reconciling = 0; /* what was compared before is of no worth */
    consumer->fill = (struct consumer_fill){0};
    consumer->fill_told_ms = wait_now_ms();
    consumer_fill_log(consumer, "the consumer's target is made anew");
    return true;
}

/* What was wished, or missed, meanwhile stays wished. */
static bool consumer_fill_end(struct consumer *consumer)
{
    if (!consumer_row_tell(consumer, &(struct consumer_report){.rebuilt = consumer->filling}))
        return false;
    consumer_fill_log(consumer, "the consumer's target is made");
    consumer->filling = 0;
    return consumer_row_read(consumer, consumer->term);
}

bool consumer_fill_step(struct consumer *consumer)
{
    if (!consumer->wish || !consumer->target->fill)
        return true;
    if (consumer->filling != consumer->wish && !consumer_fill_begin(consumer))
        return false;
    switch (consumer->target->fill(consumer->ctx, consumer, &consumer->fill)) {
    case CONSUMER_FILL_FAILED:
        return false;
    case CONSUMER_FILL_DONE:
        return consumer_fill_end(consumer);
    case CONSUMER_FILL_MORE:
        break;
    }
    if (wait_now_ms() - consumer->fill_told_ms >= FILL_TELL_MS) {
        consumer_fill_log(consumer, "the consumer's target is being made anew");
        consumer->fill_told_ms = wait_now_ms();
    }
    return consumer->term != 0;
}

/* ---- Comparing ------------------------------------------------------------------------------ */

static void consumer_compare_log(const struct consumer *consumer, const char *message)
{
    struct log_line line;
    log_begin(&line, LOG_INFO, message);
    log_text(&line, "consumer", consumer->target->name + 1);
    log_u64(&line, "looked_at", consumer->comparison.done);
    log_end(&line);
}

bool consumer_compare_step(struct consumer *consumer)
{
    bool fills = consumer->wish && consumer->target->fill;
    if (!consumer->reconcile || !consumer->target->reconcile || fills)
        return true;
    if (consumer->reconciling != consumer->reconcile) {
        consumer->reconciling = consumer->reconcile;
        consumer->comparison = (struct consumer_fill){0};
        consumer_compare_log(consumer, "what stands at the consumer's target is compared");
    }
    switch (consumer->target->reconcile(consumer->ctx, consumer, &consumer->comparison)) {
    case CONSUMER_FILL_FAILED:
        return false;
    case CONSUMER_FILL_MORE:
        return consumer->term != 0;
    case CONSUMER_FILL_DONE:
        break;
    }
    if (!consumer_row_tell(consumer,
                           &(struct consumer_report){.reconciled = consumer->reconciling}))
        return false;
    consumer_compare_log(consumer, "what stands at the consumer's target was compared");
    return consumer_row_read(consumer, consumer->term);
}

/* ---- Dead letters --------------------------------------------------------------------------- */

/* The event, if it is kept. False: it cannot be read now. */
static bool consumer_letter_read(struct consumer *consumer, uint64_t event_id,
                                 struct tidings_event *event, bool *found)
{
    struct tidings_op op = {.kind = TIDINGS_OP_EVENTS,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = CONSUMER_ACTING_USER,
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
static bool consumer_letter_tell(struct consumer *consumer, uint64_t event_id)
{
    struct tidings_event event;
    struct consumer_page page = {.events = &event, .n = 1};
    bool found;
    if (!consumer_letter_read(consumer, event_id, &event, &found))
        return false;
    if (!found)
        return consumer_row_tell(
            consumer, &(struct consumer_report){.dead_event = event_id,
                                                .reason = "the event is not kept any more"});
    if (!consumer->target->tell(consumer->ctx, consumer, &page) || !page.done)
        return false;
    consume_note(consumer, "");
    if (page.refused)
        return consumer->term != 0;
    consumer->told++;
    return consumer->term &&
           consumer_row_tell(consumer, &(struct consumer_report){.settled = event_id});
}

bool consumer_letters_tell(struct consumer *consumer)
{
    struct tidings_op op = {.kind = TIDINGS_OP_LETTERS,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = CONSUMER_ACTING_USER,
                            .u.letters = {.name = consumer_row_name(consumer),
                                          .again = true,
                                          .limit = consumer->limit}};
    struct tidings_answer answer;
    if (!consumer->has_letters_again)
        return true;
    tidings_answer_init(&answer);
    bool fine = !tidings_run(consumer->tidings, &op, &answer);
    size_t n = fine ? answer.u.letters.n : 0;
    for (size_t i = 0; fine && i < n; i++)
        fine = consumer_letter_tell(consumer, answer.u.letters.rows[i].event_id);
    tidings_answer_release(&answer);
    if (fine && !n)
        consumer->has_letters_again = false;
    return fine;
}
