/* SPDX-License-Identifier: MIT */
/* The events tell who subscribed and who had turned notifications off when each scene was published, so
 * they tell who was told of it, without looking at any list. */
#include "stories.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tale_scene {
    uint64_t id;
    uint64_t story_id;
    bool deleted;
    bool told[USERS];
};

/* What the events tell, up to where they have been read. */
struct tale {
    const struct stories *stories;
    bool subscribed[USERS][STORIES];
    bool quiet[USERS];
    bool story_deleted[STORIES];
    struct tale_scene *scenes;
    size_t n_scenes;
    size_t room;
};

static unsigned number_of(const struct tale *tale, uint64_t story_id)
{
    unsigned i = 0;

    while (i + 1 < STORIES && tale->stories->ids[i] != story_id)
        i++;
    return i;
}

static void tell_of_scene(struct tale *tale, const struct tidings_event *event)
{
    struct tale_scene *scene;

    if (tale->n_scenes == tale->room) {
        tale->room = tale->room * 2 + 256;
        tale->scenes = realloc(tale->scenes, tale->room * sizeof *tale->scenes);
    }
    /* Behind those with smaller ids: commits are not in their order on every engine. */
    scene = &tale->scenes[tale->n_scenes++];
    for (; scene > tale->scenes && scene[-1].id > event->target_id; scene--)
        scene[0] = scene[-1];
    memset(scene, 0, sizeof *scene);
    scene->id = event->target_id;
    scene->story_id = event->post_id;
    for (unsigned i = 0; i < USERS; i++)
        scene->told[i] = tale->subscribed[i][number_of(tale, event->post_id)] && !tale->quiet[i];
}

