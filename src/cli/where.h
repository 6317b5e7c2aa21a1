/* SPDX-License-Identifier: MIT */
/*
 * Where a command finds the data: in a directory. Passwords come from a variable of the environment, or from the file that the
 * variable followed by _FILE names, and never from a flag: lists of processes would show it.
 */
#ifndef CLI_WHERE_H
#define CLI_WHERE_H

#include "cli/cli.h"

#define MYSQL_HELP                                                                              \
    "the database of the log that servers share: mysql://user@host:3306/database, followed by " \
    "?tls=verify or ?socket=/path"

/* A row of a command's table: the directory, which must be given. */
#define DATA_OPTION(type, member, about)                                                      \
    {                                                                                         \
        "data", OPTION_TEXT, "DIR", offsetof(type, member), .required = true, .help = (about) \
    }

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

/* Says why opening the directory failed: the code to exit with. */
int where_failed(const struct tidings_options *options, enum tidings_err err, const char *message);

#endif
