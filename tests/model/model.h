/* SPDX-License-Identifier: MIT */
/*
 * The reference model: what an engine must answer, worked out the slow and obvious way.
 *
 * Everything is an array and every question is a loop. The heart is a table with one cell for every
 * user and every post: was it delivered, was it read and when, is it in the history. Reactions and
 * comments are lists at what they are on. There are no stored counts, no indexes and nothing derived
 * except the excerpt.
 *
 * The model cannot know two things, which an engine makes up: the ids of posts, comments and
 * events, and the `as_of` tokens. Its caller tells it what the engine made of them. Nor does it know an engine's
 * cursors: a place in a list is given to it in its own terms (see struct model_call).
 *
 * No global state; not thread-safe. Out of memory ends the program.
 */
#ifndef TIDINGS_TESTS_MODEL_H
#define TIDINGS_TESTS_MODEL_H

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
    struct tidings_text extra;
    int64_t full_at;          /* when the bucket of follows is full again */
    int64_t react_full_at;    /* of reactions */
    int64_t comment_full_at;  /* of comments */
    int64_t publish_full_at;  /* of posts */
    struct model_cell *cells; /* one for every post of the model */
};

struct model_follow {
    uint64_t fan;
    uint64_t author;
    int64_t since;
    uint64_t turn; /* the operation that made it */
};

/* A reaction in force. */
struct model_reaction {
    uint64_t user_id;
    enum tidings_reaction reaction;
    int64_t at;
    uint64_t turn;
};

struct model_reactions {
    struct model_reaction *rows; /* oldest first */
    size_t n;
};

/* Whether votes fold it is not kept: it follows from the votes. */
struct model_comment {
    uint64_t id;
    uint64_t post_id;
    uint64_t parent_id;
    uint64_t user_id;
    struct tidings_text body;
    int64_t created_at;
    bool deleted;
    bool moderated; /* then this decides, and not the votes: */
    bool moderated_hidden;
    struct model_reactions reactions;
};

struct model_post {
    uint64_t id;
    uint64_t author_id;
    enum tidings_post_kind kind;
    struct tidings_text title;
    struct tidings_text body;
    struct tidings_text excerpt;
    struct tidings_text extra;
    int64_t created_at;
    int64_t edited_at;
    bool deleted;
    struct model_reactions reactions;
    size_t *comments; /* where its comments are in the model, oldest first */
    size_t n_comments;
};

/* ---- Stories: nothing is derived here either before it is asked for: all positions that devices ever sent are kept, and
 * so is everybody who was told of a scene. */

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

/* ---- Webhooks ------------------------------------------------------------------------------- */

struct model_webhook {
    struct tidings_text name;
    struct tidings_text url;
    struct tidings_text secret;
    struct tidings_text old_secret; /* empty: none */
    int64_t rotated_at;             /* when it became that */
    struct tidings_text last_error;
    bool disabled;
    uint64_t events;
    size_t place;                 /* so many events are behind it */
    bool is_dead;                 /* events were given up since the last success; */
    size_t dead_from;             /* and that was its place before */
    struct tidings_webhook shown; /* what else is shown, as it is */
};

/* One in an answer; the engine's position lies between those of two events, 0 where such a one is not known. */
struct model_webhook_row {
    struct tidings_webhook row;
    size_t place;
    uint64_t position_least;
    uint64_t position_below;
};

/* ---- All of it ------------------------------------------------------------------------------ */

/* A ticket that was used. */
struct model_spent {
    uint64_t user_id;
    uint8_t name[TIDINGS_TICKET_BYTES];
    int64_t until_ms;
};

/* An operation that asked to be made once, and what it was answered. */
struct model_once {
    enum tidings_op_kind kind;
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
    uint64_t newest_id; /* the greatest id made so far: they increase */

    struct model_user **users;
    size_t n_users;
    struct model_follow *follows; /* in force, oldest first */
    size_t n_follows;
    struct model_post *posts; /* oldest first */
    size_t n_posts;
    size_t posts_room;
    struct model_comment *comments; /* oldest first */
    size_t n_comments;
    struct tidings_event *events; /* oldest first; event_id is 0 until it is learned */
    size_t n_events;
    size_t events_room;
    struct model_once *onces; /* oldest first */
    size_t n_onces;

    struct model_spent *spent; /* oldest first */
    size_t n_spent;
    struct model_stories stories;
    struct model_webhook *webhooks; /* in no order */
    size_t n_webhooks;
    uint64_t newest_generation; /* of any webhook there ever was */
};

