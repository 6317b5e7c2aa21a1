/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a segment of the redo log. The first byte says whether another segment follows, and whether to
 * make the checksums right first, so that what lies behind them is reached. No record is visited twice or out of
 * order, and every change of one is within it. Which event it is about is asked of each. The third bit of the first byte asks for the format before.
 */
// sources: src/engine/local/storage/redo_read.c src/engine/local/storage/files.c src/engine/local/rows/told.c src/engine/records/records.c src/domain/events.c src/domain/ids.c src/base/arena.c src/base/crc32c.c
// libs: -lpthread
#include <stdlib.h>

#include "base/crc32c.h"
#include "engine/local/rows/told.h"
#include "engine/local/storage/redo_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct seen {
    uint64_t last;
    struct bytes segment;
};

static bool check(void *ctx, const struct redo_record *record)
{
    struct seen *seen = ctx;
    struct decoder r = decoder_of(record->changes.p, record->changes.n);
    struct change change;
    if (record->number != seen->last + 1)
        abort();
    seen->last = record->number;
    while (change_decode(&r, &change)) {
        bool told = !change_is_row(change.table);
        if (!told && change.table >= TABLE_COUNT)
            abort();
        if (change.key.n > (told ? 0 : table_key_max((enum table)change.table)))
            abort();
        if (change.is_put && (change.value.p < record->changes.p ||
                              change.value.p + change.value.n > seen->segment.p + seen->segment.n))
            abort();
        struct tidings_event event;
        told_event(&change, &event);
    }
    return true;
}

/* Numbers the records and makes their checksums, as far as their lengths make sense. */
static void mend(uint8_t *bytes, size_t n, bool before)
{
    struct redo_header header = {.salt = 7, .first = 1};
    if (n < REDO_HEADER_BYTES)
        return;
    redo_header_encode(&header, bytes);
    if (before) {
        put_u32(bytes + 8, REDO_FORMAT_OLDEST);
        put_u32(bytes + 40, crc32c(0, bytes, 40));
        return;
    }
    uint64_t number = 0;
    for (size_t at = REDO_HEADER_BYTES; at + RECORD_HEAD_BYTES < n;) {
        size_t left = n - at - RECORD_HEAD_BYTES, length = bytes[at + 3];
        if (!length || length > left)
            return;
        number++;
        struct redo_record record = {.number = number,
                                     .synced = number - 1,
                                     .changes = {bytes + at + RECORD_HEAD_BYTES, length}};
        redo_head_encode(&record, header.salt, bytes + at);
        at += record_bytes(length);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!n)
        return 0;
    uint8_t *copy = malloc(n);
    if (!copy)
        return 0;
    memcpy(copy, data + 1, n - 1);
    if (data[0] & 2)
        mend(copy, n - 1, data[0] & 4);
    struct seen seen = {.segment = {copy, n - 1}};
    struct redo_scan scan = {.visit = check, .ctx = &seen};
    enum tidings_err err = redo_scan_segment(&scan, 1, data[0] & 1, seen.segment);
    if (!err && scan.end.segment && scan.end.offset > n - 1)
        abort();
    free(copy);
    return 0;
}
