/* SPDX-License-Identifier: MIT */
/*
 * Tidings: the social engine of a content community, as a library.
 *
 * An operation is a plain struct, and so is its answer. Every operation runs in two steps:
 *
 *   1. tidings_submit() hands it to the engine, which calls `done` when a change is durable or has failed, and when what
 *      the answer needs is at hand: at once, or when a network has brought it.
 *   2. tidings_finish(), on a thread of the caller's choice, completes the answer, from one consistent snapshot that
 *      includes the change. It waits for nobody.
 *
 * tidings_run() does both and blocks; simple programs need nothing else.
 *
 * Ids are integers 1 ... 2^53-1; user ids are chosen by the host, all others are made here,
 * strictly increasing. Times are milliseconds since 1970 UTC. Text is UTF-8 without NUL.
 */
#ifndef TIDINGS_H
#define TIDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TIDINGS_API __attribute__((visibility("default")))
#else
#define TIDINGS_API
#endif

#define TIDINGS_ID_MAX ((UINT64_C(1) << 53) - 1)

/* ---- Errors -------------------------------------------------------------------------------- */

/*
 * name, stable code, text. An operation that fails has changed nothing, with two exceptions:
 * UNCERTAIN, where it may have or the answer could not be made, and DELETED, if the post was deleted
 * between the change and the answer.
 */
#define TIDINGS_ERRORS(X)                                                                    \
    X(OK, "ok", "done")                                                                      \
    X(INVALID, "invalid", "an argument is missing, malformed or out of range")               \
    X(NOT_FOUND, "not_found", "there is no such thing")                                      \
    X(DELETED, "deleted", "it has been deleted")                                             \
    X(FORBIDDEN, "forbidden", "the acting user may not do this")                             \
    X(FOLLOWING_LIMIT, "following_limit", "the user follows as many as one may")             \
    X(SUBSCRIPTION_LIMIT, "subscription_limit", "the user subscribes to as many as one may") \
    X(READING_LIMIT, "reading_limit", "the user keeps as many reading positions as one may") \
    X(STORY_LIMIT, "story_limit", "the story has as many scenes as one may have")            \
    X(WEBHOOK_LIMIT, "webhook_limit", "there are as many webhooks as there may be")          \
    X(RATE_LIMITED, "rate_limited", "too fast; try again later")                             \
    X(BUSY, "busy", "too many changes are waiting; try again later")                         \
    X(NO_SPACE, "no_space", "the storage is full; reading goes on")                          \
    X(IO, "io_error", "the storage failed")                                                  \
    X(CORRUPT, "corrupt", "the stored data is damaged; run verify")                          \
    X(LOCKED, "locked", "another process uses this data directory")                          \
    X(VERSION, "version", "the data was written by another version of the format")           \
    X(NO_MEMORY, "no_memory", "out of memory")                                               \
    X(KEY_REUSED, "key_reused", "this idempotency key was used for something else")          \
    X(UNCERTAIN, "uncertain", "whether the change was made is not known")                    \
    X(CLOSED, "closed", "the engine is shutting down")                                       \
    X(UNREACHABLE, "unreachable", "a part of the storage cannot be reached; try again")      \
    X(CLOCK, "clock", "the clock is far ahead; nothing is written until it comes back")      \
    X(TIMEOUT, "timeout", "it took too long and was given up; try again")                    \
    X(UNSUPPORTED, "unsupported", "this engine does not do that")                            \
    X(STANDBY, "standby", "this server follows another; changes are made there")

enum tidings_err {
#define X(name, code, text) TIDINGS_##name,
    TIDINGS_ERRORS(X)
#undef X
};

/* The stable code ("rate_limited") and the text of an error. Static strings. */
TIDINGS_API const char *tidings_err_code(enum tidings_err err);
TIDINGS_API const char *tidings_err_text(enum tidings_err err);

/* ---- Settings ------------------------------------------------------------------------------ */

/* name, default, least, most, what it is. One row is a field here, a flag, a variable and a line of
 * documentation elsewhere. */
#define TIDINGS_SETTINGS(X)                                                                   \
    X(follow_burst, 100, 1, 1000000, "follows, unfollows, changes of settings in one go")     \
    X(follow_refill_ms, 1000, 1, 86400000, "milliseconds until one of them is given back")    \
    X(following_max, 5000, 1, 1000000, "authors a user may follow")                           \
    X(name_max, 64, 1, 256, "characters in a profile name")                                   \
    X(avatar_max, 512, 1, 4096, "bytes in an avatar URL")                                     \
    X(title_max, 200, 1, 1000, "characters in a title")                                       \
    X(body_max, 65536, 1, 1048576, "bytes in a body")                                         \
    X(excerpt_max, 140, 0, 1000, "characters of the body shown in lists")                     \
    X(mark_max, 500, 1, 10000, "posts marked by id in one operation")                         \
    X(many_max, 1000, 1, 100000, "users whose badges are asked for in one operation")         \
    X(ids_max, 100, 1, 1000, "users or posts asked about in one operation otherwise")         \
    X(publish_burst, 60, 1, 1000000, "posts a user may publish in one go")                    \
    X(publish_refill_ms, 1000, 1, 86400000, "milliseconds until one is given back")           \
    X(react_burst, 600, 1, 1000000, "reactions set and removed a user may make in one go")    \
    X(react_refill_ms, 100, 1, 86400000, "milliseconds until one of them is given back")      \
    X(comment_burst, 60, 1, 1000000, "comments a user may write in one go")                   \
    X(comment_refill_ms, 1000, 1, 86400000, "milliseconds until one is given back")           \
    X(comment_max, 4000, 1, 100000, "characters in a comment")                                \
    X(fold_down, 3, 1, 1000000, "downvotes without which no comment folds")                   \
    X(fold_percent, 200, 0, 1000000, "downvotes per 100 likes, plus one, that fold")          \
    X(hot_like, 3, 0, 1000, "what a like adds to a post's heat")                              \
    X(hot_fav, 4, 0, 1000, "what a favourite adds to a post's heat")                          \
    X(hot_comment, 5, 0, 1000, "what a visible comment adds to a post's heat")                \
    X(hot_comment_like, 2, 0, 1000, "what a like adds to a comment's heat")                   \
    X(hot_comment_reply, 3, 0, 1000, "what a visible reply adds to a comment's heat")         \
    X(hot_comment_down, 4, 0, 1000, "what a downvote takes from a comment's heat")            \
    X(hot_half_life_hours, 0, 0, 87600, "hours in which a post's heat halves; 0: never")      \
    X(scenes_max, 10000, 1, 1000000, "scenes of a story")                                     \
    X(messages_max, 1000, 1, 10000, "messages of a scene")                                    \
    X(message_max, 4000, 1, 100000, "characters in a message")                                \
    X(reading_max, 10000, 1, 1000000, "stories a user's reading positions are kept of")       \
    X(subscriptions_max, 5000, 1, 1000000, "stories a user may subscribe to")                 \
    X(webhooks_max, 64, 1, 1000, "webhooks there may be")                                     \
    X(page_default, 20, 1, 1000, "rows on a page when no limit is given")                     \
    X(page_max, 100, 1, 1000, "rows on a page at most")                                       \
    X(event_days, 14, 1, 3650, "days an event is kept")                                       \
    X(read_events, 0, 0, 1, "1: reading, too, writes events")                                 \
    X(once_hours, 24, 1, 720, "hours an idempotency key is remembered")                       \
    X(deadline_ms, 10000, 100, 600000, "milliseconds until a change is given up (replicas)")  \
    X(queue_max, 4096, 1, 1000000, "changes waiting for the writer at most")                  \
    X(batch_max, 1024, 1, 100000, "changes made durable together at most")                    \
    X(readers_max, 126, 1, 4096, "reads under way at the same moment at most")                \
    X(read_ahead, 1, 0, 2, "reading ahead for changes: 0 never, 1 while they wait, 2 always") \
    X(recent_mb, 128, 0, 1048576, "MiB for the pairs of users who were here lately")          \
    X(map_mb, 262144, 16, 67108864, "largest size of the data file in MiB (address space)")   \
    X(log_segment_mb, 64, 1, 1024, "MiB of a segment of the redo log")                        \
    X(snapshot_log_mb, 256, 1, 1048576, "MiB of redo log after which a base image is made")   \
    X(log_days, 14, 1, 3650, "days back to which a backup can be restored")                   \
    X(image_mysql_mb, 20480, 0, 67108864, "MiB of the image kept in MySQL at most")           \
    X(log_mysql_hours, 24, 0, 8760, "hours that the log in MySQL is kept at least")

struct tidings_settings {
#define X(name, standard, least, most, text) uint64_t name;
    TIDINGS_SETTINGS(X)
#undef X
};

/*
 * When a change counts as done: when it is synced to the disk, or when the operating system has it
 * and it will be synced within a second or so. Either way a crash of the process loses nothing; the
 * second may lose the last second when the machine goes down.
 */