/* What a token covers: what was there when it was given. One that was given by no answer covers nothing, and is refused. */
struct model_moment {
    bool given;
    size_t posts; /* the first so many */
    size_t scenes;
};

/*
 * One operation. `up_to` is what the token in op->u.mark.up_to covers, if there is one. `after`
 * stands for op->u.…page.after, in the model's terms: what `next` said in the model's answer for the
 * page before, or {0, 0}; for EVENTS, .a is the number of events to pass over; for HOT it is the
 * score of the last post, plus one, and its id.
 */
struct model_call {
    const struct tidings_op *op;
    int64_t now_ms;
    int64_t t; /* when it counts as made, which model_run works out: time never runs backwards */
    struct tidings_cursor after;
    struct model_moment up_to;
    uint64_t new_post_id;            /* the id that a PUBLISH or COMMENT shall give what it makes */
    uint64_t new_scene_id;           /* likewise for SCENE_PUBLISH */
    const uint64_t *new_message_ids; /* the id of every message of the scene afterwards */
    size_t n_new_message_ids;
    uint64_t new_generation; /* WEBHOOK_SET, WEBHOOK_RETRY */
    uint64_t
        reported; /* WEBHOOK_REPORT: how many events the position covers; more than there are: it has not been yet */
};

/*
 * A post of a hot list. With a half-life the order is by a sum of a logarithm and a time, which an
 * engine may round otherwise than the model, so the model gives the whole list, and whoever compares
 * allows for posts of nearly the same heat.
 */
struct model_hot {
    struct tidings_hot_row row;
    bool has_heat;    /* the score is not 0; posts without any come last */
    long double heat; /* without a half-life the score; with one a logarithm, of no use in itself */
    int place; /* against the place that the page begins after: -1 before, 1 after, 0 either */
};

/* Texts point into the model and live until it changes; rows are the answer's. */
struct model_answer {
    enum tidings_err err;
    const char *field;
    int64_t retry_after_ms;
    struct tidings_text title;  /* of a deleted post */
    struct tidings_text stored; /* if the operation is to be made once; then only this */

    uint64_t deleted_author_id;
    uint64_t deleted_story_id;
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
    uint64_t count_liked;
    uint64_t count_faved;
    uint64_t count_likes_received;
    uint64_t count_favs_received;

    uint64_t profile_id;
    struct tidings_text name;
    struct tidings_text avatar;
    struct tidings_text extra;
    struct tidings_post post;
    struct tidings_comment comment;
    struct tidings_counts counts;
    double heat;
    int64_t age_ms;

    size_t n; /* rows in the one list that the operation answers with */
    struct tidings_item *items;
    struct tidings_user_row *user_rows;
    struct tidings_unread_row *unread_rows;
    struct tidings_history_row *history_rows;
    uint64_t *user_ids;
    struct model_answer
        *many; /* what the single question answers, for each asked about; these have no lists */
    struct tidings_event *event_rows;
    size_t *event_places; /* where in the model each event row is */
    struct tidings_reacted_row *reacted_rows;
    struct tidings_comment *comment_rows;
    struct model_hot
        *hot_rows; /* all there are, not only a page, in no order: see struct model_hot */
    bool halves;   /* HOT: there is a half-life */
    struct model_webhook_row *webhook_rows; /* also where there is but one */
    struct model_story_answer story;
    struct tidings_cursor next;
};

void model_init(struct model *model, const struct tidings_settings *settings);
void model_release(struct model *model);

/* Runs an operation; an answer that was used before is released first. */
void model_run(struct model *model, const struct model_call *call, struct model_answer *answer);
void model_answer_init(struct model_answer *answer);
void model_answer_release(struct model_answer *answer);

/* The engine was opened again with other settings; only the rules of heat and folding may differ. */
void model_change_rules(struct model *model, const struct tidings_settings *settings,
                        int64_t now_ms);

/* ---- What the parts of the model share, and its caller may ask ------------------------------- */

bool model_op_writes(enum tidings_op_kind kind);
size_t model_page_limit(const struct model *model, const struct tidings_page *page);
/* What a token covers that is given now. */
struct model_moment model_now(const struct model *model);

/* Field name of the first bad argument, or NULL. */
const char *model_check_arguments(const struct model *model, const struct model_call *call);
const char *model_check_page(const struct model *model, const struct tidings_page *page);
/* Of operations that take one argument: a user, a post, a page of a list of one's own, a page of a story's. */
const char *model_check_user(const struct model *model, const struct model_call *call);
const char *model_check_post(const struct model *model, const struct model_call *call);
const char *model_check_own_page(const struct model *model, const struct model_call *call);
const char *model_check_story_page(const struct model *model, const struct model_call *call);
bool model_id_ok(uint64_t id);

