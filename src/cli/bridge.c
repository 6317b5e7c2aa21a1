/* SPDX-License-Identifier: MIT */
#include "legacy/bridge.h"

#include <stdio.h>

#include "cli/old.h"

struct bridge_args {
    struct old_args old;
    const char *metrics;
    bool refill;
};

static const struct cli_option options[] = {
    OLD_OPTIONS(struct bridge_args, old),
    {"metrics", OPTION_TEXT, "FILE", offsetof(struct bridge_args, metrics),
     .help = "write there, once a second, how far it is, for node_exporter's textfile collector"},
    {"refill", OPTION_FLAG, NULL, offsetof(struct bridge_args, refill),
     .help = "begin with filling everybody's keys anew"},
};

static void say(const char *line)
{
    fprintf(stderr, "tidings bridge: %s\n", line);
}

static int run(int argc, char **argv)
{
    struct bridge_args args = {0};
    struct old_sides sides;
    int code = options_start(&command_bridge, &args, argc, argv);
    if (code == OPTIONS_READ)
        code = old_sides_open(&command_bridge, &args.old, &sides);
    if (code != OPTIONS_READ)
        return code;
    struct bridge_options how = {.tidings = sides.tidings,
                                 .how = &sides.how,
                                 .old = sides.old,
                                 .share = (uint32_t)args.old.share,
                                 .schemes = old_schemes(&args.old),
                                 .refill = args.refill,
                                 .metrics = args.metrics,
                                 .stopped = old_is_stopped,
                                 .say = say};
    old_catch_signals();
    bool fine = bridge_run(&how);
    old_sides_close(&sides);
    return fine ? EXIT_FINE : EXIT_BROKEN;
}

const struct cli_command command_bridge = {
    .name = "bridge",
    .summary = "keep the old application's keys in Redis in step",
    .usage = "--mysql URL --old-redis HOST:PORT --share PERCENT [--scheme 1|2|both]",
    .about =
        "Follows what happens and keeps the keys of an application that people come from in step: "
        "inboxes, what is read, counts of unread posts, deletions. So the old application can go "
        "on "
        "reading them, and going back to it is a switch. It runs until it is stopped (SIGTERM), "
        "and "
        "goes on where it was; whatever is away is waited for, but a user, password or certificate "
        "that is refused at the start ends it. Of several that run one is at work, "
        "and the others wait.\n\n"
        "It writes the keys of the users of the share, and nobody else's. They are first filled "
        "from "
        "Tidings, and what the old application had there is replaced; also with another share, and "
        "after the Redis was emptied or restarted.\n\n"
        "Servers should have read_events = 1: otherwise everybody who reads something is filled "
        "anew.\n\n"
        "The passwords come from TIDINGS_MYSQL_PASSWORD and TIDINGS_OLD_REDIS_PASSWORD, or from "
        "the "
        "first line of the files that TIDINGS_MYSQL_PASSWORD_FILE and "
        "TIDINGS_OLD_REDIS_PASSWORD_FILE name. docs/MIGRATING.md has the whole way.",
    .examples =
        "tidings bridge --mysql mysql://tidings@db/tidings --old-redis 127.0.0.1:6379 --share 10",
    .exits = "0 stopped; 2 usage; 3 failed.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
