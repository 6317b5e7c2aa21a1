/* SPDX-License-Identifier: MIT */
/* The world a run takes place in: the engine's settings, often small so that limits are met, and the
 * users. */
#include "generate.h"

static uint64_t one_of(struct generator *g, const uint64_t *values, size_t n)
{
    return values[rng_below(&g->rng, n)];
}

#define ONE_OF(g, ...)                           \
    one_of((g), (const uint64_t[]){__VA_ARGS__}, \
           sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

void generate_rules(struct generator *g, struct tidings_settings *s)
{
    s->fold_down = ONE_OF(g, 1, 2, 3, 5);
    s->fold_percent = ONE_OF(g, 0, 50, 100, 150, 200, 333);
    s->hot_like = ONE_OF(g, 0, 1, 3, 1000);
    s->hot_fav = ONE_OF(g, 0, 1, 4);
    s->hot_comment = ONE_OF(g, 0, 1, 5, 999);
    s->hot_comment_like = ONE_OF(g, 0, 1, 2, 1000);
    s->hot_comment_reply = ONE_OF(g, 0, 1, 3);
    s->hot_comment_down = ONE_OF(g, 0, 1, 4, 1000);
    s->hot_half_life_hours = ONE_OF(g, 0, 0, 1, 24, 720, 87600);
}

/* Buckets that run dry in some worlds. */
static void choose_interaction_settings(struct generator *g, struct tidings_settings *s)
{
    if (rng_percent(&g->rng, 40)) {
        s->react_burst = ONE_OF(g, 1, 3, 20, 100);
        s->react_refill_ms = ONE_OF(g, 1, 7, 100, 5000);
        s->comment_burst = ONE_OF(g, 1, 2, 10);
        s->comment_refill_ms = ONE_OF(g, 1, 50, 1000, 60000);
        s->publish_burst = ONE_OF(g, 1, 3, 10, 60);
        s->publish_refill_ms = ONE_OF(g, 1, 50, 1000, 60000);
    }
    s->comment_max = ONE_OF(g, 1, 5, 4000);
    generate_rules(g, s);
}

static void choose_settings(struct generator *g)
{
    struct tidings_settings *s = &g->recording->settings;
    struct tidings_options options;

    tidings_options_init(&options);
    *s = options.settings;
    s->map_mb = 1024;
    s->read_events = rng_below(&g->rng, 2);
    if (rng_percent(&g->rng, 80))
        s->event_days = 3650; /* which few runs live to see: until then webhooks are exact */
    if (rng_percent(&g->rng, 30))
        return;
    s->follow_burst = ONE_OF(g, 1, 3, 10, 100);
    s->follow_refill_ms = ONE_OF(g, 1, 7, 1000, 60000, 3600000);
    s->following_max = ONE_OF(g, 3, 5, 12, 5000);
    s->name_max = ONE_OF(g, 1, 5, 64, 256);
    s->avatar_max = ONE_OF(g, 1, 30, 512, 4096);
    s->title_max = ONE_OF(g, 1, 10, 200, 1000);
    s->body_max = ONE_OF(g, 1, 50, 4096, 65536);
    s->excerpt_max = ONE_OF(g, 0, 1, 7, 140, 1000);
    s->mark_max = ONE_OF(g, 1, 5, 70, 500);
    s->page_max = ONE_OF(g, 2, 7, 64, 65, 100);
    s->page_default = rng_between(&g->rng, 1, s->page_max < 20 ? s->page_max : 20);
    if (rng_percent(&g->rng, 50))
        s->event_days = ONE_OF(g, 1, 2, 14);
    s->webhooks_max = ONE_OF(g, 1, 3, 64);
    s->once_hours = ONE_OF(g, 1, 5, 24);
    s->recent_mb = ONE_OF(g, 0, 128);
    s->scenes_max = ONE_OF(g, 2, 12, 10000);
    s->messages_max = ONE_OF(g, 1, 4, 1000);
    s->message_max = ONE_OF(g, 1, 10, 4000);
    s->reading_max = ONE_OF(g, 2, 6, 10000);
    s->subscriptions_max = ONE_OF(g, 2, 6, 5000);
    choose_interaction_settings(g, s);
}

void generate_settings(struct generator *g)
{
    struct tidings_settings *s = &g->recording->settings;

    choose_settings(g);
    /* More than 256 ids in a millisecond borrow from the next, and times with them: see domain/ids.h. Twenty
     * writes of ten events each stay below that. */
    if (s->read_events && s->mark_max > 10)
        s->mark_max = 10;
}

void generate_users(struct generator *g, size_t users)
{
    /* Ids next to the edges of bytes and of the range. */
    static const uint64_t edges[] = {1,
                                     2,
                                     127,
                                     128,
                                     255,
                                     256,
                                     65535,
                                     65536,
                                     UINT32_MAX,
                                     UINT64_C(1) << 32,
                                     UINT64_C(1) << 52,
                                     TIDINGS_ID_MAX - 1,
                                     TIDINGS_ID_MAX};
    size_t n_edges = sizeof edges / sizeof edges[0];
    uint64_t *ids = g->recording->user_ids;

    g->recording->n_users = users;
    for (size_t i = 0; i < users; i++)
        ids[i] = i < n_edges ? edges[i] : 1000 + i;
    for (size_t i = users; i > 1; i--) {
        size_t j = rng_below(&g->rng, i);
        uint64_t id = ids[i - 1];

        ids[i - 1] = ids[j];
        ids[j] = id;
    }
    g->n_authors = rng_between(&g->rng, 3, 10);
    if (g->n_authors > users)
        g->n_authors = users;
}
