/* SPDX-License-Identifier: MIT */
/*
 * A directory whose log is decided in MySQL (engine/log): one server at a time is the writer, by a lease; the others follow.
 * The numbers in replica.c are those of the rules in docs/decisions/0037-replicas.md.
 */
#ifndef LOCAL_REPLICA_H
#define LOCAL_REPLICA_H

#include "base/bytes.h"
#include "tidings.h"

struct local;
struct replica;
struct wire;

/* Connects, makes the tables if there are none, and refuses a database of another community, or one that is not fit: *message
 * says what to do. `dir` has no data yet, or those of this community. */
enum tidings_err replica_open(struct local *local, const struct tidings_options *options,
                              const char **message);

/* The directory's history begins the log, if there is none; INVALID if there is that of another community. STANDBY: the directory
 * must join anew, which opening it again does. */
enum tidings_err replica_begin(struct local *local, const char **message);

/* The directory is open: begins to follow, and takes over when nobody writes. */
enum tidings_err replica_start(struct local *local, const struct tidings_options *options,
                               const char **message);

/* Hands over, if it writes: another may take over at once. Before the writer ends. */
void replica_stop(struct local *local);
void replica_release(struct local *local);

/* Calls done when what the answer is made of includes all that was acknowledged anywhere before. */
void replica_submit_read(struct local *local, struct tidings_call *call);

/* After a batch: reads that waited for it go on. `is_shown`: it was made, and is visible here, or it never will be made. */
void replica_batch_done(struct local *local, bool is_shown);

/* In the writer's turn: the log may have a batch that this directory does not have. Makes no changes any more. */
void replica_batch_unsure(struct local *local);

/* A batch whose append was not answered: completed when it is known whether it was made. */
void replica_hold(struct local *local, struct tidings_call *batch);

/* Records were applied. In the writer's turn. */
struct redo_record;
void replica_applied(struct local *local, const struct redo_record *records, size_t n);

/*
 * The writer's word (rule 13): the position up to which everything goes that was acknowledged, or can be seen on any server, before
 * now; it may be that of an append under way. 0: this server does not know. Any thread.
 */
uint64_t replica_word(struct local *local);

/* Whether the append of that position has failed: then the word must be asked for anew. */
bool replica_word_is_void(struct local *local, uint64_t position);

/* The fence under which this server writes; 0: it does not. */
uint64_t replica_fence(struct local *local);

/* Waits until this replica shows a position. False: not in time. */
bool replica_wait_position(struct local *local, uint64_t position, unsigned ms);

/* Bytes that all servers of the log share: see tidings_secret. */
enum tidings_err replica_secret(struct local *local, uint8_t secret[TIDINGS_SECRET_BYTES]);

/* Answers PEER_TAIL: what this directory has behind a position. */
void replica_serve_tail(struct local *local, struct wire *wire, struct bytes question);

/* Answers PEER_OPERATE: operate.c. */
void operate_serve(struct local *local, struct wire *wire, struct bytes question);

/* Whether there was no log when it was opened: then the directory's own history begins it, and nothing of that is dropped. */
bool replica_begins(const struct local *local);

/* Of the writer, the fence that it writes with; 0: its lease is over. See tidings_term. */
uint64_t replica_term(struct local *local);

/* How old answers are at most that are made from now on, in ms; 0: they have all. */
int64_t replica_age(struct local *local);
void replica_status(struct local *local, struct tidings_replica *status);

#endif
