/* SPDX-License-Identifier: MIT */
/*
 * Where a command finds the data: in a directory, or in the database of the cluster engine. The database's password comes
 * from TIDINGS_MYSQL_PASSWORD, or from the file that TIDINGS_MYSQL_PASSWORD_FILE names, and never from a flag: lists of
 * processes would show it.
 */
#ifndef CLI_WHERE_H
#define CLI_WHERE_H

#include "cli/cli.h"

struct where {
    const char *engine, *data, *mysql;
};

#define ENGINES "local|cluster"
#define MYSQL_HELP                                                                              \
    "the database of the cluster engine: mysql://user@host:3306/database, with ?tls=verify or " \
    "?socket=/path behind it"

/* clang-format off */
/* Rows of a command's table; `about` is the help of --data. */
#define WHERE_OPTIONS(type, member, about)                                                     \
    {"data", OPTION_TEXT, "DIR", offsetof(type, member.data), .help = (about)},                \
    {"engine", OPTION_WORD, ENGINES, offsetof(type, member.engine), .text = "local",           \
     .help = "what holds the data"},                                                           \
    {"mysql", OPTION_TEXT, "URL", offsetof(type, member.mysql), .help = MYSQL_HELP}
/* clang-format on */

bool where_is_cluster(const char *engine);

/*
 * What is needed is there: OPTIONS_READ; otherwise the code to exit with, after everything has been said. With `instead` the
 * command works on a directory alone, and that is what to use for a database. TIDINGS_MYSQL stands in for --mysql.
 */
int where_check(const struct cli_command *command, struct where *where, const char *instead);

#define MYSQL_PASSWORD "TIDINGS_MYSQL_PASSWORD"
#define KAFKA_PASSWORD "TIDINGS_KAFKA_PASSWORD"
#define REDIS_PASSWORD "TIDINGS_REDIS_PASSWORD"

enum { PASSWORD_MAX = 1024 };
struct password {
    char text[PASSWORD_MAX + 1];
    bool given;
};

/* From the variable of that name, or from the file that the variable with _FILE behind it names. OPTIONS_READ; otherwise the
 * code to exit with, after what is wrong has been said. */
int password_read(const char *variable, struct password *password);

/* Puts what the engine needs of both into the options; what they point at is the caller's. */
void where_put(const struct where *where, const struct password *password,
               struct tidings_options *options);

/* All of these in turn, for a command that needs nothing else: as where_check, with options that can be opened. */
int where_find(const struct cli_command *command, struct where *where, const char *instead,
               struct password *password, struct tidings_options *options);

/* Says why opening failed, or cluster init did: the code to exit with. */
int where_failed(const struct tidings_options *options, enum tidings_err err, const char *message);

#endif
