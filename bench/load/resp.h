/* SPDX-License-Identifier: MIT */
/* Redis' protocol, and the seeds' keys as far as a single server and a cluster have them alike. */
#ifndef RESP_H
#define RESP_H

#include "load.h"

enum { RESP_SHA_BYTES = 40 };

void resp_command(struct buf *out, unsigned n);
void resp_arg(struct buf *out, const char *text);
void resp_id(struct buf *out, const char *prefix, uint64_t id);
/* EVALSHA, behind which so many keys and arguments are put. */
void resp_script(struct buf *out, const char *sha, unsigned n_keys, unsigned n_args);

uint64_t resp_ms(void);
/* The fill's posts are numbered in the order of publishing, as bench-engine's are. */
uint64_t resp_author_of(const struct world *world, uint64_t post);

/* As in struct protocol. A page's rows are four values: post, score, state, content. */
ssize_t resp_parse(const char *bytes, size_t n, struct reply *reply);
void resp_learn(struct world *world, const struct step *step, const struct reply *reply);
uint64_t resp_number(const struct reply *reply);

/* The SHA of a script that the server has now. */
bool resp_load_script(int fd, const char *directory, const char *file, char *sha);

#endif
