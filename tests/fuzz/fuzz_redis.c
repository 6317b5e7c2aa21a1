/* SPDX-License-Identifier: MIT */
/*
 * What the Redis client reads, from arbitrary bytes. The first byte chooses: lists of nodes, errors that say where a slot is, or answers off
 * the wire, in pieces, each looked at as one to CLUSTER SLOTS and to INFO.
 */
// sources: src/redis/address.c src/redis/reader.c src/redis/slot.c src/redis/told.c src/base/arena.c
// libs: -lhiredis
#include <stdlib.h>
#include <string.h>

#include "redis/address.h"
#include "redis/reader.h"
#include "redis/redis.h"
#include "redis/told.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)  \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

/* What was taken is written and read back as the same. */
static void check_address(const struct address *address)
{
    char text[ADDRESS_TEXT_MAX];
    struct address back;
    CHECK(address->port && redis_address_is_host(address->host, strlen(address->host)));
    redis_address_print(address, text);
    CHECK(!strchr(address->host, ':') == (text[0] != '['));
    CHECK(redis_address_parse(text, strlen(text), &back) && redis_address_same(address, &back));
}

static void fuzz_list(const char *text)
{
    struct address address;
    bool bad = false;
    while (redis_address_next(&text, &address, &bad))
        check_address(&address);
    CHECK(bad || !*text);
}

static void fuzz_error(const char *text, size_t n)
{
    uint16_t slot = REDIS_SLOTS;
    struct address to;
    told_single(text, n);
    CHECK(told_kind(text, n) <= TOLD_NO_SCRIPT);
    if (!told_redirection(text, n, "same.example", &slot, &to))
        return;
    CHECK(slot < REDIS_SLOTS);
    check_address(&to);
}

static void check_reply(const struct redisReply *reply, bool *has_error)
{
    CHECK(reply->type >= REDIS_REPLY_STRING && reply->type <= REDIS_REPLY_ERROR);
    *has_error |= reply->type == REDIS_REPLY_ERROR;
    if (reply->str)
        CHECK(!reply->str[reply->len]);
    for (size_t i = 0; i < reply->elements; i++)
        check_reply(reply->element[i], has_error);
}

static void look_at(const struct redisReply *reply, const struct redisReply *error)
{
    struct told_range range;
    char id[RUN_ID_MAX + 1];
    bool has_error = false;
    check_reply(reply, &has_error);
    CHECK(has_error == (error != NULL));
    if (error) {
        CHECK(error->len <= 200);
        fuzz_error(error->str, error->len);
    }
    for (size_t i = 0; i < reply->elements; i++) {
        if (!told_range(reply->element[i], "same.example", &range))
            continue;
        CHECK(range.first <= range.last && range.last < REDIS_SLOTS);
        if (range.has_master)
            check_address(&range.master);
    }
    if (told_run_id(reply, id))
        CHECK(*id && strlen(id) <= RUN_ID_MAX);
}

/* In pieces of the size that the first byte says. */
static void fuzz_wire(const uint8_t *data, size_t size)
{
    struct reader reader;
    const struct redisReply *reply, *error;
    size_t step = size ? 1 + data[0] : 1;
    bool alive = true;
    reader_init(&reader);
    CHECK(reader_start(&reader));
    for (size_t at = 1; alive && at < size; at += step) {
        size_t n = size - at < step ? size - at : step;
        alive = reader_feed(&reader, (const char *)data + at, n);
        enum reader_state state = READER_MORE;
        while (alive && (state = reader_next(&reader, &reply, &error)) == READER_REPLY)
            look_at(reply, error);
        alive = alive && state != READER_BROKEN;
        reader_forget(&reader);
        CHECK(reader.arena.total <= READER_REPLIES_MAX && reader.taken <= READER_REPLY_MAX);
    }
    reader_release(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    CHECK(redis_slot((struct bytes){data, size}) < REDIS_SLOTS);
    if (data[0] % 3 == 2) {
        fuzz_wire(data + 1, size - 1);
        return 0;
    }
    char *text = malloc(size);
    CHECK(text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] % 3 == 0)
        fuzz_list(text);
    else
        fuzz_error(text, size - 1);
    free(text);
    return 0;
}
