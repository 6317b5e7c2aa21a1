/* SPDX-License-Identifier: MIT */
/* The public functions: arguments are checked here, for every engine alike. */
#include "tidings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "domain/check.h"
#include "engine/engine.h"

/* An answer holds a page, a post or every followed author, and never more than this. */
#define ANSWER_MEMORY_MAX ((size_t)256 << 20)

struct tidings {
    struct engine *engine;
    struct tidings_settings settings;
};

/* ---- Words ---------------------------------------------------------------------------------- */

const char *tidings_err_code(enum tidings_err err)
{
    static const char *const codes[] = {
#define X(name, code, text) [TIDINGS_##name] = code,
        TIDINGS_ERRORS(X)
#undef X
    };
    return (size_t)err < sizeof codes / sizeof *codes ? codes[err] : "unknown";
}

const char *tidings_err_text(enum tidings_err err)
{
    static const char *const texts[] = {
#define X(name, code, text) [TIDINGS_##name] = text,
        TIDINGS_ERRORS(X)
#undef X
    };
    return (size_t)err < sizeof texts / sizeof *texts ? texts[err] : "unknown error";
}

void tidings_options_init(struct tidings_options *options)
{
    *options = (struct tidings_options){
        .settings =
            {
#define X(name, standard, least, most, text) .name = (standard),
                TIDINGS_SETTINGS(X)
#undef X
            },
    };
}

/* ---- Answers -------------------------------------------------------------------------------- */

void tidings_answer_init(struct tidings_answer *answer)
{
    memset(answer, 0, sizeof *answer);
}

void tidings_answer_release(struct tidings_answer *answer)
{
    struct arena *arena = answer->memory;
    if (arena)
        arena_release(arena);
    free(arena);
    tidings_answer_init(answer);
}

/* Empties the answer but keeps its memory for reuse; NULL if there is none to be had. */
static struct arena *clear_answer(struct tidings_answer *answer)
{
    struct arena *arena = answer->memory;
    if (arena) {
        arena_clear(arena);
    } else {
        arena = malloc(sizeof *arena);
        if (arena)
            arena_init(arena, ANSWER_MEMORY_MAX);
    }
    tidings_answer_init(answer);
    answer->memory = arena;
    return arena;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

enum tidings_err tidings_open(const struct tidings_options *options, struct tidings **out,
                              const char **message)
{
    const char *ignored;
    if (!message)
        message = &ignored;
    *message = check_settings(&options->settings);
    if (*message || !options->dir) {
        *message = *message ? *message : "dir";
        return TIDINGS_INVALID;
    }
    struct tidings *tidings = calloc(1, sizeof *tidings);
    enum tidings_err err = tidings ? TIDINGS_OK : TIDINGS_NO_MEMORY;
    if (!err) {
        tidings->settings = options->settings;
        err = engine_local_open(options, &tidings->engine, message);
    }
    if (err) {
        if (!*message)
            *message = tidings_err_text(err);
        free(tidings);
        return err;
    }
    *out = tidings;
    return TIDINGS_OK;
}

static bool op_writes(enum tidings_op_kind kind)
{
    static const bool writes[] = {
#define X(name, lower, changes, args, answer) [TIDINGS_OP_##name] = changes,
        TIDINGS_OPS(X)
#undef X
    };
    return writes[kind];
}

void tidings_submit(struct tidings *tidings, struct tidings_call *call)
{
    memset(call->result, 0, sizeof call->result);
    call->next = NULL;
    call->field = check_op(call->op, &tidings->settings);
    const struct tidings_once *once = call->op->once;
    if (!call->field && once && (!op_writes(call->op->kind) || !once->render))
        call->field = "once";
    call->err = call->field ? TIDINGS_INVALID : TIDINGS_OK;
    if (!call->err && op_writes(call->op->kind))
        tidings->engine->vtable->submit(tidings->engine, call);
    else
        call->done(call);
}

enum tidings_err tidings_finish(struct tidings *tidings, struct tidings_call *call)
{
    struct tidings_answer *answer = call->answer;
    struct arena *arena = clear_answer(answer);
    if (call->err == TIDINGS_INVALID)
        answer->err = TIDINGS_INVALID;
    else if (!arena)
        answer->err = TIDINGS_NO_MEMORY;
    else
        answer->err = tidings->engine->vtable->answer(tidings->engine, call, answer, arena);
    if (answer->err)
        memset(&answer->u, 0, sizeof answer->u);
    if (answer->err == TIDINGS_INVALID)
        answer->field = call->field;
    return answer->err;
}

struct waiter {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool done;
};

static void wake(struct tidings_call *call)
{
    struct waiter *waiter = call->ctx;
    pthread_mutex_lock(&waiter->mutex);
    waiter->done = true;
    pthread_cond_signal(&waiter->cond);
    pthread_mutex_unlock(&waiter->mutex);
}

enum tidings_err tidings_run(struct tidings *tidings, const struct tidings_op *op,
                             struct tidings_answer *answer)
{
    struct waiter waiter = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    struct tidings_call call = {.op = op, .answer = answer, .done = wake, .ctx = &waiter};
    tidings_submit(tidings, &call);
    pthread_mutex_lock(&waiter.mutex);
    while (!waiter.done)
        pthread_cond_wait(&waiter.cond, &waiter.mutex);
    pthread_mutex_unlock(&waiter.mutex);
    return tidings_finish(tidings, &call);
}

void tidings_stats(struct tidings *tidings, struct tidings_stats *stats)
{
    tidings->engine->vtable->stats(tidings->engine, stats);
}

enum tidings_err tidings_verify(struct tidings *tidings, struct tidings_verify *verify)
{
    return tidings->engine->vtable->verify(tidings->engine, verify);
}

enum tidings_err tidings_backup(struct tidings *tidings, struct tidings_backup *backup,
                                const char **message)
{
    return tidings->engine->vtable->backup(tidings->engine, backup, message);
}

void tidings_close(struct tidings *tidings)
{
    if (!tidings)
        return;
    tidings->engine->vtable->close(tidings->engine);
    free(tidings);
}
