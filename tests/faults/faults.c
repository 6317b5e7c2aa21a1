/* SPDX-License-Identifier: MIT */
/*
 * Failing storage: the same changes again and again, and each time another call to the storage fails: the
 * first write, the second ... Then:
 *
 *   - nothing crashes, and who asked gets NO_SPACE or IO;
 *   - reading goes on, and shows nothing of what was refused;
 *   - after a failed sync nothing is acknowledged any more;
 *   - when there is room again, writing goes on, at the next start if there was none at this one;
 *   - opened again by another process, after a proper end or none, everything acknowledged is there, all equals the model, and verify finds nothing.
 *
 *   faults [--seed N] [--runs N] [--plan N --call N [--recover]]
 *
 * Without --runs every call fails once in every way; with it so many are chosen.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "model/random.h"
#include "shim/shim.h"
#include "support/script.h"

enum { STEPS = 150, USERS = 6, PATIENCE_S = 120, LASTING = 1 << 30, FAILURES_MAX = 3 };

/* How the call fails. */
struct plan {
    const char *name;
    enum shim_class class;
    int error; /* 0: half of it is written */
    uint64_t count;
    bool half; /* the first does half of it */
};

static const struct plan plans[] = {
    {"a write fails", SHIM_WRITE, EIO, 1, false},
    {"a write finds no room", SHIM_WRITE, ENOSPC, 1, false},
    {"writes find no room for a while", SHIM_WRITE, ENOSPC, LASTING, false},
    {"half of a write is done", SHIM_WRITE, 0, 1, false},
    {"half of a write is done, then there is no room", SHIM_WRITE, ENOSPC, 2, true},
    {"half of a write is done, then it fails", SHIM_WRITE, EIO, 2, true},
    {"a sync fails", SHIM_SYNC, EIO, 1, false},
    {"a sync finds no room", SHIM_SYNC, ENOSPC, 1, false},
    {"no room can be allocated", SHIM_SPACE, ENOSPC, 1, false},
    {"no room can be allocated for a while", SHIM_SPACE, ENOSPC, LASTING, false},
    {"allocating fails", SHIM_SPACE, EIO, 1, false},
    {"a name cannot be made or removed", SHIM_NAME, EIO, 1, false},
    {"a name finds no room", SHIM_NAME, ENOSPC, 1, false},
};
enum { PLANS = sizeof plans / sizeof *plans };

/* What a process leaves to the one that opens its data again; in shared memory. */
struct legacy {
    uint64_t calls[SHIM_CLASSES];
    uint64_t newest;               /* the newest id acknowledged, */
    size_t doubtful;               /* and the change that may have been made since, or SIZE_MAX */
    size_t next;                   /* the first change that was not tried */
    size_t n;                      /* changes that were answered, errors included ... */
    struct model_call made[STEPS]; /* ... and the changes */
};

/* A run under way, in a process of its own. */
struct trial {
    const struct script *script;
    struct run *run;
    const struct plan *plan;
    struct legacy *legacy;
    size_t heal_at;  /* from this change on nothing fails */
    bool reopened;   /* since, and so all is forgotten */
    bool only_reads; /* it was opened without room, and does not write until the next time */
    bool crashes;    /* the process ends without closing */
    bool recovers;   /* the machine has been started anew */
};

/* ---- While it fails --------------------------------------------------------------------------- */

static bool may_answer(const struct plan *plan, enum tidings_err err)
{
    if (err == TIDINGS_NO_SPACE)
        return plan->error != EIO;
    return plan->error != ENOSPC || plan->class == SHIM_SYNC || err == TIDINGS_UNCERTAIN;
}

/* A log that could not be synced must not be trusted again. What is beside it can be written anew. */
static bool is_poisoned(const struct trial *trial)
{
    return !trial->reopened && trial->plan->class == SHIM_SYNC && shim_failed() &&
           !strncmp(shim_failed_path(), "log", 3);
}

static bool reading_goes_on(struct trial *trial, const struct tidings_op *refused)
{
    struct tidings_op badge = {.kind = TIDINGS_OP_BADGE, .user_id = refused->user_id};
    struct tidings_op inbox = {.kind = TIDINGS_OP_INBOX, .user_id = refused->user_id};
    struct tidings_cursor begin = {0, 0};
    trial->run->storage_fails = false;
    bool ok = run_op(trial->run, &badge, begin) && run_op(trial->run, &inbox, begin);
    trial->run->storage_fails = true;
    return ok || run_fail(trial->run, "reading, after a refused %s", op_name(refused->kind));
}

