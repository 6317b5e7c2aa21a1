/* SPDX-License-Identifier: MIT */
/*
 * The seeds' design on a Redis Cluster: keys of a user, an author or a post have that id as their hash tag, so that a script can reach all of
 * one of them, and none of another. What touches two of them takes two rounds, and is not atomic between these. The scripts are those of a
 * single Redis where these reach one slot only, and bench/redis/cluster has the others.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "redis/redis.h"
#include "resp.h"

/* script, file */
#define SCRIPTS(X)                      \
    X(MARK, "mark_read.lua")            \
    X(PAGE, "cluster/page.lua")         \
    X(UNREAD, "cluster/unread.lua")     \
    X(FOLLOW, "cluster/follow.lua")     \
    X(FOLLOWED, "cluster/followed.lua") \
    X(LIKE, "cluster/like.lua")         \
    X(LIKED, "cluster/liked.lua")       \
    X(PUSH, "cluster/push.lua")

enum script {
#define X(name, file) SCRIPT_##name,
    SCRIPTS(X)
#undef X
        SCRIPT_COUNT
};

/* Filled once by prepare. */
static char shas[SCRIPT_COUNT][RESP_SHA_BYTES + 1];
static uint8_t owners[REDIS_SLOTS]; /* the number of a port */

/* ---- Writing -------------------------------------------------------------------------------- */

/* To whom goes what concerns that id. */
static struct buf *to_owner(struct parts *parts, uint64_t id)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%" PRIu64, id);
    unsigned owner = owners[redis_slot((struct bytes){(const uint8_t *)text, (size_t)n})];
    parts->replies[owner]++;
    return &parts->to[owner];
}

static void key(struct buf *out, const char *prefix, uint64_t id)
{
    char text[64];
    snprintf(text, sizeof text, "%s{%" PRIu64 "}", prefix, id);
    resp_arg(out, text);
}

static struct buf *script(struct parts *parts, uint64_t owner, enum script which, unsigned n_keys,
                          unsigned n_args)
{
    struct buf *out = to_owner(parts, owner);
    resp_script(out, shas[which], n_keys, n_args);
    return out;
}

static void put_page(const struct target *target, const struct step *step, struct parts *parts,
                     enum script which, unsigned limit)
{
    const char *cursor = step->verb == VERB_OLDER ? world_cursor(target->world, step->user) : "";
    struct buf *out = script(parts, step->user, which, 2, 2);
    key(out, "feed:", step->user);
    key(out, "read:", step->user);
    resp_arg(out, *cursor ? cursor : "+inf");
    resp_id(out, "", limit);
}

static void put_mark(const struct target *target, const struct step *step, struct parts *parts)
{
    char author[64];
    struct buf *out = script(parts, step->user, SCRIPT_MARK, 4, 2);
    snprintf(author, sizeof author, "author_unread:{%" PRIu64 "}:%" PRIu64, step->user,
             resp_author_of(target->world, step->post));
    key(out, "feed:", step->user);
    key(out, "read:", step->user);
    key(out, "total_unread:", step->user);
    resp_arg(out, author);
    resp_id(out, "", step->post);
    resp_id(out, "", resp_ms());
}

static void put_follow(const struct step *step, struct parts *parts)
{
    struct buf *out = script(parts, step->user, SCRIPT_FOLLOW, 3, 3);
    key(out, "uf:flws:", step->user);
    key(out, "ucnt:", step->user);
    key(out, "rl:follow:", step->user);
    resp_id(out, "", step->author);
    resp_id(out, "", resp_ms());
    resp_arg(out, step->undo ? "0" : "1");
}

static void put_like(const struct step *step, struct parts *parts)
{
    struct buf *out = script(parts, step->post, SCRIPT_LIKE, 2, 3);
    key(out, "likes:", step->post);
    key(out, "stats:", step->post);
    resp_id(out, "", step->user);
    resp_id(out, "", resp_ms());
    resp_arg(out, step->undo ? "0" : "1");
}

/* Whom it goes to, before anything is written. */
static void put_publish(const struct step *step, struct parts *parts)
{
    uint64_t author = step->author ? step->author : step->user;
    struct buf *out = to_owner(parts, author);
    resp_command(out, 4);
    resp_arg(out, "ZRANGE");
    key(out, "uf:fans:", author);
    resp_id(out, "", step->fan_from);
    if (step->fan_to)
        resp_id(out, "", step->fan_to);
    else
        resp_arg(out, "-1");
}

static void put_get(struct parts *parts, uint64_t user, const char *command, const char *prefix)
{
    struct buf *out = to_owner(parts, user);
    resp_command(out, 2);
    resp_arg(out, command);
    key(out, prefix, user);
}

