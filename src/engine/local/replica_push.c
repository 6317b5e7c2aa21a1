/* SPDX-License-Identifier: MIT */
/*
 * Records that the writer sends as soon as they are decided: a follower is then a moment behind, and MySQL need not be asked often.
 * They are only a short cut. The chain says whether they fit; what does not come, or does not fit, is read from MySQL.
 *
 * On the same connection exact reads ask for the writer's word (rule 13), all that wait with one question: it is there when all that was
 * acknowledged before has been sent, so that this replica has it. A word that does not come soon is a question to MySQL.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/local/replica_internal.h"

enum { PUSH_CONNECT_MS = 1000, PUSH_AGAIN_MS = 100, PUSH_IDLE_MS = 1000, PUSH_WORD_MS = 50 };

void replica_push_wake(struct replica *replica)
{
    const uint64_t one = 1;
    while (write(replica->pushed_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static void push_drain_wake(struct replica *replica)
{
    uint64_t ignored;
    while (read(replica->pushed_fd, &ignored, sizeof ignored) < 0 && errno == EINTR)
        ;
}

static bool push_is_wanted(struct replica *replica, char address[PEER_ADDRESS_BYTES])
{
    pthread_mutex_lock(&replica->mutex);
    memcpy(address, replica->writer, PEER_ADDRESS_BYTES);
    bool broken = replica->broken;
    pthread_mutex_unlock(&replica->mutex);
    return address[0] && !broken && !atomic_load(&replica->stopping) &&
           atomic_load(&replica->local->role) == TIDINGS_FOLLOWER;
}

/* False: they do not fit. */
static bool push_take_records(struct replica *replica, struct redo_record *records,
                              const struct buf *message)
{
    struct decoder r = decoder_of(message->data, message->len);
    size_t n = 0;
    while (n < TAIL_READ_RECORDS && record_unpack(&r, &records[n]))
        n++;
    if (r.bad || decoder_left(&r) || !n)
        return false;
    return !apply_records(replica->local, records, n);
}

/* ---- The writer's word ------------------------------------------------------------------------------- */

/* Asks for all reads that wait, if none is asked for. */
static bool push_ask(struct replica *replica, struct wire *wire)
{
    uint8_t number[8];
    if (replica->word.reads)
        return true;
    replica->word.asked_ms = wait_now_ms();
    replica->word.reads = replica_reads_take(replica, &replica->word_reads);
    if (!replica->word.reads)
        return true;
    put_u64(number, ++replica->word.number);
    return !wire_send(wire, PEER_ASK, &(struct bytes){number, sizeof number}, 1);
}

/* Whether this replica has the position, in the history that the chain is of. */
static bool push_has(struct replica *replica, uint64_t position, const uint8_t *chain)
{
    struct chain own;
    return position && replica_own_chain(replica->local, position, &own) &&
           !memcmp(own.bytes, chain, CHAIN_BYTES);
}

static bool push_take_word(struct replica *replica, const struct buf *message)
{
    struct decoder r = decoder_of(message->data, message->len);
    uint64_t number = read_u64(&r), position = read_u64(&r);
    const uint8_t *chain = read_bytes(&r, CHAIN_BYTES);
    if (r.bad || decoder_left(&r))
        return false;
    if (number != replica->word.number)
        return true; /* MySQL was asked meanwhile */
    struct tidings_call *reads = replica->word.reads;
    replica->word.reads = NULL;
    if (reads && push_has(replica, position, chain)) {
        if (atomic_load(&replica->current_ms) < replica->word.asked_ms)
            atomic_store(&replica->current_ms, replica->word.asked_ms);
        replica_reads_complete(replica, reads, true);
    } else {
        replica_reads_ask(replica, reads);
    }
    return true;
}

