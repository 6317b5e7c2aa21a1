/* SPDX-License-Identifier: MIT */
/* Inboxes and authors' pages: what is unread, and marking it. */
#include "ops.h"
#include "support/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* ---- Arguments ----------------------------------------------------------------------------------- */

/* As much of the inbox as one operation may mark, in order. */
static void mark_inbox(struct generator *g, struct run *run, struct step *step)
{
    const struct model_user *user = model_user(&run->model, step->op.user_id);
    size_t most = (size_t)g->recording->settings.mark_max;
    bool read = step->op.kind == TIDINGS_OP_MARK_READ;
    bool only_new = rng_percent(&g->rng, 70); /* that this changes something */
    size_t n = 0;

    step->posts = recording_room(g->recording, most * sizeof *step->posts);
    for (size_t i = 0; i < run->model.n_posts && n < most; i++) {
        if (user->cells[i].delivered && !(only_new && user->cells[i].is_read == read))
            step->posts[n++] = (struct ref){REF_POST, 0, run->publish_of[i]};
    }
    step->op.u.mark.n_post_ids = n;
}

/* Is the next post one that the viewer has not read? */
static bool is_edge(struct run *run, uint64_t viewer, const struct model_moment *covers)
{
    const struct model_cell *cell;

    if (covers->posts >= run->model.n_posts)
        return false;
    cell = &model_user(&run->model, viewer)->cells[covers->posts];
    return cell->delivered && !cell->is_read;
}

static void mark_arguments(struct generator *g, struct run *run, struct step *step)
{
    uint64_t most = g->recording->settings.mark_max;
    uint64_t n = rng_between(&g->rng, 1, rng_percent(&g->rng, 5) ? most : most < 12 ? most : 12);

    if (step->op.kind == TIDINGS_OP_MARK_READ && rng_percent(&g->rng, 35)) {
        if (rng_percent(&g->rng, 60))
            step->op.u.mark.author_id = some_target(g, step->op.user_id);
        step->up_to = some_token(g, run, step->op.user_id, is_edge);
        return;
    }
    if (rng_percent(&g->rng, 4)) {
        mark_inbox(g, run, step);
        return;
    }
    step->op.u.mark.n_post_ids = n;
    step->posts = recording_room(g->recording, n * sizeof *step->posts);
    for (uint64_t i = 0; i < n; i++) {
        step->posts[i] = some_post(g, run, step->op.user_id, false);
        if (i > 0 && rng_percent(&g->rng, 15))
            step->posts[i] = step->posts[rng_below(&g->rng, i)];
    }
    /* One id that is not in the inbox spoils the whole list. */
    if (rng_percent(&g->rng, 8))
        step->posts[rng_below(&g->rng, n)] = some_post(g, run, step->op.user_id, true);
}

static void feed_arguments(struct generator *g, struct run *run, struct step *step)
{
    (void)run;
    bool inbox = step->op.kind == TIDINGS_OP_INBOX;

    step->op.u.feed.filter = (enum tidings_filter)rng_below(&g->rng, 3);
    if (!inbox || rng_percent(&g->rng, 40))
        step->op.u.feed.author_id = some_target(g, step->op.user_id);
    if (!inbox && rng_percent(&g->rng, 5))
        step->op.u.feed.author_id = step->op.user_id;
    page_arguments(g, run, step);
}

static void bad_post_ids(struct generator *g, struct step *step)
{
    size_t n = step->op.u.mark.n_post_ids;

    switch (rng_below(&g->rng, 4)) {
    case 0: /* too many */
        n = (size_t)g->recording->settings.mark_max + 1;
        step->posts = recording_room(g->recording, n * sizeof *step->posts);
        for (size_t i = 0; i < n; i++)
            step->posts[i] = (struct ref){REF_POST, 0, rng_below(&g->rng, 1 + i)};
        step->op.u.mark.n_post_ids = n;
        break;
    case 1: /* none, but a list */
        step->posts = recording_room(g->recording, sizeof *step->posts);
        step->op.u.mark.n_post_ids = 0;
        break;
    case 2: /* no list */
        step->posts = NULL;
        step->op.u.mark.n_post_ids = 0;
        break;
    default:
        if (n > 0)
            step->posts[rng_below(&g->rng, n)] = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        break;
    }
}

