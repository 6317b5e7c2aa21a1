/* SPDX-License-Identifier: MIT */
/* The public functions: arguments are checked here, before the engine has them. */
#include "tidings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "domain/check.h"
#include "engine/engine.h"
#include "engine/facts/facts.h"
#include "engine/ops/ops.h"

/* An answer holds a page, a post or every followed author, and never more than this. */
#define ANSWER_MEMORY_MAX ((size_t)256 << 20)

struct tidings {
    struct engine *engine;
    unsigned forks; /* `forks` of the process that opened it */
};

/* How many forks this process is away from the one that opened the first engine. To ask for its number instead would be a call
 * of the system for every answer, a third of a badge. */
static unsigned forks;

static void count_fork(void)
{
    forks++;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

/* After a fork the child has the memory, and none of the threads: it would wait for ever. */
static bool is_ours(const struct tidings *tidings)
{
    return tidings->forks == forks;
}

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

size_t tidings_answer_bytes(const struct tidings_answer *answer)
{
    const struct arena *arena = answer->memory;
    return arena ? arena->total : 0;
}

struct arena *answer_clear(struct tidings_answer *answer)
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

/* NULL, or the name of the option that is wrong. */
static const char *check_options(const struct tidings_options *options)
{
    if (!options->dir)
        return "dir";
    if (options->follow && options->mysql)
        return "follow and mysql cannot be named together: a log is decided by the server that is "
               "followed, or in MySQL";
    return NULL;
}

enum tidings_err tidings_open(const struct tidings_options *options, struct tidings **out,
                              const char **message)
{
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    const char *ignored;
    if (!message)
        message = &ignored;
    *message = check_settings(&options->settings);
    if (!*message)
        *message = check_options(options);
    if (*message)
        return TIDINGS_INVALID;
    struct tidings *tidings = calloc(1, sizeof *tidings);
    enum tidings_err err = tidings ? TIDINGS_OK : TIDINGS_NO_MEMORY;
    if (!err) {
        pthread_once(&watched, watch_forks);
        tidings->forks = forks;
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

/* The argument at fault, or NULL. */
static const char *check_call(const struct tidings *tidings, const struct tidings_op *op)
{
    const char *field = check_op(op, tidings->engine->vtable->settings(tidings->engine));
    bool once_fits =
        !op->once || (op_writes(op->kind) && op->once->render && !once_is_tickets(op->once->key));
    return field || once_fits ? field : "once";
}

void tidings_submit(struct tidings *tidings, struct tidings_call *call)
{
    bool ready = answer_clear(call->answer) != NULL;
    call->next = NULL;
    call->until_ms = 0;
    call->origin = call->number = 0;
    call->answer->field = check_call(tidings, call->op);
    call->err = call->answer->field ? TIDINGS_INVALID : TIDINGS_OK;
    if (!call->err && !ready)
        call->err = TIDINGS_NO_MEMORY;
    if (!call->err && !is_ours(tidings))
        call->err = TIDINGS_CLOSED;
    if (call->err)
        call->done(call);
    else
        tidings->engine->vtable->submit(tidings->engine, call);
}

enum tidings_err tidings_finish(struct tidings *tidings, struct tidings_call *call)
{
    struct tidings_answer *answer = call->answer;
    if (!call->err && !is_ours(tidings))
        call->err = TIDINGS_CLOSED;
    answer->err = call->err ? call->err : tidings->engine->vtable->finish(tidings->engine, call);
    if (answer->err)
        memset(&answer->u, 0, sizeof answer->u);
    /* What is refused for another reason has spent nothing. */
    if (answer->err && answer->err != TIDINGS_RATE_LIMITED)
        answer->limit = (struct tidings_limit){0};
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

int64_t tidings_elapsed(struct tidings *tidings)
{
    return is_ours(tidings) ? tidings->engine->vtable->elapsed(tidings->engine) : 0;
}

void tidings_stats(struct tidings *tidings, struct tidings_stats *stats)
{
    *stats = (struct tidings_stats){.read_only = true};
    if (is_ours(tidings))
        tidings->engine->vtable->stats(tidings->engine, stats);
}

enum tidings_err tidings_verify(struct tidings *tidings, struct tidings_verify *verify)
{
    const struct engine_vtable *vtable = tidings->engine->vtable;
    if (!is_ours(tidings))
        return TIDINGS_CLOSED;
    return vtable->verify ? vtable->verify(tidings->engine, verify) : TIDINGS_UNSUPPORTED;
}

enum tidings_err tidings_export(struct tidings *tidings, struct tidings_export *out)
{
    if (!is_ours(tidings))
        return TIDINGS_CLOSED;
    return tidings->engine->vtable->export ? facts_export(tidings->engine, out)
                                           : TIDINGS_UNSUPPORTED;
}

enum tidings_err tidings_settings_of(struct tidings *tidings, struct tidings_settings *settings)
{
    if (!is_ours(tidings))
        return TIDINGS_INVALID;
    *settings = *tidings->engine->vtable->settings(tidings->engine);
    return TIDINGS_OK;
}

enum tidings_err tidings_import(struct tidings *tidings, struct tidings_import *in,
                                const char **message)
{
    enum tidings_err err = is_ours(tidings) ? TIDINGS_UNSUPPORTED : TIDINGS_CLOSED;
    if (is_ours(tidings) && tidings->engine->vtable->import_piece)
        return facts_import(tidings->engine, in, message);
    *message = tidings_err_text(err);
    return err;
}

enum tidings_err tidings_backup(struct tidings *tidings, struct tidings_backup *backup,
                                const char **message)
{
    const struct engine_vtable *vtable = tidings->engine->vtable;
    enum tidings_err err = is_ours(tidings) ? TIDINGS_UNSUPPORTED : TIDINGS_CLOSED;
    if (is_ours(tidings) && vtable->backup)
        return vtable->backup(tidings->engine, backup, message);
    *message = tidings_err_text(err);
    return err;
}

enum tidings_err tidings_secret(struct tidings *tidings, uint8_t secret[TIDINGS_SECRET_BYTES])
{
    const struct engine_vtable *vtable = tidings->engine->vtable;
    if (!is_ours(tidings))
        return TIDINGS_CLOSED;
    return vtable->secret ? vtable->secret(tidings->engine, secret) : TIDINGS_UNSUPPORTED;
}

enum tidings_err tidings_replica_status(struct tidings *tidings, struct tidings_replica *status)
{
    const struct engine_vtable *vtable = tidings->engine->vtable;
    if (!is_ours(tidings))
        return TIDINGS_CLOSED;
    return vtable->replica_status ? vtable->replica_status(tidings->engine, status)
                                  : TIDINGS_UNSUPPORTED;
}

uint64_t tidings_term(struct tidings *tidings)
{
    const struct engine_vtable *vtable = tidings->engine->vtable;
    if (!is_ours(tidings))
        return 0;
    return vtable->term ? vtable->term(tidings->engine) : 1;
}

enum tidings_err tidings_users(struct tidings *tidings, uint64_t after, uint64_t *ids, size_t max,
                               size_t *n)
{
    const struct engine_vtable *vtable = tidings->engine->vtable;
    if (!is_ours(tidings))
        return TIDINGS_CLOSED;
    if (after > TIDINGS_ID_MAX)
        return TIDINGS_INVALID;
    return vtable->users ? vtable->users(tidings->engine, after, ids, max, n) : TIDINGS_UNSUPPORTED;
}

enum tidings_err tidings_follow_limit(struct tidings *tidings, uint64_t user_id,
                                      struct tidings_limit *limit)
{
    const struct engine_vtable *vtable = tidings->engine->vtable;
    if (!is_ours(tidings))
        return TIDINGS_CLOSED;
    if (!user_id || user_id > TIDINGS_ID_MAX)
        return TIDINGS_INVALID;
    return vtable->follow_limit ? vtable->follow_limit(tidings->engine, user_id, limit)
                                : TIDINGS_UNSUPPORTED;
}

void tidings_watch(struct tidings *tidings, struct tidings_watcher *watcher)
{
    struct watchers *watchers = &tidings->engine->watchers;
    pthread_mutex_lock(&watchers->mutex);
    watcher->next = watchers->first;
    watchers->first = watcher;
    pthread_mutex_unlock(&watchers->mutex);
}

void tidings_unwatch(struct tidings *tidings, struct tidings_watcher *watcher)
{
    struct watchers *watchers = &tidings->engine->watchers;
    pthread_mutex_lock(&watchers->mutex);
    struct tidings_watcher **link = &watchers->first;
    while (*link && *link != watcher)
        link = &(*link)->next;
    if (*link)
        *link = watcher->next;
    pthread_mutex_unlock(&watchers->mutex);
}

void tidings_close(struct tidings *tidings)
{
    if (!tidings)
        return;
    if (is_ours(tidings))
        tidings->engine->vtable->close(tidings->engine);
    free(tidings);
}
