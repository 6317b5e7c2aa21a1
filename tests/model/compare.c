/* SPDX-License-Identifier: MIT */
#include "compare.h"

#include "compare_parts.h"

#include <inttypes.h>
#include <string.h>

bool differs(struct diff *diff, const char *field)
{
    if (++diff->differences > 8)
        return false;
    if (diff->list != NULL)
        report_add(diff->report, "  %s[%zu].%s: ", diff->list, diff->row, field);
    else
        report_add(diff->report, "  %s: ", field);
    return true;
}

void same_u64(struct diff *diff, const char *field, uint64_t want, uint64_t got)
{
    if (want != got && differs(diff, field))
        report_add(diff->report, "expected %" PRIu64 ", got %" PRIu64 "\n", want, got);
}

void same_i64(struct diff *diff, const char *field, int64_t want, int64_t got)
{
    if (want != got && differs(diff, field))
        report_add(diff->report, "expected %" PRId64 ", got %" PRId64 "\n", want, got);
}

void same_bool(struct diff *diff, const char *field, bool want, bool got)
{
    if (want != got && differs(diff, field))
        report_add(diff->report, "expected %s, got %s\n", want ? "true" : "false",
                   got ? "true" : "false");
}

void same_text(struct diff *diff, const char *field, struct tidings_text want,
               struct tidings_text got)
{
    if (got.p != NULL && want.n == got.n && memcmp(want.p, got.p, want.n) == 0)
        return;
    if (!differs(diff, field))
        return;
    report_add(diff->report, "expected ");
    report_text(diff->report, want);
    report_add(diff->report, ", got ");
    report_text(diff->report, got);
    report_add(diff->report, "\n");
}

static void same_post(struct diff *diff, const struct tidings_post *want,
                      const struct tidings_post *got)
{
    same_u64(diff, "post.id", want->id, got->id);
    same_u64(diff, "post.author_id", want->author_id, got->author_id);
    same_text(diff, "post.author_name", want->author_name, got->author_name);
    same_u64(diff, "post.kind", want->kind, got->kind);
    same_text(diff, "post.title", want->title, got->title);
    same_text(diff, "post.body", want->body, got->body);
    same_i64(diff, "post.created_at", want->created_at, got->created_at);
    same_i64(diff, "post.edited_at", want->edited_at, got->edited_at);
    same_counts(diff, &want->counts, &got->counts);
    same_bool(diff, "post.liked", want->liked, got->liked);
    same_bool(diff, "post.faved", want->faved, got->faved);
}

size_t same_length(struct diff *diff, size_t want, size_t got)
{
    same_u64(diff, "number of rows", want, got);
    diff->list = "rows";
    return want < got ? want : got;
}

void same_end(struct diff *diff, struct tidings_cursor want, struct tidings_cursor got)
{
    diff->list = NULL;
    same_bool(diff, "the list goes on", want.a != 0 || want.b != 0, got.a != 0 || got.b != 0);
}

static void same_feed(struct diff *diff, const struct tidings_op *op,
                      const struct model_answer *want, const struct tidings_answer *got)
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
    if (op->kind == TIDINGS_OP_AUTHOR_PAGE)
        same_u64(diff, "total", want->total, got->u.feed.total);
}

void same_users(struct diff *diff, const struct model_answer *want,
                const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.users.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_user_row *a = &want->user_rows[diff->row];
        const struct tidings_user_row *b = &got->u.users.rows[diff->row];

        same_u64(diff, "user_id", a->user_id, b->user_id);
        same_text(diff, "name", a->name, b->name);
        same_text(diff, "avatar", a->avatar, b->avatar);
        same_i64(diff, "since", a->since, b->since);
    }
    same_end(diff, want->next, got->u.users.next);
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

static void same_history(struct diff *diff, const struct model_answer *want,
                         const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.history.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_history_row *a = &want->history_rows[diff->row];
        const struct tidings_history_row *b = &got->u.history.rows[diff->row];

        same_u64(diff, "post_id", a->post_id, b->post_id);
        same_u64(diff, "author_id", a->author_id, b->author_id);
        same_text(diff, "title", a->title, b->title);
        same_i64(diff, "read_at", a->read_at, b->read_at);
        same_bool(diff, "is_deleted", a->is_deleted, b->is_deleted);
    }
    same_end(diff, want->next, got->u.history.next);
}

