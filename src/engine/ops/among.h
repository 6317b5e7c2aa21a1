/* SPDX-License-Identifier: MIT */
/* Answers about users that several capabilities share; for the files of this folder alone. */
#ifndef OPS_AMONG_H
#define OPS_AMONG_H

#include "engine/inbox/tie.h"

/* A page of a list of users, with their profiles. */
void answer_user_list(struct view *view, struct reply *reply, const struct list *list,
                      const struct tidings_page *page);

/* Which of the users given follow the author, or have something delivered of it. */
enum tidings_err answer_among(struct view *view, struct reply *reply, enum realm realm,
                              enum list_kind followers);

#endif
