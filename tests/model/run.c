/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "ops.h"
#include "support/engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool run_fail(struct run *run, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    report_add(&run->outcome->report, "%s\n", line);
    return false;
}

/* ---- Opening and closing ------------------------------------------------------------------- */

static int64_t run_clock(void *ctx)
{
    struct run *run = ctx;

    return atomic_load(&run->clock_ms);
}

bool run_open_engine(struct run *run)
{
    const char *message = NULL;
    enum tidings_err err = engine_open(&run->options, &run->engine, &message);

    if (err == TIDINGS_OK)
        return true;
    run->engine = NULL;
    return run_fail(run, "tidings_open: %s: %s", tidings_err_code(err), message ? message : "");
}

void run_init(struct run *run, struct recording *recording, const char *dir)
{
    memset(run, 0, sizeof *run);
    run->recording = recording;
    run->outcome = &recording->outcome;
    tidings_options_init(&run->options);
    run->options.dir = dir;
    run->options.settings = recording->settings;
    run->options.clock = run_clock;
    run->options.clock_ctx = run;
    model_init(&run->model, &recording->settings);
    model_answer_init(&run->expected);
    tidings_answer_init(&run->answer);
    atomic_store(&run->clock_ms, recording->start_ms);
    run->post_room = recording->room + 1;
    run->post_ids = calloc(run->post_room, sizeof *run->post_ids);
    run->publish_of = calloc(run->post_room, sizeof *run->publish_of);
    run->comment_ids = calloc(run->post_room, sizeof *run->comment_ids);
    run->comment_of = calloc(run->post_room, sizeof *run->comment_of);
    run->story.made_room = recording->room + 1;
    run->story.made = calloc(run->story.made_room, sizeof *run->story.made);
    run->story.maker_of = calloc(run->story.made_room, sizeof *run->story.maker_of);
}

bool run_open(struct run *run, struct recording *recording, const char *dir)
{
    run_init(run, recording, dir);
    return run_open_engine(run);
}

void run_close(struct run *run)
{
    tidings_close(run->engine);
    run->engine = NULL;
    tidings_answer_release(&run->answer);
    model_answer_release(&run->expected);
    model_release(&run->model);
    free(run->post_ids);
    free(run->publish_of);
    free(run->comment_ids);
    free(run->comment_of);
    for (size_t i = 0; i < CLIENTS; i++)
        free(run->story.clients[i].rows);
    for (size_t i = 0; i < LISTS; i++)
        model_drop(run->found_names[i]);
    free(run->story.made);
    free(run->story.maker_of);
}

static bool run_reopen(struct run *run, const struct tidings_settings *rules)
{
    tidings_close(run->engine);
    run->engine = NULL;
    run->outcome->reopens++;
    if (rules != NULL && !run->keeps_rules) {
        /* What is ordered otherwise cannot go on where it stood. */
        memset(run->places, 0, sizeof run->places);
        run->options.settings = *rules;
        model_change_rules(&run->model, rules, atomic_load(&run->clock_ms));
    }
    return run_open_engine(run);
}

bool run_verify(struct run *run)
{
    char text[2048] = "";
    struct tidings_verify verify = {.report = fmemopen(text, sizeof text, "w")};
    enum tidings_err err = tidings_verify(run->engine, &verify);

    if (verify.report != NULL)
        fclose(verify.report);
    run->outcome->verifies++;
    if (err != TIDINGS_OK)
        return run_fail(run, "tidings_verify: %s", tidings_err_code(err));
    if (verify.differences != 0)
        return run_fail(run, "tidings_verify: %" PRIu64 " differences: %.400s", verify.differences,
                        text);
    if (verify.repaired != 0)
        return run_fail(run, "tidings_verify repaired without being asked to");
    return true;
}

/* ---- What the engine makes up -------------------------------------------------------------- */

static bool learn_as_of(struct run *run, const struct tidings_op *op)
{
    const struct tidings_moment *as_of = answer_as_of(op->kind, &run->answer);

    if (run->answer.err != TIDINGS_OK || as_of == NULL)
        return true;
    if (!engine_went_on(&run->newest, as_of))
        return run_fail(run, "as_of is older than an earlier one");
    if (!engine_covers(as_of, run->model.newest_id))
        return run_fail(run, "as_of is older than the id %" PRIu64, run->model.newest_id);
    run->newest = *as_of;
    return true;
}

bool run_is_repeat(const struct tidings_op *op, uint64_t id, bool known)
{
    return op->once != NULL && (id == 0 || known);
}

bool run_check_new_id(struct run *run, uint64_t id, const char *what)
{
    if (id <= run->model.newest_id || id > TIDINGS_ID_MAX)
        return run_fail(run, "new %s id %" PRIu64 " after %" PRIu64, what, id,
                        run->model.newest_id);
    if (!engine_is_newer(&run->newest, id))
        return run_fail(run, "new %s id %" PRIu64 " is not newer than the last as_of", what, id);
    return true;
}

