/* SPDX-License-Identifier: MIT */
#include "recording.h"
#include "scenes.h"
#include "support/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FAN = 7, AUTHOR = 8, IN_FLIGHT = 400, ROUNDS = 8 };

/* Calls that are done and wait to be finished. */
struct inbox {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct slot *first;
    struct slot *slots; /* all of them */
};

struct slot {
    struct tidings *engine; /* that has it */
    struct tidings_call call;
    struct tidings_op op;
    struct tidings_answer answer;
    struct inbox *inbox;
    struct slot *next;
    unsigned times_done;
};

static void slot_done(struct tidings_call *call)
{
    struct slot *slot = call->ctx;

    pthread_mutex_lock(&slot->inbox->lock);
    slot->times_done++;
    slot->next = slot->inbox->first;
    slot->inbox->first = slot;
    pthread_cond_signal(&slot->inbox->arrived);
    pthread_mutex_unlock(&slot->inbox->lock);
}

static struct slot *next_done(struct inbox *inbox)
{
    struct slot *slot;

    pthread_mutex_lock(&inbox->lock);
    while (inbox->first == NULL)
        pthread_cond_wait(&inbox->arrived, &inbox->lock);
    slot = inbox->first;
    inbox->first = slot->next;
    pthread_mutex_unlock(&inbox->lock);
    return slot;
}

static struct slot *slots_new(struct inbox *inbox)
{
    struct slot *slots = calloc(IN_FLIGHT, sizeof *slots);

    pthread_mutex_init(&inbox->lock, NULL);
    pthread_cond_init(&inbox->arrived, NULL);
    inbox->first = NULL;
    inbox->slots = slots;
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        slots[i].inbox = inbox;
        tidings_answer_init(&slots[i].answer);
    }
    return slots;
}

static void slots_free(struct inbox *inbox, struct slot *slots)
{
    for (size_t i = 0; i < IN_FLIGHT; i++)
        tidings_answer_release(&slots[i].answer);
    free(slots);
    pthread_cond_destroy(&inbox->arrived);
    pthread_mutex_destroy(&inbox->lock);
}

static void submit(struct world *world, struct slot *slot, const struct tidings_op *op)
{
    slot->op = *op;
    slot->times_done = 0;
    slot->call = (struct tidings_call){
        .op = &slot->op, .answer = &slot->answer, .done = slot_done, .ctx = slot};
    slot->engine = world->engines[(size_t)(slot - slot->inbox->slots) % world->servers];
    tidings_submit(slot->engine, &slot->call);
}

static struct tidings_op publish_op(uint64_t author)
{
    struct tidings_op op = op_of(TIDINGS_OP_PUBLISH, author);

    op.u.publish.kind = TIDINGS_ACTIVITY;
    op.u.publish.title = (struct tidings_text){"x", 1};
    return op;
}

static bool begin(struct seat *seat)
{
    struct tidings_op op = op_of(TIDINGS_OP_FOLLOW, FAN);

    op.u.relation.user_id = AUTHOR;
    return ask(seat, &op);
}

static bool badge_is(struct seat *seat, uint64_t total)
{
    struct tidings_op op = op_of(TIDINGS_OP_BADGE, FAN);

    if (!ask(seat, &op))
        return false;
    if (seat->answer.u.badge.total != total)
        world_fail(seat->world, "badge: expected %" PRIu64 ", got %" PRIu64, total,
                   seat->answer.u.badge.total);
    return seat->answer.u.badge.total == total;
}

/* Everything about one finished call that does not depend on the order. */
static bool finished_well(struct world *world, struct slot *slot)
{
    enum tidings_err err = tidings_finish(slot->engine, &slot->call);

    if (slot->times_done == 1 && err == TIDINGS_OK && slot->answer.err == TIDINGS_OK)
        return true;
    world_fail(world, "%s: done %u times, %s", op_name(slot->op.kind), slot->times_done,
               tidings_err_code(err));
    return false;
}

/* A round: posts, opens of earlier posts, and badges, all in flight at once. *published and
 * *last_id go on from round to round. */
static bool round_of_many(struct world *world, struct inbox *inbox, struct slot *slots,
                          uint64_t *published, uint64_t *last_id)
{
    uint64_t greatest = *last_id;
    uint64_t fresh = 0;
    bool ok = true;

    for (size_t i = 0; i < IN_FLIGHT; i++) {
        struct tidings_op op = publish_op(AUTHOR);

        if (i % 4 == 1)
            op = op_of(TIDINGS_OP_BADGE, FAN);
        submit(world, &slots[i], &op);
    }
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        struct slot *slot = next_done(inbox);

        ok = finished_well(world, slot) && ok;
        if (!ok || slot->op.kind != TIDINGS_OP_PUBLISH)
            continue;
        fresh++;
        if (slot->answer.u.post.id > greatest)
            greatest = slot->answer.u.post.id;
        if (slot->answer.u.post.id <= *last_id) {
            world_fail(world, "post %" PRIu64 " in the round after %" PRIu64,
                       slot->answer.u.post.id, *last_id);
            ok = false;
        }
    }
    *published += fresh;
    *last_id = greatest;
    return ok;
}

static void settings_for(struct tidings_settings *settings)
{
    struct tidings_options options;

    tidings_options_init(&options);
    *settings = options.settings;
    settings->map_mb = 1024;
    settings->publish_burst = 1000000;
}