enum tidings_durability { TIDINGS_DURABLE_COMMIT, TIDINGS_DURABLE_SECOND };

/*
 * How far something long has got: told on the thread that does it, a few times a second, and with
 * done == total when it is through. `part` is a static text; done and total are rows (verify) or bytes;
 * the total is an estimate, but never less than what is done. Where `tell` is NULL nobody is told.
 */
struct tidings_progress {
    void (*tell)(void *ctx, const char *part, uint64_t done, uint64_t total);
    void *ctx;
};

struct tidings_options {
    const char *dir; /* the data directory, made if missing */
    /*
     * Where other servers may follow this one's log: HOST:PORT, port 0 for any; NULL: nobody may. They need the key,
     * 64 hexadecimal digits in a file: `peer.key` in the directory, made if missing, unless another is named.
     * With `mysql` servers of one log always listen for each other, by default at the address by which they reach MySQL and any
     * port, with a key that they share there. peer_address: where others reach it, if not where it listens.
     */
    const char *peer_listen, *peer_key_file, *peer_address;
    /*
     * The directory is a replica of the one at tidings://HOST:PORT, whose log it follows; filled from there if it is
     * empty. It answers what is asked, and changes nothing (STANDBY) until it is promoted. It needs the other one's key.
     */
    const char *follow;
    bool take_back; /* open the directory though another was promoted in its place */
    /*
     * The log of the directory is decided in this database of MySQL or MariaDB, and shared by any number of servers, each with a directory of its own; one
     * of them makes changes at a time. An empty directory becomes one of theirs; the first one's history begins the log. One that
     * cannot go on with the log is put aside inside the directory when it is opened, and joins anew.
     * mysql://user@host:3306/database, followed by ?tls=verify for TLS, with &ca=FILE to trust other certificates than the
     * system's; or, for a socket of localhost, by ?socket=/path. Special characters are percent-encoded.
     */
    const char *mysql;
    const char *mysql_password; /* NULL is none; it has no place in the URL */
    /* With mysql: reads are bounded unless they say otherwise. Without: exact. */
    bool bounded;
    struct tidings_settings settings;
    enum tidings_durability durability;
    struct tidings_progress progress; /* of a long recovery */
    /* Keep to the rules of folding and heat that are in force, whatever `settings` say of them: for a
     * tool that only looks. Otherwise opening with other rules judges and orders everything anew. */
    bool as_stored;
    bool importing; /* for tidings_import: an import that was interrupted may be in it */
    bool rebuild;   /* make the authors' lists anew from their posts, if they are damaged */
    bool remake;    /* make the data file anew from base image and log, whatever it looks like */
    /* The time in ms since 1970; NULL is the system's clock. Called from any thread. */
    int64_t (*clock)(void *ctx);
    /* Only together with a clock: how many ms have elapsed since the machine was started, whatever is done to its clock.
     * NULL: the clock is never set, and says that, too. */
    int64_t (*elapsed)(void *ctx);
    void *clock_ctx;
    /* Told when the clock has jumped by more than a minute; stopped: by so much that nothing is written until it comes
     * back. NULL: nobody is. Must be quick: it runs on the writer thread. */
    void (*clock_jumped)(void *ctx, int64_t by_ms, bool stopped);
    void *clock_jumped_ctx;
    /* Told when the stored data contradicts itself, or the log cannot be followed; NULL: nobody is. Must be
     * quick: it runs on a thread that changes or answers. The text is gone afterwards. */
    void (*fault)(void *ctx, const char *text);
    void *fault_ctx;
};

/* Defaults for all but `dir`. */
TIDINGS_API void tidings_options_init(struct tidings_options *options);

/* ---- Words shared by operations and answers ------------------------------------------------ */

/* Bytes with a length. In answers always followed by a NUL that `n` does not count. */
struct tidings_text {
    const char *p;
    size_t n;
};

/* Own data of those who use it, `extra` of posts and profiles: a JSON object of so many bytes at most, kept as it is. In
 * operations p NULL is none, or as it was. */
enum { TIDINGS_EXTRA_MAX = 4096 };

/* A post may be imported with a key, by which it is found again: so many bytes at most. */
enum { TIDINGS_KEY_MAX = 200 };

enum tidings_role { TIDINGS_ROLE_USER, TIDINGS_ROLE_SERVICE, TIDINGS_ROLE_ADMIN };

enum tidings_post_kind { TIDINGS_NOTE = 1, TIDINGS_ACTIVITY, TIDINGS_STORY };

enum tidings_filter { TIDINGS_ALL, TIDINGS_UNREAD, TIDINGS_READ };

enum tidings_reaction { TIDINGS_LIKE = 1, TIDINGS_FAV, TIDINGS_DOWNVOTE };

/* What a reaction is on. Posts take LIKE and FAV, comments LIKE and DOWNVOTE. */
enum tidings_target { TIDINGS_TARGET_POST = 1, TIDINGS_TARGET_COMMENT };

enum tidings_sort { TIDINGS_HOT, TIDINGS_NEW, TIDINGS_OLD };

enum tidings_comment_status {
    TIDINGS_COMMENT_VISIBLE = 1,
    TIDINGS_COMMENT_HIDDEN, /* folded by votes, or hidden by a moderator */
    TIDINGS_COMMENT_DELETED
};

/* Where a list goes on; {0, 0} is its beginning in an operation and its end in an answer. */
struct tidings_cursor {
    uint64_t a;
    uint64_t b;
};

/*
 * What was there when an answer was made, as `as_of`; given back as `up_to` it leaves alone what came later. Nobody but
 * the engine that made it knows what the numbers mean. All zeros: none.
 */
enum { TIDINGS_MOMENT_PARTS = 8 };
struct tidings_moment {
    uint64_t part[TIDINGS_MOMENT_PARTS];
};

/* What is to become of a target of events. */
enum tidings_wish {
    TIDINGS_WISH_REPLAY = 1,
    TIDINGS_WISH_RETRY,
    TIDINGS_WISH_REBUILD,
    TIDINGS_WISH_RECONCILE
};

struct tidings_page {
    uint32_t limit; /* 0: page_default */
    struct tidings_cursor after;
};

/* ---- Operations ---------------------------------------------------------------------------- */

