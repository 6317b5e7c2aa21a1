/* SPDX-License-Identifier: MIT */
#include "bench.h"

/* The same as in bench/cluster's SQL: distinct ones, since the step shares no factor with their number. */
static uint64_t followed_by(const struct world *world, uint64_t user, uint64_t i)
{
    return (user * 7919 + (i + 1) * 104729) % world->authors;
}

static void set_post(const struct world *world, uint64_t author, uint64_t number, struct step *step)
{
    step->author = AUTHORS_FROM + author;
    step->number = (uint32_t)number;
    step->post = world->first_post + author * world->posts + number;
}

static bool mark(const struct world *world, uint64_t turn, struct step *step)
{
    set_post(world, followed_by(world, step->user, turn % world->followed), turn / world->followed,
             step);
    return step->number < world->posts;
}

/* Somebody who has never published. */
static bool follow(const struct world *world, uint64_t turn, struct step *step)
{
    step->author = STRANGERS_FROM + (step->user + turn) % world->authors;
    return turn < world->authors;
}

static bool like(const struct world *world, uint64_t turn, struct step *step)
{
    uint64_t all = world->authors * world->posts;
    uint64_t at = (step->user * 7919 + turn * 104729) % all;
    set_post(world, at / world->posts, at % world->posts, step);
    return turn < all;
}

bool world_step(const struct world *world, enum work work, uint64_t n, struct step *step)
{
    uint64_t turn = n / world->users;
    *step = (struct step){.user = 1 + n % world->users};
    switch (work) {
    case WORK_MARKS:
        return mark(world, turn, step);
    case WORK_FOLLOWS:
        return follow(world, turn, step);
    case WORK_LIKES:
        return like(world, turn, step);
    case WORK_ONE_POST:
        set_post(world, 0, 0, step);
        step->user = NEWCOMERS_FROM + n;
        return true;
    default:
        return true;
    }
}
