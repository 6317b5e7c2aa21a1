/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/copy.h"
#include "cli/where.h"

struct export_args {
    const char *data;
    const char *file, *to, *temp;
    uint64_t user;
};

static const struct cli_operand operands[] = {{"[FILE]", .at = offsetof(struct export_args, file)}};

static const struct cli_option options[] = {
    DATA_OPTION(struct export_args, data, "the data directory, also of a running server"),
    {"user", OPTION_NUMBER, "ID", offsetof(struct export_args, user), .least = 1,
     .most = TIDINGS_ID_MAX, .help = "only what this user did and wrote"},
    {"to", OPTION_TEXT, "FILE", offsetof(struct export_args, to),
     .help = "the same as FILE, from before there was that"},
    {"temp", OPTION_TEXT, "DIR", offsetof(struct export_args, temp),
     .help = "where a copy is made of a directory in use; TMPDIR, or /tmp, without"},
};

static bool write_lines(void *ctx, const char *lines, size_t n)
{
    return fwrite(lines, 1, n, ctx) == n;
}

static int failed(const char *what, const char *why)
{
    fprintf(stderr, "tidings: %s: %s\n", what, why);
    return EXIT_BROKEN;
}

/* Of an engine that is open. */
static int export_now(struct tidings *tidings, const struct export_args *args, FILE *to)
{
    struct tidings_export export = {
        .user_id = args->user, .write = write_lines, .ctx = to, .progress = progress_in_rows()};
    enum tidings_err err = tidings_export(tidings, &export);
    if (!err && fflush(to))
        err = TIDINGS_IO;
    if (err)
        return failed("export", tidings_err_text(err));
    fprintf(stderr, "%" PRIu64 " facts\n", export.facts);
    return EXIT_FINE;
}

static int open_and_export(struct tidings_options *how, const struct export_args *args, FILE *to,
                           enum tidings_err *err)
{
    struct tidings *tidings;
    const char *message;
    how->as_stored = true;
    *err = tidings_open(how, &tidings, &message);
    if (*err == TIDINGS_LOCKED)
        return EXIT_BROKEN;
    if (*err)
        return where_failed(how, *err, message);
    int code = export_now(tidings, args, to);
    tidings_close(tidings);
    return code;
}

/* ---- A directory in use --------------------------------------------------------------------- */

static int export_copy(struct tidings_options *how, const struct export_args *args, FILE *to)
{
    struct copy copy;
    enum tidings_err err;
    int code = copy_make(&copy, how->dir, args->temp);
    if (code)
        return code;
    how->dir = copy.data;
    code = open_and_export(how, args, to, &err);
    copy_remove(&copy);
    return code;
}

static int export_to(struct tidings_options *how, const struct export_args *args, FILE *to)
{
    char state[PATH_BYTES];
    enum tidings_err err;
    snprintf(state, sizeof state, "%s/state", how->dir);
    if (access(state, F_OK))
        return failed(how->dir, "there is no data there");
    int code = open_and_export(how, args, to, &err);
    return err == TIDINGS_LOCKED ? export_copy(how, args, to) : code;
}

static int run(int argc, char **argv)
{
    struct export_args args;
    struct tidings_options how;
    int code = options_start(&command_export, &args, argc, argv);
    if (code == OPTIONS_READ && args.file && args.to)
        code = options_wrong(&command_export, "FILE and --to are the same: give one of them");
    if (code != OPTIONS_READ)
        return code;
    tidings_options_init(&how);
    how.dir = args.data;
    const char *file = args.file ? args.file : args.to;
    if (!file || !strcmp(file, "-"))
        return export_to(&how, &args, stdout);
    FILE *to = fopen(file, "we");
    if (!to)
        return failed(file, strerror(errno));
    code = export_to(&how, &args, to);
    if (fclose(to) && !code)
        return failed(file, strerror(errno));
    return code;
}

const struct cli_command command_export = {
    .name = "export",
    .summary = "write all facts, one JSON object a line",
    .usage = "[FILE] --data DIR [--user ID]",
    .about =
        "Writes what people did and wrote, as it is at one moment, to FILE, or to standard output: "
        "docs/FACTS.md "
        "says what each line means. `tidings import` brings it into an empty directory, with "
        "the same "
        "answers. The secrets of webhooks are in it.\n\nA server may be using the directory: "
        "then a copy is made of "
        "its base image and log first, as large as the data.",
    .examples = "tidings export facts.ndjson --data /var/lib/tidings\n"
                "tidings export --data /var/lib/tidings --user 42 | gzip > user-42.ndjson.gz",
    .exits = "0 done; 2 usage; 3 failed.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .operands = operands,
    .n_operands = sizeof operands / sizeof *operands,
    .run = run,
};
