/* SPDX-License-Identifier: MIT */
/*
 * Posts arrive as fast as they can for a fan who reads none, and readers ask for the badge as fast as
 * they can. Total and as_of of one answer must be of one moment: marking up to as_of takes exactly the total. That is done
 * in the end, with one answer after the other, the least total first. A token from a later moment than the total would let
 * a mark-read swallow what the reader has never seen.
 */
#include "scenes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FAN = 50, FIRST = 1, AUTHORS_HERE = 4, PUBLISHERS = 24, LOOKERS = 10 };

struct sample {
    struct tidings_moment as_of;
    uint64_t total;
};

/* A thread, and what it has to tell: how many posts it published, or different answers it got. */
struct witness {
    struct seat seat;
    uint64_t posts;
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
        witness->posts += ask(seat, &op);
    }
    return NULL;
}

static void *look(void *arg)
{
    struct witness *witness = arg;
    struct seat *seat = &witness->seat;
    struct tidings_op op = op_of(TIDINGS_OP_BADGE, FAN);
    struct sample last = {{{0}}, 0};

    while (world_goes_on(seat->world) && ask(seat, &op)) {
        struct sample sample = {seat->answer.u.badge.as_of, seat->answer.u.badge.total};

        if (memcmp(&sample, &last, sizeof sample) != 0)
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

static int by_total(const void *a, const void *b)
{
    uint64_t x = ((const struct sample *)a)->total;
    uint64_t y = ((const struct sample *)b)->total;

    return x < y ? -1 : x > y;
}

/* All samples, by their totals; *n of them. */
static struct sample *gather(const struct witness *lookers, size_t *n)
{
    struct sample *samples;

    *n = 0;
    for (unsigned i = 0; i < LOOKERS; i++)
        *n += lookers[i].n;
    samples = calloc(*n + 1, sizeof *samples);
    *n = 0;
    for (unsigned i = 0; i < LOOKERS; i++) {
        memcpy(samples + *n, lookers[i].samples, lookers[i].n * sizeof *samples);
        *n += lookers[i].n;
    }
    qsort(samples, *n, sizeof *samples, by_total);
    return samples;
}

/* Each mark must bring those that are read to the total of the answer that its token is of. */
static void check_samples(struct seat *seat, const struct sample *samples, size_t n, uint64_t posts)
{
    struct tidings_op op = op_of(TIDINGS_OP_MARK_READ, FAN);
    uint64_t marked = 0;

    for (size_t i = 0; i < n; i++) {
        op.u.mark.up_to = samples[i].as_of;
        if (!ask(seat, &op))
            return;
        marked += seat->answer.u.mark.marked;
        if (marked != samples[i].total) {
            world_fail(seat->world, "total %" PRIu64 ", but %" PRIu64 " posts up to its as_of",
                       samples[i].total, marked);
            return;
        }
    }
    if (marked + (n > 0 ? seat->answer.u.mark.total : posts) != posts)
        world_fail(seat->world, "%" PRIu64 " posts, and others were marked", posts);
}

static void run_and_check(struct world *world, struct witness *witnesses)
{
    pthread_t threads[PUBLISHERS + LOOKERS];
    struct sample *samples;
    uint64_t posts = 0;
    size_t n;

    world->end_ns = monotonic_ns() + (int64_t)test_seconds * 1000000000;
    for (unsigned i = 0; i < PUBLISHERS + LOOKERS; i++)
        pthread_create(&threads[i], NULL, i < PUBLISHERS ? publish : look, &witnesses[i]);
    for (unsigned i = 0; i < PUBLISHERS + LOOKERS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < PUBLISHERS; i++)
        posts += witnesses[i].posts;
    samples = gather(witnesses + PUBLISHERS, &n);
    if (!atomic_load(&world->failed))
        check_samples(&witnesses[0].seat, samples, n, posts);
    printf("    %" PRIu64 " posts, %zu answers about them\n", posts, n);
    free(samples);
}

bool total_and_as_of_are_of_one_moment(const char *dir, uint64_t seed)
{
    struct witness *witnesses;
    struct tidings_options options;
    struct world world;
    bool ok;

    tidings_options_init(&options);
    options.settings.map_mb = 4096;
    options.settings.publish_burst = 1000000;
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
