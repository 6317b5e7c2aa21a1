/* SPDX-License-Identifier: MIT */
/* What a receiver gets: the body, its signature, and when the next attempt is. Pure functions. */
#ifndef PUSH_MESSAGE_H
#define PUSH_MESSAGE_H

#include "base/buf.h"
#include "tidings.h"

enum { SIGNATURE_MAX = 3 + 64 + 1 };

/* The event as JSON; `attempt` counts from 1. The buf tells whether it failed. */
void message_body(const struct tidings_event *event, const char *tag, uint32_t attempt,
                  struct buf *body);

/* "v1=" and the HMAC-SHA-256 of "timestamp.body" in hexadecimal digits. False if memory is short. */
bool message_sign(const char *secret, size_t secret_n, int64_t timestamp_s, const struct buf *body,
                  char to[SIGNATURE_MAX]);

/*
 * Milliseconds to wait after so many failures in a row, from 1: doubling from `first_ms`, at most
 * `most_ms`, of which `random` decides the second half, so that receivers that fell together are
 * not called together.
 */
int64_t message_backoff_ms(uint64_t first_ms, uint64_t most_ms, uint32_t attempts, uint64_t random);

#endif
