/* SPDX-License-Identifier: MIT */
/*
 * Every key of every table, packed so that LMDB's byte order is the order wanted. docs/FORMAT.md is
 * the same list in prose.
 */
#ifndef LOCAL_KEYS_H
#define LOCAL_KEYS_H

#include "base/bytes.h"
#include "domain/name.h"
#include "engine/local/storage/kv.h"
#include "engine/records/records.h"

/* Rows of one user in TABLE_USER, by the byte behind the user id. */
enum user_row {
    ROW_HISTORY = 'h', /* + ~stamp, ~post of the oldest in the block: newest first */
    ROW_INBOX = 'p',   /* + author: pair with delivered posts */
    ROW_OUTSIDE = 'q', /* + author: pair without, where something was read all the same */
    ROW_READMAP = 'r', /* + author, chunk: 64 posts' read state */
    ROW_USER = 'u',    /* counters and the like */
    ROW_REACTED = 'v', /* + target and reaction, ~stamp: what the user reacted to, newest first */
    ROW_VOTE = 'w',    /* + ~target: the reactions to it */

    ROW_LATEST = 'L',           /* + ~time, ~story: reading positions, latest first */
    ROW_NOTIFICATION_MAP = 'M', /* + story, chunk: 64 scenes' read state */
    ROW_NOTIFICATIONS = 'N',    /* + story: pair with a subscription, or scenes delivered */
    ROW_POSITION = 'P',         /* + story: where the reader stopped */
    ROW_SHELF = 'S',            /* counters and the like of what has to do with stories */
    ROW_CHANGED = 'V',          /* + version, story: reading positions in the order of changing */
};

/* Rows of one author in TABLE_AUTHOR; the same of a story's scenes in TABLE_STORY. */
enum author_row {
    ROW_DELETED = 'd', /* + chunk: numbers of deleted posts, in the order of deleting */
    ROW_POSTS = 's',   /* + chunk: ids of the posts numbered chunk * 64 ... */
};

/* Rows of one post or comment in TABLE_TARGET. What a like changes lies together, in front. */
enum target_row {
    ROW_BODY = 'b',    /* of a comment */
    ROW_COMMENT = 'c', /* its record */
    ROW_COUNTS = 'k',  /* of a post */
    ROW_REACTOR = 'l', /* + reaction, ~stamp: who, newest first */
    ROW_HOT = 'p',     /* + ~heat, ~comment: comments directly on it, hottest first */
    ROW_REPLY = 'r',   /* + comment: the same, oldest first */
};

/* Rows of one scene in TABLE_SCENE, behind the scene id. The scene's record has the id alone. */
enum scene_row {
    ROW_GIVEN = 'g',    /* + id: that many message ids were given out from there on */
    ROW_MESSAGES = 'm', /* its messages */
};

/* Rows of TABLE_KEY beside those of enum key_kind and of posts. No id begins with such a byte. */
enum key_row {
    ROW_TIME = 't', /* + id: its time, in ms since 1970 */
};

#define ID_MASK ((UINT64_C(1) << (ID_BYTES * 8)) - 1)

static inline void key_add_byte(struct key *key, uint8_t byte)
{
    key->bytes[key->n++] = byte;
}

static inline void key_add_id(struct key *key, uint64_t id)
{
    put_id(key->bytes + key->n, id);
    key->n += ID_BYTES;
}

/* So that greater ids come first. */
static inline void key_add_id_descending(struct key *key, uint64_t id)
{
    key_add_id(key, ~id & ID_MASK);
}

static inline uint64_t get_id_descending(const uint8_t *from)
{
    return ~get_id(from) & ID_MASK;
}

static inline void key_add_u32(struct key *key, uint32_t value)
{
    put_u32(key->bytes + key->n, value);
    key->n += 4;
}

/* TABLE_PROFILE, TABLE_POST, TABLE_BODY, TABLE_EVENT, TABLE_TODO, TABLE_SCENE, TABLE_UNSWEPT; and
 * the prefix of one user's, author's or story's rows. */
static inline struct key key_id(uint64_t id)
{
    struct key key = {.n = 0};
    key_add_id(&key, id);
    return key;
}

static inline struct key key_row(uint64_t user, uint8_t row)
{
    struct key key = key_id(user);
    key_add_byte(&key, row);
    return key;
}

static inline struct key key_pair(uint64_t fan, enum user_row row, uint64_t author)
{
    struct key key = key_row(fan, row);
    key_add_id(&key, author);
    return key;
}

/* A chunk of 64 posts in those rows of the reader's. */
static inline struct key key_map(uint64_t reader, enum user_row row, uint64_t author,
                                 uint32_t chunk)
{
    struct key key = key_pair(reader, row, author);
    key_add_u32(&key, chunk);
    return key;
}

static inline struct key key_readmap(uint64_t reader, uint64_t author, uint32_t chunk)
{
    return key_map(reader, ROW_READMAP, author, chunk);
}

static inline struct key key_history(uint64_t reader, uint64_t stamp, uint64_t post)
{
    struct key key = key_row(reader, ROW_HISTORY);
    key_add_id_descending(&key, stamp);
    key_add_id_descending(&key, post);
    return key;
}

