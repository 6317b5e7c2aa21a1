/* SPDX-License-Identifier: MIT */
/* Scenes are published, edited and deleted while readers subscribe and unsubscribe, turn notifications off
 * and on, and mark them: in every answer unread is the number of unread notifications. */
#include "stories.h"

#include "scenes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A thread's place: the seat comes first. */
struct place {
    struct seat seat;
    struct stories *stories;
    uint64_t living[LIVING_MOST]; /* a publisher's scenes */
    uint64_t story_of[LIVING_MOST];
    size_t n_living;
    struct copy copy; /* a client's */
};

static uint64_t some_subscriber(struct seat *seat)
{
    return FIRST_SUBSCRIBER + rng_below(&seat->rng, SUBSCRIBERS);
}

static uint64_t author_of(const struct stories *stories, uint64_t story_id)
{
    for (unsigned i = 0; i < STORIES; i++) {
        if (stories->ids[i] == story_id)
            return FIRST_AUTHOR + i;
    }
    return 0;
}

/* ---- Publishers ---------------------------------------------------------------------------- */

static uint64_t publish_scene(struct seat *seat, const struct stories *stories, unsigned number)
{
    const struct tidings_message messages[2] = {{0, {"one", 3}},
                                                {0, {"[img]http://p/2[/img]", 21}}};
    struct tidings_op op = op_of(TIDINGS_OP_SCENE_PUBLISH, FIRST_AUTHOR + number);

    op.u.scene.story_id = stories->ids[number];
    op.u.scene.title = (struct tidings_text){"scene", 5};
    op.u.scene.messages = messages;
    op.u.scene.n_messages = rng_below(&seat->rng, 3);
    return ask(seat, &op) ? seat->answer.u.scene.id : 0;
}

static void delete_scene(struct place *place)
{
    struct tidings_op op;
    size_t pick = rng_below(&place->seat.rng, place->n_living);

    op = op_of(TIDINGS_OP_SCENE_DELETE, author_of(place->stories, place->story_of[pick]));
    op.u.scene_id.scene_id = place->living[pick];
    ask(&place->seat, &op);
    place->n_living--;
    place->living[pick] = place->living[place->n_living];
    place->story_of[pick] = place->story_of[place->n_living];
}

static void edit_scene(struct place *place)
{
    size_t pick = rng_below(&place->seat.rng, place->n_living);
    struct tidings_op op =
        op_of(TIDINGS_OP_SCENE_EDIT, author_of(place->stories, place->story_of[pick]));

    op.u.scene.scene_id = place->living[pick];
    op.u.scene.title = rng_percent(&place->seat.rng, 50) ? (struct tidings_text){"new", 3}
                                                         : (struct tidings_text){"newer", 5};
    ask(&place->seat, &op);
}

static void doom(struct place *place)
{
    struct tidings_op op = op_of(TIDINGS_OP_DELETE, FIRST_AUTHOR + DOOMED);

    op.u.post.post_id = place->stories->ids[DOOMED];
    ask(&place->seat, &op);
}

static void *publisher(void *arg)
{
    struct place *place = arg;
    struct seat *seat = &place->seat;
    bool doomed = seat->number != 0;

    while (world_goes_on(seat->world)) {
        unsigned number = (unsigned)rng_below(&seat->rng, KEPT);
        uint64_t id;

        if (!doomed && monotonic_ns() > place->stories->half_ns) {
            doom(place);
            doomed = true;
        }
        if (place->n_living == LIVING_MOST || (place->n_living > 0 && rng_percent(&seat->rng, 30)))
            delete_scene(place);
        if (place->n_living > 0 && rng_percent(&seat->rng, 20))
            edit_scene(place);
        if (rng_percent(&seat->rng, 10))
            publish_scene(seat, place->stories, KEPT);
        id = publish_scene(seat, place->stories, number);
        if (id == 0)
            continue;
        place->living[place->n_living] = id;
        place->story_of[place->n_living++] = place->stories->ids[number];
    }
    return NULL;
}

/* ---- Those who are told -------------------------------------------------------------------- */

static void *toggler(void *arg)
{
    struct place *place = arg;
    struct seat *seat = &place->seat;

    while (world_goes_on(seat->world)) {
        bool on = rng_percent(&seat->rng, 60);
        struct tidings_op op =
            op_of(on ? TIDINGS_OP_SUBSCRIBE : TIDINGS_OP_UNSUBSCRIBE, some_subscriber(seat));

        op.u.post.post_id = place->stories->ids[rng_below(&seat->rng, KEPT)];
        if (rng_percent(&seat->rng, 25)) {
            op = op_of(TIDINGS_OP_PREFERENCES_SET, op.user_id);
            op.u.preferences.story_updates = on;
        }
        ask(seat, &op);
    }
    return NULL;
}

