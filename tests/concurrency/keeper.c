/* SPDX-License-Identifier: MIT */
/*
 * A keeper has a fan to itself. Posts keep arriving there from all sides, but only the keeper reads
 * them and nobody deletes them, so an as_of says exactly what was there: two answers about the same
 * as_of must agree, and marking up to one takes those posts and not one more.
 */
#include "world.h"

#include <inttypes.h>

struct keeping {
    struct seat *seat;
    uint64_t fan;
    uint64_t author; /* nobody else publishes as this one, and this fan follows it */
    uint64_t first;  /* unread, and the as_of of that: the badge's answer */
    uint64_t first_as_of;
    uint64_t second; /* the same a moment later: the answer with the unread rows */
    uint64_t second_as_of;
};

/* Counts posts that are not newer than two tokens. */
struct tally {
    uint64_t first_as_of;
    uint64_t second_as_of;
    uint64_t first;
    uint64_t second;
    uint64_t all;
};

static void count(void *ctx, uint64_t id)
{
    struct tally *tally = ctx;

    tally->first += id <= tally->first_as_of;
    tally->second += id <= tally->second_as_of;
    tally->all++;
}

static bool same(struct keeping *k, const char *what, uint64_t a, uint64_t b)
{
    if (a == b)
        return true;
    world_fail(k->seat->world, "user %" PRIu64 ": %s: %" PRIu64 " and %" PRIu64, k->fan, what, a,
               b);
    return false;
}

static bool page_unread(struct keeping *k, uint64_t author_id, struct tally *tally)
{
    struct tidings_op op = op_of(TIDINGS_OP_INBOX, k->fan);

    op.u.feed.filter = TIDINGS_UNREAD;
    op.u.feed.author_id = author_id;
    *tally = (struct tally){.first_as_of = k->first_as_of, .second_as_of = k->second_as_of};
    return page_through(k->seat, op, UINT32_MAX, count, tally);
}

/* The badge, the unread rows and the pages are about one and the same set of posts. */
static bool look(struct keeping *k)
{
    struct tidings_op badge = op_of(TIDINGS_OP_BADGE, k->fan);
    struct tidings_op unread = op_of(TIDINGS_OP_UNREAD, k->fan);
    struct tally tally;

    if (!ask(k->seat, &badge))
        return false;
    k->first = k->seat->answer.u.badge.total;
    k->first_as_of = k->seat->answer.u.badge.as_of;
    if (!ask(k->seat, &unread))
        return false;
    k->second = k->seat->answer.u.unread.total;
    k->second_as_of = k->seat->answer.u.unread.as_of;
    if (k->first_as_of == k->second_as_of && !same(k, "same as_of", k->first, k->second))
        return false;
    if (k->second < k->first)
        return same(k, "unread posts went away", k->first, k->second);
    return page_unread(k, 0, &tally) && same(k, "badge and pages", k->first, tally.first) &&
           same(k, "unread rows and pages", k->second, tally.second);
}

static bool publish_own(struct keeping *k, unsigned n)
{
    struct tidings_op op = op_of(TIDINGS_OP_PUBLISH, k->author);

    op.u.publish.kind = TIDINGS_STORY;
    op.u.publish.title = (struct tidings_text){"own", 3};
    for (unsigned i = 0; i < n; i++) {
        if (!ask(k->seat, &op))
            return false;
        if (k->seat->answer.u.post.id <= k->first_as_of)
            return same(k, "a new post is newer than an old as_of", k->seat->answer.u.post.id,
                        k->first_as_of);
    }
    return true;
}

static bool mark_author(struct keeping *k, uint64_t author, uint64_t up_to, uint64_t *marked)
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

static bool round_of_keeping(struct keeping *k)
{
    unsigned own = (unsigned)rng_below(&k->seat->rng, 4);
    struct tally tally;
    uint64_t marked = 0;

    if (!look(k) || !publish_own(k, own) || !mark_first(k))
        return false;
    /* What came after the first look is all still there, and nothing of what came before. */
    if (!page_unread(k, 0, &tally) || !same(k, "left of the first look", 0, tally.first) ||
        !same(k, "left of the second look", k->second - k->first, tally.second))
        return false;
    if (!page_unread(k, k->author, &tally) || !same(k, "own posts left", own, tally.all))
        return false;
    return mark_author(k, k->author, k->seat->as_of, &marked) &&
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
    return NULL;
}
