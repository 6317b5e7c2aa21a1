/* SPDX-License-Identifier: MIT */
/*
 * What was found in another system: how much was read, where it contradicts itself, what could not be taken, and what was taken in
 * another form than it has there. Counted by kind, with the first few of each as examples.
 */
#ifndef LEGACY_DRIFT_H
#define LEGACY_DRIFT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

enum drift_class {
    DRIFT_CONTRADICTION, /* two of theirs do not agree */
    DRIFT_LEFT_OUT,      /* not imported */
    DRIFT_CHANGED,       /* imported, but not as it stands there */
    DRIFT_CLASSES
};

/* X(name, class, what it means) */
/* clang-format off */
#define DRIFT_KINDS(X)                                                                                                        \
    X(total_unread, CONTRADICTION, "total_unread is not the number of unread posts in the inbox")                             \
    X(author_unread, CONTRADICTION, "author_unread is not the number of unread posts of that author in the inbox")            \
    X(unread_count, CONTRADICTION, "user:unread:count is not the number of posts in user:unread")                             \
    X(liked, CONTRADICTION, "tb_blog.liked is not the number of users in blog:liked")                                         \
    X(comments, CONTRADICTION, "tb_blog.comments is not the number of its comments")                                          \
    X(following, CONTRADICTION, "ucnt has another number of followed than the table following")                               \
    X(followers, CONTRADICTION, "ucnt has another number of followers than the table following")                              \
    X(inbox_missing, CONTRADICTION, "published while the fan followed, and not in the inbox: delivered by the import")        \
    X(inbox_before_follow, CONTRADICTION, "in the inbox, and published before the follow: kept")                              \
    X(unread_read, CONTRADICTION, "in user:unread, and read")                                                                 \
    X(unread_missing, CONTRADICTION, "delivered and not read, and not in user:unread: missed, or expired")                    \
    X(unread_undelivered, CONTRADICTION, "in user:unread, and published while the fan did not follow")                        \
    X(follows_missing, CONTRADICTION, "in tb_follow, and not in follows")                                                     \
    X(follows_stale, CONTRADICTION, "in follows, and not in tb_follow: not followed after the import")                        \
    X(follow_repeated, CONTRADICTION, "in tb_follow more than once: the first counts")                                        \
    X(author_wrong, CONTRADICTION, "blog_author, blog:info, author:blogs or user:unread name another author than tb_blog")    \
    X(author_blogs_missing, CONTRADICTION, "in tb_blog, and not in the author's author:blogs")                                \
    X(info_wrong, CONTRADICTION, "blog:info has another title or time than tb_blog")                                          \
    X(row_missing, CONTRADICTION, "named by keys, not in tb_blog, and not in deleted_blogs: imported as a deleted post")      \
    X(follower_missing, CONTRADICTION, "in the table following, and not in follower")                                         \
    X(follower_stale, CONTRADICTION, "in the table follower, and not in following: not followed after the import")            \
    X(list_missing, CONTRADICTION, "in the table following, and not in uf:flws or uf:fans, which have older ones")            \
    X(list_stale, CONTRADICTION, "in uf:flws or uf:fans, and not in the table following")                                     \
    X(outbox_pending, CONTRADICTION, "an event of a follow that the outbox has told nobody of: what copies lack")             \
    X(outbox_dead, CONTRADICTION, "an event of a follow that the outbox has given up: what copies lack")                      \
    X(outbox_contradicts, CONTRADICTION, "the newest event of a pair says otherwise than the table following")                \
    X(bad_row, LEFT_OUT, "a row without ids that can be ids")                                                                 \
    X(bad_key, LEFT_OUT, "a key that holds something of another type, or a number that is none")                              \
    X(bad_member, LEFT_OUT, "a member or field that is no id")                                                                \
    X(inbox_unknown, LEFT_OUT, "in an inbox, and nobody says who wrote it")                                                   \
    X(inbox_own, LEFT_OUT, "in the author's own inbox: one's own posts are not delivered")                                    \
    X(read_unknown, LEFT_OUT, "read, and nobody says who wrote it")                                                           \
    X(unread_unknown, LEFT_OUT, "in user:unread, and nobody says who wrote it")                                               \
    X(like_unknown, LEFT_OUT, "liked, and nobody says who wrote it")                                                          \
    X(comment_unknown, LEFT_OUT, "a comment on a post that is not there")                                                     \
    X(comment_empty, LEFT_OUT, "a comment without a text")                                                                    \
    X(no_url, LEFT_OUT, "an avatar that is no URL of http or https: the user is imported without one")                        \
    X(follow_self, LEFT_OUT, "a follow of oneself")                                                                           \
    X(cut, CHANGED, "a text that is longer than servers take: cut")                                                         \
    X(untitled, CHANGED, "a post without a title: the beginning of its text is one")                                          \
    X(bad_time, CHANGED, "a time that is missing or cannot be: another one that is known was taken")                          \
    X(reply_alone, CHANGED, "an answer to a comment that is not there: on the top level")                                     \
    X(inbox_unfollowed, CHANGED, "in the inbox, of an author who is not followed any more: delivered by a follow that ended")
/* clang-format on */

enum drift_kind {
#define X(name, class, what) DRIFT_##name,
    DRIFT_KINDS(X)
#undef X
        DRIFT_KIND_COUNT
};

/* Where it was found; what is 0 or NULL is not told. */
struct drift_example {
    uint64_t user_id, author_id, post, comment, row;
    const char *where; /* static: a table or a key */
    bool counted;      /* the two numbers are there */
    int64_t says, is;
};

enum { DRIFT_EXAMPLES = 5, DRIFT_PARTS = 32 };

struct drift {
    const char *system;
    uint64_t found[DRIFT_KIND_COUNT];
    struct drift_example examples[DRIFT_KIND_COUNT][DRIFT_EXAMPLES];
    struct drift_part {
        const char *name; /* static: a table, a kind of key, a type of fact */
        uint64_t n;
    } read[DRIFT_PARTS], written[DRIFT_PARTS];
    size_t n_read, n_written;
};

void drift_add(struct drift *drift, enum drift_kind kind, const struct drift_example *example);

/* So many more of a table or a kind of key were read; of a type of facts written. */
void drift_read(struct drift *drift, const char *name, uint64_t n);
void drift_wrote(struct drift *drift, const char *name, uint64_t n);

/* How many of a class. */
uint64_t drift_total(const struct drift *drift, enum drift_class class);

void drift_print(const struct drift *drift, FILE *to);
void drift_json(const struct drift *drift, struct buf *to);

#endif
