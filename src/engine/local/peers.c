/* SPDX-License-Identifier: MIT */
/*
 * Those who follow this directory's log: a thread that accepts, and one for each of them. A follower is sent records in
 * order, from the tail in memory or, when it is further behind, from the files of the log; never one that is not durable
 * here, since the loss of power could take it back.
 */
#include "engine/local/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/wait.h"
#include "engine/local/local.h"

enum { HANDSHAKE_MS = 5000, CLAIM_MS = 5000, QUESTION_BYTES = 4096, FEED_SOON_MS = 20 };

struct peer {
    struct peers *peers;
    pthread_t thread;
    bool used; /* the thread is to be joined */
    _Atomic bool done;
    int fd; /* accepted, until there is a wire */
    struct wire *wire;
    bool follows;
    uint64_t origin; /* of changes that it hands over; 0: none */
    char address[PEER_ADDRESS_BYTES];
    uint64_t seen;  /* up to there it has applied */
    uint64_t stamp; /* the newest that it sent; its thread */
    struct {
        uint64_t stamp;
        int64_t ms;
    } told; /* the last END; its thread */
    struct {
        bool wanted;
        uint64_t number,
            position; /* of the question, and what must have been sent before; 0: there is no word */
    } word;           /* its thread */
};

struct peers {
    struct local *local;
    struct wire_context *context;
    pthread_t thread;
    int fd, stop_fd;
    unsigned port;
    _Atomic bool stopping;
    pthread_mutex_t mutex; /* guards wire, follows, origin, address and seen of each */
    pthread_cond_t left;   /* one has ended */
    struct peer at[PEERS_MAX];
};

/* ---- Where the log ends ----------------------------------------------------------------------- */

struct peer_end local_end(struct local *local)
{
    pthread_mutex_lock(&local->end_mutex);
    struct peer_end end = local->end;
    pthread_mutex_unlock(&local->end_mutex);
    return end;
}

void local_end_note(struct local *local)
{
    struct peer_end end = {.position = kv_applied(local->kv),
                           .chain = kv_chain(local->kv),
                           .era = atomic_load(&local->era)};
    pthread_mutex_lock(&local->end_mutex);
    local->end = end;
    pthread_cond_broadcast(&local->end_changed);
    pthread_mutex_unlock(&local->end_mutex);
}

/* Up to where others may have it: what is visible and durable. */
static uint64_t sendable(struct local *local)
{
    uint64_t committed = atomic_load(&local->committed), synced = redo_synced(local->store->redo);
    return committed < synced ? committed : synced;
}

/* ---- Records from the files ------------------------------------------------------------------- */

struct sending {
    struct peer *peer;
    uint64_t upto, sent;
    struct buf packed;
    size_t n;
    bool unchained;
    enum wire_result result;
};

static void flush_records(struct sending *sending)
{
    struct bytes message = {(const uint8_t *)sending->packed.data, sending->packed.len};
    if (sending->n && !sending->result)
        sending->result = sending->packed.failed
                              ? WIRE_CLOSED
                              : wire_send(sending->peer->wire, PEER_RECORDS, &message, 1);
    buf_clear(&sending->packed);
    sending->n = 0;
}

static bool send_record(void *ctx, const struct redo_record *record)
{
    struct sending *sending = ctx;
    sending->unchained = !record->is_chained;
    if (record->number > sending->upto || sending->unchained ||
        atomic_load(&sending->peer->peers->stopping))
        return false;
    if (sending->n == TAIL_READ_RECORDS ||
        sending->packed.len + record->changes.n > TAIL_READ_BYTES)
        flush_records(sending);
    record_pack(record, &sending->packed);
    sending->n++;
    sending->sent = record->number;
    return !sending->result;
}

/* Whether the log goes back that far. Before the first record there is no file. */
static bool has_log(struct local *local, uint64_t after)
{
    uint64_t *firsts;
    size_t n;
    if (redo_segments(local->store->log_dir, &firsts, &n))
        return false;
    bool has = n ? firsts[0] <= after + 1 : sendable(local) <= after;
    free(firsts);
    return has;
}

