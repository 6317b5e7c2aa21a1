/* SPDX-License-Identifier: MIT */
/* The crowd: writers that do everything to everybody, and readers that look on. */
#include "world.h"

#include <inttypes.h>

static uint64_t some_author(struct seat *seat)
{
    if (rng_percent(&seat->rng, 25))
        return FIRST_STEADY_AUTHOR + rng_below(&seat->rng, STEADY_AUTHORS);
    return FIRST_AUTHOR + rng_below(&seat->rng, AUTHORS);
}

static uint64_t some_fan(struct seat *seat)
{
    return FIRST_FAN + rng_below(&seat->rng, FANS);
}

static uint64_t some_post(struct seat *seat)
{
    return atomic_load(&seat->world->recent[rng_below(&seat->rng, RECENT)]);
}

/* ---- Writers ------------------------------------------------------------------------------- */

static void publish(struct seat *seat)
{
    struct world *world = seat->world;
    struct tidings_op op = op_of(TIDINGS_OP_PUBLISH, some_author(seat));

    op.u.publish.kind = TIDINGS_NOTE;
    op.u.publish.title = (struct tidings_text){"news", 4};
    op.u.publish.body = (struct tidings_text){"text [img]http://p/1[/img] more", 31};
    if (!ask(seat, &op))
        return;
    /* Posts of steady authors are not passed on: nobody but the crowd may touch those that are. */
    if (op.user_id < FIRST_STEADY_AUTHOR)
        atomic_store(&world->recent[atomic_fetch_add(&world->recent_at, 1) % RECENT],
                     seat->answer.u.post.id);
}

static void relate(struct seat *seat)
{
    bool follow = rng_percent(&seat->rng, 60);
    struct tidings_op op = op_of(follow ? TIDINGS_OP_FOLLOW : TIDINGS_OP_UNFOLLOW, some_fan(seat));

    op.u.relation.user_id = rng_percent(&seat->rng, 80) ? some_author(seat) : some_fan(seat);
    op.u.relation.purge_inbox = !follow && rng_percent(&seat->rng, 40);
    if (op.u.relation.user_id != op.user_id)
        ask(seat, &op);
}

static void mark_ids(struct seat *seat, bool read)
{
    struct tidings_op op =
        op_of(read ? TIDINGS_OP_MARK_READ : TIDINGS_OP_MARK_UNREAD, some_fan(seat));
    struct tidings_op look = op_of(TIDINGS_OP_INBOX, op.user_id);
    uint64_t ids[20];

    look.u.feed.filter = read ? TIDINGS_UNREAD : TIDINGS_READ;
    look.u.feed.page.limit = (uint32_t)rng_between(&seat->rng, 1, 20);
    if (!ask(seat, &look) || seat->answer.u.feed.n == 0)
        return;
    for (size_t i = 0; i < seat->answer.u.feed.n; i++)
        ids[i] = seat->answer.u.feed.rows[i].post_id;
    op.u.mark.post_ids = ids;
    op.u.mark.n_post_ids = seat->answer.u.feed.n;
    ask(seat, &op);
}

static void mark_up_to(struct seat *seat)
{
    struct tidings_op op = op_of(TIDINGS_OP_MARK_READ, some_fan(seat));
    struct tidings_op look = op_of(TIDINGS_OP_BADGE, op.user_id);

    if (!ask(seat, &look))
        return;
    op.u.mark.up_to = seat->answer.u.badge.as_of;
    if (rng_percent(&seat->rng, 70))
        op.u.mark.author_id = some_author(seat);
    ask(seat, &op);
}

static void about_post(struct seat *seat, enum tidings_op_kind kind)
{
    struct tidings_op op = op_of(kind, some_fan(seat));

    op.u.post.post_id = some_post(seat);
    op.role = kind == TIDINGS_OP_DELETE ? TIDINGS_ROLE_ADMIN : TIDINGS_ROLE_USER;
    if (op.u.post.post_id != 0)
        ask(seat, &op);
}

