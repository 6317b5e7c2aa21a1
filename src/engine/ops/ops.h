/* SPDX-License-Identifier: MIT */
/*
 * The operations of the local engine, one file a capability. Each has up to two halves:
 *
 *   apply_…   inside the writer's transaction: checks everything, then changes. Answers an error
 *             only before the first change; facts for the answer go to call->result.
 *   answer_…  on a snapshot that includes the change, on the thread of whoever asked: fills in the
 *             answer.
 *
 * op.c has the table of them. Storage errors are sticky in the view and need not be answered.
 */
#ifndef LOCAL_OPS_H
#define LOCAL_OPS_H

#include "engine/view.h"

/* What an answer is made of, besides the view. */
struct reply {
    const struct tidings_call *call;
    const struct tidings_op *op;
    struct tidings_answer *answer;
    struct arena *arena; /* the answer's own */
};

typedef enum tidings_err apply_fn(struct view *view, struct tidings_call *call);
typedef enum tidings_err answer_fn(struct view *view, struct reply *reply);

/* relation.c */
apply_fn apply_follow, apply_unfollow;
answer_fn answer_follow, answer_unfollow, answer_status, answer_following, answer_followers,
    answer_fans_among;

/* Sets the flag at the user's place among those that the operation asks about, if it has one. */
void among_mark(const struct tidings_op *op, uint64_t user, bool *flags);

/* user.c */
apply_fn apply_profile_set;
answer_fn answer_profile_set, answer_profile, answer_counters;

/* post.c */
apply_fn apply_publish, apply_edit, apply_delete;
answer_fn answer_publish, answer_edit, answer_delete, answer_post;

/* The post with its body; DELETED with the title in the answer, or NOT_FOUND. */
enum tidings_err view_whole_post(struct view *view, struct reply *reply, uint64_t id,
                                 struct tidings_post *post);

/* read.c */
apply_fn apply_open, apply_mark_read, apply_mark_unread;
answer_fn answer_open, answer_mark;

/* Whether OPEN would change nothing, so that it need not trouble the writer. */
bool open_is_settled(struct view *view, uint64_t viewer, uint64_t post_id);

/* history.c */
apply_fn apply_history_delete, apply_history_clear;
answer_fn answer_history;

/* Removes history rows that a clearing has left behind, a few at a time. */
void history_sweep(struct view *view, size_t most);

/* inbox.c */
answer_fn answer_badge, answer_unread, answer_inbox, answer_author_page;

/* The viewer's unread total. */
uint64_t inbox_badge(struct view *view, uint64_t viewer);

/* reaction.c */
apply_fn apply_react, apply_unreact;
answer_fn answer_react, answer_reactors, answer_reacted;

/* comment.c */
apply_fn apply_comment, apply_comment_delete, apply_comment_hide, apply_comment_restore;
answer_fn answer_comment, answer_comments;

/* hot.c */
answer_fn answer_stats, answer_hot;

/* event.c */
answer_fn answer_events;

/* Removes events past their time, a few at a time. */
void event_sweep(struct view *view, size_t most);

/* The least id of an event that is still young enough. */
uint64_t event_oldest_kept(const struct view *view);

/* scene.c */
apply_fn apply_scene_publish, apply_scene_edit, apply_scene_delete;
answer_fn answer_scene_publish, answer_scene_edit, answer_scene_delete, answer_scene, answer_scenes;

/* When a story is deleted: its scenes go with it, whatever their number. */
void story_close(struct view *view, uint64_t story);

/* Removes the messages of deleted stories' scenes, a few at a time. */
void scene_sweep(struct view *view, size_t most);

/* reading.c */
apply_fn apply_reading_set, apply_reading_delete, apply_reading_clear;
answer_fn answer_reading_set, answer_reading;

/* subscription.c */
apply_fn apply_subscribe, apply_unsubscribe, apply_preferences_set;
answer_fn answer_subscription, answer_subscriptions, answer_subscribers, answer_subscribers_among,
    answer_preferences;

/* notification.c */
apply_fn apply_notifications_mark;
answer_fn answer_notifications, answer_notifications_mark;

/* webhook.c */
apply_fn apply_webhook_set, apply_webhook_delete, apply_webhook_retry, apply_webhook_report;
answer_fn answer_webhook_set, answer_webhook, answer_webhooks;

/* The event is about to be removed: webhooks that were not told of it have it given up. */
void webhook_forget_event(struct view *view, uint64_t id, struct bytes event);

/* once.c */

/* Whether the operation has happened already, not too long ago, and what is kept of it. */
bool once_find(struct view *view, const struct tidings_op *op, struct once_record *record);

/* The same, however long ago. */
bool once_get(struct view *view, const struct tidings_op *op, struct once_record *record);

/* Keeps the answer of the operation under way. */
void once_keep(struct view *view, const struct tidings_op *op, struct tidings_text answer);

/* Forgets what is too old, a few at a time. */
void once_sweep(struct view *view, size_t most);

/* op.c */
bool op_writes(enum tidings_op_kind kind);
enum tidings_err op_apply(struct view *view, struct tidings_call *call);
enum tidings_err op_answer(struct view *view, struct reply *reply);

#endif
