/* SPDX-License-Identifier: MIT */
/* What streams are told, as server-sent events. Each is appended to the buffer whole. */
#ifndef API_MESSAGES_H
#define API_MESSAGES_H

#include "base/buf.h"
#include "tidings.h"

/* No id if it is 0. Only posts have ids of their own, since a client that comes back is told of the posts behind the last
 * id it saw: a badge may be counted before an older post is told of. */
void message_badge(struct buf *to, uint64_t total, uint64_t id);

/* What there is to say of a post. */
struct message_post {
    uint64_t id;
    uint64_t author_id;
    struct tidings_text author_name;
    enum tidings_post_kind kind;
    struct tidings_text title;
    int64_t created_at;
};
void message_post(struct buf *to, const struct message_post *post);

/* The notification, and how many are unread after it. */
void message_notification(struct buf *to, const struct tidings_notification *notification,
                          uint64_t unread);

/* Something happened to a post that a stream has open: what, to which comment if it was one (0: none), and the post's counts
 * after it (NULL: it is gone). */
void message_activity(struct buf *to, const struct tidings_event *event, uint64_t post,
                      const struct tidings_counts *counts);

/* A post that is in the reader's inbox was edited or deleted. NULL: there was too much of that to be told. */
void message_changed(struct buf *to, const struct tidings_event *event);

/* What happened to open posts was too much to be told. */
void message_missed(struct buf *to);

/* How many notifications are unread. */
void message_unread(struct buf *to, uint64_t unread);

#endif
