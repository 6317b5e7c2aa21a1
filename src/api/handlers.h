/* SPDX-License-Identifier: MIT */
/* The halves of every route, one file a capability; the table in routes.c puts them together. */
#ifndef API_HANDLERS_H
#define API_HANDLERS_H

#include "api/exchange.h"

typedef bool prepare_fn(struct exchange *ex);
typedef void render_fn(const struct exchange *ex, const struct tidings_answer *answer,
                       struct json_out *out);
typedef void run_fn(struct exchange *ex);

/* relation.c */
prepare_fn prepare_follow, prepare_unfollow, prepare_status, prepare_following, prepare_followers,
    prepare_counters;
render_fn render_follow, render_unfollow, render_status, render_following, render_followers,
    render_counters;

/* A page of users. */
void render_users(const struct exchange *ex, const struct tidings_answer *answer,
                  struct json_out *out, uint8_t purpose);

/* user.c */
prepare_fn prepare_profile_set, prepare_profile, prepare_profile_many, prepare_profile_search,
    prepare_author_page;
render_fn render_profile, render_profile_many, render_profile_search, render_author_page;
run_fn run_user_ids;

/* post.c */
prepare_fn prepare_publish, prepare_post, prepare_post_by_key, prepare_post_many, prepare_edit,
    prepare_delete, prepare_open;
render_fn render_post, render_post_many, render_open;

/* Of many posts: which, and whether one of them is there. */
bool query_posts(struct exchange *ex);
void put_found(struct json_out *out, enum tidings_err err);

/* inbox.c */
prepare_fn prepare_inbox, prepare_badge, prepare_badges, prepare_unread, prepare_mark_read,
    prepare_mark_unread;
render_fn render_inbox, render_badge, render_badges, render_unread, render_mark;

/* What the inbox and an author's page have in common: the filter, and the posts. */
bool query_filter(struct exchange *ex, const char *name);
render_fn render_items;

/* history.c */
prepare_fn prepare_history, prepare_history_delete, prepare_history_clear;
render_fn render_history;

/* reaction.c */
prepare_fn prepare_post_like, prepare_post_fav, prepare_comment_like, prepare_comment_downvote,
    prepare_post_likes, prepare_comment_likes, prepare_my_likes, prepare_my_favs;
render_fn render_reaction, render_likes, render_my_likes, render_my_favs;

/* comment.c */
prepare_fn prepare_comment, prepare_comments, prepare_comment_delete, prepare_comment_hide,
    prepare_comment_restore;
render_fn render_comment, render_comments;

/* hot.c */
prepare_fn prepare_post_stats, prepare_stats_many, prepare_comment_stats, prepare_hot;
render_fn render_stats, render_stats_many, render_hot;

/* scene.c */
prepare_fn prepare_scene_publish, prepare_scenes, prepare_scene, prepare_scene_edit,
    prepare_scene_delete;
render_fn render_scene, render_scenes;

/* reading.c */
prepare_fn prepare_reading_set, prepare_reading, prepare_reading_delete, prepare_reading_clear;
render_fn render_reading_set, render_reading;

/* subscription.c */
prepare_fn prepare_subscribe, prepare_unsubscribe, prepare_subscriptions, prepare_subscribers,
    prepare_preferences, prepare_preferences_set;
render_fn render_subscription, render_subscriptions, render_subscribers, render_preferences;

/* notification.c */
prepare_fn prepare_notifications, prepare_notifications_mark;
render_fn render_notifications, render_notifications_mark;

/* What a notification is in the list and on the stream: members of an open object. */
void put_notification(struct json_out *out, const struct tidings_notification *notice);

/* event.c */
prepare_fn prepare_events;
render_fn render_events;

/* webhook.c */
prepare_fn prepare_webhooks, prepare_webhook, prepare_webhook_set, prepare_webhook_delete,
    prepare_webhook_retry;
render_fn render_webhooks, render_webhook;

/* targets.c */
prepare_fn prepare_targets, prepare_letters, prepare_target_replay, prepare_target_retry,
    prepare_target_rebuild, prepare_target_reconcile;
render_fn render_targets, render_target, render_letters;

/* files.c */
run_fn run_openapi, run_docs, run_console, run_asset;

/* session.c */
run_fn run_session_get, run_session_create, run_session_delete;

/* system.c */
run_fn run_ticket, run_healthz, run_readyz, run_metrics, run_status, run_verify, run_backup;

#endif
