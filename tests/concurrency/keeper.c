/* SPDX-License-Identifier: MIT */
/*
 * A keeper has a fan to itself. Posts keep arriving there from all sides, but only the keeper reads
 * them and nobody deletes them. So what was there at an answer with a token is known from both sides: all that was listed
 * before it, and nothing but what is listed after it; and it is as many as the answer says. Marking up to the token must
 * take those posts and not one more.
 */
#include "world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Unread posts as they were listed, the newest first. */
struct posts {
    uint64_t *ids;
    size_t n;
    size_t room;
};

struct keeping {
    struct seat *seat;
    uint64_t fan;
    uint64_t author; /* nobody else publishes as this one, and this fan follows it */
    uint64_t first;  /* unread, and the as_of of that: the badge's answer */
    struct tidings_moment first_as_of;
    uint64_t second; /* the same a moment later: the answer with the unread rows */
    struct tidings_moment second_as_of;
    struct posts before; /* listed before the first */
    struct posts after;  /* and after the second */
    struct posts now;
};

static void note(void *ctx, uint64_t id)
{
    struct posts *posts = ctx;

    if (posts->n == posts->room) {
        posts->room = posts->room * 2 + 64;
        posts->ids = realloc(posts->ids, posts->room * sizeof *posts->ids);
    }
    posts->ids[posts->n++] = id;
}

/* How many are in both; both go downwards. */
static uint64_t common(const struct posts *a, const struct posts *b)
{
    uint64_t n = 0;

    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        uint64_t x = a->ids[i];
        uint64_t y = b->ids[j];

        n += x == y;
        i += x >= y;
        j += y >= x;
    }
    return n;
}

static bool same(struct keeping *k, const char *what, uint64_t a, uint64_t b)
{
    if (a == b)
        return true;
    world_fail(k->seat->world, "user %" PRIu64 ": %s: %" PRIu64 " and %" PRIu64, k->fan, what, a,
               b);
    return false;
}

static bool page_unread(struct keeping *k, uint64_t author_id, struct posts *posts)
{
    struct tidings_op op = op_of(TIDINGS_OP_INBOX, k->fan);

    op.u.feed.filter = TIDINGS_UNREAD;
    op.u.feed.author_id = author_id;
    posts->n = 0;
    return page_through(k->seat, op, UINT32_MAX, note, posts);
}

/* The badge and the unread rows, between two lists of the posts. */
static bool look(struct keeping *k)
{
    struct tidings_op badge = op_of(TIDINGS_OP_BADGE, k->fan);
    struct tidings_op unread = op_of(TIDINGS_OP_UNREAD, k->fan);

    if (!page_unread(k, 0, &k->before) || !ask(k->seat, &badge))
        return false;
    k->first = k->seat->answer.u.badge.total;
    k->first_as_of = k->seat->answer.u.badge.as_of;
    if (!ask(k->seat, &unread))
        return false;
    k->second = k->seat->answer.u.unread.total;
    k->second_as_of = k->seat->answer.u.unread.as_of;
    if (memcmp(&k->first_as_of, &k->second_as_of, sizeof k->first_as_of) == 0 &&
        !same(k, "same as_of", k->first, k->second))
        return false;
    if (k->first < k->before.n || k->second < k->first)
        return same(k, "unread posts went away", k->before.n, k->second);
    return page_unread(k, 0, &k->after) &&
           (k->after.n >= k->second || same(k, "unread rows and pages", k->second, k->after.n)) &&
           same(k, "listed before and after", k->before.n, common(&k->before, &k->after));
}

static bool publish_own(struct keeping *k, unsigned n)
{
    struct tidings_op op = op_of(TIDINGS_OP_PUBLISH, k->author);

    op.u.publish.kind = TIDINGS_STORY;
    op.u.publish.title = (struct tidings_text){"own", 3};
    for (unsigned i = 0; i < n; i++) {
        if (!ask(k->seat, &op))
            return false;
    }
    return true;
}

static bool mark_author(struct keeping *k, uint64_t author, struct tidings_moment up_to,
                        uint64_t *marked)
{
    struct tidings_op op = op_of(TIDINGS_OP_MARK_READ, k->fan);

    op.u.mark.author_id = author;
    op.u.mark.up_to = up_to;
    if (!ask(k->seat, &op))
        return false;
    *marked += k->seat->answer.u.mark.marked;
    return true;
}

/* Marks what the first look saw: in one go, or author by author. */
static bool mark_first(struct keeping *k)
{
    uint64_t marked = 0;

    if (rng_percent(&k->seat->rng, 50))
        return mark_author(k, 0, k->first_as_of, &marked) && same(k, "marked", k->first, marked);
    for (unsigned i = 0; i < STEADY_AUTHORS; i++) {
        if (!mark_author(k, FIRST_STEADY_AUTHOR + i, k->first_as_of, &marked))
            return false;
    }
    return mark_author(k, k->author, k->first_as_of, &marked) &&
           same(k, "marked by author", k->first, marked);
}

/* What came after the first look is all still there, and nothing of what came before; then the same of the second. */
static bool the_rest_is_left(struct keeping *k)
{
    uint64_t marked = 0;

    return page_unread(k, 0, &k->now) &&
           same(k, "left of what was listed before", 0, common(&k->before, &k->now)) &&
           same(k, "left of what was listed after", k->after.n - k->first,
                common(&k->after, &k->now)) &&
           mark_author(k, 0, k->second_as_of, &marked) &&
           same(k, "marked of the second look", k->second - k->first, marked) &&
           page_unread(k, 0, &k->now) &&
           same(k, "left in the end", k->after.n - k->second, common(&k->after, &k->now));
}

static bool round_of_keeping(struct keeping *k)
{
    unsigned own = (unsigned)rng_below(&k->seat->rng, 4);
    struct tidings_op badge = op_of(TIDINGS_OP_BADGE, k->fan);
    uint64_t marked = 0;

    if (!look(k) || !publish_own(k, own) || !mark_first(k) || !the_rest_is_left(k))
        return false;
    if (!page_unread(k, k->author, &k->now) || !same(k, "own posts left", own, k->now.n))
        return false;
    return ask(k->seat, &badge) &&
           mark_author(k, k->author, k->seat->answer.u.badge.as_of, &marked) &&
           same(k, "own posts marked", own, marked);
}

void *keeper(void *arg)
{
    struct seat *seat = arg;
    struct keeping k = {.seat = seat,
                        .fan = FIRST_KEEPERS_FAN + seat->number,
                        .author = FIRST_KEEPERS_AUTHOR + seat->number};

    while (world_goes_on(seat->world) && round_of_keeping(&k))
        ;
    free(k.before.ids);
    free(k.after.ids);
    free(k.now.ids);
    return NULL;
}