/* From the files up to `upto`; *sent moves on. False, with why, if they are not there. */
static bool send_files(struct peer *peer, uint64_t upto, uint64_t *sent, const char **why)
{
    struct store *store = peer->peers->local->store;
    struct sending sending = {.peer = peer, .upto = upto, .sent = *sent};
    int held = store_hold(store->log_dir);
    struct redo_scan scan = {.dir = store->log_dir,
                             .id = store->id,
                             .after = *sent,
                             .visit = send_record,
                             .ctx = &sending};
    buf_init(&sending.packed, WIRE_MESSAGE_MAX);
    bool has = has_log(peer->peers->local, *sent);
    enum tidings_err err = has ? redo_scan(&scan) : TIDINGS_OK;
    flush_records(&sending);
    buf_release(&sending.packed);
    store_unlock(&held);
    *why = !has                ? "its log does not go back that far any more"
           : sending.unchained ? "its log has no chain there: it was written by a former version"
           : err               ? scan.message
                               : NULL;
    *sent = sending.sent;
    return !*why && !sending.result;
}

/* ---- Following -------------------------------------------------------------------------------- */

static void note_seen(struct peer *peer, uint64_t position)
{
    pthread_mutex_lock(&peer->peers->mutex);
    peer->seen = position;
    pthread_mutex_unlock(&peer->peers->mutex);
}

/* All records from now on belong to another. Nothing is written here any more. */
static enum wire_result hand_over(struct peer *peer, const char *to, uint64_t *sent)
{
    struct local *local = peer->peers->local;
    const char *why;
    if (writer_retire(local))
        return peer_refuse(peer->wire, false, "it cannot make its last changes durable");
    struct peer_end end = local_end(local);
    if (join_note_replaced(local->store->dir, end.era, to))
        return peer_refuse(peer->wire, false, "it cannot note that it is replaced");
    if (*sent < end.position && !send_files(peer, end.position, sent, &why))
        return WIRE_CLOSED;
    if (local->fault)
        local->fault(local->fault_ctx,
                     "handed over to a follower: nothing is written here any more");
    return peer_send_end(peer->wire, PEER_HANDED_OVER, &end);
}

/* What the follower says while it follows. */
static enum wire_result hear(struct peer *peer, struct buf *message, uint64_t *sent)
{
    uint8_t type;
    char address[PEER_ADDRESS_BYTES];
    struct peer_seen seen;
    enum wire_result result = wire_receive(peer->wire, 0, &type, message);
    if (result)
        return result == WIRE_NOTHING ? WIRE_OK : result;
    struct decoder r = decoder_of(message->data, message->len);
    switch (type) {
    case PEER_SEEN:
        if (!peer_read_seen((struct bytes){(const uint8_t *)message->data, message->len}, &seen))
            return WIRE_REFUSED;
        note_seen(peer, seen.position);
        peer->stamp = seen.stamp;
        return WIRE_OK;
    case PEER_ASK:
        if (!peer->peers->local->replica)
            return WIRE_REFUSED;
        peer->word.wanted = true;
        peer->word.number = read_u64(&r);
        peer->word.position = replica_word(peer->peers->local);
        return r.bad ? WIRE_REFUSED : WIRE_OK;
    case PEER_HAND_OVER:
        peer_read_text(&r, address, sizeof address);
        return hand_over(peer, address, sent);
    default:
        return WIRE_REFUSED;
    }
}

/*
 * Tells the end, at least twice a second, and for each stamp. All that had been acknowledged when the stamp came is in it; where
 * another server makes the changes, all that had been so long before.
 */
static enum wire_result feed_end(struct peer *peer)
{
    struct local *local = peer->peers->local;
    if (wait_now_ms() - peer->told.ms < PEER_BEAT_MS && peer->told.stamp == peer->stamp)
        return WIRE_OK;
    int64_t age_ms = local_age(local); /* first: the end may only be newer */
    struct peer_end end = local_end(local);
    end.stamp = peer->stamp;
    end.age_ms = (uint64_t)age_ms;
    peer->told.stamp = peer->stamp;
    peer->told.ms = wait_now_ms();
    return peer_send_end(peer->wire, PEER_END, &end);
}

