/* SPDX-License-Identifier: MIT */
#include "legacy/compare.h"

#include <stdlib.h>
#include <time.h>

#include "cli/old.h"

struct compare_args {
    struct old_args old;
    struct id_set users;
    uint64_t patience, watch;
    bool json;
};

/* "" is nobody in particular. */
static bool parse_user(const char *text, void *to)
{
    static const struct cli_option number = {
        .name = "user", .kind = OPTION_NUMBER, .least = 1, .most = TIDINGS_ID_MAX};
    uint64_t user;
    struct id_set *users = to;
    if (!*text) {
        *users = (struct id_set){0};
        return true;
    }
    if (!option_set(&number, &user, text, text))
        return false;
    id_set_add(users, user);
    return !users->failed;
}

static const struct cli_option options[] = {
    OLD_OPTIONS(struct compare_args, old),
    {"user", OPTION_PARSED, "ID", offsetof(struct compare_args, users), .text = "",
     .parse = parse_user, .must = "the id of a user",
     .help = "only this user, in the share or not; may be given again"},
    {"patience", OPTION_NUMBER, "SECONDS", offsetof(struct compare_args, patience), .standard = 5,
     .most = 3600, .help = "how long who differs is asked about again, once a second"},
    {"watch", OPTION_NUMBER, "SECONDS", offsetof(struct compare_args, watch), .most = 86400,
     .help = "begin again so many seconds after the end, until it is stopped"},
    {"json", OPTION_FLAG, NULL, offsetof(struct compare_args, json),
     .help = "print a JSON object on a line"},
};

static int look_once(const struct compare_args *args, const struct compare_options *how)
{
    struct compare_result result;
    const char *message;
    if (!compare_run(how, &result, &message)) {
        fprintf(stderr, "tidings: compare: %s\n", message);
        return EXIT_BROKEN;
    }
    if (args->json)
        compare_print_json(&result, stdout);
    else
        compare_print(&result, stdout);
    return result.differ ? EXIT_FOUND : EXIT_FINE;
}

static int look(const struct compare_args *args, const struct compare_options *how)
{
    int code = look_once(args, how);
    while (args->watch && !old_is_stopped()) {
        for (uint64_t i = 0; i < args->watch * 10 && !old_is_stopped(); i++)
            nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        if (!old_is_stopped())
            code = look_once(args, how);
    }
    return code;
}

static int run(int argc, char **argv)
{
    struct compare_args args = {0};
    struct old_sides sides;
    int code = options_start(&command_compare, &args, argc, argv);
    if (code == OPTIONS_READ)
        code = old_sides_open(&command_compare, &args.old, &sides);
    if (code == OPTIONS_READ) {
        id_set_sort(&args.users);
        struct compare_options how = {.tidings = sides.tidings,
                                      .how = &sides.how,
                                      .old = sides.old,
                                      .share = (uint32_t)args.old.share,
                                      .schemes = old_schemes(&args.old),
                                      .users = &args.users,
                                      .patience_s = (unsigned)args.patience,
                                      .stopped = old_is_stopped,
                                      .progress = progress_in_rows()};
        old_catch_signals();
        code = look(&args, &how);
        old_sides_close(&sides);
    }
    id_set_release(&args.users);
    return code;
}

const struct cli_command command_compare = {
    .name = "compare",
    .summary = "ask the old keys and Tidings the same, and tell what differs",
    .usage = "--mysql URL --old-redis HOST:PORT --share PERCENT [--json] [--watch N]",
    .about =
        "For the users of the share asks the keys of the old application, and Tidings, how many "
        "posts are unread, in all and of each author, which are in the inbox, and which of them "
        "are "
        "read or deleted. Tells how many answers agree, and of each kind of difference how many "
        "there are, with examples. Changes nothing.\n\n"
        "Both sides move on meanwhile. So who differs is asked about again, once a second; what "
        "agrees then was only late. Users are those whom Tidings knows and those who have keys, "
        "which are looked for by SCAN.\n\n"
        "Passwords as for `tidings bridge`.",
    .examples =
        "tidings compare --mysql mysql://tidings@db/tidings --old-redis 127.0.0.1:6379 --share 10",
    .exits = "0 all agree; 1 differences; 2 usage; 3 cannot look.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