/* Scenes stand in the order of their ids. */
static struct tale_scene *find_scene(const struct tale *tale, uint64_t id)
{
    size_t low = 0;
    size_t high = tale->n_scenes;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (tale->scenes[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < tale->n_scenes && tale->scenes[low].id == id ? &tale->scenes[low] : NULL;
}

static void hear(struct tale *tale, const struct tidings_event *event)
{
    struct tale_scene *scene;

    switch (event->type) {
    case TIDINGS_EVENT_SCENE_PUBLISHED:
        tell_of_scene(tale, event);
        break;
    case TIDINGS_EVENT_SCENE_DELETED:
        scene = find_scene(tale, event->target_id);
        if (scene != NULL)
            scene->deleted = true;
        break;
    case TIDINGS_EVENT_POST_DELETED:
        tale->story_deleted[number_of(tale, event->target_id)] = true;
        break;
    case TIDINGS_EVENT_SUBSCRIPTION_CREATED:
    case TIDINGS_EVENT_SUBSCRIPTION_DELETED:
        tale->subscribed[event->actor_user_id][number_of(tale, event->target_id)] =
            event->type == TIDINGS_EVENT_SUBSCRIPTION_CREATED;
        break;
    case TIDINGS_EVENT_PREFERENCES_CHANGED: /* there is only one setting */
        tale->quiet[event->actor_user_id] = !tale->quiet[event->actor_user_id];
        break;
    default:
        break;
    }
}

static bool hear_all(struct seat *seat, struct tale *tale)
{
    struct tidings_op op = op_of(TIDINGS_OP_EVENTS, 1);

    op.role = TIDINGS_ROLE_SERVICE;
    op.u.page.limit = (uint32_t)seat->world->options.settings.page_max;
    do {
        if (!ask(seat, &op))
            return false;
        for (size_t i = 0; i < seat->answer.u.events.n; i++)
            hear(tale, &seat->answer.u.events.rows[i]);
        op.u.page.after = seat->answer.u.events.next;
    } while (seat->answer.u.events.n == op.u.page.limit);
    return true;
}

/* The newest scene before number `from` that the user must be shown; n_scenes if there is none. */
static size_t next_notice(const struct tale *tale, uint64_t user, size_t from)
{
    while (from-- > 0) {
        const struct tale_scene *scene = &tale->scenes[from];

        if (scene->told[user] && !scene->deleted &&
            !tale->story_deleted[number_of(tale, scene->story_id)])
            return from;
    }
    return tale->n_scenes;
}

/* Row by row what the events say, and as many unread ones as every page claims. */
static bool notifications_add_up(struct seat *seat, const struct tale *tale, uint64_t user)
{
    struct tidings_op op = op_of(TIDINGS_OP_NOTIFICATIONS, user);
    size_t at = next_notice(tale, user, tale->n_scenes);
    uint64_t unread = 0;

    do {
        op.u.page.limit = (uint32_t)rng_between(&seat->rng, 1, 300);
        if (!ask(seat, &op))
            return false;
        for (size_t i = 0; i < seat->answer.u.notifications.n; i++) {
            const struct tidings_notification *row = &seat->answer.u.notifications.rows[i];

            if (at == tale->n_scenes || tale->scenes[at].id != row->id) {
                world_fail(seat->world,
                           "user %" PRIu64 " has a notice of %" PRIu64 ", the events say %" PRIu64,
                           user, row->id, at < tale->n_scenes ? tale->scenes[at].id : 0);
                return false;
            }
            unread += !row->is_read;
            at = next_notice(tale, user, at);
        }
        op.u.page.after = seat->answer.u.notifications.next;
    } while (op.u.page.after.a != 0 || op.u.page.after.b != 0);
    if (at != tale->n_scenes)
        world_fail(seat->world, "user %" PRIu64 " has no notice of %" PRIu64, user,
                   tale->scenes[at].id);
    if (unread != seat->answer.u.notifications.unread)
        world_fail(seat->world, "user %" PRIu64 ": %" PRIu64 " unread, but %" PRIu64 " in the list",
                   user, seat->answer.u.notifications.unread, unread);
    return !atomic_load(&seat->world->failed);
}

static bool subscriptions_add_up(struct seat *seat, const struct tale *tale, uint64_t user)
{
    struct tidings_op op = op_of(TIDINGS_OP_SUBSCRIPTIONS, user);
    unsigned n = 0;

    if (!ask(seat, &op))
        return false;
    for (unsigned i = 0; i < STORIES; i++)
        n += tale->subscribed[user][i];
    if (n != seat->answer.u.subscriptions.n)
        world_fail(seat->world, "user %" PRIu64 " subscribes to %zu stories, the events say %u",
                   user, seat->answer.u.subscriptions.n, n);
    for (size_t i = 0; i < seat->answer.u.subscriptions.n; i++) {
        uint64_t story_id = seat->answer.u.subscriptions.rows[i].story_id;

        if (!tale->subscribed[user][number_of(tale, story_id)])
            world_fail(seat->world, "user %" PRIu64 " subscribes to %" PRIu64, user, story_id);
    }
    return !atomic_load(&seat->world->failed);
}

static bool subscribers_add_up(struct seat *seat, const struct tale *tale, unsigned number)
{
    struct tidings_op op = op_of(TIDINGS_OP_SUBSCRIBERS, 1);
    unsigned n = 0;

    op.role = TIDINGS_ROLE_ADMIN;
    op.u.scenes.story_id = tale->stories->ids[number];
    if (tale->story_deleted[number])
        return true;
    if (!ask(seat, &op))
        return false;
    for (unsigned i = 0; i < USERS; i++)
        n += tale->subscribed[i][number] && !tale->quiet[i];
    if (n != seat->answer.u.users.n)
        world_fail(seat->world, "story %u has %zu subscribers, the events say %u", number,
                   seat->answer.u.users.n, n);
    return !atomic_load(&seat->world->failed);
}

bool stories_add_up(struct seat *seat, const struct stories *stories)
{
    struct tale *tale = calloc(1, sizeof *tale);
    bool ok;

    tale->stories = stories;
    ok = hear_all(seat, tale);
    for (uint64_t user = 1; ok && user < USERS; user++)
        ok = notifications_add_up(seat, tale, user) && subscriptions_add_up(seat, tale, user);
    for (unsigned i = 0; ok && i < STORIES; i++)
        ok = subscribers_add_up(seat, tale, i);
    printf("    %zu scenes\n", tale->n_scenes);
    free(tale->scenes);
    free(tale);
    return ok;
}
