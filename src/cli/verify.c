/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "tidings.h"

enum { PATH_BYTES = 4096 };

static const char help[] =
    "usage: tidings verify --data DIR [--deep] [--repair]\n\n"
    "Recomputes every stored count from what it was counted from and checks every index\n"
    "against its table, in both directions. Prints a line for every difference.\n\n"
    "  --data DIR   the data directory; no server may be using it\n"
    "  --deep       first compare data.mdb with one made anew from base image and log\n"
    "  --repair     mend what can be recomputed; with --deep, first replace data.mdb if it "
    "differs\n\n"
    "Exit: 0 all is well, or all differences were mended; 1 differences; 2 usage; 3 cannot look.\n";

static void tell_fault(void *ctx, const char *text)
{
    (void)ctx;
    printf("%s\n", text);
}

/* With --deep --repair, a data.mdb that keeps it from opening, or differs, is made anew first: nothing may be mended, and
 * so get into the log, because of what is only wrong in that file. */
static enum tidings_err look(struct tidings_options *options, struct tidings_verify *verify,
                             struct tidings **tidings)
{
    const char *message;
    enum tidings_err err = tidings_open(options, tidings, &message);
    bool may_replace = verify->deep && verify->repair && !options->remake;
    if (err && !(err == TIDINGS_CORRUPT && may_replace)) {
        fprintf(stderr, "tidings: %s: %s\n", options->dir, message);
        return err;
    }
    bool spoiled = err != TIDINGS_OK;
    if (!err) {
        err = tidings_verify(*tidings, verify);
        spoiled = !err && verify->spoiled;
    }
    if (!spoiled || !may_replace)
        return err;
    printf("data.mdb is made anew\n");
    tidings_close(*tidings);
    *tidings = NULL;
    options->remake = options->rebuild = true;
    return look(options, verify, tidings);
}

static int run(struct tidings_options *options, struct tidings_verify *verify)
{
    struct tidings *tidings = NULL;
    enum tidings_err err = look(options, verify, &tidings);
    if (!tidings)
        return EXIT_BROKEN;
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

int cli_verify(int argc, char **argv)
{
    static const struct option flags[] = {
        {"data", required_argument, NULL, 'd'},
        {"deep", no_argument, NULL, 'D'},
        {"repair", no_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    struct tidings_options options;
    struct tidings_verify verify = {.report = stdout, .progress = progress_in_rows()};
    tidings_options_init(&options);
    options.as_stored = true;
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        if (flag == 'h') {
            fputs(help, stdout);
            return EXIT_FINE;
        }
        if (flag == '?') {
            fputs(help, stderr);
            return EXIT_USAGE;
        }
        if (flag == 'd')
            options.dir = optarg;
        if (flag == 'D')
            verify.deep = true;
        if (flag == 'r')
            verify.repair = true;
    }
    options.rebuild = verify.repair && !verify.deep;
    options.fault = tell_fault;
    if (!options.dir || optind < argc) {
        fputs(help, stderr);
        return EXIT_USAGE;
    }
    char file[PATH_BYTES];
    snprintf(file, sizeof file, "%s/state", options.dir);
    if (access(file, F_OK)) {
        fprintf(stderr, "tidings: %s: there is no data there\n", options.dir);
        return EXIT_BROKEN;
    }
    return run(&options, &verify);
}
