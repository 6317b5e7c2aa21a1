/* SPDX-License-Identifier: MIT */
/*
 * From a directory to a cluster, while a server goes on using the directory: a shadow of it is copied row by row, and then its log is followed, again and again, until little
 * is left. Only then the server has to be stopped; what it did last is brought, and both sides are asked the same questions. The directory is only read.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/wait.h"
#include "cli/copy.h"
#include "cli/move_compare.h"
#include "cli/where.h"

enum {
    SHORT_MS = 1000, /* what takes no longer is little */
    ROUNDS_MOST = 20,
    LOOK_MS = 200,    /* how often it looks whether the server has stopped ... */
    FOLLOW_LOOKS = 5, /* ... and after so many looks follows its log meanwhile */
};

struct move_args {
    struct where where;
    const char *temp;
    bool rehearse, check;
};

static const struct cli_option options[] = {
    {"data", OPTION_TEXT, "DIR", offsetof(struct move_args, where.data),
     .help = "the data directory, which a server may be using"},
    {"engine", OPTION_WORD, "cluster", offsetof(struct move_args, where.engine), .text = "cluster",
     .help = "where it moves to"},
    {"mysql", OPTION_TEXT, "URL", offsetof(struct move_args, where.mysql), .help = MYSQL_HELP},
    {"rehearse", OPTION_FLAG, NULL, offsetof(struct move_args, rehearse),
     .help = "do it all but the end, and compare everything: no server has to be stopped"},
    {"check", OPTION_FLAG, NULL, offsetof(struct move_args, check),
     .help = "move nothing: only compare all of what was moved"},
    {"temp", OPTION_TEXT, "DIR", offsetof(struct move_args, temp),
     .help = "where a copy of the data is made; TMPDIR, or /tmp, without"},
};

