/* SPDX-License-Identifier: MIT */
#include "unit/codec_fields.h"

#include <string.h>

enum { TEXT_MAX = 40, LIST_MAX = 5 };

/* ---- Fields --------------------------------------------------------------------------------- */

static void walk_bytes(const struct walk *walk, void *a, const void *b, size_t n, uint64_t value)
{
    if (walk->draws)
        memcpy(a, &value, n); /* little endian, as everything here */
    else
        assert_memory_equal(a, b, n);
}

/* Of any size in bits, and negative ones. */
static uint64_t any_number(struct rng *rng)
{
    uint64_t number = rng_next(rng) >> rng_below(rng, 64);
    return rng_percent(rng, 20) ? -number : number;
}

static void walk_text(const struct walk *walk, struct tidings_text *a, const struct tidings_text *b)
{
    if (walk->draws) {
        uint64_t bytes[TEXT_MAX / 8];
        for (size_t i = 0; i < COUNT_OF(bytes); i++)
            bytes[i] = rng_next(walk->rng);
        size_t n = rng_below(walk->rng, sizeof bytes + 1);
        *a = (struct tidings_text){NULL, 0};
        if (rng_percent(walk->rng, 80))
            *a = (struct tidings_text){arena_text(walk->arena, bytes, n), n};
        return;
    }
    assert_int_equal(!a->p, !b->p); /* none is not empty */
    assert_int_equal(a->n, b->n);
    if (a->n)
        assert_memory_equal(a->p, b->p, a->n);
}

static void walk_word(const struct walk *walk, const char **a, const char *const *b)
{
    static const char *const words[] = {NULL, "", "title", "follow"};
    if (walk->draws)
        *a = words[rng_below(walk->rng, COUNT_OF(words))];
    else if (!*a || !*b)
        assert_ptr_equal(*a, *b);
    else
        assert_string_equal(*a, *b);
}

#define NUMBER(field) walk_bytes(walk, &a->field, &b->field, sizeof a->field, any_number(walk->rng))
#define SMALL(field) \
    walk_bytes(walk, &a->field, &b->field, sizeof a->field, rng_next(walk->rng) % INT32_MAX)
#define FLAG(field) walk_bytes(walk, &a->field, &b->field, sizeof a->field, rng_below(walk->rng, 2))
#define TEXT(field) walk_text(walk, &a->field, &b->field)
#define WORD(field) walk_word(walk, &a->field, &b->field)

static void walk_ids(const struct walk *walk, const uint64_t **a, size_t *n_a, const uint64_t *b,
                     size_t n_b)
{
    if (walk->draws) {
        *n_a = rng_below(walk->rng, LIST_MAX);
        uint64_t *ids = arena_array(walk->arena, LIST_MAX, sizeof *ids);
        for (size_t i = 0; i < *n_a; i++)
            ids[i] = any_number(walk->rng);
        *a = ids;
        return;
    }
    assert_int_equal(*n_a, n_b);
    if (n_b)
        assert_memory_equal(*a, b, n_b * sizeof *b);
}

static struct tidings_message *walk_messages(const struct walk *walk,
                                             const struct tidings_message *messages, size_t *n_a,
                                             const struct tidings_message *others, size_t n_b)
{
    struct tidings_message *a = arena_array(walk->arena, LIST_MAX, sizeof *a);
    if (walk->draws)
        *n_a = rng_below(walk->rng, LIST_MAX);
    else
        assert_int_equal(*n_a, n_b);
    for (size_t i = 0; i < *n_a; i++) {
        const struct tidings_message *b = walk->draws ? NULL : &others[i];
        if (!walk->draws)
            a[i] = messages[i];
        walk_bytes(walk, &a[i].id, b ? &b->id : NULL, sizeof a[i].id, any_number(walk->rng));
        walk_text(walk, &a[i].text, b ? &b->text : NULL);
    }
    return a;
}

/* ---- Arguments and answers, by the names in the table: every field that tidings.h has ---------------- */

