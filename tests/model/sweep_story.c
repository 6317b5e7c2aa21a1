/* SPDX-License-Identifier: MIT */
/* The part of the sweep that asks about stories; see sweep.c. */
#include "sweep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Stories ------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* As many among all the users as there are on the list. */
static bool sweep_subscribers(struct sweep *sweep, const struct model_post *story)
{
    const struct recording *recording = sweep->run->recording;
    struct tidings_op list =
        question(sweep, TIDINGS_OP_SUBSCRIBERS, sweep->run->recording->user_ids[0]);
    struct tidings_op among = list;
    uint64_t ids[MAX_USERS];
    uint64_t n;

    list.role = TIDINGS_ROLE_SERVICE;
    list.u.scenes.story_id = story->id;
    if (!page_through(sweep, list, &n))
        return false;
    memcpy(ids, recording->user_ids, recording->n_users * sizeof ids[0]);
    qsort(ids, recording->n_users, sizeof ids[0], by_number);
    among.kind = TIDINGS_OP_SUBSCRIBERS_AMONG;
    among.role = TIDINGS_ROLE_ADMIN;
    memset(&among.u, 0, sizeof among.u);
    among.u.among.author_id = story->id;
    among.u.among.user_ids = ids;
    among.u.among.n_user_ids = recording->n_users;
    if (!ask(sweep, &among))
        return false;
    if (sweep->run->answer.err == TIDINGS_OK && sweep->run->answer.u.among.n != n &&
        !story->deleted)
        return run_fail(sweep->run,
                        "story %" PRIu64 ": %" PRIu64 " subscribers on the list, %zu among all",
                        story->id, n, sweep->run->answer.u.among.n);
    return true;
}

bool sweep_stories(struct sweep *sweep)
{
    const struct model *model = &sweep->run->model;
    struct tidings_op scenes = question(sweep, TIDINGS_OP_SCENES, 1);
    struct tidings_op scene = question(sweep, TIDINGS_OP_SCENE, 1);
    uint64_t n;

    for (size_t i = 0; i < model->n_posts; i++) {
        if (model->posts[i].kind != TIDINGS_STORY)
            continue;
        scenes.u.scenes.story_id = model->posts[i].id;
        if (!page_through(sweep, scenes, &n) || !sweep_subscribers(sweep, &model->posts[i]))
            return false;
    }
    for (size_t i = 0; i < model->stories.n_scenes; i++) {
        scene.u.scene_id.scene_id = model->stories.scenes[i].id;
        if (!ask(sweep, &scene))
            return false;
    }
    return true;
}

/* ---- A reader ------------------------------------------------------------------------------ */

/* The number of unread notifications is that of the unread rows, in every answer on the way. */
static bool sweep_notifications(struct sweep *sweep, uint64_t viewer)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_NOTIFICATIONS, viewer);
    struct tidings_cursor model_after = {0, 0};
    const struct tidings_answer *answer = &sweep->run->answer;
    uint64_t unread = 0;

    op.u.page.limit = sweep->limit;
    do {
        if (!run_op(sweep->run, &op, model_after))
            return false;
        for (size_t i = 0; i < answer->u.notifications.n; i++)
            unread += !answer->u.notifications.rows[i].is_read;
        op.u.page.after = answer->u.notifications.next;
        model_after = sweep->run->expected.next;
    } while (op.u.page.after.a != 0 || op.u.page.after.b != 0);
    if (unread != answer->u.notifications.unread)
        return run_fail(sweep->run,
                        "user %" PRIu64 ": %" PRIu64 " unread notifications, but %" PRIu64
                        " in the list",
                        viewer, answer->u.notifications.unread, unread);
    return true;
}

/* The list's version is of the same moment: nothing has changed since. */
static bool sweep_list_version(struct sweep *sweep, uint64_t viewer)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_READING, viewer);
    const struct tidings_answer *answer = &sweep->run->answer;

    if (!ask(sweep, &op))
        return false;
    op.u.readings.delta = true;
    op.u.readings.since = answer->u.readings.version;
    if (!ask(sweep, &op))
        return false;
    if (answer->u.readings.n != 0 || answer->u.readings.n_deleted != 0 || answer->u.readings.more)
        return run_fail(sweep->run, "user %" PRIu64 ": a change after the list's own version",
                        viewer);
    return true;
}

/* Clients that were left behind at whatever version, and one that knows nothing. */
static bool sweep_clients(struct sweep *sweep, uint64_t viewer)
{
    struct client fresh = {.user_id = viewer};
    bool ok = run_story_catch_up(sweep->run, &fresh, sweep->now_ms, sweep->limit);

    free(fresh.rows);
    for (size_t i = 0; ok && i < CLIENTS; i++) {
        struct client *client = &sweep->run->story.clients[i];

        /* Some stay behind for longer. */
        if (client->user_id == viewer && client->number != 0 && i % 4 != 0)
            ok = run_story_catch_up(sweep->run, client, sweep->now_ms, sweep->limit);
    }
    return ok;
}

bool sweep_reader(struct sweep *sweep, uint64_t viewer)
{
    struct tidings_op preferences = question(sweep, TIDINGS_OP_PREFERENCES, viewer);
    uint64_t n;

    return page_through(sweep, question(sweep, TIDINGS_OP_READING, viewer), &n) &&
           sweep_list_version(sweep, viewer) && sweep_clients(sweep, viewer) &&
           page_through(sweep, question(sweep, TIDINGS_OP_SUBSCRIPTIONS, viewer), &n) &&
           sweep_notifications(sweep, viewer) && ask(sweep, &preferences);
}
