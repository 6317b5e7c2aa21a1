/* SPDX-License-Identifier: MIT */
/*
 * Any bytes to every decoder of the engine's records. The first byte says which; the rest is the
 * record. Whatever is accepted must be sound: see local/record_checks.h.
 */
// sources: src/engine/records/records.c src/engine/records/reactions.c src/engine/records/stories.c src/engine/records/webhooks.c src/base/arena.c src/domain/events.c src/domain/spans.c
// sources: src/domain/readmap.c
// libs:
#include "local/record_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena arena;
    if (!n)
        return 0;
    arena_init(&arena, 1 << 24);
    check_record((enum record_kind)(data[0] % RECORD_KINDS), (struct bytes){data + 1, n - 1},
                 &arena);
    arena_release(&arena);
    return 0;
}