static void walk_args_nothing(const struct walk *walk, struct tidings_op *a,
                              const struct tidings_op *b)
{
    (void)walk, (void)a, (void)b;
}

static void walk_args_relation(const struct walk *walk, struct tidings_op *a,
                               const struct tidings_op *b)
{
    NUMBER(u.relation.user_id);
    FLAG(u.relation.purge_inbox);
}

static void walk_args_profile(const struct walk *walk, struct tidings_op *a,
                              const struct tidings_op *b)
{
    TEXT(u.profile.name);
    TEXT(u.profile.avatar);
    TEXT(u.profile.extra);
}

static void walk_args_publish(const struct walk *walk, struct tidings_op *a,
                              const struct tidings_op *b)
{
    SMALL(u.publish.kind);
    TEXT(u.publish.title);
    TEXT(u.publish.body);
    TEXT(u.publish.extra);
}

static void walk_args_edit(const struct walk *walk, struct tidings_op *a,
                           const struct tidings_op *b)
{
    NUMBER(u.edit.post_id);
    TEXT(u.edit.title);
    TEXT(u.edit.body);
    TEXT(u.edit.extra);
}

static void walk_args_post(const struct walk *walk, struct tidings_op *a,
                           const struct tidings_op *b)
{
    NUMBER(u.post.post_id);
}

static void walk_args_mark(const struct walk *walk, struct tidings_op *a,
                           const struct tidings_op *b)
{
    walk_ids(walk, &a->u.mark.post_ids, &a->u.mark.n_post_ids, b->u.mark.post_ids,
             b->u.mark.n_post_ids);
    NUMBER(u.mark.author_id);
    NUMBER(u.mark.up_to.part[0]);
    NUMBER(u.mark.up_to.part[TIDINGS_MOMENT_PARTS - 1]);
}

static void walk_args_react(const struct walk *walk, struct tidings_op *a,
                            const struct tidings_op *b)
{
    SMALL(u.react.reaction);
    SMALL(u.react.target);
    NUMBER(u.react.id);
}

static void walk_args_comment(const struct walk *walk, struct tidings_op *a,
                              const struct tidings_op *b)
{
    NUMBER(u.comment.post_id);
    NUMBER(u.comment.parent_id);
    TEXT(u.comment.body);
}

static void walk_args_comment_id(const struct walk *walk, struct tidings_op *a,
                                 const struct tidings_op *b)
{
    NUMBER(u.comment_id.comment_id);
}

static void walk_args_scene(const struct walk *walk, struct tidings_op *a,
                            const struct tidings_op *b)
{
    NUMBER(u.scene.story_id);
    NUMBER(u.scene.scene_id);
    TEXT(u.scene.title);
    a->u.scene.messages = walk_messages(walk, a->u.scene.messages, &a->u.scene.n_messages,
                                        b->u.scene.messages, b->u.scene.n_messages);
}

static void walk_args_scene_id(const struct walk *walk, struct tidings_op *a,
                               const struct tidings_op *b)
{
    NUMBER(u.scene_id.scene_id);
}

static void walk_args_reading(const struct walk *walk, struct tidings_op *a,
                              const struct tidings_op *b)
{
    NUMBER(u.reading.story_id);
    NUMBER(u.reading.scene_id);
    NUMBER(u.reading.message_id);
    NUMBER(u.reading.modified_at);
}

static void walk_args_preferences(const struct walk *walk, struct tidings_op *a,
                                  const struct tidings_op *b)
{
    FLAG(u.preferences.story_updates);
}

static void walk_args_webhook(const struct walk *walk, struct tidings_op *a,
                              const struct tidings_op *b)
{
    TEXT(u.webhook.name);
    TEXT(u.webhook.url);
    TEXT(u.webhook.secret);
    FLAG(u.webhook.disabled);
    NUMBER(u.webhook.events);
}