/*
 * kind, the same in small letters, writes?, union member of its arguments, union member of its answer.
 *
 *   FOLLOW           changed, following, mutual
 *   UNFOLLOW         changed, following, purged; purge_inbox works also when not following any more
 *   PROFILE_SET      name and avatar, each only if its `p` is not NULL
 *   PUBLISH, EDIT    the post; EDIT changes what has a `p` that is not NULL. Publishing takes a token of a
 *                    bucket of its own
 *   DELETE           by the author or an admin
 *   OPEN             the post, and the viewer's unread counts: in all and of its author
 *   MARK_READ        post_ids; or up_to, with author_id or for all authors
 *   MARK_UNREAD      post_ids
 *   HISTORY_DELETE, HISTORY_CLEAR
 *   STATUS .. EVENTS read only
 *   REACT, UNREACT   sets or removes a reaction: changed, and the target's counts after
 *   COMMENT          a comment on a post, or a reply to one; the comment
 *   COMMENT_DELETE   by its author or an admin
 *   COMMENT_HIDE, COMMENT_RESTORE  admin only; stick, also where they change nothing; the comment
 *   SCENE_PUBLISH    a scene at the end of the viewer's own story: the scene
 *   SCENE_EDIT       title and messages, each only if its `p` or `messages` is not NULL. The list
 *                    given is the new one: an element with an id keeps that message's id
 *   SCENE_DELETE     by the story's author or an admin
 *   READING_SET      where the viewer stopped; scene_id 0 is entering the story without reading on
 *   READING_DELETE   one record; READING_CLEAR all, also those not seen yet
 *   SUBSCRIBE, UNSUBSCRIBE   changed, and how it is now
 *   PREFERENCES_SET  the viewer's settings; a change takes a token of the bucket of follows,
 *                    and one more for each hundred subscriptions
 *   NOTIFICATIONS_MARK  notification ids; or up_to
 *   WEBHOOK_SET      admin: makes or changes the webhook of that name; WEBHOOK_DELETE removes it. A
 *                    new one is told of what happens from now on; one that is changed tries at once, signs with its
 *                    old secret, too, for a day, and with other events counts what waits by these
 *   WEBHOOK_RETRY    admin: a webhook that waits tries at once; one that is dead goes back to the
 *                    first event given up since the last success, as far as the events are kept
 *   WEBHOOK_REPORT   service, admin: where delivery stands; used by whoever delivers. The position
 *                    never goes back, and what is given up counts only with a later position
 *   CONSUMER_SET     service, admin: makes the consumer of that name, '.' and a word, from the first event that is kept on;
 *                    one that is there goes back to that position, if it is further. With `fills` its target can be made anew
 *                    from what the engine answers: a row that is made, or loses events before they are told, wishes that. With
 *                    `rebuild` the position is the newest, and the wish is made (NOT_FOUND: no row; INVALID: it does not fill);
 *                    a WEBHOOK_REPORT with the wish's number as `rebuilt` ends it. A consumer has a row as a webhook has,
 *                    without URL and secret: `delivered` counts events that were told, `failed` those that were refused,
 *                    `dead` those that were removed before. WEBHOOK_REPORT moves it on
 *   TARGET_WISH      admin: what is to become of a target of events, which is a webhook or a consumer. NOT_FOUND: there is none of
 *                    that name. REPLAY has it told again behind an event, or since a time, as far as events are kept, and never
 *                    skips any. RETRY has its dead letters told once more, or, if it has taken nothing since the first of them,
 *                    goes back there. REBUILD and RECONCILE have what stands there made anew, or compared and mended; UNSUPPORTED
 *                    if the target cannot do that
 *   TICKET_SPEND     a ticket of the viewer's is used: once, and until its time is over. NOT_FOUND if it was used before,
 *                    its time is over, or is further ahead than TIDINGS_TICKET_MS; RATE_LIMITED if that would be
 *                    more than TIDINGS_TICKETS_MAX whose time is not over for TIDINGS_TICKET_MS yet
 *   UNREAD           unread counts by author, and their sum; with a user_id that author's alone: one row, or none if nothing of it
 *                    is unread and it is not followed
 *   BADGES           service, admin: the unread totals of many users, in the order asked, of one moment
 *   PROFILE_MANY, STATUS_MANY, COUNTERS_MANY, POST_MANY, STATS_MANY   what the single ones answer, of up to ids_max, in
 *                    the order asked, of one moment; for what does not exist or is deleted a row that says so
 *   POST_BY_KEY      what POST answers, of the post that was imported with this key
 *   PROFILE_SEARCH   profiles whose names begin so, without case, in the order of the names in small letters, then of ids. Names
 *                    are compared as far as their first 240 bytes. The next page has the last row's name in after_name, its
 *                    user id in page.after.a
 *   FANS_AMONG       which of the users given follow the author
 *   REACTORS         who liked (or faved) this, newest first, since when
 *   REACTED          what the viewer liked or faved, newest first
 *   COMMENTS         of a post: those with that parent, 0 is the top level
 *   STATS            a post's or a comment's counts and heat
 *   HOT              posts of a kind by heat, then newest
 *   SCENES           of a story, in order, without messages; SCENE one with them
 *   READING          latest first; or with `since` given what changed after that version
 *   SUBSCRIBERS      service, admin: who wants to be told about the story
 *   SUBSCRIBERS_AMONG  which of the users given want to be told about the story
 *   NOTIFICATIONS    notifications, newest first, and how many are unread
 *   LETTERS          service, admin: dead letters of a target of events
 *   WEBHOOKS         admin, and service, which delivers: all of them, and consumers, whose url is empty; WEBHOOK one, admin
 *   AUTHOR_PAGE      any author's posts for the viewer; unread means never read, delivered or not
 *   EVENTS           service and admin only; page.after.a is the event id to go on after
 */
#define TIDINGS_OPS(X)                                                     \
    X(FOLLOW, follow, 1, relation, relation)                               \
    X(UNFOLLOW, unfollow, 1, relation, relation)                           \
    X(PROFILE_SET, profile_set, 1, profile, profile)                       \
    X(PUBLISH, publish, 1, publish, post)                                  \
    X(EDIT, edit, 1, edit, post)                                           \
    X(DELETE, delete, 1, post, deleted)                                    \
    X(OPEN, open, 1, post, open)                                           \
    X(MARK_READ, mark_read, 1, mark, mark)                                 \
    X(MARK_UNREAD, mark_unread, 1, mark, mark)                             \
    X(HISTORY_DELETE, history_delete, 1, post, nothing)                    \
    X(HISTORY_CLEAR, history_clear, 1, nothing, nothing)                   \
    X(REACT, react, 1, react, reaction)                                    \
    X(UNREACT, unreact, 1, react, reaction)                                \
    X(COMMENT, comment, 1, comment, comment)                               \
    X(COMMENT_DELETE, comment_delete, 1, comment_id, nothing)              \
    X(COMMENT_HIDE, comment_hide, 1, comment_id, comment)                  \
    X(COMMENT_RESTORE, comment_restore, 1, comment_id, comment)            \
    X(SCENE_PUBLISH, scene_publish, 1, scene, scene)                       \
    X(SCENE_EDIT, scene_edit, 1, scene, scene)                             \
    X(SCENE_DELETE, scene_delete, 1, scene_id, deleted)                    \
    X(READING_SET, reading_set, 1, reading, reading)                       \
    X(READING_DELETE, reading_delete, 1, reading, nothing)                 \
    X(READING_CLEAR, reading_clear, 1, reading, nothing)                   \
    X(SUBSCRIBE, subscribe, 1, post, subscription)                         \
    X(UNSUBSCRIBE, unsubscribe, 1, post, subscription)                     \
    X(PREFERENCES_SET, preferences_set, 1, preferences, preferences)       \
    X(NOTIFICATIONS_MARK, notifications_mark, 1, mark, notifications_mark) \
    X(WEBHOOK_SET, webhook_set, 1, webhook, webhook)                       \
    X(WEBHOOK_DELETE, webhook_delete, 1, webhook, nothing)                 \
    X(WEBHOOK_RETRY, webhook_retry, 1, webhook, webhook)                   \
    X(WEBHOOK_REPORT, webhook_report, 1, webhook_report, nothing)          \
    X(CONSUMER_SET, consumer_set, 1, webhook_report, webhook)              \
    X(TARGET_WISH, target_wish, 1, wish, webhook)                          \
    X(TICKET_SPEND, ticket_spend, 1, ticket, nothing)                      \
    X(STATUS, status, 0, relation, status)                                 \
    X(FOLLOWING, following, 0, users, users)                               \
    X(FOLLOWERS, followers, 0, users, users)                               \
    X(STATUS_MANY, status_many, 0, many, status_many)                      \
    X(FANS_AMONG, fans_among, 0, among, among)                             \
    X(COUNTERS, counters, 0, user, counters)                               \
    X(COUNTERS_MANY, counters_many, 0, many, counters_many)                \
    X(PROFILE, profile, 0, user, profile)                                  \
    X(PROFILE_MANY, profile_many, 0, many, profile_many)                   \
    X(PROFILE_SEARCH, profile_search, 0, search, profile_search)           \
    X(POST, post, 0, post, post)                                           \
    X(POST_MANY, post_many, 0, posts, post_many)                           \
    X(POST_BY_KEY, post_by_key, 0, key, post)                              \
    X(AUTHOR_PAGE, author_page, 0, feed, feed)                             \
    X(INBOX, inbox, 0, feed, feed)                                         \
    X(BADGE, badge, 0, nothing, badge)                                     \
    X(BADGES, badges, 0, many, badges)                                     \
    X(UNREAD, unread, 0, user, unread)                                     \
    X(HISTORY, history, 0, page, history)                                  \
    X(REACTORS, reactors, 0, reactors, users)                              \
    X(REACTED, reacted, 0, reactors, reacted)                              \
    X(COMMENTS, comments, 0, comments, comments)                           \
    X(STATS, stats, 0, react, stats)                                       \
    X(STATS_MANY, stats_many, 0, posts, stats_many)                        \
    X(HOT, hot, 0, hot, hot)                                               \
    X(SCENES, scenes, 0, scenes, scenes)                                   \
    X(SCENE, scene, 0, scene_id, scene)                                    \
    X(READING, reading, 0, readings, readings)                             \
    X(SUBSCRIPTIONS, subscriptions, 0, page, subscriptions)                \
    X(SUBSCRIBERS, subscribers, 0, scenes, users)                          \
    X(SUBSCRIBERS_AMONG, subscribers_among, 0, among, among)               \
    X(PREFERENCES, preferences, 0, nothing, preferences)                   \
    X(NOTIFICATIONS, notifications, 0, page, notifications)                \
    X(WEBHOOKS, webhooks, 0, page, webhooks)                               \
    X(WEBHOOK, webhook, 0, webhook, webhook)                               \
    X(LETTERS, letters, 0, letters, letters)                               \
    X(EVENTS, events, 0, page, events)

enum tidings_op_kind {
#define X(name, lower, writes, args, answer) TIDINGS_OP_##name,
    TIDINGS_OPS(X)
#undef X
        TIDINGS_OP_COUNT
};

struct tidings_answer;

/*
 * For an operation that must happen once though it be asked for again: a key of the acting user's,
 * and a fingerprint of what is asked; its kind counts, too. The first time that the operation succeeds, its answer is kept, inside the same step as
 * the change. Within once_hours the same key changes nothing again and gives that answer, on any server: tidings_finish calls
 * `render`, which turns it into bytes, and answer.stored is a copy of them. With another fingerprint it is KEY_REUSED. What
 * fails is not remembered. A key of bytes 255 alone is the engine's own.
 */
