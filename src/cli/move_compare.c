/* SPDX-License-Identifier: MIT */
#include "cli/move_compare.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* ---- Drawing -------------------------------------------------------------------------------- */

static uint64_t next_random(struct sample *sample)
{
    sample->random = sample->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return sample->random >> 11;
}

void sample_see(struct sample *sample, enum tidings_subject subject, uint64_t id)
{
    struct drawn *drawn = subject == TIDINGS_SUBJECT_POST ? &sample->posts : &sample->users;
    uint64_t at = drawn->seen++;
    if (at >= DRAWN_MAX)
        at = next_random(sample) % drawn->seen;
    if (at < DRAWN_MAX)
        drawn->ids[at] = id;
    if (drawn->n < DRAWN_MAX)
        drawn->n++;
}

void sample_draw(struct sample *sample, struct tidings *shadow)
{
    for (int i = 0; i < DRAWN_MAX; i++) {
        uint64_t user, post;
        tidings_shadow_draw(shadow, next_random(sample), &user, &post);
        if (user)
            sample->users.ids[sample->users.n++] = user;
        if (post)
            sample->posts.ids[sample->posts.n++] = post;
    }
}

/* ---- Facts ---------------------------------------------------------------------------------- */

struct sum {
    EVP_MD_CTX *digest;
    bool (*stop)(void);
};

static bool add_lines(void *ctx, const char *lines, size_t n)
{
    const struct sum *sum = ctx;
    return !sum->stop() && EVP_DigestUpdate(sum->digest, lines, n);
}

static enum tidings_err sum_up(struct tidings *engine, bool (*stop)(void), uint64_t *facts,
                               unsigned char result[EVP_MAX_MD_SIZE])
{
    struct sum sum = {EVP_MD_CTX_new(), stop};
    struct tidings_export export = {
        .write = add_lines, .ctx = &sum, .progress = progress_in_rows()};
    enum tidings_err err = sum.digest && EVP_DigestInit_ex(sum.digest, EVP_sha256(), NULL)
                               ? tidings_export(engine, &export)
                               : TIDINGS_NO_MEMORY;
    if (!err && !EVP_DigestFinal_ex(sum.digest, result, NULL))
        err = TIDINGS_NO_MEMORY;
    EVP_MD_CTX_free(sum.digest);
    *facts = export.facts;
    return err;
}

bool facts_compare(struct tidings *a, struct tidings *b, bool (*stop)(void), uint64_t *facts,
                   const char **why)
{
    unsigned char sums[2][EVP_MAX_MD_SIZE] = {{0}, {0}};
    uint64_t counts[2];
    enum tidings_err err = sum_up(a, stop, &counts[0], sums[0]);
    if (!err)
        err = sum_up(b, stop, &counts[1], sums[1]);
    bool same = !err && counts[0] == counts[1] && !memcmp(sums[0], sums[1], sizeof sums[0]);
    *why = stop()  ? "interrupted: --check looks again"
           : err   ? tidings_err_text(err)
           : !same ? "exported, it is not the same"
                   : NULL;
    if (same)
        *facts = counts[0];
    return same;
}

/* ---- Answers -------------------------------------------------------------------------------- */