static bool refused(struct trial *trial, size_t number)
{
    struct run *run = trial->run;
    enum tidings_err err = run->answer.err;
    const struct tidings_op *op = trial->script->calls[number].op;
    if (!shim_failed())
        return run_fail(run, "%s, and nothing has failed", tidings_err_code(err));
    if (!may_answer(trial->plan, err))
        return run_fail(run, "%s is not what has happened", tidings_err_code(err));
    if (number >= trial->heal_at && trial->plan->error == ENOSPC &&
        trial->plan->class != SHIM_SYNC && !trial->only_reads)
        return run_fail(run, "%s, though there is room again", tidings_err_code(err));
    if (err != TIDINGS_NO_SPACE && trial->legacy->doubtful == SIZE_MAX)
        trial->legacy->doubtful = number;
    return reading_goes_on(trial, op);
}

static bool change(struct trial *trial, size_t number)
{
    struct run *run = trial->run;
    struct model_call call = script_call(trial->script, run, number, trial->legacy->newest);
    bool poisoned = is_poisoned(trial);
    uint64_t newest;
    atomic_store(&run->clock_ms, call.now_ms);
    trial->legacy->next = number + 1;
    if (!run_call(run, &call))
        return false;
    if (is_storage_error(run->answer.err))
        return refused(trial, number);
    if (!script_newest(run, &newest))
        return false;
    if (newest == trial->legacy->newest)
        return true;
    if (trial->only_reads && !trial->reopened)
        return run_fail(run, "%s was acknowledged by an engine that only reads",
                        op_name(call.op->kind));
    if (poisoned)
        return run_fail(run, "%s was acknowledged, though %s could not be synced before",
                        op_name(call.op->kind), shim_failed_path());
    trial->legacy->newest = newest;
    trial->legacy->doubtful = SIZE_MAX;
    return true;
}

static bool make_changes(struct trial *trial, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (i == trial->heal_at)
            shim_heal();
        if (!change(trial, i))
            return run_fail(trial->run, "change %zu: %s of user %" PRIu64, i,
                            op_name(trial->script->calls[i].op->kind),
                            trial->script->calls[i].op->user_id);
    }
    return true;
}

/* ---- Afterwards --------------------------------------------------------------------------------- */

static bool newest_post(struct run *run, uint64_t author, uint64_t *id)
{
    struct tidings_op op = {.kind = TIDINGS_OP_AUTHOR_PAGE, .user_id = author};
    struct tidings_answer answer;
    op.u.feed.author_id = author;
    op.u.feed.page.limit = 1;
    tidings_answer_init(&answer);
    bool ok = !tidings_run(run->engine, &op, &answer) && answer.u.feed.n == 1;
    *id = ok ? answer.u.feed.rows[0].post_id : 0;
    tidings_answer_release(&answer);
    return ok;
}

/* What was refused without being known not to have happened may have happened; nothing else. */
static bool settle_doubt(struct trial *trial)
{
    struct run *run = trial->run;
    uint64_t newest;
    if (!script_newest(run, &newest))
        return false;
    if (newest == trial->legacy->newest)
        return true;
    if (trial->legacy->doubtful == SIZE_MAX)
        return run_fail(run, "newest id %" PRIu64 ", acknowledged was %" PRIu64, newest,
                        trial->legacy->newest);
    struct model_call call =
        script_call(trial->script, run, trial->legacy->doubtful, trial->legacy->newest);
    bool as_planned = newest == trial->script->newest[trial->legacy->doubtful + 1];
    if (!as_planned && call.op->kind == TIDINGS_OP_PUBLISH &&
        !newest_post(run, call.op->user_id, &call.new_post_id))
        return run_fail(run, "the post in doubt is not there");
    model_run(&run->model, &call, &run->expected);
    trial->legacy->newest = newest;
    return true;
}

static bool is_whole(struct trial *trial)
{
    struct run *run = trial->run;
    int64_t now_ms = atomic_load(&run->clock_ms);
    return run_verify(run) && run_sweep(run, now_ms, (uint32_t)run->options.settings.page_max);
}

/* The second process: nothing fails any more. */
static bool reopens(struct trial *trial)
{
    struct run *run = trial->run;
    const struct legacy *legacy = trial->legacy;
    trial->reopened = true;
    for (size_t i = 0; i < legacy->n; i++) {
        model_run(&run->model, &legacy->made[i], &run->expected);
        atomic_store(&run->clock_ms, legacy->made[i].now_ms);
    }
    return run_open_engine(run) && settle_doubt(trial) && is_whole(trial) &&
           make_changes(trial, legacy->next, trial->script->n) && is_whole(trial);
}

