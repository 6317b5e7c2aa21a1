/* SPDX-License-Identifier: MIT */
/* Answers about stories; see invariants.h. */
#include "invariants_parts.h"
#include "support/engine.h"

static void check_scene(struct check *check, const struct tidings_scene *scene, size_t row)
{
    require_text(check, scene->title, "title is text", row);
    require(check, scene->title.n > 0, "a scene has a title", row);
    require(check, scene->id >= 1 && scene->id <= TIDINGS_ID_MAX, "scene ids are below 2^53", row);
    require(check, scene->id > scene->story_id, "a scene is younger than its story", row);
    require(check, scene->number >= 1, "scenes are numbered from 1", row);
    require(check, scene->edited_at == 0 || scene->edited_at >= scene->created_at,
            "edited after it was made", row);
}

static void check_messages(struct check *check, const struct tidings_scene *scene)
{
    check_scene(check, scene, 0);
    for (size_t i = 0; i < scene->n_messages; i++) {
        uint64_t id = scene->messages[i].id;

        require_text(check, scene->messages[i].text, "text is text", i);
        require(check, id >= 1 && id <= TIDINGS_ID_MAX, "message ids are below 2^53", i);
        for (size_t j = 0; j < i; j++)
            require(check, scene->messages[j].id != id, "no message twice", i);
    }
}

static void check_scenes(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_scene *rows = answer->u.scenes.rows;

    require_page(check, &check->op->u.scenes.page, answer->u.scenes.n, answer->u.scenes.next);
    for (size_t i = 0; i < answer->u.scenes.n; i++) {
        check_scene(check, &rows[i], i);
        require(check, rows[i].story_id == check->op->u.scenes.story_id, "of this story", i);
        require(check, i == 0 || rows[i].number > rows[i - 1].number, "in order", i);
        require(check, i == 0 || rows[i].id > rows[i - 1].id, "in the order of publishing", i);
    }
}

static void check_reading(struct check *check, const struct tidings_reading *record, size_t row)
{
    require_text(check, record->title, "title is text", row);
    require(check, record->modified_at > 0, "it has a time", row);
    require(check, record->scene_id != 0 || record->message_id == 0, "no message without its scene",
            row);
}

static void check_readings(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_reading *rows = answer->u.readings.rows;
    const uint64_t *deleted = answer->u.readings.deleted;
    size_t n = answer->u.readings.n;
    bool delta = check->op->u.readings.delta;

    require(check, answer->u.readings.version <= TIDINGS_ID_MAX, "the version is usable", n);
    for (size_t i = 0; i < n; i++) {
        check_reading(check, &rows[i], i);
        require(check, delta || i == 0 || rows[i].modified_at <= rows[i - 1].modified_at,
                "latest first", i);
        for (size_t j = 0; j < i; j++)
            require(check, rows[j].story_id != rows[i].story_id, "no story twice", i);
        for (size_t j = 0; j < answer->u.readings.n_deleted; j++)
            require(check, rows[i].story_id != deleted[j], "there or gone, not both", i);
    }
    if (!delta) {
        require_page(check, &check->op->u.readings.page, n, answer->u.readings.next);
        require(check, !answer->u.readings.more, "only a delta has more", n);
        return;
    }
    /* What one clearing took away has one version and comes at once, however much it is. */
    require_page(check, &check->op->u.readings.page, n, (struct tidings_cursor){0, 0});
    require(check, answer->u.readings.version >= check->op->u.readings.since,
            "versions do not go back", n);
    require(check,
            !answer->u.readings.more || answer->u.readings.version > check->op->u.readings.since,
            "asking again gets somewhere", n);
}

static void check_subscriptions(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_subscription_row *rows = answer->u.subscriptions.rows;

    require_page(check, &check->op->u.page, answer->u.subscriptions.n,
                 answer->u.subscriptions.next);
    for (size_t i = 0; i < answer->u.subscriptions.n; i++) {
        require_text(check, rows[i].title, "title is text", i);
        require(check, i == 0 || rows[i].since <= rows[i - 1].since, "newest first", i);
        for (size_t j = 0; j < i; j++)
            require(check, rows[j].story_id != rows[i].story_id, "no story twice", i);
    }
}

static void check_notifications(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_notification *rows = answer->u.notifications.rows;
    const struct tidings_page *page = &check->op->u.page;
    struct tidings_cursor next = answer->u.notifications.next;
    size_t n = answer->u.notifications.n;
    uint64_t unread = 0;

    require_page(check, page, n, next);
    for (size_t i = 0; i < n; i++) {
        require_text(check, rows[i].story_title, "story_title is text", i);
        require_text(check, rows[i].scene_title, "scene_title is text", i);
        require(check, i == 0 || rows[i].id < rows[i - 1].id, "newest first", i);
        require(check, engine_covers(&answer->u.notifications.as_of, rows[i].id),
                "as_of covers all shown", i);
        unread += !rows[i].is_read;
    }
    require(check, unread <= answer->u.notifications.unread, "unread covers the page", n);
    if (page->after.a == 0 && page->after.b == 0 && next.a == 0 && next.b == 0)
        require(check, unread == answer->u.notifications.unread, "unread is what is unread", n);
}

void check_story(struct check *check, const struct tidings_answer *answer)
{
    switch (check->op->kind) {
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
    case TIDINGS_OP_SCENE:
        check_messages(check, &answer->u.scene);
        break;
    case TIDINGS_OP_SCENES:
        check_scenes(check, answer);
        break;
    case TIDINGS_OP_READING_SET:
        if (answer->u.reading.record.story_id != 0)
            check_reading(check, &answer->u.reading.record, 0);
        break;
    case TIDINGS_OP_READING:
        check_readings(check, answer);
        break;
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
        require(check,
                answer->u.subscription.subscribed == (check->op->kind == TIDINGS_OP_SUBSCRIBE),
                "it is as asked for", 0);
        break;
    case TIDINGS_OP_SUBSCRIPTIONS:
        check_subscriptions(check, answer);
        break;
    case TIDINGS_OP_SUBSCRIBERS:
        check_users(check, &check->op->u.scenes.page, answer);
        break;
    case TIDINGS_OP_NOTIFICATIONS:
        check_notifications(check, answer);
        break;
    default:
        break;
    }
}
