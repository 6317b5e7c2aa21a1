/* SPDX-License-Identifier: MIT */
/* Tidings over HTTP/1.1: one request a time on a connection that stays open, a token for each user. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "load.h"

static void begin(const struct target *target, const struct step *step, struct buf *out,
                  const char *method)
{
    (void)target;
    (void)step;
    buf_text(out, method);
    buf_literal(out, " /v1/");
}

static void finish(const struct target *target, const struct step *step, struct buf *out,
                   const char *body)
{
    buf_literal(out, " HTTP/1.1\r\nHost: tidings\r\nAuthorization: Bearer ");
    buf_text(out, target->world->tokens[step->user - 1]);
    if (target->freshness) {
        buf_literal(out, "\r\nTidings-Freshness: ");
        buf_text(out, target->freshness);
    }
    if (body) {
        buf_literal(out, "\r\nContent-Type: application/json\r\nContent-Length: ");
        buf_u64(out, strlen(body));
    }
    buf_literal(out, "\r\n\r\n");
    if (body)
        buf_text(out, body);
}

static void build_get(const struct target *target, const struct step *step, struct buf *out,
                      const char *path)
{
    begin(target, step, out, "GET");
    buf_text(out, path);
    finish(target, step, out, NULL);
}

static void build_older(const struct target *target, const struct step *step, struct buf *out)
{
    const char *cursor = world_cursor(target->world, step->user);
    begin(target, step, out, "GET");
    buf_literal(out, "inbox?limit=10");
    if (*cursor) {
        buf_literal(out, "&cursor=");
        buf_text(out, cursor);
    }
    finish(target, step, out, NULL);
}

static void build_post(const struct target *target, const struct step *step, struct buf *out,
                       const char *path, const char *format, uint64_t number)
{
    char body[512];
    snprintf(body, sizeof body, format, number);
    begin(target, step, out, "POST");
    buf_text(out, path);
    finish(target, step, out, body);
}

static void build_like(const struct target *target, const struct step *step, struct buf *out)
{
    begin(target, step, out, step->undo ? "DELETE" : "PUT");
    buf_literal(out, "posts/");
    buf_u64(out, step->post);
    buf_literal(out, "/like");
    finish(target, step, out, NULL);
}

static void build_path(const struct target *target, struct buf *out)
{
    buf_literal(out, "GET ");
    buf_text(out, target->path);
    buf_literal(out, " HTTP/1.1\r\nHost: tidings\r\n\r\n");
}

static const char publish_body[] =
    "{\"kind\":\"note\",\"title\":\"An ordinary title\",\"body\":\"A body of ordinary length, as "
    "people "
    "write it: a hundred characters or so, and then some more of them (%" PRIu64 ").\"}";

static bool build(const struct target *target, const struct step *step, struct buf *out)
{
    static const char *const gets[VERB_COUNT] = {
        [VERB_BADGE] = "inbox/badge",
        [VERB_FIRST] = "inbox?limit=10",
        [VERB_UNREAD] = "inbox?limit=10&filter=unread",
        [VERB_FOLLOWING] = "relation/following?limit=20",
        [VERB_COUNTERS] = "relation/counter",
        [VERB_LOOK] = "inbox?limit=100",
        [VERB_GATHER] = "inbox?limit=100&filter=unread",
        [VERB_STREAM] = "stream",
    };
    if (gets[step->verb])
        build_get(target, step, out, gets[step->verb]);
    else if (step->verb == VERB_OLDER)
        build_older(target, step, out);
    else if (step->verb == VERB_MARK)
        build_post(target, step, out, "inbox/mark-read", "{\"post_ids\":[%" PRIu64 "]}",
                   step->post);
    else if (step->verb == VERB_FOLLOW)
        build_post(target, step, out, step->undo ? "relation/unfollow" : "relation/follow",
                   "{\"user_id\":%" PRIu64 "}", step->author);
    else if (step->verb == VERB_LIKE)
        build_like(target, step, out);
    else if (step->verb == VERB_PUBLISH)
        build_post(target, step, out, "posts", publish_body, step->serial);
    else if (step->verb == VERB_PATH)
        build_path(target, out);
    else
        return false;
    return true;
}

/* The value behind `name:` at the beginning of a line of the head, or NULL. */
static const char *header(const char *head, const char *end, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = head; line && line + n < end;
         line = memchr(line, '\n', (size_t)(end - line))) {
        line += *line == '\n';
        if ((size_t)(end - line) > n && !strncasecmp(line, name, n) && line[n] == ':')
            return line + n + 1;
    }
    return NULL;
}

/* Answers of the servers measured have a length, or (204, 304) no body. */
static ssize_t parse(const char *bytes, size_t n, struct reply *reply)
{
    const char *end = memmem(bytes, n, "\r\n\r\n", 4);
    if (!end)
        return n > 65536 ? -1 : 0;
    if (n < 12 || strncmp(bytes, "HTTP/1.1 ", 9))
        return -1;
    const char *length = header(bytes, end, "content-length");
    reply->status = (int)strtoul(bytes + 9, NULL, 10);
    reply->body = end + 4;
    reply->n = length ? strtoul(length, NULL, 10) : 0;
    if (reply->status < 100 || reply->status >= STATUS_MAX || reply->n > (1 << 24))
        return -1;
    size_t whole = (size_t)(reply->body - bytes) + reply->n;
    return whole <= n ? (ssize_t)whole : 0;
}

static void learn_cursor(struct world *world, const struct step *step, const char *body, size_t n)
{
    static const char name[] = "\"next_cursor\":\"";
    const char *at = memmem(body, n, name, sizeof name - 1), *end = body + n;
    char *cursor = world_cursor(world, step->user);
    if (!at)
        return;
    at += sizeof name - 1;
    const char *quote = memchr(at, '"', (size_t)(end - at));
    if (!quote || quote - at >= CURSOR_BYTES)
        return;
    memcpy(cursor, at, (size_t)(quote - at));
    cursor[quote - at] = 0;
}

static void learn(struct world *world, const struct step *step, const struct reply *reply)
{
    static const char name[] = "\"post_id\":";
    const char *at = reply->body, *end = at + reply->n;
    if (step->verb == VERB_LOOK)
        learn_cursor(world, step, reply->body, reply->n);
    while (step->verb == VERB_GATHER &&
           (at = memmem(at, (size_t)(end - at), name, sizeof name - 1))) {
        at += sizeof name - 1;
        world_add_item(world, step->user, strtoull(at, NULL, 10));
    }
}

static uint64_t number(const struct reply *reply)
{
    const char *at = memchr(reply->body, ':', reply->n);
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

const struct protocol protocol_http = {
    .name = "http",
    .needs_tokens = true,
    .build = build,
    .parse = parse,
    .learn = learn,
    .number = number,
};
