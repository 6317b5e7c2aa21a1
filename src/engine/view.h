/* SPDX-License-Identifier: MIT */
/*
 * What an operation sees and changes: the rows of one moment, the settings and the time. Code that reads takes a view and
 * does not know whether it looks at a snapshot or works inside a change.
 *
 * An engine embeds struct view as the first member of its own. Errors of the storage are sticky: view_failed() tells.
 */
#ifndef ENGINE_VIEW_H
#define ENGINE_VIEW_H

#include "base/arena.h"
#include "domain/bucket.h"
#include "engine/rows.h"

/* What a change tells those who watch. */
struct news {
    struct tidings_event *events;
    size_t n, room;
    bool lost; /* more than could be remembered */
};

/* If there are too many, that is all that is remembered of it. */
void news_add(struct news *news, const struct tidings_event *event);

struct view {
    const struct rows *rows;
    enum tidings_err *err;
    const struct tidings_settings *settings;
    struct arena *scratch; /* lives until the operation's end */
    int64_t now_ms;        /* by the clock; never before the newest change */
    int64_t
        elapsed_ms; /* for limits: advances whatever is done to the clock; never before the newest change */

    uint64_t stamp;    /* changing: the id of this operation */
    struct news *news; /* changing: NULL if nobody watches */
    bool fault;        /* changing: a count would have gone below zero */
};

static inline bool view_failed(const struct view *view)
{
    return *view->err != TIDINGS_OK;
}

/* The first failure stays. */
static inline void view_fail(struct view *view, enum tidings_err err)
{
    if (!*view->err)
        *view->err = err;
}

static inline void view_corrupt(struct view *view)
{
    view_fail(view, TIDINGS_CORRUPT);
}

/* What an answer is made of, besides the view. A change fills in what only it knows, the answer half the rest. */
struct reply {
    const struct tidings_op *op;
    struct tidings_answer *answer;
    struct arena *arena; /* the answer's own */
};

/* ---- Rows, in short ------------------------------------------------------------------------- */

static inline struct user_record view_user(struct view *view, uint64_t user)
{
    return view->rows->get_user(view, user);
}

static inline void view_put_user(struct view *view, uint64_t user, const struct user_record *record)
{
    view->rows->put_user(view, user, record);
}

static inline bool view_post(struct view *view, uint64_t id, struct post_record *post)
{
    return view->rows->get_post(view, id, post);
}

static inline bool view_comment(struct view *view, uint64_t id, struct comment_record *comment)
{
    return view->rows->get_comment(view, id, comment);
}

static inline bool view_scene(struct view *view, uint64_t id, struct scene_record *scene)
{
    return view->rows->get_scene(view, id, scene);
}

static inline const struct head *view_head(struct view *view, enum realm realm, uint64_t author)
{
    return view->rows->get_head(view, realm, author);
}

/* The least id that is younger than that age. */
static inline uint64_t view_oldest_id(const struct view *view, int64_t age_ms)
{
    return view->rows->oldest_id(view, age_ms);
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* A copy with a NUL behind it; on lack of memory the view fails. */
struct tidings_text view_text(struct view *view, struct arena *arena, struct bytes bytes);

/* The same in the scratch arena, for what must outlive the first put. */
struct bytes view_keep(struct view *view, struct bytes bytes);

/* An array in the arena; on lack of memory NULL, and the view fails. */
void *view_array(struct view *view, struct arena *arena, size_t count, size_t size);

static inline struct bytes bytes_of(struct tidings_text text)
{
    return (struct bytes){(const uint8_t *)text.p, text.n};
}

/* ---- For answers ---------------------------------------------------------------------------- */

/* The user's profile, copied to the arena; empty texts if there is none. */
void view_profile(struct view *view, uint64_t user, struct arena *arena, struct tidings_text *name,
                  struct tidings_text *avatar);

/* The time of an id: the stored one of what was imported with a time before 2020, else the one in the id. */
int64_t view_time(struct view *view, uint64_t id);

/* How many rows a page may have. */
size_t view_limit(const struct view *view, const struct tidings_page *page);

/* A page of a list: its places in the scratch arena, and where the next one begins; how many. */
size_t view_page(struct view *view, const struct list *list, const struct tidings_page *page,
                 struct place **places, struct tidings_cursor *next);

/* The row of a list that shows a user. */
void view_user_row(struct view *view, struct reply *reply, uint64_t user, uint64_t stamp);

/* ---- For changes ---------------------------------------------------------------------------- */

/* The buckets of a user, and what the API calls them. */
#define BUCKETS(X)      \
    X(FOLLOW, follow)   \
    X(REACT, react)     \
    X(COMMENT, comment) \
    X(PUBLISH, publish)

enum bucket {
#define X(name, lower) BUCKET_##name,
    BUCKETS(X)
#undef X
};

/*
 * Takes a token at the operation's time from a bucket in a user's record, which the caller writes, and says in the answer how
 * many are left. If none is: RATE_LIMITED, with the wait. Services and admins are free of it.
 */
enum tidings_err view_take_token(struct view *view, struct reply *reply, enum bucket bucket,
                                 struct user_record *user);
/* The same of several at once, for what is as much work as so many. */
enum tidings_err view_take_tokens(struct view *view, struct reply *reply, enum bucket bucket,
                                  uint64_t tokens, struct user_record *user);

/* What is left in it, and nothing is taken. */
void view_bucket_left(struct view *view, uint64_t user, enum bucket bucket,
                      struct tidings_limit *limit);

/* Where a counter stands in a user's record. */
uint64_t *counter_of(struct user_record *user, enum counter counter);

/* Adds to a count. A would-be negative one is a fault in the data: the view fails. */
void view_add(struct view *view, uint64_t *count, int64_t delta);

/*
 * Tells of a change: keeps the event, if it is of a type that is kept, and tells those who watch. Its id and time are set
 * here. The first event kept takes the operation's own id, if no further id was taken before.
 */
void view_tell(struct view *view, struct tidings_event event);

/* The same for those that are about a user, or a post of the author's. */
void view_event(struct view *view, enum tidings_event_type type, uint64_t actor, uint64_t target,
                uint64_t author, int64_t delta);

#endif
