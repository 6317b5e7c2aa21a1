/* SPDX-License-Identifier: MIT */
/*
 * Changes that are asked for on a follower: they are handed to the writer, and answered when this replica shows them.
 *
 *     from       message   what it carries
 *     follower   FORWARD   the community's id, the follower's id (origin)
 *     writer     WELCOME   its fence, and its position after all changes of former connections of that origin
 *     follower   CHANGES   one or more: number, a block with the operation (ops/codec.h)
 *     writer     REFUSALS  one or more: number, position, a block with the answer
 *
 * A change that was made is not answered by a message: its answer is in the log, behind its rows, with origin and number
 * (CHANGE_ANSWER). So whatever becomes of the connection or of the writer, a follower that has read the log up to a WELCOME
 * knows of each of its changes whether it was made, and hands those over again that were not.
 */
#ifndef LOCAL_FORWARD_H
#define LOCAL_FORWARD_H

#include "base/bytes.h"
#include "tidings.h"

struct buf;
struct forward;
struct local;
struct peer;

/* ---- On the follower: forward.c ----------------------------------------------------------------- */

enum tidings_err forward_start(struct local *local, uint64_t origin);

/* Takes no more changes and answers those under way; UNCERTAIN, if they take too long. */
void forward_stop(struct local *local);
void forward_release(struct local *local);

/* Hands a change over; it waits while there is no writer, until its deadline. Any thread. */
void forward_submit(struct local *local, struct tidings_call *call);

/* Who the writer is, by the writer's row; "": nobody, or this server. Any thread. */
void forward_writer_note(struct local *local, const char *address, uint64_t fence);

/*
 * The answer to a change was applied from the log: the call with its answer if it was asked for here, to be completed by the
 * caller when the change is shown; else NULL. In the writer's turn.
 */
struct tidings_call *forward_answered(struct local *local, struct bytes mark);

/* ---- On the writer ------------------------------------------------------------------------------ */

/* What the log says of a change that came from elsewhere. False if memory is short. */
bool forward_mark_encode(const struct tidings_call *call, struct buf *to);

/* Serves a connection that began with FORWARD: forward_serve.c. */
void forward_serve(struct peer *peer, struct buf *message);

#endif
