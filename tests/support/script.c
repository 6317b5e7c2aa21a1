/* SPDX-License-Identifier: MIT */
#include "support/script.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/generate.h"
#include "model/render.h"
#include "shim/shim.h"
#include "support/local.h"

/* What a change points to and the run does not keep. */
struct kept {
    struct tidings_op op;
    struct tidings_once once;
    struct render render;
};

static bool op_writes(enum tidings_op_kind kind)
{
    static const bool writes[TIDINGS_OP_COUNT] = {
#define X(name, lower, writes, args, answer) [TIDINGS_OP_##name] = (writes),
        TIDINGS_OPS(X)
#undef X
    };
    return kind < TIDINGS_OP_COUNT && writes[kind];
}

/* The member of the union that holds the arguments. */
static bool has_arguments(const struct tidings_op *op, const char *member)
{
    static const char *const members[TIDINGS_OP_COUNT] = {
#define X(name, lower, writes, args, answer) [TIDINGS_OP_##name] = #args,
        TIDINGS_OPS(X)
#undef X
    };
    return !strcmp(members[op->kind], member);
}

static void keep_array(struct recording *recording, const void *array, size_t bytes,
                       const void **kept)
{
    if (!array)
        return;
    void *copy = recording_room(recording, bytes ? bytes : 1);
    memcpy(copy, array, bytes);
    *kept = copy;
}

/* Texts lie in the recording and stay; arrays and keys are made for the one step. */
static const struct tidings_op *keep_op(struct recording *recording, const struct model_call *call)
{
    struct kept *kept = recording_room(recording, sizeof *kept);
    kept->op = *call->op;
    kept->op.now_ms = call->now_ms;
    if (kept->op.once) {
        kept->render.kind = kept->op.kind;
        kept->once = *kept->op.once;
        kept->once.ctx = &kept->render;
        kept->op.once = &kept->once;
    }
    if (has_arguments(&kept->op, "mark")) {
        const void *ids = NULL;
        keep_array(recording, kept->op.u.mark.post_ids,
                   kept->op.u.mark.n_post_ids * sizeof(uint64_t), &ids);
        kept->op.u.mark.post_ids = ids;
    }
    if (has_arguments(&kept->op, "scene")) {
        const void *messages = NULL;
        keep_array(recording, kept->op.u.scene.messages,
                   kept->op.u.scene.n_messages * sizeof(struct tidings_message), &messages);
        kept->op.u.scene.messages = messages;
    }
    return &kept->op;
}

struct model_call script_keep_ids(struct recording *recording, const struct model_call *call)
{
    struct model_call kept = *call;
    const void *ids = NULL;
    keep_array(recording, call->new_message_ids, call->n_new_message_ids * sizeof(uint64_t), &ids);
    kept.new_message_ids = ids;
    return kept;
}

bool script_newest(struct run *run, uint64_t *id)
{
    struct tidings_op op = {.kind = TIDINGS_OP_BADGE, .user_id = run->recording->user_ids[0]};
    struct tidings_answer answer;
    tidings_answer_init(&answer);
    enum tidings_err err = tidings_run(run->engine, &op, &answer);
    *id = local_newest(&answer.u.badge.as_of);
    tidings_answer_release(&answer);
    return !err || run_fail(run, "badge: %s", tidings_err_code(err));
}

static void keep_call(struct run *run, const struct model_call *call)
{
    struct script *script = run->ran_ctx;
    if (!op_writes(call->op->kind) || run->answer.err == TIDINGS_INVALID)
        return;
    script->calls[script->n] = script_keep_ids(run->recording, call);
    script->calls[script->n++].op = keep_op(run->recording, call);
    script_newest(run, &script->newest[script->n]);
}

static bool make_calls(struct script *script, struct run *run, size_t users, size_t steps)
{
    struct generator *g = calloc(1, sizeof *g);
    char dir[SCRIPT_PATH];
    generator_init(g, script->recording, script->recording->seed, users);
    g->no_webhooks = true;
    script_path(dir, "%s/script", script->dir);
    bool ok = run_open(run, script->recording, dir) && script_newest(run, &script->newest[0]);
    run->ran = keep_call;
    run->ran_ctx = script;
    for (size_t i = 0; ok && i < steps; i++) {
        struct step *step = generator_next(g, run);
        step->rules = NULL; /* the settings stay as they are */
        ok = run_step(run, step);
    }
    run_close(run);
    script_remove(dir);
    free(g);
    return ok;
}

