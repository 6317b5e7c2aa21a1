/* SPDX-License-Identifier: MIT */
/*
 * Lines of facts from arbitrary bytes, as of an export and as of others. What is taken is written, read and written again: both
 * lines must be the same.
 */
// sources: src/engine/facts/fact.c src/engine/facts/line.c src/base/arena.c src/base/buf.c src/base/json_out.c src/base/utf8.c
// sources: src/domain/events.c src/domain/ids.c src/domain/json.c
#include <stdlib.h>
#include <string.h>

#include "engine/facts/fact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)  \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

enum { MEMORY = 1 << 24 };

static bool read_copy(const void *line, size_t n, bool own, struct arena *arena, struct fact *fact)
{
    struct refusal refusal;
    char *copy = malloc(n ? n : 1); /* with no room behind it */
    memcpy(copy, line, n);
    char *kept = arena_text(arena, copy, n);
    struct fact ignored;
    bool taken = fact_read(copy, n, own, arena, &ignored, &refusal);
    free(copy);
    CHECK(taken == fact_read(kept, n, own, arena, fact, &refusal));
    CHECK(taken == !refusal.reason);
    return taken;
}

static void fuzz_line(const uint8_t *data, size_t size, bool own)
{
    struct fact fact;
    struct buf first, second;
    struct arena arena;
    arena_init(&arena, MEMORY);
    buf_init(&first, MEMORY);
    buf_init(&second, MEMORY);
    if (read_copy(data, size, own, &arena, &fact) && own) {
        fact_write(&fact, &first);
        bool has_ids = true; /* a message without one is of others */
        for (size_t i = 0; i < fact.messages.n; i++)
            has_ids &= fact.messages.at[i].id != 0;
        CHECK(!first.failed && !memchr(first.data, '\n', first.len - 1));
        if (has_ids) {
            CHECK(read_copy(first.data, first.len - 1, true, &arena, &fact));
            fact_write(&fact, &second);
            CHECK(first.len == second.len && !memcmp(first.data, second.data, first.len));
        }
    }
    buf_release(&first);
    buf_release(&second);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_line(data, size, true);
    fuzz_line(data, size, false);
    return 0;
}