static bool same_text(struct tidings_text a, struct tidings_text b)
{
    return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

static bool same_counts(const struct tidings_counts *a, const struct tidings_counts *b)
{
    return a->like_count == b->like_count && a->fav_count == b->fav_count &&
           a->comment_count == b->comment_count && a->down_count == b->down_count &&
           a->reply_count == b->reply_count && a->hot_score == b->hot_score;
}

/* Rows of the same length, of which each pair must be the same. */
#define SAME_ROWS(a, b, member, test)                                            \
    do {                                                                         \
        if ((a)->u.member.n != (b)->u.member.n)                                  \
            return false;                                                        \
        for (size_t i = 0; i < (a)->u.member.n; i++) {                           \
            const __typeof__((a)->u.member.rows[0]) *x = &(a)->u.member.rows[i], \
                                                    *y = &(b)->u.member.rows[i]; \
            if (!(test))                                                         \
                return false;                                                    \
        }                                                                        \
        return true;                                                             \
    } while (0)

typedef bool same_fn(const struct tidings_answer *a, const struct tidings_answer *b);

static bool same_badge(const struct tidings_answer *a, const struct tidings_answer *b)
{
    return a->u.badge.total == b->u.badge.total;
}

static bool same_unread(const struct tidings_answer *a, const struct tidings_answer *b)
{
    SAME_ROWS(a, b, unread,
              x->user_id == y->user_id && x->unread == y->unread && x->following == y->following);
}

static bool same_feed(const struct tidings_answer *a, const struct tidings_answer *b)
{
    SAME_ROWS(a, b, feed,
              x->post_id == y->post_id && x->author_id == y->author_id && x->kind == y->kind &&
                  x->is_read == y->is_read && x->read_at == y->read_at &&
                  x->is_deleted == y->is_deleted && same_text(x->title, y->title) &&
                  same_text(x->excerpt, y->excerpt));
}

static bool same_history(const struct tidings_answer *a, const struct tidings_answer *b)
{
    SAME_ROWS(a, b, history, x->post_id == y->post_id && x->read_at == y->read_at);
}

static bool same_users(const struct tidings_answer *a, const struct tidings_answer *b)
{
    SAME_ROWS(a, b, users,
              x->user_id == y->user_id && x->since == y->since && same_text(x->name, y->name));
}

static bool same_counters(const struct tidings_answer *a, const struct tidings_answer *b)
{
    return !memcmp(&a->u.counters, &b->u.counters, sizeof a->u.counters);
}

static bool same_subscriptions(const struct tidings_answer *a, const struct tidings_answer *b)
{
    SAME_ROWS(a, b, subscriptions, x->story_id == y->story_id);
}

static bool same_notifications(const struct tidings_answer *a, const struct tidings_answer *b)
{
    if (a->u.notifications.unread != b->u.notifications.unread)
        return false;
    SAME_ROWS(a, b, notifications, x->id == y->id && x->is_read == y->is_read);
}

static bool same_readings(const struct tidings_answer *a, const struct tidings_answer *b)
{
    SAME_ROWS(a, b, readings,
              x->story_id == y->story_id && x->scene_id == y->scene_id &&
                  x->message_id == y->message_id && x->modified_at == y->modified_at);
}

static bool same_preferences(const struct tidings_answer *a, const struct tidings_answer *b)
{
    return a->u.preferences.story_updates == b->u.preferences.story_updates;
}

static bool same_post(const struct tidings_answer *a, const struct tidings_answer *b)
{
    const struct tidings_post *x = &a->u.post, *y = &b->u.post;
    return same_text(x->title, y->title) && same_text(x->body, y->body) &&
           same_text(x->extra, y->extra) && same_text(x->key, y->key) &&
           x->edited_at == y->edited_at && same_counts(&x->counts, &y->counts);
}

static bool same_comments(const struct tidings_answer *a, const struct tidings_answer *b)
{
    SAME_ROWS(a, b, comments,
              x->id == y->id && x->status == y->status && same_text(x->body, y->body) &&
                  same_counts(&x->counts, &y->counts));
}

/* ---- Questions ------------------------------------------------------------------------------ */

static const struct question {
    const char *what;
    enum tidings_op_kind kind;
    same_fn *same;
} of_users[] =
    {
        {"the badge", TIDINGS_OP_BADGE, same_badge},
        {"unread posts by author", TIDINGS_OP_UNREAD, same_unread},
        {"the inbox", TIDINGS_OP_INBOX, same_feed},
        {"the history", TIDINGS_OP_HISTORY, same_history},
        {"who is followed", TIDINGS_OP_FOLLOWING, same_users},
        {"followers", TIDINGS_OP_FOLLOWERS, same_users},
        {"counters", TIDINGS_OP_COUNTERS, same_counters},
        {"subscriptions", TIDINGS_OP_SUBSCRIPTIONS, same_subscriptions},
        {"notifications", TIDINGS_OP_NOTIFICATIONS, same_notifications},
        {"reading positions", TIDINGS_OP_READING, same_readings},
        {"preferences", TIDINGS_OP_PREFERENCES, same_preferences},
},
  of_posts[] = {
      {"a post", TIDINGS_OP_POST, same_post},
      {"comments", TIDINGS_OP_COMMENTS, same_comments},
      {"who likes it", TIDINGS_OP_REACTORS, same_users},
};

static struct tidings_op op_of(const struct question *question, uint64_t id)
{
    struct tidings_op op = {.kind = question->kind, .role = TIDINGS_ROLE_ADMIN, .user_id = id};
    switch (question->kind) {
    case TIDINGS_OP_FOLLOWING:
    case TIDINGS_OP_FOLLOWERS:
        op.u.users.user_id = id;
        break;
    case TIDINGS_OP_COUNTERS:
        op.u.user.user_id = id;
        break;
    case TIDINGS_OP_POST:
        op.u.post.post_id = id;
        break;
    case TIDINGS_OP_COMMENTS:
        op.u.comments.post_id = id;
        op.u.comments.sort = TIDINGS_HOT;
        break;
    case TIDINGS_OP_REACTORS:
        op.u.reactors.id = id;
        op.u.reactors.target = TIDINGS_TARGET_POST;
        op.u.reactors.reaction = TIDINGS_LIKE;
        break;
    default:
        break;
    }
    return op;
}

static bool ask(const struct question *question, uint64_t id, struct tidings *engines[2],
                struct sample_outcome *outcome)
{
    struct tidings_op op = op_of(question, id);
    struct tidings_answer answers[2];
    enum tidings_err errs[2];
    for (int i = 0; i < 2; i++) {
        tidings_answer_init(&answers[i]);
        errs[i] = tidings_run(engines[i], &op, &answers[i]);
    }
    bool same = errs[0] == errs[1] && (errs[0] || question->same(&answers[0], &answers[1]));
    outcome->questions++;
    if (!same)
        snprintf(outcome->what, sizeof outcome->what, "%s of %" PRIu64 ": %s there, %s here",
                 question->what, id, tidings_err_code(errs[0]), tidings_err_code(errs[1]));
    for (int i = 0; i < 2; i++)
        tidings_answer_release(&answers[i]);
    return same;
}

bool sample_compare(const struct sample *sample, struct tidings *a, struct tidings *b,
                    struct sample_outcome *outcome)
{
    struct tidings *engines[2] = {a, b};
    bool same = true;
    *outcome = (struct sample_outcome){0};
    for (uint64_t i = 0; same && i < sample->users.n; i++)
        for (size_t k = 0; same && k < sizeof of_users / sizeof *of_users; k++)
            same = ask(&of_users[k], sample->users.ids[i], engines, outcome);
    for (uint64_t i = 0; same && i < sample->posts.n; i++)
        for (size_t k = 0; same && k < sizeof of_posts / sizeof *of_posts; k++)
            same = ask(&of_posts[k], sample->posts.ids[i], engines, outcome);
    return same;
}
