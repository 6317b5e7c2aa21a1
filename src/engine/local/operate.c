/* SPDX-License-Identifier: MIT */
/*
 * What operators ask of a server of the log over its own connection, whose key is made of the secret in the database: who can read
 * that can change everything anyway. One operation a connection. A server that does not make changes hands them on by itself.
 */
#include <stdlib.h>

#include "domain/check.h"
#include "engine/local/replica_internal.h"
#include "engine/ops/codec.h"
#include "engine/ops/ops.h"

enum {
    OPERATE_ASK_MS = 15000,   /* a change may wait for a writer */
    OPERATE_BYTES = 16 << 20, /* of a question, and of an answer */
    OPERATE_LATELY_MS = 10000,
    OPERATE_SERVERS_MAX = 8, /* that are asked, one after the other */
};

/* ---- On the server -------------------------------------------------------------------------- */

struct operate_call {
    struct tidings_call call;
    pthread_mutex_t mutex;
    pthread_cond_t done;
    bool is_done;
};

static void operate_done(struct tidings_call *call)
{
    struct operate_call *own = call->ctx;
    pthread_mutex_lock(&own->mutex);
    own->is_done = true;
    pthread_cond_signal(&own->done);
    pthread_mutex_unlock(&own->mutex);
}

static enum tidings_err operate_run(struct local *local, const struct tidings_op *op,
                                    struct tidings_answer *answer)
{
    struct engine *engine = &local->engine;
    struct operate_call own = {
        .call = {.op = op, .answer = answer, .done = operate_done, .ctx = &own}};
    pthread_mutex_init(&own.mutex, NULL);
    pthread_cond_init(&own.done, NULL);
    engine->vtable->submit(engine, &own.call);
    pthread_mutex_lock(&own.mutex);
    while (!own.is_done)
        pthread_cond_wait(&own.done, &own.mutex);
    pthread_mutex_unlock(&own.mutex);
    pthread_cond_destroy(&own.done);
    pthread_mutex_destroy(&own.mutex);
    return own.call.err ? own.call.err : engine->vtable->finish(engine, &own.call);
}

static bool operate_is_allowed(const struct tidings_op *op)
{
    bool known = op->kind == TIDINGS_OP_WEBHOOKS || op->kind == TIDINGS_OP_LETTERS ||
                 op->kind == TIDINGS_OP_TARGET_WISH;
    return known && op->role == TIDINGS_ROLE_ADMIN && !op->once;
}

void operate_serve(struct local *local, struct wire *wire, struct bytes question)
{
    struct tidings_answer answer;
    struct tidings_once once;
    struct tidings_op op;
    struct arena arena;
    struct buf bytes;
    struct decoder r = decoder_of(question.p, question.n);
    arena_init(&arena, OPERATE_BYTES);
    tidings_answer_init(&answer);
    buf_init(&bytes, OPERATE_BYTES);
    if (!op_decode_any(&r, &arena, &op, &once) || !operate_is_allowed(&op) ||
        check_op(&op, local_in_force(local)) || !answer_clear(&answer)) {
        peer_refuse(wire, false, "it does not know that operation");
    } else {
        answer.err = operate_run(local, &op, &answer);
        answer_encode(op.kind, &answer, &bytes);
        struct bytes part = {(const uint8_t *)bytes.data, bytes.len};
        if (bytes.failed)
            peer_refuse(wire, false, "the answer is too long");
        else
            wire_send(wire, PEER_OPERATED, &part, 1);
    }
    buf_release(&bytes);
    tidings_answer_release(&answer);
    arena_release(&arena);
}

/* ---- Who asks ------------------------------------------------------------------------------- */

struct operate_servers {
    size_t n;
    char address[OPERATE_SERVERS_MAX][LOG_ADDRESS_MAX + 1];
};

static void operate_add(struct operate_servers *to, const char *address)
{
    for (size_t i = 0; i < to->n; i++)
        if (!strcmp(to->address[i], address))
            return;
    if (*address && to->n < OPERATE_SERVERS_MAX)
        snprintf(to->address[to->n++], LOG_ADDRESS_MAX + 1, "%s", address);
}

