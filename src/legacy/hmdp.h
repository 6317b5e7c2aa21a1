/* SPDX-License-Identifier: MIT */
/*
 * The inboxes of hmdp, by the two schemes that are written down of it. What tables and keys hold becomes records about posts; these,
 * sorted by post, become the posts' facts, and records about an author's fans; these, sorted, the fans' facts, and numbers about
 * users, which are added up last.
 *
 * What is true: the tables, and the lists of what was delivered, read and liked. What is compared with them: all counts, the sets
 * of unread posts, and copies of what the tables have.
 */
#ifndef LEGACY_HMDP_H
#define LEGACY_HMDP_H

#include "legacy/inside.h"

/* About a post, in the order in which they are looked at: first what it is, then what refers to it. */
enum of_post {
    POST_ROW,       /* of tb_blog: all of it */
    POST_INFO,      /* blog:info */
    POST_AUTHOR,    /* x: who wrote it, as blog_author says */
    POST_DELETED,   /* in deleted_blogs */
    POST_LISTED,    /* x: in whose author:blogs it is */
    POST_DELIVERED, /* x: when, y: to whom */
    POST_COMMENT,   /* x: its id; the rest of its row */
    POST_LIKED,     /* x: by whom; when */
    POST_READ,      /* x: by whom; when */
    POST_READ_SET,  /* x: by whom */
    POST_UNREAD,    /* x: by whom, y: in the set of which author */
};

struct of_post_record {
    uint64_t post;
    enum of_post kind;
    uint64_t x, y;
    struct decoder rest;
};

/* About an author: the posts, then, fan by fan, what there is between the two. */
enum of_author {
    AUTHOR_POST, /* at, post; flags */
    FAN_FOLLOW,  /* at, post: the row's id */
    FAN_CACHED,  /* in follows */
    FAN_SAID,    /* number: author_unread */
    FAN_COUNTED, /* number: user:unread:count */
    FAN_MEMBER,  /* post: in the set user:unread */
    FAN_ITEM,    /* at, post; flags; number: when it was read */
};

enum {
    IS_DELETED = 1,
    IS_LISTED = 2,       /* in author:blogs */
    IS_ROW = 4,          /* in tb_blog */
    IS_DELIVERED = 8,    /* in feed */
    IS_READ = 16,        /* in blog:read, or in user:read */
    IS_TIMED = 32,       /* and it is known when */
    IS_UNREAD = 64,      /* in user:unread */
    IS_READ_FIRST = 128, /* in blog:read: what the counts of the first scheme go by */
};

struct of_author_record {
    uint64_t author, user; /* user 0: the author's own */
    enum of_author kind;
    uint64_t at, post, flags;
    int64_t number;
};

/* About a user: what total_unread says, and what each author adds to it. */
struct of_user_record {
    uint64_t user;
    bool said;
    int64_t number;
};

struct hmdp {
    struct source *source;
    struct sorter *by_post, *by_author, *by_user;
    struct buf value;
    bool has_comments; /* the table is in use */
};

void hmdp_add_post(struct hmdp *h, const struct of_post_record *record, const struct buf *rest);
bool hmdp_next_post(struct hmdp *h, struct of_post_record *record);
void hmdp_add_author(struct hmdp *h, const struct of_author_record *record);
bool hmdp_next_author(struct hmdp *h, struct of_author_record *record);
void hmdp_add_user(struct hmdp *h, const struct of_user_record *record);
bool hmdp_next_user(struct hmdp *h, struct of_user_record *record);

/* Characters of a title. */
enum { TITLE_CHARACTERS = 200, TITLE_KEPT = 500 };

/* "blog:77" */
enum { POST_KEY_MAX = 32 };
struct bytes hmdp_key(const char *kind, uint64_t id, char text[POST_KEY_MAX]);

/* hmdp_posts.c, hmdp_pairs.c: the steps behind reading, in this order. */
void hmdp_join_posts(struct hmdp *h);
void hmdp_join_pairs(struct hmdp *h);
void hmdp_join_users(struct hmdp *h);

#endif
