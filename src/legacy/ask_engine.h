/* SPDX-License-Identifier: MIT */
/* An engine in this process as the source of answers, and what the bridge asks besides. */
#ifndef LEGACY_ASK_ENGINE_H
#define LEGACY_ASK_ENGINE_H

#include "legacy/ask.h"
#include "tidings.h"

/* The engine is the caller's. NULL: memory is short. */
struct ask *ask_engine_new(struct tidings *tidings);

/* All that follow need a source that ask_engine_new() made. */

/* One operation, asked exactly and as a service; what the answer points to lives until the next call. */
enum tidings_err ask_engine_run(struct ask *ask, const struct tidings_op *op,
                                const struct tidings_answer **answer);

/* The rows that a page may have: as many as the settings allow, ASK_PAGE at most. */
enum { ASK_PAGE = 1000 };
uint32_t ask_engine_page(struct ask *ask);

/* Of a post: member, author, at (0: it is gone) and is_deleted. The title ends with a NUL, cut if need be. */
enum { TITLE_ROOM = 1024 };
bool ask_engine_post(struct ask *ask, uint64_t post, struct legacy_item *item,
                     char title[TITLE_ROOM]);

/* What the old system calls it. */
bool ask_engine_member(struct ask *ask, uint64_t post, uint64_t *member);

/* Which of these users, ascending, follow the author and were delivered the post: they come first, in *n. */
bool ask_engine_fans(struct ask *ask, uint64_t author, uint64_t post, uint64_t *users, size_t *n);

#endif