/* Answers ASK when what the word is about has been sent. */
static enum wire_result feed_word(struct peer *peer, uint64_t sent)
{
    struct local *local = peer->peers->local;
    if (!peer->word.wanted)
        return WIRE_OK;
    if (replica_word_is_void(local, peer->word.position))
        peer->word.position = replica_word(local);
    struct peer_end end = local_end(local);
    if (peer->word.position && (end.position < peer->word.position || sent < end.position))
        return WIRE_OK;
    uint8_t head[16];
    put_u64(head, peer->word.number);
    put_u64(head + 8, peer->word.position ? end.position : 0);
    peer->word.wanted = false;
    return wire_send(peer->wire, PEER_WORD,
                     (struct bytes[]){{head, sizeof head}, {end.chain.bytes, CHAIN_BYTES}}, 2);
}

/* Records behind `sent` as they come, until the follower is gone. */
static void feed(struct peer *peer, int reader, uint64_t sent, struct buf *message)
{
    struct local *local = peer->peers->local;
    uint64_t ignored;
    enum wire_result result = WIRE_OK;
    struct buf packed;
    const char *why = NULL;
    buf_init(&packed, WIRE_MESSAGE_MAX);
    while (!result && !atomic_load(&peer->peers->stopping)) {
        uint64_t upto = sendable(local);
        bool too_old = false;
        size_t n = sent < upto ? tail_read(local->tail, sent, upto, &packed, &too_old) : 0;
        if (too_old && !send_files(peer, upto, &sent, &why)) {
            if (why)
                peer_refuse(peer->wire, false, why);
            break;
        }
        if (n && !packed.failed) {
            result = wire_send(peer->wire, PEER_RECORDS,
                               &(struct bytes){(const uint8_t *)packed.data, packed.len}, 1);
            sent += n;
        }
        if (!result && !too_old)
            result = feed_end(peer);
        if (!result)
            result = feed_word(peer, sent);
        bool more = n || too_old;
        bool soon = sendable(local) < atomic_load(&local->committed) || peer->word.wanted;
        int wait_ms = more ? 0 : soon ? FEED_SOON_MS : PEER_BEAT_MS;
        wire_wait(peer->wire, tail_fd(local->tail, reader), wait_ms);
        if (read(tail_fd(local->tail, reader), &ignored, sizeof ignored) < 0 && errno != EAGAIN)
            break;
        if (!result)
            result = hear(peer, message, &sent);
    }
    buf_release(&packed);
}

static void serve_follower(struct peer *peer, struct buf *message)
{
    struct local *local = peer->peers->local;
    struct decoder r = decoder_of(message->data, message->len);
    char address[PEER_ADDRESS_BYTES];
    const uint8_t *id = read_bytes(&r, REDO_ID_BYTES);
    uint64_t position = read_u64(&r);
    const uint8_t *chain = read_bytes(&r, CHAIN_BYTES);
    peer_read_text(&r, address, sizeof address);
    struct peer_end end = local_end(local);
    if (r.bad || memcmp(id, local->store->id, REDO_ID_BYTES) != 0) {
        peer_refuse(peer->wire, false, "it is a directory of another community");
        return;
    }
    if (position > end.position ||
        (position == end.position && memcmp(chain, end.chain.bytes, CHAIN_BYTES) != 0)) {
        peer_refuse(peer->wire, false,
                    "the directory has changes that the server it would follow does not have");
        return;
    }
    int reader = tail_join(local->tail);
    if (reader < 0) {
        peer_refuse(peer->wire, true, "there are too many who follow");
        return;
    }
    if (!local->replica) /* replicas of a log in MySQL are registered there */
        join_note_follower(local->store->dir, address);
    pthread_mutex_lock(&peer->peers->mutex);
    peer->follows = true;
    peer->seen = position;
    snprintf(peer->address, sizeof peer->address, "%s", address);
    pthread_mutex_unlock(&peer->peers->mutex);
    feed(peer, reader, position, message);
    tail_leave(local->tail, reader);
}