struct tidings_once {
    uint8_t key[16];
    uint8_t fingerprint[16];
    /* False if memory is short: then the answer is UNCERTAIN. */
    bool (*render)(const struct tidings_once *once, const struct tidings_answer *answer,
                   struct tidings_text *bytes);
    void *ctx;
};

/* Something that is good for once: how far ahead the end of its time may be, and how many a user may use in so long. */
enum { TIDINGS_TICKET_BYTES = 16, TIDINGS_TICKET_MS = 60000, TIDINGS_TICKETS_MAX = 64 };

/* One message of a scene. In SCENE_PUBLISH and SCENE_EDIT an id of 0 makes a new one. */
struct tidings_message {
    uint64_t id;
    struct tidings_text text;
};

/* How new an answer is. A server that shares its log with others answers exactly unless `bounded` of its options says otherwise. */
enum tidings_freshness {
    TIDINGS_FRESHNESS_DEFAULT,
    TIDINGS_EXACT, /* it includes every change that was acknowledged anywhere before the operation was submitted */
    TIDINGS_BOUNDED, /* it is what this server has, and no older than `seen` */
};

/* Where an answer stands in the history that servers share; zeros: nowhere. */
struct tidings_seen {
    uint64_t era, position;
};

/* Everything an operation points to stays the caller's and must live until tidings_finish returns.
 */
struct tidings_op {
    enum tidings_op_kind kind;
    enum tidings_role role;
    uint64_t user_id;                /* the viewer: who acts */
    int64_t now_ms;                  /* when it happens; 0: now, by the engine's clock */
    const struct tidings_once *once; /* NULL: as often as it is asked for; only for what writes */
    enum tidings_freshness freshness;
    struct tidings_seen
        seen; /* nothing older than that; zeros: no matter. UNREACHABLE: not yet here */
    union {
        struct {
            uint64_t user_id;
            bool purge_inbox;
        } relation;
        struct {
            uint64_t user_id;
        } user;
        struct {
            uint64_t user_id;
            struct tidings_page page;
        } users;
        struct {
            uint64_t author_id; /* SUBSCRIBERS_AMONG: the story */
            bool delivered;     /* also those who only have posts of the author in their inbox */
            uint64_t
                item_id; /* 0, or a post (a scene): of those who follow, to whom it was delivered */
            const uint64_t *user_ids; /* ascending */
            size_t n_user_ids;
        } among;
        struct {
            const uint64_t *user_ids; /* in any order; ids_max at most, in BADGES many_max */
            size_t n_user_ids;
        } many;
        struct {
            struct tidings_text prefix; /* 1 ... 64 characters */
            struct tidings_text after_name;
            struct tidings_page page;
        } search;
        struct {
            const uint64_t *post_ids; /* in any order, ids_max at most */
            size_t n_post_ids;
        } posts;
        struct {
            struct tidings_text key; /* TIDINGS_KEY_MAX bytes at most */
        } key;
        struct {
            struct tidings_text name;
            struct tidings_text avatar;
            struct tidings_text extra; /* see TIDINGS_EXTRA_MAX */
        } profile;
        struct {
            enum tidings_post_kind kind;
            struct tidings_text title;
            struct tidings_text body;
            struct tidings_text extra;
        } publish;
        struct {
            uint64_t post_id;
            struct tidings_text title;
            struct tidings_text body;
            struct tidings_text extra;
        } edit;
        struct {
            uint64_t post_id;
        } post;
        struct {
            uint64_t author_id; /* INBOX: 0 is every author */
            enum tidings_filter filter;
            struct tidings_page page;
        } feed;
        struct {
            const uint64_t *post_ids;
            size_t n_post_ids;
            uint64_t author_id;
            struct tidings_moment up_to; /* an `as_of` of an earlier answer; zeros: none */
        } mark;
        struct {
            enum tidings_reaction reaction; /* not for STATS */
            enum tidings_target target;
            uint64_t id;
        } react;
        struct {
            enum tidings_reaction reaction;
            enum tidings_target target;
            uint64_t id; /* not for REACTED */
            struct tidings_page page;
        } reactors;
        struct {
            uint64_t post_id;
            uint64_t parent_id; /* 0: the post itself */
            struct tidings_text body;
        } comment;
        struct {
            uint64_t comment_id;
        } comment_id;
        struct {
            uint64_t post_id;
            uint64_t parent_id; /* 0: the top level */
            enum tidings_sort sort;
            bool include_hidden; /* hidden ones with their bodies */
            struct tidings_page page;
        } comments;
        struct {
            enum tidings_post_kind kind;
            struct tidings_page page;
        } hot;
        struct {
            uint64_t story_id; /* SCENE_PUBLISH */
            uint64_t scene_id; /* SCENE_EDIT */
            struct tidings_text title;
            const struct tidings_message *messages;
            size_t n_messages;
        } scene;
        struct {
            uint64_t scene_id;
        } scene_id;
        struct {
            uint64_t story_id;
            struct tidings_page page;
        } scenes;
        struct {
            uint64_t story_id;   /* not for READING_CLEAR */
            uint64_t scene_id;   /* READING_SET; 0: entered, not read on */
            uint64_t message_id; /* READING_SET; 0: none of the scene's messages yet */
            int64_t modified_at; /* the device's time; 0: now */
        } reading;
        struct {
            bool delta;     /* what changed after `since`, by version; otherwise the list by time */
            uint64_t since; /* a version of an earlier answer; 0: from the beginning */
            struct tidings_page page;
        } readings;
        struct {
            bool story_updates;
        } preferences;
        struct {
            struct tidings_text name;
            struct tidings_text url;    /* WEBHOOK_SET, like the following */
            struct tidings_text secret; /* p NULL: as it was */
            bool disabled;
            uint64_t events; /* bits of tidings_event_bits: what it is told of; 0: what has a tag */
        } webhook;
        struct {
            struct tidings_text name;
            uint64_t generation;   /* of the webhook as it was read; another one: NOT_FOUND */
            uint64_t position;     /* events up to it are delivered, given up or not for webhooks */
            uint32_t attempts;     /* failed ones for the next event */
            int64_t retry_at;      /* 0: at once */
            int64_t failing_since; /* the first failure after the last success; 0: none */
            int64_t waiting_since; /* when the next event happened, if it is known; 0: none waits */
            uint64_t delivered;    /* events delivered since the last report, ... */
            uint64_t failed;       /* ... calls that failed, ... */
            uint64_t dead;         /* ... and events given up */
            struct tidings_text last_error; /* p NULL: as it was */
            bool fills, rebuild;            /* CONSUMER_SET */
            uint64_t rebuilt;    /* WEBHOOK_REPORT: the wish that is fulfilled; another one stays */
            bool reconciles;     /* CONSUMER_SET: what stands at the target can be compared */
            uint64_t reconciled; /* WEBHOOK_REPORT: the wish that is fulfilled; another one stays */
            uint64_t
                dead_event; /* WEBHOOK_REPORT: refused for good: a dead letter; 0: none. It need not count in `dead` */
            struct tidings_text dead_reason; /* and why; p NULL: the last error */
            uint64_t
                settled; /* WEBHOOK_REPORT: the event of a dead letter that was told after all; 0: none */
        } webhook_report;
        struct {
            struct tidings_text name; /* of a webhook, or of a consumer, with its '.' */
            enum tidings_wish wish;
            uint64_t after;   /* REPLAY: behind that event, unless: */
            int64_t since_ms; /* what happened at that time or later; 0: `after` says it */
        } wish;
        struct {
            struct tidings_text name;
            bool again;     /* only those that are to be told again */
            uint64_t after; /* behind the letter of that event */
            uint32_t limit; /* 0: as for a page */
        } letters;
        struct {
            uint8_t name[TIDINGS_TICKET_BYTES]; /* made at random by whoever gave it out */
            int64_t until_ms; /* by elapsed time (tidings_elapsed): it is good until just before */
        } ticket;
        struct tidings_page page;
    } u;
};

/* ---- Answers ------------------------------------------------------------------------------- */

/* A post has likes, favs and comments; a comment likes, downs and replies. */
struct tidings_counts {
    uint64_t like_count;
    uint64_t fav_count;
    uint64_t comment_count;
    uint64_t down_count;
    uint64_t reply_count;
    int64_t hot_score; /* undecayed */
};

struct tidings_post {
    uint64_t id;
    uint64_t author_id;
    struct tidings_text author_name;
    enum tidings_post_kind kind;
    struct tidings_text title;
    struct tidings_text body;
    struct tidings_text extra; /* empty: none */
    int64_t created_at;
    int64_t edited_at; /* 0: never */
    struct tidings_text
        key; /* of POST, _MANY and _BY_KEY: that it was imported with; empty: none */
    struct tidings_counts counts;
    bool liked; /* by the viewer */
    bool faved;
};

struct tidings_status {
    bool following;
    bool followed_by;
    bool mutual;
};

