/* SPDX-License-Identifier: MIT */
#include "invariants.h"

#include "invariants_parts.h"
#include "support/engine.h"

#include <inttypes.h>
#include <string.h>

void require(struct check *check, bool truth, const char *what, size_t row)
{
    if (truth || check->failed)
        return;
    check->failed = true;
    report_add(check->report, "invariant broken in row %zu: %s\n", row, what);
}

void require_text(struct check *check, struct tidings_text text, const char *what, size_t row)
{
    require(check, text.p != NULL && text.p[text.n] == '\0' && strlen(text.p) == text.n, what, row);
}

void require_page(struct check *check, const struct tidings_page *page, size_t n,
                  struct tidings_cursor next)
{
    size_t limit = page->limit != 0 ? page->limit : (size_t)check->settings->page_default;

    require(check, n <= limit, "no more rows than asked for", n);
    require(check, next.a <= TIDINGS_ID_MAX && next.b <= TIDINGS_ID_MAX, "the cursor is usable", n);
    if (check->op->kind == TIDINGS_OP_EVENTS)
        return;
    require(check, n == limit || (next.a == 0 && next.b == 0), "only a full page goes on", n);
}

static void check_item(struct check *check, const struct tidings_item *item, size_t i)
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

static void check_feed(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_item *rows = answer->u.feed.rows;
    size_t n = answer->u.feed.n;

    require_page(check, &check->op->u.feed.page, n, answer->u.feed.next);
    for (size_t i = 0; i < n; i++) {
        check_item(check, &rows[i], i);
        require(check, i == 0 || rows[i].post_id < rows[i - 1].post_id, "newest first", i);
        require(check, engine_covers(&answer->u.feed.as_of, rows[i].post_id),
                "as_of covers all shown", i);
    }
    if (check->op->kind == TIDINGS_OP_AUTHOR_PAGE)
        require(check, n <= answer->u.feed.total, "total covers the page", n);
}

void check_users(struct check *check, const struct tidings_page *page,
                 const struct tidings_answer *answer)
{
    const struct tidings_user_row *rows = answer->u.users.rows;

    require_page(check, page, answer->u.users.n, answer->u.users.next);
    for (size_t i = 0; i < answer->u.users.n; i++) {
        require_text(check, rows[i].name, "name is text", i);
        require_text(check, rows[i].avatar, "avatar is text", i);
        require(check, i == 0 || rows[i].since <= rows[i - 1].since, "newest first", i);
        for (size_t j = 0; j < i; j++)
            require(check, rows[j].user_id != rows[i].user_id, "no user twice", i);
    }
}

static void check_unread(struct check *check, const struct tidings_answer *answer)
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

static void check_history(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_history_row *rows = answer->u.history.rows;

    require_page(check, &check->op->u.page, answer->u.history.n, answer->u.history.next);
    for (size_t i = 0; i < answer->u.history.n; i++) {
        require_text(check, rows[i].title, "title is text", i);
        require(check, rows[i].read_at != 0, "it has a time", i);
        require(check, i == 0 || rows[i].read_at <= rows[i - 1].read_at, "latest first", i);
        for (size_t j = 0; j < i; j++)
            require(check, rows[j].post_id != rows[i].post_id, "no post twice", i);
    }
}

static void check_events(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_event *rows = answer->u.events.rows;
    uint64_t last = check->op->u.page.after.a;

    require_page(check, &check->op->u.page, answer->u.events.n, answer->u.events.next);
    for (size_t i = 0; i < answer->u.events.n; i++) {
        require(check, rows[i].event_id > last, "event ids increase", i);
        require(check, rows[i].event_id <= TIDINGS_ID_MAX, "event ids are below 2^53", i);
        require(check, i == 0 || rows[i].happened_at >= rows[i - 1].happened_at, "times too", i);
        last = rows[i].event_id;
    }
    require(check, answer->u.events.next.a == last, "next is the last event", answer->u.events.n);
}

/* Terms of a post's score. */
static void check_post_counts(struct check *check, const struct tidings_counts *counts, size_t i)
{
    const struct tidings_settings *s = check->settings;

    require(check,
            counts->hot_score ==
                (int64_t)(counts->like_count * s->hot_like + counts->fav_count * s->hot_fav +
                          counts->comment_count * s->hot_comment),
            "hot_score is the sum of its terms", i);
    require(check, counts->down_count == 0 && counts->reply_count == 0,
            "a post has no downvotes and replies", i);
}

static void check_post(struct check *check, const struct tidings_post *post)
{
    require_text(check, post->author_name, "author_name is text", 0);
    require_text(check, post->title, "title is text", 0);
    require_text(check, post->body, "body is text", 0);
    require(check, post->id >= 1 && post->id <= TIDINGS_ID_MAX, "post ids are below 2^53", 0);
    check_post_counts(check, &post->counts, 0);
    require(check, post->liked <= post->counts.like_count && post->faved <= post->counts.fav_count,
            "one's own reaction is counted", 0);
}

