/* SPDX-License-Identifier: MIT */
/* `tidings import --from`: another system is read into a file of facts, which is imported as any other. */
#ifndef CLI_IMPORT_FROM_H
#define CLI_IMPORT_FROM_H

#include "cli/cli.h"
#include "legacy/source.h"

struct from_args {
    const char *system; /* NULL: there is none */
    const char *mysql, *redis, *redis_user, *redis_tls, *redis_ca, *zone, *facts, *drift;
    struct legacy_names names;
    uint64_t max_load;
    bool tagged, dry_run;
};

/* Parsers of options. The empty text is the default. */
bool from_parse_key(const char *text, void *names);
bool from_parse_zone(const char *text, void *zone);

/* clang-format off */
#define FROM_OPTIONS(type, member)                                                                                           \
    {"from", OPTION_WORD, SOURCE_SYSTEMS, offsetof(type, member.system),                                                     \
     .help = "read this system's tables and keys, in place of FILE"},                                                        \
    {"source_mysql", OPTION_TEXT, "URL", offsetof(type, member.mysql),                                                       \
     .help = "its database: mysql://user@host:3306/database, with ?tls=verify or ?socket=/path behind it"},                  \
    {"source_redis", OPTION_TEXT, "HOST:PORT,...", offsetof(type, member.redis),                                             \
     .help = "its Redis, or some nodes of its Redis Cluster; without, only tables are read"},                                \
    {"source_redis_user", OPTION_TEXT, "NAME", offsetof(type, member.redis_user), .help = "who to be there"},                \
    {"source_redis_tls", OPTION_WORD, "off|verify", offsetof(type, member.redis_tls), .text = "off",                         \
     .help = "speak TLS with it"},                                                                                           \
    {"source_redis_ca", OPTION_TEXT, "FILE", offsetof(type, member.redis_ca),                                                \
     .help = "PEM of who may have signed its certificate; without, whom the system trusts"},                                 \
    {"source_zone", OPTION_PARSED, "+HH:MM", offsetof(type, member.zone), .text = "+00:00",                                  \
     .parse = from_parse_zone, .must = "of the form +08:00",                                                                 \
     .help = "the zone of its DATETIMEs, which do not say it; TIMESTAMPs need none"},                                        \
    {"key", OPTION_PARSED, "NAME=PREFIX", offsetof(type, member.names), .text = "", .parse = from_parse_key,                 \
     .must = "NAME=PREFIX, with a name of docs/LEGACY.md",                                                                    \
     .help = "how keys of a kind begin there, if otherwise than docs/LEGACY.md has it; may be given for each kind"},          \
    {.name = "tagged_keys", .at = offsetof(type, member.tagged),                                                             \
     .help = "its keys have the first number in braces: feed:{42}"},                                                         \
    {"max_load", OPTION_NUMBER, "N", offsetof(type, member.max_load), .standard = 5000, .least = 0, .most = 10000000,        \
     .help = "rows, keys and members of keys that are read in a second; 0: as many as come"},                                \
    {.name = "dry_run", .at = offsetof(type, member.dry_run),                                                                \
     .help = "with --from: read and compare, import nothing"},                                                               \
    {"drift", OPTION_TEXT, "FILE", offsetof(type, member.drift),                                                             \
     .help = "with --from: write the report there, too, as JSON"},                                                           \
    {"facts", OPTION_TEXT, "FILE", offsetof(type, member.facts),                                                             \
     .help = "with --from: keep the facts there; without, they are in a temporary file until all are imported"}
/* clang-format on */

enum { FROM_PATH_MAX = 4096 };

/*
 * Reads it all and tells what was found. OPTIONS_READ: the facts are in the file `path`, and stay there. Otherwise the code to exit
 * with, after everything has been said: it failed, or it was --dry-run.
 */
int from_read(const struct cli_command *command, const struct from_args *args, const char *temp,
              bool (*stop)(void *ctx), char path[FROM_PATH_MAX]);

#endif
