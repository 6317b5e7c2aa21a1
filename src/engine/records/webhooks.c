/* SPDX-License-Identifier: MIT */
/* The record of a webhook. */
#include "domain/events.h"
#include "engine/records/parts.h"
#include "engine/records/records.h"

enum { WEBHOOK_DISABLED = 1, WEBHOOK_MORE = 2, WEBHOOK_FILLS = 4, WEBHOOK_REBUILD = 8 };

struct bytes webhook_encode(const struct webhook_record *webhook, struct arena *arena)
{
    enum { NUMBERS = 1 + 2 * ID_BYTES + (9 + 3 + 3 + 1) * VARINT_MAX };
    size_t texts =
        webhook->url.n + webhook->secret.n + webhook->last_error.n + webhook->old_secret.n;
    bool more = webhook->events || webhook->old_secret.n;
    uint8_t *to = arena_alloc(arena, NUMBERS + texts);
    if (!to)
        return (struct bytes){NULL, 0};
    size_t n = 0;
    to[n++] = (uint8_t)(VERSION_1 | (webhook->disabled ? WEBHOOK_DISABLED : 0) |
                        (more ? WEBHOOK_MORE : 0) | (webhook->fills ? WEBHOOK_FILLS : 0) |
                        (webhook->rebuild ? WEBHOOK_REBUILD : 0));
    put_id(to + n, webhook->generation);
    n += ID_BYTES;
    put_id(to + n, webhook->created);
    n += ID_BYTES;
#define X(field) n += put_varint(to + n, webhook->field);
    WEBHOOK_FIELDS(X)
#undef X
    n += put_block(to + n, webhook->url);
    n += put_block(to + n, webhook->secret);
    n += put_block(to + n, webhook->last_error);
    if (more) {
        n += put_varint(to + n, webhook->events);
        n += put_varint(to + n, webhook->rotated);
        n += put_block(to + n, webhook->old_secret);
    }
    if (webhook->rebuild)
        n += put_varint(to + n, webhook->rebuild);
    return (struct bytes){to, n};
}

/* Of rows from before there was more than that: nothing. */
static bool read_webhook_more(struct decoder *r, bool more, struct webhook_record *webhook)
{
    webhook->events = more ? read_varint(r) : 0;
    webhook->rotated = more ? read_varint(r) : 0;
    webhook->old_secret = more ? read_block(r) : (struct bytes){NULL, 0};
    return !(webhook->events & ~event_bits_all) && webhook->rotated <= INT64_MAX &&
           !webhook->rotated == !webhook->old_secret.n &&
           more == (webhook->events || webhook->old_secret.n);
}

/* Only what can be made anew is wished to be. */
static bool read_webhook_rebuild(struct decoder *r, uint8_t flags, struct webhook_record *webhook)
{
    webhook->fills = flags & WEBHOOK_FILLS;
    webhook->rebuild = 0;
    if (!(flags & WEBHOOK_REBUILD))
        return true;
    webhook->rebuild = read_varint(r);
    return webhook->fills && is_stamp(webhook->rebuild);
}

bool webhook_decode(struct bytes from, struct webhook_record *webhook)
{
    struct decoder r = decoder_of(from.p, from.n);
    uint8_t flags = read_head(&r, FLAGS_MASK);
    webhook->disabled = flags & WEBHOOK_DISABLED;
    webhook->generation = read_id(&r);
    webhook->created = read_id(&r);
#define X(field) webhook->field = read_varint(&r);
    WEBHOOK_FIELDS(X)
#undef X
    webhook->url = read_block(&r);
    webhook->secret = read_block(&r);
    webhook->last_error = read_block(&r);
    bool more = read_webhook_more(&r, flags & WEBHOOK_MORE, webhook);
    bool rebuild = read_webhook_rebuild(&r, flags, webhook);
    bool times = webhook->retry_at <= INT64_MAX && webhook->failing_since <= INT64_MAX &&
                 webhook->waiting_since <= INT64_MAX;
    return read_end(&r) && is_stamp(webhook->generation) && is_stamp(webhook->created) &&
           is_stamp(webhook->position) && webhook->dead_from <= webhook->position &&
           webhook->attempts <= UINT32_MAX && times && more && rebuild;
}
