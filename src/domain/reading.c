/* SPDX-License-Identifier: MIT */
#include "domain/reading.h"

struct reading reading_write(int64_t time, uint64_t scene, uint64_t message)
{
    if (!scene)
        return (struct reading){.entered_at = time};
    return (struct reading){.read_at = time, .scene = scene, .message = message};
}

struct reading reading_erasure(int64_t time)
{
    return (struct reading){.erased_at = time};
}

static bool is_further(const struct reading *a, const struct reading *b)
{
    if (a->read_at != b->read_at)
        return a->read_at > b->read_at;
    if (a->scene != b->scene)
        return a->scene > b->scene;
    return a->message > b->message;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct reading reading_join(struct reading a, struct reading b)
{
    struct reading joined = is_further(&a, &b) ? a : b;
    joined.entered_at = later(a.entered_at, b.entered_at);
    joined.erased_at = later(a.erased_at, b.erased_at);
    return joined;
}

struct reading_shown reading_show(const struct reading *reading, int64_t cleared_at)
{
    int64_t erased_at = later(reading->erased_at, cleared_at);
    if (reading->read_at > erased_at)
        return (struct reading_shown){true, reading->read_at, reading->scene, reading->message};
    if (reading->entered_at > erased_at)
        return (struct reading_shown){.any = true, .modified_at = reading->entered_at};
    return (struct reading_shown){.any = false};
}

bool reading_same(const struct reading_shown *a, const struct reading_shown *b)
{
    return a->any == b->any && a->modified_at == b->modified_at && a->scene == b->scene &&
           a->message == b->message;
}

int64_t reading_time(int64_t device_ms, int64_t now_ms)
{
    return device_ms && device_ms < now_ms ? device_ms : now_ms;
}
