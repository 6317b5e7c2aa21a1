/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "cli/where.h"

struct backup_args {
    const char *data;
    const char *dest;
};

static const struct cli_operand operands[] = {{"DEST", .at = offsetof(struct backup_args, dest)}};

static const struct cli_option options[] = {
    DATA_OPTION(struct backup_args, data, "the data directory"),
};

static int run(int argc, char **argv)
{
    struct backup_args args;
    int code = options_start(&command_backup, &args, argc, argv);
    if (code != OPTIONS_READ)
        return code;
    struct tidings_backup backup = {.dest = args.dest, .progress = progress_in_bytes()};
    const char *message;
    if (tidings_backup_dir(args.data, &backup, &message)) {
        fprintf(stderr, "tidings: %s\n", message);
        return EXIT_BROKEN;
    }
    char when[TIME_BYTES];
    printf("%" PRIu64 " bytes; up to batch %" PRIu64 " of %s\n", backup.bytes, backup.batch,
           time_text(backup.time_ms, when));
    return EXIT_FINE;
}

const struct cli_command command_backup = {
    .name = "backup",
    .summary = "copy a data directory, also of a running server",
    .usage = "DEST --data DIR",
    .about =
        "Copies the newest base image and the log behind it to DEST, which must be new or empty. "
        "A server may be using the data directory; everything it acknowledged before is in the "
        "backup. `tidings restore` makes a data directory of it, and a server can be started "
        "on it as it is.",
    .examples = "tidings backup /srv/backups/today --data /var/lib/tidings",
    .exits = "0 done; 2 usage; 3 failed.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .operands = operands,
    .n_operands = sizeof operands / sizeof *operands,
    .run = run,
};