struct tidings_counters {
    uint64_t following;
    uint64_t followers;
    uint64_t posts;
    uint64_t liked_posts;
    uint64_t faved_posts;
    uint64_t likes_received;
    uint64_t favs_received;
};

struct tidings_profile {
    uint64_t user_id;
    struct tidings_text name; /* empty, as the others are, if it was never set */
    struct tidings_text avatar;
    struct tidings_text extra;
};

struct tidings_target_stats {
    struct tidings_counts counts;
    double heat;    /* posts: hot_score, halved every half-life */
    int64_t age_ms; /* posts: the age that heat was reckoned with */
};

/* One of many posts asked about. err is OK; or NOT_FOUND or DELETED: then there is nothing but the id, and the key. */
struct tidings_post_row {
    enum tidings_err err;
    struct tidings_post post;
};

struct tidings_stats_row {
    enum tidings_err err;
    uint64_t post_id;
    struct tidings_target_stats stats;
};

/* One post in a list: of an inbox, or of an author's page. */
struct tidings_item {
    uint64_t post_id;
    uint64_t author_id;
    struct tidings_text author_name;
    enum tidings_post_kind kind;
    struct tidings_text title;
    struct tidings_text excerpt; /* empty if deleted */
    int64_t created_at;
    bool is_read;
    int64_t read_at; /* 0: not read */
    bool is_deleted;
};

struct tidings_user_row {
    uint64_t user_id;
    struct tidings_text name;
    struct tidings_text avatar;
    int64_t since;
};

struct tidings_unread_row {
    uint64_t user_id;
    struct tidings_text name;
    uint64_t unread;
    bool following;
};

struct tidings_history_row {
    uint64_t post_id;
    uint64_t author_id;
    struct tidings_text title;
    int64_t read_at;
    bool is_deleted;
};

struct tidings_comment {
    uint64_t id;
    uint64_t post_id;
    uint64_t parent_id;
    uint64_t user_id;
    struct tidings_text user_name;
    struct tidings_text body; /* empty if deleted, or hidden and not asked for */
    enum tidings_comment_status status;
    bool moderated; /* hidden or restored by a moderator: votes do not fold it */
    int64_t created_at;
    struct tidings_counts counts;
    bool liked; /* by the viewer */
    bool downvoted;
};

/* What the viewer reacted to. */
struct tidings_reacted_row {
    uint64_t id; /* of the post or comment */
    int64_t at;
    uint64_t post_id;
    uint64_t author_id;       /* of the post or comment */
    struct tidings_text text; /* a post's title; a comment's body, as far as anyone may see it */
    bool is_deleted;
};

struct tidings_hot_row {
    uint64_t post_id;
    uint64_t author_id;
    struct tidings_text author_name;
    struct tidings_text title;
    struct tidings_text excerpt;
    int64_t created_at;
    struct tidings_counts counts;
    double heat; /* what the list is ordered by: hot_score, halved every half-life */
};

/* In a list of scenes without messages, n_messages says how many there are. */
struct tidings_scene {
    uint64_t id;
    uint64_t story_id;
    uint64_t author_id;
    uint32_t number; /* its place among all the story's scenes, from 1; deleted ones keep theirs */
    struct tidings_text title;
    struct tidings_message *messages;
    size_t n_messages;
    int64_t created_at;
    int64_t edited_at; /* 0: never */
};

/* Where a reader stopped. Without scene_id the story was entered and not read on. */
struct tidings_reading {
    uint64_t story_id;
    struct tidings_text title;
    bool is_deleted; /* the story */
    uint64_t scene_id;
    uint64_t message_id;
    int64_t modified_at;
};

struct tidings_subscription_row {
    uint64_t story_id;
    uint64_t author_id;
    struct tidings_text title;
    int64_t since;
    bool is_deleted;
};

/* A notification: a scene was published. */
struct tidings_notification {
    uint64_t id; /* the scene's */
    uint64_t story_id;
    uint64_t author_id;
    struct tidings_text story_title;
    struct tidings_text scene_title;
    int64_t created_at;
    bool is_read;
};

enum tidings_webhook_state {
    TIDINGS_WEBHOOK_OK = 1,   /* the last call succeeded, or there was none */
    TIDINGS_WEBHOOK_RETRYING, /* it failed; the next event is tried again at retry_at */
    TIDINGS_WEBHOOK_DEAD,     /* and events were given up since the last success */
    TIDINGS_WEBHOOK_DISABLED
};

struct tidings_webhook {
    struct tidings_text name;
    struct tidings_text url;
    struct tidings_text secret;     /* in WEBHOOKS only, for whoever delivers, ... */
    struct tidings_text old_secret; /* ... like the one before, while it signs, too; n 0: none */
    int64_t old_secret_ms;          /* for so long from now on, by elapsed time */
    uint64_t events;                /* what it is told of; 0: what has a tag */
    enum tidings_webhook_state state;
    uint64_t generation;   /* changes with every WEBHOOK_SET and WEBHOOK_RETRY */
    uint64_t position;     /* events up to it are delivered, given up or not for webhooks */
    uint32_t attempts;     /* failed ones for the next event */
    int64_t retry_at;      /* 0: at once */
    int64_t failing_since; /* 0: nothing failed since the last success */
    int64_t waiting_since; /* when the oldest event happened that is known to wait; 0: none */
    uint64_t delivered;    /* events delivered, in all */
    uint64_t failed;       /* calls that failed, in all */
    uint64_t dead;         /* events given up, in all */
    struct tidings_text last_error;
    int64_t created_at;
    bool fills;       /* consumers: the target can be made anew, ... */
    uint64_t rebuild; /* ... and the number of the wish that it be; 0: there is none */
    bool reconciles;  /* the same of comparing what stands there */
    uint64_t reconcile;
    uint64_t letters;       /* dead letters that are kept, ... */
    uint64_t letters_again; /* ... of which so many are to be told again */
    uint64_t letters_lost;  /* and that were dropped for newer ones, in all */
};

/* Letters of a target: more are not kept. */
enum { TIDINGS_LETTERS_MAX = 1000 };

/* An event that a target has refused for good. */
struct tidings_letter {
    uint64_t event_id;
    int64_t happened_at;
    int64_t noted_at;
    bool again; /* it is to be told again */
    struct tidings_text reason;
};

/* type, name, action, what the target is */
#define TIDINGS_EVENTS(X)                                                 \
    X(FOLLOW_CREATED, "FollowCreated", "follow", "user")                  \
    X(FOLLOW_CANCELED, "FollowCanceled", "unfollow", "user")              \
    X(INBOX_PURGED, "InboxPurged", "purge", "user")                       \
    X(PROFILE_CHANGED, "ProfileChanged", "profile", "user")               \
    X(POST_PUBLISHED, "PostPublished", "publish", "post")                 \
    X(POST_EDITED, "PostEdited", "edit", "post")                          \
    X(POST_DELETED, "PostDeleted", "delete", "post")                      \
    X(POST_READ, "PostRead", "read", "post")                              \
    X(POST_UNREAD, "PostUnread", "unread", "post")                        \
    X(INBOX_READ, "InboxRead", "read", "user")                            \
    X(REACTION_CREATED, "ReactionCreated", "react", "post")               \
    X(REACTION_DELETED, "ReactionDeleted", "unreact", "post")             \
    X(VOTE_CREATED, "ReactionCreated", "react", "comment")                \
    X(VOTE_DELETED, "ReactionDeleted", "unreact", "comment")              \
    X(COMMENT_CREATED, "CommentCreated", "comment", "comment")            \
    X(COMMENT_HIDDEN, "CommentHidden", "hide", "comment")                 \
    X(COMMENT_RESTORED, "CommentRestored", "restore", "comment")          \
    X(COMMENT_DELETED, "CommentDeleted", "delete", "comment")             \
    X(SCENE_PUBLISHED, "ScenePublished", "publish", "scene")              \
    X(SCENE_EDITED, "SceneEdited", "edit", "scene")                       \
    X(SCENE_DELETED, "SceneDeleted", "delete", "scene")                   \
    X(SUBSCRIPTION_CREATED, "SubscriptionCreated", "subscribe", "post")   \
    X(SUBSCRIPTION_DELETED, "SubscriptionDeleted", "unsubscribe", "post") \
    X(PREFERENCES_CHANGED, "PreferencesChanged", "settings", "user")

/* The same for what is told to those who watch and never kept: see tidings_watch. */
#define TIDINGS_NEWS(X)                                        \
    X(STORY_CLOSED, "StoryClosed", "delete", "post")           \
    X(NOTIFICATIONS_READ, "NotificationsRead", "read", "user") \
    X(WEBHOOK_CHANGED, "WebhookChanged", "webhook", "webhook")

enum tidings_event_type {
    TIDINGS_EVENT_NONE,
#define X(type, name, action, target) TIDINGS_EVENT_##type,
    TIDINGS_EVENTS(X) TIDINGS_NEWS(X)
#undef X
};

