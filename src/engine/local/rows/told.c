/* SPDX-License-Identifier: MIT */
#include "engine/local/rows/told.h"

#include "domain/ids.h"

size_t told_encode(const struct tidings_event *event, uint8_t to[TOLD_BYTES_MAX])
{
    put_u64(to, (uint64_t)event->happened_at);
    return 8 + event_encode(event, to + 8);
}

static bool told_decode(struct bytes value, struct tidings_event *event)
{
    struct decoder r = decoder_of(value.p, value.n);
    event->event_id = 0;
    event->happened_at = (int64_t)read_u64(&r);
    return !r.bad && event_decode_any((struct bytes){r.at, decoder_left(&r)}, event);
}

bool told_event(const struct change *change, struct tidings_event *event)
{
    if (!change->is_put)
        return false;
    if (change->table == CHANGE_TOLD)
        return told_decode(change->value, event);
    if (change->table != TABLE_EVENT || change->key.n != ID_BYTES)
        return false;
    event->event_id = get_id(change->key.p);
    event->happened_at = id_time_ms(event->event_id);
    return event_decode(change->value, event);
}