static void remember(struct run *run, const struct model_call *call)
{
    struct trial *trial = run->ran_ctx;
    struct legacy *legacy = trial->legacy;
    if (legacy->next && call->op == trial->script->calls[legacy->next - 1].op) {
        legacy->made[legacy->n++] = script_keep_ids(run->recording, call);
    }
}

static bool is_read_only(struct tidings *engine)
{
    struct tidings_stats stats;
    tidings_stats(engine, &stats);
    return stats.read_only;
}

/* The first process: something fails. */
static bool survives(struct trial *trial)
{
    struct run *run = trial->run;
    size_t from = trial->legacy->next;
    size_t to = trial->script->n - trial->script->n / 8;
    const char *message = NULL;
    trial->heal_at = from + (to - from) * 3 / 4;
    run->storage_fails = true;
    run->ran = remember;
    run->ran_ctx = trial;
    enum tidings_err err = tidings_open(&run->options, &run->engine, &message);
    if (err && (!is_storage_error(err) || !shim_failed() || !message))
        return run_fail(run, "tidings_open: %s: %s", tidings_err_code(err), message);
    if (!err)
        trial->only_reads = is_read_only(run->engine);
    if (!err && !make_changes(trial, from, to))
        return false;
    if (!err && !trial->crashes)
        tidings_close(run->engine);
    return true;
}

/* ---- Trials ------------------------------------------------------------------------------------- */

struct bench {
    struct script script;
    struct run run;
    struct legacy *legacy;
    size_t from;   /* changes that are in the data directory to begin with */
    bool recovers; /* which was left by a machine that lost its power */
    char base[SCRIPT_PATH];
    size_t bytes_used; /* of the recording, before a trial */
    size_t runs;
    size_t failures;
};

static bool first_process(struct trial *trial, const struct shim_fault *fault)
{
    struct legacy *legacy = trial->legacy;
    if (trial->recovers)
        script_another_boot(trial->script);
    shim_fail(trial->run->options.dir, fault);
    bool ok = survives(trial);
    for (int i = 0; i < SHIM_CLASSES; i++)
        legacy->calls[i] = shim_calls((enum shim_class)i);
    return ok;
}

static bool second_process(struct trial *trial, const struct shim_fault *fault)
{
    (void)fault;
    if (trial->recovers)
        script_another_boot(trial->script);
    bool ok = reopens(trial);
    if (ok)
        tidings_close(trial->run->engine);
    return ok;
}

static bool in_a_process(struct trial *trial, const struct shim_fault *fault,
                         bool (*what)(struct trial *trial, const struct shim_fault *fault))
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(PATIENCE_S);
        trial->run->outcome->report.n = 0;
        _exit(what(trial, fault) ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    return script_wait(pid, &trial->run->outcome->report);
}

static bool try_fault(struct bench *bench, const struct plan *plan, uint64_t call)
{
    struct shim_fault fault = {plan->class, call, plan->count, plan->error, plan->half};
    struct trial trial = {.script = &bench->script, .run = &bench->run, .plan = plan};
    char dir[SCRIPT_PATH];
    script_path(dir, "%s/data", bench->script.dir);
    script_remove(dir);
    script_copy(bench->base, dir);
    bench->run.options.dir = dir;
    bench->script.recording->bytes_used = bench->bytes_used;
    *bench->legacy = (struct legacy){.doubtful = SIZE_MAX, .next = bench->from};
    bench->legacy->newest = bench->script.newest[bench->from];
    trial.legacy = bench->legacy;
    trial.crashes = call % 2;
    trial.recovers = bench->recovers;
    bool ok =
        in_a_process(&trial, &fault, first_process) && in_a_process(&trial, &fault, second_process);
    bench->runs++;
    bench->failures += !ok;
    if (!ok)
        printf("\nseed %" PRIu64 ", %s, call %" PRIu64 " of its kind (--plan %td --call %" PRIu64
               "%s):\n%s",
               bench->script.recording->seed, plan->name, call, plan - plans, call,
               bench->recovers ? " --recover" : "", bench->run.outcome->report.text);
    return ok;
}

/* The first changes. Ends in order, or like a machine that loses its power. */
static _Noreturn void fill(const struct bench *bench)
{
    struct tidings *engine;
    if (tidings_open(&bench->run.options, &engine, NULL) ||
        !script_play(&bench->script, engine, bench->from))
        _exit(EXIT_FAILURE);
    if (!bench->recovers)
        tidings_close(engine);
    _exit(EXIT_SUCCESS);
}

/* A data directory to begin with. */
static bool fill_base(struct bench *bench, bool recovers)
{
    bench->recovers = recovers;
    script_remove(bench->base);
    bench->run.options.dir = bench->base;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        fill(bench);
    return script_wait(pid, &bench->run.outcome->report);
}