struct tidings_event {
    uint64_t event_id;
    enum tidings_event_type type;
    int64_t happened_at;
    uint64_t actor_user_id;
    uint64_t target_id;
    uint64_t author_id; /* the post's author; 0 where the target is a user */
    int64_t delta;
    uint64_t post_id;               /* COMMENT_, VOTE_ and SCENE_: the post it belongs to */
    enum tidings_reaction reaction; /* REACTION_, VOTE_ */
    /* What never changes, and EVENTS alone tells: 0 for those who watch, or if there is none. */
    enum tidings_post_kind post_kind; /* of the post that it is about or belongs to */
    uint64_t parent_id;               /* COMMENT_: the comment that is answered */
};

/* What subscribers are told of carries a tag, "story:123"; those events are for webhooks. Writes it
 * with a NUL; false if the event has none. */
enum { TIDINGS_TAG_MAX = 32 };
TIDINGS_API bool tidings_event_tag(const struct tidings_event *event, char tag[TIDINGS_TAG_MAX]);

/* A bit for each type of events that are kept and have that name, "PostPublished"; 0: there is none. */
TIDINGS_API uint64_t tidings_event_bits(const char *name, size_t n);

/* What a webhook that was set with these events is told of: never 0; and whether that one is. */
TIDINGS_API uint64_t tidings_webhook_bits(uint64_t events);
TIDINGS_API bool tidings_webhook_wants(uint64_t events, const struct tidings_event *event);

TIDINGS_API const char *tidings_event_name(enum tidings_event_type type);
TIDINGS_API const char *tidings_event_action(enum tidings_event_type type);
TIDINGS_API const char *tidings_event_target(enum tidings_event_type type);

/* The bucket that an operation took a token of, or was refused by; a name, a static text, is there only if it asked one. */
struct tidings_limit {
    const char *name; /* "follow", "react", "comment" or "publish" */
    int64_t burst;
    int64_t refill_ms;
    int64_t left;    /* tokens */
    int64_t next_ms; /* until there is one more; 0: it is full */
};

/*
 * Filled in by tidings_finish. What it points to belongs to it and lives until the next
 * tidings_finish with it, or tidings_answer_release.
 */
struct tidings_answer {
    enum tidings_err err;
    const char *field;      /* INVALID: the argument at fault, as the HTTP API names it */
    int64_t retry_after_ms; /* RATE_LIMITED, BUSY */
    struct tidings_limit limit;
    struct tidings_seen
        seen; /* for `seen` of further operations, on any server; zeros on a lone server */
    int64_t
        age_ms; /* it has all that was acknowledged so long before it was asked for; 0: it is exact */
    struct tidings_text title; /* DELETED: the post's title, which survives */
    struct tidings_text
        stored; /* op->once: what render made of the first answer, and nothing else */
    union {
        struct {
            bool changed;
            bool following;
            bool mutual;
            uint64_t purged; /* items that left the inbox */
        } relation;
        struct tidings_status status;
        struct {
            struct tidings_status *rows; /* one for each user asked about, as in the following */
            size_t n;
        } status_many;
        struct {
            struct tidings_user_row *rows;
            size_t n;
            struct tidings_cursor next;
        } users;
        struct {
            uint64_t *user_ids; /* ascending */
            size_t n;
        } among;
        struct tidings_counters counters;
        struct {
            struct tidings_counters *rows;
            size_t n;
        } counters_many;
        struct tidings_profile profile;
        struct {
            struct tidings_profile *rows;
            size_t n;
        } profile_many;
        struct {
            struct tidings_profile *rows;
            size_t n;
            struct tidings_cursor next;
        } profile_search;
        struct tidings_post post;
        struct {
            struct tidings_post_row *rows;
            size_t n;
        } post_many;
        struct {
            uint64_t author_id;
            uint64_t
                story_id; /* of whose scenes some are gone: the scene's, or the story; else 0 */
        } deleted;
        struct {
            struct tidings_post post;
            uint64_t unread_total;
            uint64_t unread_author;
        } open;
        struct {
            struct tidings_item *rows;
            size_t n;
            struct tidings_cursor next;
            struct tidings_moment as_of;
            uint64_t total; /* AUTHOR_PAGE only */
        } feed;
        struct {
            uint64_t total;
            struct tidings_moment as_of;
        } badge;
        struct {
            uint64_t *totals; /* one for each user asked about */
            size_t n;
            struct tidings_moment as_of;
        } badges;
        struct {
            struct tidings_unread_row *rows; /* most unread first, then by user id */
            size_t n;
            uint64_t total;
            struct tidings_moment as_of;
        } unread;
        struct {
            uint64_t marked;
            uint64_t total;
        } mark;
        struct {
            struct tidings_history_row *rows;
            size_t n;
            struct tidings_cursor next;
        } history;
        struct {
            bool changed;
            struct tidings_counts counts;
        } reaction;
        struct {
            struct tidings_reacted_row *rows;
            size_t n;
            struct tidings_cursor next;
        } reacted;
        struct tidings_comment comment;
        struct {
            struct tidings_comment *rows;
            size_t n;
            struct tidings_cursor next;
        } comments;
        struct tidings_target_stats stats;
        struct {
            struct tidings_stats_row *rows;
            size_t n;
        } stats_many;
        struct {
            struct tidings_hot_row *rows;
            size_t n;
            struct tidings_cursor next;
        } hot;
        struct tidings_scene scene;
        struct {
            struct tidings_scene *rows; /* without messages */
            size_t n;
            struct tidings_cursor next;
        } scenes;
        struct {
            bool changed;
            struct tidings_reading record; /* as it is now; story_id 0: none */
        } reading;
        struct {
            struct tidings_reading *rows;
            size_t n;
            uint64_t *deleted; /* delta: stories whose record went */
            size_t n_deleted;
            struct tidings_cursor next; /* the list only */
            uint64_t version;           /* to be given as `since` */
            bool more;                  /* delta: ask again at once with that version */
        } readings;
        struct {
            bool changed;
            bool subscribed;
        } subscription;
        struct {
            struct tidings_subscription_row *rows;
            size_t n;
            struct tidings_cursor next;
        } subscriptions;
        struct {
            bool story_updates;
        } preferences;
        struct {
            struct tidings_notification *rows;
            size_t n;
            struct tidings_cursor next;
            uint64_t unread;
            struct tidings_moment as_of;
        } notifications;
        struct {
            uint64_t marked;
            uint64_t unread;
        } notifications_mark;
        struct tidings_webhook webhook;
        struct {
            struct tidings_webhook *rows; /* by name */
            size_t n;
            struct tidings_cursor next; /* always the end: there are webhooks_max at most */
            uint64_t newest;            /* event: how far a target can be */
        } webhooks;
        struct {
            struct tidings_letter *rows; /* by event */
            size_t n;
            uint64_t all, lost; /* letters that are kept, and that were dropped, in all */
            struct tidings_cursor next;
        } letters;
        struct {
            struct tidings_event *rows;
            size_t n;
            struct tidings_cursor next; /* where to ask again later; {0, 0} is from the beginning */
            uint64_t newest; /* no event that happens after this answer has an id up to that */
        } events;
    } u;
    void *memory; /* private */
};

TIDINGS_API void tidings_answer_init(struct tidings_answer *answer);
TIDINGS_API void tidings_answer_release(struct tidings_answer *answer);
/* The memory that it holds. */
TIDINGS_API size_t tidings_answer_bytes(const struct tidings_answer *answer);

/* ---- The engine ---------------------------------------------------------------------------- */

struct tidings;

/*
 * One operation under way. The caller sets op, answer (which is initialised), done, ctx and waited_ms; the rest is the engine's, and
 * so is the answer until tidings_finish has returned. The struct must stay in place until then.
 */
struct tidings_call {
    const struct tidings_op *op;
    struct tidings_answer *answer;
    void (*done)(struct tidings_call *call); /* on any thread, before or after submit returns */
    void *ctx;
    int64_t waited_ms; /* since it was asked for: so much of deadline_ms has gone by */

    struct tidings_call *next; /* private from here on */
    bool is_current;           /* a read: it has been made sure of that all is there */
    enum tidings_err err;      /* outcome of the change */
    int64_t until_ms;          /* it is given up then, by the monotonic clock */
    uint64_t origin, number;   /* of a change that another server has handed over; 0: none has */
};

/*
 * Opens the data directory for this process alone and starts the engine's threads. Any number of engines may be open in a
 * process, each on its own directory. On failure *message, if wanted, is a text with the detail that stays until the thread
 * opens again; for INVALID the name of the setting out of range, "dir" if it is missing, "follow" if there is `mysql`, too;
 * for a `mysql` that is no such URL what is wrong with it.
 *
 * It belongs to the process that opened it. In a child made by fork every call answers CLOSED, and closing only lets go of
 * it: what the parent has under way goes on there. A child that wants an engine opens one after the parent has closed its
 * own, or on another directory.
 */