void generate_bad_mark(struct generator *g, struct step *step)
{
    bool read = step->op.kind != TIDINGS_OP_MARK_UNREAD; /* the others take up_to, too */

    switch (rng_below(&g->rng, 6)) {
    case 0:
        if (read)
            step->op.u.mark.author_id = generate_too_great(g);
        break;
    case 1:
        if (read)
            step->op.u.mark.author_id = g->recording->user_ids[0];
        break;
    case 2:
        if (read)
            step->up_to = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        break;
    case 3:
        if (read)
            step->up_to = (struct ref){REF_BEYOND, (int64_t)rng_between(&g->rng, 1, 2), 0};
        break;
    default:
        bad_post_ids(g, step);
        break;
    }
}

static void bad_feed(struct generator *g, struct step *step)
{
    struct tidings_op *op = &step->op;

    if (rng_percent(&g->rng, 30))
        op->u.feed.author_id =
            op->kind == TIDINGS_OP_INBOX ? generate_too_great(g) : generate_bad_id(g);
    else if (rng_percent(&g->rng, 40))
        op->u.feed.filter = (enum tidings_filter)(rng_percent(&g->rng, 50) ? 3 : 255);
    else
        generate_bad_page(g, step);
}

void mark_report(struct report *report, const struct step *step)
{
    if (step->posts != NULL) {
        report_add(report, " post_ids=[");
        for (size_t i = 0; i < step->op.u.mark.n_post_ids; i++) {
            if (i > 0)
                report_add(report, " ");
            ref_report(report, &step->posts[i]);
        }
        report_add(report, "]");
    }
    if (step->op.u.mark.author_id != 0)
        report_add(report, " author_id=%" PRIu64, step->op.u.mark.author_id);
    if (step->up_to.kind != REF_NUMBER || step->up_to.value != 0) {
        report_add(report, " up_to=");
        ref_report(report, &step->up_to);
    }
}

static void feed_report(struct report *report, const struct step *step)
{
    report_add(report, " author_id=%" PRIu64 " filter=%d", step->op.u.feed.author_id,
               (int)step->op.u.feed.filter);
    page_report(report, step);
}

bool resolve_mark(struct run *run, const struct step *step, struct tidings_op *op)
{
    if (step->posts != NULL) {
        run->ids = calloc(op->u.mark.n_post_ids + 1, sizeof *run->ids);
        for (size_t i = 0; i < op->u.mark.n_post_ids; i++)
            run->ids[i] = run_ref_id(run, &step->posts[i]);
        op->u.mark.post_ids = run->ids;
    }
    return run_resolve_token(run, step, &op->u.mark.up_to);
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void same_feed(struct diff *diff, const struct model_answer *want,
                      const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.feed.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_item *a = &want->items[diff->row];
        const struct tidings_item *b = &got->u.feed.rows[diff->row];

        same_u64(diff, "post_id", a->post_id, b->post_id);
        same_u64(diff, "author_id", a->author_id, b->author_id);
        same_text(diff, "author_name", a->author_name, b->author_name);
        same_u64(diff, "kind", a->kind, b->kind);
        same_text(diff, "title", a->title, b->title);
        same_text(diff, "excerpt", a->excerpt, b->excerpt);
        same_i64(diff, "created_at", a->created_at, b->created_at);
        same_bool(diff, "is_read", a->is_read, b->is_read);
        same_i64(diff, "read_at", a->read_at, b->read_at);
        same_bool(diff, "is_deleted", a->is_deleted, b->is_deleted);
    }
    same_end(diff, want->next, got->u.feed.next);
    if (diff->op->kind == TIDINGS_OP_AUTHOR_PAGE)
        same_u64(diff, "total", want->total, got->u.feed.total);
}

static void same_mark(struct diff *diff, const struct model_answer *want,
                      const struct tidings_answer *got)
{
    same_u64(diff, "marked", want->marked, got->u.mark.marked);
    same_u64(diff, "total", want->total, got->u.mark.total);
}

static void same_badge(struct diff *diff, const struct model_answer *want,
                       const struct tidings_answer *got)
{
    same_u64(diff, "total", want->total, got->u.badge.total);
}

static void same_unread(struct diff *diff, const struct model_answer *want,
                        const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.unread.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_unread_row *a = &want->unread_rows[diff->row];
        const struct tidings_unread_row *b = &got->u.unread.rows[diff->row];

        same_u64(diff, "user_id", a->user_id, b->user_id);
        same_text(diff, "name", a->name, b->name);
        same_u64(diff, "unread", a->unread, b->unread);
        same_bool(diff, "following", a->following, b->following);
    }
    diff->list = NULL;
    same_u64(diff, "total", want->total, got->u.unread.total);
}

