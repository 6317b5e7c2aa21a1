/* SPDX-License-Identifier: MIT */
/*
 * A connection between two servers of one community: TLS 1.3 with a key that both have, and messages with a type and a
 * length. Whoever does not have the key is not talked to. Calls block, each for a bounded time; one thread at a time, but
 * for wire_shut.
 */
#ifndef PEER_WIRE_H
#define PEER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"

enum { WIRE_KEY_BYTES = 32, WIRE_TEXT_BYTES = 256 };

/* A record of the log is at most 1 GiB, and what else there is is smaller. */
#define WIRE_MESSAGE_MAX (((size_t)1 << 30) + (1 << 20))

enum wire_result {
    WIRE_OK,
    WIRE_NOTHING, /* nothing came in time; the connection is as it was */
    WIRE_CLOSED,  /* the other side is gone, or did not go on in time */
    WIRE_REFUSED, /* the other side does not have the key, or does not speak as we do */
};

/* The key, for any number of connections. NULL if memory is short. */
struct wire_context;
struct wire_context *wire_context_new(const uint8_t key[WIRE_KEY_BYTES]);
void wire_context_free(struct wire_context *context);

struct wire;

/* "host:port" or "[::1]:port". On failure *why is a text of WIRE_TEXT_BYTES at most, gone with the thread's next one. */
enum wire_result wire_connect(struct wire_context *context, const char *address, int timeout_ms,
                              struct wire **wire, const char **why);

/* On a socket that was accepted, which is the connection's from then on, also on failure. */
enum wire_result wire_accept(struct wire_context *context, int fd, int timeout_ms,
                             struct wire **wire);
void wire_free(struct wire *wire);

/* Any thread: whoever waits in a call gets WIRE_CLOSED. */
void wire_shut(struct wire *wire);

/* Sends a message that consists of these parts. */
enum wire_result wire_send(struct wire *wire, uint8_t type, const struct bytes *parts, size_t n);

/* The next message, for whose beginning it waits so long. The bytes are in `to`, which is emptied first. */
enum wire_result wire_receive(struct wire *wire, int timeout_ms, uint8_t *type, struct buf *to);

/* Waits until something has come, or `wake` (a descriptor; -1: none) can be read. False if neither happened in time. */
bool wire_wait(struct wire *wire, int wake, int timeout_ms);

/* A socket that listens on "host:port", non-blocking; port 0: any, which *port says. -1, and *why. */
int wire_listen(const char *address, unsigned *port, const char **why);

#endif