TIDINGS_API enum tidings_err tidings_open(const struct tidings_options *options,
                                          struct tidings **engine, const char **message);

/* Thread-safe. `done` must be quick and must not block: it may run on the writer thread. */
TIDINGS_API void tidings_submit(struct tidings *engine, struct tidings_call *call);

/* Thread-safe; once per submitted call, after its `done`. Returns answer->err. */
TIDINGS_API enum tidings_err tidings_finish(struct tidings *engine, struct tidings_call *call);

/* submit, wait, finish. Thread-safe. Not from within a `done`. */
TIDINGS_API enum tidings_err tidings_run(struct tidings *engine, const struct tidings_op *op,
                                         struct tidings_answer *answer);

/*
 * Somebody who is told what happens: every event in the order of commits, after it is durable, those too that are never
 * kept (TIDINGS_NEWS, and reading without read_events), which have no event_id. On a server that follows what
 * others did is told when it is applied here. With n 0 more happened than can be told:
 * anything may have changed. `tell` runs on a thread of the engine, one at a time, must be quick and must not call the
 * engine. Nothing is told twice; what happened before tidings_watch, or is lost when the process ends, is not told at all.
 */
struct tidings_watcher {
    void (*tell)(struct tidings_watcher *watcher, const struct tidings_event *events, size_t n);
    struct tidings_watcher *next; /* private */
};

/* Thread-safe. The struct must stay in place until tidings_unwatch has returned; then nothing is told any more. */
TIDINGS_API void tidings_watch(struct tidings *engine, struct tidings_watcher *watcher);
TIDINGS_API void tidings_unwatch(struct tidings *engine, struct tidings_watcher *watcher);

/*
 * The next users behind that id, ascending, `max` at most: all of whom there is any row. Users that appear while somebody goes
 * through them are found if their ids lie behind. Thread-safe.
 */
TIDINGS_API enum tidings_err tidings_users(struct tidings *engine, uint64_t after, uint64_t *ids,
                                           size_t max, size_t *n);

/* What is left in the user's bucket of follows, as an operation that takes a token says it. As above. */
TIDINGS_API enum tidings_err tidings_follow_limit(struct tidings *engine, uint64_t user_id,
                                                  struct tidings_limit *limit);

/*
 * Completes what has been submitted, then closes; changes submitted meanwhile get CLOSED. When it
 * returns, nothing may be submitted or finished any more, nor be about to be. NULL is fine.
 */
TIDINGS_API void tidings_close(struct tidings *engine);

/*
 * Bytes that are the same on all servers of one log: for what one server gives out and another must understand.
 * They are those of the file seal.key in the first one's directory, or random ones. UNSUPPORTED on a directory without mysql:
 * whoever owns the directory can keep such bytes in a file. Thread-safe.
 */
enum { TIDINGS_SECRET_BYTES = 32 };
TIDINGS_API enum tidings_err tidings_secret(struct tidings *engine,
                                            uint8_t secret[TIDINGS_SECRET_BYTES]);

enum { TIDINGS_STATS_BUCKETS = 24 };

/* How the engine is doing. Histograms: bucket i counts values in [2^(i-1), 2^i), bucket 0 counts 0.
 */
struct tidings_stats {
    uint64_t waiting;      /* changes in the queue now */
    uint64_t changes;      /* completed since opening, refused ones too */
    uint64_t batches;      /* committed since opening */
    uint64_t failures;     /* batches that could not be committed */
    uint64_t refused_busy; /* changes refused because the queue was full */
    uint64_t faults;       /* changes refused because a count would have gone below zero */
    uint64_t commit_us;    /* time in commits, in all */
    uint64_t batch_size[TIDINGS_STATS_BUCKETS];
    uint64_t commit_time_us[TIDINGS_STATS_BUCKETS];
    uint64_t data_bytes; /* of the data file, free pages included */
    uint64_t log_bytes;  /* of the redo log that a recovery would replay */
    uint64_t snapshots;  /* base images made since opening */
    uint64_t snapshots_failed;
    /* Nothing can be written: the last change found no room, until one does; or until the next start, since the log has
     * failed or there was no room when it was opened. */
    bool read_only;
    uint64_t clock_jumps;  /* of more than a minute, since opening */
    int64_t clock_jump_ms; /* how far the last one went: ahead, or below 0 back */
    int64_t clock_jump_at; /* and when */
    bool clock_stopped;    /* it went more than a day ahead: CLOCK until it comes back */
    uint64_t newest_id;
};

/*
 * Milliseconds that have elapsed, whatever is done to clocks: for what holds for some time. Never less than before, also when it
 * is opened again; on a server that follows not less than at the newest change that it has. Thread-safe, and waits for nobody.
 */
TIDINGS_API int64_t tidings_elapsed(struct tidings *engine);

/* Thread-safe, and cheap. */
TIDINGS_API void tidings_stats(struct tidings *engine, struct tidings_stats *stats);

/* ---- Replicas: a directory and those that follow its log -------------------------------------- */

enum tidings_replica_role {
    TIDINGS_WRITER,   /* makes changes: every directory that follows none */
    TIDINGS_FOLLOWER, /* applies what another has done */
    TIDINGS_REPLACED, /* was the writer, and handed over to a follower that was promoted */
};

enum { TIDINGS_CHAIN_DIGITS = 32, TIDINGS_FOLLOWERS_MAX = 16 };

struct tidings_follower {
    char address[256]; /* where it can be asked; "": nowhere */
    uint64_t position; /* up to which it has applied the log */
};

/* A log in MySQL: what is kept of it there, and the image from which MySQL alone rebuilds everything. */
struct tidings_replica_log {
    uint64_t records, bytes;
    bool has_image;
    uint64_t image_position, image_bytes;
    int64_t image_at_ms; /* the time of the newest batch in it */
    char warning[256];   /* why MySQL alone cannot rebuild everything; "": it can, or soon */
};

/* A place in the history: two directories with the same chain at a position are the same up to there. */
struct tidings_replica {
    enum tidings_replica_role role;
    uint64_t position; /* the newest batch */
    char chain[TIDINGS_CHAIN_DIGITS + 1];
    /* Grows when a follower is promoted, or a failover of MySQL may have lost changes. */
    uint64_t era;
    unsigned peer_port; /* where it can be followed; 0: nowhere */
    size_t n_followers;
    struct tidings_follower followers[TIDINGS_FOLLOWERS_MAX];
    struct tidings_replica_log log; /* all zeros unless the log is in MySQL */
    /* What follows is a follower's. */
    char following[256];
    bool connected;
    bool broken;       /* it does not go on by itself: trouble says why */
    bool rejoin;       /* it must be closed and opened again, which joins the log anew */
    uint64_t end;      /* of the log that is followed, as far as is known */
    int64_t age_ms;    /* how long ago it was known to have all of it; -1: never yet */
    char trouble[256]; /* why it does not follow; "": it does */
    /* What follows is of a server on a log in MySQL, since it was opened. */
    bool on_mysql;
    bool diverged;       /* what it alone had is put aside in its directory, as diverged-POSITION */
    uint64_t takeovers;  /* how often it became the writer */
    uint64_t reappended; /* records that MySQL had lost, and that it appended again */
};

/*
 * A number of the time for which this server has made changes without a break; 0: it makes none now, or its lease is over. For
 * what only one of several servers may do, such as calling webhooks: ask right before doing it. Whoever finds another number than
 * before reads anew what is stored, since another server may have changed it meanwhile. Thread-safe, and waits for nobody.
 */
TIDINGS_API uint64_t tidings_term(struct tidings *engine);

/* Thread-safe, and cheap. */
TIDINGS_API enum tidings_err tidings_replica_status(struct tidings *engine,
                                                    struct tidings_replica *status);

/*
 * The follower that listens at tidings://HOST:PORT takes over: the server it follows hands over, if it can be reached, and
 * changes nothing any more; what that one alone has is lost otherwise. Fills in role, position, chain and era. INVALID, with a message: it follows
 * nobody, or does not have the key of the file. UNREACHABLE: it does not answer.
 */
TIDINGS_API enum tidings_err tidings_promote(const char *address, const char *key_file,
                                             struct tidings_replica *status, const char **message);

/* ---- The log in MySQL, for operators ----------------------------------------------------------- */

/* Of the options these functions look at `mysql` and `mysql_password`. On failure *message is as with tidings_open. NOT_FOUND: the
 * database has no log. */

/* Makes the tables that are missing, with no log in them; *has_log: there is one. May be run again. */
TIDINGS_API enum tidings_err tidings_log_init(const struct tidings_options *options, bool *has_log,
                                              const char **message);

enum { TIDINGS_LOG_REPLICAS_MAX = 64 };

struct tidings_log_replica {
    uint64_t id;
    char address[256];
    uint64_t position, era;
    uint64_t image_position; /* of its newest base image */
    int64_t silent_ms;       /* since it was seen, by MySQL's clock */
};