/* A user's bucket: is there a token (else the error is in the answer), and taking it. */
struct model_bucket {
    int64_t *full_at;
    int64_t burst;
    int64_t refill_ms;
    int64_t more; /* tokens to be taken besides one */
};
bool model_bucket_has(const struct model_bucket *bucket, const struct tidings_op *op, int64_t t,
                      struct model_answer *answer);
void model_bucket_take(const struct model_bucket *bucket, const struct tidings_op *op, int64_t t);
struct model_bucket model_follow_bucket(struct model *model, const struct tidings_op *op);

/* text.c: characters in a text, or -1 if it is no UTF-8 or holds a NUL. */
long model_characters(struct tidings_text text);
/* Whether it is a URL of http or https. */
bool model_url_ok(struct tidings_text url);
/* The text parts of a body cut to `most` characters. The caller frees. */
struct tidings_text model_excerpt(struct tidings_text body, uint64_t most);
bool model_same_text(struct tidings_text a, struct tidings_text b);
void model_set_text(struct tidings_text *place, struct tidings_text text);
/* A copy of a text that ends in a NUL, and its end. */
struct tidings_text model_copy(struct tidings_text text);
/* Own data: short enough, and not one of those that are wrong (generate_text.c). */
bool model_extra_ok(struct tidings_text extra);
void model_drop(struct tidings_text text);

/* malloc and realloc that do not fail. */
void *model_room(void *old, size_t n, size_t size);

/* ---- Each capability's ---------------------------------------------------------------------- */

/* The user with this id; made if new, which no answer can show. */
struct model_user *model_user(struct model *model, uint64_t id);
bool model_follows(const struct model *model, uint64_t fan, uint64_t author);

/* The post with this id, or NULL. */
struct model_post *model_post(const struct model *model, uint64_t id);
/* The post, if it is there and not deleted; otherwise NULL and the error in the answer. */
struct model_post *model_living_post(struct model *model, uint64_t id, struct model_answer *answer);
/* The post as its own answer shows it to the viewer. */
void model_show_post(struct model *model, const struct model_post *post, uint64_t viewer,
                     struct tidings_post *shown);

struct model_cell *model_cell(const struct model *model, const struct model_user *user,
                              const struct model_post *post);
/* Unread items in the user's inbox: of one author, or of all if author_id is 0. */
uint64_t model_unread(const struct model *model, const struct model_user *user, uint64_t author_id);
void model_enter_history(struct model *model, struct model_cell *cell, int64_t t);

void model_add_event(struct model *model, struct tidings_event event);
/* One that is about a post or a user. */
void model_event(struct model *model, enum tidings_event_type type, int64_t t, uint64_t actor,
                 uint64_t target, uint64_t author, int64_t delta);

uint64_t model_count_reactions(const struct model_reactions *reactions,
                               enum tidings_reaction reaction);
bool model_has_reaction(const struct model_reactions *reactions, uint64_t user_id,
                        enum tidings_reaction reaction);
/* The counters of a user that are about reactions. */
void model_count_interactions(const struct model *model, uint64_t user_id,
                              struct model_answer *answer);
const char *model_check_react(const struct model *model, const struct model_call *call);

struct model_comment *model_comment(const struct model *model, uint64_t id);
enum tidings_comment_status model_comment_status(const struct model *model,
                                                 const struct model_comment *comment);
struct tidings_counts model_comment_counts(const struct model *model,
                                           const struct model_comment *comment);
struct tidings_counts model_post_counts(const struct model *model, const struct model_post *post);

/* The scene with this id, or NULL. */
struct model_scene *model_scene(const struct model *model, uint64_t id);
/* The story, or the scene, if it is there and not deleted; otherwise NULL and the error in the
 * answer. */
struct model_post *model_living_story(const struct model *model, uint64_t id,
                                      struct model_answer *answer);
struct model_scene *model_living_scene(const struct model *model, uint64_t id,
                                       struct model_answer *answer);
void model_drop_messages(struct model_scene *scene);
/* Made if new, which no answer can show. */
struct model_reader *model_reader(struct model *model, uint64_t user_id);
/* Tells of a new scene everybody who wants to know at this moment. */
void model_tell(struct model *model, size_t scene, uint64_t story_id);