static void same_events(struct diff *diff, const struct model_answer *want,
                        const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.events.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_event *a = &want->event_rows[diff->row];
        const struct tidings_event *b = &got->u.events.rows[diff->row];

        same_u64(diff, "type", a->type, b->type);
        same_i64(diff, "happened_at", a->happened_at, b->happened_at);
        same_u64(diff, "actor_user_id", a->actor_user_id, b->actor_user_id);
        same_u64(diff, "target_id", a->target_id, b->target_id);
        same_u64(diff, "author_id", a->author_id, b->author_id);
        same_i64(diff, "delta", a->delta, b->delta);
        same_u64(diff, "post_id", a->post_id, b->post_id);
        same_u64(diff, "reaction", a->reaction, b->reaction);
    }
    diff->list = NULL;
}

void same_among(struct diff *diff, const struct model_answer *want,
                const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.among.n);

    for (diff->row = 0; diff->row < n; diff->row++)
        same_u64(diff, "user_id", want->user_ids[diff->row], got->u.among.user_ids[diff->row]);
    diff->list = NULL;
}

static void same_counters(struct diff *diff, const struct model_answer *want,
                          const struct tidings_answer *got)
{
    same_u64(diff, "following", want->count_following, got->u.counters.following);
    same_u64(diff, "followers", want->count_followers, got->u.counters.followers);
    same_u64(diff, "posts", want->count_posts, got->u.counters.posts);
    same_u64(diff, "liked_posts", want->count_liked, got->u.counters.liked_posts);
    same_u64(diff, "faved_posts", want->count_faved, got->u.counters.faved_posts);
    same_u64(diff, "likes_received", want->count_likes_received, got->u.counters.likes_received);
    same_u64(diff, "favs_received", want->count_favs_received, got->u.counters.favs_received);
}

static void same_relation(struct diff *diff, const struct model_answer *want,
                          const struct tidings_answer *got)
{
    same_bool(diff, "changed", want->changed, got->u.relation.changed);
    same_bool(diff, "following", want->following, got->u.relation.following);
    same_bool(diff, "mutual", want->mutual, got->u.relation.mutual);
    same_u64(diff, "purged", want->purged, got->u.relation.purged);
}

