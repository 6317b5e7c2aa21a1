/* SPDX-License-Identifier: MIT */
/* What other capabilities need of posts; for the files of this folder alone. */
#ifndef OPS_POST_H
#define OPS_POST_H

#include "engine/view.h"

/* DELETED, with the title of what is, which survives. */
enum tidings_err refuse_deleted(struct view *view, struct reply *reply, struct bytes title);

/* The post with its body; DELETED with the title in the answer, or NOT_FOUND. */
enum tidings_err answer_whole_post(struct view *view, struct reply *reply, uint64_t id,
                                   struct tidings_post *post);

#endif
