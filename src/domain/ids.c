/* SPDX-License-Identifier: MIT */
#include "domain/ids.h"

#include "tidings.h"

uint64_t id_next(uint64_t last, int64_t now_ms)
{
    uint64_t fresh = id_floor(now_ms);
    uint64_t next = last + ID_STEP;
    if (fresh > next)
        next = fresh;
    return next > TIDINGS_ID_MAX ? 0 : next;
}

int64_t id_time_ms(uint64_t id)
{
    return ID_EPOCH_MS + (int64_t)(id >> ID_TIME_SHIFT);
}

uint64_t id_floor(int64_t time_ms)
{
    if (time_ms <= ID_EPOCH_MS)
        return 0;
    uint64_t since = (uint64_t)(time_ms - ID_EPOCH_MS);
    if (since > TIDINGS_ID_MAX >> ID_TIME_SHIFT)
        return TIDINGS_ID_MAX;
    return since << ID_TIME_SHIFT;
}
