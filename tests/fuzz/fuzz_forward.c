/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as what servers hand to each other in CHANGES and REFUSALS: the first byte says whether an operation, or an answer
 * to which kind of it. What is accepted can be encoded, and is then accepted again.
 */
// sources: src/engine/ops/codec.c src/base/arena.c src/base/buf.c
// libs:
#include <stdlib.h>

#include "engine/ops/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_op_bytes(const uint8_t *data, size_t n, struct arena *arena, struct buf *again)
{
    struct decoder r = decoder_of(data, n);
    struct tidings_op op, back;
    struct tidings_once once, once_back;
    if (!op_decode(&r, arena, &op, &once))
        return;
    op_encode(&op, again);
    struct decoder encoded = decoder_of(again->data, again->len);
    if (again->failed || !op_decode(&encoded, arena, &back, &once_back) || back.kind != op.kind)
        abort();
}

static void check_answer_bytes(enum tidings_op_kind kind, const uint8_t *data, size_t n,
                               struct arena *arena, struct buf *again)
{
    struct decoder r = decoder_of(data, n);
    struct tidings_answer answer = {.err = TIDINGS_OK}, back = {.err = TIDINGS_OK};
    if (!answer_decode(kind, &r, arena, &answer))
        return;
    answer_encode(kind, &answer, again);
    struct decoder encoded = decoder_of(again->data, again->len);
    if (again->failed || !answer_decode(kind, &encoded, arena, &back) || back.err != answer.err)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena arena;
    struct buf again;
    if (!n)
        return 0;
    arena_init(&arena, 1 << 24);
    buf_init(&again, 1 << 20);
    if (data[0] <= TIDINGS_OP_TICKET_SPEND) /* all that change something come first */
        check_answer_bytes((enum tidings_op_kind)data[0], data + 1, n - 1, &arena, &again);
    else
        check_op_bytes(data + 1, n - 1, &arena, &again);
    buf_release(&again);
    arena_release(&arena);
    return 0;
}