static void hold_item(struct check *check, const struct tidings_item *item, size_t i)
{
    enum tidings_filter filter = check->op->u.feed.filter;
    uint64_t author_id = check->op->u.feed.author_id;

    require_text(check, item->author_name, "author_name is text", i);
    require_text(check, item->title, "title is text", i);
    require_text(check, item->excerpt, "excerpt is text", i);
    require(check, item->title.n > 0, "a post has a title", i);
    require(check, item->is_read == (item->read_at != 0), "is_read goes with read_at", i);
    require(check, !item->is_deleted || item->excerpt.n == 0, "a deleted post has no excerpt", i);
    require(check, author_id == 0 || item->author_id == author_id, "one author's posts only", i);
    if (filter == TIDINGS_UNREAD)
        require(check, !item->is_read && !item->is_deleted, "unread is unread", i);
    if (filter == TIDINGS_READ)
        require(check, item->is_read, "read is read", i);
    if (check->op->kind == TIDINGS_OP_AUTHOR_PAGE)
        require(check, !item->is_deleted, "deleted posts are not on the author's page", i);
}

static void hold_feed(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_item *rows = answer->u.feed.rows;
    size_t n = answer->u.feed.n;

    require_page(check, &check->op->u.feed.page, n, answer->u.feed.next);
    for (size_t i = 0; i < n; i++) {
        hold_item(check, &rows[i], i);
        require(check, i == 0 || rows[i].post_id < rows[i - 1].post_id, "newest first", i);
        require(check, engine_covers(&answer->u.feed.as_of, rows[i].post_id),
                "as_of covers all shown", i);
    }
    if (check->op->kind == TIDINGS_OP_AUTHOR_PAGE)
        require(check, n <= answer->u.feed.total, "total covers the page", n);
}

static void hold_unread(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_unread_row *rows = answer->u.unread.rows;
    uint64_t sum = 0;

    for (size_t i = 0; i < answer->u.unread.n; i++) {
        require_text(check, rows[i].name, "name is text", i);
        require(check, rows[i].following || rows[i].unread > 0, "an empty row is followed", i);
        require(check,
                i == 0 || rows[i].unread < rows[i - 1].unread ||
                    (rows[i].unread == rows[i - 1].unread && rows[i].user_id > rows[i - 1].user_id),
                "most unread first, then by user id", i);
        sum += rows[i].unread;
    }
    require(check, sum == answer->u.unread.total, "total = sum of the rows", answer->u.unread.n);
}

int line_of_mark(char *line, uint64_t marked, uint64_t total)
{
    return snprintf(line, RENDER_MAX, "marked %" PRIu64 " total %" PRIu64, marked, total);
}

static int mark_line(char *line, const struct tidings_answer *a)
{
    return line_of_mark(line, a->u.mark.marked, a->u.mark.total);
}

static int model_mark_line(char *line, const struct model_answer *a)
{
    return line_of_mark(line, a->marked, a->total);
}

bool sweep_feed(struct sweep *sweep, enum tidings_op_kind kind, uint64_t viewer, uint64_t author_id,
                enum tidings_filter filter, uint64_t *n)
{
    struct tidings_op op = question(sweep, kind, viewer);

    op.u.feed.author_id = author_id;
    op.u.feed.filter = filter;
    if (!sweep_list(sweep, op, n))
        return false;
    if (kind == TIDINGS_OP_AUTHOR_PAGE && *n != sweep->run->answer.u.feed.total)
        return run_fail(sweep->run, "author %" PRIu64 ": total %" PRIu64 ", but %" PRIu64 " rows",
                        author_id, sweep->run->answer.u.feed.total, *n);
    return true;
}

/* What servers remember is what the database has, when they have heard of all that has happened. */
static bool sweep_remembered(struct sweep *sweep, struct tidings_op badge, uint64_t total)
{
    enum { PATIENCE_S = 10 };
    struct tidings_answer *answer = &sweep->run->answer;
    time_t until = time(NULL) + PATIENCE_S;
    badge.freshness = TIDINGS_BOUNDED;
    do
        if (tidings_run(sweep->run->engine, &badge, answer) == TIDINGS_OK &&
            answer->u.badge.total == total)
            return true;
    while (time(NULL) < until);
    return run_fail(sweep->run, "user %" PRIu64 ": badge %" PRIu64 ", remembered %" PRIu64,
                    badge.user_id, total, answer->u.badge.total);
}