static void put_following(const struct step *step, struct parts *parts)
{
    struct buf *out = to_owner(parts, step->user);
    resp_command(out, 5);
    resp_arg(out, "ZREVRANGE");
    key(out, "uf:flws:", step->user);
    resp_arg(out, "0");
    resp_arg(out, "19");
    resp_arg(out, "WITHSCORES");
}

static bool build_parts(const struct target *target, const struct step *step, struct parts *parts)
{
    switch (step->verb) {
    case VERB_BADGE:
        put_get(parts, step->user, "GET", "total_unread:");
        return true;
    case VERB_COUNTERS:
        put_get(parts, step->user, "HGETALL", "ucnt:");
        return true;
    case VERB_FOLLOWING:
        put_following(step, parts);
        return true;
    case VERB_FIRST:
    case VERB_OLDER:
        put_page(target, step, parts, SCRIPT_PAGE, 10);
        return true;
    case VERB_UNREAD:
        put_page(target, step, parts, SCRIPT_UNREAD, 10);
        return true;
    case VERB_LOOK:
        put_page(target, step, parts, SCRIPT_PAGE, 100);
        return true;
    case VERB_GATHER:
        put_page(target, step, parts, SCRIPT_UNREAD, 100);
        return true;
    case VERB_MARK:
        put_mark(target, step, parts);
        return true;
    case VERB_FOLLOW:
        put_follow(step, parts);
        return true;
    case VERB_LIKE:
        put_like(step, parts);
        return true;
    case VERB_PUBLISH:
        put_publish(step, parts);
        return true;
    default:
        return false;
    }
}

/* ---- What follows from a reply -------------------------------------------------------------- */

/* The next number of an array of bulk strings, 0 at its end. */
static uint64_t next_number(const char **at, const char *end)
{
    const char *line = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;
    if (!line || **at != '$')
        return 0;
    size_t n = strtoul(*at + 1, NULL, 10);
    *at = line + 1 + n + 2;
    return strtoull(line + 1, NULL, 10);
}

static const char *first_of(const struct reply *reply)
{
    const char *line = memchr(reply->body, '\n', reply->n);
    return line && *reply->body == '*' ? line + 1 : reply->body + reply->n;
}

/* A row of a page is a post, its score, its state and an empty text. */
static bool more_of_page(const struct reply *reply, struct parts *parts)
{
    const char *at = first_of(reply), *end = reply->body + reply->n;
    bool any = false;
    for (uint64_t post; (post = next_number(&at, end)); any = true) {
        put_get(parts, post, "GET", "blog:");
        next_number(&at, end);
        while (at < end && *at == ':')
            at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
        next_number(&at, end);
    }
    return any;
}

static bool more_of_follow(const struct step *step, const struct reply *reply, struct parts *parts)
{
    if (resp_number(reply) != 1)
        return false;
    struct buf *out = script(parts, step->author, SCRIPT_FOLLOWED, 2, 3);
    key(out, "uf:fans:", step->author);
    key(out, "ucnt:", step->author);
    resp_id(out, "", step->user);
    resp_id(out, "", resp_ms());
    resp_arg(out, step->undo ? "0" : "1");
    return true;
}

static void put_count(struct parts *parts, uint64_t user, const char *field, const char *delta)
{
    struct buf *out = to_owner(parts, user);
    resp_command(out, 4);
    resp_arg(out, "HINCRBY");
    key(out, "ucnt:", user);
    resp_arg(out, field);
    resp_arg(out, delta);
}

/* The hot list is one key, of one slot. */
static void put_heat(struct parts *parts, uint64_t post, const char *delta)
{
    struct buf *out = to_owner(parts, 0);
    resp_command(out, 4);
    resp_arg(out, "ZINCRBY");
    key(out, "hot:note:", 0);
    resp_arg(out, delta);
    resp_id(out, "", post);
}

static bool more_of_like(const struct target *target, const struct step *step,
                         const struct reply *reply, struct parts *parts)
{
    if (resp_number(reply) != 1)
        return false;
    struct buf *out = script(parts, step->user, SCRIPT_LIKED, 2, 3);
    key(out, "liked:", step->user);
    key(out, "ucnt:", step->user);
    resp_id(out, "", step->post);
    resp_id(out, "", resp_ms());
    resp_arg(out, step->undo ? "0" : "1");
    put_count(parts, resp_author_of(target->world, step->post), "likes_received",
              step->undo ? "-1" : "1");
    put_heat(parts, step->post, step->undo ? "-3" : "3");
    return true;
}