/* ---- One operation ------------------------------------------------------------------------- */

bool is_storage_error(enum tidings_err err)
{
    return err == TIDINGS_NO_SPACE || err == TIDINGS_IO || err == TIDINGS_UNCERTAIN;
}

bool run_op(struct run *run, const struct tidings_op *op, struct tidings_cursor model_after)
{
    return run_call(run, &(struct model_call){.op = op, .after = model_after});
}

bool run_call(struct run *run, const struct model_call *asked)
{
    const struct tidings_op *op = asked->op;
    const struct op_row *row = op_row(op->kind);
    struct model_call call = {
        .op = op,
        .now_ms = op->now_ms,
        .after = asked->after,
        .up_to = asked->up_to,
        .reported = asked->reported,
    };
    struct tidings_op exactly = *op;
    exactly.freshness = TIDINGS_EXACT;
    struct tidings *engine = run->choose != NULL ? run->choose(run, op) : run->engine;

    if (engine == NULL)
        return false;
    enum tidings_err err = tidings_run(engine, &exactly, &run->answer);

    if (op->now_ms == 0)
        call.now_ms = atomic_load(&run->clock_ms);
    run->outcome->answers++;
    run->outcome->errors += err != TIDINGS_OK;
    if (err != run->answer.err)
        return run_fail(run, "tidings_run returned %s, the answer says %s", tidings_err_code(err),
                        tidings_err_code(run->answer.err));
    if (run->storage_fails && is_storage_error(err))
        return true;
    if (!invariants_hold(&run->options.settings, op, &run->answer, &run->outcome->report))
        return run_fail(run, "in the answer to %s of user %" PRIu64, op_name(op->kind),
                        op->user_id);
    if (err == TIDINGS_OK && row->learn != NULL && !row->learn(run, &call))
        return false;
    model_run(&run->model, &call, &run->expected);
    if (run->ran != NULL)
        run->ran(run, &call);
    if (!compare_answers(op, &run->expected, &run->answer, &run->outcome->report))
        return run_fail(run, "in the answer to %s of user %" PRIu64, op_name(op->kind),
                        op->user_id);
    if (err == TIDINGS_OK && row->heard != NULL && !row->heard(run))
        return false;
    return learn_as_of(run, op);
}

struct tidings_cursor run_model_next(const struct run *run, const struct tidings_op *op)
{
    const struct op_row *row = op_row(op->kind);

    return row->model_next != NULL ? row->model_next(run) : run->expected.next;
}

/* ---- From a step to an operation ----------------------------------------------------------- */

/* Has what the ref names been made in this run? */
static bool ref_made(const struct run *run, const struct ref *ref, uint64_t *id)
{
    if (ref->kind == REF_SCENE || ref->kind == REF_MESSAGE)
        return run_scene_id(&run->story, ref, id);
    if ((ref->kind != REF_POST && ref->kind != REF_COMMENT) || ref->value >= run->post_room)
        return false;
    *id = ref->kind == REF_POST ? run->post_ids[ref->value] : run->comment_ids[ref->value];
    return *id != 0;
}

uint64_t run_ref_id(const struct run *run, const struct ref *ref)
{
    uint64_t id;

    if (ref->kind == REF_NUMBER)
        return ref->value;
    if (ref_made(run, ref, &id))
        return id + (uint64_t)ref->delta;
    return TIDINGS_ID_MAX - 1000000 - ref->value % 1000000;
}

/* The newest token that the engine would give now. */
static bool fresh_token(struct run *run, const struct step *step, struct kept_token *token)
{
    struct tidings_op op = {
        .kind = TIDINGS_OP_BADGE, .user_id = run->recording->user_ids[0], .now_ms = step->now_ms};

    if (!run_op(run, &op, (struct tidings_cursor){0, 0}))
        return false;
    *token = (struct kept_token){run->answer.u.badge.as_of, model_now(&run->model)};
    return true;
}

bool run_resolve_token(struct run *run, const struct step *step, struct tidings_moment *up_to)
{
    const struct ref *ref = &step->up_to;
    struct kept_token token = {0};

    if (ref->kind == REF_NUMBER) {
        for (size_t i = 0; i < TIDINGS_MOMENT_PARTS; i++)
            token.as_of.part[i] = ref->value;
    } else if (ref->kind == REF_AS_OF && run->slots[ref->value].covers.given) {
        token = run->slots[ref->value];
    } else if (!fresh_token(run, step, &token)) {
        return false;
    } else if (ref->kind == REF_BEYOND) {
        token = (struct kept_token){engine_beyond(&token.as_of, (uint64_t)ref->delta), {0}};
    }
    *up_to = token.as_of;
    run->up_to = token.covers;
    return true;
}

