/* SPDX-License-Identifier: MIT */
/*
 * What commands have in common that stand between the old system's Redis and Tidings: where both are, and whom it is about. Passwords come from
 * TIDINGS_MYSQL_PASSWORD and TIDINGS_OLD_REDIS_PASSWORD, or from the files that these names with _FILE name.
 */
#ifndef CLI_OLD_H
#define CLI_OLD_H

#include "cli/where.h"
#include "legacy/old.h"
#include "legacy/share.h"

#define OLD_REDIS_PASSWORD "TIDINGS_OLD_REDIS_PASSWORD"

struct old_args {
    const char *engine, *mysql, *redis, *redis_user, *redis_tls, *redis_ca, *scheme;
    struct legacy_names names;
    uint64_t share;
};

/* "FEED=inbox:"; "" is the names that they have by default. */
bool old_parse_key(const char *text, void *names);

/* clang-format off */
/* Rows of a command's table. */
#define OLD_OPTIONS(type, member)                                                                   \
    {"engine", OPTION_WORD, "cluster", offsetof(type, member.engine), .text = "cluster",            \
     .help = "what holds the data"},                                                                \
    {"mysql", OPTION_TEXT, "URL", offsetof(type, member.mysql), .help = MYSQL_HELP},                \
    {"old_redis", OPTION_TEXT, "HOST:PORT,...", offsetof(type, member.redis), .required = true,     \
     .help = "the Redis of the old application: one, or some nodes of a cluster"},                  \
    {"old_redis_user", OPTION_TEXT, "NAME", offsetof(type, member.redis_user),                      \
     .help = "whom to log in to it as"},                                                            \
    {"old_redis_tls", OPTION_WORD, "off|verify", offsetof(type, member.redis_tls), .text = "off",   \
     .help = "verify: TLS to it, by the names that are connected to"},                              \
    {"old_redis_ca", OPTION_TEXT, "FILE", offsetof(type, member.redis_ca),                          \
     .help = "certificates to trust in it, instead of the system's"},                               \
    {"key", OPTION_PARSED, "NAME=PREFIX", offsetof(type, member.names), .text = "",                 \
     .parse = old_parse_key,                                                                        \
     .must = "the name of a kind of keys, = and how these begin: FEED=feed:",                       \
     .help = "what keys of a kind are called there, if not as docs/MIGRATING.md says; may be "      \
             "given again"},                                                                        \
    {"scheme", OPTION_WORD, "1|2|both", offsetof(type, member.scheme), .text = "1",                 \
     .help = "which keys: 1, sorted sets and counters; 2, sets of unread posts; or both"},          \
    {"share", OPTION_PARSED, "PERCENT", offsetof(type, member.share), .required = true,              \
     .parse = share_parse, .must = "a part of the users as 5%, 0.25% or 100%",                      \
     .help = "of which part of the users: by a hash of their ids, always the same ones"}
/* clang-format on */

/* Both sides, open. */
struct old_sides {
    struct password mysql_password, redis_password;
    struct tidings_options how;
    struct tidings *tidings;
    struct old *old;
};

unsigned old_schemes(const struct old_args *args);

/* OPTIONS_READ; otherwise the code to exit with, after everything has been said. */
int old_sides_open(const struct cli_command *command, const struct old_args *args,
                   struct old_sides *sides);
void old_sides_close(struct old_sides *sides);

/* SIGINT and SIGTERM are asked for by old_is_stopped from then on. */
void old_catch_signals(void);
bool old_is_stopped(void);

#endif