struct moving {
    const struct move_args *args;
    struct tidings_options *how; /* of the cluster */
    struct tidings *shadow, *cluster;
    struct sample sample; /* of the last round */
    uint64_t rows;
    int64_t took_ms; /* the last round */
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

static bool is_interrupted(void)
{
    return interrupted;
}

static int failed(const char *what, const char *why)
{
    fprintf(stderr, "tidings: %s: %s\n", what, why);
    return EXIT_BROKEN;
}

static void say(const char *text)
{
    puts(text);
    fflush(stdout);
}

static int was_interrupted(void)
{
    say("interrupted: the directory is as it was; the same command goes on");
    return EXIT_BROKEN;
}

/* ---- Rounds --------------------------------------------------------------------------------- */

static bool is_to_stop(void *ctx)
{
    (void)ctx;
    return interrupted;
}

static void see(void *ctx, enum tidings_subject subject, uint64_t id)
{
    struct moving *m = ctx;
    sample_see(&m->sample, subject, id);
}

static int round_of(struct moving *m)
{
    struct tidings_move move = {
        .stop = is_to_stop, .seen = see, .ctx = m, .progress = progress_in_rows()};
    const char *message;
    int64_t began_ms = wait_now_ms();
    m->sample = (struct sample){.random = (uint64_t)began_ms};
    enum tidings_err err = tidings_move(m->shadow, m->cluster, &move, &message);
    m->took_ms = wait_now_ms() - began_ms;
    m->rows += move.rows;
    if (err)
        return failed(m->args->where.mysql, message);
    return move.stopped ? was_interrupted() : EXIT_FINE;
}

/* All there is, and then what has happened meanwhile, until that is little. */
static int copy_all(struct moving *m)
{
    int code = round_of(m);
    for (int i = 0; !code && m->took_ms > SHORT_MS && i < ROUNDS_MOST; i++)
        code = round_of(m);
    return code;
}

/* Follows the log until nobody uses the directory any more. */
static int wait_for_stop(struct moving *m)
{
    int code = EXIT_FINE;
    enum tidings_err err = tidings_shadow_lock(m->shadow);
    if (err == TIDINGS_LOCKED) {
        printf("%" PRIu64 " rows are there, and the last round took %" PRId64 " ms.\n"
               "Stop the server now: the rest follows when it has ended.\n",
               m->rows, m->took_ms);
        fflush(stdout);
    }
    for (unsigned looks = 1; err == TIDINGS_LOCKED && !code; looks++) {
        usleep(LOOK_MS * 1000);
        if (interrupted)
            return was_interrupted();
        err = tidings_shadow_lock(m->shadow);
        if (err == TIDINGS_LOCKED && looks % FOLLOW_LOOKS == 0)
            code = round_of(m);
    }
    return err && !code ? failed(m->args->where.data, tidings_err_text(err)) : code;
}

static int end_move(struct moving *m)
{
    const char *message;
    enum tidings_err err = tidings_move_end(m->shadow, m->cluster, &message);
    tidings_close(m->cluster);
    m->cluster = NULL;
    return err ? failed(m->args->where.mysql, message) : EXIT_FINE;
}

/* ---- Whether it is the same ----------------------------------------------------------------- */

static int ask_both(struct moving *m, uint64_t *questions)
{
    struct sample_outcome outcome;
    sample_draw(&m->sample, m->shadow);
    bool same = sample_compare(&m->sample, m->shadow, m->cluster, &outcome);
    *questions = outcome.questions;
    return same ? EXIT_FINE : failed(m->args->where.mysql, outcome.what);
}

static int open_cluster(struct moving *m, bool importing)
{
    const char *message;
    m->how->importing = importing;
    m->how->as_stored = !importing;
    enum tidings_err err = tidings_open(m->how, &m->cluster, &message);
    return err ? where_failed(m->how, err, message) : EXIT_FINE;
}

static int compare_all(struct moving *m, const char *done)
{
    uint64_t facts = 0, questions = 0;
    const char *why;
    if (!facts_compare(m->shadow, m->cluster, is_interrupted, &facts, &why))
        return failed(m->args->where.mysql, why);
    int code = ask_both(m, &questions);
    if (!code)
        printf("%s: %" PRIu64 " facts are the same, and %" PRIu64
               " questions have the same answers\n",
               done, facts, questions);
    return code;
}

/* ---- The command ---------------------------------------------------------------------------- */

static int check(struct moving *m)
{
    m->sample.random = (uint64_t)wait_now_ms();
    int code = open_cluster(m, false);
    return code ? code : compare_all(m, "compared");
}

static int rehearse(struct moving *m)
{
    int code = open_cluster(m, true);
    if (!code)
        code = copy_all(m);
    if (!code)
        code = end_move(m);
    if (!code)
        code = open_cluster(m, false);
    if (!code)
        code = compare_all(m, "rehearsed");
    if (!code)
        printf("%" PRIu64 " rows; the last round took %" PRId64
               " ms. Drop the database before the move\n",
               m->rows, m->took_ms);
    return code;
}

static int move(struct moving *m)
{
    uint64_t questions = 0;
    int code = open_cluster(m, true);
    if (!code)
        code = copy_all(m);
    if (!code)
        code = wait_for_stop(m);
    int64_t began_ms = wait_now_ms();
    if (!code)
        code = round_of(m);
    if (!code)
        code = end_move(m);
    if (!code)
        code = open_cluster(m, false);
    if (!code)
        code = ask_both(m, &questions);
    if (code)
        return code;
    printf("moved: %" PRIu64 " rows; %" PRIu64
           " questions have the same answers; the last stop took %" PRId64 " ms\n",
           m->rows, questions, wait_now_ms() - began_ms);
    say("start servers with --engine cluster; none may be started on the directory again");
    return EXIT_FINE;
}

static int open_and_run(const struct move_args *args, struct tidings_options *how,
                        const struct copy *copy)
{
    struct moving m = {.args = args, .how = how};
    struct tidings_options from;
    const char *message;
    tidings_options_init(&from);
    from.dir = args->where.data;
    from.shadow = copy->data;
    from.progress = progress_in_bytes();
    enum tidings_err err = tidings_open(&from, &m.shadow, &message);
    if (err)
        return where_failed(&from, err, message);
    tidings_settings_of(m.shadow, &how->settings);
    int code = args->check ? check(&m) : args->rehearse ? rehearse(&m) : move(&m);
    tidings_close(m.cluster);
    tidings_close(m.shadow);
    return code;
}

static int start(const struct move_args *args, struct tidings_options *how)
{
    struct sigaction action = {.sa_handler = interrupt};
    char state[PATH_BYTES];
    struct copy copy;
    snprintf(state, sizeof state, "%s/state", args->where.data);
    if (access(state, F_OK))
        return failed(args->where.data, "there is no data there");
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    int code = copy_place(&copy, args->temp);
    if (code)
        return code;
    code = open_and_run(args, how, &copy);
    copy_remove(&copy);
    return code;
}

static int run(int argc, char **argv)
{
    struct move_args args;
    struct password password;
    struct tidings_options how;
    int code = options_start(&command_move, &args, argc, argv);
    if (code == OPTIONS_READ && !args.where.data)
        code = options_wrong(&command_move, "--data is missing");
    if (code == OPTIONS_READ && args.rehearse && args.check)
        code = options_wrong(&command_move, "--rehearse and --check are two things");
    if (code == OPTIONS_READ)
        code = where_find(&command_move, &args.where, NULL, &password, &how);
    return code == OPTIONS_READ ? start(&args, &how) : code;
}

const struct cli_command command_move = {
    .name = "move",
    .summary = "move a data directory to a cluster, beside its server",
    .usage = "--data DIR --engine cluster --mysql URL [--rehearse | --check]",
    .about =
        "Copies everything in a directory, which a server may go on using, into a database that is "
        "empty, made by `tidings cluster init`; then follows what the server does. When little is "
        "left it asks for the server to be stopped, and waits until it is; brings the rest, asks "
        "both sides the same questions about users and posts that are drawn by chance, and says "
        "that it is done: then servers of the cluster may be started. Without a server it goes "
        "through at once.\n\nThe directory is only read. Interrupted at any point, by Ctrl-C too, "
        "the same "
        "command goes on, as long as the directory's log goes back that far; otherwise drop "
        "the database and begin anew. --rehearse does all but the end, into a database that is "
        "dropped afterwards, compares every fact (docs/FACTS.md) and says how long the stop would "
        "take. --check compares every fact of a move that is done, before servers are started.",
    .examples =
        "tidings move --data /var/lib/tidings --engine cluster --mysql mysql://tidings@db/tidings",
    .exits = "0 moved, and the same; 2 usage; 3 failed, interrupted, or not the same.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
