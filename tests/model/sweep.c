/* SPDX-License-Identifier: MIT */
/*
 * The sweep: every question about every user, compared with the model as always, and beyond that
 * counted up, so that the answers are held against each other without the model's help.
 */
#include "sweep.h"

#include "invariants.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tidings_op question(const struct sweep *sweep, enum tidings_op_kind kind, uint64_t viewer)
{
    return (struct tidings_op){.kind = kind, .user_id = viewer, .now_ms = sweep->now_ms};
}

bool ask(struct sweep *sweep, const struct tidings_op *op)
{
    return run_op(sweep->run, op, (struct tidings_cursor){0, 0});
}

/* Of the last answer; a hot list's the model does not cut to pages. */
static uint64_t rows_of(const struct sweep *sweep, const struct tidings_op *op)
{
    return op->kind == TIDINGS_OP_HOT ? sweep->run->answer.u.hot.n : sweep->run->expected.n;
}

bool page_through(struct sweep *sweep, struct tidings_op op, uint64_t *n)
{
    struct tidings_page *page = op_page(&op);
    struct tidings_cursor model_after = {0, 0};
    bool more = true;

    page->limit = sweep->limit;
    for (*n = 0; more; *n += rows_of(sweep, &op)) {
        if (!run_op(sweep->run, &op, model_after))
            return false;
        page->after = answer_next(op.kind, &sweep->run->answer);
        model_after = run_model_next(sweep->run, &op);
        more = page->after.a != 0 || page->after.b != 0;
        if (op.kind == TIDINGS_OP_EVENTS) /* which always says where to ask again */
            more = sweep->run->expected.n == sweep->limit;
    }
    return true;
}

static bool page_feed(struct sweep *sweep, enum tidings_op_kind kind, uint64_t viewer,
                      uint64_t author_id, enum tidings_filter filter, uint64_t *n)
{
    struct tidings_op op = question(sweep, kind, viewer);

    op.u.feed.author_id = author_id;
    op.u.feed.filter = filter;
    if (!page_through(sweep, op, n))
        return false;
    if (kind == TIDINGS_OP_AUTHOR_PAGE && *n != sweep->run->answer.u.feed.total)
        return run_fail(sweep->run, "author %" PRIu64 ": total %" PRIu64 ", but %" PRIu64 " rows",
                        author_id, sweep->run->answer.u.feed.total, *n);
    return true;
}

/* badge = sum of the unread rows = number of unread items, in all and author by author. */
static bool sweep_unread(struct sweep *sweep, uint64_t viewer)
{
    struct tidings_op badge = question(sweep, TIDINGS_OP_BADGE, viewer);
    struct tidings_op unread = question(sweep, TIDINGS_OP_UNREAD, viewer);
    uint64_t total;
    uint64_t paged;
    uint64_t by_author = 0;

    if (!ask(sweep, &badge))
        return false;
    total = sweep->run->answer.u.badge.total;
    if (!ask(sweep, &unread))
        return false;
    if (sweep->run->answer.u.unread.total != total)
        return run_fail(sweep->run, "user %" PRIu64 ": badge %" PRIu64 ", unread total %" PRIu64,
                        viewer, total, sweep->run->answer.u.unread.total);
    if (!page_feed(sweep, TIDINGS_OP_INBOX, viewer, 0, TIDINGS_UNREAD, &paged))
        return false;
    if (paged != total)
        return run_fail(sweep->run, "user %" PRIu64 ": badge %" PRIu64 ", %" PRIu64 " items unread",
                        viewer, total, paged);
    for (size_t i = 0; i < sweep->n_authors; i++) {
        if (!page_feed(sweep, TIDINGS_OP_INBOX, viewer, sweep->authors[i], TIDINGS_UNREAD, &paged))
            return false;
        by_author += paged;
    }
    if (by_author != total)
        return run_fail(sweep->run, "user %" PRIu64 ": badge %" PRIu64 ", by author %" PRIu64,
                        viewer, total, by_author);
    return true;
}

static bool sweep_inbox(struct sweep *sweep, uint64_t viewer)
{
    uint64_t all;
    uint64_t read;
    uint64_t paged;
    uint64_t all_by_author = 0;
    uint64_t read_by_author = 0;

    if (!page_feed(sweep, TIDINGS_OP_INBOX, viewer, 0, TIDINGS_ALL, &all) ||
        !page_feed(sweep, TIDINGS_OP_INBOX, viewer, 0, TIDINGS_READ, &read))
        return false;
    for (size_t i = 0; i < sweep->n_authors; i++) {
        if (!page_feed(sweep, TIDINGS_OP_INBOX, viewer, sweep->authors[i], TIDINGS_ALL, &paged))
            return false;
        all_by_author += paged;
        if (!page_feed(sweep, TIDINGS_OP_INBOX, viewer, sweep->authors[i], TIDINGS_READ, &paged))
            return false;
        read_by_author += paged;
    }
    if (all != all_by_author || read != read_by_author)
        return run_fail(sweep->run, "user %" PRIu64 ": the inbox is not the sum of its authors",
                        viewer);
    return true;
}