/* ---- Joining ---------------------------------------------------------------------------------- */

static enum wire_result send_image(struct peer *peer, const struct base *base, int fd,
                                   uint64_t size)
{
    struct store *store = peer->peers->local->store;
    char name[BASE_NAME_BYTES] = "", path[PATH_BYTES];
    uint8_t era[8], bytes[8], name_n[VARINT_MAX], key_n[VARINT_MAX], *key = NULL;
    size_t n = 0;
    if (base)
        base_name(base, name);
    if (!path_join(path, store->dir, STORE_SEAL_KEY) || file_read(path, 1 << 10, &key, &n))
        n = 0;
    put_u64(era, atomic_load(&peer->peers->local->era));
    put_u64(bytes, size);
    struct bytes parts[] = {{store->id, REDO_ID_BYTES},
                            {era, 8},
                            {name_n, put_varint(name_n, strlen(name))},
                            {(const uint8_t *)name, strlen(name)},
                            {bytes, 8},
                            {key_n, put_varint(key_n, n)},
                            {key, n}};
    enum wire_result result = wire_send(peer->wire, PEER_IMAGE, parts, 7);
    free(key);
    uint8_t *piece = malloc(PEER_PIECE_BYTES);
    for (uint64_t at = 0; at < size && !result;) {
        ssize_t got = piece ? pread(fd, piece, PEER_PIECE_BYTES, (off_t)at) : -1;
        if (got <= 0 || atomic_load(&peer->peers->stopping))
            result = WIRE_CLOSED;
        else
            result = wire_send(peer->wire, PEER_PIECE, &(struct bytes){piece, (size_t)got}, 1);
        at += got > 0 ? (uint64_t)got : 0;
    }
    free(piece);
    return result;
}

static bool note_unchained(void *ctx, const struct redo_record *record)
{
    *(bool *)ctx = !record->is_chained;
    return false;
}

/* Whether what lies behind the record can be followed. */
static bool is_chained_behind(const struct store *store, uint64_t number)
{
    bool unchained = false;
    struct redo_scan scan = {.dir = store->log_dir,
                             .id = store->id,
                             .after = number,
                             .visit = note_unchained,
                             .ctx = &unchained};
    return !redo_scan(&scan) && !unchained;
}

static void serve_image(struct peer *peer, const struct buf *message)
{
    struct store *store = peer->peers->local->store;
    struct decoder r = decoder_of(message->data, message->len);
    uint64_t least = message->len ? read_u64(&r) : 0;
    char name[BASE_NAME_BYTES], path[PATH_BYTES];
    struct base *bases = NULL, newest = {0};
    struct stat stat;
    size_t n = 0;
    int held = store_hold(store->log_dir), fd = -1;
    if (!base_list(store->base_dir, &bases, &n) && n)
        newest = bases[n - 1];
    free(bases);
    base_name(&newest, name);
    if (n && path_join(path, store->base_dir, name))
        fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ready = newest.number >= least && (n ? fd >= 0 && !fstat(fd, &stat) : true) &&
                 has_log(peer->peers->local, newest.number) &&
                 is_chained_behind(store, newest.number);
    if (ready) {
        send_image(peer, n ? &newest : NULL, fd, n ? (uint64_t)stat.st_size : 0);
    } else {
        keeper_want(store);
        peer_refuse(peer->wire, true, "it makes a base image first");
    }
    if (fd >= 0)
        close(fd);
    store_unlock(&held);
}

/* ---- What serves one of them ------------------------------------------------------------------ */

struct local *peer_local(const struct peer *peer)
{
    return peer->peers->local;
}

struct wire *peer_wire(const struct peer *peer)
{
    return peer->wire;
}

bool peer_is_wanted(struct peer *peer)
{
    return !atomic_load(&peer->peers->stopping);
}

