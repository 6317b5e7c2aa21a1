/* SPDX-License-Identifier: MIT */
/*
 * What servers of one community say to each other over src/peer. Numbers are u64 and texts blocks, as in base/bytes.h.
 *
 *     from            message      what it carries
 *     follower        FOLLOW       id, position and chain of its directory, address at which it can be asked
 *     followed        RECORDS      records behind that position, in order, again and again
 *                     END          position and chain of its end, era; the newest stamp that it had got before (0: none), and how many
 *                                  milliseconds old at most what it has was then. At least twice a second, and to each new stamp
 *     follower        SEEN         up to which position it has applied them; its newest stamp, or 0: what it can tell a moment by
 *                     ASK          a number: reads wait that must include all that was acknowledged before
 *     followed        WORD         that number, position and chain of its end: all of that goes up to there, and was sent before. Position
 *                                  0: it does not know, since it is not the writer
 *     joining         JOIN         position that a base image must reach; 0: the log's beginning will do
 *     followed        IMAGE        id, era, name and size of a base image (none: the log goes back to its beginning), seal key
 *                     PIECE        of the base image
 *     follower        HAND_OVER    address: it is to take over. The followed one changes nothing any more
 *     followed        HANDED_OVER  position and chain of its end, behind all records
 *     anybody         LOOK         nothing; answered by END
 *                     TAIL         position; answered by RECORDS behind it, if there are any, and then by END
 *                     PROMOTE      nothing: the server that gets it takes over. Answered by PROMOTED, era and position
 *                     OPERATE      an operation of an operator's (ops/codec.h), by what `tidings cluster` asks; answered by OPERATED,
 *                                  the answer
 *     whoever is asked REFUSED     whether to try again, why
 */
#ifndef LOCAL_PEERS_H
#define LOCAL_PEERS_H

#include "engine/local/storage/chain.h"
#include "engine/local/storage/files.h"
#include "peer/wire.h"
#include "tidings.h"

enum peer_message {
    PEER_FOLLOW = 1,
    PEER_RECORDS,
    PEER_END,
    PEER_SEEN,
    PEER_JOIN,
    PEER_IMAGE,
    PEER_PIECE,
    PEER_HAND_OVER,
    PEER_HANDED_OVER,
    PEER_LOOK,
    PEER_PROMOTE,
    PEER_PROMOTED,
    PEER_REFUSED,
    PEER_FORWARD, /* forward.h has these four */
    PEER_WELCOME,
    PEER_CHANGES,
    PEER_REFUSALS,
    PEER_TAIL,
    PEER_OPERATE,
    PEER_OPERATED,
    PEER_ASK,
    PEER_WORD,
};

enum {
    PEER_TIMEOUT_MS = 5000, /* for a connection, and for an answer */
    PEER_BEAT_MS = 500,     /* END at least so often */
    PEER_SILENCE_MS = 5000, /* after which the other side is taken for gone */
    PEER_PIECE_BYTES = 1 << 20,
    PEER_ADDRESS_BYTES = 256,
    PEERS_MAX = 192, /* connections at once */
};

struct local;
struct peers;

/* Where the log ends. */
struct peer_end {
    uint64_t position;
    struct chain chain;
    uint64_t era;
    uint64_t stamp, age_ms; /* END: of whoever is told, and of what is told; otherwise 0 */
};

/* ---- Messages: peer_messages.c ---------------------------------------------------------------- */

enum wire_result peer_send_end(struct wire *wire, enum peer_message type,
                               const struct peer_end *end);
bool peer_read_end(struct bytes message, struct peer_end *end);

struct peer_seen {
    uint64_t position, stamp;
};

enum wire_result peer_send_seen(struct wire *wire, const struct peer_seen *seen);
bool peer_read_seen(struct bytes message, struct peer_seen *seen);

/* A message that is one text: REFUSED has a byte before it. */
enum wire_result peer_send_text(struct wire *wire, enum peer_message type, const char *text);
enum wire_result peer_refuse(struct wire *wire, bool try_again, const char *why);

/* HOST:PORT of tidings://HOST:PORT, or of itself. */
const char *peer_host(const char *address);