static void same_success(struct diff *diff, const struct tidings_op *op,
                         const struct model_answer *want, const struct tidings_answer *got)
{
    switch (op->kind) {
    case TIDINGS_OP_FOLLOW:
    case TIDINGS_OP_UNFOLLOW:
        same_relation(diff, want, got);
        break;
    case TIDINGS_OP_PROFILE_SET:
    case TIDINGS_OP_PROFILE:
        same_u64(diff, "user_id", want->profile_id, got->u.profile.user_id);
        same_text(diff, "name", want->name, got->u.profile.name);
        same_text(diff, "avatar", want->avatar, got->u.profile.avatar);
        break;
    case TIDINGS_OP_PUBLISH:
    case TIDINGS_OP_EDIT:
    case TIDINGS_OP_POST:
        same_post(diff, &want->post, &got->u.post);
        break;
    case TIDINGS_OP_OPEN:
        same_post(diff, &want->post, &got->u.open.post);
        same_u64(diff, "unread_total", want->total, got->u.open.unread_total);
        same_u64(diff, "unread_author", want->unread_author, got->u.open.unread_author);
        break;
    case TIDINGS_OP_MARK_READ:
    case TIDINGS_OP_MARK_UNREAD:
        same_u64(diff, "marked", want->marked, got->u.mark.marked);
        same_u64(diff, "total", want->total, got->u.mark.total);
        break;
    case TIDINGS_OP_STATUS:
        same_bool(diff, "following", want->following, got->u.status.following);
        same_bool(diff, "followed_by", want->followed_by, got->u.status.followed_by);
        same_bool(diff, "mutual", want->mutual, got->u.status.mutual);
        break;
    case TIDINGS_OP_FOLLOWING:
    case TIDINGS_OP_FOLLOWERS:
        same_users(diff, want, got);
        break;
    case TIDINGS_OP_FANS_AMONG:
        same_among(diff, want, got);
        break;
    case TIDINGS_OP_COUNTERS:
        same_counters(diff, want, got);
        break;
    case TIDINGS_OP_AUTHOR_PAGE:
    case TIDINGS_OP_INBOX:
        same_feed(diff, op, want, got);
        break;
    case TIDINGS_OP_BADGE:
        same_u64(diff, "total", want->total, got->u.badge.total);
        break;
    case TIDINGS_OP_UNREAD:
        same_unread(diff, want, got);
        break;
    case TIDINGS_OP_HISTORY:
        same_history(diff, want, got);
        break;
    case TIDINGS_OP_EVENTS:
        same_events(diff, want, got);
        break;
    case TIDINGS_OP_DELETE:
    case TIDINGS_OP_SCENE_DELETE:
        same_u64(diff, "author_id", want->deleted_author_id, got->u.deleted.author_id);
        same_u64(diff, "story_id", want->deleted_story_id, got->u.deleted.story_id);
        break;
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
    case TIDINGS_OP_SCENES:
    case TIDINGS_OP_SCENE:
    case TIDINGS_OP_READING_SET:
    case TIDINGS_OP_READING_DELETE:
    case TIDINGS_OP_READING_CLEAR:
    case TIDINGS_OP_READING:
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
    case TIDINGS_OP_SUBSCRIPTIONS:
    case TIDINGS_OP_SUBSCRIBERS:
    case TIDINGS_OP_SUBSCRIBERS_AMONG:
    case TIDINGS_OP_PREFERENCES:
    case TIDINGS_OP_PREFERENCES_SET:
    case TIDINGS_OP_NOTIFICATIONS:
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        same_story(diff, op, want, got);
        break;
    case TIDINGS_OP_REACT:
    case TIDINGS_OP_UNREACT:
    case TIDINGS_OP_COMMENT:
    case TIDINGS_OP_COMMENT_HIDE:
    case TIDINGS_OP_COMMENT_RESTORE:
    case TIDINGS_OP_REACTORS:
    case TIDINGS_OP_REACTED:
    case TIDINGS_OP_COMMENTS:
    case TIDINGS_OP_STATS:
    case TIDINGS_OP_HOT:
        same_interaction(diff, op, want, got);
        break;
    /* Not asked for here. */
    case TIDINGS_OP_WEBHOOK_SET:
    case TIDINGS_OP_WEBHOOK_DELETE:
    case TIDINGS_OP_WEBHOOK_RETRY:
    case TIDINGS_OP_WEBHOOK_REPORT:
    case TIDINGS_OP_WEBHOOKS:
    case TIDINGS_OP_WEBHOOK:
    case TIDINGS_OP_COMMENT_DELETE:
    case TIDINGS_OP_HISTORY_DELETE:
    case TIDINGS_OP_HISTORY_CLEAR:
    case TIDINGS_OP_COUNT:
        break;
    }
}

static const char *err_detail(enum tidings_err err, const char *field)
{
    if (err != TIDINGS_INVALID)
        return "";
    return field != NULL ? field : "(no field)";
}

static void same_error(struct diff *diff, const struct model_answer *want,
                       const struct tidings_answer *got)
{
    const char *want_field = err_detail(want->err, want->field);
    const char *got_field = err_detail(got->err, got->field);

    if (want->err != got->err || strcmp(want_field, got_field) != 0) {
        if (differs(diff, "err"))
            report_add(diff->report, "expected %s %s, got %s %s\n", tidings_err_code(want->err),
                       want_field, tidings_err_code(got->err), got_field);
        return;
    }
    if (want->err == TIDINGS_RATE_LIMITED)
        same_i64(diff, "retry_after_ms", want->retry_after_ms, got->retry_after_ms);
    if (want->err == TIDINGS_DELETED)
        same_text(diff, "title", want->title, got->title);
}

bool compare_answers(const struct tidings_op *op, const struct model_answer *want,
                     const struct tidings_answer *got, struct report *report)
{
    struct diff diff = {.report = report};

    same_error(&diff, want, got);
    if (diff.differences == 0 && want->err == TIDINGS_OK) {
        if (op->once != NULL)
            same_text(&diff, "stored", want->stored, got->stored);
        else
            same_success(&diff, op, want, got);
    }
    if (diff.differences > 8)
        report_add(report, "  (and %zu more)\n", diff.differences - 8);
    return diff.differences == 0;
}
