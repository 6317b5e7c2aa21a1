/* SPDX-License-Identifier: MIT */
/*
 * What commands have in common that know an old application's Redis: where it is, and which keys it has. Its password comes from
 * TIDINGS_OLD_REDIS_PASSWORD, or from the file that this name with _FILE names.
 */
#ifndef CLI_OLD_H
#define CLI_OLD_H

#include "cli/where.h"
#include "legacy/old.h"
#include "legacy/share.h"

#define OLD_REDIS_PASSWORD "TIDINGS_OLD_REDIS_PASSWORD"

struct old_args {
    const char *redis, *redis_user, *redis_tls, *redis_ca, *scheme;
    struct legacy_names names;
    uint64_t share; /* in millionths */
};

/* "FEED=inbox:"; "" is the names that they have by default. */
bool old_parse_key(const char *text, void *names);

/* clang-format off */
/* Rows of a command's table. `must` and `what` are of --old-redis. */
#define OLD_OPTIONS(type, member, must_be_given, what)                                              \
    {"old_redis", OPTION_TEXT, "HOST:PORT,...", offsetof(type, member.redis),                       \
     .required = (must_be_given), .help = (what)},                                                  \
    {"old_redis_user", OPTION_TEXT, "NAME", offsetof(type, member.redis_user),                      \
     .help = "whom to log in to it as"},                                                            \
    {"old_redis_tls", OPTION_WORD, "off|verify", offsetof(type, member.redis_tls), .text = "off",   \
     .help = "verify: TLS to it, by the names that are connected to"},                              \
    {"old_redis_ca", OPTION_TEXT, "FILE", offsetof(type, member.redis_ca),                          \
     .help = "certificates to trust in it, instead of the system's"},                               \
    {"old_key", OPTION_PARSED, "NAME=PREFIX", offsetof(type, member.names), .text = "",             \
     .parse = old_parse_key,                                                                        \
     .must = "the name of a kind of keys, = and how these begin: FEED=feed:",                       \
     .help = "what keys of a kind are called there, if not as docs/MIGRATING.md says; may be "      \
             "given again"},                                                                        \
    {"old_scheme", OPTION_WORD, "1|2|both", offsetof(type, member.scheme), .text = "1",             \
     .help = "which keys: 1, sorted sets and counters; 2, sets of unread posts; or both"}

#define OLD_SHARE_MUST "a part of the users as 5%, 0.25% or 100%"
#define OLD_SHARE_HELP "of which part of the users: by a hash of their ids, always the same ones"
/* clang-format on */

/* As the bridge has them. */
unsigned old_schemes(const struct old_args *args);

/* Points into the arguments and the password. */
struct redis_options old_options(const struct old_args *args, const struct password *password);

#endif
