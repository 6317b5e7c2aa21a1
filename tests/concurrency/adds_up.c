/* SPDX-License-Identifier: MIT */
/* After the storm: everything about every user fits together. */
#include "world.h"

#include <inttypes.h>
#include <stdlib.h>

static bool follow(struct seat *seat, uint64_t fan, uint64_t author)
{
    struct tidings_op op = op_of(TIDINGS_OP_FOLLOW, fan);

    op.u.relation.user_id = author;
    return ask(seat, &op);
}

bool world_begin(struct seat *seat)
{
    for (unsigned k = 0; k < KEEPERS; k++) {
        for (unsigned i = 0; i < STEADY_AUTHORS; i++) {
            if (!follow(seat, FIRST_KEEPERS_FAN + k, FIRST_STEADY_AUTHOR + i))
                return false;
        }
        if (!follow(seat, FIRST_KEEPERS_FAN + k, FIRST_KEEPERS_AUTHOR + k))
            return false;
    }
    for (unsigned i = 0; i < FANS; i++) {
        if (!follow(seat, FIRST_FAN + i, FIRST_AUTHOR + i % AUTHORS))
            return false;
    }
    return true;
}

static bool same(struct seat *seat, uint64_t user, const char *what, uint64_t a, uint64_t b)
{
    if (a == b)
        return true;
    world_fail(seat->world, "in the end, user %" PRIu64 ": %s: %" PRIu64 " and %" PRIu64, user,
               what, a, b);
    return false;
}

static void count(void *ctx, uint64_t id)
{
    uint64_t *n = ctx;

    (void)id;
    ++*n;
}

/* badge = sum of the rows (which is checked in every answer) = number of unread items. */
static bool unread_adds_up(struct seat *seat, uint64_t user)
{
    struct tidings_op badge = op_of(TIDINGS_OP_BADGE, user);
    struct tidings_op unread = op_of(TIDINGS_OP_UNREAD, user);
    struct tidings_op inbox = op_of(TIDINGS_OP_INBOX, user);
    uint64_t total;
    uint64_t paged = 0;

    if (!ask(seat, &badge))
        return false;
    total = seat->answer.u.badge.total;
    if (!ask(seat, &unread) ||
        !same(seat, user, "badge and rows", total, seat->answer.u.unread.total))
        return false;
    inbox.u.feed.filter = TIDINGS_UNREAD;
    return page_through(seat, inbox, UINT32_MAX, count, &paged) &&
           same(seat, user, "badge and pages", total, paged);
}

static bool lists_add_up(struct seat *seat, uint64_t user)
{
    struct tidings_op following = op_of(TIDINGS_OP_FOLLOWING, user);
    struct tidings_op followers = op_of(TIDINGS_OP_FOLLOWERS, user);
    struct tidings_op page = op_of(TIDINGS_OP_AUTHOR_PAGE, user);
    struct tidings_op counters = op_of(TIDINGS_OP_COUNTERS, user);
    uint64_t n_following = 0;
    uint64_t n_followers = 0;
    uint64_t n_posts = 0;

    following.u.users.user_id = user;
    followers.u.users.user_id = user;
    page.u.feed.author_id = user;
    counters.u.user.user_id = user;
    if (!page_through(seat, following, UINT32_MAX, count, &n_following) ||
        !page_through(seat, followers, UINT32_MAX, count, &n_followers) ||
        !page_through(seat, page, UINT32_MAX, count, &n_posts) || !ask(seat, &counters))
        return false;
    return same(seat, user, "following", seat->answer.u.counters.following, n_following) &&
           same(seat, user, "followers", seat->answer.u.counters.followers, n_followers) &&
           same(seat, user, "posts", seat->answer.u.counters.posts, n_posts);
}

/* ---- Events -------------------------------------------------------------------------------- */

/* What the events alone say about the world. */
struct story {
    bool follows[USERS][USERS];
    int64_t posts[USERS];
};

static bool tell(struct seat *seat, struct story *story, const struct tidings_event *event)
{
    uint64_t actor = event->actor_user_id % USERS;
    bool *follows = &story->follows[actor][event->target_id % USERS];

    switch (event->type) {
    case TIDINGS_EVENT_FOLLOW_CREATED:
    case TIDINGS_EVENT_FOLLOW_CANCELED:
        if (*follows == (event->type == TIDINGS_EVENT_FOLLOW_CREATED)) {
            world_fail(seat->world, "event %" PRIu64 " repeats itself", event->event_id);
            return false;
        }
        *follows = !*follows;
        return true;
    case TIDINGS_EVENT_POST_PUBLISHED:
    case TIDINGS_EVENT_POST_DELETED:
        story->posts[event->author_id % USERS] += event->delta;
        return true;
    default:
        return true;
    }
}

static bool read_story(struct seat *seat, struct story *story)
{
    struct tidings_op op = op_of(TIDINGS_OP_EVENTS, 1);
    size_t n;

    op.role = TIDINGS_ROLE_SERVICE;
    op.u.page.limit = 100;
    do {
        if (!ask(seat, &op))
            return false;
        n = seat->answer.u.events.n;
        for (size_t i = 0; i < n; i++) {
            if (!tell(seat, story, &seat->answer.u.events.rows[i]))
                return false;
        }
        op.u.page.after = seat->answer.u.events.next;
    } while (n > 0);
    return true;
}

static bool story_is_true(struct seat *seat, const struct story *story, uint64_t user)
{
    struct tidings_op op = op_of(TIDINGS_OP_COUNTERS, user);
    uint64_t following = 0;
    uint64_t followers = 0;

    for (uint64_t other = 0; other < USERS; other++) {
        following += story->follows[user][other];
        followers += story->follows[other][user];
    }
    op.u.user.user_id = user;
    if (!ask(seat, &op))
        return false;
    return same(seat, user, "following, by events", seat->answer.u.counters.following, following) &&
           same(seat, user, "followers, by events", seat->answer.u.counters.followers, followers) &&
           same(seat, user, "posts, by events", seat->answer.u.counters.posts,
                (uint64_t)story->posts[user]);
}

bool world_adds_up(struct seat *seat)
{
    struct story *story = calloc(1, sizeof *story);
    bool ok = read_story(seat, story);

    for (uint64_t user = 1; ok && user < USERS; user++)
        ok = unread_adds_up(seat, user) && lists_add_up(seat, user) &&
             story_is_true(seat, story, user);
    free(story);
    return ok;
}
