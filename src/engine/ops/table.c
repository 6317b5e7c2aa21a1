/* SPDX-License-Identifier: MIT */
/* The table of operations: which function changes, which answers. */
#include "engine/ops/ops.h"

static const struct {
    apply_fn *apply;
    answer_fn *answer;
} ops[] = {
    [TIDINGS_OP_FOLLOW] = {apply_follow, answer_follow},
    [TIDINGS_OP_UNFOLLOW] = {apply_unfollow, answer_unfollow},
    [TIDINGS_OP_PROFILE_SET] = {apply_profile_set, answer_profile_set},
    [TIDINGS_OP_PUBLISH] = {apply_publish, answer_publish},
    [TIDINGS_OP_EDIT] = {apply_edit, answer_edit},
    [TIDINGS_OP_DELETE] = {apply_delete, answer_delete},
    [TIDINGS_OP_OPEN] = {apply_open, answer_open},
    [TIDINGS_OP_MARK_READ] = {apply_mark_read, answer_mark},
    [TIDINGS_OP_MARK_UNREAD] = {apply_mark_unread, answer_mark},
    [TIDINGS_OP_HISTORY_DELETE] = {apply_history_delete, NULL},
    [TIDINGS_OP_HISTORY_CLEAR] = {apply_history_clear, NULL},
    [TIDINGS_OP_REACT] = {apply_react, answer_react},
    [TIDINGS_OP_UNREACT] = {apply_unreact, answer_react},
    [TIDINGS_OP_COMMENT] = {apply_comment, answer_comment},
    [TIDINGS_OP_COMMENT_DELETE] = {apply_comment_delete, NULL},
    [TIDINGS_OP_COMMENT_HIDE] = {apply_comment_hide, answer_comment},
    [TIDINGS_OP_COMMENT_RESTORE] = {apply_comment_restore, answer_comment},
    [TIDINGS_OP_SCENE_PUBLISH] = {apply_scene_publish, answer_scene_publish},
    [TIDINGS_OP_SCENE_EDIT] = {apply_scene_edit, answer_scene_edit},
    [TIDINGS_OP_SCENE_DELETE] = {apply_scene_delete, answer_scene_delete},
    [TIDINGS_OP_READING_SET] = {apply_reading_set, answer_reading_set},
    [TIDINGS_OP_READING_DELETE] = {apply_reading_delete, NULL},
    [TIDINGS_OP_READING_CLEAR] = {apply_reading_clear, NULL},
    [TIDINGS_OP_SUBSCRIBE] = {apply_subscribe, answer_subscription},
    [TIDINGS_OP_UNSUBSCRIBE] = {apply_unsubscribe, answer_subscription},
    [TIDINGS_OP_PREFERENCES_SET] = {apply_preferences_set, answer_preferences},
    [TIDINGS_OP_NOTIFICATIONS_MARK] = {apply_notifications_mark, answer_notifications_mark},
    [TIDINGS_OP_STATUS] = {NULL, answer_status},
    [TIDINGS_OP_FOLLOWING] = {NULL, answer_following},
    [TIDINGS_OP_FOLLOWERS] = {NULL, answer_followers},
    [TIDINGS_OP_FANS_AMONG] = {NULL, answer_fans_among},
    [TIDINGS_OP_COUNTERS] = {NULL, answer_counters},
    [TIDINGS_OP_PROFILE] = {NULL, answer_profile},
    [TIDINGS_OP_POST] = {NULL, answer_post},
    [TIDINGS_OP_AUTHOR_PAGE] = {NULL, answer_author_page},
    [TIDINGS_OP_INBOX] = {NULL, answer_inbox},
    [TIDINGS_OP_BADGE] = {NULL, answer_badge},
    [TIDINGS_OP_UNREAD] = {NULL, answer_unread},
    [TIDINGS_OP_HISTORY] = {NULL, answer_history},
    [TIDINGS_OP_REACTORS] = {NULL, answer_reactors},
    [TIDINGS_OP_REACTED] = {NULL, answer_reacted},
    [TIDINGS_OP_COMMENTS] = {NULL, answer_comments},
    [TIDINGS_OP_STATS] = {NULL, answer_stats},
    [TIDINGS_OP_HOT] = {NULL, answer_hot},
    [TIDINGS_OP_SCENES] = {NULL, answer_scenes},
    [TIDINGS_OP_SCENE] = {NULL, answer_scene},
    [TIDINGS_OP_READING] = {NULL, answer_reading},
    [TIDINGS_OP_SUBSCRIPTIONS] = {NULL, answer_subscriptions},
    [TIDINGS_OP_SUBSCRIBERS] = {NULL, answer_subscribers},
    [TIDINGS_OP_SUBSCRIBERS_AMONG] = {NULL, answer_subscribers_among},
    [TIDINGS_OP_PREFERENCES] = {NULL, answer_preferences},
    [TIDINGS_OP_NOTIFICATIONS] = {NULL, answer_notifications},
    [TIDINGS_OP_WEBHOOK_SET] = {apply_webhook_set, answer_webhook_set},
    [TIDINGS_OP_WEBHOOK_DELETE] = {apply_webhook_delete, NULL},
    [TIDINGS_OP_WEBHOOK_RETRY] = {apply_webhook_retry, answer_webhook_set},
    [TIDINGS_OP_WEBHOOK_REPORT] = {apply_webhook_report, NULL},
    [TIDINGS_OP_WEBHOOKS] = {NULL, answer_webhooks},
    [TIDINGS_OP_WEBHOOK] = {NULL, answer_webhook},
    [TIDINGS_OP_EVENTS] = {NULL, answer_events},
};

_Static_assert(sizeof ops / sizeof *ops == TIDINGS_OP_COUNT, "an operation has no row");

bool op_writes(enum tidings_op_kind kind)
{
    return ops[kind].apply != NULL;
}

enum tidings_err op_apply(struct view *view, struct tidings_call *call)
{
    return ops[call->op->kind].apply(view, call);
}

enum tidings_err op_answer(struct view *view, struct reply *reply)
{
    answer_fn *answer = ops[reply->op->kind].answer;
    return answer ? answer(view, reply) : TIDINGS_OK;
}