static void walk_args_webhook_report(const struct walk *walk, struct tidings_op *a,
                                     const struct tidings_op *b)
{
    TEXT(u.webhook_report.name);
    NUMBER(u.webhook_report.generation);
    NUMBER(u.webhook_report.position);
    SMALL(u.webhook_report.attempts);
    NUMBER(u.webhook_report.retry_at);
    NUMBER(u.webhook_report.failing_since);
    NUMBER(u.webhook_report.waiting_since);
    NUMBER(u.webhook_report.delivered);
    NUMBER(u.webhook_report.failed);
    NUMBER(u.webhook_report.dead);
    TEXT(u.webhook_report.last_error);
    FLAG(u.webhook_report.fills);
    FLAG(u.webhook_report.rebuild);
    NUMBER(u.webhook_report.rebuilt);
    FLAG(u.webhook_report.reconciles);
    NUMBER(u.webhook_report.reconciled);
    NUMBER(u.webhook_report.dead_event);
    TEXT(u.webhook_report.dead_reason);
    NUMBER(u.webhook_report.settled);
}

static void walk_args_wish(const struct walk *walk, struct tidings_op *a,
                           const struct tidings_op *b)
{
    TEXT(u.wish.name);
    SMALL(u.wish.wish);
    NUMBER(u.wish.after);
    NUMBER(u.wish.since_ms);
}

static void walk_args_ticket(const struct walk *walk, struct tidings_op *a,
                             const struct tidings_op *b)
{
    NUMBER(u.ticket.name[0]);
    NUMBER(u.ticket.name[TIDINGS_TICKET_BYTES - 1]);
    NUMBER(u.ticket.until_ms);
}

static void walk_answer_nothing(const struct walk *walk, struct tidings_answer *a,
                                const struct tidings_answer *b)
{
    (void)walk, (void)a, (void)b;
}

static void walk_answer_relation(const struct walk *walk, struct tidings_answer *a,
                                 const struct tidings_answer *b)
{
    FLAG(u.relation.changed);
    FLAG(u.relation.following);
    FLAG(u.relation.mutual);
    NUMBER(u.relation.purged);
}

static void walk_answer_profile(const struct walk *walk, struct tidings_answer *a,
                                const struct tidings_answer *b)
{
    NUMBER(u.profile.user_id);
    TEXT(u.profile.name);
    TEXT(u.profile.avatar);
    TEXT(u.profile.extra);
}

static void walk_answer_post(const struct walk *walk, struct tidings_answer *a,
                             const struct tidings_answer *b)
{
    NUMBER(u.post.id);
    NUMBER(u.post.author_id);
    TEXT(u.post.author_name);
    SMALL(u.post.kind);
    TEXT(u.post.title);
    TEXT(u.post.body);
    TEXT(u.post.extra);
    NUMBER(u.post.created_at);
    NUMBER(u.post.edited_at);
    TEXT(u.post.key);
    FLAG(u.post.liked);
    FLAG(u.post.faved);
    NUMBER(u.post.counts.like_count);
    NUMBER(u.post.counts.fav_count);
    NUMBER(u.post.counts.comment_count);
    NUMBER(u.post.counts.down_count);
    NUMBER(u.post.counts.reply_count);
    NUMBER(u.post.counts.hot_score);
}

static void walk_answer_deleted(const struct walk *walk, struct tidings_answer *a,
                                const struct tidings_answer *b)
{
    NUMBER(u.deleted.author_id);
    NUMBER(u.deleted.story_id);
}

static void walk_answer_open(const struct walk *walk, struct tidings_answer *a,
                             const struct tidings_answer *b)
{
    NUMBER(u.open.post.id);
    NUMBER(u.open.post.author_id);
    TEXT(u.open.post.author_name);
    SMALL(u.open.post.kind);
    TEXT(u.open.post.title);
    TEXT(u.open.post.body);
    TEXT(u.open.post.extra);
    NUMBER(u.open.post.created_at);
    NUMBER(u.open.post.edited_at);
    TEXT(u.open.post.key);
    FLAG(u.open.post.liked);
    FLAG(u.open.post.faved);
    NUMBER(u.open.post.counts.like_count);
    NUMBER(u.open.post.counts.fav_count);
    NUMBER(u.open.post.counts.comment_count);
    NUMBER(u.open.post.counts.down_count);
    NUMBER(u.open.post.counts.reply_count);
    NUMBER(u.open.post.counts.hot_score);
    NUMBER(u.open.unread_total);
    NUMBER(u.open.unread_author);
}

