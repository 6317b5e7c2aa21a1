/* SPDX-License-Identifier: MIT */
/*
 * From a directory to a cluster: its facts are exported and imported at the same time, through a pipe. Then all of it is exported from the cluster
 * and must be the same, and both are asked the same questions. The directory is locked meanwhile, and only read; so the same command goes
 * on with the same facts, wherever it was interrupted. docs/decisions/0032-move.md says why the server has to be stopped for it.
 */
#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/copy.h"
#include "cli/move_compare.h"
#include "cli/where.h"

struct move_args {
    struct where where;
    const char *temp;
    bool rehearse, check;
};

static const struct cli_option options[] = {
    {"data", OPTION_TEXT, "DIR", offsetof(struct move_args, where.data),
     .help = "the data directory, which no server uses"},
    {"engine", OPTION_WORD, "cluster", offsetof(struct move_args, where.engine), .text = "cluster",
     .help = "where it moves to"},
    {"mysql", OPTION_TEXT, "URL", offsetof(struct move_args, where.mysql), .help = MYSQL_HELP},
    {"rehearse", OPTION_FLAG, NULL, offsetof(struct move_args, rehearse),
     .help = "of a directory that a server uses: do it all with a copy, to see how long it takes"},
    {"check", OPTION_FLAG, NULL, offsetof(struct move_args, check),
     .help = "move nothing: only compare what was moved"},
    {"temp", OPTION_TEXT, "DIR", offsetof(struct move_args, temp),
     .help = "where the copy of a rehearsal is made; TMPDIR, or /tmp, without"},
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

static int failed(const char *what, const char *why)
{
    fprintf(stderr, "tidings: %s: %s\n", what, why);
    return EXIT_BROKEN;
}

/* ---- What comes out of an engine ------------------------------------------------------------ */

/* Summed up, and sampled; and into the pipe, if there is one. */
struct outflow {
    struct tidings *from;
    EVP_MD_CTX *sum;
    struct sample *sample; /* or NULL */
    int pipe;              /* -1: none */
    struct tidings_export export;
    enum tidings_err err;
};

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t wrote = write(fd, bytes, n);
        if (wrote < 0 && errno != EINTR)
            return false;
        bytes += wrote > 0 ? wrote : 0;
        n -= wrote > 0 ? (size_t)wrote : 0;
    }
    return true;
}

static bool flow(void *ctx, const char *lines, size_t n)
{
    struct outflow *out = ctx;
    if (!EVP_DigestUpdate(out->sum, lines, n))
        return false;
    if (out->sample)
        sample_draw(out->sample, lines, n);
    return !interrupted && (out->pipe < 0 || write_all(out->pipe, lines, n));
}

static void *export_main(void *arg)
{
    struct outflow *out = arg;
    out->export = (struct tidings_export){.write = flow, .ctx = out};
    if (out->pipe < 0)
        out->export.progress = progress_in_rows();
    out->err = out->sum && EVP_DigestInit_ex(out->sum, EVP_sha256(), NULL)
                   ? tidings_export(out->from, &out->export)
                   : TIDINGS_NO_MEMORY;
    if (out->pipe >= 0)
        close(out->pipe);
    return NULL;
}

/* ---- Into the cluster ----------------------------------------------------------------------- */

struct inflow {
    int pipe;
    uint64_t told;
};

static ptrdiff_t read_some(void *ctx, char *to, size_t room)
{
    struct inflow *in = ctx;
    ssize_t n;
    do
        n = read(in->pipe, to, room);
    while (n < 0 && errno == EINTR && !interrupted);
    return n;
}

static void tell_refused(void *ctx, uint64_t line, const char *field, const char *reason)
{
    enum { TOLD_MOST = 10 };
    struct inflow *in = ctx;
    if (in->told++ < TOLD_MOST)
        fprintf(stderr, "%" PRIu64 "\t%s\t%s\n", line, field ? field : "", reason);
}

static bool is_interrupted(void *ctx)
{
    (void)ctx;
    return interrupted;
}

static int tell_import(const struct tidings_import *import, enum tidings_err err,
                       const char *message)
{
    if (import->stopped || interrupted) {
        puts("interrupted: the same command goes on");
        return EXIT_BROKEN;
    }
    if (err)
        return failed("mysql", message);
    return import->rejected ? failed("mysql", "facts were refused: it is not the same") : EXIT_FINE;
}

static int import_from(int fd, struct tidings_options *how)
{
    struct inflow in = {.pipe = fd};
    struct tidings_import import = {
        .read = read_some, .refused = tell_refused, .stop = is_interrupted, .ctx = &in};
    struct tidings *cluster;
    const char *message;
    how->importing = true;
    enum tidings_err err = tidings_open(how, &cluster, &message);
    how->importing = false;
    if (err)
        return where_failed(how, err, message);
    err = tidings_import(cluster, &import, &message);
    tidings_close(cluster);
    return tell_import(&import, err, message);
}

/* Both at once. */
static int pour(struct outflow *out, struct tidings_options *how)
{
    pthread_t thread;
    int ends[2];
    if (pipe(ends))
        return failed("pipe", strerror(errno));
    out->pipe = ends[1];
    if (pthread_create(&thread, NULL, export_main, out)) {
        close(ends[0]);
        close(ends[1]);
        return failed("move", tidings_err_text(TIDINGS_NO_MEMORY));
    }
    int code = import_from(ends[0], how);
    close(ends[0]); /* whoever still writes there ends */
    pthread_join(thread, NULL);
    if (out->err && !code)
        code = failed("export", tidings_err_text(out->err));
    return code;
}