static bool prepare(struct bench *bench, uint64_t seed, const char *parent)
{
    if (!script_make(&bench->script, seed, USERS, STEPS, parent))
        return false;
    bench->from = bench->script.n / 4;
    script_path(bench->base, "%s/base", bench->script.dir);
    script_boot_id(&bench->script);
    bench->script.recording->settings.map_mb = 64;
    script_set(&bench->script.recording->settings, "log_segment_mb", 1);
    script_set(&bench->script.recording->settings, "snapshot_log_mb", 1);
    run_init(&bench->run, bench->script.recording, bench->base);
    script_advance(&bench->script, &bench->run, 0, bench->from);
    bench->legacy = mmap(NULL, sizeof *bench->legacy, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bench->bytes_used = bench->script.recording->bytes_used;
    return bench->legacy != MAP_FAILED;
}

static void try_plan(struct bench *bench, const struct plan *plan, uint64_t calls, uint64_t most,
                     struct rng *rng)
{
    uint64_t n = most && most < calls ? most : calls;
    size_t failed = 0;
    for (uint64_t i = 0; i < n && failed < FAILURES_MAX; i++) {
        /* Of each part of the run one. */
        uint64_t first = i * calls / n, next = (i + 1) * calls / n;
        failed += !try_fault(bench, plan, 1 + first + rng_below(rng, next - first));
        if (isatty(STDOUT_FILENO))
            printf("\r%s: %" PRIu64 " of %" PRIu64 " ", plan->name, i + 1, n);
        fflush(stdout);
    }
    printf("%s%s: %" PRIu64 " of %" PRIu64 " calls, %zu failures\n",
           isatty(STDOUT_FILENO) ? "\r" : "", plan->name, n, calls, failed);
}

/* On one of the two data directories: everything, or about `most` faults in all. */
static void try_plans(struct bench *bench, bool recovers, uint64_t most, struct rng *rng)
{
    static const struct plan none = {"nothing fails", SHIM_CLASSES, 0, 0, false};
    uint64_t calls[SHIM_CLASSES];
    printf("after %s:\n", recovers ? "a power loss" : "a proper end");
    if (!fill_base(bench, recovers) || !try_fault(bench, &none, 0)) {
        bench->failures++;
        return;
    }
    memcpy(calls, bench->legacy->calls, sizeof calls);
    for (size_t i = 0; i < PLANS; i++)
        try_plan(bench, &plans[i], calls[plans[i].class], (most + 2 * PLANS - 1) / (2 * PLANS),
                 rng);
}

struct arguments {
    uint64_t seed;
    uint64_t runs;
    uint64_t plan;
    uint64_t call;
    bool recover;
};

static bool parse(struct arguments *arguments, int argc, char **argv)
{
    static const struct option flags[] = {
        {"seed", required_argument, NULL, 's'}, {"runs", required_argument, NULL, 'r'},
        {"plan", required_argument, NULL, 'p'}, {"call", required_argument, NULL, 'c'},
        {"recover", no_argument, NULL, 'R'},    {0},
    };
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        uint64_t *to = flag == 's'   ? &arguments->seed
                       : flag == 'r' ? &arguments->runs
                       : flag == 'p' ? &arguments->plan
                       : flag == 'c' ? &arguments->call
                                     : NULL;
        if (flag == 'R')
            arguments->recover = true;
        else if (!to)
            return false;
        else
            *to = strtoull(optarg, NULL, 10);
    }
    return optind == argc && arguments->plan < PLANS;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    struct arguments arguments = {.seed = (uint64_t)time(NULL)};
    char parent[SCRIPT_PATH];
    struct rng rng;
    if (!parse(&arguments, argc, argv)) {
        fprintf(stderr, "usage: faults [--seed N] [--runs N] [--plan N --call N [--recover]]\n");
        return 2;
    }
    printf("seed %" PRIu64 "\n", arguments.seed);
    rng_seed(&rng, arguments.seed);
    script_temporary(parent, "faults");
    if (!prepare(&bench, arguments.seed, parent))
        return EXIT_FAILURE;
    if (arguments.call && fill_base(&bench, arguments.recover))
        try_fault(&bench, &plans[arguments.plan], arguments.call);
    for (int recovers = 0; !arguments.call && recovers < 2; recovers++)
        try_plans(&bench, recovers, arguments.runs, &rng);
    printf("faults: %zu runs, %zu failures\n", bench.runs, bench.failures);
    run_close(&bench.run);
    if (!bench.failures) {
        script_free(&bench.script);
        rmdir(parent);
    }
    return bench.failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
