/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/import_from.h"
#include "cli/unpack.h"
#include "cli/where.h"

struct import_args {
    const char *data;
    struct from_args from;
    const char *file, *report, *temp;
};

static const struct cli_operand operands[] = {{"[FILE]", .at = offsetof(struct import_args, file)}};

static const struct cli_option options[] = {
    {"data", OPTION_TEXT, "DIR", offsetof(struct import_args, data),
     .help = "the directory to fill: new, or empty"},
    {"report", OPTION_TEXT, "FILE", offsetof(struct import_args, report),
     .help = "write lines that are not taken there: number, field, reason; without, the first few "
             "go to standard error"},
    {"temp", OPTION_TEXT, "DIR", offsetof(struct import_args, temp),
     .help = "where facts of other systems are sorted, if they are many; TMPDIR, or /tmp, without"},
    FROM_OPTIONS(struct import_args, from),
};

enum { TOLD_MOST = 10 };

struct source {
    const struct import_args *args;
    struct unpack *unpack;
    struct tidings_import *import;
    FILE *report;
    uint64_t told;
    bool seen; /* standard error is a terminal */
    struct timespec began;
    time_t last;
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

static bool is_interrupted(void *ctx)
{
    (void)ctx;
    return interrupted;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Once a second: how much is read, and how long it will take at this pace. */
static void tell_progress(struct source *source)
{
    struct timespec now;
    uint64_t done = unpack_done(source->unpack), total = unpack_total(source->unpack);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!source->seen || now.tv_sec == source->last)
        return;
    source->last = now.tv_sec;
    int64_t seconds = now.tv_sec - source->began.tv_sec;
    fprintf(stderr, "\r%" PRIu64 " MiB read", done >> 20);
    if (total && done && seconds)
        fprintf(stderr, " of %" PRIu64 ", about %" PRId64 " s more", total >> 20,
                (int64_t)((double)seconds * (double)(total - done) / (double)done));
    fprintf(stderr, "%8s", "");
    fflush(stderr);
}

static ptrdiff_t read_some(void *ctx, char *to, size_t room)
{
    struct source *source = ctx;
    tell_progress(source);
    return unpack_read(source->unpack, to, room);
}

/* ---- What is refused ------------------------------------------------------------------------ */

/* The report of an import that goes on goes on, too. */
static void tell_refused(void *ctx, uint64_t line, const char *field, const char *reason)
{
    struct source *source = ctx;
    const char *path = source->args->report;
    if (path && !source->report)
        source->report = fopen(path, source->import->resumed ? "ae" : "we");
    if (path && !source->report && !source->told++)
        fprintf(stderr, "tidings: %s: %s\n", path, strerror(errno));
    if (path ? !source->report : source->told++ >= TOLD_MOST)
        return;
    fprintf(source->report ? source->report : stderr, "%" PRIu64 "\t%s\t%s\n", line,
            field ? field : "", reason);
}

/* ---- The command ---------------------------------------------------------------------------- */

static int tell_end(const struct tidings_import *import)
{
    printf("%" PRIu64 " facts taken, %" PRIu64 " repeated, %" PRIu64 " refused\n", import->taken,
           import->repeated, import->rejected);
    if (import->stopped) {
        puts("interrupted: the same command goes on");
        return EXIT_BROKEN;
    }
    return import->rejected ? EXIT_FOUND : EXIT_FINE;
}

static int import_now(struct tidings *tidings, struct source *source)
{
    struct tidings_import import = {.read = read_some,
                                    .refused = tell_refused,
                                    .stop = is_interrupted,
                                    .ctx = source,
                                    .temp = source->args->temp};
    const char *message;
    source->import = &import;
    source->seen = isatty(STDERR_FILENO);
    clock_gettime(CLOCK_MONOTONIC, &source->began);
    enum tidings_err err = tidings_import(tidings, &import, &message);
    if (source->seen)
        fprintf(stderr, "\r%-60s\r", "");
    if (source->report && fclose(source->report) && !err)
        fprintf(stderr, "tidings: %s: %s\n", source->args->report, strerror(errno));
    if (!err)
        return tell_end(&import);
    fprintf(stderr, "tidings: %s\n", message);
    return EXIT_BROKEN;
}

static int open_and_import(const struct import_args *args, struct tidings_options *how)
{
    struct source source = {.args = args, .unpack = unpack_open(args->file)};
    struct tidings *tidings;
    const char *message;
    if (!source.unpack) {
        fprintf(stderr, "tidings: %s: %s\n", args->file, strerror(errno));
        return EXIT_BROKEN;
    }
    how->importing = true;
    enum tidings_err err = tidings_open(how, &tidings, &message);
    int code = err ? where_failed(how, err, message) : import_now(tidings, &source);
    if (!err)
        tidings_close(tidings);
    unpack_close(source.unpack);
    return code;
}

/* What only another system has makes no sense without one. */
static int check_args(const struct import_args *args)
{
    const struct from_args *from = &args->from;
    if (from->system && args->file)
        return options_wrong(&command_import, "--from takes the place of FILE");
    if (from->system)
        return OPTIONS_READ;
    if (!args->file)
        return options_wrong(&command_import, "FILE is missing");
    if (from->mysql || from->redis || from->dry_run || from->drift || from->facts)
        return options_wrong(&command_import, "--from is missing");
    return OPTIONS_READ;
}

/* A file of ours is kept as long as it is needed: to go on, or to look at what was refused. */
static int import_from(const struct import_args *args, struct tidings_options *how)
{
    struct import_args of_file = *args;
    char path[FROM_PATH_MAX];
    int code = from_read(&command_import, &args->from, args->temp, is_interrupted, path);
    if (code != OPTIONS_READ)
        return code;
    of_file.file = path;
    code = open_and_import(&of_file, how);
    if (code == EXIT_FINE && !args->from.facts)
        unlink(path);
    else if (code == EXIT_FOUND)
        fprintf(stderr, "tidings: these are lines of %s, which is kept\n", path);
    else if (code != EXIT_FINE)
        fprintf(stderr, "tidings: the facts are in %s; `tidings import %s` goes on with them\n",
                path, path);
    return code;
}

static int run(int argc, char **argv)
{
    struct import_args args;
    struct tidings_options how;
    struct sigaction action = {.sa_handler = interrupt};
    int code = options_start(&command_import, &args, argc, argv);
    if (code == OPTIONS_READ)
        code = check_args(&args);
    bool dry = args.from.system && args.from.dry_run;
    if (code == OPTIONS_READ && !dry && !args.data)
        code = options_wrong(&command_import, "--data is missing");
    if (code != OPTIONS_READ)
        return code;
    tidings_options_init(&how);
    how.dir = args.data;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return args.from.system ? import_from(&args, &how) : open_and_import(&args, &how);
}

const struct cli_command command_import = {
    .name = "import",
    .summary = "fill an empty directory with facts",
    .usage = "FILE --data DIR [--report FILE]\n--from SYSTEM --source-mysql URL "
             "[--source-redis HOST:PORT] --data DIR\n--from SYSTEM --source-mysql URL "
             "[--source-redis HOST:PORT] --dry-run",
    .about = "Takes what `tidings export` wrote, or facts of another system, one JSON object a "
             "line: docs/FACTS.md "
             "says what they look like. FILE may be packed by gzip or zstd; - is standard input. A "
             "line that cannot be taken is "
             "reported, and the others are taken.\n\nInterrupted, by Ctrl-C too, the same command "
             "goes on where it was. Until it "
             "has ended no server opens the directory.\n\nWith --from the facts "
             "are read out of "
             "another system's MySQL and Redis, and "
             "what contradicts itself there is told. Their passwords come from "
             "TIDINGS_SOURCE_MYSQL_PASSWORD and TIDINGS_SOURCE_REDIS_PASSWORD, or from the files "
             "that these with _FILE behind them name.",
    .examples = "tidings import facts.ndjson.gz --data /var/lib/tidings-new --report refused.txt\n"
                "tidings import --from hmdp --source-mysql mysql://app@db/hmdp --dry-run",
    .exits = "0 all was taken; 1 some lines were refused, or with --dry-run something contradicts "
             "itself or would be left out; 2 usage; 3 failed, or interrupted.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .operands = operands,
    .n_operands = sizeof operands / sizeof *operands,
    .run = run,
};
