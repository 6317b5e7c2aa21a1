/* SPDX-License-Identifier: MIT */
#include "support/replica.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { AWAIT_MS = 30000, LOOK_EVERY_US = 200 };

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void replica_address(struct tidings *engine, char address[REPLICA_ADDRESS_BYTES])
{
    struct tidings_replica status = {0};
    tidings_replica_status(engine, &status);
    snprintf(address, REPLICA_ADDRESS_BYTES, "tidings://127.0.0.1:%u", status.peer_port);
}

bool replica_await(struct tidings *followed, struct tidings *follower, char why[256])
{
    struct tidings_replica wanted, have;
    int64_t until_ms = now_ms() + AWAIT_MS;
    tidings_replica_status(followed, &wanted);
    for (;; usleep(LOOK_EVERY_US)) {
        tidings_replica_status(follower, &have);
        if (have.position >
            wanted.position) /* it has gone on meanwhile, which nobody asked for: a sweep */
            tidings_replica_status(followed, &wanted);
        if (have.position == wanted.position && !strcmp(have.chain, wanted.chain) &&
            have.era == wanted.era)
            return true;
        if (have.broken || now_ms() > until_ms)
            break;
    }
    snprintf(why, 256, "at %" PRIu64 " of %" PRIu64 ": %.180s", have.position, wanted.position,
             have.trouble);
    return false;
}

struct text {
    char *bytes;
    size_t n;
};

static bool append(void *ctx, const char *lines, size_t n)
{
    struct text *text = ctx;
    char *more = realloc(text->bytes, text->n + n + 1);
    if (!more)
        return false;
    memcpy(more + text->n, lines, n);
    text->bytes = more;
    text->n += n;
    return true;
}

char *replica_export(struct tidings *engine, size_t *n)
{
    struct text text = {0};
    struct tidings_export out = {.write = append, .ctx = &text};
    if (tidings_export(engine, &out)) {
        free(text.bytes);
        return NULL;
    }
    *n = text.n;
    return text.bytes;
}