/* MySQL is asked instead: now, or if the word has not come in time. */
static void push_give_up_word(struct replica *replica, bool now)
{
    bool late = wait_now_ms() - replica->word.asked_ms >= PUSH_WORD_MS;
    if (replica->word.reads && (now || late)) {
        replica_reads_ask(replica, replica->word.reads);
        replica->word.reads = NULL;
        replica->word.number++;
        atomic_store(&replica->gives_word, false); /* until it is heard again */
    }
    if (now)
        replica_reads_ask(replica, replica_reads_take(replica, &replica->word_reads));
}

/* ---- The connection ------------------------------------------------------------------------------------ */

static bool push_take_message(struct replica *replica, struct wire *wire,
                              struct redo_record *records, struct buf *message, int64_t *heard_ms)
{
    uint8_t type;
    enum wire_result result = wire_receive(wire, 0, &type, message);
    if (result == WIRE_NOTHING)
        return true;
    if (result || (type != PEER_RECORDS && type != PEER_END && type != PEER_WORD))
        return false;
    *heard_ms = wait_now_ms();
    atomic_store(&replica->gives_word, true);
    if (type == PEER_END)
        return true;
    if (type == PEER_WORD)
        return push_take_word(replica, message);
    if (!push_take_records(replica, records, message))
        return false;
    return !peer_send_seen(wire,
                           &(struct peer_seen){.position = local_end(replica->local).position});
}

/* Whether the writer's row still names that address. */
static bool push_is_current(struct replica *replica, const char *address)
{
    char now[PEER_ADDRESS_BYTES];
    return push_is_wanted(replica, now) && !strcmp(now, address);
}

static void push_follow(struct replica *replica, const char *address, struct redo_record *records,
                        struct buf *message)
{
    struct wire *wire = NULL;
    const char *why;
    if (wire_connect(replica->local->wire_context, address, PUSH_CONNECT_MS, &wire, &why))
        return;
    bool go_on = peer_send_follow(wire, replica->local, replica->address);
    atomic_store(&replica->is_pushed, go_on);
    int64_t heard_ms = wait_now_ms();
    while (go_on && push_is_current(replica, address)) {
        int wait_ms = replica->word.reads ? PUSH_WORD_MS : PUSH_IDLE_MS;
        wire_wait(wire, replica->pushed_fd, wait_ms);
        push_drain_wake(replica);
        go_on = wait_now_ms() - heard_ms < PEER_SILENCE_MS &&
                push_take_message(replica, wire, records, message, &heard_ms) &&
                push_ask(replica, wire);
        push_give_up_word(replica, false);
    }
    atomic_store(&replica->is_pushed, false);
    atomic_store(&replica->gives_word, false);
    push_give_up_word(replica, true);
    wire_free(wire);
    replica_hurry(replica); /* perhaps it has handed over */
}

static void *push_main(void *arg)
{
    struct replica *replica = arg;
    struct redo_record *records = calloc(TAIL_READ_RECORDS, sizeof *records);
    struct buf message;
    char address[PEER_ADDRESS_BYTES];
    thread_name("pushed");
    thread_block_sigpipe();
    buf_init(&message, WIRE_MESSAGE_MAX);
    while (records && !atomic_load(&replica->stopping)) {
        bool wanted = push_is_wanted(replica, address);
        if (wanted)
            push_follow(replica, address, records, &message);
        wait_readable(replica->pushed_fd, wanted ? PUSH_AGAIN_MS : PUSH_IDLE_MS);
        push_drain_wake(replica);
        push_give_up_word(replica, true); /* came while the connection ended */
    }
    buf_release(&message);
    free(records);
    return NULL;
}

enum tidings_err replica_push_start(struct replica *replica)
{
    replica->pushed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    replica->pushed_started =
        replica->pushed_fd >= 0 && !pthread_create(&replica->pushed, NULL, push_main, replica);
    return replica->pushed_started ? TIDINGS_OK : TIDINGS_NO_MEMORY;
}

void replica_push_stop(struct replica *replica)
{
    if (replica->pushed_started) {
        replica_push_wake(replica);
        pthread_join(replica->pushed, NULL);
    }
    replica->pushed_started = false;
}