static bool sweep_author_pages(struct sweep *sweep, uint64_t viewer)
{
    for (size_t i = 0; i < sweep->n_authors; i++) {
        uint64_t author = sweep->authors[i];
        uint64_t all;
        uint64_t read;
        uint64_t unread;

        if (!page_feed(sweep, TIDINGS_OP_AUTHOR_PAGE, viewer, author, TIDINGS_ALL, &all) ||
            !page_feed(sweep, TIDINGS_OP_AUTHOR_PAGE, viewer, author, TIDINGS_READ, &read) ||
            !page_feed(sweep, TIDINGS_OP_AUTHOR_PAGE, viewer, author, TIDINGS_UNREAD, &unread))
            return false;
        if (all != read + unread)
            return run_fail(sweep->run,
                            "user %" PRIu64 ", author %" PRIu64 ": read and unread are not all",
                            viewer, author);
    }
    return true;
}

static bool sweep_relations(struct sweep *sweep, uint64_t viewer)
{
    struct tidings_op following = question(sweep, TIDINGS_OP_FOLLOWING, viewer);
    struct tidings_op followers = question(sweep, TIDINGS_OP_FOLLOWERS, viewer);
    struct tidings_op counters = question(sweep, TIDINGS_OP_COUNTERS, viewer);
    struct tidings_op profile = question(sweep, TIDINGS_OP_PROFILE, viewer);
    uint64_t n_following;
    uint64_t n_followers;
    uint64_t posts;

    following.u.users.user_id = viewer;
    followers.u.users.user_id = viewer;
    counters.u.user.user_id = viewer;
    profile.u.user.user_id = viewer;
    if (!page_through(sweep, following, &n_following) ||
        !page_through(sweep, followers, &n_followers) ||
        !page_feed(sweep, TIDINGS_OP_AUTHOR_PAGE, viewer, viewer, TIDINGS_ALL, &posts) ||
        !ask(sweep, &profile) || !ask(sweep, &counters))
        return false;
    if (sweep->run->answer.u.counters.following != n_following ||
        sweep->run->answer.u.counters.followers != n_followers ||
        sweep->run->answer.u.counters.posts != posts)
        return run_fail(sweep->run, "user %" PRIu64 ": the counters are not the lists' lengths",
                        viewer);
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* All of the users at once: who of them follows the viewer? */
static bool sweep_fans(struct sweep *sweep, uint64_t viewer)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_FANS_AMONG, viewer);
    const struct recording *recording = sweep->run->recording;
    uint64_t ids[MAX_USERS];

    memcpy(ids, recording->user_ids, recording->n_users * sizeof ids[0]);
    qsort(ids, recording->n_users, sizeof ids[0], by_number);
    op.u.among.author_id = viewer;
    op.u.among.user_ids = ids;
    op.u.among.n_user_ids = recording->n_users;
    return ask(sweep, &op);
}

static bool sweep_history(struct sweep *sweep, uint64_t viewer)
{
    uint64_t n;

    return page_through(sweep, question(sweep, TIDINGS_OP_HISTORY, viewer), &n);
}

static bool sweep_posts(struct sweep *sweep)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_POST, sweep->run->recording->user_ids[0]);

    for (size_t i = 0; i < sweep->run->model.n_posts; i++) {
        op.u.post.post_id = sweep->run->model.posts[i].id;
        if (!ask(sweep, &op))
            return false;
    }
    return true;
}

static bool sweep_events(struct sweep *sweep)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_EVENTS, sweep->run->recording->user_ids[0]);
    uint64_t n;

    op.role = TIDINGS_ROLE_SERVICE;
    return page_through(sweep, op, &n);
}

static void find_authors(struct sweep *sweep)
{
    const struct model *model = &sweep->run->model;

    sweep->authors = calloc(model->n_users + 1, sizeof *sweep->authors);
    for (size_t i = 0; i < model->n_users; i++) {
        for (size_t j = 0; j < model->n_posts; j++) {
            if (model->posts[j].author_id == model->users[i]->id) {
                sweep->authors[sweep->n_authors++] = model->users[i]->id;
                break;
            }
        }
    }
}

bool run_sweep(struct run *run, int64_t now_ms, uint32_t limit)
{
    struct sweep sweep = {.run = run, .now_ms = now_ms, .limit = limit};
    bool ok;

    find_authors(&sweep);
    ok = sweep_posts(&sweep) && sweep_events(&sweep) && sweep_interactions(&sweep) &&
         sweep_stories(&sweep);
    for (size_t i = 0; ok && i < run->recording->n_users; i++) {
        uint64_t viewer = run->recording->user_ids[i];

        ok = sweep_unread(&sweep, viewer) && sweep_inbox(&sweep, viewer) &&
             sweep_author_pages(&sweep, viewer) && sweep_relations(&sweep, viewer) &&
             sweep_fans(&sweep, viewer) && sweep_history(&sweep, viewer) &&
             sweep_reacted(&sweep, viewer) && sweep_reader(&sweep, viewer);
    }
    free(sweep.authors);
    return ok;
}
