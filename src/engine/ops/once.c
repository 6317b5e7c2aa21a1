/* SPDX-License-Identifier: MIT */
/*
 * The course of an operation, and those that happen once: the rendering of the answer is kept, in the same step as the
 * change, under the user's key, and forgotten after a time.
 */
#include "engine/ops/ops.h"

uint64_t once_oldest_kept(const struct view *view)
{
    return view_oldest_id(view, (int64_t)view->settings->once_hours * 60 * 60 * 1000);
}

/* Whether it happened before. OK, or KEY_REUSED if the key was used for something else. */
static enum tidings_err verdict(struct view *view, const struct tidings_op *op, bool *happened)
{
    struct once_record once;
    *happened = view->rows->get_once(view, op->user_id, op->once->key, &once) &&
                once.stamp >= once_oldest_kept(view);
    if (!*happened)
        return TIDINGS_OK;
    bool same = !memcmp(once.fingerprint, op->once->fingerprint, ONCE_BYTES);
    return same ? TIDINGS_OK : TIDINGS_KEY_REUSED;
}

/* The answer is made here and now, since its rendering is kept in the same step as the change. */
static void keep_answer(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    struct tidings_text bytes = {NULL, 0};
    op_table[op->kind].answer(view, reply);
    if (!view_failed(view) && !op->once->render(op->once, reply->answer, &bytes))
        view_fail(view, TIDINGS_NO_MEMORY);
    struct once_record once = {
        .stamp = view->stamp,
        .fingerprint = op->once->fingerprint,
        .answer = bytes_of(bytes),
    };
    view->rows->put_once(view, op->user_id, op->once->key, &once);
}

enum tidings_err op_change(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    bool happened = false;
    enum tidings_err err = op->once ? verdict(view, op, &happened) : TIDINGS_OK;
    if (err || happened)
        return err;
    err = op_table[op->kind].change(view, reply);
    if (!err && op->once)
        keep_answer(view, reply);
    return err;
}

/* However long ago it happened: it is remembered since it was just asked for. */
static enum tidings_err recall(struct view *view, struct reply *reply)
{
    struct once_record once;
    if (!view->rows->get_once(view, reply->op->user_id, reply->op->once->key, &once))
        return TIDINGS_UNCERTAIN;
    reply->answer->stored = view_text(view, reply->arena, once.answer);
    return TIDINGS_OK;
}

enum tidings_err op_answer(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    enum tidings_err err = op->once ? recall(view, reply) : op_table[op->kind].answer(view, reply);
    if (!err)
        err = *view->err;
    bool unmade = err == TIDINGS_CORRUPT || err == TIDINGS_NO_MEMORY;
    return unmade && op_writes(op->kind) ? TIDINGS_UNCERTAIN : err;
}
