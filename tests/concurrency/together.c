/* SPDX-License-Identifier: MIT */
/*
 * Posts arrive as fast as they can for a fan who reads none, and readers ask for the badge as fast as
 * they can. Total and as_of of one answer must be of one moment: the posts with ids up to as_of are
 * exactly the total. That is checked in the end, when all ids are known. A token from a later moment
 * than the total would let a mark-read swallow what the reader has never seen.
 */
#include "scenes.h"

#include <inttypes.h>
#include <stdlib.h>

enum { FAN = 50, FIRST = 1, AUTHORS_HERE = 4, PUBLISHERS = 24, LOOKERS = 10 };

struct sample {
    uint64_t as_of;
    uint64_t total;
};

/* A thread, and what it has to tell: the ids of its posts (as_of), or different answers it got. */
struct witness {
    struct seat seat;
    struct sample *samples;
    size_t n;
    size_t room;
};

static void note(struct witness *witness, struct sample sample)
{
    if (witness->n == witness->room) {
        witness->room = witness->room * 2 + 256;
        witness->samples = realloc(witness->samples, witness->room * sizeof *witness->samples);
    }
    witness->samples[witness->n++] = sample;
}

static void *publish(void *arg)
{
    struct witness *witness = arg;
    struct seat *seat = &witness->seat;

    while (world_goes_on(seat->world)) {
        struct tidings_op op =
            op_of(TIDINGS_OP_PUBLISH, FIRST + rng_below(&seat->rng, AUTHORS_HERE));

        op.u.publish.kind = TIDINGS_NOTE;
        op.u.publish.title = (struct tidings_text){"t", 1};
        if (ask(seat, &op))
            note(witness, (struct sample){seat->answer.u.post.id, 0});
    }
    return NULL;
}

static void *look(void *arg)
{
    struct witness *witness = arg;
    struct seat *seat = &witness->seat;
    struct tidings_op op = op_of(TIDINGS_OP_BADGE, FAN);
    struct sample last = {0, 0};

    while (world_goes_on(seat->world) && ask(seat, &op)) {
        struct sample sample = {seat->answer.u.badge.as_of, seat->answer.u.badge.total};

        if (sample.as_of != last.as_of || sample.total != last.total)
            note(witness, sample);
        last = sample;
    }
    return NULL;
}

static bool follow_all(struct seat *seat)
{
    struct tidings_op op = op_of(TIDINGS_OP_FOLLOW, FAN);

    for (unsigned i = 0; i < AUTHORS_HERE; i++) {
        op.u.relation.user_id = FIRST + i;
        if (!ask(seat, &op))
            return false;
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* All post ids, in order; *n of them. */
static uint64_t *gather_ids(const struct witness *publishers, size_t *n)
{
    uint64_t *ids;

    *n = 0;
    for (unsigned i = 0; i < PUBLISHERS; i++)
        *n += publishers[i].n;
    ids = calloc(*n + 1, sizeof *ids);
    *n = 0;
    for (unsigned i = 0; i < PUBLISHERS; i++) {
        for (size_t j = 0; j < publishers[i].n; j++)
            ids[(*n)++] = publishers[i].samples[j].as_of;
    }
    qsort(ids, *n, sizeof *ids, by_number);
    return ids;
}

/* How many of the ids are not above as_of. */
static size_t count_up_to(const uint64_t *ids, size_t n, uint64_t as_of)
{
    size_t low = 0;

    while (n > 0) {
        size_t half = n / 2;

        if (ids[low + half] <= as_of) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

static void check_samples(struct world *world, const struct witness *looker, const uint64_t *ids,
                          size_t n)
{
    for (size_t i = 0; i < looker->n && !atomic_load(&world->failed); i++) {
        const struct sample *sample = &looker->samples[i];
        size_t posts = count_up_to(ids, n, sample->as_of);

        if (posts != sample->total)
            world_fail(world, "total %" PRIu64 ", but %zu posts up to its as_of %" PRIu64,
                       sample->total, posts, sample->as_of);
    }
}

static void run_and_check(struct world *world, struct witness *witnesses)
{
    pthread_t threads[PUBLISHERS + LOOKERS];
    uint64_t *ids;
    size_t n;

    world->end_ns = monotonic_ns() + (int64_t)test_seconds * 1000000000;
    for (unsigned i = 0; i < PUBLISHERS + LOOKERS; i++)
        pthread_create(&threads[i], NULL, i < PUBLISHERS ? publish : look, &witnesses[i]);
    for (unsigned i = 0; i < PUBLISHERS + LOOKERS; i++)
        pthread_join(threads[i], NULL);
    ids = gather_ids(witnesses, &n);
    for (unsigned i = PUBLISHERS; i < PUBLISHERS + LOOKERS; i++)
        check_samples(world, &witnesses[i], ids, n);
    printf("    %zu posts\n", n);
    free(ids);
}

bool total_and_as_of_are_of_one_moment(const char *dir, uint64_t seed)
{
    struct witness *witnesses;
    struct tidings_options options;
    struct world world;
    bool ok;

    tidings_options_init(&options);
    options.settings.map_mb = 4096;
    if (!world_open(&world, dir, seed, &options.settings))
        return false;
    witnesses = calloc(PUBLISHERS + LOOKERS, sizeof *witnesses);
    for (unsigned i = 0; i < PUBLISHERS + LOOKERS; i++)
        seat_init(&witnesses[i].seat, &world, 7, i);
    ok = follow_all(&witnesses[0].seat);
    if (ok)
        run_and_check(&world, witnesses);
    for (unsigned i = 0; i < PUBLISHERS + LOOKERS; i++) {
        seat_release(&witnesses[i].seat);
        free(witnesses[i].samples);
    }
    free(witnesses);
    ok = ok && !atomic_load(&world.failed);
    world_close(&world);
    return ok;
}
