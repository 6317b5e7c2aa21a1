/* SPDX-License-Identifier: MIT */
/* What servers say about the cluster: errors that mean "elsewhere" or "later", who has which slots, a process's run id.
 * None of it is believed to be well-formed. */
#ifndef REDIS_TOLD_H
#define REDIS_TOLD_H

#include <hiredis/hiredis.h>

#include "redis/address.h"

enum told {
    TOLD_NO,        /* an error of the call */
    TOLD_MOVED,     /* the slot belongs to another, from now on */
    TOLD_ASK,       /* this key, this once, to be asked of another */
    TOLD_TRY_AGAIN, /* some keys are here and some there: soon they are together */
    TOLD_DOWN,      /* the cluster serves nothing, or not this slot */
    TOLD_NOT_YET,   /* the node cannot serve now */
    TOLD_READ_ONLY, /* it is a replica */
    TOLD_NO_SCRIPT,
};

/* What an error means, by its first word. */
enum told told_kind(const char *error, size_t n);

/* "MOVED 3999 127.0.0.1:6381", and the same with ASK; `same_host` is that of whoever says it. */
bool told_redirection(const char *error, size_t n, const char *same_host, uint16_t *slot,
                      struct address *to);

/* Whether an error in answer to CLUSTER SLOTS means that there is no cluster. */
bool told_single(const char *error, size_t n);

struct told_range {
    uint16_t first, last;
    bool has_master; /* false: it has no address as yet */
    struct address master;
    unsigned replicas;
};

/* One element of the answer to CLUSTER SLOTS. */
bool told_range(const struct redisReply *element, const char *same_host, struct told_range *to);

enum { RUN_ID_MAX = 64 };

/* The run id in the answer to INFO server. */
bool told_run_id(const struct redisReply *info, char id[RUN_ID_MAX + 1]);

#endif
