/* SPDX-License-Identifier: MIT */
/*
 * What happens to posts that streams have open, and who is told: the teller's part of it. A round's users ascend, and each
 * has a word of bits that says which of the parcel's messages are for the user; the message of an event has its number.
 */
#ifndef API_ACTIVITY_H
#define API_ACTIVITY_H

#include "api/parcel.h"
#include "api/watched.h"
#include "tidings.h"

/* The post that something happened to. */
static inline uint64_t activity_post(const struct tidings_event *event)
{
    return event->post_id ? event->post_id : event->target_id;
}

/* The users of a round who are online. */
struct activity_users {
    const uint64_t *ids;
    size_t n;
    uint64_t *messages;
};

/* Whether an event before event i says the same. */
bool activity_is_repeat(const struct tidings_event *events, size_t i);

/* Marks those who have the post of event i open; nobody if an event before it says the same. */
void activity_mark(struct watched *watched, const struct tidings_event *events, size_t i,
                   struct activity_users users);

/* For a round that has lost events, and so has none: marks those who have any post open, with the first bit. */
void activity_mark_missed(struct watched *watched, struct activity_users users);

/* The message of event i. The post's counts after it; NULL: the post is gone. */
void activity_make(struct parcel *parcel, const struct tidings_event *events, size_t i,
                   const struct tidings_counts *counts);

/* The change that event i is to inboxes. */
void activity_make_change(struct parcel *parcel, const struct tidings_event *events, size_t i);

/* The message, and the first change, that there was too much to be told. */
void activity_make_missed(struct parcel *parcel);

#endif
