/* SPDX-License-Identifier: MIT */
/*
 * The reference model: what an engine must answer, worked out the slow and obvious way.
 *
 * Everything is an array and every question is a loop. The heart is a table with one cell for every
 * user and every post: was it delivered, was it read and when, is it in the history. There are no
 * stored counts, no indexes and nothing derived except the excerpt.
 *
 * The model cannot know two things, which an engine makes up: the ids of posts and events, and the
 * `as_of` tokens. Its caller tells it what the engine made of them. Nor does it know an engine's
 * cursors: a place in a list is given to it in its own terms (see struct model_call).
 *
 * No global state; not thread-safe. Out of memory ends the program.
 */
#ifndef TIDINGS_TESTS_MODEL_H
#define TIDINGS_TESTS_MODEL_H

#include "model_story.h"
#include "tidings.h"

/* What one user has to do with one post. */
struct model_cell {
    bool delivered; /* it is in the user's inbox */
    bool is_read;
    int64_t read_at;
    bool in_history;
    int64_t history_at;
    uint64_t history_turn; /* the operation that entered it */
};

struct model_user {
    uint64_t id;
    struct tidings_text name;
    struct tidings_text avatar;
    int64_t full_at;          /* when the bucket of follows is full again */
    struct model_cell *cells; /* one for every post of the model */
};

struct model_follow {
    uint64_t fan;
    uint64_t author;
    int64_t since;
    uint64_t turn; /* the operation that made it */
};

struct model_post {
    uint64_t id;
    uint64_t author_id;
    enum tidings_post_kind kind;
    struct tidings_text title;
    struct tidings_text body;
    struct tidings_text excerpt;
    int64_t created_at;
    int64_t edited_at;
    bool deleted;
};

/* An operation that asked to be made once, and what it was answered. */
struct model_once {
    uint64_t user_id;
    uint8_t key[16];
    uint8_t fingerprint[16];
    int64_t at;
    struct tidings_text stored;
};

struct model {
    struct tidings_settings settings;
    int64_t newest_write_ms;
    uint64_t turn;      /* counts operations: the order of what shares a millisecond */
    uint64_t newest_id; /* the greatest post id or as_of learned */

    struct model_user **users;
    size_t n_users;
    struct model_follow *follows; /* in force, oldest first */
    size_t n_follows;
    struct model_post *posts; /* oldest first */
    size_t n_posts;
    size_t posts_room;
    struct tidings_event *events; /* oldest first; event_id is 0 until it is learned */
    size_t n_events;
    size_t events_room;
    struct model_once *onces; /* oldest first */
    size_t n_onces;
    struct model_stories stories;
};

/*
 * One operation. `after` stands for op->u.…page.after, in the model's terms: what `next` said in
 * the model's answer for the page before, or {0, 0}; for EVENTS, .a is the number of events to pass
 * over.
 */
struct model_call {
    const struct tidings_op *op;
    int64_t now_ms;
    struct tidings_cursor after;
    uint64_t new_post_id;            /* the id that a PUBLISH shall give its post */
    uint64_t new_scene_id;           /* likewise for SCENE_PUBLISH */
    const uint64_t *new_message_ids; /* the id of every message of the scene afterwards */
    size_t n_new_message_ids;
};

/* Texts point into the model and live until it changes; rows are the answer's. */
struct model_answer {
    enum tidings_err err;
    const char *field;
    int64_t retry_after_ms;
    struct tidings_text title;  /* of a deleted post */
    struct tidings_text stored; /* if the operation is to be made once; then only this */

    bool changed;
    bool following;
    bool followed_by;
    bool mutual;
    uint64_t purged;
    uint64_t marked;
    uint64_t total;
    uint64_t unread_author;

    uint64_t count_following;
    uint64_t count_followers;
    uint64_t count_posts;

    uint64_t profile_id;
    struct tidings_text name;
    struct tidings_text avatar;
    struct tidings_post post;

    size_t n; /* rows in the one list that the operation answers with */
    struct tidings_item *items;
    struct tidings_user_row *user_rows;
    struct tidings_unread_row *unread_rows;
    struct tidings_history_row *history_rows;
    uint64_t *user_ids;
    struct tidings_event *event_rows;
    size_t *event_places; /* where in the model each event row is */
    struct model_story_answer story;
    struct tidings_cursor next;
};

void model_init(struct model *model, const struct tidings_settings *settings);
void model_release(struct model *model);

/* Runs an operation; an answer that was used before is released first. */
void model_run(struct model *model, const struct model_call *call, struct model_answer *answer);
void model_answer_init(struct model_answer *answer);
void model_answer_release(struct model_answer *answer);

/* ---- What the parts of the model share, and its caller may ask ---------------------------------
 */

bool model_op_writes(enum tidings_op_kind kind);

/* The user with this id; made if new, which no answer can show. */
struct model_user *model_user(struct model *model, uint64_t id);
/* The post with this id, or NULL. */
struct model_post *model_post(const struct model *model, uint64_t id);
struct model_cell *model_cell(const struct model *model, const struct model_user *user,
                              const struct model_post *post);
bool model_follows(const struct model *model, uint64_t fan, uint64_t author);
/* Unread items in the user's inbox: of one author, or of all if author_id is 0. */
uint64_t model_unread(const struct model *model, const struct model_user *user, uint64_t author_id);
/* The post as its own answer shows it. */
void model_show_post(struct model *model, const struct model_post *post,
                     struct tidings_post *shown);
size_t model_page_limit(const struct model *model, const struct tidings_page *page);

/* Field name of the first bad argument, or NULL. */
const char *model_check_arguments(const struct model *model, const struct tidings_op *op);
const char *model_check_page(const struct model *model, const struct tidings_page *page);
/* Characters in a text, or -1 if it is no UTF-8 or holds a NUL. */
long model_characters(struct tidings_text text);
/* A line that says what the answer says, as render_answer (render.h) says it of an engine's. The
 * caller drops it. */
struct tidings_text model_render(const struct tidings_op *op, const struct model_answer *answer);
/* The text parts of a body cut to `most` characters. The caller frees. */
struct tidings_text model_excerpt(struct tidings_text body, uint64_t most);

/* model_write.c and model_read.c; arguments have been checked; `t` is the time of the operation.
 * model_write says whether the operation counts as a write made at `t`. */
bool model_write(struct model *model, const struct model_call *call, int64_t t,
                 struct model_answer *answer);
void model_read(struct model *model, const struct model_call *call, int64_t t,
                struct model_answer *answer);

/* Adds an event to the log; its id is not known yet. */
void model_add_event(struct model *model, struct tidings_event event);
bool model_same_text(struct tidings_text a, struct tidings_text b);
void model_set_text(struct tidings_text *place, struct tidings_text text);

/* malloc and realloc that do not fail, a copy of a text that ends in a NUL, and its end. */
void *model_room(void *old, size_t n, size_t size);
struct tidings_text model_copy(struct tidings_text text);
void model_drop(struct tidings_text text);

#endif
