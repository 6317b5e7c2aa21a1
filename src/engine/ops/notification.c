/* SPDX-License-Identifier: MIT */
/*
 * Notifications: a scene is notified to those who were subscribed, and wanted to be told, when it
 * was published. As with the inbox nothing is stored of it but the subscription's spans and what
 * was read; the rest is arithmetic on ties. Scenes that are deleted, and those of deleted stories,
 * are not in the list.
 */
#include "domain/ids.h"
#include "engine/inbox/merge.h"
#include "engine/ops/ops.h"
#include "engine/ops/story.h"

enum { RESULT_MARKED }; /* call->result */

/* All pairs of the user with stories that are not deleted. */
static size_t scan_open(struct view *view, uint64_t user, struct tie_stored **stored)
{
    size_t n = tie_scan(view, &realm_scenes, user, stored), kept = 0;
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
        unread += tie_count_stored(view, &realm_scenes, user, &stored[i]).unread;
    return unread;
}

/* ---- Marking -------------------------------------------------------------------------------- */

/* One notification to be marked; it may have left the list since. */
struct target {
    uint32_t seq;
    bool gone;
    struct tie *tie;
};

static enum tidings_err find_targets(struct view *view, const struct tidings_op *op,
                                     struct target *targets, struct tie **ties, size_t *n_ties)
{
    for (size_t i = 0; i < op->u.mark.n_post_ids; i++) {
        struct scene_record scene;
        if (!view_scene(view, op->u.mark.post_ids[i], &scene))
            return TIDINGS_NOT_FOUND;
        struct tie *tie = tie_among(view, &realm_scenes, op->user_id, scene.story, ties, n_ties);
        if (!tie || !tie_has(tie, scene.seq))
            return TIDINGS_NOT_FOUND;
        targets[i] = (struct target){scene.seq, scene.deleted || head_is_closed(tie->head), tie};
    }
    return TIDINGS_OK;
}

static bool mark_one(struct view *view, const struct target *target)
{
    struct readmap map;
    unsigned i = target->seq % READMAP_POSTS;
    tie_readmap(view, target->tie, target->seq, &map);
    if (target->gone || readmap_has(map.read, i))
        return false;
    uint64_t before = map.read;
    readmap_mark(&map, i, view->stamp, false);
    tie_put_readmap(view, target->tie, target->seq, &map, before);
    return true;
}

static enum tidings_err mark_ids(struct view *view, struct tidings_call *call)
{
    size_t n = call->op->u.mark.n_post_ids, n_ties = 0;
    struct target *targets = view_array(view, view->scratch, n, sizeof *targets);
    struct tie **ties = view_array(view, view->scratch, n, sizeof *ties);
    uint64_t marked = 0;
    if (view_failed(view))
        return TIDINGS_OK;
    enum tidings_err err = find_targets(view, call->op, targets, ties, &n_ties);
    if (err)
        return err;
    for (size_t i = 0; i < n; i++)
        marked += mark_one(view, &targets[i]);
    for (size_t i = 0; marked && i < n_ties; i++)
        tie_save(view, ties[i]);
    call->result[RESULT_MARKED] = marked;
    return TIDINGS_OK;
}

static enum tidings_err mark_up_to(struct view *view, struct tidings_call *call)
{
    uint64_t up_to = call->op->u.mark.up_to.part[0], marked = 0;
    struct tie *ties;
    /* Tokens come from answers, and none of those knows of anything newer than this. */
    if (up_to > view->before) {
        call->field = "up_to";
        return TIDINGS_INVALID;
    }
    size_t n = tie_list_in(view, &realm_scenes, call->op->user_id, &ties);
    /* All of them settle before the first change: it moves the memory that they were read from. */
    for (size_t i = 0; i < n; i++)
        tie_settle(view, &ties[i]);
    for (size_t i = 0; i < n; i++)
        if (!head_is_closed(ties[i].head) && tie_unread(view, &ties[i]))
            marked += tie_mark_below(view, &ties[i], head_posts_below(ties[i].head, up_to + 1));
    call->result[RESULT_MARKED] = marked;
    return TIDINGS_OK;
}

enum tidings_err apply_notifications_mark(struct view *view, struct tidings_call *call)
{
    return call->op->u.mark.n_post_ids ? mark_ids(view, call) : mark_up_to(view, call);
}

/* ---- Answering ------------------------------------------------------------------------------ */

enum tidings_err answer_notifications_mark(struct view *view, struct reply *reply)
{
    uint64_t user = reply->op->user_id;
    struct tie_stored *stored;
    size_t n = scan_open(view, user, &stored);
    reply->answer->u.notifications_mark.marked = reply->call->result[RESULT_MARKED];
    reply->answer->u.notifications_mark.unread = count_unread(view, user, stored, n);
    return TIDINGS_OK;
}

static void fill_notification(struct view *view, struct reply *reply, const struct tie *tie,
                              uint32_t seq, uint64_t id)
{
    struct post_record story;
    struct scene_record scene;
    if (view_story(view, tie->author, &story) || !view_scene(view, id, &scene)) {
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
            .created_at = id_time_ms(id),
            .is_read = tie_read_stamp(view, tie, seq) != 0,
        };
}

enum tidings_err answer_notifications(struct view *view, struct reply *reply)
{
    struct merge merge = {
        .view = view,
        .realm = &realm_scenes,
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
    reply->answer->u.notifications.as_of.part[0] = view->last_id;
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
