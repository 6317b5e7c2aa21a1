/* SPDX-License-Identifier: MIT */
/*
 * The writer's side of changes that were asked for elsewhere: a thread per connection takes operations, queues them as if they
 * had been asked for here, and sends back what was refused. What was made is answered by the log.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/wait.h"
#include "domain/check.h"
#include "engine/local/forward.h"
#include "engine/local/local.h"
#include "engine/ops/codec.h"

enum {
    MESSAGE_MAX = 128 << 20,      /* of operations */
    SERVED_MEMORY_MAX = 96 << 20, /* of one operation */
    WAIT_MS = 500,
};

/* A change that came over a connection. */
struct served {
    struct tidings_call call;
    struct tidings_op op;
    struct tidings_once once;
    struct tidings_answer answer;
    struct arena arena;
    struct forward_session *session;
};

struct forward_session {
    struct local *local;
    struct wire *wire;
    uint64_t origin;
    int done_fd;
    pthread_mutex_t mutex; /* guards what follows */
    struct tidings_call *done;
    size_t underway;
};

static void served_free(struct served *served)
{
    tidings_answer_release(&served->answer);
    arena_release(&served->arena);
    free(served);
}

/* On the writer's thread, or any other. */
static void served_done(struct tidings_call *call)
{
    struct forward_session *session = ((struct served *)call->ctx)->session;
    const uint64_t one = 1;
    pthread_mutex_lock(&session->mutex);
    call->next = session->done;
    session->done = call;
    while (write(session->done_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_mutex_unlock(&session->mutex);
}

static struct tidings_call *session_take_done(struct forward_session *session, size_t *underway)
{
    pthread_mutex_lock(&session->mutex);
    struct tidings_call *calls = session->done;
    session->done = NULL;
    for (struct tidings_call *call = calls; call; call = call->next)
        session->underway--;
    *underway = session->underway;
    pthread_mutex_unlock(&session->mutex);
    return calls;
}

/* ---- Operations -------------------------------------------------------------------------------- */

/* NULL if memory is short, or these bytes are no operation. */
static struct served *served_decode(struct forward_session *session, uint64_t number,
                                    struct bytes bytes)
{
    struct served *served = calloc(1, sizeof *served);
    if (!served)
        return NULL;
    arena_init(&served->arena, SERVED_MEMORY_MAX);
    tidings_answer_init(&served->answer);
    served->session = session;
    const char *copy = arena_text(&served->arena, bytes.p, bytes.n);
    struct decoder r = decoder_of(copy, copy ? bytes.n : 0);
    served->call = (struct tidings_call){.op = &served->op,
                                         .answer = &served->answer,
                                         .done = served_done,
                                         .ctx = served,
                                         .origin = session->origin,
                                         .number = number};
    if (op_decode(&r, &served->arena, &served->op, &served->once) && answer_clear(&served->answer))
        return served;
    served_free(served);
    return NULL;
}

static bool session_take_change(struct forward_session *session, struct decoder *r)
{
    uint64_t number = read_varint(r);
    size_t n = read_varint(r);
    const uint8_t *bytes = read_bytes(r, n);
    struct served *served =
        r->bad ? NULL : served_decode(session, number, (struct bytes){bytes, n});
    if (!served)
        return false;
    pthread_mutex_lock(&session->mutex);
    session->underway++;
    pthread_mutex_unlock(&session->mutex);
    served->answer.field = check_op(&served->op, local_in_force(session->local));
    if (served->answer.field) {
        served->call.err = TIDINGS_INVALID;
        served_done(&served->call);
    } else {
        writer_submit(session->local, &served->call);
    }
    return true;
}

/* False: nothing of that kind is expected, and the connection is of no use. */
static bool session_take_message(struct forward_session *session, struct buf *message)
{
    uint8_t type;
    enum wire_result result = wire_receive(session->wire, 0, &type, message);
    if (result == WIRE_NOTHING)
        return true;
    if (result || type != PEER_CHANGES)
        return false;
    struct decoder r = decoder_of(message->data, message->len);
    while (decoder_left(&r))
        if (!session_take_change(session, &r))
            return false;
    return !r.bad;
}

/* ---- Answers ------------------------------------------------------------------------------------ */

static void put_refusal(const struct tidings_call *call, uint64_t position, struct buf *answer,
                        struct buf *to)
{
    buf_clear(answer);
    call->answer->err = call->err;
    answer_encode(call->op->kind, call->answer, answer);
    buf_varint(to, call->number);
    buf_varint(to, position);
    buf_varint(to, answer->len);
    buf_append(to, answer->data, answer->len);
}

/* Sends what was refused, frees all that is done. False: the connection is of no use. */
static bool session_answer(struct forward_session *session, struct buf *refusals,
                           struct buf *answer, size_t *underway)
{
    uint64_t ignored;
    while (read(session->done_fd, &ignored, sizeof ignored) < 0 && errno == EINTR)
        ;
    struct tidings_call *calls = session_take_done(session, underway);
    uint64_t position = local_end(session->local).position; /* behind what they were refused for */
    buf_clear(refusals);
    while (calls) {
        struct tidings_call *call = calls;
        calls = call->next;
        /* What is not known is known to the log. */
        if (call->err && call->err != TIDINGS_UNCERTAIN)
            put_refusal(call, position, answer, refusals);
        served_free(call->ctx);
    }
    struct bytes part = {(const uint8_t *)refusals->data, refusals->len};
    return !refusals->failed && !answer->failed &&
           (!refusals->len || !wire_send(session->wire, PEER_REFUSALS, &part, 1));
}

/* ---- A connection -------------------------------------------------------------------------------- */

static void session_run(struct forward_session *session, struct peer *peer, struct buf *message)
{
    struct buf refusals, answer;
    size_t underway;
    buf_init(&refusals, MESSAGE_MAX);
    buf_init(&answer, MESSAGE_MAX);
    while (peer_is_wanted(peer) && session_answer(session, &refusals, &answer, &underway) &&
           session_take_message(session, message))
        wire_wait(session->wire, session->done_fd, WAIT_MS);
    /* The answers to what is under way go nowhere; whoever asked will find them in the log. */
    do {
        session_answer(session, &refusals, &answer, &underway);
        if (underway)
            wait_readable(session->done_fd, WAIT_MS);
    } while (underway);
    buf_release(&refusals);
    buf_release(&answer);
}

static bool send_welcome(struct forward_session *session)
{
    uint8_t bytes[16];
    put_u64(bytes, replica_fence(session->local));
    put_u64(bytes + 8, local_end(session->local).position);
    return !wire_send(session->wire, PEER_WELCOME, &(struct bytes){bytes, sizeof bytes}, 1);
}

void forward_serve(struct peer *peer, struct buf *message)
{
    struct local *local = peer_local(peer);
    struct decoder r = decoder_of(message->data, message->len);
    struct forward_session session = {.local = local, .wire = peer_wire(peer)};
    const uint8_t *id = read_bytes(&r, REDO_ID_BYTES);
    session.origin = read_u64(&r);
    if (r.bad || !session.origin || memcmp(id, local->store->id, REDO_ID_BYTES) != 0) {
        peer_refuse(session.wire, false, "it is a directory of another community");
        return;
    }
    /* After this no change of a former connection of that server is under way. */
    if (!local->replica || !peer_claim_origin(peer, session.origin)) {
        peer_refuse(session.wire, true, "a former connection is not over yet");
        return;
    }
    if (!replica_fence(local)) {
        peer_refuse(session.wire, true, "it is not the writer");
        return;
    }
    session.done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&session.mutex, NULL);
    struct buf changes;
    buf_init(&changes, MESSAGE_MAX);
    if (session.done_fd >= 0 && send_welcome(&session))
        session_run(&session, peer, &changes);
    buf_release(&changes);
    if (session.done_fd >= 0)
        close(session.done_fd);
    pthread_mutex_destroy(&session.mutex);
}
