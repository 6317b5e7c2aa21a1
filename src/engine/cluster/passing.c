/* SPDX-License-Identifier: MIT */
#include "engine/cluster/passing.h"

enum { HEAD_BYTES = 9 };

bool passing_put(uint8_t *bytes, size_t *n, const struct tidings_event *event)
{
    if (*n + HEAD_BYTES + EVENT_RECORD_MAX > PASSING_MAX)
        return false;
    size_t length = event_encode(event, bytes + *n + HEAD_BYTES);
    bytes[*n] = (uint8_t)length;
    put_u64(bytes + *n + 1, (uint64_t)event->happened_at);
    *n += HEAD_BYTES + length;
    return true;
}

size_t passing_take(struct bytes bytes, struct tidings_event events[PASSING_EVENTS])
{
    struct decoder from = decoder_of(bytes.p, bytes.n);
    size_t n = 0;
    while (decoder_left(&from)) {
        size_t length = read_u8(&from);
        int64_t happened_at = (int64_t)read_u64(&from);
        const uint8_t *record = read_bytes(&from, length);
        if (!record || n == PASSING_EVENTS ||
            !event_decode_any((struct bytes){record, length}, &events[n]))
            return 0;
        events[n++].happened_at = happened_at;
    }
    return n;
}
