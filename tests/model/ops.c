/* SPDX-License-Identifier: MIT */
#include "ops.h"

static const struct op_row *const rows[TIDINGS_OP_COUNT] = {
#define X(name, lower, writes, args, answer) [TIDINGS_OP_##name] = &row_##lower,
    TIDINGS_OPS(X)
#undef X
};

const struct op_row *op_row(enum tidings_op_kind kind)
{
    return (unsigned)kind < TIDINGS_OP_COUNT ? rows[kind] : NULL;
}