/* All of the user's notifications. invariants.h counts them. */
static bool look_at_notifications(struct seat *seat, uint64_t user)
{
    struct tidings_op op = op_of(TIDINGS_OP_NOTIFICATIONS, user);

    op.u.page.limit = (uint32_t)seat->world->options.settings.page_max;
    if (!ask(seat, &op))
        return false;
    if (seat->answer.u.notifications.next.a != 0)
        world_fail(seat->world, "more notifications than scenes");
    return true;
}

static void *marker(void *arg)
{
    struct place *place = arg;
    struct seat *seat = &place->seat;

    while (world_goes_on(seat->world)) {
        struct tidings_op op = op_of(TIDINGS_OP_NOTIFICATIONS_MARK, some_subscriber(seat));
        uint64_t ids[20];
        size_t n = rng_between(&seat->rng, 1, 20);

        if (!look_at_notifications(seat, op.user_id) || seat->answer.u.notifications.n == 0)
            continue;
        if (n > seat->answer.u.notifications.n)
            n = seat->answer.u.notifications.n;
        for (size_t i = 0; i < n; i++)
            ids[i] = seat->answer.u.notifications.rows[i].id;
        if (rng_percent(&seat->rng, 20)) {
            op.u.mark.up_to = seat->answer.u.notifications.as_of;
        } else {
            op.u.mark.post_ids = ids;
            op.u.mark.n_post_ids = n;
        }
        ask(seat, &op);
    }
    return NULL;
}

/* The keeper marks exactly what was unread a moment before, and nothing that came since. */
static bool keep(struct seat *seat)
{
    struct tidings_op look = op_of(TIDINGS_OP_NOTIFICATIONS, KEEPER);
    struct tidings_op mark = op_of(TIDINGS_OP_NOTIFICATIONS_MARK, KEEPER);
    uint64_t unread;

    look.u.page.limit = 1;
    if (!ask(seat, &look))
        return false;
    unread = seat->answer.u.notifications.unread;
    mark.u.mark.up_to = seat->answer.u.notifications.as_of;
    if (!ask(seat, &mark))
        return false;
    if (seat->answer.u.notifications_mark.marked == unread)
        return true;
    world_fail(seat->world, "the keeper had %" PRIu64 " unread notifications and marked %" PRIu64,
               unread, seat->answer.u.notifications_mark.marked);
    return false;
}

static void *looker(void *arg)
{
    struct place *place = arg;
    struct seat *seat = &place->seat;

    while (world_goes_on(seat->world)) {
        uint64_t story = place->stories->ids[rng_below(&seat->rng, STORIES)];
        uint64_t user = some_subscriber(seat);
        struct tidings_op op = op_of(TIDINGS_OP_SCENES, user);

        look_at_notifications(seat, user);
        op.u.scenes.story_id = story;
        ask(seat, &op);
        op.kind = TIDINGS_OP_SUBSCRIBERS;
        op.role = TIDINGS_ROLE_SERVICE;
        ask(seat, &op);
        op = op_of(TIDINGS_OP_SUBSCRIPTIONS, user);
        ask(seat, &op);
        if (seat->number == 0)
            keep(seat);
    }
    return NULL;
}

/* ---- Devices and clients ------------------------------------------------------------------- */

static void *device(void *arg)
{
    struct place *place = arg;
    struct seat *seat = &place->seat;

    while (world_goes_on(seat->world)) {
        struct tidings_op op = op_of(TIDINGS_OP_READING_SET, DEVICES_USER);
        unsigned way = (unsigned)rng_below(&seat->rng, 100);
        unsigned number = (unsigned)rng_below(&seat->rng, READ_STORIES);

        /* A clock that is ahead or behind; most of the time what is told comes first. */
        op.u.reading.modified_at =
            (int64_t)time(NULL) * 1000 + 1000 - (int64_t)rng_below(&seat->rng, 2000);
        if (way < 5) {
            op.kind = TIDINGS_OP_READING_CLEAR;
        } else {
            op.u.reading.story_id = place->stories->ids[number];
            if (way < 20)
                op.kind = TIDINGS_OP_READING_DELETE;
            else if (way < 80)
                op.u.reading.scene_id = atomic_load(&place->stories->scenes[number]);
        }
        ask(seat, &op);
    }
    return NULL;
}

static size_t number_of(const struct stories *stories, uint64_t story_id)
{
    size_t i = 0;

    while (i < READ_STORIES && stories->ids[i] != story_id)
        i++;
    return i;
}

bool copy_catch_up(struct seat *seat, const struct stories *stories, struct copy *copy)
{
    struct tidings_op op = op_of(TIDINGS_OP_READING, DEVICES_USER);
    const struct tidings_answer *answer = &seat->answer;

    op.u.readings.delta = true;
    do {
        op.u.readings.since = copy->version;
        op.u.readings.page.limit = (uint32_t)rng_between(&seat->rng, 1, 3);
        if (!ask(seat, &op))
            return false;
        for (size_t i = 0; i < answer->u.readings.n_deleted; i++)
            memset(&copy->rows[number_of(stories, answer->u.readings.deleted[i])], 0,
                   sizeof copy->rows[0]);
        for (size_t i = 0; i < answer->u.readings.n; i++)
            copy->rows[number_of(stories, answer->u.readings.rows[i].story_id)] =
                answer->u.readings.rows[i];
        copy->version = answer->u.readings.version;
    } while (answer->u.readings.more);
    return true;
}

