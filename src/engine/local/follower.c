/* SPDX-License-Identifier: MIT */
/*
 * Following: a thread that takes the records of another server's log as they come, and applies them. It changes nothing by
 * itself. When it cannot go on it says why: a lost connection is tried again; a directory that disagrees, or is damaged, is
 * left as it is, and goes on being read.
 *
 * How old its answers are is reckoned from its own questions, since words may be long on their way: it sends stamps, the time by its
 * own clock, and the end that is told for a stamp includes all that had been acknowledged when it was sent.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/wait.h"
#include "engine/local/local.h"

enum { AGAIN_MS = 500, ASK_MS = 500, ASK_READ_MS = 50 };

/* ---- What is known of it ---------------------------------------------------------------------- */

static void say_trouble(struct follower *follower, const char *text, bool for_good)
{
    pthread_mutex_lock(&follower->mutex);
    bool is_new = strcmp(follower->trouble, text) != 0;
    snprintf(follower->trouble, sizeof follower->trouble, "%s", text);
    follower->broken = follower->broken || for_good;
    pthread_mutex_unlock(&follower->mutex);
    struct local *local = follower->local;
    if (is_new && *text && local->fault)
        local->fault(local->fault_ctx, text);
}

static void set_connected(struct follower *follower, bool connected)
{
    pthread_mutex_lock(&follower->mutex);
    follower->connected = connected;
    pthread_mutex_unlock(&follower->mutex);
}

/* If what was told last is there by now. */
static void follower_note_reached(struct follower *follower)
{
    int64_t told_ms = follower->asked.told_ms;
    if (!told_ms || kv_applied(follower->local->kv) < follower->asked.position)
        return;
    if (told_ms > atomic_load(&follower->current_ms))
        atomic_store(&follower->current_ms, told_ms);
    follower->asked.told_ms = 0;
}

/* The end of the other log. A word that is not reached yet is kept: under a load that does not end the next one is not, either. */
static void note_end(struct follower *follower, const struct peer_end *end)
{
    pthread_mutex_lock(&follower->mutex);
    if (end->position > follower->end)
        follower->end = end->position;
    pthread_mutex_unlock(&follower->mutex);
    if (end->stamp > end->age_ms && !follower->asked.told_ms) {
        follower->asked.told_ms = (int64_t)(end->stamp - end->age_ms);
        follower->asked.position = end->position;
    }
    follower_note_reached(follower);
}