bool submit_many(const char *dir, uint64_t seed)
{
    struct tidings_settings settings;
    struct world world;
    struct seat seat;
    struct inbox inbox;
    struct slot *slots;
    uint64_t published = 0;
    uint64_t last_id = 0;
    bool ok;

    settings_for(&settings);
    if (!world_open(&world, dir, seed, &settings))
        return false;
    seat_init(&seat, &world, 9, 0);
    slots = slots_new(&inbox);
    ok = begin(&seat);
    for (int i = 0; ok && i < ROUNDS; i++)
        ok = round_of_many(&world, &inbox, slots, &published, &last_id) &&
             badge_is(&seat, published);
    slots_free(&inbox, slots);
    seat_release(&seat);
    world_close(&world);
    return ok;
}

/* Submits posts without waiting; counts those that were made and those that were refused. */
static bool round_of_busy(struct world *world, struct inbox *inbox, struct slot *slots,
                          uint64_t *made, uint64_t *refused)
{
    struct tidings_op op = publish_op(AUTHOR);

    for (size_t i = 0; i < IN_FLIGHT; i++)
        submit(world, &slots[i], &op);
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        struct slot *slot = next_done(inbox);
        enum tidings_err err = tidings_finish(slot->engine, &slot->call);

        *made += err == TIDINGS_OK;
        *refused += err == TIDINGS_BUSY;
        if (err == TIDINGS_BUSY && slot->answer.retry_after_ms <= 0)
            world_fail(world, "busy does not say when to try again");
        if (err != TIDINGS_OK && err != TIDINGS_BUSY)
            world_fail(world, "expected ok or busy, got %s", tidings_err_code(err));
    }
    return !atomic_load(&world->failed);
}

bool submit_to_a_full_queue(const char *dir, uint64_t seed)
{
    struct tidings_settings settings;
    struct world world;
    struct seat seat;
    struct inbox inbox;
    struct slot *slots;
    uint64_t made = 0;
    uint64_t refused = 0;
    bool ok;

    settings_for(&settings);
    settings.queue_max = 2;
    settings.batch_max = 1;
    if (!world_open(&world, dir, seed, &settings))
        return false;
    seat_init(&seat, &world, 9, 1);
    slots = slots_new(&inbox);
    ok = begin(&seat);
    /* Each post waits for the disk, so the first round should do; a machine may be odd. */
    for (int i = 0; ok && i < 50 && (refused == 0 || made == 0); i++)
        ok = round_of_busy(&world, &inbox, slots, &made, &refused) && badge_is(&seat, made);
    if (ok && refused == 0) {
        world_fail(&world, "%" PRIu64 " posts, and never busy", made);
        ok = false;
    }
    slots_free(&inbox, slots);
    seat_release(&seat);
    world_close(&world);
    return ok;
}

/* ---- Readers ------------------------------------------------------------------------------- */

static void *look_often(void *arg)
{
    struct seat *seat = arg;
    struct tidings_op op = op_of(TIDINGS_OP_INBOX, FAN);

    for (int i = 0; i < 300; i++) {
        enum tidings_err err = tidings_run(seat_engine(seat), &op, &seat->answer);

        if (err != TIDINGS_OK && err != TIDINGS_BUSY)
            world_fail(seat->world, "with few readers: %s", tidings_err_code(err));
        if (err == TIDINGS_OK && seat->answer.u.feed.n != 1)
            world_fail(seat->world, "with few readers: %zu rows", seat->answer.u.feed.n);
    }
    return NULL;
}

bool read_with_few_readers(const char *dir, uint64_t seed)
{
    struct tidings_op publish = publish_op(AUTHOR);
    struct tidings_settings settings;
    struct world world;
    struct seat seats[READERS];
    pthread_t threads[READERS];
    bool ok;

    settings_for(&settings);
    settings.readers_max = 2;
    if (!world_open(&world, dir, seed, &settings))
        return false;
    for (unsigned i = 0; i < READERS; i++)
        seat_init(&seats[i], &world, 8, i);
    ok = begin(&seats[0]) && ask(&seats[0], &publish);
    for (unsigned i = 0; i < READERS; i++)
        pthread_create(&threads[i], NULL, look_often, &seats[i]);
    for (unsigned i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    ok = ok && !atomic_load(&world.failed);
    for (unsigned i = 0; i < READERS; i++)
        seat_release(&seats[i]);
    world_close(&world);
    return ok;
}

bool open_twice(const char *dir, uint64_t seed)
{
    struct tidings_op publish = publish_op(AUTHOR);
    struct tidings_settings settings;
    struct tidings *second = NULL;
    struct world world;
    struct seat seat;
    enum tidings_err err;
    bool ok;

    settings_for(&settings);
    if (!world_open(&world, dir, seed, &settings))
        return false;
    seat_init(&seat, &world, 9, 2);
    ok = begin(&seat);
    err = engine_open(&world.options, &second, NULL);
    if (err != TIDINGS_LOCKED) {
        world_fail(&world, "opened twice: %s", tidings_err_code(err));
        ok = false;
    }
    ok = ok && ask(&seat, &publish) && badge_is(&seat, 1);
    seat_release(&seat);
    world_close(&world);
    return ok;
}
