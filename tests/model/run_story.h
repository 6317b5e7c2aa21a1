/* SPDX-License-Identifier: MIT */
/*
 * What a run knows about stories besides its model: the ids that the engine gave scenes and their
 * messages, and clients that keep a copy of where a reader stopped by asking for what has changed.
 */
#ifndef TIDINGS_TESTS_RUN_STORY_H
#define TIDINGS_TESTS_RUN_STORY_H

#include "recording.h"

struct model_call;
struct run;

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

void run_story_open(struct run_story *story, const struct recording *recording);
void run_story_close(struct run_story *story);

/* The id that stands for a REF_SCENE or REF_MESSAGE; false if the step that made it is left out. */
bool run_story_id(const struct run_story *story, const struct ref *ref, uint64_t *id);

/* The name of a message with this id, or a number that names none. */
struct ref run_story_message(const struct run_story *story, uint64_t id);

/* Fills in what the step only names. */
void run_story_resolve(struct run *run, const struct step *step, struct tidings_op *op);

/* The engine has answered: which ids did it make? */
bool run_story_learn(struct run *run, const struct tidings_op *op, struct model_call *call);

/* Model and engine agree. */
bool run_story_remember(struct run *run, const struct step *step, const struct tidings_op *op);

/* Brings the client up to date in steps of `limit` rows; then it must have exactly what is shown. */
bool run_story_catch_up(struct run *run, struct client *client, int64_t now_ms, uint32_t limit);

#endif