static void check_comment(struct check *check, const struct tidings_comment *comment, size_t i)
{
    const struct tidings_settings *s = check->settings;
    const struct tidings_counts *counts = &comment->counts;
    bool folds = counts->down_count >= s->fold_down &&
                 counts->down_count * 100 >= s->fold_percent * (counts->like_count + 1);

    require_text(check, comment->user_name, "user_name is text", i);
    require_text(check, comment->body, "body is text", i);
    require(check, comment->id >= 1 && comment->id <= TIDINGS_ID_MAX, "ids are below 2^53", i);
    require(check, comment->id > comment->parent_id, "a reply is newer than its parent", i);
    require(check, !(comment->liked && comment->downvoted), "like and downvote exclude each other",
            i);
    require(check, comment->liked <= counts->like_count && comment->downvoted <= counts->down_count,
            "one's own vote is counted", i);
    require(check,
            counts->hot_score == (int64_t)(counts->like_count * s->hot_comment_like) +
                                     (int64_t)(counts->reply_count * s->hot_comment_reply) -
                                     (int64_t)(counts->down_count * s->hot_comment_down),
            "hot_score is the sum of its terms", i);
    require(check, counts->fav_count == 0 && counts->comment_count == 0,
            "a comment has no favs and comments", i);
    if (comment->status == TIDINGS_COMMENT_DELETED)
        require(check, comment->body.n == 0, "a deleted comment has no body", i);
    else if (!comment->moderated)
        require(check, (comment->status == TIDINGS_COMMENT_HIDDEN) == folds,
                "votes decide what is folded", i);
    if (comment->status == TIDINGS_COMMENT_VISIBLE)
        require(check, comment->body.n > 0, "a visible comment has a body", i);
}

/* Is b in its place behind a? */
static bool comments_in_order(enum tidings_sort sort, const struct tidings_comment *a,
                              const struct tidings_comment *b)
{
    if (sort == TIDINGS_OLD)
        return a->id < b->id;
    if (sort == TIDINGS_HOT && a->counts.hot_score != b->counts.hot_score)
        return a->counts.hot_score > b->counts.hot_score;
    return a->id > b->id;
}

static void check_comments(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_comment *rows = answer->u.comments.rows;
    const struct tidings_op *op = check->op;

    require_page(check, &op->u.comments.page, answer->u.comments.n, answer->u.comments.next);
    for (size_t i = 0; i < answer->u.comments.n; i++) {
        check_comment(check, &rows[i], i);
        require(check,
                rows[i].post_id == op->u.comments.post_id &&
                    rows[i].parent_id == op->u.comments.parent_id,
                "of this post and this parent", i);
        require(check, i == 0 || comments_in_order(op->u.comments.sort, &rows[i - 1], &rows[i]),
                "in order", i);
        if (rows[i].status == TIDINGS_COMMENT_HIDDEN)
            require(check, (rows[i].body.n > 0) == op->u.comments.include_hidden,
                    "a hidden comment's body is shown if asked for", i);
    }
}

static void check_reacted(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_reacted_row *rows = answer->u.reacted.rows;

    require_page(check, &check->op->u.reactors.page, answer->u.reacted.n, answer->u.reacted.next);
    for (size_t i = 0; i < answer->u.reacted.n; i++) {
        require_text(check, rows[i].text, "text is text", i);
        require(check, i == 0 || rows[i].at <= rows[i - 1].at, "newest first", i);
        for (size_t j = 0; j < i; j++)
            require(check, rows[j].id != rows[i].id, "nothing twice", i);
    }
}

static void check_hot(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_hot_row *rows = answer->u.hot.rows;
    bool halves = check->settings->hot_half_life_hours != 0;

    require_page(check, &check->op->u.hot.page, answer->u.hot.n, answer->u.hot.next);
    for (size_t i = 0; i < answer->u.hot.n; i++) {
        require_text(check, rows[i].author_name, "author_name is text", i);
        require_text(check, rows[i].title, "title is text", i);
        require_text(check, rows[i].excerpt, "excerpt is text", i);
        check_post_counts(check, &rows[i].counts, i);
        require(check, halves || rows[i].heat == (double)rows[i].counts.hot_score,
                "without a half-life the heat is the score", i);
        if (i == 0)
            continue;
        require(check, rows[i].heat <= rows[i - 1].heat * (halves ? 1 + 1e-6 : 1), "hottest first",
                i);
        if (rows[i].counts.hot_score == rows[i - 1].counts.hot_score)
            require(check, rows[i].post_id < rows[i - 1].post_id, "then newest first", i);
        for (size_t j = 0; j < i; j++)
            require(check, rows[j].post_id != rows[i].post_id, "no post twice", i);
    }
}

static void check_error(struct check *check, const struct tidings_answer *answer)
{
    if (answer->err == TIDINGS_INVALID)
        require(check, answer->field != NULL, "the bad argument has a name", 0);
    if (answer->err == TIDINGS_RATE_LIMITED)
        require(check, answer->retry_after_ms > 0, "there is a time to wait", 0);
    if (answer->err == TIDINGS_DELETED)
        require_text(check, answer->title, "title is text", 0);
}