struct tidings_log {
    char version[64]; /* of the server of MySQL */
    uint64_t server_id, max_allowed_packet;
    const char *unfit; /* why no server would start on it; NULL: nothing is wrong. A static text */
    bool writable;     /* it is not read-only */
    int64_t clock_ms;  /* its clock */

    uint64_t writer_id; /* 0: nobody has made changes since the log began */
    char writer_address[256];
    uint64_t fence;
    int64_t lease_left_ms; /* 0 and less: nobody makes changes */
    bool ready;            /* the log was confirmed on this server of MySQL */
    uint64_t position, era;

    uint64_t kept_after; /* the log is kept behind that position */
    uint64_t records, bytes;
    int64_t first_ms, last_ms; /* times of the oldest and newest record kept; 0: there is none */

    uint64_t images; /* also those that are not done */
    bool has_image;  /* one can be had; what follows is of the newest */
    uint64_t image_position, image_era, image_bytes;
    int64_t image_ms; /* the time of the newest batch in it */

    size_t n_all_replicas; /* there are so many; the first of them are here */
    size_t n_replicas;
    struct tidings_log_replica replicas[TIDINGS_LOG_REPLICAS_MAX];
};

/* What stands in the tables; asks no server of the log. */
TIDINGS_API enum tidings_err tidings_log_look(const struct tidings_options *options,
                                              struct tidings_log *log, const char **message);

/* Whether the directory is what the log was at the position where the directory ends. */
enum tidings_log_shared {
    TIDINGS_LOG_SAME,
    TIDINGS_LOG_OTHER,   /* it has another history, or goes further than the log */
    TIDINGS_LOG_UNKNOWN, /* the log is not kept there any more */
};

/* Another history in the place of the log's. */
struct tidings_log_begin {
    /* Asked when the members before `position` are filled in, and before anything is changed; false: nothing is. */
    bool (*confirm)(void *ctx, const struct tidings_log_begin *begin);
    void *ctx;
    const char *dir;
    uint64_t dir_position; /* where the directory ends, and the time of its newest batch */
    int64_t dir_ms;
    enum tidings_log_shared shared;
    uint64_t log_position, log_era; /* where the log ends */
    uint64_t position, era;         /* where it begins now */
};

/*
 * The directory of options.dir becomes the history from now on, with a new era. Servers that have another one put theirs aside and
 * join anew. BUSY: a server makes changes; CLOSED: confirm said no; LOCKED: a process uses the directory; INVALID: the directory is
 * none, or is to join anew. Interrupted, it may be run again.
 */
TIDINGS_API enum tidings_err tidings_log_begin(const struct tidings_options *options,
                                               struct tidings_log_begin *begin,
                                               const char **message);

/*
 * Has a server of the log, the one that makes changes if it can be reached, run an operation of an operator's: WEBHOOKS, LETTERS or
 * TARGET_WISH. The answer is as from tidings_run; *message is set if no server answered (UNREACHABLE), or the tables say that there
 * is none, and is NULL otherwise.
 */
TIDINGS_API enum tidings_err tidings_log_operate(const struct tidings_options *options,
                                                 const struct tidings_op *op,
                                                 struct tidings_answer *answer,
                                                 const char **message);

enum { TIDINGS_VERIFY_KINDS_MAX = 16 };

/* Differences of one kind: of counters, of inboxes and so on. */
struct tidings_verify_kind {
    const char *name;
    uint64_t differences;
};

/* What verify found. */
struct tidings_verify {
    bool repair; /* in: mend what can be recomputed */
    /* in: first hold the data file against one made anew from base image and log, row by row. Where they differ, nothing
     * is mended: what is wrong with it must not get into the log. Opened with `remake` it is right again. */
    bool deep;
    FILE *report;                     /* in: a line for every difference; may be NULL */
    struct tidings_progress progress; /* in */
    uint64_t checked;
    uint64_t differences;
    uint64_t repaired;
    uint64_t spoiled; /* deep: rows of the data file that are not what base image and log say */
    size_t n_kinds;
    struct tidings_verify_kind kinds[TIDINGS_VERIFY_KINDS_MAX];
};

/* Recomputes every stored count and checks every index against its table, in both directions, with writing stopped
 * meanwhile. OK if it could look at everything, whatever it found. */
TIDINGS_API enum tidings_err tidings_verify(struct tidings *engine, struct tidings_verify *verify);

/* ---- Export and import ---------------------------------------------------------------------- */

/*
 * All facts of one moment, one JSON object a line: docs/FACTS.md. `write` is called with whole lines; false: it failed, and so
 * does the export, with IO.
 */
struct tidings_export {
    uint64_t user_id; /* in: only what this user did and wrote; 0: everything */
    bool (*write)(void *ctx, const char *lines, size_t n);
    void *ctx;
    struct tidings_progress progress; /* in rows */
    uint64_t facts;                   /* out */
};
TIDINGS_API enum tidings_err tidings_export(struct tidings *engine, struct tidings_export *out);

/* The settings that an engine goes by: with options.as_stored, the rules that are in force. */
TIDINGS_API enum tidings_err tidings_settings_of(struct tidings *engine,
                                                 struct tidings_settings *settings);

/*
 * Facts into an engine that has no data, or only what an import that was interrupted has brought there: it goes on with the same
 * input. An engine in that state is opened only with options.importing, until an import has ended.
 */
struct tidings_import {
    /* Up to `room` bytes of the input; 0: its end; below 0: it failed. */
    ptrdiff_t (*read)(void *ctx, char *to, size_t room);
    /* A line that is not taken, and why; the field may be NULL. Both may be NULL. */
    void (*refused)(void *ctx, uint64_t line, const char *field, const char *reason);
    bool (*stop)(void *ctx); /* asked between batches; true: it is to be interrupted */
    void *ctx;
    const char *temp; /* directory for what is sorted; NULL: TMPDIR, or /tmp */
    uint64_t
        resumed; /* out: lines that an import before had taken, known when `refused` is first called */
    uint64_t taken;    /* out, with those of before: facts that are there now, ... */
    uint64_t repeated; /* ... that said nothing new, ... */
    uint64_t rejected; /* ... and lines that were refused */
    bool stopped;      /* out: it was interrupted */
};
TIDINGS_API enum tidings_err tidings_import(struct tidings *engine, struct tidings_import *in,
                                            const char **message);

/* ---- Backup, restore, and what the log says ------------------------------------------------- */

/*
 * A backup is a directory with the newest base image and the log behind it: all that a data directory
 * needs, and it can be opened as one. Everything acknowledged before the call is in it. The directory
 * must be new or empty, and is locked until it is filled: LOCKED if a process uses it.
 */
struct tidings_backup {
    const char *dest;
    struct tidings_progress progress;
    uint64_t bytes;  /* out: copied */
    uint64_t batch;  /* out: the newest in it */
    int64_t time_ms; /* out: and its time */
};

/* Of an engine that is open, by any thread, while it goes on; or of a data directory, whether a
 * process uses it or not. On failure *message is a text, as for tidings_open. */
TIDINGS_API enum tidings_err tidings_backup(struct tidings *engine, struct tidings_backup *backup,
                                            const char **message);
TIDINGS_API enum tidings_err tidings_backup_dir(const char *dir, struct tidings_backup *backup,
                                                const char **message);

/* Makes a data directory out of a backup, or of another data directory, which a process may be using, as it
 * was at a moment. LOCKED if a process uses the new one. */
struct tidings_restore {
    const char *from;
    const char *dir;  /* new or empty */
    int64_t until_ms; /* what was acknowledged by then, and nothing begun later; 0: everything */
    bool salvage;     /* if the log is damaged or its end missing, take what there is */
    struct tidings_progress progress;
    uint64_t batch;  /* out: the newest in it */
    int64_t time_ms; /* out: and its time */
    char lost[256];  /* out, with salvage: why there is not more; empty if there is all */
};
TIDINGS_API enum tidings_err tidings_restore(struct tidings_restore *restore, const char **message);

/* Prints the log of a data directory or a backup: a line for every batch behind `after`, with its
 * events, and with `rows` a line for every row changed. */
TIDINGS_API enum tidings_err tidings_print_log(const char *dir, uint64_t after, bool rows, FILE *to,
                                               const char **message);

/* ---- Text ---------------------------------------------------------------------------------- */

/* A piece of a body: text, or the address of a picture written as [img]address[/img], a URL of http or https: others are text. */
struct tidings_part {
    bool is_image;
    struct tidings_text text;
};

/*
 * Reads the next piece of *rest into *part and moves *rest behind it; false at the end. An opening
 * tag pairs with the next closing tag; one that is followed by another opening tag first, has no
 * closing tag, or encloses nothing is plain text. The pieces point into the text given.
 */
TIDINGS_API bool tidings_next_part(struct tidings_text *rest, struct tidings_part *part);

/* What a deleted post says in place of its body. */
TIDINGS_API const char *tidings_deleted_notice(bool chinese);

#ifdef __cplusplus
}
#endif
#endif