static void walk_answer_mark(const struct walk *walk, struct tidings_answer *a,
                             const struct tidings_answer *b)
{
    NUMBER(u.mark.marked);
    NUMBER(u.mark.total);
}

static void walk_answer_reaction(const struct walk *walk, struct tidings_answer *a,
                                 const struct tidings_answer *b)
{
    FLAG(u.reaction.changed);
    NUMBER(u.reaction.counts.like_count);
    NUMBER(u.reaction.counts.fav_count);
    NUMBER(u.reaction.counts.comment_count);
    NUMBER(u.reaction.counts.down_count);
    NUMBER(u.reaction.counts.reply_count);
    NUMBER(u.reaction.counts.hot_score);
}

static void walk_answer_comment(const struct walk *walk, struct tidings_answer *a,
                                const struct tidings_answer *b)
{
    NUMBER(u.comment.id);
    NUMBER(u.comment.post_id);
    NUMBER(u.comment.parent_id);
    NUMBER(u.comment.user_id);
    TEXT(u.comment.user_name);
    TEXT(u.comment.body);
    SMALL(u.comment.status);
    FLAG(u.comment.moderated);
    NUMBER(u.comment.created_at);
    FLAG(u.comment.liked);
    FLAG(u.comment.downvoted);
    NUMBER(u.comment.counts.like_count);
    NUMBER(u.comment.counts.fav_count);
    NUMBER(u.comment.counts.comment_count);
    NUMBER(u.comment.counts.down_count);
    NUMBER(u.comment.counts.reply_count);
    NUMBER(u.comment.counts.hot_score);
}

static void walk_answer_scene(const struct walk *walk, struct tidings_answer *a,
                              const struct tidings_answer *b)
{
    NUMBER(u.scene.id);
    NUMBER(u.scene.story_id);
    NUMBER(u.scene.author_id);
    SMALL(u.scene.number);
    TEXT(u.scene.title);
    a->u.scene.messages = walk_messages(walk, a->u.scene.messages, &a->u.scene.n_messages,
                                        b->u.scene.messages, b->u.scene.n_messages);
    NUMBER(u.scene.created_at);
    NUMBER(u.scene.edited_at);
}

static void walk_answer_reading(const struct walk *walk, struct tidings_answer *a,
                                const struct tidings_answer *b)
{
    FLAG(u.reading.changed);
    NUMBER(u.reading.record.story_id);
    TEXT(u.reading.record.title);
    FLAG(u.reading.record.is_deleted);
    NUMBER(u.reading.record.scene_id);
    NUMBER(u.reading.record.message_id);
    NUMBER(u.reading.record.modified_at);
}

static void walk_answer_subscription(const struct walk *walk, struct tidings_answer *a,
                                     const struct tidings_answer *b)
{
    FLAG(u.subscription.changed);
    FLAG(u.subscription.subscribed);
}

static void walk_answer_preferences(const struct walk *walk, struct tidings_answer *a,
                                    const struct tidings_answer *b)
{
    FLAG(u.preferences.story_updates);
}

static void walk_answer_notifications_mark(const struct walk *walk, struct tidings_answer *a,
                                           const struct tidings_answer *b)
{
    NUMBER(u.notifications_mark.marked);
    NUMBER(u.notifications_mark.unread);
}