/* The writer first. */
static enum log_outcome operate_find(struct log_mysql *log, struct operate_servers *to)
{
    struct log_writer writer;
    struct log_replica *rows = calloc(LOG_REPLICAS_MAX, sizeof *rows);
    size_t n = 0;
    enum log_outcome outcome = rows ? log_mysql_look(log, &writer) : LOG_FAILED;
    if (!outcome)
        outcome = log_mysql_replicas(log, rows, LOG_REPLICAS_MAX, &n);
    if (!outcome && writer.lease_left_ms > 0)
        operate_add(to, writer.address);
    for (size_t i = 0; !outcome && i < n; i++)
        if (rows[i].silent_ms < OPERATE_LATELY_MS)
            operate_add(to, rows[i].address);
    free(rows);
    return outcome;
}

/* True: it has answered. */
static bool operate_ask(struct wire_context *context, const char *address,
                        const struct tidings_op *op, struct tidings_answer *answer)
{
    struct buf question, message;
    struct wire *wire = NULL;
    const char *why;
    uint8_t type;
    buf_init(&question, OPERATE_BYTES);
    buf_init(&message, OPERATE_BYTES);
    op_encode(op, &question);
    struct bytes part = {(const uint8_t *)question.data, question.len};
    bool ok = !question.failed &&
              !wire_connect(context, peer_host(address), PEER_TIMEOUT_MS, &wire, &why) &&
              !wire_send(wire, PEER_OPERATE, &part, 1) &&
              !wire_receive(wire, OPERATE_ASK_MS, &type, &message) && type == PEER_OPERATED;
    struct arena *arena = ok ? answer_clear(answer) : NULL;
    const char *copy = arena ? arena_text(arena, message.data, message.len) : NULL;
    struct decoder r = decoder_of(copy, copy ? message.len : 0);
    ok = copy && answer_decode(op->kind, &r, arena, answer);
    wire_free(wire);
    buf_release(&question);
    buf_release(&message);
    return ok;
}

static enum tidings_err operate_through(struct log_mysql *log, const struct tidings_op *op,
                                        struct tidings_answer *answer, const char **message)
{
    uint8_t secret[LOG_SECRET_BYTES], key[WIRE_KEY_BYTES];
    struct operate_servers servers = {0};
    enum log_outcome outcome = log_mysql_check(log, NULL);
    if (!outcome)
        outcome = log_mysql_secret(log, secret);
    if (!outcome)
        outcome = operate_find(log, &servers);
    if (outcome)
        return store_fail(outcome == LOG_REFUSED ? TIDINGS_INVALID : TIDINGS_UNREACHABLE, message,
                          log_mysql_message(log), false);
    bool derived = replica_key_derive("tidings peer 1", secret, key);
    struct wire_context *context = derived ? wire_context_new(key) : NULL;
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(key, sizeof key);
    if (!context)
        return store_fail(TIDINGS_NO_MEMORY, message, "out of memory", false);
    bool answered = false;
    for (size_t i = 0; i < servers.n && !answered; i++)
        answered = operate_ask(context, servers.address[i], op, answer);
    wire_context_free(context);
    *message = NULL;
    if (answered)
        return answer->err;
    return store_fail(TIDINGS_UNREACHABLE, message,
                      servers.n ? "no server of the log answers"
                                : "no server of the log runs: start one, or ask one with --server",
                      false);
}

enum tidings_err tidings_log_operate(const struct tidings_options *options,
                                     const struct tidings_op *op, struct tidings_answer *answer,
                                     const char **message)
{
    struct log_mysql *log = NULL;
    const char *why = NULL;
    if (log_mysql_open(options->mysql, options->mysql_password, &log, &why))
        return store_fail(TIDINGS_INVALID, message, why ? why : "out of memory", false);
    enum tidings_err err = operate_through(log, op, answer, message);
    log_mysql_close(log);
    return err;
}
