/* SPDX-License-Identifier: MIT */
/*
 * Whether Redis still has what it was told. A mark is written behind all that was told up to its position, by the process that has it; what a process has of
 * a mark it has of everything before. So:
 *
 *     a mark is missing, or says nonsense          all is made anew: Redis was emptied, or a part of it
 *     another process answers than it says         a replica was promoted, or the server started again: back to the position of its mark
 *     it is of another era, or of what is to come  the engine's history is another: all is made anew
 *
 * A slot that has moved to another node of the cluster is answered by a process that other marks name: nothing is lost by that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/wait.h"
#include "consume/redis_parts.h"

enum { MARK_ARGS = 4 };

/* Further back than that it is quicker, and surer, to make all anew. */
#define MARK_BACK_MS (INT64_C(60) * 60 * 1000)

static int64_t marks_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* 0 where there is none. */
static uint64_t marks_era(const struct redis_target *target)
{
    struct tidings_replica replica;
    return tidings_replica_status(target->tidings, &replica) ? 0 : replica.era;
}

static struct bytes mark_text(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

static bool marks_run(struct redis_target *target, struct consumer *consumer,
                      struct redis_call *calls)
{
    char text[CONSUMER_TROUBLE_MAX];
    if (!consume_goes_on(consumer))
        return false;
    redis_run(target->calls->redis, calls, REDIS_MARKS, wait_now_ms() + REDIS_CALLS_WAIT_MS);
    for (size_t i = 0; i < REDIS_MARKS; i++) {
        if (calls[i].outcome == REDIS_DONE)
            continue;
        snprintf(text, sizeof text, "Redis: %.180s", calls[i].message);
        consume_note(consumer, text);
        return false;
    }
    return true;
}

/* ---- Writing ---------------------------------------------------------------------------------- */

static struct redis_script mark_script = {
    .text = "#!lua\n"
            "if ARGV[3] == '1' and redis.call('EXISTS', KEYS[1]) == 0 then return 0 end\n"
            "redis.call('SET', KEYS[1], ARGV[1]..' '..ARGV[2])\n"
            "return 1\n"};

bool redis_marks_write(struct redis_target *target, struct consumer *consumer, bool filling,
                       bool only_there)
{
    struct redis_mark mark = {.filling = filling,
                              .position = consume_position(consumer),
                              .era = marks_era(target),
                              .at_ms = marks_now_ms()};
    struct redis_call calls[REDIS_MARKS];
    struct bytes args[REDIS_MARKS][MARK_ARGS];
    char text[REDIS_MARK_MAX];
    if (!*mark_script.sha)
        redis_script_init(&mark_script); /* one thread writes marks */
    redis_mark_encode(&mark, text);
    for (size_t i = 0; i < REDIS_MARKS; i++) {
        args[i][0] = mark_text(target->mark_names[i]);
        args[i][1] = mark_text(text);
        args[i][2] = redis_run_id;
        args[i][3] = mark_text(only_there ? "1" : "0");
        calls[i] = (struct redis_call){
            .script = &mark_script, .args = args[i], .n_args = MARK_ARGS, .n_keys = 1};
    }
    if (!marks_run(target, consumer, calls))
        return false;
    target->marked = mark.position;
    return true;
}

/* ---- Reading ---------------------------------------------------------------------------------- */

/* What each says, and who has said so. */
static bool marks_read(struct redis_target *target, struct consumer *consumer,
                       char run_ids[REDIS_MARKS][REDIS_RUN_ID_MAX + 1], bool *all)
{
    struct redis_call calls[REDIS_MARKS];
    struct bytes args[REDIS_MARKS][2];
    for (size_t i = 0; i < REDIS_MARKS; i++) {
        args[i][0] = mark_text("GET");
        args[i][1] = mark_text(target->mark_names[i]);
        calls[i] = (struct redis_call){.args = args[i], .n_args = 2, .key = 1};
    }
    if (!marks_run(target, consumer, calls))
        return false;
    *all = true;
    for (size_t i = 0; i < REDIS_MARKS; i++) {
        const struct redisReply *reply = calls[i].reply;
        bool read = reply->type == REDIS_REPLY_STRING &&
                    redis_mark_decode((struct bytes){(const uint8_t *)reply->str, reply->len},
                                      &target->marks[i]);
        *all &= read;
        snprintf(run_ids[i], REDIS_RUN_ID_MAX + 1, "%s", calls[i].run_id);
    }
    return true;
}

bool redis_marks_check(struct redis_target *target, struct consumer *consumer, bool filling,
                       bool *all)
{
    char run_ids[REDIS_MARKS][REDIS_RUN_ID_MAX + 1];
    if (!marks_read(target, consumer, run_ids, all))
        return false;
    for (size_t i = 0; *all && i < REDIS_MARKS; i++)
        *all = target->marks[i].filling == filling;
    return true;
}

/* ---- Looking ---------------------------------------------------------------------------------- */

/* A process that any mark was written to is one that was there. */
static bool is_known_process(const struct redis_target *target, const char *run_id)
{
    for (size_t i = 0; i < REDIS_MARKS; i++)
        if (!strcmp(target->marks[i].run_id, run_id))
            return true;
    return false;
}

/* The least position that another process than it was told to has; UINT64_MAX: none has lost anything. */
static uint64_t marks_least(const struct redis_target *target,
                            char run_ids[REDIS_MARKS][REDIS_RUN_ID_MAX + 1], int64_t *at_ms)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < REDIS_MARKS; i++) {
        const struct redis_mark *mark = &target->marks[i];
        if (!strcmp(mark->run_id, run_ids[i]) || is_known_process(target, run_ids[i]) ||
            mark->position >= least)
            continue;
        least = mark->position;
        *at_ms = mark->at_ms;
    }
    return least;
}

static bool marks_are_of_our_history(const struct redis_target *target)
{
    struct tidings_stats stats;
    uint64_t era = marks_era(target);
    tidings_stats(target->tidings, &stats);
    for (size_t i = 0; i < REDIS_MARKS; i++)
        if (target->marks[i].era != era || target->marks[i].position > stats.newest_id)
            return false;
    return true;
}

bool redis_marks_look(void *ctx, struct consumer *consumer, bool first)
{
    struct redis_target *target = ctx;
    char run_ids[REDIS_MARKS][REDIS_RUN_ID_MAX + 1];
    int64_t at_ms = 0;
    bool all;
    if (first)
        target->marked = 0;
    if (!marks_read(target, consumer, run_ids, &all))
        return false;
    if (consume_is_filling(consumer)) {
        bool lost = !all || marks_least(target, run_ids, &at_ms) != UINT64_MAX;
        return !target->marked || !lost ||
               consume_rebuild(consumer, "Redis has lost keys while they were made");
    }
    if (!all)
        return consume_rebuild(consumer, "keys in Redis are missing");
    if (!marks_are_of_our_history(target))
        return consume_rebuild(consumer, "the keys in Redis are of another history");
    uint64_t least = marks_least(target, run_ids, &at_ms);
    if (least < consume_position(consumer)) {
        if (marks_now_ms() - at_ms > MARK_BACK_MS)
            return consume_rebuild(consumer, "Redis has lost much of what it was told");
        return consume_go_back(consumer, least, "another process of Redis answers") &&
               redis_marks_write(target, consumer, false, true);
    }
    bool write = target->marked != consume_position(consumer) || least != UINT64_MAX;
    return !write || redis_marks_write(target, consumer, false, true);
}
