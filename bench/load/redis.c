/* SPDX-License-Identifier: MIT */
/*
 * The seeds' design on Redis, over its own protocol: one EVALSHA (or GET) a step, so that each costs
 * one round trip. The scripts and the keys are in bench/redis.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

/* script, file */
#define SCRIPTS(X)           \
    X(MARK, "mark_read.lua") \
    X(PAGE, "page.lua")      \
    X(UNREAD, "unread.lua")  \
    X(FOLLOW, "follow.lua")  \
    X(LIKE, "like.lua")      \
    X(PUBLISH, "publish.lua")

enum script {
#define X(name, file) SCRIPT_##name,
    SCRIPTS(X)
#undef X
        SCRIPT_COUNT
};

enum { SHA_BYTES = 40, SCRIPT_MAX = 65536, DEPTH_MAX = 8 };

/* Filled once by prepare. */
static char shas[SCRIPT_COUNT][SHA_BYTES + 1];

/* ---- Writing -------------------------------------------------------------------------------- */

static void arg(struct buf *out, const char *text)
{
    buf_char(out, '$');
    buf_u64(out, strlen(text));
    buf_literal(out, "\r\n");
    buf_text(out, text);
    buf_literal(out, "\r\n");
}

static void arg_key(struct buf *out, const char *prefix, uint64_t id)
{
    char text[64];
    snprintf(text, sizeof text, "%s%" PRIu64, prefix, id);
    arg(out, text);
}

static void command(struct buf *out, unsigned n)
{
    buf_char(out, '*');
    buf_u64(out, n);
    buf_literal(out, "\r\n");
}

static void script(struct buf *out, enum script which, unsigned n_keys, unsigned n_args)
{
    command(out, 3 + n_keys + n_args);
    arg(out, "EVALSHA");
    arg(out, shas[which]);
    arg_key(out, "", n_keys);
}

static uint64_t milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* The fill's posts are numbered in the order of publishing, as bench-engine's are. */
static uint64_t author_of_post(const struct world *world, uint64_t post)
{
    return 1 + (post % 100000000000 * 104729) % world->users;
}

static void build_page(const struct target *target, const struct step *step, struct buf *out,
                       enum script which, unsigned limit)
{
    const char *cursor = step->verb == VERB_OLDER ? world_cursor(target->world, step->user) : "";
    script(out, which, 2, 2);
    arg_key(out, "feed:", step->user);
    arg_key(out, "read:", step->user);
    arg(out, *cursor ? cursor : "+inf");
    arg_key(out, "", limit);
}

static void build_mark(const struct target *target, const struct step *step, struct buf *out)
{
    char author[64];
    snprintf(author, sizeof author, "author_unread:%" PRIu64 ":%" PRIu64, step->user,
             author_of_post(target->world, step->post));
    script(out, SCRIPT_MARK, 4, 2);
    arg_key(out, "feed:", step->user);
    arg_key(out, "read:", step->user);
    arg_key(out, "total_unread:", step->user);
    arg(out, author);
    arg_key(out, "", step->post);
    arg_key(out, "", milliseconds());
}

static void build_follow(const struct step *step, struct buf *out)
{
    script(out, SCRIPT_FOLLOW, 5, 4);
    arg_key(out, "uf:flws:", step->user);
    arg_key(out, "uf:fans:", step->author);
    arg_key(out, "ucnt:", step->user);
    arg_key(out, "ucnt:", step->author);
    arg_key(out, "rl:follow:", step->user);
    arg_key(out, "", step->user);
    arg_key(out, "", step->author);
    arg_key(out, "", milliseconds());
    arg(out, step->undo ? "0" : "1");
}

static void build_like(const struct target *target, const struct step *step, struct buf *out)
{
    script(out, SCRIPT_LIKE, 6, 4);
    arg_key(out, "likes:", step->post);
    arg_key(out, "liked:", step->user);
    arg_key(out, "stats:", step->post);
    arg(out, "hot:note");
    arg_key(out, "ucnt:", step->user);
    arg_key(out, "ucnt:", author_of_post(target->world, step->post));
    arg_key(out, "", step->user);
    arg_key(out, "", step->post);
    arg_key(out, "", milliseconds());
    arg(out, step->undo ? "0" : "1");
}