static void check_success(struct check *check, const struct tidings_answer *answer)
{
    switch (check->op->kind) {
    case TIDINGS_OP_PUBLISH:
    case TIDINGS_OP_EDIT:
    case TIDINGS_OP_POST:
        check_post(check, &answer->u.post);
        break;
    case TIDINGS_OP_OPEN:
        check_post(check, &answer->u.open.post);
        require(check, answer->u.open.unread_author <= answer->u.open.unread_total,
                "an author's unread are among all unread", 0);
        break;
    case TIDINGS_OP_AUTHOR_PAGE:
    case TIDINGS_OP_INBOX:
        check_feed(check, answer);
        break;
    case TIDINGS_OP_FOLLOWING:
    case TIDINGS_OP_FOLLOWERS:
        check_users(check, &check->op->u.users.page, answer);
        break;
    case TIDINGS_OP_REACTORS:
        check_users(check, &check->op->u.reactors.page, answer);
        break;
    case TIDINGS_OP_REACTED:
        check_reacted(check, answer);
        break;
    case TIDINGS_OP_COMMENT:
    case TIDINGS_OP_COMMENT_HIDE:
    case TIDINGS_OP_COMMENT_RESTORE:
        check_comment(check, &answer->u.comment, 0);
        break;
    case TIDINGS_OP_COMMENTS:
        check_comments(check, answer);
        break;
    case TIDINGS_OP_HOT:
        check_hot(check, answer);
        break;
    case TIDINGS_OP_UNREAD:
        check_unread(check, answer);
        break;
    case TIDINGS_OP_HISTORY:
        check_history(check, answer);
        break;
    case TIDINGS_OP_EVENTS:
        check_events(check, answer);
        break;
    case TIDINGS_OP_STATUS:
        require(check,
                answer->u.status.mutual ==
                    (answer->u.status.following && answer->u.status.followed_by),
                "mutual is both", 0);
        break;
    default:
        check_story(check, answer);
        break;
    }
}

bool invariants_hold(const struct tidings_settings *settings, const struct tidings_op *op,
                     const struct tidings_answer *answer, struct report *report)
{
    struct check check = {settings, op, report, false};
    const struct tidings_moment *as_of = answer_as_of(op->kind, answer);

    if (answer->err != TIDINGS_OK)
        check_error(&check, answer);
    else if (op->once != NULL)
        require_text(&check, answer->stored, "stored is text", 0);
    else
        check_success(&check, answer);
    if (answer->err == TIDINGS_OK && as_of != NULL)
        require(&check, moment_is_given(as_of), "as_of is usable", 0);
    return !check.failed;
}

struct tidings_cursor answer_next(enum tidings_op_kind kind, const struct tidings_answer *answer)
{
    switch (kind) {
    case TIDINGS_OP_FOLLOWING:
    case TIDINGS_OP_FOLLOWERS:
    case TIDINGS_OP_SUBSCRIBERS:
        return answer->u.users.next;
    case TIDINGS_OP_AUTHOR_PAGE:
    case TIDINGS_OP_INBOX:
        return answer->u.feed.next;
    case TIDINGS_OP_HISTORY:
        return answer->u.history.next;
    case TIDINGS_OP_EVENTS:
        return answer->u.events.next;
    case TIDINGS_OP_REACTORS:
        return answer->u.users.next;
    case TIDINGS_OP_REACTED:
        return answer->u.reacted.next;
    case TIDINGS_OP_COMMENTS:
        return answer->u.comments.next;
    case TIDINGS_OP_HOT:
        return answer->u.hot.next;
    case TIDINGS_OP_SCENES:
        return answer->u.scenes.next;
    case TIDINGS_OP_READING:
        return answer->u.readings.next;
    case TIDINGS_OP_SUBSCRIPTIONS:
        return answer->u.subscriptions.next;
    case TIDINGS_OP_NOTIFICATIONS:
        return answer->u.notifications.next;
    default:
        return (struct tidings_cursor){0, 0};
    }
}

const struct tidings_moment *answer_as_of(enum tidings_op_kind kind,
                                          const struct tidings_answer *answer)
{
    switch (kind) {
    case TIDINGS_OP_AUTHOR_PAGE:
    case TIDINGS_OP_INBOX:
        return &answer->u.feed.as_of;
    case TIDINGS_OP_BADGE:
        return &answer->u.badge.as_of;
    case TIDINGS_OP_UNREAD:
        return &answer->u.unread.as_of;
    case TIDINGS_OP_NOTIFICATIONS:
        return &answer->u.notifications.as_of;
    default:
        return NULL;
    }
}

bool moment_is_given(const struct tidings_moment *moment)
{
    static const struct tidings_moment none;

    return memcmp(moment, &none, sizeof none) != 0;
}
