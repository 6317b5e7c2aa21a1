/* SPDX-License-Identifier: MIT */
/* What the target of keys reads out of Redis, from arbitrary bytes: names of keys, and marks. What is taken is written and read back as the same. */
// sources: src/consume/redis_keys.c src/redis/slot.c
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consume/redis_keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)  \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

static void fuzz_name(struct bytes name)
{
    char own[REDIS_NAME_MAX], companion[REDIS_NAME_MAX];
    enum redis_kind kind;
    uint64_t id;
    if (!redis_key_parse(name, &kind, &id))
        return;
    redis_key_name(kind, id, own);
    redis_key_companion(kind, id, companion);
    CHECK((strlen(own) == name.n && !memcmp(own, name.p, name.n)) ||
          (strlen(companion) == name.n && !memcmp(companion, name.p, name.n)));
}

static void fuzz_mark(struct bytes text)
{
    struct redis_mark mark, again;
    char written[REDIS_MARK_MAX], whole[REDIS_MARK_MAX + REDIS_RUN_ID_MAX + 2];
    if (!redis_mark_decode(text, &mark))
        return;
    CHECK(strlen(mark.run_id) <= REDIS_RUN_ID_MAX && mark.at_ms >= 0);
    redis_mark_encode(&mark, written);
    snprintf(whole, sizeof whole, "%s %s", written, mark.run_id);
    CHECK(redis_mark_decode((struct bytes){(const uint8_t *)whole, strlen(whole)}, &again));
    CHECK(again.filling == mark.filling && again.position == mark.position &&
          again.era == mark.era && again.at_ms == mark.at_ms && !strcmp(again.run_id, mark.run_id));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes text = {data, size};
    fuzz_name(text);
    fuzz_mark(text);
    return 0;
}
