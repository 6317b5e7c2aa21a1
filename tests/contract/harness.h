/* SPDX-License-Identifier: MIT */
/*
 * One engine, the one that support/engine.h chooses, with a clock that stands still, and operations as plain
 * calls. What a call answers is in `answer` until the next one. A call that must succeed and does
 * not fails the test; those that may be refused answer the error.
 */
#ifndef TESTS_CONTRACT_HARNESS_H
#define TESTS_CONTRACT_HARNESS_H

#include <stdatomic.h>

#include "tidings.h"
#include "unit/test.h"

#define START_MS INT64_C(1750000000000)

extern struct tidings *engine;
extern struct tidings_answer answer;
extern struct tidings_options options;
extern _Atomic int64_t clock_ms;

/* Around every test: a fresh directory with an engine on it; none of it left behind. */
int harness_begin(void **state);
int harness_begin_closed(void **state); /* the directory alone */
int harness_end(void **state);

/* For tests of files: the data directory, which is empty before the engine is first opened. */
const char *harness_dir(void);
void harness_path(char path[512], const char *name);

void open_engine(void);
enum tidings_err try_open(void);
void close_engine(void);
void reopen_engine(void);

/* What was told of something long: how often, and the last time; falls if `done` ever fell. */
struct told {
    unsigned times;
    uint64_t done, total;
    bool fell;
};
struct tidings_progress progress_to(struct told *told);

/* ---- Operations ------------------------------------------------------------------------------ */

enum tidings_err run(struct tidings_op op);
void must(struct tidings_op op);

/* All at once, each of which must succeed; as fast as the writer takes them. */
void must_all(const struct tidings_op *ops, size_t n);

struct tidings_text text_of(const char *s);

/* By a service, so that no token is spent. */
void follow(uint64_t fan, uint64_t author);
uint64_t unfollow(uint64_t fan, uint64_t author, bool purge); /* how many were purged */
uint64_t publish(uint64_t author, const char *title, const char *body);
void publish_many(uint64_t author, size_t n);
void delete_post(uint64_t author, uint64_t post);
void open_post(uint64_t viewer, uint64_t post);
uint64_t mark(uint64_t viewer, const uint64_t *posts, size_t n); /* how many changed */
uint64_t mark_one(uint64_t viewer, uint64_t post);
uint64_t unmark_one(uint64_t viewer, uint64_t post);
uint64_t mark_up_to(uint64_t viewer, uint64_t author, struct tidings_moment up_to);

/* By a service as well. */
bool react(uint64_t user, enum tidings_reaction reaction, enum tidings_target target, uint64_t id);
bool unreact(uint64_t user, enum tidings_reaction reaction, enum tidings_target target,
             uint64_t id);
uint64_t comment(uint64_t user, uint64_t post, uint64_t parent, const char *body);
void delete_comment(uint64_t user, uint64_t id);
void hide(uint64_t id); /* by an admin, like the next */
void restore(uint64_t id);

/* By users, who spend a token. */
struct tidings_op follow_op(uint64_t fan, uint64_t author);
struct tidings_op react_op(uint64_t user, enum tidings_reaction reaction,
                           enum tidings_target target, uint64_t id);
struct tidings_op comment_op(uint64_t user, uint64_t post, uint64_t parent);

/* ---- Looking --------------------------------------------------------------------------------- */

uint64_t badge(uint64_t viewer);
struct tidings_moment as_of(uint64_t viewer);
/* The last position in the events: what is listed after it has not happened yet. */
uint64_t events_end(void);
/* All events after a place, as text: "name(actor)delta/reaction ...". */
const char *events_after(uint64_t after);
uint64_t unread_of(uint64_t viewer, uint64_t author);
void assert_counters(uint64_t user, uint64_t liked, uint64_t faved, uint64_t likes, uint64_t favs);
/* 0 if it is not listed there. */
enum tidings_comment_status status_of(uint64_t post, uint64_t parent, uint64_t id);

/* Short for tests about these. */
#define POST    TIDINGS_TARGET_POST
#define COMMENT TIDINGS_TARGET_COMMENT
#define LIKE    TIDINGS_LIKE
#define FAV     TIDINGS_FAV
#define DOWN    TIDINGS_DOWNVOTE

enum { IDS_MAX = 8192 };

struct ids {
    size_t n;
    uint64_t at[IDS_MAX];
};

/* All pages of an inbox, of an author's page, of the history, put together. */
void list_inbox(uint64_t viewer, uint64_t author, enum tidings_filter filter, struct ids *ids);
void list_author(uint64_t viewer, uint64_t author, enum tidings_filter filter, struct ids *ids);
void list_history(uint64_t viewer, struct ids *ids);

/* All pages of comments on a post or a comment, and of a hot list. */
void list_comments(uint64_t post, uint64_t parent, enum tidings_sort sort, struct ids *ids);
void list_hot(enum tidings_post_kind kind, struct ids *ids);
struct tidings_counts counts_of(enum tidings_target target,
                                uint64_t id); /* as an admin sees them */

/* The user has that name from now on; "" is none. And all pages of those whose names begin so. */
void set_name(uint64_t user, const char *name);
void list_named(const char *prefix, struct ids *ids);

/* One page; the cursor moves on. False at the end of the list. */
bool next_inbox_page(uint64_t viewer, enum tidings_filter filter, uint32_t limit,
                     struct tidings_cursor *cursor);

void assert_ids(const struct ids *found, const uint64_t *expected, size_t n);

#define ASSERT_INBOX(viewer, filter, ...)                                     \
    do {                                                                      \
        const uint64_t expected_[] = {__VA_ARGS__};                           \
        static struct ids found_;                                             \
        list_inbox((viewer), 0, (filter), &found_);                           \
        assert_ids(&found_, expected_, sizeof expected_ / sizeof *expected_); \
    } while (0)

#define ASSERT_HISTORY(viewer, ...)                                           \
    do {                                                                      \
        const uint64_t expected_[] = {__VA_ARGS__};                           \
        static struct ids found_;                                             \
        list_history((viewer), &found_);                                      \
        assert_ids(&found_, expected_, sizeof expected_ / sizeof *expected_); \
    } while (0)

#define ASSERT_COMMENTS(post, parent, sort, ...)                              \
    do {                                                                      \
        const uint64_t expected_[] = {__VA_ARGS__};                           \
        static struct ids found_;                                             \
        list_comments((post), (parent), (sort), &found_);                     \
        assert_ids(&found_, expected_, sizeof expected_ / sizeof *expected_); \
    } while (0)

#define ASSERT_HOT(kind, ...)                                                 \
    do {                                                                      \
        const uint64_t expected_[] = {__VA_ARGS__};                           \
        static struct ids found_;                                             \
        list_hot((kind), &found_);                                            \
        assert_ids(&found_, expected_, sizeof expected_ / sizeof *expected_); \
    } while (0)

#define ASSERT_NAMED(prefix, ...)                                             \
    do {                                                                      \
        const uint64_t expected_[] = {__VA_ARGS__};                           \
        static struct ids found_;                                             \
        list_named((prefix), &found_);                                        \
        assert_ids(&found_, expected_, sizeof expected_ / sizeof *expected_); \
    } while (0)

/* badge = sum over authors = number of unread items. */
void assert_adds_up(uint64_t viewer);

/* No differences. */
void assert_verifies(void);

#endif