static bool more_of_publish(const struct step *step, const struct reply *reply, struct parts *parts)
{
    const char *at = first_of(reply), *end = reply->body + reply->n;
    uint64_t author = step->author ? step->author : step->user, now = resp_ms();
    uint64_t post =
        step->post ? step->post : 900000000000000 + now % 100000000000 * 100 + step->serial % 100;
    char counted[64];
    if (!step->fan_from) {
        struct buf *out = to_owner(parts, post);
        resp_command(out, 3);
        resp_arg(out, "SET");
        key(out, "blog:", post);
        resp_arg(out, "{\"title\":\"An ordinary title\"}");
        put_heat(parts, post, "0");
    }
    for (uint64_t fan; (fan = next_number(&at, end));) {
        struct buf *out = script(parts, fan, SCRIPT_PUSH, 3, 2);
        snprintf(counted, sizeof counted, "author_unread:{%" PRIu64 "}:%" PRIu64, fan, author);
        key(out, "feed:", fan);
        key(out, "total_unread:", fan);
        resp_arg(out, counted);
        resp_id(out, "", post);
        resp_id(out, "", now);
    }
    return true;
}

static bool more(const struct target *target, const struct step *step, const struct reply *reply,
                 struct parts *parts)
{
    if (step->stage)
        return false;
    switch (step->verb) {
    case VERB_FIRST:
    case VERB_OLDER:
    case VERB_UNREAD:
        return more_of_page(reply, parts);
    case VERB_FOLLOW:
        return more_of_follow(step, reply, parts);
    case VERB_LIKE:
        return more_of_like(target, step, reply, parts);
    case VERB_PUBLISH:
        return more_of_publish(step, reply, parts);
    default:
        return false;
    }
}

/* ---- Who has which slots -------------------------------------------------------------------- */

enum { SLOTS_BYTES = 65536 };

static bool take_owner(const struct target *target, long first, long last, long port)
{
    unsigned owner = 0;
    while (owner < target->n_ports && target->ports[owner] != port)
        owner++;
    if (owner == target->n_ports || first < 0 || last >= REDIS_SLOTS)
        return false;
    for (long slot = first; slot <= last; slot++)
        owners[slot] = (uint8_t)owner;
    return true;
}

/* Without replicas, the numbers in the answer are triples: first slot, last slot, port. */
static bool take_owners(const struct target *target, const char *text, const char *end)
{
    long numbers[3];
    unsigned n = 0, taken = 0;
    for (const char *at = text; at && at < end; at = memchr(at, '\n', (size_t)(end - at))) {
        at += *at == '\n';
        if (at >= end || *at != ':')
            continue;
        numbers[n++] = strtol(at + 1, NULL, 10);
        if (n == 3 && !take_owner(target, numbers[0], numbers[1], numbers[2]))
            return false;
        taken += n == 3;
        n %= 3;
    }
    return taken;
}

static bool ask_owners(const struct target *target, int fd)
{
    struct buf in;
    struct reply reply;
    ssize_t whole = 0;
    static const char question[] = "*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n";
    buf_init(&in, SLOTS_BYTES);
    bool ok = write_all(fd, question, sizeof question - 1);
    while (ok && whole == 0) {
        char *to = buf_reserve(&in, 4096);
        ssize_t n = to ? read(fd, to, 4096) : -1;
        ok = n > 0;
        in.len += ok ? (size_t)n : 0;
        whole = ok ? resp_parse(in.data, in.len, &reply) : -1;
    }
    ok = ok && whole > 0 && take_owners(target, reply.body, reply.body + reply.n);
    buf_release(&in);
    if (!ok)
        fprintf(stderr, "tidings-load: these are not all masters of a cluster without replicas\n");
    return ok;
}

static bool prepare_node(const struct target *target, unsigned number)
{
    static const char *const files[SCRIPT_COUNT] = {
#define X(name, file) [SCRIPT_##name] = file,
        SCRIPTS(X)
#undef X
    };
    int fd = target_connect(target, number);
    bool ok = fd >= 0 && ask_owners(target, fd);
    for (size_t i = 0; ok && i < SCRIPT_COUNT; i++)
        ok = resp_load_script(fd, target->scripts, files[i], shas[i]);
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool prepare(const struct target *target)
{
    bool ok = true;
    for (unsigned i = 0; ok && i < target->n_ports; i++)
        ok = prepare_node(target, i);
    return ok;
}

const struct protocol protocol_redis_cluster = {
    .name = "redis-cluster",
    .is_split = true,
    .prepare = prepare,
    .build_parts = build_parts,
    .more = more,
    .parse = resp_parse,
    .learn = resp_learn,
    .number = resp_number,
};
