/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a message of another server: records, the end of its log, how far a follower is, a text, the name of a base image. Every record and
 * change lies within the message, texts end, and a name that is taken is the one that would be given.
 */
// sources: src/engine/local/tail.c src/engine/local/peer_messages.c src/engine/local/rows/told.c src/engine/local/storage/redo_read.c
// sources: src/engine/local/storage/files.c src/engine/local/storage/image.c src/engine/local/storage/kv.c src/engine/local/storage/chain.c
// sources: src/engine/local/storage/redo_write.c src/engine/local/storage/store.c src/engine/local/storage/state.c src/engine/local/storage/keeper.c
// sources: src/engine/local/storage/manifest.c src/engine/local/storage/rehearsal.c src/engine/records/records.c src/domain/*.c src/base/*.c src/peer/wire.c
// libs: -llmdb -lssl -lcrypto -lpthread -lm
#include <stdlib.h>

#include "engine/local/peers.h"
#include "engine/local/rows/told.h"
#include "engine/local/storage/image.h"
#include "engine/local/tail.h"

enum { END_BYTES = 4 * 8 + CHAIN_BYTES, SEEN_BYTES = 2 * 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_records(const uint8_t *data, size_t n)
{
    struct decoder r = decoder_of(data, n);
    struct redo_record record;
    while (record_unpack(&r, &record)) {
        struct decoder changes = decoder_of(record.changes.p, record.changes.n);
        struct tidings_event event;
        struct change change;
        if (record.changes.p < data || record.changes.p + record.changes.n > data + n)
            abort();
        while (change_decode(&changes, &change))
            told_event(&change, &event);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char text[32], name[BASE_NAME_BYTES];
    struct decoder r = decoder_of(data, n);
    struct peer_end end;
    struct peer_seen seen;
    struct base base;
    check_records(data, n);
    if (peer_read_end((struct bytes){data, n}, &end) != (n == END_BYTES) ||
        peer_read_seen((struct bytes){data, n}, &seen) != (n == SEEN_BYTES))
        abort();
    peer_read_text(&r, text, sizeof text);
    if (memchr(text, '\0', sizeof text) == NULL)
        abort();
    if (base_parse(text, &base)) {
        base_name(&base, name);
        if (strcmp(name, text) != 0)
            abort();
    }
    return 0;
}
