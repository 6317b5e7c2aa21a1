/* SPDX-License-Identifier: MIT */
/*
 * A reader: a thread that answers. It takes all calls that wait, takes a snapshot, and makes the answers from it, loading what
 * they need for all of them together. So an answer is of one moment, and includes what was committed before it was asked for.
 */
#include "base/thread.h"
#include "domain/ids.h"
#include "engine/cluster/cluster.h"
#include "engine/ops/ops.h"

enum { ROUNDS_MAX = 4096, TRIES_MAX = 3 };

static enum need need_of(enum tidings_op_kind kind)
{
    switch (kind) {
    case TIDINGS_OP_INBOX:
    case TIDINGS_OP_AUTHOR_PAGE:
    case TIDINGS_OP_NOTIFICATIONS:
    case TIDINGS_OP_SCENES:
        return NEED_IDS;
    default:
        return NEED_DELETIONS;
    }
}

/* What the change has said stays: what it is about, and what only it knows. */
static void begin_answer(struct tidings_call *call, struct tidings_answer *said)
{
    struct tidings_answer before = *said;
    answer_clear(call->answer);
    before.memory = call->answer->memory;
    *call->answer = before;
}

bool reader_try(struct reader *reader, struct tidings_call *call, size_t index,
                struct tidings_answer *said)
{
    struct desk *desk = &reader->desk;
    struct desk_view own = desk_view_of(reader->cluster, desk, call->op, index);
    begin_answer(call, said);
    struct reply reply = {call->op, call->answer, call->answer->memory};
    own.view.err = &own.err;
    own.need = need_of(call->op->kind);
    enum tidings_err err = op_answer(&own.view, &reply);
    arena_clear(&desk->scratch);
    if (own.incomplete)
        return false;
    call->answer->seen = memory_shown(reader);
    call->err = err;
    return true;
}

static enum sql_outcome run_all(struct reader *reader, struct tidings_call **calls, size_t n,
                                struct tidings_answer *said)
{
    struct desk *desk = &reader->desk;
    bool ready[READ_BATCH_MAX] = {false};
    size_t left = n;
    buf_literal(&desk->text, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
    memory_want(reader);
    for (int round = 0; left; round++) {
        enum sql_outcome outcome = SQL_DONE;
        if (round) /* the first runs say what is wanted */
            outcome = round < ROUNDS_MAX ? desk_load(desk, round == 1) : SQL_TIMEOUT;
        if (outcome)
            return outcome;
        for (size_t i = 0; i < n; i++) {
            if (ready[i])
                continue;
            ready[i] = reader_try(reader, calls[i], i, &said[i]);
            left -= ready[i];
        }
        if (desk->sheet.failed)
            return SQL_FULL;
    }
    return SQL_DONE;
}

static enum sql_outcome try_batch(struct reader *reader, struct tidings_call **calls, size_t n,
                                  struct tidings_answer *said)
{
    struct desk *desk = &reader->desk;
    if (!desk_connect(reader->cluster, desk, calls_until(calls, n)))
        return SQL_LOST;
    enum sql_outcome outcome = run_all(reader, calls, n, said);
    if (!outcome)
        memory_note(reader);
    desk_tell_refusal(reader->cluster, desk, outcome);
    if (outcome == SQL_LOST)
        desk_disconnect(desk);
    desk_clear(desk);
    return outcome;
}

/* A change that was made, and whose answer could not be. */
static enum tidings_err err_of(const struct tidings_call *call, enum sql_outcome outcome)
{
    return op_writes(call->op->kind) ? TIDINGS_UNCERTAIN : sql_err(outcome);
}

/* Those whose time is over are answered; how many are left, with what was said to them. */
static size_t drop_late(struct tidings_call **calls, struct tidings_answer *said, size_t n)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        if (call_is_late(calls[i])) {
            calls[i]->err = err_of(calls[i], SQL_TIMEOUT);
            calls[i]->done(calls[i]);
            continue;
        }
        said[left] = said[i];
        calls[left++] = calls[i];
    }
    return left;
}

static void run_batch(struct reader *reader, struct tidings_call **calls, size_t n)
{
    struct tidings_answer said[READ_BATCH_MAX];
    enum sql_outcome outcome = SQL_LOST;
    for (size_t i = 0; i < n; i++)
        said[i] = *calls[i]->answer;
    n = memory_recall(reader, calls, said, n);
    for (int i = 0; i < TRIES_MAX && (outcome == SQL_LOST || outcome == SQL_AGAIN); i++) {
        n = drop_late(calls, said, n);
        if (!n)
            return;
        outcome = try_batch(reader, calls, n, said);
    }
    copier_note(reader->cluster, calls, n);
    for (size_t i = 0; i < n; i++) {
        if (outcome)
            calls[i]->err = err_of(calls[i], outcome);
        calls[i]->done(calls[i]);
    }
    if (!outcome)
        memory_fill(reader);
}

/* A snapshot that is left open keeps the server from removing what has been replaced since, and others from changing tables. */
static void end_snapshot(struct desk *desk)
{
    if (desk->sql && sql_run_text(desk->sql, "COMMIT"))
        desk_disconnect(desk);
}

/* It is ended when the answers are out, so that nobody waits for it, and not at all if the next one is wanted already, which ends it
 * anyway. Whoever waits here has none. */
static size_t take(struct reader *reader, struct tidings_call **calls)
{
    struct queue *reads = &reader->cluster->reads;
    size_t n = queue_take_now(reads, calls, READ_BATCH_MAX);
    if (n)
        return n;
    end_snapshot(&reader->desk);
    return queue_take(reads, calls, READ_BATCH_MAX);
}

void *reader_main(void *arg)
{
    struct reader *reader = arg;
    struct tidings_call *calls[READ_BATCH_MAX];
    size_t n;
    thread_name("reader");
    while ((n = take(reader, calls)))
        run_batch(reader, calls, n);
    return NULL;
}
