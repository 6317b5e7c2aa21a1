/* SPDX-License-Identifier: MIT */
/*
 * Operations that happen once: the rendering of the answer is kept, in the same step as the change, under the user's
 * key, and forgotten after a time.
 */
#include "engine/ops/ops.h"

uint64_t once_oldest_kept(const struct view *view)
{
    return view_oldest_id(view, (int64_t)view->settings->once_hours * 60 * 60 * 1000);
}

enum tidings_err once_verdict(struct view *view, const struct tidings_op *op, bool *happened)
{
    struct once_record once;
    *happened = view->rows->get_once(view, op->user_id, op->once->key, &once) &&
                once.stamp >= once_oldest_kept(view);
    if (!*happened)
        return TIDINGS_OK;
    bool same = !memcmp(once.fingerprint, op->once->fingerprint, ONCE_BYTES);
    return same ? TIDINGS_OK : TIDINGS_KEY_REUSED;
}

void once_keep(struct view *view, const struct tidings_op *op, struct tidings_text answer)
{
    struct once_record once = {
        .stamp = view->stamp,
        .fingerprint = op->once->fingerprint,
        .answer = bytes_of(answer),
    };
    view->rows->put_once(view, op->user_id, op->once->key, &once);
}

/* However long ago it happened: it is remembered since it was just asked for. */
enum tidings_err once_recall(struct view *view, struct reply *reply)
{
    struct once_record once;
    if (!view->rows->get_once(view, reply->op->user_id, reply->op->once->key, &once))
        return TIDINGS_UNCERTAIN;
    reply->answer->stored = view_text(view, reply->arena, once.answer);
    return TIDINGS_OK;
}
