/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/where.h"

struct log_args {
    const char *data;
    uint64_t after;
    bool rows;
};

static const struct cli_option options[] = {
    DATA_OPTION(struct log_args, data, "the data directory"),
    {"after", OPTION_NUMBER, "N", offsetof(struct log_args, after), .most = UINT64_MAX,
     .help = "only batches behind this one"},
    {"rows", OPTION_FLAG, NULL, offsetof(struct log_args, rows),
     .help = "also a line for every row put or deleted"},
};

static int run(int argc, char **argv)
{
    struct log_args args;
    const char *message;
    int code = options_start(&command_log, &args, argc, argv);
    if (code != OPTIONS_READ)
        return code;
    if (tidings_print_log(args.data, args.after, args.rows, stdout, &message)) {
        fprintf(stderr, "tidings: %s\n", message);
        return EXIT_BROKEN;
    }
    return EXIT_FINE;
}

const struct cli_command command_log = {
    .name = "log",
    .summary = "print what happened, batch by batch",
    .usage = "--data DIR [--after N] [--rows]",
    .about =
        "Prints the redo log of a data directory or a backup: a line for every batch, with the "
        "events in it. A server may be using the directory.",
    .examples = "tidings log --data /var/lib/tidings --after 1000 --rows",
    .exits = "0 done; 2 usage; 3 the log cannot be read to its end.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
