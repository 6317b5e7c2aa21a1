/* SPDX-License-Identifier: MIT */
/* TLS over a socket that does not block, always verified. Raises no SIGPIPE. */
#ifndef REDIS_TLS_H
#define REDIS_TLS_H

#include <stdbool.h>
#include <stddef.h>

struct tls;  /* whom to trust */
struct link; /* one connection */

/* NULL, and why. Without a file: whom the system trusts. */
struct tls *tls_new(const char *ca_file, const char **message);
void tls_free(struct tls *tls);

/* The socket stays the caller's. The other side must prove to be `host`, a name or a number. NULL: no memory. */
struct link *link_new(struct tls *tls, int fd, const char *host);
void link_free(struct link *link);

enum link_state { LINK_DONE, LINK_WANTS_READ, LINK_WANTS_WRITE, LINK_CLOSED, LINK_BROKEN };

enum link_state link_handshake(struct link *link);
/* What a handshake that is not done waits for: to write, otherwise to read. */
bool link_wants_write(const struct link *link);
/* Reads until LINK_WANTS_READ: a part may be here already, and poll does not see it. */
enum link_state link_read(struct link *link, char *to, size_t n, size_t *got);
enum link_state link_write(struct link *link, const char *from, size_t n, size_t *put);

/* Why it is LINK_BROKEN. */
const char *link_problem(const struct link *link);
/* Whether it is for the other side's certificate. */
bool link_is_distrusted(const struct link *link);

#endif