void *writer(void *arg)
{
    struct seat *seat = arg;
    struct tidings_op clear;

    while (world_goes_on(seat->world)) {
        unsigned way = (unsigned)rng_below(&seat->rng, 100);

        if (way < 30) {
            publish(seat);
        } else if (way < 50) {
            relate(seat);
        } else if (way < 70) {
            about_post(seat, TIDINGS_OP_OPEN);
        } else if (way < 80) {
            mark_ids(seat, true);
        } else if (way < 86) {
            mark_ids(seat, false);
        } else if (way < 91) {
            mark_up_to(seat);
        } else if (way < 95) {
            about_post(seat, TIDINGS_OP_DELETE);
        } else if (way < 98) {
            about_post(seat, TIDINGS_OP_HISTORY_DELETE);
        } else {
            clear = op_of(TIDINGS_OP_HISTORY_CLEAR, some_fan(seat));
            ask(seat, &clear);
        }
    }
    return NULL;
}

/* ---- Readers ------------------------------------------------------------------------------- */

static void look_at_lists(struct seat *seat, uint64_t viewer)
{
    struct tidings_op op = op_of(TIDINGS_OP_FOLLOWING, viewer);

    op.u.users.user_id = viewer;
    page_through(seat, op, 3, NULL, NULL);
    op = op_of(TIDINGS_OP_FOLLOWERS, viewer);
    op.u.users.user_id = some_author(seat);
    page_through(seat, op, 3, NULL, NULL);
    page_through(seat, op_of(TIDINGS_OP_HISTORY, viewer), 5, NULL, NULL);
}

/* Who has seen a post sees it, or a newer one, the next time. */
static void look_at_newest(struct seat *seat, uint64_t viewer)
{
    uint64_t number = rng_below(&seat->rng, STEADY_AUTHORS);
    struct tidings_op op = op_of(TIDINGS_OP_AUTHOR_PAGE, viewer);
    uint64_t newest;

    op.u.feed.author_id = FIRST_STEADY_AUTHOR + number;
    op.u.feed.page.limit = 1;
    if (!ask(seat, &op))
        return;
    newest = seat->answer.u.feed.n > 0 ? seat->answer.u.feed.rows[0].post_id : 0;
    if (newest < seat->newest[number])
        world_fail(seat->world,
                   "user %" PRIu64 ": post %" PRIu64 " was there, now %" PRIu64 " is newest",
                   viewer, seat->newest[number], newest);
    seat->newest[number] = newest;
}

static void look_at_feeds(struct seat *seat, uint64_t viewer)
{
    struct tidings_op op = op_of(TIDINGS_OP_INBOX, viewer);

    op.u.feed.filter = (enum tidings_filter)rng_below(&seat->rng, 3);
    op.u.feed.author_id = rng_percent(&seat->rng, 30) ? some_author(seat) : 0;
    page_through(seat, op, 5, NULL, NULL);
    op = op_of(TIDINGS_OP_AUTHOR_PAGE, viewer);
    op.u.feed.filter = (enum tidings_filter)rng_below(&seat->rng, 3);
    op.u.feed.author_id = some_author(seat);
    page_through(seat, op, 3, NULL, NULL);
}

static void look_at_relation(struct seat *seat, uint64_t viewer)
{
    struct tidings_op op = op_of(TIDINGS_OP_STATUS, viewer);

    op.u.relation.user_id = some_fan(seat);
    ask(seat, &op);
    op = op_of(TIDINGS_OP_COUNTERS, viewer);
    op.u.user.user_id = some_author(seat);
    ask(seat, &op);
}

void *reader(void *arg)
{
    struct seat *seat = arg;

    while (world_goes_on(seat->world)) {
        uint64_t viewer = some_fan(seat);
        struct tidings_op unread = op_of(TIDINGS_OP_UNREAD, viewer);
        struct tidings_op badge = op_of(TIDINGS_OP_BADGE, viewer);

        ask(seat, &unread);
        ask(seat, &badge);
        look_at_newest(seat, viewer);
        look_at_feeds(seat, viewer);
        look_at_lists(seat, viewer);
        look_at_relation(seat, viewer);
        about_post(seat, TIDINGS_OP_POST);
    }
    return NULL;
}