/* badge = sum of the unread rows = number of unread items, in all and author by author. */
static bool sweep_unread(struct sweep *sweep, uint64_t viewer)
{
    struct tidings_op badge = question(sweep, TIDINGS_OP_BADGE, viewer);
    struct tidings_op unread = question(sweep, TIDINGS_OP_UNREAD, viewer);
    uint64_t total;
    uint64_t paged;
    uint64_t by_author = 0;

    if (!sweep_ask(sweep, &badge))
        return false;
    total = sweep->run->answer.u.badge.total;
    if (!sweep_remembered(sweep, badge, total) || !sweep_ask(sweep, &unread))
        return false;
    if (sweep->run->answer.u.unread.total != total)
        return run_fail(sweep->run, "user %" PRIu64 ": badge %" PRIu64 ", unread total %" PRIu64,
                        viewer, total, sweep->run->answer.u.unread.total);
    if (!sweep_feed(sweep, TIDINGS_OP_INBOX, viewer, 0, TIDINGS_UNREAD, &paged))
        return false;
    if (paged != total)
        return run_fail(sweep->run, "user %" PRIu64 ": badge %" PRIu64 ", %" PRIu64 " items unread",
                        viewer, total, paged);
    for (size_t i = 0; i < sweep->n_authors; i++) {
        if (!sweep_feed(sweep, TIDINGS_OP_INBOX, viewer, sweep->authors[i], TIDINGS_UNREAD, &paged))
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

    if (!sweep_feed(sweep, TIDINGS_OP_INBOX, viewer, 0, TIDINGS_ALL, &all) ||
        !sweep_feed(sweep, TIDINGS_OP_INBOX, viewer, 0, TIDINGS_READ, &read))
        return false;
    for (size_t i = 0; i < sweep->n_authors; i++) {
        if (!sweep_feed(sweep, TIDINGS_OP_INBOX, viewer, sweep->authors[i], TIDINGS_ALL, &paged))
            return false;
        all_by_author += paged;
        if (!sweep_feed(sweep, TIDINGS_OP_INBOX, viewer, sweep->authors[i], TIDINGS_READ, &paged))
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

        if (!sweep_feed(sweep, TIDINGS_OP_AUTHOR_PAGE, viewer, author, TIDINGS_ALL, &all) ||
            !sweep_feed(sweep, TIDINGS_OP_AUTHOR_PAGE, viewer, author, TIDINGS_READ, &read) ||
            !sweep_feed(sweep, TIDINGS_OP_AUTHOR_PAGE, viewer, author, TIDINGS_UNREAD, &unread))
            return false;
        if (all != read + unread)
            return run_fail(sweep->run,
                            "user %" PRIu64 ", author %" PRIu64 ": read and unread are not all",
                            viewer, author);
    }
    return true;
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

const struct op_row row_mark_read = {
    .weights = {[MOOD_MIXED] = 10,
                [MOOD_PUBLISH] = 4,
                [MOOD_READ] = 20,
                [MOOD_DELETE] = 10,
                [MOOD_LOOK] = 4},
    .arguments = mark_arguments,
    .mistake = generate_bad_mark,
    .report = mark_report,
    .resolve = resolve_mark,
    .check = check_mark,
    .write = write_mark_read,
    .compare = same_mark,
    .line = mark_line,
    .model_line = model_mark_line,
};

const struct op_row row_mark_unread = {
    .weights = {[MOOD_MIXED] = 6, [MOOD_READ] = 8, [MOOD_DELETE] = 8},
    .arguments = mark_arguments,
    .mistake = generate_bad_mark,
    .report = mark_report,
    .resolve = resolve_mark,
    .check = check_mark,
    .write = write_mark_unread,
    .compare = same_mark,
    .line = mark_line,
    .model_line = model_mark_line,
};

const struct op_row row_inbox = {
    .weights = {[MOOD_MIXED] = 10,
                [MOOD_PUBLISH] = 4,
                [MOOD_READ] = 8,
                [MOOD_RELATE] = 4,
                [MOOD_DELETE] = 8,
                [MOOD_LOOK] = 25,
                [MOOD_VOTE] = 3},
    .page = offsetof(struct tidings_op, u.feed.page),
    .next = offsetof(struct tidings_answer, u.feed.next),
    .as_of = offsetof(struct tidings_answer, u.feed.as_of),
    .arguments = feed_arguments,
    .mistake = bad_feed,
    .report = feed_report,
    .check = check_feed,
    .read = read_feed,
    .compare = same_feed,
    .hold = hold_feed,
    .sweep_user = sweep_inbox,
};

const struct op_row row_author_page = {
    .weights = {[MOOD_MIXED] = 6,
                [MOOD_PUBLISH] = 2,
                [MOOD_READ] = 4,
                [MOOD_DELETE] = 6,
                [MOOD_LOOK] = 18},
    .page = offsetof(struct tidings_op, u.feed.page),
    .next = offsetof(struct tidings_answer, u.feed.next),
    .as_of = offsetof(struct tidings_answer, u.feed.as_of),
    .arguments = feed_arguments,
    .mistake = bad_feed,
    .report = feed_report,
    .check = check_feed,
    .read = read_feed,
    .compare = same_feed,
    .hold = hold_feed,
    .sweep_user = sweep_author_pages,
};

const struct op_row row_badge = {
    .weights = {[MOOD_MIXED] = 3, [MOOD_PUBLISH] = 2},
    .as_of = offsetof(struct tidings_answer, u.badge.as_of),
    .read = read_badge,
    .compare = same_badge,
};

/* ---- Many badges at once ------------------------------------------------------------------------ */

static void many_arguments(struct generator *g, struct run *run, struct step *step)
{
    const struct tidings_settings *s = &g->recording->settings;
    size_t most = g->recording->n_users < s->many_max ? g->recording->n_users : s->many_max;
    size_t n = (size_t)rng_between(&g->rng, 1, most);
    uint64_t *ids = recording_room(g->recording, n * sizeof *ids);

    (void)run;
    if (rng_percent(&g->rng, 85))
        step->op.role = TIDINGS_ROLE_SERVICE;
    for (size_t i = 0; i < n; i++) /* in any order, and some of them twice */
        ids[i] = g->recording->user_ids[rng_between(&g->rng, 0, g->recording->n_users - 1)];
    step->op.u.many.user_ids = ids;
    step->op.u.many.n_user_ids = n;
}

static void bad_many(struct generator *g, struct step *step)
{
    uint64_t *ids = recording_room(g->recording, 2 * sizeof *ids);

    ids[0] = 9;
    ids[1] = generate_bad_id(g);
    step->op.u.many.user_ids = ids;
    step->op.u.many.n_user_ids = rng_percent(&g->rng, 70) ? 2 : 0;
}

static void many_report(struct report *report, const struct step *step)
{
    report_add(report, " user_ids=[");
    for (size_t i = 0; i < step->op.u.many.n_user_ids; i++)
        report_add(report, "%s%" PRIu64, i > 0 ? " " : "", step->op.u.many.user_ids[i]);
    report_add(report, "]");
}

static const char *check_many(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;

    if (op->u.many.n_user_ids == 0 || op->u.many.n_user_ids > model->settings.many_max)
        return "user_ids";
    for (size_t i = 0; i < op->u.many.n_user_ids; i++) {
        if (!model_id_ok(op->u.many.user_ids[i]))
            return "user_ids";
    }
    return NULL;
}

static void read_badges(struct model *model, const struct model_call *call,
                        struct model_answer *answer)
{
    const struct tidings_op *op = call->op;

    if (op->role == TIDINGS_ROLE_USER) {
        answer->err = TIDINGS_FORBIDDEN;
        return;
    }
    answer->user_ids = model_room(NULL, op->u.many.n_user_ids, sizeof *answer->user_ids);
    for (size_t i = 0; i < op->u.many.n_user_ids; i++)
        answer->user_ids[answer->n++] =
            model_unread(model, model_user(model, op->u.many.user_ids[i]), 0);
}

static void same_badges(struct diff *diff, const struct model_answer *want,
                        const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.badges.n);

    for (diff->row = 0; diff->row < n; diff->row++)
        same_u64(diff, "total", want->user_ids[diff->row], got->u.badges.totals[diff->row]);
    diff->list = NULL;
}

const struct op_row row_badges = {
    .weights = {[MOOD_MIXED] = 3, [MOOD_READ] = 3, [MOOD_DELETE] = 2},
    .as_of = offsetof(struct tidings_answer, u.badges.as_of),
    .arguments = many_arguments,
    .mistake = bad_many,
    .report = many_report,
    .check = check_many,
    .read = read_badges,
    .compare = same_badges,
};

const struct op_row row_unread = {
    .weights = {[MOOD_MIXED] = 4,
                [MOOD_PUBLISH] = 1,
                [MOOD_READ] = 2,
                [MOOD_RELATE] = 4,
                [MOOD_DELETE] = 3},
    .as_of = offsetof(struct tidings_answer, u.unread.as_of),
    .read = read_unread,
    .compare = same_unread,
    .hold = hold_unread,
    .sweep_user = sweep_unread,
};
