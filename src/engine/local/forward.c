/* SPDX-License-Identifier: MIT */
/*
 * One thread has the connection to the writer. A call is *waiting* until it is sent and *sent* until it is answered; when the
 * connection is lost it is *open*: whether it was made is known when this replica has what the next WELCOME says.
 */
#include "engine/local/forward.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/wait.h"
#include "engine/local/local.h"
#include "engine/ops/codec.h"

enum {
    WINDOW = 1024, /* changes under way at once; their refusals fit the socket's buffers */
    MESSAGE_BYTES = 1 << 20, /* after so many bytes a message is sent */
    CHANGES_MAX = 64 << 20,  /* of a message, which has at least one operation */
    CONNECT_MS = 1000,
    AGAIN_MS = 50, /* after a connection that failed */
    IDLE_MS = 250, /* deadlines are looked at so often */
    RETRY_AFTER_MS = 1000,
    LAST_ANSWERS_MS = 5000, /* what is under way is waited for so long when the server ends */
};

struct sent_call {
    uint64_t number; /* 0: the place is free */
    bool is_open;
    struct tidings_call *call;
};

struct forward {
    struct local *local;
    uint64_t origin;
    pthread_t thread;
    bool started;
    int wake_fd;
    _Atomic bool stopping;

    pthread_mutex_t mutex;             /* guards what follows */
    bool closing;                      /* takes no more calls */
    struct tidings_call *first, *last; /* waiting */
    size_t n_waiting;
    struct sent_call sent[WINDOW]; /* by number */
    size_t n_sent;
    uint64_t number;                  /* the last that was given */
    char address[PEER_ADDRESS_BYTES]; /* of the writer; "": nobody */
    uint64_t fence, welcome_fence;    /* of that writer; of the one that welcomed last */
};

