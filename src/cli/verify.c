/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/where.h"

enum { PATH_BYTES = 4096 };

struct verify_args {
    const char *data;
    bool deep;
    bool repair;
};

static const struct cli_option options[] = {
    DATA_OPTION(struct verify_args, data, "the data directory; no server may be using it"),
    {"deep", OPTION_FLAG, NULL, offsetof(struct verify_args, deep),
     .help = "first compare data.mdb with one made anew from base image and log"},
    {"repair", OPTION_FLAG, NULL, offsetof(struct verify_args, repair),
     .help = "mend what can be recomputed; with --deep, first replace data.mdb if it differs"},
};

static void tell_fault(void *ctx, const char *text)
{
    (void)ctx;
    printf("%s\n", text);
}

/* *replace: data.mdb keeps it from opening, or differs, and may be made anew. */
static enum tidings_err look_once(struct tidings_options *how, struct tidings_verify *verify,
                                  struct tidings **tidings, bool *replace)
{
    const char *message;
    enum tidings_err err = tidings_open(how, tidings, &message);
    bool may_replace = verify->deep && verify->repair && !how->remake;
    *replace = false;
    if (err && !(err == TIDINGS_CORRUPT && may_replace)) {
        where_failed(how, err, message);
        return err;
    }
    bool spoiled = err != TIDINGS_OK;
    if (!err) {
        err = tidings_verify(*tidings, verify);
        spoiled = !err && verify->spoiled;
    }
    *replace = spoiled && may_replace;
    return err;
}

/* With --deep --repair it is made anew first: nothing may be mended, and so get into the log, because of what is only wrong
 * in that file. */
static enum tidings_err look(struct tidings_options *how, struct tidings_verify *verify,
                             struct tidings **tidings)
{
    bool replace;
    enum tidings_err err = look_once(how, verify, tidings, &replace);
    if (!replace)
        return err;
    printf("data.mdb is made anew\n");
    tidings_close(*tidings);
    *tidings = NULL;
    how->remake = how->rebuild = true;
    return look_once(how, verify, tidings, &replace);
}

/* What was there to mend, in short: the report has a line for each. */
static void print_kinds(const struct tidings_verify *verify)
{
    for (size_t i = 0; i < verify->n_kinds; i++)
        if (verify->kinds[i].differences)
            printf("%-10s %" PRIu64 " differences\n", verify->kinds[i].name,
                   verify->kinds[i].differences);
}

static int look_twice(struct tidings_options *how, struct tidings_verify *verify)
{
    struct tidings *tidings = NULL;
    enum tidings_err err = look(how, verify, &tidings);
    if (!tidings)
        return err == TIDINGS_INVALID ? EXIT_USAGE : EXIT_BROKEN;
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
    print_kinds(verify);
    printf("%" PRIu64 " rows checked, %" PRIu64 " differences, %" PRIu64 " rows mended, %" PRIu64
           " differences left\n",
           verify->checked, verify->differences, verify->repaired, left);
    return left ? EXIT_FOUND : EXIT_FINE;
}

int verify_data(struct tidings_options *how, bool deep, bool repair)
{
    struct tidings_verify verify = {
        .report = stdout, .deep = deep, .repair = repair, .progress = progress_in_rows()};
    how->as_stored = true;
    how->rebuild = repair && !deep;
    how->fault = tell_fault;
    return look_twice(how, &verify);
}

static bool is_data_directory(const char *dir)
{
    char file[PATH_BYTES];
    snprintf(file, sizeof file, "%s/state", dir);
    if (!access(file, F_OK))
        return true;
    fprintf(stderr, "tidings: %s: there is no data there\n", dir);
    return false;
}

static int run(int argc, char **argv)
{
    struct verify_args args;
    struct tidings_options how;
    int code = options_start(&command_verify, &args, argc, argv);
    if (code != OPTIONS_READ)
        return code;
    if (!is_data_directory(args.data))
        return EXIT_BROKEN;
    tidings_options_init(&how);
    how.dir = args.data;
    return verify_data(&how, args.deep, args.repair);
}

const struct cli_command command_verify = {
    .name = "verify",
    .summary = "recompute every stored count and index",
    .usage = "--data DIR [--deep] [--repair]",
    .about = "Recomputes every stored count from what it was counted from and checks every index "
             "against its table, in both directions. Prints a line for every difference.",
    .examples = "tidings verify --data /var/lib/tidings --deep",
    .exits =
        "0 all is well, or all differences were mended; 1 differences; 2 usage; 3 cannot look.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