/* ---- Capabilities with a *_model.c: what their rows and the rest of their tests call ------------- */

bool write_publish(struct model *model, const struct model_call *call, struct model_answer *answer);
bool write_edit(struct model *model, const struct model_call *call, struct model_answer *answer);
bool write_delete(struct model *model, const struct model_call *call, struct model_answer *answer);
bool write_open(struct model *model, const struct model_call *call, struct model_answer *answer);
void read_post(struct model *model, const struct model_call *call, struct model_answer *answer);
const char *check_publish(const struct model *model, const struct model_call *call);
const char *check_edit(const struct model *model, const struct model_call *call);

bool write_mark_read(struct model *model, const struct model_call *call,
                     struct model_answer *answer);
bool write_mark_unread(struct model *model, const struct model_call *call,
                       struct model_answer *answer);
void read_feed(struct model *model, const struct model_call *call, struct model_answer *answer);
void read_badge(struct model *model, const struct model_call *call, struct model_answer *answer);
void read_unread(struct model *model, const struct model_call *call, struct model_answer *answer);
const char *check_feed(const struct model *model, const struct model_call *call);
const char *check_mark(const struct model *model, const struct model_call *call);

bool write_react(struct model *model, const struct model_call *call, struct model_answer *answer);
void read_reactors(struct model *model, const struct model_call *call, struct model_answer *answer);
void read_reacted(struct model *model, const struct model_call *call, struct model_answer *answer);
const char *check_reactors(const struct model *model, const struct model_call *call);

bool write_comment(struct model *model, const struct model_call *call, struct model_answer *answer);
bool write_comment_delete(struct model *model, const struct model_call *call,
                          struct model_answer *answer);
bool write_moderate(struct model *model, const struct model_call *call,
                    struct model_answer *answer);
void read_comments(struct model *model, const struct model_call *call, struct model_answer *answer);
const char *check_comment(const struct model *model, const struct model_call *call);
const char *check_comments(const struct model *model, const struct model_call *call);
const char *check_comment_id(const struct model *model, const struct model_call *call);

bool write_scene_publish(struct model *model, const struct model_call *call,
                         struct model_answer *answer);
bool write_scene_edit(struct model *model, const struct model_call *call,
                      struct model_answer *answer);
bool write_scene_delete(struct model *model, const struct model_call *call,
                        struct model_answer *answer);
void read_scenes(struct model *model, const struct model_call *call, struct model_answer *answer);
void read_scene(struct model *model, const struct model_call *call, struct model_answer *answer);
const char *check_scene(const struct model *model, const struct model_call *call);
const char *check_scene_id(const struct model *model, const struct model_call *call);

/* Whether anything is shown of where the reader stopped, and what; without the story's title. */
bool stopped_at(const struct model_reader *reader, uint64_t story_id,
                struct tidings_reading *shown);
/* The operation in which that last changed; 0 if never. */
uint64_t changed_at(const struct model_reader *reader, uint64_t story_id);
bool write_reading_set(struct model *model, const struct model_call *call,
                       struct model_answer *answer);
bool write_reading_delete(struct model *model, const struct model_call *call,
                          struct model_answer *answer);
bool write_reading_clear(struct model *model, const struct model_call *call,
                         struct model_answer *answer);
void read_readings(struct model *model, const struct model_call *call, struct model_answer *answer);
const char *check_reading(const struct model *model, const struct model_call *call);
const char *check_readings(const struct model *model, const struct model_call *call);

/* Whether webhooks are as the model says: no event is too old to be read. */
bool model_webhooks_exact(const struct model *model, int64_t now_ms);
/* The one of that name, or NULL. */
struct model_webhook *model_webhook(const struct model *model, struct tidings_text name);
bool model_webhook_wants(const struct model_webhook *webhook, enum tidings_event_type type);
void model_drop_webhooks(struct model *model);
bool write_webhook_set(struct model *model, const struct model_call *call,
                       struct model_answer *answer);
bool write_webhook_delete(struct model *model, const struct model_call *call,
                          struct model_answer *answer);
bool write_webhook_retry(struct model *model, const struct model_call *call,
                         struct model_answer *answer);
bool write_webhook_report(struct model *model, const struct model_call *call,
                          struct model_answer *answer);
void read_webhook(struct model *model, const struct model_call *call, struct model_answer *answer);
void read_webhooks(struct model *model, const struct model_call *call, struct model_answer *answer);
const char *check_webhook(const struct model *model, const struct model_call *call);
const char *check_webhook_report(const struct model *model, const struct model_call *call);

#endif