/* Where the step's page begins, in both terms. */
static struct place find_place(struct run *run, const struct step *step)
{
    const struct op_row *row = op_row(step->op.kind);

    /* The place may be another list's, if this one's beginning has been left out. */
    if (step->list != 0 && !step->list_begins && run->places[step->list % LISTS].list == step->list)
        return run->places[step->list % LISTS];
    return row->begin != NULL ? row->begin(run, step) : (struct place){0};
}

/* Fills in what the step only names. */
static bool resolve(struct run *run, const struct step *step, struct tidings_op *op,
                    struct model_call *call)
{
    const struct op_row *row = op_row(op->kind);
    struct tidings_page *page = op_page(op);

    run->up_to = (struct model_moment){0};
    run->reported = 0;
    if (row != NULL && row->resolve != NULL && !row->resolve(run, step, op))
        return false;
    call->up_to = run->up_to;
    call->reported = run->reported;
    if (page != NULL) {
        struct place at = find_place(run, step);

        /* A cursor that stands in the operation itself is a bad one. */
        if (page->after.a == 0 && page->after.b == 0)
            page->after = at.engine;
        call->after = at.model;
    }
    return true;
}

/* The error that the list's first page would be answered with. */
static enum tidings_err error_at_first(struct run *run, struct tidings_op op)
{
    struct model_call call = {.op = &op, .now_ms = atomic_load(&run->clock_ms)};

    op_page(&op)->after = (struct tidings_cursor){0, 0};
    model_run(&run->model, &call, &run->expected);
    return run->expected.err;
}

static bool run_wild(struct run *run, const struct tidings_op *op)
{
    enum tidings_err err = tidings_run(run->engine, op, &run->answer);

    if (err == TIDINGS_INVALID && run->answer.field && strcmp(run->answer.field, "cursor") == 0)
        return true;
    if (err != TIDINGS_OK && err == error_at_first(run, *op))
        return true;
    if (err != TIDINGS_OK)
        return run_fail(run, "a made-up cursor: %s", tidings_err_code(err));
    return invariants_hold(&run->options.settings, op, &run->answer, &run->outcome->report);
}

/* Keys and fingerprints are their numbers, at both ends so that every byte counts. */
static void number_bytes(uint8_t bytes[16], uint32_t number)
{
    memset(bytes, 0, 16);
    memcpy(bytes, &number, sizeof number);
    memcpy(bytes + 12, &number, sizeof number);
}

static bool remember(struct run *run, const struct step *step, const struct tidings_op *op)
{
    const struct tidings_moment *as_of = answer_as_of(op->kind, &run->answer);
    const struct op_row *row = op_row(op->kind);

    if (run->answer.err != TIDINGS_OK)
        return true;
    if (step->list != 0)
        run->places[step->list % LISTS] = (struct place){
            step->list, answer_next(op->kind, &run->answer), run_model_next(run, op)};
    if (step->keep_as_of != 0 && as_of != NULL)
        run->slots[step->keep_as_of] = (struct kept_token){*as_of, model_now(&run->model)};
    return row->remember == NULL || row->remember(run, step, op);
}

static bool keep_moment_before(struct run *run, const struct step *step)
{
    const struct op_row *row = op_row(step->op.kind);

    return step->keep_as_of == 0 || row == NULL || row->as_of != 0 ||
           fresh_token(run, step, &run->slots[step->keep_as_of]);
}

static bool run_op_step(struct run *run, const struct step *step)
{
    struct tidings_op op = step->op;
    struct model_call call = {.op = &op};
    struct render render = {.kind = op.kind};
    struct tidings_once once = {.render = render_answer, .ctx = &render};
    bool ok;

    if (step->once != 0) {
        number_bytes(once.key, step->once);
        number_bytes(once.fingerprint, step->once_print);
        op.once = &once;
    }
    op.now_ms = step->by_clock ? 0 : step->now_ms;
    ok = keep_moment_before(run, step) && resolve(run, step, &op, &call);
    if (ok && step->wild_cursor) {
        ok = run_wild(run, &op);
    } else if (ok) {
        ok = run_call(run, &call) && remember(run, step, &op);
    }
    free(run->ids);
    run->ids = NULL;
    return ok;
}

bool run_step(struct run *run, const struct step *step)
{
    atomic_store(&run->clock_ms, step->now_ms);
    run->outcome->steps++;
    switch (step->kind) {
    case STEP_OP:
        return run_op_step(run, step);
    case STEP_SWEEP:
        return run_sweep(run, step->now_ms, step->op.u.page.limit);
    case STEP_VERIFY:
        return run_verify(run);
    case STEP_REOPEN:
        return run_reopen(run, step->rules);
    }
    return false;
}