/* ---- Whether it is the same ----------------------------------------------------------------- */

static bool same_sums(EVP_MD_CTX *a, EVP_MD_CTX *b)
{
    unsigned char x[EVP_MAX_MD_SIZE], y[EVP_MAX_MD_SIZE];
    unsigned n = 0, m = 0;
    return EVP_DigestFinal_ex(a, x, &n) && EVP_DigestFinal_ex(b, y, &m) && n == m &&
           !memcmp(x, y, n);
}

static int compare(struct tidings *cluster, struct outflow *out)
{
    struct outflow back = {.from = cluster, .pipe = -1, .sum = EVP_MD_CTX_new()};
    struct sample_outcome outcome;
    export_main(&back);
    bool same = !back.err && same_sums(out->sum, back.sum);
    EVP_MD_CTX_free(back.sum);
    if (back.err)
        return failed("mysql", interrupted ? "interrupted: --check looks again"
                                           : tidings_err_text(back.err));
    if (!same)
        return failed("mysql", "exported again, it is not the same");
    if (!sample_compare(out->sample, out->from, cluster, &outcome))
        return failed("mysql", outcome.what);
    printf("%" PRIu64 " facts, exported again, are the same; %" PRIu64
           " questions have the same answers\n",
           out->export.facts, outcome.questions);
    return EXIT_FINE;
}

static int open_and_compare(struct outflow *out, struct tidings_options *how)
{
    struct tidings *cluster;
    const char *message;
    how->as_stored = true;
    enum tidings_err err = tidings_open(how, &cluster, &message);
    if (err)
        return where_failed(how, err, message);
    int code = compare(cluster, out);
    tidings_close(cluster);
    return code;
}

/* ---- The command ---------------------------------------------------------------------------- */

static int move_all(struct outflow *out, struct tidings_options *how, bool only_check)
{
    int code = EXIT_FINE;
    if (only_check)
        export_main(out);
    else
        code = pour(out, how);
    if (!code && out->err)
        code = failed("export", tidings_err_text(out->err));
    return code ? code : open_and_compare(out, how);
}

static int move_from(struct tidings *local, const struct move_args *args,
                     struct tidings_options *how)
{
    struct sample sample = {.random = 1};
    struct outflow out = {.from = local, .pipe = -1, .sample = &sample, .sum = EVP_MD_CTX_new()};
    struct timespec began, now;
    clock_gettime(CLOCK_MONOTONIC, &began);
    tidings_settings_of(local, &how->settings);
    int code = move_all(&out, how, args->check);
    EVP_MD_CTX_free(out.sum);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (code)
        return code;
    printf("%s in %lld s\n",
           args->check      ? "compared"
           : args->rehearse ? "rehearsed"
                            : "moved",
           (long long)(now.tv_sec - began.tv_sec));
    if (!args->check && !args->rehearse)
        puts("start servers with --engine cluster; none may be started on the directory again");
    return code;
}

static int open_and_move(const char *dir, const struct move_args *args, struct tidings_options *how,
                         enum tidings_err *err)
{
    struct tidings_options from;
    struct tidings *local;
    const char *message;
    tidings_options_init(&from);
    from.dir = dir;
    from.as_stored = true;
    *err = tidings_open(&from, &local, &message);
    if (*err == TIDINGS_LOCKED)
        return EXIT_BROKEN;
    if (*err)
        return where_failed(&from, *err, message);
    int code = move_from(local, args, how);
    tidings_close(local);
    return code;
}

static int rehearse(const struct move_args *args, struct tidings_options *how)
{
    struct copy copy;
    enum tidings_err err;
    int code = copy_make(&copy, args->where.data, args->temp);
    if (code)
        return code;
    code = open_and_move(copy.data, args, how, &err);
    copy_remove(&copy);
    return code;
}

static int start(const struct move_args *args, struct tidings_options *how)
{
    struct sigaction action = {.sa_handler = interrupt};
    char state[PATH_BYTES];
    enum tidings_err err;
    snprintf(state, sizeof state, "%s/state", args->where.data);
    if (access(state, F_OK))
        return failed(args->where.data, "there is no data there");
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    int code = open_and_move(args->where.data, args, how, &err);
    if (err != TIDINGS_LOCKED)
        return code;
    return args->rehearse ? rehearse(args, how)
                          : failed(args->where.data, "a server uses it: stop it, or --rehearse");
}

static int run(int argc, char **argv)
{
    struct move_args args;
    struct password password;
    struct tidings_options how;
    int code = options_start(&command_move, &args, argc, argv);
    if (code == OPTIONS_READ && !args.where.data)
        code = options_wrong(&command_move, "--data is missing");
    if (code == OPTIONS_READ)
        code = where_find(&command_move, &args.where, NULL, &password, &how);
    return code == OPTIONS_READ ? start(&args, &how) : code;
}

const struct cli_command command_move = {
    .name = "move",
    .summary = "move a data directory to a cluster",
    .usage = "--data DIR --engine cluster --mysql URL [--rehearse | --check]",
    .about =
        "Brings all facts of a directory (docs/FACTS.md) into a database that is empty, made by "
        "`tidings cluster init`; then exports the database and compares all of it, and asks both "
        "the same questions about users and posts that are drawn by chance. The directory is only "
        "read.\n\nThe server must be stopped for as long as that takes. --rehearse does it all "
        "with a copy of a directory that is in use, into a database of its own, and says how long "
        "it took. Interrupted, by Ctrl-C too, the same command goes on, as long as no server has "
        "changed the directory.",
    .exits = "0 moved, and the same; 2 usage; 3 failed, interrupted, or not the same.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
