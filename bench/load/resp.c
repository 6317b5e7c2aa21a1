/* SPDX-License-Identifier: MIT */
#include "resp.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SCRIPT_MAX = 65536, DEPTH_MAX = 8 };

/* ---- Writing -------------------------------------------------------------------------------- */

void resp_arg(struct buf *out, const char *text)
{
    buf_char(out, '$');
    buf_u64(out, strlen(text));
    buf_literal(out, "\r\n");
    buf_text(out, text);
    buf_literal(out, "\r\n");
}

void resp_id(struct buf *out, const char *prefix, uint64_t id)
{
    char text[64];
    snprintf(text, sizeof text, "%s%" PRIu64, prefix, id);
    resp_arg(out, text);
}

void resp_command(struct buf *out, unsigned n)
{
    buf_char(out, '*');
    buf_u64(out, n);
    buf_literal(out, "\r\n");
}

void resp_script(struct buf *out, const char *sha, unsigned n_keys, unsigned n_args)
{
    resp_command(out, 3 + n_keys + n_args);
    resp_arg(out, "EVALSHA");
    resp_arg(out, sha);
    resp_id(out, "", n_keys);
}

uint64_t resp_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t resp_author_of(const struct world *world, uint64_t post)
{
    return 1 + (post % 100000000000 * 104729) % world->users;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* The end of one value, NULL if it is not whole yet; *bad if it never will be. */
static const char *skip(const char *at, const char *end, unsigned depth, bool *bad)
{
    const char *line = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    if (!line)
        return NULL;
    char kind = *at;
    const char *next = line + 1;
    if (kind == '+' || kind == '-' || kind == ':')
        return next;
    long n = strtol(at + 1, NULL, 10);
    if ((kind != '$' && kind != '*') || n > 1 << 24 || depth > DEPTH_MAX) {
        *bad = true;
        return NULL;
    }
    if (kind == '$')
        return n < 0 ? next : end - next >= n + 2 ? next + n + 2 : NULL;
    for (long i = 0; i < n && next; i++)
        next = skip(next, end, depth + 1, bad);
    return next;
}

ssize_t resp_parse(const char *bytes, size_t n, struct reply *reply)
{
    bool bad = false;
    const char *end = skip(bytes, bytes + n, 0, &bad);
    if (bad)
        return -1;
    if (!end)
        return 0;
    reply->status = *bytes == '-' ? 500 : 200;
    reply->body = bytes;
    reply->n = (size_t)(end - bytes);
    return end - bytes;
}

void resp_learn(struct world *world, const struct step *step, const struct reply *reply)
{
    const char *at = memchr(reply->body, '\n', reply->n), *end = reply->body + reply->n;
    bool bad = false;
    if (*reply->body != '*' || !at)
        return;
    at++;
    for (size_t i = 0; at && at < end; i++) {
        const char *text = *at == '$' ? memchr(at, '\n', (size_t)(end - at)) : at;
        if (text && i % 4 == 0 && step->verb == VERB_GATHER)
            world_add_item(world, step->user, strtoull(text + 1, NULL, 10));
        if (text && i % 4 == 1 && step->verb == VERB_LOOK)
            snprintf(world_cursor(world, step->user), CURSOR_BYTES, "(%" PRIu64,
                     (uint64_t)strtoull(text + 1, NULL, 10));
        at = skip(at, end, 0, &bad);
    }
}

uint64_t resp_number(const struct reply *reply)
{
    const char *at = reply->body;
    if (*at == '$')
        at = memchr(at, '\n', reply->n);
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* ---- Scripts -------------------------------------------------------------------------------- */

bool resp_load_script(int fd, const char *directory, const char *file, char *sha)
{
    char path[4096], text[SCRIPT_MAX], answer[256];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    int from = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = from < 0 ? -1 : read(from, text, sizeof text - 1);
    if (from >= 0)
        close(from);
    if (n < 0) {
        fprintf(stderr, "tidings-load: cannot read %s\n", path);
        return false;
    }
    text[n] = 0;
    struct buf out;
    buf_init(&out, 2 * SCRIPT_MAX);
    resp_command(&out, 3);
    resp_arg(&out, "SCRIPT");
    resp_arg(&out, "LOAD");
    resp_arg(&out, text);
    bool sent = !out.failed && write_all(fd, out.data, out.len);
    buf_release(&out);
    ssize_t got = sent ? read(fd, answer, sizeof answer - 1) : -1;
    answer[got > 0 ? got : 0] = 0;
    if (got < RESP_SHA_BYTES + 5 || answer[0] != '$') {
        fprintf(stderr, "tidings-load: %s: %s\n", file, answer);
        return false;
    }
    memcpy(sha, answer + 5, RESP_SHA_BYTES);
    return true;
}
