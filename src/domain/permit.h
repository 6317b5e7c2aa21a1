/* SPDX-License-Identifier: MIT */
/* Who may do what. */
#ifndef DOMAIN_PERMIT_H
#define DOMAIN_PERMIT_H

#include "tidings.h"

static inline bool permits_admin(const struct tidings_op *op)
{
    return op->role == TIDINGS_ROLE_ADMIN;
}

/* A service, or an admin. */
static inline bool permits_service(const struct tidings_op *op)
{
    return op->role != TIDINGS_ROLE_USER;
}

/* The author of a text. */
static inline bool permits_author(const struct tidings_op *op, uint64_t author)
{
    return op->user_id == author;
}

static inline bool permits_author_or_admin(const struct tidings_op *op, uint64_t author)
{
    return permits_author(op, author) || permits_admin(op);
}

#endif
