/* SPDX-License-Identifier: MIT */
#include "recording.h"

#include "run_story.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *shared_room(size_t size)
{
    void *p =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

struct recording *recording_new(size_t steps)
{
    struct recording *recording = shared_room(sizeof *recording);

    if (recording == NULL)
        return NULL;
    recording->room = steps;
    recording->steps = shared_room(steps * sizeof *recording->steps);
    /* Only what is used takes memory: most steps need next to nothing, a few a whole body. */
    recording->bytes_room = ((size_t)64 << 20) + steps * 8192;
    recording->bytes = shared_room(recording->bytes_room);
    if (recording->steps == NULL || recording->bytes == NULL)
        return NULL;
    return recording;
}

void recording_free(struct recording *recording)
{
    munmap(recording->steps, recording->room * sizeof *recording->steps);
    munmap(recording->bytes, recording->bytes_room);
    munmap(recording, sizeof *recording);
}

void *recording_room(struct recording *recording, size_t size)
{
    size_t at = (recording->bytes_used + 15) / 16 * 16;

    if (size > recording->bytes_room - at) {
        fprintf(stderr, "the recording is full\n");
        abort();
    }
    recording->bytes_used = at + size;
    return recording->bytes + at;
}

const char *op_name(enum tidings_op_kind kind)
{
    switch (kind) {
#define X(name, lower, writes, args, answer) \
    case TIDINGS_OP_##name:                  \
        return #name;
        TIDINGS_OPS(X)
#undef X
    case TIDINGS_OP_COUNT:
        break;
    }
    return "(unknown operation)";
}

struct tidings_page *op_page(struct tidings_op *op)
{
    switch (op->kind) {
    case TIDINGS_OP_FOLLOWING:
    case TIDINGS_OP_FOLLOWERS:
        return &op->u.users.page;
    case TIDINGS_OP_AUTHOR_PAGE:
    case TIDINGS_OP_INBOX:
        return &op->u.feed.page;
    case TIDINGS_OP_HISTORY:
    case TIDINGS_OP_EVENTS:
    case TIDINGS_OP_SUBSCRIPTIONS:
    case TIDINGS_OP_NOTIFICATIONS:
        return &op->u.page;
    case TIDINGS_OP_REACTORS:
    case TIDINGS_OP_REACTED:
        return &op->u.reactors.page;
    case TIDINGS_OP_COMMENTS:
        return &op->u.comments.page;
    case TIDINGS_OP_HOT:
        return &op->u.hot.page;
    case TIDINGS_OP_SCENES:
    case TIDINGS_OP_SUBSCRIBERS:
        return &op->u.scenes.page;
    case TIDINGS_OP_READING:
        return &op->u.readings.page;
    default:
        return NULL;
    }
}

void ref_report(struct report *report, const struct ref *ref)
{
    switch (ref->kind) {
    case REF_NUMBER:
        report_add(report, "%" PRIu64, ref->value);
        break;
    case REF_POST:
        report_add(report, "P%" PRIu64, ref->value);
        break;
    case REF_AS_OF:
        if (ref->value == 0)
            report_add(report, "a fresh as_of");
        else
            report_add(report, "as_of[%" PRIu64 "]", ref->value);
        break;
    case REF_BEYOND:
        report_add(report, "newest as_of");
        break;
    case REF_COMMENT:
        report_add(report, "C%" PRIu64, ref->value);
        break;
    case REF_EVENT:
        report_add(report, "E%" PRIu64, ref->value);
        break;
    case REF_SCENE:
        report_add(report, "S%" PRIu64, ref->value);
        break;
    case REF_MESSAGE:
        report_add(report, "S%" PRIu64 ".%" PRIu64, ref->value / MESSAGES_MOST,
                   ref->value % MESSAGES_MOST);
        break;
    }
    if (ref->delta != 0)
        report_add(report, "%+" PRId64, ref->delta);
}

void page_report(struct report *report, const struct step *step, const struct tidings_page *page)
{
    report_add(report, " limit=%" PRIu32, page->limit);
    if (step->list != 0)
        report_add(report, " list=%" PRIu32 "%s", step->list,
                   step->list_begins ? " (begins)" : " (goes on)");
    else if (page->after.a != 0 || page->after.b != 0)
        report_add(report, " after={%" PRIu64 ", %" PRIu64 "}%s", page->after.a, page->after.b,
                   step->wild_cursor ? " (made up)" : "");
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

static void two_texts_report(struct report *report, const char *a_name, struct tidings_text a,
                             const char *b_name, struct tidings_text b)
{
    report_add(report, " %s=", a_name);
    report_text(report, a);
    report_add(report, " %s=", b_name);
    report_text(report, b);
}

static const char *reaction_name(enum tidings_reaction reaction)
{
    return reaction == TIDINGS_LIKE       ? "like"
           : reaction == TIDINGS_FAV      ? "fav"
           : reaction == TIDINGS_DOWNVOTE ? "downvote"
                                          : "(no reaction)";
}

static void target_report(struct report *report, const struct step *step,
                          enum tidings_target target)
{
    report_add(report, " %s ",
               target == TIDINGS_TARGET_POST      ? "post"
               : target == TIDINGS_TARGET_COMMENT ? "comment"
                                                  : "(no target)");
    ref_report(report, &step->post);
}

static void thread_report(struct report *report, const struct step *step)
{
    report_add(report, " post_id=");
    ref_report(report, &step->post);
    report_add(report, " parent_id=");
    ref_report(report, &step->parent);
}

/* Of what reacts, comments, and lists that. */
static void interaction_report(struct report *report, const struct step *step)
{
    const struct tidings_op *op = &step->op;

    switch (op->kind) {
    case TIDINGS_OP_REACT:
    case TIDINGS_OP_UNREACT:
        report_add(report, " %s", reaction_name(op->u.react.reaction));
        target_report(report, step, op->u.react.target);
        break;
    case TIDINGS_OP_STATS:
        target_report(report, step, op->u.react.target);
        break;
    case TIDINGS_OP_REACTORS:
    case TIDINGS_OP_REACTED:
        report_add(report, " %s", reaction_name(op->u.reactors.reaction));
        target_report(report, step, op->u.reactors.target);
        page_report(report, step, &op->u.reactors.page);
        break;
    case TIDINGS_OP_COMMENT:
        report_add(report, " C%" PRIu32, step->comment);
        thread_report(report, step);
        report_add(report, " body=");
        report_text(report, op->u.comment.body);
        break;
    case TIDINGS_OP_COMMENTS:
        thread_report(report, step);
        report_add(report, " sort=%d%s", (int)op->u.comments.sort,
                   op->u.comments.include_hidden ? " include_hidden" : "");
        page_report(report, step, &op->u.comments.page);
        break;
    case TIDINGS_OP_HOT:
        report_add(report, " kind=%d", (int)op->u.hot.kind);
        page_report(report, step, &op->u.hot.page);
        break;
    default:
        target_report(report, step, TIDINGS_TARGET_COMMENT);
        break;
    }
}

static void arguments_report(struct report *report, const struct step *step)
{
    const struct tidings_op *op = &step->op;

    switch (op->kind) {
    case TIDINGS_OP_FOLLOW:
    case TIDINGS_OP_UNFOLLOW:
    case TIDINGS_OP_STATUS:
        report_add(report, " user_id=%" PRIu64 "%s", op->u.relation.user_id,
                   op->u.relation.purge_inbox ? " purge_inbox" : "");
        break;
    case TIDINGS_OP_COUNTERS:
    case TIDINGS_OP_PROFILE:
        report_add(report, " user_id=%" PRIu64, op->u.user.user_id);
        break;
    case TIDINGS_OP_FANS_AMONG:
        report_add(report, " author_id=%" PRIu64 " user_ids=[", op->u.among.author_id);
        for (size_t i = 0; i < op->u.among.n_user_ids; i++)
            report_add(report, "%s%" PRIu64, i > 0 ? " " : "", op->u.among.user_ids[i]);
        report_add(report, "]");
        break;
    case TIDINGS_OP_FOLLOWING:
    case TIDINGS_OP_FOLLOWERS:
        report_add(report, " user_id=%" PRIu64, op->u.users.user_id);
        page_report(report, step, &op->u.users.page);
        break;
    case TIDINGS_OP_PROFILE_SET:
        two_texts_report(report, "name", op->u.profile.name, "avatar", op->u.profile.avatar);
        break;
    case TIDINGS_OP_PUBLISH:
        report_add(report, " P%" PRIu32 " kind=%d", step->publish, (int)op->u.publish.kind);
        two_texts_report(report, "title", op->u.publish.title, "body", op->u.publish.body);
        break;
    case TIDINGS_OP_EDIT:
        report_add(report, " post_id=");
        ref_report(report, &step->post);
        two_texts_report(report, "title", op->u.edit.title, "body", op->u.edit.body);
        break;
    case TIDINGS_OP_DELETE:
    case TIDINGS_OP_OPEN:
    case TIDINGS_OP_HISTORY_DELETE:
    case TIDINGS_OP_POST:
        report_add(report, " post_id=");
        ref_report(report, &step->post);
        break;
    case TIDINGS_OP_MARK_READ:
    case TIDINGS_OP_MARK_UNREAD:
        mark_report(report, step);
        break;
    case TIDINGS_OP_AUTHOR_PAGE:
    case TIDINGS_OP_INBOX:
        report_add(report, " author_id=%" PRIu64 " filter=%d", op->u.feed.author_id,
                   (int)op->u.feed.filter);
        page_report(report, step, &op->u.feed.page);
        break;
    case TIDINGS_OP_EVENTS:
        report_add(report, " after=");
        ref_report(report, &step->post);
        page_report(report, step, &op->u.page);
        break;
    case TIDINGS_OP_HISTORY:
        page_report(report, step, &op->u.page);
        break;
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
    case TIDINGS_OP_SCENE_DELETE:
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
        story_report(report, step);
        break;
    case TIDINGS_OP_REACT:
    case TIDINGS_OP_UNREACT:
    case TIDINGS_OP_COMMENT:
    case TIDINGS_OP_COMMENT_DELETE:
    case TIDINGS_OP_COMMENT_HIDE:
    case TIDINGS_OP_COMMENT_RESTORE:
    case TIDINGS_OP_REACTORS:
    case TIDINGS_OP_REACTED:
    case TIDINGS_OP_COMMENTS:
    case TIDINGS_OP_STATS:
    case TIDINGS_OP_HOT:
        interaction_report(report, step);
        break;
    /* Not asked for here. */
    case TIDINGS_OP_WEBHOOK_SET:
    case TIDINGS_OP_WEBHOOK_DELETE:
    case TIDINGS_OP_WEBHOOK_RETRY:
    case TIDINGS_OP_WEBHOOK_REPORT:
    case TIDINGS_OP_WEBHOOKS:
    case TIDINGS_OP_WEBHOOK:
    case TIDINGS_OP_HISTORY_CLEAR:
    case TIDINGS_OP_BADGE:
    case TIDINGS_OP_UNREAD:
    case TIDINGS_OP_COUNT:
        break;
    }
}

static void rules_report(struct report *report, const struct tidings_settings *rules)
{
    report_add(report,
               " with fold_down=%" PRIu64 " fold_percent=%" PRIu64 " hot=%" PRIu64 ",%" PRIu64
               ",%" PRIu64 " hot_comment=%" PRIu64 ",%" PRIu64 ",%" PRIu64 " half_life=%" PRIu64,
               rules->fold_down, rules->fold_percent, rules->hot_like, rules->hot_fav,
               rules->hot_comment, rules->hot_comment_like, rules->hot_comment_reply,
               rules->hot_comment_down, rules->hot_half_life_hours);
}

void step_report(struct report *report, size_t number, const struct step *step)
{
    static const char *const roles[] = {"", " (service)", " (admin)"};

    report_add(report, "%6zu  at %" PRId64 "%s  ", number, step->now_ms,
               step->by_clock ? " by clock" : "");
    switch (step->kind) {
    case STEP_SWEEP:
        report_add(report, "compare everything, %" PRIu32 " rows a page", step->op.u.page.limit);
        return;
    case STEP_VERIFY:
        report_add(report, "verify");
        return;
    case STEP_REOPEN:
        report_add(report, "close and open again");
        if (step->rules != NULL)
            rules_report(report, step->rules);
        return;
    case STEP_OP:
        break;
    }
    report_add(report, "user %" PRIu64 "%s: %s", step->op.user_id,
               (unsigned)step->op.role < 3 ? roles[step->op.role] : " (unknown role)",
               op_name(step->op.kind));
    arguments_report(report, step);
    if (step->once != 0)
        report_add(report, " once: key %" PRIu32 " fingerprint %" PRIu32, step->once,
                   step->once_print);
    if (step->keep_as_of != 0)
        report_add(report, " -> as_of[%" PRIu32 "]", step->keep_as_of);
}
