/* SPDX-License-Identifier: MIT */
/* The halves of all operations, as the table of them demands; for the files of this folder alone. */
#ifndef OPS_HALVES_H
#define OPS_HALVES_H

#include "engine/ops/ops.h"

/* What has nothing to answer, ... */
#define answer_history_delete answer_nothing
#define answer_history_clear  answer_nothing
#define answer_comment_delete answer_nothing
#define answer_reading_delete answer_nothing
#define answer_reading_clear  answer_nothing
#define answer_webhook_delete answer_nothing
#define answer_webhook_report answer_nothing
#define answer_ticket_spend   answer_nothing
#define answer_unfollow       answer_nothing /* the change has said all, here ... */
#define answer_delete         answer_nothing
#define answer_scene_delete   answer_nothing
#define answer_subscribe      answer_nothing
#define answer_unsubscribe    answer_nothing
/* ... and what answers as another does. */
#define answer_mark_unread     answer_mark_read
#define answer_unreact         answer_react
#define answer_comment_hide    answer_comment
#define answer_comment_restore answer_comment
#define answer_preferences_set answer_preferences
#define answer_webhook_retry   answer_webhook_set

#define DECLARE_0(lower)
#define DECLARE_1(lower)                     op_fn change_##lower;
#define X(name, lower, writes, args, answer) DECLARE_##writes(lower) op_fn answer_##lower;
TIDINGS_OPS(X)
#undef X

#endif
