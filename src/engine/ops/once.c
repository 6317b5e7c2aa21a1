/* SPDX-License-Identifier: MIT */
/*
 * The course of an operation, and those that happen once: the answer is kept, in the same step as the change, under the user's
 * key, and forgotten after a time. It is rendered when it is given: by the server that was asked, which need not be the writer.
 * Former versions kept the rendering itself, which never begins with a zero.
 */
#include "engine/ops/codec.h"
#include "engine/ops/ops.h"

#define KEPT_MAX  ((size_t)8 << 20)
#define KEPT_MARK '\0'

uint64_t once_oldest_kept(const struct view *view)
{
    return view_oldest_id(view, (int64_t)view->settings->once_hours * 60 * 60 * 1000);
}

/* The encoded answer of a kept one, if it is to an operation of that kind; false: it is not. */
static bool read_kept(struct bytes kept, enum tidings_op_kind kind, struct decoder *r)
{
    *r = decoder_of(kept.p, kept.n);
    return read_u8(r) == KEPT_MARK && read_varint(r) == (uint64_t)kind && !r->bad;
}

static bool is_rendering(struct bytes kept)
{
    return kept.n && kept.p[0] != KEPT_MARK;
}

/* Whether it happened before. OK, or KEY_REUSED if the key was used for something else. */
static enum tidings_err verdict(struct view *view, const struct tidings_op *op, bool *happened)
{
    struct once_record once;
    *happened = view->rows->get_once(view, op->user_id, op->once->key, &once) &&
                once.stamp >= once_oldest_kept(view);
    if (!*happened)
        return TIDINGS_OK;
    struct decoder r;
    bool same = !memcmp(once.fingerprint, op->once->fingerprint, ONCE_BYTES) &&
                (is_rendering(once.answer) || read_kept(once.answer, op->kind, &r));
    return same ? TIDINGS_OK : TIDINGS_KEY_REUSED;
}

/* The answer is made here and now, since it is kept in the same step as the change. */
static void keep_answer(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    struct buf kept;
    buf_init(&kept, KEPT_MAX);
    op_table[op->kind].answer(view, reply);
    buf_char(&kept, KEPT_MARK);
    buf_varint(&kept, op->kind);
    answer_encode(op->kind, reply->answer, &kept);
    if (kept.failed)
        view_fail(view, TIDINGS_NO_MEMORY);
    struct once_record once = {
        .stamp = view->stamp,
        .fingerprint = op->once->fingerprint,
        .answer = {(const uint8_t *)kept.data, kept.len},
    };
    view->rows->put_once(view, op->user_id, op->once->key, &once);
    buf_release(&kept);
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

/* The rendering of an answer that was kept; with a p of NULL if it is damaged, or memory is short. */
static struct tidings_text render_kept(struct view *view, struct reply *reply, struct bytes kept)
{
    const struct tidings_op *op = reply->op;
    struct tidings_answer answer = {.err = TIDINGS_OK};
    struct tidings_text bytes = {NULL, 0};
    struct decoder r;
    if (is_rendering(kept))
        return view_text(view, reply->arena, kept);
    if (!read_kept(kept, op->kind, &r) || !answer_decode(op->kind, &r, reply->arena, &answer) ||
        !op->once->render(op->once, &answer, &bytes))
        return (struct tidings_text){NULL, 0};
    return view_text(view, reply->arena, bytes_of(bytes));
}

/* However long ago it happened: it is remembered since it was just asked for. */
static enum tidings_err recall(struct view *view, struct reply *reply)
{
    struct once_record once;
    if (!view->rows->get_once(view, reply->op->user_id, reply->op->once->key, &once))
        return TIDINGS_UNCERTAIN;
    reply->answer->stored = render_kept(view, reply, once.answer);
    return reply->answer->stored.p ? TIDINGS_OK : TIDINGS_UNCERTAIN;
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
