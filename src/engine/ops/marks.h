/* SPDX-License-Identifier: MIT */
/*
 * Marking what was delivered as read or unread, posts and scenes alike, by ids or up to a moment. Everything is checked before the
 * first change, so that a list with one wrong id marks nothing. For the files of this folder alone.
 */
#ifndef OPS_MARKS_H
#define OPS_MARKS_H

#include "engine/inbox/tie.h"

/* One post, or scene, to be marked. */
struct marked {
    uint64_t id;
    uint32_t seq;
    bool gone; /* deleted since: marking it changes nothing */
    struct tie *tie;
};

/* What is done with each, and with the history entries of all that it changed. */
struct marking {
    enum realm realm;
    /* Whether there is such a post: its author, number, and whether it is deleted. */
    bool (*find)(struct view *view, uint64_t id, uint64_t *author, uint32_t *seq, bool *gone);
    /* Whether it changed; then *entry has to enter or leave the history, or has the stamp 0. */
    bool (*mark)(struct view *view, const struct marked *marked, struct history_entry *entry);
    void (*write)(struct view *view, uint64_t reader, struct history_entry *entries, size_t n);
};

/* Marks one as read, now, in the history or not. Whether it was unread. */
bool marks_read(struct view *view, const struct marked *marked, bool in_history);

/* NOT_FOUND if one of the posts was not delivered to the viewer. *changed: how many changed. */
enum tidings_err marks_by_id(struct view *view, struct reply *reply, const struct marking *marking,
                             uint64_t *changed);

/* Everything that was there at the moment the operation names, of one author or (0) of all. INVALID if it has not been. */
enum tidings_err marks_up_to(struct view *view, struct reply *reply, enum realm realm,
                             uint64_t author, uint64_t *changed);

#endif