static inline struct key key_author(uint64_t author, enum author_row row, uint32_t chunk)
{
    struct key key = key_row(author, row);
    key_add_u32(&key, chunk);
    return key;
}

static inline struct key key_follower(uint64_t author, uint64_t rank)
{
    struct key key = key_id(author);
    key_add_id_descending(&key, rank);
    return key;
}

static inline struct key key_vote(uint64_t user, uint64_t target)
{
    struct key key = key_row(user, ROW_VOTE);
    key_add_id_descending(&key, target);
    return key;
}

/* The list of what a user reacted to in that way. */
static inline struct key key_reacted_list(uint64_t user, enum tidings_target target,
                                          enum tidings_reaction reaction)
{
    struct key key = key_row(user, ROW_REACTED);
    key_add_byte(&key, (uint8_t)(target << 4 | reaction));
    return key;
}

static inline struct key key_reacted(uint64_t user, enum tidings_target target,
                                     enum tidings_reaction reaction, uint64_t stamp)
{
    struct key key = key_reacted_list(user, target, reaction);
    key_add_id_descending(&key, stamp);
    return key;
}

/* The list of those who reacted to it in that way. */
static inline struct key key_reactor_list(uint64_t target, enum tidings_reaction reaction)
{
    struct key key = key_row(target, ROW_REACTOR);
    key_add_byte(&key, (uint8_t)reaction);
    return key;
}

static inline struct key key_reactor(uint64_t target, enum tidings_reaction reaction,
                                     uint64_t stamp)
{
    struct key key = key_reactor_list(target, reaction);
    key_add_id_descending(&key, stamp);
    return key;
}

static inline struct key key_reply(uint64_t parent, uint64_t comment)
{
    struct key key = key_row(parent, ROW_REPLY);
    key_add_id(&key, comment);
    return key;
}

static inline struct key key_hot_reply(uint64_t parent, uint64_t heat, uint64_t comment)
{
    struct key key = key_row(parent, ROW_HOT);
    key_add_id_descending(&key, heat);
    key_add_id_descending(&key, comment);
    return key;
}

/* TABLE_HOT: the list of one kind of posts. */
static inline struct key key_hot_list(enum tidings_post_kind kind)
{
    struct key key = {.n = 0};
    key_add_byte(&key, (uint8_t)kind);
    return key;
}

static inline struct key key_hot(enum tidings_post_kind kind, uint64_t heat, uint64_t post)
{
    struct key key = key_hot_list(kind);
    key_add_id_descending(&key, heat);
    key_add_id_descending(&key, post);
    return key;
}

static inline struct key key_latest(uint64_t reader, uint64_t time_ms, uint64_t story)
{
    struct key key = key_row(reader, ROW_LATEST);
    key_add_id_descending(&key, time_ms);
    key_add_id_descending(&key, story);
    return key;
}

static inline struct key key_changed(uint64_t reader, uint64_t version, uint64_t story)
{
    struct key key = key_row(reader, ROW_CHANGED);
    key_add_id(&key, version);
    key_add_id(&key, story);
    return key;
}

static inline struct key key_given(uint64_t scene, uint64_t first)
{
    struct key key = key_row(scene, ROW_GIVEN);
    key_add_id(&key, first);
    return key;
}

/* An idempotency key. */
static inline struct key key_once(uint64_t user, const uint8_t key_bytes[ONCE_BYTES])
{
    struct key key = key_id(user);
    memcpy(key.bytes + key.n, key_bytes, ONCE_BYTES);
    key.n += ONCE_BYTES;
    return key;
}

/* check.c bounds the name. */
static inline struct key key_webhook(struct tidings_text name)
{
    struct key key = {.n = (uint8_t)name.n};
    memcpy(key.bytes, name.p, name.n);
    return key;
}

/* TABLE_LETTER: the stamp of the target's row, and the event; 0: what its letters have in common. */
static inline struct key key_letter(uint64_t target, uint64_t event)
{
    struct key key = key_id(target);
    key_add_id(&key, event);
    return key;
}

/* TABLE_NAME: the folded name, a byte 0, which no name has, and the user. A name that begins another comes before it. */
struct name_key {
    uint8_t n;
    uint8_t bytes[NAME_FOLDED_MAX + 1 + ID_BYTES];
};

static inline void name_key_end(struct name_key *key, uint64_t user)
{
    key->bytes[key->n++] = 0;
    put_id(key->bytes + key->n, user);
    key->n += ID_BYTES;
}

static inline struct bytes name_key_bytes(const struct name_key *key)
{
    return (struct bytes){key->bytes, key->n};
}

static inline struct key key_meta(const char *name)
{
    struct key key = {.n = 0};
    while (*name)
        key_add_byte(&key, (uint8_t)*name++);
    return key;
}

static inline bool key_has_prefix(struct bytes key, const struct key *prefix)
{
    enum { ROW_PREFIX = ID_BYTES + 1 };
    /* The prefix of most scans, and with a constant length the comparison is one instruction. */
    if (prefix->n == ROW_PREFIX)
        return key.n >= ROW_PREFIX && !memcmp(key.p, prefix->bytes, ROW_PREFIX);
    return key.n >= prefix->n && !memcmp(key.p, prefix->bytes, prefix->n);
}

#endif