/* All fans of an ordinary author in one script; run_publish goes through a big one's in parts. */
static void build_publish(const struct step *step, struct buf *out)
{
    uint64_t made = 900000000000000 + milliseconds() % 100000000000 * 100 + step->serial % 100;
    uint64_t author = step->author ? step->author : step->user;
    script(out, SCRIPT_PUBLISH, 1, 5);
    arg_key(out, "uf:fans:", author);
    arg_key(out, "", author);
    arg_key(out, "", step->post ? step->post : made);
    arg_key(out, "", milliseconds());
    arg_key(out, "", step->fan_from);
    arg_key(out, "", step->fan_to ? step->fan_to : 1000000);
}

static bool build(const struct target *target, const struct step *step, struct buf *out)
{
    static const unsigned limits[VERB_COUNT] = {[VERB_FIRST] = 10,
                                                [VERB_OLDER] = 10,
                                                [VERB_UNREAD] = 10,
                                                [VERB_LOOK] = 100,
                                                [VERB_GATHER] = 100};
    bool is_unread = step->verb == VERB_UNREAD || step->verb == VERB_GATHER;
    if (limits[step->verb])
        build_page(target, step, out, is_unread ? SCRIPT_UNREAD : SCRIPT_PAGE, limits[step->verb]);
    else if (step->verb == VERB_BADGE)
        command(out, 2), arg(out, "GET"), arg_key(out, "total_unread:", step->user);
    else if (step->verb == VERB_COUNTERS)
        command(out, 2), arg(out, "HGETALL"), arg_key(out, "ucnt:", step->user);
    else if (step->verb == VERB_FOLLOWING)
        command(out, 5), arg(out, "ZREVRANGE"), arg_key(out, "uf:flws:", step->user), arg(out, "0"),
            arg(out, "19"), arg(out, "WITHSCORES");
    else if (step->verb == VERB_MARK)
        build_mark(target, step, out);
    else if (step->verb == VERB_FOLLOW)
        build_follow(step, out);
    else if (step->verb == VERB_LIKE)
        build_like(target, step, out);
    else if (step->verb == VERB_PUBLISH)
        build_publish(step, out);
    else
        return false;
    return true;
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

static ssize_t parse(const char *bytes, size_t n, struct reply *reply)
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

/* A page's rows are four values: post, score, state, content. */
static void learn(struct world *world, const struct step *step, const struct reply *reply)
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

static uint64_t number(const struct reply *reply)
{
    const char *at = reply->body;
    if (*at == '$')
        at = memchr(at, '\n', reply->n);
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* ---- Scripts -------------------------------------------------------------------------------- */

static bool load_script(int fd, const char *directory, const char *file, char *sha)
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
    command(&out, 3);
    arg(&out, "SCRIPT");
    arg(&out, "LOAD");
    arg(&out, text);
    bool sent = !out.failed && write_all(fd, out.data, out.len);
    buf_release(&out);
    ssize_t got = sent ? read(fd, answer, sizeof answer - 1) : -1;
    answer[got > 0 ? got : 0] = 0;
    if (got < SHA_BYTES + 5 || answer[0] != '$') {
        fprintf(stderr, "tidings-load: %s: %s\n", file, answer);
        return false;
    }
    memcpy(sha, answer + 5, SHA_BYTES);
    return true;
}

static bool prepare(const struct target *target)
{
    static const char *const files[SCRIPT_COUNT] = {
#define X(name, file) [SCRIPT_##name] = file,
        SCRIPTS(X)
#undef X
    };
    int fd = target_connect(target);
    bool ok = fd >= 0;
    for (size_t i = 0; ok && i < SCRIPT_COUNT; i++)
        ok = load_script(fd, target->scripts, files[i], shas[i]);
    if (fd >= 0)
        close(fd);
    return ok;
}

const struct protocol protocol_redis = {
    .name = "redis",
    .prepare = prepare,
    .build = build,
    .parse = parse,
    .learn = learn,
    .number = number,
};
