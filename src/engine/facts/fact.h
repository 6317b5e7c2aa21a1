/* SPDX-License-Identifier: MIT */
/*
 * Facts: what people did and wrote, one JSON object a line, as `tidings export` writes and `tidings import` takes them. One table
 * says which types there are and which fields each has; writing and reading lines follow it. docs/FACTS.md says what they mean.
 *
 *     fact.c      the tables; a fact as a line
 *     line.c      a line as a fact: any bytes are taken, and refused with a reason
 *     tell.c      what rows of any engine say, as facts
 *     apply.c     what a fact changes, over the rows of any engine
 *     sort.c      more records than memory holds, in order
 *     others.c    facts without ids, in any order: given ids, put into the order in which they are applied
 *     import.c    all of it together, in batches
 */
#ifndef FACTS_FACT_H
#define FACTS_FACT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "tidings.h"

enum { FACTS_VERSION = 1 };

/* ---- Fields --------------------------------------------------------------------------------- */

/* From a post to another, both delivered. */
struct fact_range {
    uint64_t first;
    uint64_t last; /* 0: and all that follow */
};

struct fact_ranges {
    struct fact_range *at;
    size_t n;
};

struct fact_ids {
    uint64_t *at;
    size_t n;
};

struct fact_messages {
    struct tidings_message *at; /* id 0: none was given */
    size_t n;
};

/* member and name; kind; C type. The first two kinds are numbers: 1 ... 2^53-1, and 0 ... 2^53-1. */
#define FACT_FIELDS(X)                          \
    X(version, ID, uint64_t)                    \
    X(facts, NUMBER, uint64_t)                  \
    X(newest, ID, uint64_t)                     \
    X(id, ID, uint64_t)                         \
    X(at, NUMBER, uint64_t)                     \
    X(user_id, ID, uint64_t)                    \
    X(author_id, ID, uint64_t)                  \
    X(post_id, ID, uint64_t)                    \
    X(post_key, TEXT, struct bytes)             \
    X(comment_id, ID, uint64_t)                 \
    X(comment_key, TEXT, struct bytes)          \
    X(story_id, ID, uint64_t)                   \
    X(story_key, TEXT, struct bytes)            \
    X(scene_id, ID, uint64_t)                   \
    X(parent_id, ID, uint64_t)                  \
    X(parent_key, TEXT, struct bytes)           \
    X(message_id, ID, uint64_t)                 \
    X(key, TEXT, struct bytes)                  \
    X(kind, KIND, int)                          \
    X(name, TEXT, struct bytes)                 \
    X(avatar, TEXT, struct bytes)               \
    X(title, TEXT, struct bytes)                \
    X(body, TEXT, struct bytes)                 \
    X(excerpt, TEXT, struct bytes)              \
    X(extra, OBJECT, struct bytes)              \
    X(edited_id, ID, uint64_t)                  \
    X(edited_at, NUMBER, uint64_t)              \
    X(deleted_id, ID, uint64_t)                 \
    X(deleted_at, NUMBER, uint64_t)             \
    X(messages, MESSAGES, struct fact_messages) \
    X(message_ids, IDS, struct fact_ids)        \
    X(status, STATUS, int)                      \
    X(moderated, BOOL, bool)                    \
    X(delivered, RANGES, struct fact_ranges)    \
    X(reaction, REACTION, int)                  \
    X(history, BOOL, bool)                      \
    X(read_at, NUMBER, uint64_t)                \
    X(entered_at, NUMBER, uint64_t)             \
    X(erased_at, NUMBER, uint64_t)              \
    X(first_id, ID, uint64_t)                   \
    X(changed_id, ID, uint64_t)                 \
    X(story_updates, BOOL, bool)                \
    X(cleared_at, NUMBER, uint64_t)             \
    X(url, TEXT, struct bytes)                  \
    X(secret, TEXT, struct bytes)               \
    X(events, EVENTS, uint64_t)                 \
    X(enabled, BOOL, bool)

enum fact_field {
#define X(name, kind, type) FIELD_##name,
    FACT_FIELDS(X)
#undef X
        FACT_FIELD_COUNT
};

#define HAS(name) (UINT64_C(1) << FIELD_##name)

/* ---- Types ---------------------------------------------------------------------------------- */

/*
 * type, its name, fields that it may have, and must: of its own kind with ids, and of others without. In the order in which they
 * are written and applied: what a fact refers to comes before it.
 */
