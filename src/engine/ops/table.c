/* SPDX-License-Identifier: MIT */
/* The table of operations. A row follows from TIDINGS_OPS: change_… if it writes, answer_… in any case. */
#include "engine/ops/halves.h"

enum tidings_err answer_nothing(struct view *view, struct reply *reply)
{
    (void)view;
    (void)reply;
    return TIDINGS_OK;
}

#define CHANGE_0(lower) NULL
#define CHANGE_1(lower) change_##lower

const struct op_halves op_table[TIDINGS_OP_COUNT] = {
#define X(name, lower, writes, args, answer) \
    [TIDINGS_OP_##name] = {CHANGE_##writes(lower), answer_##lower},
    TIDINGS_OPS(X)
#undef X
};

static size_t messages_bytes(const struct tidings_op *op)
{
    size_t sum = 0;
    for (size_t i = 0; i < op->u.scene.n_messages; i++)
        sum += op->u.scene.messages[i].text.n;
    return sum;
}

size_t op_bytes(const struct tidings_op *op)
{
    switch (op->kind) {
    case TIDINGS_OP_PUBLISH:
        return op->u.publish.body.n;
    case TIDINGS_OP_EDIT:
        return op->u.edit.body.n;
    case TIDINGS_OP_COMMENT:
        return op->u.comment.body.n;
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
        return messages_bytes(op);
    default:
        return 0;
    }
}