/* A block as a text with a NUL, cut to what fits. */
void peer_read_text(struct decoder *r, char *to, size_t n);

/* Connects to tidings://HOST:PORT, asks one thing and waits for the answer, which is in `to`. Not OK: *message says why,
 * and `again` whether it is worth trying again. */
enum tidings_err peer_ask(struct wire_context *context, const char *address,
                          enum peer_message question, struct bytes body, struct wire **wire,
                          uint8_t *type, struct buf *to, bool *again, const char **message);

/* The key: of the file, or `peer.key` in the directory, which is made if `may_make`. */
enum tidings_err peer_key_read(const char *dir, const char *file, bool may_make,
                               uint8_t key[WIRE_KEY_BYTES], const char **message);

/* Where this log ends, for whoever asks: thread-safe. And that it has gone on: by whoever writes. */
struct peer_end local_end(struct local *local);
void local_end_note(struct local *local);

/* ---- Those who ask: peers.c ------------------------------------------------------------------ */

/* Listens, and serves whoever follows, on threads of its own. */
enum tidings_err peers_start(struct local *local, const char *listen, struct wire_context *context,
                             const char **message);
void peers_stop(struct local *local);

/* Where they are served, with the port that was chosen. */
void peers_address(struct local *local, const char *listen, char to[PEER_ADDRESS_BYTES]);
void peers_status(struct local *local, struct tidings_replica *status);

/* For what serves one of them: the engine, the connection, whether to go on. */
struct peer;
struct local *peer_local(const struct peer *peer);
struct wire *peer_wire(const struct peer *peer);
bool peer_is_wanted(struct peer *peer);

/* The connection is that of this server. One that it had before is ended; false: that takes too long. */
bool peer_claim_origin(struct peer *peer, uint64_t origin);

/* ---- Following: follower.c -------------------------------------------------------------------- */

/* Asks for the records after the end of this directory. False: the connection is of no use. */
bool peer_send_follow(struct wire *wire, struct local *local, const char *own_address);

void follower_init(struct local *local);
enum tidings_err follower_start(struct local *local, const char *address,
                                struct wire_context *context);
void follower_stop(struct local *local);
void follower_release(struct local *local);
void follower_status(struct local *local, struct tidings_replica *status);

/* How old answers are, at most: at least 1. Whoever asks makes it ask more often. */
int64_t follower_age(struct local *local);

/* Asks the followed server to hand over, and ends following, with what came until then if it cannot be reached. */
void follower_end(struct local *local);

/* promote.c: ends following and becomes the writer, with a new era: asks the followed server to hand over, if it can be reached. */
enum tidings_err follower_promote(struct local *local, struct peer_end *end, const char **message);

/* ---- Joining: join.c --------------------------------------------------------------------------- */

/* Fills an empty directory with what the server at the address has; nothing, if it is not empty. */
enum tidings_err join_directory(const struct tidings_options *options, struct wire_context *context,
                                const char **message);

/* The same for any directory, once: the base image reaches `least`. */
enum tidings_err join_from_peer(struct wire_context *context, const char *address, uint64_t least,
                                const char *dir, struct tidings_progress progress, bool *again,
                                const char **message);

/* Around a base image from elsewhere: makes the directories; `state`, which comes last, since a directory without it is not
 * filled. */
enum tidings_err join_make_rooms(const char *dir, char base_dir[PATH_BYTES], const char **message);
enum tidings_err join_end(const char *dir, const char *base_dir, const uint8_t id[CHAIN_BYTES],
                          uint64_t reaches, const char **message);

/* Whether the directory was replaced by one that was promoted: by what its own files say, or what those say who followed
 * it. INVALID, with a message, if so. */
enum tidings_err join_check_replaced(const struct tidings_options *options,
                                     struct wire_context *context, uint64_t era,
                                     const char **message);

/* Notes that it is replaced by the server at the address; that it is not any more; who follows it. */
enum tidings_err join_note_replaced(const char *dir, uint64_t era, const char *by);
void join_forget_replaced(const char *dir);
void join_note_follower(const char *dir, const char *address);

#endif
