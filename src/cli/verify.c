/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "tidings.h"

enum { PATH_BYTES = 4096 };

struct verify_args {
    const char *data;
    bool repair;
};

static const struct cli_option options[] = {
    {"data", OPTION_TEXT, "DIR", offsetof(struct verify_args, data), .required = true,
     .help = "the data directory; no server may be using it"},
    {"repair", OPTION_FLAG, NULL, offsetof(struct verify_args, repair),
     .help = "mend what can be recomputed"},
};

static int look(const struct tidings_options *how, struct tidings_verify *verify)
{
    struct tidings *tidings;
    const char *message;
    enum tidings_err err = tidings_open(how, &tidings, &message);
    if (err) {
        fprintf(stderr, "tidings: %s: %s\n", how->dir, message);
        return EXIT_BROKEN;
    }
    err = tidings_verify(tidings, verify);
    uint64_t left = verify->differences;
    if (!err && verify->repaired) {
        /* What was mended must now be right: look again. */
        struct tidings_verify again = {.report = stdout, .progress = verify->progress};
        err = tidings_verify(tidings, &again);
        left = again.differences;
    }
    tidings_close(tidings);
    if (err) {
        fprintf(stderr, "tidings: %s\n", tidings_err_text(err));
        return EXIT_BROKEN;
    }
    printf("%" PRIu64 " rows checked, %" PRIu64 " differences, %" PRIu64 " rows mended, %" PRIu64
           " differences left\n",
           verify->checked, verify->differences, verify->repaired, left);
    return left ? EXIT_FOUND : EXIT_FINE;
}

static int run(int argc, char **argv)
{
    struct verify_args args;
    int code = options_start(&command_verify, &args, argc, argv);
    if (code != OPTIONS_READ)
        return code;
    char file[PATH_BYTES];
    snprintf(file, sizeof file, "%s/state", args.data);
    if (access(file, F_OK)) {
        fprintf(stderr, "tidings: %s: there is no data there\n", args.data);
        return EXIT_BROKEN;
    }
    struct tidings_options how;
    struct tidings_verify verify = {
        .report = stdout, .repair = args.repair, .progress = progress_in_rows()};
    tidings_options_init(&how);
    how.dir = args.data;
    how.as_stored = true;
    how.rebuild = args.repair;
    return look(&how, &verify);
}

const struct cli_command command_verify = {
    .name = "verify",
    .summary = "recompute every stored count and index of a data directory",
    .usage = "--data DIR [--repair]",
    .about = "Recomputes every stored count from what it was counted from and checks every index "
             "against its table, in both directions. Prints a line for every difference.",
    .exits =
        "0 all is well, or all differences were mended; 1 differences; 2 usage; 3 cannot look.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
