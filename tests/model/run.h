/* SPDX-License-Identifier: MIT */
/*
 * A run: one engine and one model that are given the same operations, step by step, and must give
 * the same answers. A function that returns false has written into the outcome's report why.
 */
#ifndef TIDINGS_TESTS_RUN_H
#define TIDINGS_TESTS_RUN_H

#include "model.h"
#include "recording.h"

#include <stdatomic.h>

/* A place in a list, in the engine's terms and in the model's. */
struct place {
    uint32_t list;
    struct tidings_cursor engine;
    struct tidings_cursor model;
};

/* ---- What a run knows about stories besides its model ---------------------------------------- */

enum {
    CLIENTS = 40,
    MESSAGES_MOST = 64, /* in one step */
};

/* What a step that wrote a scene made. */
struct made {
    uint64_t scene_id; /* 0 if nothing */
    uint64_t message_ids[MESSAGES_MOST];
    size_t n_messages;
};

/* A device's copy of a reader's positions. */
struct client {
    uint32_t number; /* 0: none yet */
    uint64_t user_id;
    uint64_t version;
    uint64_t turn; /* the model's when it was last complete; 0 at first, or if it is behind */
    struct tidings_reading *rows;
    size_t n;
};

struct run_story {
    struct made *made;  /* by number of the step among those that write scenes */
    size_t made_room;   /* one more than the greatest number there can be */
    size_t n_made;      /* the greatest number so far */
    uint32_t *maker_of; /* by index of the scene in the model */
    size_t n_scenes;    /* so far in the model */
    struct client clients[CLIENTS];

    struct tidings_message messages[MESSAGES_MOST]; /* of the step under way */
    uint64_t new_ids[MESSAGES_MOST];
    size_t n_new_ids;
};

/* ---- The run --------------------------------------------------------------------------------- */

/* A token, and what it covers. */
struct kept_token {
    struct tidings_moment as_of;
    struct model_moment covers;
};

struct run {
    struct recording *recording;
    struct outcome *outcome;
    struct tidings_options options;
    _Atomic int64_t clock_ms;

    struct tidings *engine;
    struct model model;
    struct tidings_answer answer; /* the engine's and the model's to the last operation */
    struct model_answer expected;

    uint64_t *post_ids;   /* by number of publish; 0 if it has made none */
    uint32_t *publish_of; /* by index of the post in the model */
    size_t post_room;
    uint64_t *comment_ids; /* the same of comments */
    uint32_t *comment_of;
    struct place places[LISTS];
    struct tidings_text
        found_names[LISTS]; /* PROFILE_SEARCH: the last row's, for the page behind it */
    struct kept_token slots[SLOTS];
    struct tidings_moment newest; /* the last token given */
    struct run_story story;
    struct model_moment up_to; /* what the token of the step under way covers */
    uint64_t *ids;             /* that the step under way marks */
    uint64_t reported; /* what the position in the step under way covers: see struct model_call */

    bool keeps_rules; /* whatever a step says: it is opened again with the same settings */
    /* Which engine is asked, NULL if that failed; may be NULL: `engine`. */
    struct tidings *(*choose)(struct run *run, const struct tidings_op *op);
    void *choose_ctx;
    /* Told of every operation that both have run, with all that the model had to be told; may be NULL. */
    void (*ran)(struct run *run, const struct model_call *call);
    void *ran_ctx;
    /* What the engine holds was imported: it has no events of before, and webhooks begin anew. */
    bool imported;
    /* Errors of the storage are no difference: the operation has done nothing, and the model is not asked. */
    bool storage_fails;
};

/* Opens an engine in `dir`, which must be empty or missing. run_close works in any state. */
bool run_open(struct run *run, struct recording *recording, const char *dir);
void run_close(struct run *run);

/* The two halves of run_open: everything but the engine, and the engine in options.dir. */
void run_init(struct run *run, struct recording *recording, const char *dir);
bool run_open_engine(struct run *run);
/* tidings_verify finds nothing. */
bool run_verify(struct run *run);

bool run_step(struct run *run, const struct step *step);

/*
 * One operation on both, and every comparison there is; model_after is its cursor in the model's
 * terms. The answers stay in `answer` and `expected`.
 */
bool run_op(struct run *run, const struct tidings_op *op, struct tidings_cursor model_after);
/* The same with all that the operation says in the model's terms; the call's time and new ids are not used. */
bool run_call(struct run *run, const struct model_call *asked);

/* Whether the error is one of the storage, not of what was asked for. */
bool is_storage_error(enum tidings_err err);

/* The token that the step names, for the engine; for the model what it covers, in up_to. */
bool run_resolve_token(struct run *run, const struct step *step, struct tidings_moment *up_to);

/* A repeat of an operation that is to be made once makes nothing new; the model knows the id then. 0: the key was first
 * used for something that has no such id at all. */
bool run_is_repeat(const struct tidings_op *op, uint64_t id, bool known);
/* Is the id of something new greater than all before it? */
bool run_check_new_id(struct run *run, uint64_t id, const char *what);

/* Where the list of the last answer goes on, in the model's terms. */
struct tidings_cursor run_model_next(const struct run *run, const struct tidings_op *op);
/* The id that a ref stands for. */
uint64_t run_ref_id(const struct run *run, const struct ref *ref);

/* scene.c: the id that stands for a REF_SCENE or REF_MESSAGE; false if the step that made it is left out. And the name of
 * a message with this id, or a number that names none. */
bool run_scene_id(const struct run_story *story, const struct ref *ref, uint64_t *id);
struct ref run_message_ref(const struct run *run, uint64_t id);
/* What a ref to a post or a comment stands for; NULL if nothing. */
const struct model_post *run_post(const struct run *run, const struct ref *ref);
const struct model_comment *run_comment(const struct run *run, const struct ref *ref);

/* Fill in what a step names of a post, a story, a target of reactions, or of what to mark. */
bool resolve_post(struct run *run, const struct step *step, struct tidings_op *op);
bool resolve_story(struct run *run, const struct step *step, struct tidings_op *op);
bool resolve_react(struct run *run, const struct step *step, struct tidings_op *op);
bool resolve_mark(struct run *run, const struct step *step, struct tidings_op *op);

/* sweep.c: asks everything that can be asked, `limit` rows a page. */
bool run_sweep(struct run *run, int64_t now_ms, uint32_t limit);

/* Writes into the report; false. */
bool run_fail(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