static void forward_wake(struct forward *forward)
{
    const uint64_t one = 1;
    while (write(forward->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static void forward_complete(struct tidings_call *call, enum tidings_err err)
{
    call->err = err;
    if (err == TIDINGS_UNREACHABLE || err == TIDINGS_BUSY)
        call->answer->retry_after_ms = RETRY_AFTER_MS;
    call->done(call);
}

/* ---- Calls, under the mutex ------------------------------------------------------------------------ */

static void forward_queue(struct forward *forward, struct tidings_call *call)
{
    call->next = NULL;
    if (forward->last)
        forward->last->next = call;
    else
        forward->first = call;
    forward->last = call;
    forward->n_waiting++;
}

static struct tidings_call *forward_dequeue(struct forward *forward)
{
    struct tidings_call *call = forward->first;
    if (!call)
        return NULL;
    forward->first = call->next;
    if (!forward->first)
        forward->last = NULL;
    call->next = NULL;
    forward->n_waiting--;
    return call;
}

static struct sent_call *forward_sent(struct forward *forward, uint64_t number)
{
    struct sent_call *sent = &forward->sent[number % WINDOW];
    return number && sent->number == number ? sent : NULL;
}

static struct tidings_call *forward_take(struct forward *forward, struct sent_call *sent)
{
    struct tidings_call *call = sent->call;
    *sent = (struct sent_call){0};
    forward->n_sent--;
    return call;
}

/* ---- What others call --------------------------------------------------------------------------------- */

void forward_submit(struct local *local, struct tidings_call *call)
{
    struct forward *forward = local->forward;
    const struct tidings_settings *settings = local_in_force(local);
    enum tidings_err err = TIDINGS_OK;
    if (!call->until_ms)
        call->until_ms = wait_now_ms() + (int64_t)settings->deadline_ms - call->waited_ms;
    pthread_mutex_lock(&forward->mutex);
    if (forward->closing)
        err = TIDINGS_CLOSED;
    else if (forward->n_waiting >= settings->queue_max)
        err = TIDINGS_BUSY;
    else
        forward_queue(forward, call);
    bool wake = !err && forward->n_waiting == 1;
    pthread_mutex_unlock(&forward->mutex);
    if (err)
        forward_complete(call, err);
    else if (wake)
        forward_wake(forward);
}

void forward_writer_note(struct local *local, const char *address, uint64_t fence)
{
    struct forward *forward = local->forward;
    pthread_mutex_lock(&forward->mutex);
    bool is_new = forward->fence != fence || strcmp(forward->address, address) != 0;
    forward->fence = fence;
    snprintf(forward->address, sizeof forward->address, "%.250s", address);
    pthread_mutex_unlock(&forward->mutex);
    if (is_new)
        forward_wake(forward);
}

bool forward_mark_encode(const struct tidings_call *call, struct buf *to)
{
    const struct tidings_answer *answer = call->answer;
    struct tidings_answer limit = {.limit = answer->limit}; /* the rest is in the row of the key */
    buf_clear(to);
    buf_varint(to, call->origin);
    buf_varint(to, call->number);
    answer_encode(call->op->kind, call->op->once ? &limit : answer, to);
    return !to->failed;
}

struct tidings_call *forward_answered(struct local *local, struct bytes mark)
{
    struct forward *forward = local->forward;
    struct decoder r = decoder_of(mark.p, mark.n);
    uint64_t origin = read_varint(&r), number = read_varint(&r);
    if (!forward || r.bad || origin != forward->origin)
        return NULL;
    pthread_mutex_lock(&forward->mutex);
    struct sent_call *sent = forward_sent(forward, number);
    struct tidings_call *call = sent ? forward_take(forward, sent) : NULL;
    pthread_mutex_unlock(&forward->mutex);
    if (!call)
        return NULL;
    bool ok = answer_decode(call->op->kind, &r, call->answer->memory, call->answer);
    call->err = ok ? TIDINGS_OK : TIDINGS_UNCERTAIN;
    return call;
}

/* ---- Deadlines, and changes of the role ------------------------------------------------------------------ */

/* All waiting calls, if this server writes by now, those that are not yet known to be made, too: this replica has all. */
static struct tidings_call *forward_take_all(struct forward *forward)
{
    struct tidings_call *calls = NULL, **end = &calls;
    pthread_mutex_lock(&forward->mutex);
    for (size_t i = 0; i < WINDOW; i++)
        if (forward->sent[i].number) {
            *end = forward_take(forward, &forward->sent[i]);
            end = &(*end)->next;
        }
    *end = forward->first;
    forward->first = forward->last = NULL;
    forward->n_waiting = 0;
    pthread_mutex_unlock(&forward->mutex);
    return calls;
}

static void forward_execute_here(struct forward *forward)
{
    struct tidings_call *calls = forward_take_all(forward);
    while (calls) {
        struct tidings_call *call = calls;
        calls = call->next;
        call->next = NULL;
        writer_submit(forward->local, call);
    }
}

static struct tidings_call *forward_take_late(struct forward *forward, int64_t now_ms)
{
    struct tidings_call *late = NULL, *waiting;
    pthread_mutex_lock(&forward->mutex);
    size_t n = forward->n_waiting;
    for (size_t i = 0; i < WINDOW; i++) {
        struct sent_call *sent = &forward->sent[i];
        if (!sent->number || sent->call->until_ms > now_ms)
            continue;
        struct tidings_call *call = forward_take(forward, sent);
        call->err = TIDINGS_UNCERTAIN;
        call->next = late;
        late = call;
    }
    while (n-- && (waiting = forward_dequeue(forward))) {
        if (waiting->until_ms > now_ms) {
            forward_queue(forward, waiting);
            continue;
        }
        waiting->err = TIDINGS_UNREACHABLE;
        waiting->next = late;
        late = waiting;
    }
    pthread_mutex_unlock(&forward->mutex);
    return late;
}

static void forward_give_up_late(struct forward *forward, int64_t *looked_ms)
{
    int64_t now_ms = wait_now_ms();
    if (now_ms - *looked_ms < IDLE_MS)
        return;
    *looked_ms = now_ms;
    struct tidings_call *late = forward_take_late(forward, now_ms);
    while (late) {
        struct tidings_call *call = late;
        late = call->next;
        forward_complete(call, call->err);
    }
}

/* ---- The connection ------------------------------------------------------------------------------------------ */

static void forward_open_sent(struct forward *forward)
{
    pthread_mutex_lock(&forward->mutex);
    for (size_t i = 0; i < WINDOW; i++)
        forward->sent[i].is_open = forward->sent[i].number != 0;
    pthread_mutex_unlock(&forward->mutex);
}

/* This replica has all that was made of the calls that are open: the others wait again, in their order. */
static void forward_resolve(struct forward *forward)
{
    struct tidings_call *again = NULL, **end = &again;
    pthread_mutex_lock(&forward->mutex);
    for (uint64_t i = 1; i <= WINDOW; i++) {
        struct sent_call *sent = &forward->sent[(forward->number + i) % WINDOW];
        if (!sent->number || !sent->is_open)
            continue;
        *end = forward_take(forward, sent);
        end = &(*end)->next;
        forward->n_waiting++;
    }
    *end = forward->first;
    if (!forward->first && again) {
        forward->last = again;
        while (forward->last->next)
            forward->last = forward->last->next;
    }
    forward->first = again;
    pthread_mutex_unlock(&forward->mutex);
}

static bool forward_greet(struct forward *forward, struct wire *wire, struct buf *message)
{
    uint8_t origin[8], type;
    put_u64(origin, forward->origin);
    struct bytes parts[] = {{forward->local->store->id, REDO_ID_BYTES}, {origin, sizeof origin}};
    if (wire_send(wire, PEER_FORWARD, parts, 2) ||
        wire_receive(wire, PEER_TIMEOUT_MS, &type, message) || type != PEER_WELCOME)
        return false;
    struct decoder r = decoder_of(message->data, message->len);
    uint64_t fence = read_u64(&r), position = read_u64(&r);
    if (r.bad || fence < forward->welcome_fence)
        return false; /* of a former writer, which does not know that it is one */
    if (!replica_wait_position(forward->local, position, PEER_TIMEOUT_MS))
        return false;
    forward->welcome_fence = fence;
    forward_resolve(forward);
    return true;
}

/* Sends what waits, as far as there are free places. */
static enum wire_result forward_send(struct forward *forward, struct wire *wire,
                                     struct buf *changes)
{
    struct buf op;
    buf_init(&op, CHANGES_MAX);
    buf_clear(changes);
    pthread_mutex_lock(&forward->mutex);
    while (forward->first && changes->len < MESSAGE_BYTES) {
        uint64_t number = forward->number + 1;
        struct sent_call *place = &forward->sent[number % WINDOW];
        if (place->number)
            break;
        struct tidings_call *call = forward_dequeue(forward);
        buf_clear(&op);
        op_encode(call->op, &op);
        buf_varint(changes, number);
        buf_varint(changes, op.len);
        buf_append(changes, op.data, op.len);
        *place = (struct sent_call){.number = number, .call = call};
        forward->number = number;
        forward->n_sent++;
        changes->failed |= op.failed;
    }
    pthread_mutex_unlock(&forward->mutex);
    buf_release(&op);
    if (changes->failed)
        return WIRE_CLOSED; /* none was sent: the next WELCOME finds that */
    struct bytes part = {(const uint8_t *)changes->data, changes->len};
    return changes->len ? wire_send(wire, PEER_CHANGES, &part, 1) : WIRE_OK;
}

/* One refusal: the call ends, or waits again if that was no writer. */
static bool forward_refused(struct forward *forward, uint64_t number, struct bytes bytes)
{
    struct decoder r = decoder_of(bytes.p, bytes.n);
    pthread_mutex_lock(&forward->mutex);
    struct sent_call *sent = forward_sent(forward, number);
    struct tidings_call *call = sent ? forward_take(forward, sent) : NULL;
    pthread_mutex_unlock(&forward->mutex);
    if (!call)
        return true;
    bool ok = answer_decode(call->op->kind, &r, call->answer->memory, call->answer);
    enum tidings_err err = ok ? call->answer->err : TIDINGS_UNCERTAIN;
    bool again = err == TIDINGS_STANDBY || err == TIDINGS_CLOSED;
    if (!again && err) {
        call->err = err;
        call->done(call);
        return true;
    }
    answer_clear(call->answer);
    forward_submit(forward->local, call);
    return !again;
}

static bool forward_take_refusals(struct forward *forward, struct buf *message)
{
    struct decoder r = decoder_of(message->data, message->len);
    bool go_on = true;
    while (decoder_left(&r) && go_on) {
        uint64_t number = read_varint(&r), position = read_varint(&r);
        size_t n = read_varint(&r);
        const uint8_t *bytes = read_bytes(&r, n);
        if (r.bad || !replica_wait_position(forward->local, position, PEER_TIMEOUT_MS))
            return false;
        go_on = forward_refused(forward, number, (struct bytes){bytes, n});
    }
    return go_on;
}

/* Whether the connection is to the writer as it is known. */
static bool forward_is_current(struct forward *forward, uint64_t fence)
{
    pthread_mutex_lock(&forward->mutex);
    bool current = forward->address[0] && forward->fence <= fence;
    pthread_mutex_unlock(&forward->mutex);
    return current && !atomic_load(&forward->stopping) &&
           atomic_load(&forward->local->role) != TIDINGS_WRITER;
}

static void forward_drain_wake(struct forward *forward)
{
    uint64_t ignored;
    while (read(forward->wake_fd, &ignored, sizeof ignored) < 0 && errno == EINTR)
        ;
}

static void forward_talk(struct forward *forward, struct wire *wire, struct buf *message,
                         struct buf *changes)
{
    int64_t looked_ms = 0;
    uint64_t fence = forward->welcome_fence;
    while (forward_is_current(forward, fence)) {
        uint8_t type;
        if (forward_send(forward, wire, changes))
            break;
        wire_wait(wire, forward->wake_fd, IDLE_MS);
        forward_drain_wake(forward);
        enum wire_result result = wire_receive(wire, 0, &type, message);
        if (result == WIRE_OK &&
            (type != PEER_REFUSALS || !forward_take_refusals(forward, message)))
            break;
        if (result != WIRE_OK && result != WIRE_NOTHING)
            break;
        forward_give_up_late(forward, &looked_ms);
    }
}

static bool forward_connect(struct forward *forward, struct buf *message, struct buf *changes)
{
    struct wire *wire = NULL;
    char address[PEER_ADDRESS_BYTES];
    const char *why;
    pthread_mutex_lock(&forward->mutex);
    memcpy(address, forward->address, sizeof address);
    pthread_mutex_unlock(&forward->mutex);
    if (!address[0] || wire_connect(forward->local->wire_context, address, CONNECT_MS, &wire, &why))
        return false;
    bool greeted = forward_greet(forward, wire, message);
    if (greeted)
        forward_talk(forward, wire, message, changes);
    wire_free(wire);
    forward_open_sent(forward);
    return greeted;
}

/* ---- The thread ------------------------------------------------------------------------------------------------ */

static void forward_pause(struct forward *forward, int ms)
{
    wait_readable(forward->wake_fd, ms);
    forward_drain_wake(forward);
}

static void *forward_main(void *arg)
{
    struct forward *forward = arg;
    struct buf message, changes;
    int64_t looked_ms = 0;
    thread_name("forward");
    thread_block_sigpipe();
    buf_init(&message, WIRE_MESSAGE_MAX);
    buf_init(&changes, CHANGES_MAX + MESSAGE_BYTES);
    while (!atomic_load(&forward->stopping)) {
        if (atomic_load(&forward->local->role) == TIDINGS_WRITER) {
            forward_execute_here(forward);
            forward_pause(forward, IDLE_MS);
        } else if (!forward_connect(forward, &message, &changes)) {
            forward_pause(forward, AGAIN_MS);
        }
        forward_give_up_late(forward, &looked_ms);
    }
    buf_release(&message);
    buf_release(&changes);
    return NULL;
}

enum tidings_err forward_start(struct local *local, uint64_t origin)
{
    struct forward *forward = calloc(1, sizeof *forward);
    if (!forward)
        return TIDINGS_NO_MEMORY;
    forward->local = local;
    forward->origin = origin;
    forward->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&forward->mutex, NULL);
    local->forward = forward;
    forward->started =
        forward->wake_fd >= 0 && !pthread_create(&forward->thread, NULL, forward_main, forward);
    return forward->started ? TIDINGS_OK : TIDINGS_NO_MEMORY;
}

/* Waits until all calls are answered, for a bounded time. */
static void forward_close(struct forward *forward)
{
    int64_t until_ms = wait_now_ms() + LAST_ANSWERS_MS;
    bool idle = false;
    while (!idle && wait_now_ms() < until_ms) {
        pthread_mutex_lock(&forward->mutex);
        forward->closing = true;
        idle = !forward->n_sent && !forward->n_waiting;
        pthread_mutex_unlock(&forward->mutex);
        if (!idle)
            usleep(1000);
    }
}

void forward_stop(struct local *local)
{
    struct forward *forward = local->forward;
    if (!forward || !forward->started)
        return;
    forward_close(forward);
    atomic_store(&forward->stopping, true);
    forward_wake(forward);
    pthread_join(forward->thread, NULL);
    forward->started = false;
    struct tidings_call *calls = forward_take_all(forward);
    while (calls) {
        struct tidings_call *call = calls;
        calls = call->next;
        forward_complete(call, TIDINGS_UNCERTAIN);
    }
}

void forward_release(struct local *local)
{
    struct forward *forward = local->forward;
    if (!forward)
        return;
    if (forward->wake_fd >= 0)
        close(forward->wake_fd);
    pthread_mutex_destroy(&forward->mutex);
    free(forward);
    local->forward = NULL;
}
