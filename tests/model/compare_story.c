/* SPDX-License-Identifier: MIT */
/* Answers about stories; see compare.h. */
#include "compare_parts.h"

#include <inttypes.h>

static void same_scene(struct diff *diff, const struct tidings_scene *want,
                       const struct tidings_scene *got)
{
    same_u64(diff, "scene.id", want->id, got->id);
    same_u64(diff, "scene.story_id", want->story_id, got->story_id);
    same_u64(diff, "scene.author_id", want->author_id, got->author_id);
    same_u64(diff, "scene.number", want->number, got->number);
    same_text(diff, "scene.title", want->title, got->title);
    same_u64(diff, "scene.n_messages", want->n_messages, got->n_messages);
    same_i64(diff, "scene.created_at", want->created_at, got->created_at);
    same_i64(diff, "scene.edited_at", want->edited_at, got->edited_at);
}

static void same_whole_scene(struct diff *diff, const struct tidings_scene *want,
                             const struct tidings_scene *got)
{
    same_scene(diff, want, got);
    if (want->n_messages != got->n_messages)
        return;
    diff->list = "messages";
    for (diff->row = 0; diff->row < want->n_messages; diff->row++) {
        same_u64(diff, "id", want->messages[diff->row].id, got->messages[diff->row].id);
        same_text(diff, "text", want->messages[diff->row].text, got->messages[diff->row].text);
    }
    diff->list = NULL;
}

static void same_scenes(struct diff *diff, const struct model_answer *want,
                        const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.scenes.n);

    for (diff->row = 0; diff->row < n; diff->row++)
        same_scene(diff, &want->story.scenes[diff->row], &got->u.scenes.rows[diff->row]);
    same_end(diff, want->next, got->u.scenes.next);
}

static void same_reading(struct diff *diff, const struct tidings_reading *want,
                         const struct tidings_reading *got)
{
    same_u64(diff, "story_id", want->story_id, got->story_id);
    same_u64(diff, "scene_id", want->scene_id, got->scene_id);
    same_u64(diff, "message_id", want->message_id, got->message_id);
    same_i64(diff, "modified_at", want->modified_at, got->modified_at);
    if (want->story_id == 0)
        return;
    same_text(diff, "title", want->title, got->title);
    same_bool(diff, "is_deleted", want->is_deleted, got->is_deleted);
}

static const struct tidings_reading *find_reading(const struct model_answer *want,
                                                  uint64_t story_id)
{
    for (size_t i = 0; i < want->n; i++) {
        if (want->story.readings[i].story_id == story_id)
            return &want->story.readings[i];
    }
    return NULL;
}

/* Whatever a delta says is true now. Whether it says enough, only a client can tell who had a
 * version before: see run_story.h. */
static void same_delta(struct diff *diff, const struct model_answer *want,
                       const struct tidings_answer *got)
{
    diff->list = "rows";
    for (diff->row = 0; diff->row < got->u.readings.n; diff->row++) {
        const struct tidings_reading *row = &got->u.readings.rows[diff->row];
        const struct tidings_reading *there = find_reading(want, row->story_id);

        if (there != NULL)
            same_reading(diff, there, row);
        else if (differs(diff, "story_id"))
            report_add(diff->report, "%" PRIu64 " is not shown any more\n", row->story_id);
    }
    diff->list = "deleted";
    for (diff->row = 0; diff->row < got->u.readings.n_deleted; diff->row++) {
        uint64_t story_id = got->u.readings.deleted[diff->row];

        if (find_reading(want, story_id) != NULL && differs(diff, "story_id"))
            report_add(diff->report, "%" PRIu64 " is still shown\n", story_id);
    }
    diff->list = NULL;
}

static void same_readings(struct diff *diff, const struct model_answer *want,
                          const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.readings.n);

    for (diff->row = 0; diff->row < n; diff->row++)
        same_reading(diff, &want->story.readings[diff->row], &got->u.readings.rows[diff->row]);
    same_end(diff, want->next, got->u.readings.next);
    same_u64(diff, "n_deleted", 0, got->u.readings.n_deleted);
}

static void same_subscriptions(struct diff *diff, const struct model_answer *want,
                               const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.subscriptions.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_subscription_row *a = &want->story.subscriptions[diff->row];
        const struct tidings_subscription_row *b = &got->u.subscriptions.rows[diff->row];

        same_u64(diff, "story_id", a->story_id, b->story_id);
        same_u64(diff, "author_id", a->author_id, b->author_id);
        same_text(diff, "title", a->title, b->title);
        same_i64(diff, "since", a->since, b->since);
        same_bool(diff, "is_deleted", a->is_deleted, b->is_deleted);
    }
    same_end(diff, want->next, got->u.subscriptions.next);
}

static void same_notifications(struct diff *diff, const struct model_answer *want,
                               const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.notifications.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_notification *a = &want->story.notifications[diff->row];
        const struct tidings_notification *b = &got->u.notifications.rows[diff->row];

        same_u64(diff, "id", a->id, b->id);
        same_u64(diff, "story_id", a->story_id, b->story_id);
        same_u64(diff, "author_id", a->author_id, b->author_id);
        same_text(diff, "story_title", a->story_title, b->story_title);
        same_text(diff, "scene_title", a->scene_title, b->scene_title);
        same_i64(diff, "created_at", a->created_at, b->created_at);
        same_bool(diff, "is_read", a->is_read, b->is_read);
    }
    same_end(diff, want->next, got->u.notifications.next);
    same_u64(diff, "unread", want->story.unread, got->u.notifications.unread);
}

void same_story(struct diff *diff, const struct tidings_op *op, const struct model_answer *want,
                const struct tidings_answer *got)
{
    switch (op->kind) {
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
    case TIDINGS_OP_SCENE:
        same_whole_scene(diff, &want->story.scene, &got->u.scene);
        break;
    case TIDINGS_OP_SCENES:
        same_scenes(diff, want, got);
        break;
    case TIDINGS_OP_READING_SET:
        same_bool(diff, "changed", want->changed, got->u.reading.changed);
        same_reading(diff, &want->story.reading, &got->u.reading.record);
        break;
    case TIDINGS_OP_READING:
        if (op->u.readings.delta)
            same_delta(diff, want, got);
        else
            same_readings(diff, want, got);
        break;
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
        same_bool(diff, "changed", want->changed, got->u.subscription.changed);
        same_bool(diff, "subscribed", want->story.subscribed, got->u.subscription.subscribed);
        break;
    case TIDINGS_OP_SUBSCRIPTIONS:
        same_subscriptions(diff, want, got);
        break;
    case TIDINGS_OP_SUBSCRIBERS:
        same_users(diff, want, got);
        break;
    case TIDINGS_OP_SUBSCRIBERS_AMONG:
        same_among(diff, want, got);
        break;
    case TIDINGS_OP_PREFERENCES:
    case TIDINGS_OP_PREFERENCES_SET:
        same_bool(diff, "story_updates", want->story.story_updates,
                  got->u.preferences.story_updates);
        break;
    case TIDINGS_OP_NOTIFICATIONS:
        same_notifications(diff, want, got);
        break;
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        same_u64(diff, "marked", want->marked, got->u.notifications_mark.marked);
        same_u64(diff, "unread", want->story.unread, got->u.notifications_mark.unread);
        break;
    default: /* nothing in the answer */
        break;
    }
}
