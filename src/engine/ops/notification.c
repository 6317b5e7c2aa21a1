/* SPDX-License-Identifier: MIT */
/*
 * Notifications: a scene is notified to those who were subscribed, and wanted to be told, when it
 * was published. As with the inbox nothing is stored of it but the subscription's spans and what
 * was read; the rest is arithmetic on ties. Scenes that are deleted, and those of deleted stories,
 * are not in the list.
 */
#include "domain/ids.h"
#include "engine/inbox/merge.h"
#include "engine/ops/halves.h"
#include "engine/ops/marks.h"
#include "engine/ops/story.h"

/* All pairs of the user with stories that are not deleted. */
static size_t scan_open(struct view *view, uint64_t user, struct tie_stored **stored)
{
    size_t n = tie_scan(view, REALM_SCENES, user, stored), kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!head_is_closed((*stored)[i].head))
            (*stored)[kept++] = (*stored)[i];
    return kept;
}

static uint64_t count_unread(struct view *view, uint64_t user, const struct tie_stored *stored,
                             size_t n)
{
    uint64_t unread = 0;
    for (size_t i = 0; i < n; i++)
        unread += tie_count_stored(view, REALM_SCENES, user, &stored[i]).unread;
    return unread;
}

/* ---- Marking -------------------------------------------------------------------------------- */

static bool find_scene(struct view *view, uint64_t id, uint64_t *story, uint32_t *seq, bool *gone)
{
    struct scene_record scene;
    if (!view_scene(view, id, &scene))
        return false;
    *story = scene.story;
    *seq = scene.seq;
    *gone = scene.deleted;
    return true;
}

/* There is no history of these. */
static bool mark_read(struct view *view, const struct marked *marked, struct history_entry *entry)
{
    entry->stamp = 0;
    return marks_read(view, marked, false);
}

enum tidings_err change_notifications_mark(struct view *view, struct reply *reply)
{
    static const struct marking marking = {REALM_SCENES, find_scene, mark_read, NULL};
    uint64_t *marked = &reply->answer->u.notifications_mark.marked, user = reply->op->user_id;
    enum tidings_err err = reply->op->u.mark.n_post_ids
                               ? marks_by_id(view, reply, &marking, marked)
                               : marks_up_to(view, reply, REALM_SCENES, 0, marked);
    if (!err && *marked)
        view_event(view, TIDINGS_EVENT_NOTIFICATIONS_READ, user, user, 0, (int64_t)*marked);
    return err;
}

enum tidings_err answer_notifications_mark(struct view *view, struct reply *reply)
{
    uint64_t user = reply->op->user_id;
    struct tie_stored *stored;
    size_t n = scan_open(view, user, &stored);
    reply->answer->u.notifications_mark.unread = count_unread(view, user, stored, n);
    return TIDINGS_OK;
}

/* ---- The list ------------------------------------------------------------------------------- */

static void fill_notification(struct view *view, struct reply *reply, const struct tie *tie,
                              uint32_t seq, uint64_t id)
{
    struct post_record story;
    struct scene_record scene;
    if (!story_exists(view, tie->author, &story) || !view_scene(view, id, &scene)) {
        view_corrupt(view);
        return;
    }
    reply->answer->u.notifications.rows[reply->answer->u.notifications.n++] =
        (struct tidings_notification){
            .id = id,
            .story_id = tie->author,
            .author_id = story.author,
            .story_title = view_text(view, reply->arena, story.title),
            .scene_title = view_text(view, reply->arena, scene.title),
            .created_at = view_time(view, id),
            .is_read = tie_read_stamp(view, tie, seq) != 0,
        };
}

enum tidings_err answer_notifications(struct view *view, struct reply *reply)
{
    struct merge merge = {
        .view = view,
        .realm = REALM_SCENES,
        .viewer = reply->op->user_id,
        .scope = SCOPE_ALIVE,
        .filter = TIDINGS_ALL,
    };
    size_t limit = view_limit(view, &reply->op->u.page);
    struct tie_stored *stored;
    struct tie *tie;
    uint32_t seq;
    uint64_t id, last = 0;

    size_t n = scan_open(view, merge.viewer, &stored);
    reply->answer->u.notifications.unread = count_unread(view, merge.viewer, stored, n);
    reply->answer->u.notifications.as_of = view->rows->moment(view);
    reply->answer->u.notifications.rows =
        view_array(view, reply->arena, limit, sizeof *reply->answer->u.notifications.rows);
    merge_add_all(&merge, stored, n, reply->op->u.page.after.a);
    merge_begin(&merge);
    while (!view_failed(view) && merge_next(&merge, &tie, &seq, &id)) {
        if (reply->answer->u.notifications.n == limit) {
            reply->answer->u.notifications.next.a = last;
            break;
        }
        fill_notification(view, reply, tie, seq, id);
        last = id;
    }
    return TIDINGS_OK;
}