static void *client(void *arg)
{
    struct place *place = arg;

    while (world_goes_on(place->seat.world) &&
           copy_catch_up(&place->seat, place->stories, &place->copy))
        ;
    return NULL;
}

/* ---- The test ------------------------------------------------------------------------------ */

static const struct {
    void *(*run)(void *place);
    unsigned n;
} crew[] = {
    {publisher, PUBLISHERS}, {toggler, TOGGLERS}, {marker, MARKERS},
    {looker, LOOKERS},       {device, DEVICES},   {client, CLIENTS},
};

enum { THREADS = PUBLISHERS + TOGGLERS + MARKERS + LOOKERS + DEVICES + CLIENTS };

static bool begin(struct seat *seat, struct stories *stories)
{
    struct tidings_op subscribe = op_of(TIDINGS_OP_SUBSCRIBE, KEEPER);

    for (unsigned i = 0; i < STORIES; i++) {
        struct tidings_op op = op_of(TIDINGS_OP_PUBLISH, FIRST_AUTHOR + i);

        op.u.publish.kind = TIDINGS_STORY;
        op.u.publish.title = (struct tidings_text){"story", 5};
        if (!ask(seat, &op))
            return false;
        stories->ids[i] = seat->answer.u.post.id;
    }
    for (unsigned i = 0; i < READ_STORIES; i++) {
        atomic_store(&stories->scenes[i], publish_scene(seat, stories, i));
        if (atomic_load(&stories->scenes[i]) == 0)
            return false;
    }
    subscribe.u.post.post_id = stories->ids[KEPT];
    return ask(seat, &subscribe);
}

static bool same_copy(struct seat *seat, const struct copy *a, const struct copy *b)
{
    for (unsigned i = 0; i < READ_STORIES; i++) {
        const struct tidings_reading *x = &a->rows[i];
        const struct tidings_reading *y = &b->rows[i];

        if (x->story_id != y->story_id || x->scene_id != y->scene_id ||
            x->modified_at != y->modified_at)
            world_fail(seat->world, "a client is wrong about story number %u", i);
    }
    return !atomic_load(&seat->world->failed);
}

/* Who followed all the way has what one has who asks only now. */
static bool clients_agree(struct place *places, const struct stories *stories)
{
    struct place *first = &places[THREADS - CLIENTS];
    struct copy fresh = {.version = 0};

    if (!copy_catch_up(&first->seat, stories, &fresh))
        return false;
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (!copy_catch_up(&first[i].seat, stories, &first[i].copy) ||
            !same_copy(&first->seat, &first[i].copy, &fresh))
            return false;
    }
    return true;
}

static void run_threads(struct stories *stories, struct place *places)
{
    pthread_t threads[THREADS];
    unsigned n = 0;

    stories->world.end_ns = monotonic_ns() + (int64_t)test_seconds * 1000000000;
    stories->half_ns = monotonic_ns() + (int64_t)test_seconds * 500000000;
    for (unsigned i = 0; i < sizeof crew / sizeof crew[0]; i++) {
        for (unsigned j = 0; j < crew[i].n; j++, n++) {
            places[n].stories = stories;
            places[n].seat.number = j;
            pthread_create(&threads[n], NULL, crew[i].run, &places[n]);
        }
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

bool notifications_are_counted_right(const char *dir, uint64_t seed)
{
    struct stories *stories = calloc(1, sizeof *stories);
    struct place *places = calloc(THREADS, sizeof *places);
    struct tidings_options options;
    bool ok;

    tidings_options_init(&options);
    options.settings.publish_burst = 1000000;
    options.settings.follow_burst = 1000000; /* the preferences take of it, too */
    options.settings.follow_refill_ms = 1;
    options.settings.map_mb = 4096;
    options.settings.log_segment_mb = 1;
    options.settings.snapshot_log_mb = 1;
    options.settings.page_max = 1000;
    options.settings.scenes_max = 1000000;
    if (!world_open(&stories->world, dir, seed, &options.settings))
        return false;
    for (unsigned i = 0; i < THREADS; i++)
        seat_init(&places[i].seat, &stories->world, 8, i);
    ok = begin(&places[0].seat, stories);
    if (ok)
        run_threads(stories, places);
    ok = ok && !atomic_load(&stories->world.failed) && clients_agree(places, stories) &&
         stories_add_up(&places[0].seat, stories) && world_reopen(&stories->world) &&
         stories_add_up(&places[0].seat, stories) && world_verify(&stories->world);
    printf("    %" PRIu64 " answers\n", (uint64_t)atomic_load(&stories->world.answers));
    for (unsigned i = 0; i < THREADS; i++)
        seat_release(&places[i].seat);
    world_close(&stories->world);
    free(places);
    free(stories);
    return ok;
}