static void follower_wake(struct follower *follower)
{
    const uint64_t one = 1;
    while (write(follower->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* Rounded up. Nobody knows how long ago a directory had all that has not had it since it was opened: it may have lain for years. */
int64_t follower_age(struct local *local)
{
    struct follower *follower = &local->follower;
    struct timespec now;
    if (!atomic_load(&follower->is_read) && !atomic_exchange(&follower->is_read, true))
        follower_wake(follower);
    int64_t current_ms = atomic_load(&follower->current_ms);
    if (current_ms)
        return wait_now_ms() - current_ms + 1;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec > 0 ? (int64_t)now.tv_sec * 1000 : INT64_MAX;
}

void follower_status(struct local *local, struct tidings_replica *status)
{
    struct follower *follower = &local->follower;
    pthread_mutex_lock(&follower->mutex);
    snprintf(status->following, sizeof status->following, "%s", follower->address);
    snprintf(status->trouble, sizeof status->trouble, "%s", follower->trouble);
    status->connected = follower->connected;
    status->broken = follower->broken;
    status->end = follower->end > status->position ? follower->end : status->position;
    int64_t current_ms = atomic_load(&follower->current_ms);
    status->age_ms = current_ms ? wait_now_ms() - current_ms : -1;
    pthread_mutex_unlock(&follower->mutex);
}

/* ---- Messages ----------------------------------------------------------------------------------- */

static bool send_seen(struct follower *follower, struct wire *wire)
{
    struct peer_seen seen = {kv_applied(follower->local->kv), (uint64_t)follower->asked.stamp_ms};
    return !peer_send_seen(wire, &seen);
}

/* How long until the next stamp is due: soon, while somebody reads. */
static int follower_ask_in_ms(struct follower *follower)
{
    int64_t every_ms = atomic_load(&follower->is_read) ? ASK_READ_MS : ASK_MS;
    int64_t left_ms = follower->asked.stamp_ms + every_ms - wait_now_ms();
    return left_ms > 0 ? (int)left_ms : 0;
}

static bool follower_ask(struct follower *follower, struct wire *wire)
{
    atomic_store(&follower->is_read, false);
    follower->asked.stamp_ms = wait_now_ms();
    return send_seen(follower, wire);
}

/* Applies the records of a message. False: it cannot go on. */
static bool take_records(struct follower *follower, struct buf *message)
{
    struct decoder r = decoder_of(message->data, message->len);
    size_t n = 0;
    while (n < TAIL_READ_RECORDS && record_unpack(&r, &follower->records[n]))
        n++;
    if (r.bad || decoder_left(&r) || !n) {
        say_trouble(follower, "records came that cannot be read", false);
        return false;
    }
    enum tidings_err err = apply_records(follower->local, follower->records, n);
    char text[COMPLAINT_BYTES];
    if (!err) {
        follower_note_reached(follower);
        return true;
    }
    if (err == TIDINGS_CORRUPT)
        snprintf(text, sizeof text,
                 "this directory disagrees with %.100s behind batch %" PRIu64
                 ": move it away and start again, and it is filled anew",
                 follower->address, kv_applied(follower->local->kv));
    else
        snprintf(text, sizeof text, "following stands still: %s", tidings_err_text(err));
    say_trouble(follower, text, err == TIDINGS_CORRUPT || err == TIDINGS_UNCERTAIN);
    return false;
}

static bool take_end(struct follower *follower, const struct buf *message, struct peer_end *end)
{
    struct chain chain = kv_chain(follower->local->kv);
    if (!peer_read_end((struct bytes){(const uint8_t *)message->data, message->len}, end) ||
        end->stamp > (uint64_t)follower->asked.stamp_ms) {
        say_trouble(follower, "a word came that cannot be read", false);
        return false;
    }
    bool agrees =
        end->position != kv_applied(follower->local->kv) || chain_same(&chain, &end->chain);
    if (!agrees)
        say_trouble(follower, "this directory has another history than the server it follows",
                    true);
    else
        note_end(follower, end);
    if (agrees && !follower->joined) {
        join_forget_replaced(follower->local->store->dir);
        follower->joined = true;
    }
    return agrees;
}

static bool take_refusal(struct follower *follower, const struct buf *message)
{
    struct decoder r = decoder_of(message->data, message->len);
    char text[COMPLAINT_BYTES], why[COMPLAINT_BYTES - 64];
    bool again = read_u8(&r);
    peer_read_text(&r, why, sizeof why);
    snprintf(text, sizeof text, "it cannot be followed: %s", why);
    say_trouble(follower, text, !again);
    return false;
}

/* The next message; false: the connection is of no use any more. */
static bool take_message(struct follower *follower, struct wire *wire, struct buf *message)
{
    struct peer_end end;
    uint8_t type;
    if (wire_receive(wire, PEER_SILENCE_MS, &type, message)) {
        say_trouble(follower, "the server that is followed does not answer", false);
        return false;
    }
    switch (type) {
    case PEER_RECORDS:
        return take_records(follower, message) && send_seen(follower, wire);
    case PEER_END:
        return take_end(follower, message, &end);
    case PEER_HANDED_OVER:
        pthread_mutex_lock(&follower->mutex);
        follower->handed_over = true;
        pthread_mutex_unlock(&follower->mutex);
        return take_end(follower, message, &end) && false;
    case PEER_REFUSED:
        return take_refusal(follower, message);
    default:
        return false;
    }
}

/* ---- A connection --------------------------------------------------------------------------------- */

bool peer_send_follow(struct wire *wire, struct local *local, const char *own_address)
{
    struct peer_end end = local_end(local);
    uint8_t position[8], length[VARINT_MAX];
    size_t n = strlen(own_address);
    put_u64(position, end.position);
    struct bytes parts[] = {{local->store->id, REDO_ID_BYTES},
                            {position, sizeof position},
                            {end.chain.bytes, CHAIN_BYTES},
                            {length, put_varint(length, n)},
                            {(const uint8_t *)own_address, n}};
    return !wire_send(wire, PEER_FOLLOW, parts, 5);
}

/* Asks if it is time to, and waits for one message, or for whoever wakes the thread. False: the connection is of no use any more. */
static bool follower_go_on(struct follower *follower, struct wire *wire, struct buf *message,
                           int64_t *heard_ms)
{
    uint64_t ignored;
    if (!follower_ask_in_ms(follower) && !follower_ask(follower, wire))
        return false;
    bool came = wire_wait(wire, follower->wake_fd, follower_ask_in_ms(follower));
    bool woken = read(follower->wake_fd, &ignored, sizeof ignored) > 0;
    if (came && !woken) {
        if (!take_message(follower, wire, message))
            return false;
        *heard_ms = wait_now_ms();
        say_trouble(follower, "", false);
    }
    if (wait_now_ms() - *heard_ms < PEER_SILENCE_MS)
        return true;
    say_trouble(follower, "the server that is followed does not answer", false);
    return false;
}

static void follow(struct follower *follower, struct wire *wire, struct buf *message)
{
    bool asked = false, go_on = peer_send_follow(wire, follower->local, follower->own_address);
    int64_t heard_ms = wait_now_ms();
    follower->asked.stamp_ms = follower->asked.told_ms = 0;
    set_connected(follower, go_on);
    while (go_on && !atomic_load(&follower->stopping)) {
        if (atomic_load(&follower->promoting) && !asked) {
            asked = true;
            go_on = !peer_send_text(wire, PEER_HAND_OVER, follower->own_address);
        }
        go_on = go_on && follower_go_on(follower, wire, message, &heard_ms);
    }
    set_connected(follower, false);
}

static void connect_and_follow(struct follower *follower, struct buf *message)
{
    struct wire *wire = NULL;
    const char *why;
    if (wire_connect(follower->context, peer_host(follower->address), PEER_TIMEOUT_MS, &wire,
                     &why)) {
        say_trouble(follower, why, false);
        return;
    }
    follow(follower, wire, message);
    wire_free(wire);
}

/* Whether the thread has done what it can. */
static bool is_over(struct follower *follower)
{
    pthread_mutex_lock(&follower->mutex);
    bool over = follower->broken || follower->handed_over;
    pthread_mutex_unlock(&follower->mutex);
    return over || atomic_load(&follower->stopping) || atomic_load(&follower->promoting);
}

static void *follower_main(void *arg)
{
    struct follower *follower = arg;
    struct buf message;
    thread_name("follower");
    thread_block_sigpipe();
    buf_init(&message, WIRE_MESSAGE_MAX);
    while (!is_over(follower)) {
        connect_and_follow(follower, &message);
        pthread_mutex_lock(&follower->local->writer.turn);
        redo_sync(follower->local->store->redo, true);
        pthread_mutex_unlock(&follower->local->writer.turn);
        struct timespec until = wait_until_ms(AGAIN_MS);
        pthread_mutex_lock(&follower->mutex);
        while (!atomic_load(&follower->stopping) && !atomic_load(&follower->promoting) &&
               !pthread_cond_timedwait(&follower->changed, &follower->mutex, &until))
            ;
        pthread_mutex_unlock(&follower->mutex);
    }
    buf_release(&message);
    return NULL;
}

/* ---- Life ------------------------------------------------------------------------------------------- */

void follower_init(struct local *local)
{
    pthread_mutex_init(&local->follower.mutex, NULL);
    wait_init(&local->follower.changed);
    atomic_init(&local->follower.is_read, true); /* nobody wakes a thread that has not asked yet */
}

enum tidings_err follower_start(struct local *local, const char *address,
                                struct wire_context *context)
{
    struct follower *follower = &local->follower;
    follower->local = local;
    follower->context = context;
    snprintf(follower->address, sizeof follower->address, "%s", address);
    follower->records = calloc(TAIL_READ_RECORDS, sizeof *follower->records);
    follower->chainer = chainer_new();
    follower->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    bool ready = follower->records && follower->chainer && follower->wake_fd >= 0;
    follower->started = ready && !pthread_create(&follower->thread, NULL, follower_main, follower);
    return follower->started ? TIDINGS_OK : TIDINGS_NO_MEMORY;
}

static void wake(struct follower *follower, _Atomic bool *why)
{
    atomic_store(why, true);
    follower_wake(follower);
    pthread_mutex_lock(&follower->mutex);
    pthread_cond_broadcast(&follower->changed);
    pthread_mutex_unlock(&follower->mutex);
}

static void join_thread(struct follower *follower)
{
    if (follower->started)
        pthread_join(follower->thread, NULL);
    follower->started = false;
}

void follower_end(struct local *local)
{
    if (local->follower.started)
        wake(&local->follower, &local->follower.promoting);
    join_thread(&local->follower);
}

void follower_stop(struct local *local)
{
    if (local->follower.started)
        wake(&local->follower, &local->follower.stopping);
    join_thread(&local->follower);
}

void follower_release(struct local *local)
{
    struct follower *follower = &local->follower;
    chainer_free(follower->chainer);
    free(follower->records);
    if (follower->local)
        close(follower->wake_fd);
    pthread_cond_destroy(&follower->changed);
    pthread_mutex_destroy(&follower->mutex);
}