bool script_make(struct script *script, uint64_t seed, size_t users, size_t steps,
                 const char *parent)
{
    struct run *run = calloc(1, sizeof *run);
    memset(script, 0, sizeof *script);
    script_path(script->dir, "%s/%" PRIu64, parent, seed);
    script_make_dir(script->dir);
    script->recording = recording_new(4 * steps); /* room for the copies, too */
    script->calls = calloc(steps, sizeof *script->calls);
    script->newest = calloc(steps + 1, sizeof *script->newest);
    if (!script->recording || !script->calls || !script->newest || !run)
        abort();
    script->recording->seed = seed;
    bool ok = make_calls(script, run, users, steps);
    if (!ok)
        fprintf(stderr, "seed %" PRIu64 ": the script could not be made: %s\n", seed,
                script->recording->outcome.report.text);
    free(run);
    return ok;
}

void script_free(struct script *script)
{
    script_remove(script->dir);
    recording_free(script->recording);
    free(script->calls);
    free(script->newest);
}

static void fatten(struct recording *recording, struct tidings_text *body, size_t bytes)
{
    char *text = recording_room(recording, body->n + bytes);
    memcpy(text, body->p, body->n);
    memset(text + body->n, '.', bytes);
    *body = (struct tidings_text){text, body->n + bytes};
}

void script_fatten(struct script *script, size_t bytes)
{
    script->recording->settings.body_max = 1 << 20;
    for (size_t i = 0; i < script->n; i++) {
        /* The operations are copies of our own. */
        struct tidings_op *op = (struct tidings_op *)(uintptr_t)script->calls[i].op;
        if (op->kind == TIDINGS_OP_PUBLISH && op->u.publish.body.p)
            fatten(script->recording, &op->u.publish.body, bytes);
        if (op->kind == TIDINGS_OP_EDIT && op->u.edit.body.p)
            fatten(script->recording, &op->u.edit.body, bytes);
    }
}

size_t script_place(const struct script *script, uint64_t newest)
{
    for (size_t i = 0; i <= script->n; i++)
        if (script->newest[i] == newest)
            return i;
    return SIZE_MAX;
}

void script_advance(const struct script *script, struct run *run, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        model_run(&run->model, &script->calls[i], &run->expected);
    if (to)
        atomic_store(&run->clock_ms, script_time(script, to - 1));
}

bool script_play(const struct script *script, struct tidings *engine, size_t n)
{
    struct run run = {
        .engine = engine, .recording = script->recording, .outcome = &script->recording->outcome};
    struct tidings_answer answer;
    uint64_t newest = 0;
    tidings_answer_init(&answer);
    for (size_t i = 0; i < n; i++)
        tidings_run(engine, script->calls[i].op, &answer);
    tidings_answer_release(&answer);
    if (script_newest(&run, &newest) && newest == script->newest[n])
        return true;
    return run_fail(&run, "the engine made other ids than when the script was written");
}

struct model_call script_call(const struct script *script, const struct run *run, size_t at,
                              uint64_t newest)
{
    struct model_call call = script->calls[at];
    if (!call.up_to.given)
        return call;
    uint64_t token = local_newest(&call.op->u.mark.up_to);
    call.up_to = (struct model_moment){.given = token <= newest};
    for (size_t i = 0; i < run->model.n_posts; i++)
        call.up_to.posts += run->model.posts[i].id <= token;
    for (size_t i = 0; i < run->model.stories.n_scenes; i++)
        call.up_to.scenes += run->model.stories.scenes[i].id <= token;
    return call;
}

int64_t script_time(const struct script *script, size_t at)
{
    return script->calls[at < script->n ? at : script->n - 1].now_ms;
}

static void boot_id_path(const struct script *script, char path[SCRIPT_PATH])
{
    script_path(path, "%s/boot_id", script->dir);
}

void script_boot_id(const struct script *script)
{
    char path[SCRIPT_PATH];
    boot_id_path(script, path);
    FILE *file = fopen(path, "w");
    if (!file || fputs("00000000-1111-4222-8333-444444444444\n", file) < 0 || fclose(file))
        abort();
}

void script_another_boot(const struct script *script)
{
    char path[SCRIPT_PATH];
    boot_id_path(script, path);
    shim_boot_id(path);
}

void script_set(struct tidings_settings *settings, const char *name, uint64_t value)
{
#define X(field, standard, least, most, text) \
    if (!strcmp(name, #field))                \
        settings->field = value;
    TIDINGS_SETTINGS(X)
#undef X
}

bool script_wait(pid_t pid, struct report *report)
{
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        perror("fork");
        abort();
    }
    if (WIFSIGNALED(status))
        report_add(report, "crashed: %s\n", strsignal(WTERMSIG(status)));
    return status == 0;
}
