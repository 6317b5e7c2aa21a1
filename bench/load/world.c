/* SPDX-License-Identifier: MIT */
/*
 * Who asks, and for what. The users and whom they follow are those of `tidings bench-engine`; the
 * comparisons are filled by the same formulas.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "auth/jwt.h"
#include "load.h"

const char *const verb_names[VERB_COUNT] = {
#define X(verb, name) [VERB_##verb] = name,
    VERBS(X)
#undef X
};

/* Authors whom nobody follows at first, so that each follow is a change. */
enum { STRANGERS = 1000000, TOKEN_TTL_S = 86400 };

bool world_open(struct world *world, uint64_t users, uint64_t followed, uint64_t seed)
{
    *world = (struct world){.users = users, .followed = followed, .random = seed};
    world->cursors = calloc(users, CURSOR_BYTES);
    return world->cursors;
}

bool world_sign(struct world *world)
{
    char token[JWT_MAX];
    struct keys_note note = {.error = "TIDINGS_JWT_SECRET is not set"};
    const char *secret = getenv("TIDINGS_JWT_SECRET");
    struct keys *keys = keys_new();
    bool ok = keys && secret && !keys_add_secrets(keys, secret, &note);
    world->tokens = ok ? calloc(world->users, sizeof *world->tokens) : NULL;
    for (uint64_t i = 0; world->tokens && ok && i < world->users; i++)
        ok = jwt_sign(keys, &(struct jwt_grant){.user_id = i + 1, .ttl_s = TOKEN_TTL_S}, time(NULL),
                      token) &&
             (world->tokens[i] = strdup(token));
    keys_unref(keys);
    if (!ok)
        fprintf(stderr, "tidings-load: %s\n", note.error);
    return ok && world->tokens;
}

void world_close(struct world *world)
{
    for (uint64_t i = 0; world->tokens && i < world->users; i++)
        free(world->tokens[i]);
    free(world->tokens);
    free(world->cursors);
    free(world->items);
}

uint64_t world_random(struct world *world)
{
    uint64_t z = world->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

bool world_expect_items(struct world *world, size_t n)
{
    world->items = calloc(n, sizeof *world->items);
    world->items_max = n;
    return world->items;
}

void world_add_item(struct world *world, uint64_t user, uint64_t post)
{
    if (world->n_items < world->items_max)
        world->items[world->n_items++] = (struct item){user, post};
}

void world_shuffle_items(struct world *world)
{
    for (size_t i = world->n_items; i > 1; i--) {
        size_t j = world_random(world) % i;
        struct item item = world->items[i - 1];
        world->items[i - 1] = world->items[j];
        world->items[j] = item;
    }
}

/* A large prime shares no factor with their number, so that everybody comes once. */
uint64_t world_pupil(const struct world *world, uint64_t i)
{
    return 1 + i * 15485863 % world->users;
}

bool world_next(struct world *world, enum verb verb, struct step *step)
{
    *step = (struct step){
        .verb = verb, .user = 1 + world_random(world) % world->users, .serial = ++world->serial};
    if (verb == VERB_OLDER && world->looked)
        step->user = world_pupil(world, world_random(world) % world->looked);
    if (verb == VERB_FOLLOW)
        step->author = 2 * world->users + 1 + world_random(world) % STRANGERS;
    /* Only what was gathered is known to be there: liked as it lies, marked once. */
    if (verb == VERB_LIKE && world->n_items)
        step->post = world->items[world_random(world) % world->n_items].post;
    if (verb != VERB_MARK)
        return verb != VERB_LIKE || step->post;
    if (!world->n_items)
        return false;
    step->user = world->items[--world->n_items].user;
    step->post = world->items[world->n_items].post;
    return true;
}
