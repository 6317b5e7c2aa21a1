/* SPDX-License-Identifier: MIT */
/*
 * What the cluster engine reads that others may have written: values and names of keys in Redis, rows of passing news, the marks of
 * the clock that servers share, and addresses of databases. The first byte chooses. What is taken must be written as it was read.
 */
// sources: src/engine/cluster/versions.c src/engine/cluster/mirror.c src/engine/cluster/passing.c src/redis/*.c src/sql/url.c
// sources: src/domain/ages.c src/domain/events.c src/domain/readmap.c src/domain/spans.c src/base/arena.c src/base/buf.c
// sources: src/engine/records/*.c
// libs: -lhiredis -lssl -lcrypto -lpthread
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/ages.h"
#include "engine/cluster/mirror.h"
#include "engine/cluster/passing.h"
#include "engine/cluster/versions.h"
#include "sql/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)  \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

static const char run_id[] = "0123456789abcdef0123456789abcdef01234567";

/* As the scripts write it; a number may have zeros before it. */
static void fuzz_version(struct bytes value)
{
    struct version version = {0}, again = {0};
    char text[128];
    if (!version_parse(value, run_id, &version))
        return;
    CHECK(version.version && value.n > sizeof run_id && !memcmp(value.p, "C ", 2));
    int n = snprintf(text, sizeof text, "C %s %" PRIu64 " %" PRIu64, run_id, version.version,
                     version.position);
    struct bytes written = {(const uint8_t *)text, (size_t)n};
    CHECK(version_parse(written, run_id, &again));
    CHECK(again.version == version.version && again.position == version.position);
    text[2] ^= 1; /* of another run */
    CHECK(!version_parse(written, run_id, &again));
}

static void fuzz_name(struct bytes name)
{
    enum mirror_kind kind;
    uint64_t user;
    char own[MIRROR_NAME_MAX];
    if (!mirror_parse(name, &kind, &user))
        return;
    CHECK(kind < MIRROR_KINDS);
    mirror_name(kind, user, own);
    CHECK(strlen(own) == name.n && !memcmp(own, name.p, name.n));
}

/* What was taken can be put again, and is the same then. */
static void fuzz_passing(struct bytes row)
{
    static struct tidings_event events[PASSING_EVENTS], again[PASSING_EVENTS];
    static uint8_t bytes[PASSING_MAX];
    size_t n = passing_take(row, events), used = 0;
    for (size_t i = 0; i < n; i++)
        if (!passing_put(bytes, &used, &events[i]))
            return;
    CHECK(passing_take((struct bytes){bytes, used}, again) == n);
    for (size_t i = 0; i < n; i++)
        CHECK(again[i].type == events[i].type && again[i].happened_at == events[i].happened_at &&
              again[i].actor_user_id == events[i].actor_user_id &&
              again[i].target_id == events[i].target_id && again[i].delta == events[i].delta);
}

static void fuzz_ages(struct bytes row)
{
    enum { NOW_MS = 1000000000, KEEP_MS = 86400000 };
    uint8_t bytes[AGES_BYTES_MAX];
    struct ages ages;
    ages_init(&ages);
    if (!ages_unpack(&ages, row.p, row.n))
        return;
    CHECK(ages_pack(&ages, bytes) == row.n && !memcmp(bytes, row.p, row.n));
    ages_limit(&ages, NOW_MS, KEEP_MS);
    ages_note(&ages, NOW_MS, NOW_MS, KEEP_MS);
    CHECK(ages.n >= 1 && ages.n <= AGES_MARKS);
}

static void fuzz_address(struct bytes bytes)
{
    char text[4096];
    struct sql_url url;
    const char *wrong = NULL;
    if (bytes.n >= sizeof text)
        return;
    memcpy(text, bytes.p, bytes.n);
    text[bytes.n] = '\0';
    if (!sql_url_parse(text, &url, &wrong)) {
        CHECK(wrong && *wrong);
        return;
    }
    CHECK(url.port && strspn(url.database, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789_-") == strlen(url.database));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const targets[])(struct bytes) = {fuzz_version, fuzz_name, fuzz_passing,
                                                    fuzz_ages, fuzz_address};
    if (size)
        targets[data[0] % (sizeof targets / sizeof *targets)]((struct bytes){data + 1, size - 1});
    return 0;
}