static void walk_answer_webhook(const struct walk *walk, struct tidings_answer *a,
                                const struct tidings_answer *b)
{
    TEXT(u.webhook.name);
    TEXT(u.webhook.url);
    TEXT(u.webhook.secret);
    TEXT(u.webhook.old_secret);
    NUMBER(u.webhook.old_secret_ms);
    NUMBER(u.webhook.events);
    SMALL(u.webhook.state);
    NUMBER(u.webhook.generation);
    NUMBER(u.webhook.position);
    SMALL(u.webhook.attempts);
    NUMBER(u.webhook.retry_at);
    NUMBER(u.webhook.failing_since);
    NUMBER(u.webhook.waiting_since);
    NUMBER(u.webhook.delivered);
    NUMBER(u.webhook.failed);
    NUMBER(u.webhook.dead);
    TEXT(u.webhook.last_error);
    NUMBER(u.webhook.created_at);
    FLAG(u.webhook.fills);
    NUMBER(u.webhook.rebuild);
    FLAG(u.webhook.reconciles);
    NUMBER(u.webhook.reconcile);
    NUMBER(u.webhook.letters);
    NUMBER(u.webhook.letters_again);
    NUMBER(u.webhook.letters_lost);
}

static void walk_answer_head(const struct walk *walk, struct tidings_answer *a,
                             const struct tidings_answer *b)
{
    WORD(field);
    NUMBER(retry_after_ms);
    WORD(limit.name);
    NUMBER(limit.burst);
    NUMBER(limit.refill_ms);
    NUMBER(limit.left);
    NUMBER(limit.next_ms);
    TEXT(title);
}

/* ---- The table ------------------------------------------------------------------------------ */

struct walks {
    void (*args)(const struct walk *walk, struct tidings_op *a, const struct tidings_op *b);
    void (*answer)(const struct walk *walk, struct tidings_answer *a,
                   const struct tidings_answer *b);
};

#define WALKS_0(args, answer) \
    {                         \
        NULL, NULL            \
    }
#define WALKS_1(args, answer)                  \
    {                                          \
        walk_args_##args, walk_answer_##answer \
    }

static const struct walks walks[TIDINGS_OP_COUNT] = {
#define X(name, lower, writes, args, answer) [TIDINGS_OP_##name] = WALKS_##writes(args, answer),
    TIDINGS_OPS(X)
#undef X
};

void draw_op(const struct walk *walk, enum tidings_op_kind kind, struct tidings_once *once,
             struct tidings_op *a)
{
    const struct tidings_op *b = a;
    *a = (struct tidings_op){.kind = kind};
    SMALL(role);
    NUMBER(user_id);
    NUMBER(now_ms);
    for (size_t i = 0; i < sizeof once->key; i++)
        once->key[i] = (uint8_t)rng_next(walk->rng);
    for (size_t i = 0; i < sizeof once->fingerprint; i++)
        once->fingerprint[i] = (uint8_t)rng_next(walk->rng);
    if (rng_percent(walk->rng, 50))
        a->once = once;
    walks[kind].args(walk, a, b);
}

void compare_ops(const struct walk *walk, struct tidings_op *a, const struct tidings_op *b)
{
    assert_int_equal(a->kind, b->kind);
    SMALL(role);
    NUMBER(user_id);
    NUMBER(now_ms);
    assert_int_equal(!a->once, !b->once);
    if (a->once) {
        assert_memory_equal(a->once->key, b->once->key, sizeof a->once->key);
        assert_memory_equal(a->once->fingerprint, b->once->fingerprint,
                            sizeof a->once->fingerprint);
    }
    walks[a->kind].args(walk, a, b);
}

void draw_answer(const struct walk *walk, enum tidings_op_kind kind, struct tidings_answer *answer)
{
    *answer = (struct tidings_answer){.err = TIDINGS_OK};
    if (rng_percent(walk->rng, 30))
        answer->err = (enum tidings_err)rng_below(walk->rng, TIDINGS_STANDBY + 1);
    walk_answer_head(walk, answer, answer);
    if (!answer->err)
        walks[kind].answer(walk, answer, answer);
}

void compare_answers(const struct walk *walk, enum tidings_op_kind kind, struct tidings_answer *a,
                     const struct tidings_answer *b)
{
    assert_int_equal(a->err, b->err);
    walk_answer_head(walk, a, b);
    if (!a->err)
        walks[kind].answer(walk, a, b);
}

bool is_change(int kind)
{
    return walks[kind].args != NULL;
}
