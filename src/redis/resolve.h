/* SPDX-License-Identifier: MIT */
/* Addresses of a host. The system's resolver blocks, so a name is looked up by a thread of its own, which may outlive whoever wanted
 * to know; a number is not looked up. */
#ifndef REDIS_RESOLVE_H
#define REDIS_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "redis/address.h"

enum { RESOLVE_MAX = 8 };

struct resolved {
    size_t n;
    struct sockaddr_storage at[RESOLVE_MAX];
    socklen_t length[RESOLVE_MAX];
};

struct lookup;

/* At once: false if the host is no number. */
bool resolve_number(const struct address *address, struct resolved *to);

/* NULL if there is no memory or no thread. */
struct lookup *lookup_start(const struct address *address);
/* To be polled for reading: then it is done. */
int lookup_fd(const struct lookup *lookup);
/* What was found; none: n is 0. */
void lookup_result(const struct lookup *lookup, struct resolved *to);
void lookup_free(struct lookup *lookup);

#endif
