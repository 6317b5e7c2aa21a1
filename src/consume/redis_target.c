/* SPDX-License-Identifier: MIT */
#include "consume/redis_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consume/redis_parts.h"

/* A list may be told of twice in a row. */
static void redis_target_note(struct redis_target *target, struct redis_about about)
{
    const struct redis_about *last =
        target->n_different ? &target->different[target->n_different - 1] : NULL;
    if (last && last->kind == about.kind && last->id == about.id)
        return;
    target->comparison.different++;
    if (target->n_different < sizeof target->different / sizeof *target->different)
        target->different[target->n_different++] = about;
    else
        target->comparison.left++;
}

static void redis_target_note_comparison(struct redis_target *target)
{
    const struct redis_calls *calls = target->calls;
    for (size_t i = 0; i < calls->n_different; i++)
        redis_target_note(target, calls->different[i]);
    if (!calls->compares || !calls->n_refused)
        return;
    target->comparison.left += calls->n_refused;
    snprintf(target->comparison.error, sizeof target->comparison.error, "%s", calls->trouble);
}

bool redis_target_run(struct redis_target *target, struct consumer *consumer)
{
    struct redis_calls *calls = target->calls;
    if (!consume_goes_on(consumer))
        return false;
    bool fine = redis_calls_run(calls);
    for (size_t i = 0; i < calls->n_missing; i++)
        if (target->n_missing < sizeof target->missing / sizeof *target->missing)
            target->missing[target->n_missing++] = calls->missing[i];
    redis_target_note_comparison(target);
    if (!fine)
        consume_note(consumer, calls->trouble);
    return fine;
}

bool redis_target_make_room(struct redis_target *target, struct consumer *consumer)
{
    return !redis_calls_full(target->calls) || redis_target_run(target, consumer);
}

bool redis_target_ask(struct redis_target *target, struct consumer *consumer,
                      const struct tidings_op *op, struct tidings_answer *answer, bool *found)
{
    char text[CONSUMER_TROUBLE_MAX];
    enum tidings_err err = tidings_run(target->tidings, op, answer);
    bool gone = err == TIDINGS_NOT_FOUND || err == TIDINGS_DELETED;
    if (found)
        *found = !err;
    if (!err || (found && gone))
        return true;
    snprintf(text, sizeof text, "the engine does not answer: %s", tidings_err_text(err));
    consume_note(consumer, text);
    return false;
}

/* Connections that nobody uses are closed by Redis, and opened again when they are needed. */
static void redis_target_rest(void *ctx)
{
    struct redis_target *target = ctx;
    target->marked = 0;
    target->n_missing = 0;
    memset(&target->walk, 0, sizeof target->walk);
}

const struct consumer_target redis_target = {
    .name = ".redis",
    .tell = redis_events_tell,
    .fill = redis_fill_step,
    .reconcile = redis_reconcile_step,
    .look = redis_marks_look,
    .rest = redis_target_rest,
};

/* ---- Life ----------------------------------------------------------------------------------- */

struct redis_target *redis_target_new(struct tidings *tidings, const struct redis_options *options,
                                      uint32_t page, const char **message)
{
    struct redis_target *target = calloc(1, sizeof *target);
    struct tidings_settings settings;
    *message = "out of memory";
    if (!target)
        return NULL;
    target->tidings = tidings;
    target->page = page < REDIS_MEMBERS ? page : REDIS_MEMBERS;
    target->ids_max = tidings_settings_of(tidings, &settings) ? 1 : (uint32_t)settings.ids_max;
    target->calls = redis_calls_new(options, message);
    tidings_answer_init(&target->answer);
    tidings_answer_init(&target->nested);
    redis_mark_names(target->mark_names);
    if (target->calls)
        return target;
    redis_target_free(target);
    return NULL;
}

void redis_target_free(struct redis_target *target)
{
    if (!target)
        return;
    redis_calls_free(target->calls);
    tidings_answer_release(&target->answer);
    tidings_answer_release(&target->nested);
    free(target);
}
