/* SPDX-License-Identifier: MIT */
/*
 * The part of the model that knows stories: scenes, where readers stopped, subscriptions and
 * notifications. As everywhere in the model nothing is derived before it is asked for: all positions that
 * devices ever sent are kept, and so is everybody who was told of a scene.
 */
#ifndef TIDINGS_TESTS_MODEL_STORY_H
#define TIDINGS_TESTS_MODEL_STORY_H

#include "tidings.h"

struct model;
struct model_call;
struct model_answer;

struct model_scene {
    uint64_t id;
    uint64_t story_id;
    uint64_t author_id;
    uint32_t number;
    struct tidings_text title;
    struct tidings_message *messages;
    size_t n_messages;
    uint64_t *given; /* the ids of all messages it ever had */
    size_t n_given;
    int64_t created_at;
    int64_t edited_at;
    bool deleted;
};

struct model_subscription {
    uint64_t user_id;
    uint64_t story_id;
    int64_t since;
    uint64_t turn; /* the operation that made it */
};

/* A position that a device sent; its time is not ahead of the server's at that moment. */
struct model_visit {
    uint64_t story_id;
    uint64_t scene_id; /* 0: entered, not read on */
    uint64_t message_id;
    int64_t at;
};

/* What was sent up to that time is void: of one story, or of all if story_id is 0. */
struct model_mark {
    uint64_t story_id;
    int64_t at;
};

/* When what is shown of a story last changed. */
struct model_change {
    uint64_t story_id;
    uint64_t turn;
};

/* A scene that the reader was told of. */
struct model_told {
    size_t scene; /* its index */
    bool is_read;
};

struct model_reader {
    uint64_t user_id;
    bool quiet; /* story_updates is off */
    struct model_visit *visits;
    size_t n_visits;
    struct model_mark *marks;
    size_t n_marks;
    struct model_change *changes;
    size_t n_changes;
    struct model_told *told; /* in the order of publishing */
    size_t n_told;
};

struct model_stories {
    struct model_scene *scenes; /* in the order of publishing */
    size_t n_scenes;
    struct model_subscription *subscriptions; /* in force, oldest first */
    size_t n_subscriptions;
    struct model_reader *readers;
    size_t n_readers;
};

/* Part of an answer. The one list that an operation answers with has model_answer.n rows. */
struct model_story_answer {
    struct tidings_scene scene;
    struct tidings_scene *scenes;
    struct tidings_reading reading;
    struct tidings_reading *readings; /* with `delta` all there are, in no particular order */
    bool subscribed;
    struct tidings_subscription_row *subscriptions;
    bool story_updates;
    struct tidings_notification *notifications;
    uint64_t unread;
};

void model_story_release(struct model_stories *stories);
void model_story_answer_release(struct model_story_answer *answer);

/* As model_write and model_read. */
bool model_story_write(struct model *model, const struct model_call *call, int64_t t,
                       struct model_answer *answer);
void model_story_read(struct model *model, const struct model_call *call,
                      struct model_answer *answer);

/* model_reading.c: the part of it about where a reader stopped. */
bool model_reading_write(struct model *model, const struct tidings_op *op, int64_t t,
                         struct model_answer *answer);

/* Field name of the first bad argument, or NULL. */
const char *model_story_check(const struct model *model, const struct model_call *call);

/* ---- What the parts share, and the model's caller may ask -------------------------------------
 */

/* The scene with this id, or NULL. */
struct model_scene *model_scene(const struct model *model, uint64_t id);
/* Made if new, which no answer can show. */
struct model_reader *model_reader(struct model *model, uint64_t user_id);
bool model_subscribes(const struct model *model, uint64_t user_id, uint64_t story_id);
/* Subscribes, and has not turned it off. */
bool model_wants_to_know(struct model *model, uint64_t user_id, uint64_t story_id);
/* Whether anything is shown of where the reader stopped, and what; without the story's title. */
bool model_stopped_at(const struct model_reader *reader, uint64_t story_id,
                      struct tidings_reading *shown);
/* The operation in which that last changed; 0 if never. */
uint64_t model_changed_at(const struct model_reader *reader, uint64_t story_id);
/* Can the notice be seen: neither the scene nor its story is deleted? */
bool model_notice_stands(const struct model *model, const struct model_told *told);
uint64_t model_notifications_unread(struct model *model, uint64_t user_id);
/* The scene as its own answer shows it. */
struct tidings_scene model_show_scene(const struct model_scene *scene);
/* The story, or the scene, if it is there and not deleted; otherwise NULL and the error in the
 * answer. */
struct model_post *model_living_story(const struct model *model, uint64_t id,
                                      struct model_answer *answer);
struct model_scene *model_living_scene(const struct model *model, uint64_t id,
                                       struct model_answer *answer);

#endif
