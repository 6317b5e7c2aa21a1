/* SPDX-License-Identifier: MIT */
/* What a receiver gets: the body and its signature; when it gets it again, and when no more. Pure
 * functions. */
#ifndef PUSH_MESSAGE_H
#define PUSH_MESSAGE_H

#include "base/buf.h"
#include "tidings.h"

/* Of both kinds: 64 hexadecimal digits behind "v1=", or twice 44 characters behind "v1,", with a space between. */
enum { SIGNATURE_MAX = 2 * (3 + 44) + 2, MESSAGE_ID_MAX = 32 };

/*
 * The event as JSON; `attempt` counts from 1. By its tag, if it has one: what a push gateway wants to know; otherwise all of
 * it. The buf tells whether it failed.
 */
void message_body(const struct tidings_event *event, bool by_tag, uint32_t attempt,
                  struct buf *body);

/* The same whenever the event is told: "evt_" and its id. */
void message_id(const struct tidings_event *event, char id[MESSAGE_ID_MAX]);

/* "v1=" and the HMAC-SHA-256 of "timestamp.body" in hexadecimal digits. False if memory is short. */
bool message_sign(const char *secret, size_t secret_n, int64_t timestamp_s, const struct buf *body,
                  char to[SIGNATURE_MAX]);

/*
 * In the form of Standard Webhooks: "v1," and the HMAC-SHA-256 of "id.timestamp.body" in base64; with an old secret, unless that
 * is NULL, a second one behind it. Secrets end with NUL. False if memory is short.
 */
bool message_sign_standard(const char *secret, const char *old_secret, const char *id,
                           int64_t timestamp_s, const struct buf *body, char to[SIGNATURE_MAX]);

/*
 * Milliseconds to wait after so many failures in a row, from 1: doubling from `first_ms`, at most
 * `most_ms`, of which `random` decides the second half, so that receivers that fell together are
 * not called together.
 */
int64_t message_backoff_ms(uint64_t first_ms, uint64_t most_ms, uint32_t attempts, uint64_t random);

/*
 * Whether an event of that age is given up that has just failed: once it has failed for `give_up_ms`, counted from
 * when its receiver began to fail, or from when it happened if that was later; or once it is older
 * than the log keeps events.
 */
bool message_is_hopeless(int64_t age_ms, int64_t failing_ms, uint64_t give_up_ms, uint64_t kept_ms);

#endif
