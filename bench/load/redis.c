/* SPDX-License-Identifier: MIT */
/*
 * The seeds' design on Redis, over its own protocol: one EVALSHA (or GET) a step, so that each costs
 * one round trip. The scripts and the keys are in bench/redis.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resp.h"

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

/* Filled once by prepare. */
static char shas[SCRIPT_COUNT][RESP_SHA_BYTES + 1];

/* ---- Writing -------------------------------------------------------------------------------- */

static void script(struct buf *out, enum script which, unsigned n_keys, unsigned n_args)
{
    resp_script(out, shas[which], n_keys, n_args);
}

static void build_page(const struct target *target, const struct step *step, struct buf *out,
                       enum script which, unsigned limit)
{
    const char *cursor = step->verb == VERB_OLDER ? world_cursor(target->world, step->user) : "";
    script(out, which, 2, 2);
    resp_id(out, "feed:", step->user);
    resp_id(out, "read:", step->user);
    resp_arg(out, *cursor ? cursor : "+inf");
    resp_id(out, "", limit);
}

static void build_mark(const struct target *target, const struct step *step, struct buf *out)
{
    char author[64];
    snprintf(author, sizeof author, "author_unread:%" PRIu64 ":%" PRIu64, step->user,
             resp_author_of(target->world, step->post));
    script(out, SCRIPT_MARK, 4, 2);
    resp_id(out, "feed:", step->user);
    resp_id(out, "read:", step->user);
    resp_id(out, "total_unread:", step->user);
    resp_arg(out, author);
    resp_id(out, "", step->post);
    resp_id(out, "", resp_ms());
}

static void build_follow(const struct step *step, struct buf *out)
{
    script(out, SCRIPT_FOLLOW, 5, 4);
    resp_id(out, "uf:flws:", step->user);
    resp_id(out, "uf:fans:", step->author);
    resp_id(out, "ucnt:", step->user);
    resp_id(out, "ucnt:", step->author);
    resp_id(out, "rl:follow:", step->user);
    resp_id(out, "", step->user);
    resp_id(out, "", step->author);
    resp_id(out, "", resp_ms());
    resp_arg(out, step->undo ? "0" : "1");
}

static void build_like(const struct target *target, const struct step *step, struct buf *out)
{
    script(out, SCRIPT_LIKE, 6, 4);
    resp_id(out, "likes:", step->post);
    resp_id(out, "liked:", step->user);
    resp_id(out, "stats:", step->post);
    resp_arg(out, "hot:note");
    resp_id(out, "ucnt:", step->user);
    resp_id(out, "ucnt:", resp_author_of(target->world, step->post));
    resp_id(out, "", step->user);
    resp_id(out, "", step->post);
    resp_id(out, "", resp_ms());
    resp_arg(out, step->undo ? "0" : "1");
}

/* All fans of an ordinary author in one script; run_publish goes through a big one's in parts. */
static void build_publish(const struct step *step, struct buf *out)
{
    uint64_t made = 900000000000000 + resp_ms() % 100000000000 * 100 + step->serial % 100;
    uint64_t author = step->author ? step->author : step->user;
    script(out, SCRIPT_PUBLISH, 1, 5);
    resp_id(out, "uf:fans:", author);
    resp_id(out, "", author);
    resp_id(out, "", step->post ? step->post : made);
    resp_id(out, "", resp_ms());
    resp_id(out, "", step->fan_from);
    resp_id(out, "", step->fan_to ? step->fan_to : 1000000);
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
        resp_command(out, 2), resp_arg(out, "GET"), resp_id(out, "total_unread:", step->user);
    else if (step->verb == VERB_COUNTERS)
        resp_command(out, 2), resp_arg(out, "HGETALL"), resp_id(out, "ucnt:", step->user);
    else if (step->verb == VERB_FOLLOWING)
        resp_command(out, 5), resp_arg(out, "ZREVRANGE"), resp_id(out, "uf:flws:", step->user),
            resp_arg(out, "0"), resp_arg(out, "19"), resp_arg(out, "WITHSCORES");
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

/* ---- Scripts -------------------------------------------------------------------------------- */

static bool prepare(const struct target *target)
{
    static const char *const files[SCRIPT_COUNT] = {
#define X(name, file) [SCRIPT_##name] = file,
        SCRIPTS(X)
#undef X
    };
    int fd = target_connect(target, 0);
    bool ok = fd >= 0;
    for (size_t i = 0; ok && i < SCRIPT_COUNT; i++)
        ok = resp_load_script(fd, target->scripts, files[i], shas[i]);
    if (fd >= 0)
        close(fd);
    return ok;
}

const struct protocol protocol_redis = {
    .name = "redis",
    .prepare = prepare,
    .build = build,
    .parse = resp_parse,
    .learn = resp_learn,
    .number = resp_number,
};
