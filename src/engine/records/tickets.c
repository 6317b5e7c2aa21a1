/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "engine/records/records.h"

enum { SPENT_BYTES = TIDINGS_TICKET_BYTES + 8 };

/* Keys over HTTP are hashes. */
const uint8_t once_tickets[ONCE_BYTES] = {255, 255, 255, 255, 255, 255, 255, 255,
                                          255, 255, 255, 255, 255, 255, 255, 255};

bool once_is_tickets(const uint8_t key[ONCE_BYTES])
{
    return !memcmp(key, once_tickets, ONCE_BYTES);
}

size_t spent_encode(const struct spent_record *spent, uint8_t to[SPENT_RECORD_MAX])
{
    for (size_t i = 0; i < spent->n; i++) {
        memcpy(to + i * SPENT_BYTES, spent->at[i].name, TIDINGS_TICKET_BYTES);
        put_u64(to + i * SPENT_BYTES + TIDINGS_TICKET_BYTES, (uint64_t)spent->at[i].until_ms);
    }
    return spent->n * SPENT_BYTES;
}

bool spent_decode(struct bytes from, struct spent_record *spent)
{
    struct decoder r = decoder_of(from.p, from.n);
    spent->n = 0;
    if (from.n > SPENT_RECORD_MAX || from.n % SPENT_BYTES)
        return false;
    for (size_t i = 0; i < from.n / SPENT_BYTES; i++) {
        memcpy(spent->at[i].name, read_bytes(&r, TIDINGS_TICKET_BYTES), TIDINGS_TICKET_BYTES);
        uint64_t until = read_u64(&r);
        if (!until || until > INT64_MAX - TIDINGS_TICKET_MS)
            return false;
        spent->at[i].until_ms = (int64_t)until;
        spent->n = i + 1;
    }
    return true;
}