/* Ends the other connections of the same server. Under the mutex. */
static bool end_others(struct peers *peers, const struct peer *peer)
{
    bool found = false;
    for (size_t i = 0; i < PEERS_MAX; i++) {
        struct peer *other = &peers->at[i];
        if (other == peer || other->origin != peer->origin)
            continue;
        if (other->wire)
            wire_shut(other->wire);
        found = true;
    }
    return found;
}

bool peer_claim_origin(struct peer *peer, uint64_t origin)
{
    struct peers *peers = peer->peers;
    struct timespec until = wait_until_ms(CLAIM_MS);
    int rc = 0;
    pthread_mutex_lock(&peers->mutex);
    peer->origin = origin;
    bool others = end_others(peers, peer);
    while (others && !rc) {
        rc = pthread_cond_timedwait(&peers->left, &peers->mutex, &until);
        others = end_others(peers, peer);
    }
    if (others)
        peer->origin = 0;
    pthread_mutex_unlock(&peers->mutex);
    return !others;
}

/* ---- One connection --------------------------------------------------------------------------- */

static void serve_promotion(struct peer *peer)
{
    struct local *local = peer->peers->local;
    struct peer_end end;
    const char *message = NULL;
    enum tidings_err err = follower_promote(local, &end, &message);
    if (err)
        peer_refuse(peer->wire, false, message ? message : tidings_err_text(err));
    else
        peer_send_end(peer->wire, PEER_PROMOTED, &end);
}

static void serve_question(struct peer *peer, uint8_t type, struct buf *message)
{
    struct peer_end end;
    switch (type) {
    case PEER_FOLLOW:
        serve_follower(peer, message);
        break;
    case PEER_JOIN:
        serve_image(peer, message);
        break;
    case PEER_LOOK:
        end = local_end(peer->peers->local);
        peer_send_end(peer->wire, PEER_END, &end);
        break;
    case PEER_TAIL:
        replica_serve_tail(peer->peers->local, peer->wire,
                           (struct bytes){(const uint8_t *)message->data, message->len});
        break;
    case PEER_PROMOTE:
        serve_promotion(peer);
        break;
    case PEER_OPERATE:
        operate_serve(peer->peers->local, peer->wire,
                      (struct bytes){(const uint8_t *)message->data, message->len});
        break;
    case PEER_FORWARD:
        forward_serve(peer, message);
        break;
    default:
        peer_refuse(peer->wire, false, "it does not know that question");
        break;
    }
}

static void *peer_main(void *arg)
{
    struct peer *peer = arg;
    struct peers *peers = peer->peers;
    struct wire *wire = NULL;
    struct buf message;
    uint8_t type;
    thread_name("peer");
    thread_block_sigpipe();
    buf_init(&message, QUESTION_BYTES);
    if (!wire_accept(peers->context, peer->fd, HANDSHAKE_MS, &wire)) {
        pthread_mutex_lock(&peers->mutex);
        peer->wire = wire;
        pthread_mutex_unlock(&peers->mutex);
        if (!atomic_load(&peers->stopping) && !wire_receive(wire, PEER_TIMEOUT_MS, &type, &message))
            serve_question(peer, type, &message);
    }
    pthread_mutex_lock(&peers->mutex);
    peer->wire = NULL;
    peer->follows = false;
    peer->origin = 0;
    pthread_cond_broadcast(&peers->left);
    pthread_mutex_unlock(&peers->mutex);
    wire_free(wire);
    buf_release(&message);
    atomic_store(&peer->done, true);
    return NULL;
}

/* ---- All of them ------------------------------------------------------------------------------ */

/* A place for one more; those who are done are joined. NULL: there are too many. */
static struct peer *free_place(struct peers *peers)
{
    struct peer *found = NULL;
    for (size_t i = 0; i < PEERS_MAX; i++) {
        struct peer *peer = &peers->at[i];
        if (peer->used && atomic_load(&peer->done)) {
            pthread_join(peer->thread, NULL);
            peer->used = false;
        }
        if (!peer->used)
            found = peer;
    }
    return found;
}

