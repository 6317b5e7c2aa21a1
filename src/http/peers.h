/* SPDX-License-Identifier: MIT */
/*
 * How many connections each address has. Shared by all loops: a lock, taken when a connection opens
 * and closes. Fixed memory. An IPv6 client counts by its /64, since it can take any address in
 * there.
 */
#ifndef HTTP_PEERS_H
#define HTTP_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/http.h"

struct peers;

enum { PEERS_NONE = UINT32_MAX };

/* Room for `connections` from as many addresses; `limit` is for each. `seed` keeps clients from
 * choosing addresses that collide. NULL if there is no memory. */
struct peers *peers_new(uint32_t connections, uint64_t limit, uint64_t seed);
void peers_free(struct peers *peers);

/* Any thread. False if the address has as many as it may; else *slot is for peers_leave. */
bool peers_enter(struct peers *peers, const struct http_peer *peer, uint32_t *slot);
void peers_leave(struct peers *peers, uint32_t slot);

#endif
