/* SPDX-License-Identifier: MIT */
/* For verify: what a tie's pair should say, counted from the read maps and the head alone. */
#ifndef INBOX_AUDIT_H
#define INBOX_AUDIT_H

#include "engine/inbox/tie.h"

enum audit_verdict {
    AUDIT_FINE,
    AUDIT_BEYOND, /* delivered beyond the last post; nothing can be made of that */
    AUDIT_COUNTS, /* counts do not fit what was read */
    AUDIT_AMISS,  /* it lies where it does not belong, or knows chunks as done that are not */
    AUDIT_UNREAD, /* what is unread does not fit the posts */
};

/* *fresh is the tie as it should be, but for AUDIT_BEYOND. Not to be trusted if the view fails. */
enum audit_verdict audit_tie(struct view *view, const struct tie *tie, struct tie *fresh);

/* The pair's counts anew, in place of those that are there. */
void audit_recount(struct view *view, const struct tie *tie, struct pair *fresh);

const char *audit_text(enum audit_verdict verdict);

#endif