static void take_peer(struct peers *peers)
{
    int fd = accept4(peers->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    pthread_mutex_lock(&peers->mutex);
    struct peer *peer = free_place(peers);
    if (peer) {
        *peer = (struct peer){.peers = peers, .fd = fd};
        peer->used = !pthread_create(&peer->thread, NULL, peer_main, peer);
    }
    if (!peer || !peer->used)
        close(fd);
    pthread_mutex_unlock(&peers->mutex);
}

static void *peers_main(void *arg)
{
    struct peers *peers = arg;
    thread_name("peers");
    while (!atomic_load(&peers->stopping)) {
        struct pollfd fds[] = {{.fd = peers->fd, .events = POLLIN},
                               {.fd = peers->stop_fd, .events = POLLIN}};
        if (poll(fds, 2, -1) > 0 && fds[0].revents)
            take_peer(peers);
    }
    return NULL;
}

enum tidings_err peers_start(struct local *local, const char *listen, struct wire_context *context,
                             const char **message)
{
    struct peers *peers = calloc(1, sizeof *peers);
    const char *why;
    if (!peers)
        return TIDINGS_NO_MEMORY;
    *peers = (struct peers){.local = local, .context = context, .stop_fd = eventfd(0, EFD_CLOEXEC)};
    pthread_mutex_init(&peers->mutex, NULL);
    wait_init(&peers->left);
    peers->fd = wire_listen(listen, &peers->port, &why);
    if (peers->fd >= 0 && peers->stop_fd >= 0 &&
        !pthread_create(&peers->thread, NULL, peers_main, peers)) {
        local->peers = peers;
        return TIDINGS_OK;
    }
    enum tidings_err err = store_fail(peers->fd < 0 ? TIDINGS_INVALID : TIDINGS_NO_MEMORY, message,
                                      peers->fd < 0 ? why : "no thread for peers", false);
    if (peers->fd >= 0)
        close(peers->fd);
    if (peers->stop_fd >= 0)
        close(peers->stop_fd);
    pthread_cond_destroy(&peers->left);
    pthread_mutex_destroy(&peers->mutex);
    free(peers);
    return err;
}

void peers_stop(struct local *local)
{
    struct peers *peers = local->peers;
    const uint64_t one = 1;
    if (!peers)
        return;
    atomic_store(&peers->stopping, true);
    while (write(peers->stop_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_join(peers->thread, NULL);
    close(peers->fd);
    pthread_mutex_lock(&peers->mutex);
    for (size_t i = 0; i < PEERS_MAX; i++)
        if (peers->at[i].used && peers->at[i].wire)
            wire_shut(peers->at[i].wire);
    pthread_mutex_unlock(&peers->mutex);
    for (size_t i = 0; i < PEERS_MAX; i++)
        if (peers->at[i].used)
            pthread_join(peers->at[i].thread, NULL);
    close(peers->stop_fd);
    pthread_cond_destroy(&peers->left);
    pthread_mutex_destroy(&peers->mutex);
    local->peers = NULL;
    free(peers);
}

void peers_address(struct local *local, const char *listen, char to[PEER_ADDRESS_BYTES])
{
    const char *colon = strrchr(listen, ':');
    snprintf(to, PEER_ADDRESS_BYTES, "%.*s:%u", colon ? (int)(colon - listen) : 0, listen,
             local->peers->port);
}

void peers_status(struct local *local, struct tidings_replica *status)
{
    struct peers *peers = local->peers;
    if (!peers)
        return;
    status->peer_port = peers->port;
    pthread_mutex_lock(&peers->mutex);
    for (size_t i = 0; i < PEERS_MAX; i++) {
        const struct peer *peer = &peers->at[i];
        if (!peer->used || !peer->follows || status->n_followers == TIDINGS_FOLLOWERS_MAX)
            continue;
        struct tidings_follower *follower = &status->followers[status->n_followers++];
        snprintf(follower->address, sizeof follower->address, "%.200s", peer->address);
        follower->position = peer->seen;
    }
    pthread_mutex_unlock(&peers->mutex);
}