#define FACT_TYPES(X)                                                                              \
    X(TIDINGS, "tidings", HAS(version) | HAS(newest) | HAS(user_id), HAS(version), 0)              \
    X(USER, "user", HAS(user_id) | HAS(name) | HAS(avatar) | HAS(extra), HAS(user_id),             \
      HAS(user_id))                                                                                \
    X(POST, "post",                                                                                \
      STAMPED | HAS(author_id) | HAS(key) | HAS(kind) | HAS(title) | HAS(body) | HAS(excerpt) |    \
          HAS(extra) | CHANGED,                                                                    \
      HAS(id) | HAS(author_id) | HAS(title), HAS(at) | HAS(author_id) | HAS(title))                \
    X(SCENE, "scene",                                                                              \
      STAMPED | HAS(story_id) | HAS(story_key) | HAS(title) | HAS(messages) | HAS(message_ids) |   \
          CHANGED,                                                                                 \
      HAS(id) | HAS(story_id) | HAS(title), HAS(at) | HAS(story_key) | HAS(title))                 \
    X(COMMENT, "comment",                                                                          \
      STAMPED | HAS(user_id) | HAS(post_id) | HAS(post_key) | HAS(key) | HAS(parent_id) |          \
          HAS(parent_key) | HAS(body) | HAS(status) | HAS(moderated),                              \
      HAS(id) | HAS(user_id) | HAS(post_id), HAS(at) | HAS(user_id) | HAS(post_key))               \
    X(PREFERENCES, "preferences", HAS(user_id) | HAS(story_updates) | HAS(cleared_at),             \
      HAS(user_id), HAS(user_id))                                                                  \
    X(FOLLOW, "follow", STAMPED | HAS(user_id) | HAS(author_id) | HAS(delivered),                  \
      HAS(user_id) | HAS(author_id) | HAS(delivered), HAS(at) | HAS(user_id) | HAS(author_id))     \
    X(UNFOLLOW, "unfollow", HAS(at) | HAS(user_id) | HAS(author_id), NEVER,                        \
      HAS(at) | HAS(user_id) | HAS(author_id))                                                     \
    X(READ, "read", STAMPED | HAS(user_id) | HAS(post_id) | HAS(post_key) | HAS(history),          \
      HAS(id) | HAS(user_id) | HAS(post_id), HAS(at) | HAS(user_id) | HAS(post_key))               \
    X(HISTORY, "history", STAMPED | HAS(user_id) | HAS(post_id),                                   \
      HAS(id) | HAS(user_id) | HAS(post_id), NEVER)                                                \
    X(REACTION, "reaction",                                                                        \
      STAMPED | HAS(user_id) | HAS(post_id) | HAS(post_key) | HAS(comment_id) | HAS(comment_key) | \
          HAS(reaction),                                                                           \
      HAS(id) | HAS(user_id) | HAS(reaction), HAS(at) | HAS(user_id) | HAS(reaction))              \
    X(SUBSCRIPTION, "subscription",                                                                \
      STAMPED | HAS(user_id) | HAS(story_id) | HAS(story_key) | HAS(delivered),                    \
      HAS(user_id) | HAS(story_id) | HAS(delivered), HAS(at) | HAS(user_id) | HAS(story_key))      \
    X(NOTIFIED, "notification_read", STAMPED | HAS(user_id) | HAS(scene_id),                       \
      HAS(id) | HAS(user_id) | HAS(scene_id), NEVER)                                               \
    X(POSITION, "position",                                                                        \
      HAS(user_id) | HAS(story_id) | HAS(read_at) | HAS(scene_id) | HAS(message_id) |              \
          HAS(entered_at) | HAS(erased_at) | HAS(first_id) | HAS(changed_id),                      \
      HAS(user_id) | HAS(story_id), NEVER)                                                         \
    X(WEBHOOK, "webhook",                                                                          \
      STAMPED | HAS(name) | HAS(url) | HAS(secret) | HAS(events) | HAS(enabled),                   \
      HAS(id) | HAS(name) | HAS(url) | HAS(secret), HAS(at) | HAS(name) | HAS(url) | HAS(secret))  \
    X(END, "end", HAS(facts), HAS(facts), 0)

#define STAMPED (HAS(id) | HAS(at))
#define CHANGED (HAS(edited_id) | HAS(edited_at) | HAS(deleted_id) | HAS(deleted_at))
#define NEVER   UINT64_MAX /* such a fact is not taken */

enum fact_type {
#define X(type, name, may, must, others) FACT_##type,
    FACT_TYPES(X)
#undef X
        FACT_TYPE_COUNT
};

struct fact {
    enum fact_type type;
    uint64_t line; /* where it was read */
    uint64_t has;  /* fields that are there */
#define X(name, kind, type) type name;
    FACT_FIELDS(X)
#undef X
};

/* "post"; static. */
const char *fact_type_name(enum fact_type type);

/* Sets a field: FACT_SET(&fact, user_id, 42). */
#define FACT_SET(fact, field, value) ((fact)->field = (value), (fact)->has |= HAS(field))

static inline bool fact_has(const struct fact *fact, uint64_t fields)
{
    return (fact->has & fields) == fields;
}

/* Appends the fact as a line, with its end. */
void fact_write(const struct fact *fact, struct buf *to);

/* ---- Lines ---------------------------------------------------------------------------------- */

/* Why a line is not taken: the field, NULL if it is none's fault, and a static text. */
struct refusal {
    const char *field;
    const char *reason;
};

/* A line of a scene is the longest by far. */
enum { FACT_LINE_MAX = 64 << 20 };

/*
 * The fact of a line, without the line's end. `own`: it must have the fields of an export, with ids; otherwise those of others,
 * without. The line is changed: texts are unescaped where they lie. Arrays are in the arena. False with the reason.
 */
bool fact_read(char *line, size_t n, bool own, struct arena *arena, struct fact *fact,
               struct refusal *refusal);

/* ---- Sinks ---------------------------------------------------------------------------------- */

/* Where an engine hands its facts to, in the order of FACT_TYPES, TIDINGS first; false: that is enough. */
struct fact_sink {
    bool (*take)(struct fact_sink *sink, const struct fact *fact);
};

static inline struct tidings_text fact_text(struct bytes bytes)
{
    return (struct tidings_text){(const char *)bytes.p, bytes.n};
}

#endif
