/* SPDX-License-Identifier: MIT */
/* Reactions, comments, folding, counts and heat through the public calls. */
#include <string.h>

#include "domain/heat.h"
#include "engine/damage.h"
#include "engine/harness.h"

enum { ANN = 1, BOB, CID, DAN, EVE, FAY };

#define POST    TIDINGS_TARGET_POST
#define COMMENT TIDINGS_TARGET_COMMENT
#define LIKE    TIDINGS_LIKE
#define FAV     TIDINGS_FAV
#define DOWN    TIDINGS_DOWNVOTE

static void assert_counters(uint64_t user, uint64_t liked, uint64_t faved, uint64_t likes,
                            uint64_t favs)
{
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = user, .u.user.user_id = user});
    assert_int_equal(answer.u.counters.liked_posts, liked);
    assert_int_equal(answer.u.counters.faved_posts, faved);
    assert_int_equal(answer.u.counters.likes_received, likes);
    assert_int_equal(answer.u.counters.favs_received, favs);
}

static struct tidings_op react_op(uint64_t user, enum tidings_reaction reaction,
                                  enum tidings_target target, uint64_t id)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_REACT, .user_id = user, .u.react = {reaction, target, id}};
}

static struct tidings_op comment_op(uint64_t user, uint64_t post, uint64_t parent)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_COMMENT, .user_id = user, .u.comment = {post, parent, text_of("words")}};
}

/* All events after a place, as text: "type:target:delta:post:reaction ...". */
static const char *events_after(uint64_t after)
{
    static char text[4096];
    size_t n = 0;
    must((struct tidings_op){.kind = TIDINGS_OP_EVENTS,
                             .role = TIDINGS_ROLE_SERVICE,
                             .user_id = 999,
                             .u.page = {100, {after, 0}}});
    text[0] = 0;
    for (size_t i = 0; i < answer.u.events.n; i++) {
        const struct tidings_event *e = &answer.u.events.rows[i];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s(%" PRIu64 ")%+d/%d", i ? " " : "",
                              tidings_event_name(e->type), e->actor_user_id, (int)e->delta,
                              (int)e->reaction);
    }
    return text;
}

static enum tidings_comment_status status_of(uint64_t post, uint64_t parent, uint64_t id)
{
    must((struct tidings_op){.kind = TIDINGS_OP_COMMENTS,
                             .role = TIDINGS_ROLE_ADMIN,
                             .user_id = 999,
                             .u.comments = {post, parent, TIDINGS_OLD, .page.limit = 100}});
    for (size_t i = 0; i < answer.u.comments.n; i++)
        if (answer.u.comments.rows[i].id == id)
            return answer.u.comments.rows[i].status;
    return 0;
}

/* ---- Reactions ------------------------------------------------------------------------------ */

static void a_like_changes_everything_in_one_step_and_once(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), after = events_end();
    assert_true(react(BOB, LIKE, POST, post));
    assert_int_equal(answer.u.reaction.counts.like_count, 1);
    assert_int_equal(answer.u.reaction.counts.hot_score, 3);
    assert_false(react(BOB, LIKE, POST, post));
    assert_true(react(BOB, FAV, POST, post));
    assert_int_equal(answer.u.reaction.counts.hot_score, 7);
    assert_string_equal(events_after(after), "ReactionCreated(2)+1/1 ReactionCreated(2)+1/2");
    assert_counters(BOB, 1, 1, 0, 0);
    assert_counters(ANN, 0, 0, 1, 1);
    must((struct tidings_op){.kind = TIDINGS_OP_POST, .user_id = BOB, .u.post.post_id = post});
    assert_true(answer.u.post.liked && answer.u.post.faved);
    assert_int_equal(answer.u.post.counts.fav_count, 1);
    must((struct tidings_op){.kind = TIDINGS_OP_POST, .user_id = CID, .u.post.post_id = post});
    assert_false(answer.u.post.liked || answer.u.post.faved);
    after = events_end();
    assert_true(unreact(BOB, LIKE, POST, post));
    assert_false(unreact(BOB, LIKE, POST, post));
    assert_string_equal(events_after(after), "ReactionDeleted(2)-1/1");
    assert_counters(BOB, 0, 1, 0, 0);
    assert_counters(ANN, 0, 0, 0, 1);
    assert_verifies();
}

static void liking_ones_own_counts_on_both_sides(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b");
    react(ANN, LIKE, POST, post);
    react(ANN, FAV, POST, post);
    assert_counters(ANN, 1, 1, 1, 1);
    unreact(ANN, FAV, POST, post);
    assert_counters(ANN, 1, 0, 1, 0);
    assert_verifies();
}

static void lists_of_reactions_are_newest_first_and_page(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), other = publish(ANN, "u", "b");
    for (uint64_t user = 10; user < 20; user++)
        react(user, LIKE, POST, post);
    react(10, LIKE, POST, other);
    unreact(12, LIKE, POST, post);
    unreact(10, LIKE, POST, post);
    react(10, LIKE, POST, post); /* to the top of both lists */
    const uint64_t expected[] = {10, 19, 18, 17, 16, 15, 14, 13, 11};
    struct tidings_op op = {.kind = TIDINGS_OP_REACTORS,
                            .user_id = BOB,
                            .u.reactors = {LIKE, POST, post, .page.limit = 2}};
    size_t n = 0;
    do {
        must(op);
        for (size_t i = 0; i < answer.u.users.n; i++)
            assert_int_equal(answer.u.users.rows[i].user_id, expected[n++]);
        op.u.reactors.page.after = answer.u.users.next;
    } while (answer.u.users.next.a);
    assert_int_equal(n, COUNT_OF(expected));
    must((struct tidings_op){
        .kind = TIDINGS_OP_REACTED, .user_id = 10, .u.reactors = {LIKE, POST, .page.limit = 1}});
    assert_int_equal(answer.u.reacted.rows[0].id, post);
    must((struct tidings_op){.kind = TIDINGS_OP_REACTED,
                             .user_id = 10,
                             .u.reactors = {LIKE, POST, .page = {1, answer.u.reacted.next}}});
    assert_int_equal(answer.u.reacted.rows[0].id, other);
    assert_string_equal(answer.u.reacted.rows[0].text.p, "u");
    assert_int_equal(answer.u.reacted.next.a, 0);
    assert_verifies();
}

static void like_and_downvote_exclude_each_other(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), c = comment(BOB, post, 0, "c");
    react(CID, LIKE, COMMENT, c);
    uint64_t after = events_end();
    assert_true(react(CID, DOWN, COMMENT, c));
    assert_int_equal(answer.u.reaction.counts.like_count, 0);
    assert_int_equal(answer.u.reaction.counts.down_count, 1);
    assert_int_equal(answer.u.reaction.counts.hot_score, -4);
    assert_string_equal(events_after(after), "ReactionDeleted(3)-1/1 ReactionCreated(3)+1/3");
    assert_false(unreact(CID, LIKE, COMMENT, c));
    assert_true(react(CID, LIKE, COMMENT, c));
    assert_int_equal(counts_of(COMMENT, c).hot_score, 2);
    assert_counters(CID, 0, 0, 0, 0); /* these are about posts */
    assert_counters(BOB, 0, 0, 0, 0);
    assert_verifies();
}

static void reactions_have_a_bucket_of_their_own(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b");
    options.settings.react_burst = 2;
    options.settings.comment_burst = 1;
    reopen_engine();
    must(react_op(BOB, LIKE, POST, post));
    must(react_op(BOB, LIKE, POST, post)); /* a repeat spends one, too */
    assert_int_equal(run(react_op(BOB, FAV, POST, post)), TIDINGS_RATE_LIMITED);
    assert_int_equal(answer.retry_after_ms, 100);
    must(comment_op(BOB, post, 0));
    assert_int_equal(run(comment_op(BOB, post, 0)), TIDINGS_RATE_LIMITED);
    assert_int_equal(answer.retry_after_ms, 1000);
    clock_ms += 100;
    must(react_op(BOB, FAV, POST, post));
    assert_int_equal(run(react_op(BOB, LIKE, POST, 12345)), TIDINGS_RATE_LIMITED);
    react(BOB, LIKE, POST, post); /* a service is free of it */
    assert_verifies();
}

/* ---- Comments ------------------------------------------------------------------------------- */

static void comments_are_listed_by_heat_and_by_time(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), c[5], r;
    for (size_t i = 0; i < 5; i++)
        c[i] = comment(BOB, post, 0, "c");
    r = comment(CID, post, c[1], "r"); /* +3 */
    react(CID, LIKE, COMMENT, c[2]);   /* +2 */
    react(CID, DOWN, COMMENT, c[4]);   /* -4 */
    ASSERT_COMMENTS(post, 0, TIDINGS_OLD, c[0], c[1], c[2], c[3], c[4]);
    ASSERT_COMMENTS(post, 0, TIDINGS_NEW, c[4], c[3], c[2], c[1], c[0]);
    ASSERT_COMMENTS(post, 0, TIDINGS_HOT, c[1], c[2], c[3], c[0], c[4]);
    ASSERT_COMMENTS(post, c[1], TIDINGS_HOT, r);
    assert_int_equal(counts_of(POST, post).comment_count, 6);
    assert_int_equal(counts_of(POST, post).hot_score, 30);
    assert_int_equal(counts_of(COMMENT, c[1]).reply_count, 1);
    assert_verifies();
}

static void a_comment_that_moves_costs_no_other_its_place(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), c[6];
    for (size_t i = 0; i < 6; i++)
        c[i] = comment(BOB, post, 0, "c");
    struct tidings_op op = {.kind = TIDINGS_OP_COMMENTS,
                            .user_id = BOB,
                            .u.comments = {post, 0, TIDINGS_HOT, .page.limit = 2}};
    must(op); /* c5 c4 */
    op.u.comments.page.after = answer.u.comments.next;
    react(CID, LIKE, COMMENT, c[4]); /* the very comment the cursor points at */
    react(CID, LIKE, COMMENT, c[1]); /* this one leaves what is still to come */
    must(op);
    assert_int_equal(answer.u.comments.rows[0].id, c[3]);
    assert_int_equal(answer.u.comments.rows[1].id, c[2]);
    op.u.comments.page.after = answer.u.comments.next;
    must(op);
    assert_int_equal(answer.u.comments.n, 1);
    assert_int_equal(answer.u.comments.rows[0].id, c[0]);
}

static void votes_fold_a_comment_and_bring_it_back(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), c = comment(BOB, post, 0, "c");
    uint64_t r = comment(CID, post, c, "r"), rr = comment(DAN, post, r, "rr");
    for (uint64_t user = 10; user < 12; user++)
        react(user, DOWN, COMMENT, r);
    assert_int_equal(status_of(post, c, r), TIDINGS_COMMENT_VISIBLE);
    uint64_t after = events_end();
    react(12, DOWN, COMMENT, r);
    assert_string_equal(events_after(after), "ReactionCreated(12)+1/3 CommentHidden(12)-1/0");
    assert_int_equal(status_of(post, c, r), TIDINGS_COMMENT_HIDDEN);
    assert_int_equal(answer.u.comments.rows[0].body.n, 0);
    assert_int_equal(counts_of(POST, post).comment_count, 2); /* c and rr */
    assert_int_equal(counts_of(COMMENT, c).reply_count, 0);
    assert_int_equal(counts_of(COMMENT, r).reply_count, 1);
    uint64_t more = comment(EVE, post, r, "replies to a folded one are allowed");
    after = events_end();
    react(12, LIKE, COMMENT, r);
    assert_string_equal(events_after(after), "ReactionDeleted(12)-1/3 ReactionCreated(12)+1/1 "
                                             "CommentRestored(12)+1/0");
    assert_int_equal(status_of(post, c, r), TIDINGS_COMMENT_VISIBLE);
    assert_int_equal(answer.u.comments.rows[0].body.n, 1);
    ASSERT_COMMENTS(post, r, TIDINGS_OLD, rr, more);
    assert_verifies();
}

static void a_moderators_word_sticks(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), c = comment(BOB, post, 0, "c");
    uint64_t after = events_end();
    restore(c); /* changes nothing now */
    assert_true(answer.u.comment.moderated);
    assert_string_equal(events_after(after), "");
    for (uint64_t user = 10; user < 20; user++)
        react(user, DOWN, COMMENT, c);
    assert_int_equal(status_of(post, 0, c), TIDINGS_COMMENT_VISIBLE);
    after = events_end();
    hide(c);
    assert_int_equal(answer.u.comment.body.n, 1);
    hide(c);
    assert_string_equal(events_after(after), "CommentHidden(999)-1/0");
    for (uint64_t user = 10; user < 20; user++)
        react(user, LIKE, COMMENT, c);
    assert_int_equal(status_of(post, 0, c), TIDINGS_COMMENT_HIDDEN);
    assert_int_equal(counts_of(POST, post).comment_count, 0);
    must((struct tidings_op){.kind = TIDINGS_OP_COMMENTS,
                             .user_id = EVE,
                             .u.comments = {post, 0, TIDINGS_HOT, .include_hidden = true}});
    assert_string_equal(answer.u.comments.rows[0].body.p, "c");
    struct tidings_op op = {
        .kind = TIDINGS_OP_COMMENT_HIDE, .user_id = ANN, .u.comment_id.comment_id = c};
    assert_int_equal(run(op), TIDINGS_FORBIDDEN);
    op.role = TIDINGS_ROLE_SERVICE;
    assert_int_equal(run(op), TIDINGS_FORBIDDEN);
    assert_verifies();
}

static void deleted_comments_leave_with_their_last_listed_reply(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), a = comment(BOB, post, 0, "a");
    uint64_t b = comment(BOB, post, a, "b"), c = comment(BOB, post, b, "c");
    uint64_t d = comment(BOB, post, c, "d"), e = comment(BOB, post, 0, "e");
    react(CID, LIKE, COMMENT, a);
    delete_comment(BOB, a);
    assert_int_equal(run((struct tidings_op){.kind = TIDINGS_OP_COMMENT_DELETE,
                                             .user_id = BOB,
                                             .u.comment_id.comment_id = a}),
                     TIDINGS_DELETED);
    delete_comment(BOB, c);
    ASSERT_COMMENTS(post, 0, TIDINGS_OLD, a, e);
    ASSERT_COMMENTS(post, 0, TIDINGS_HOT, a, e);
    assert_int_equal(status_of(post, 0, a), TIDINGS_COMMENT_DELETED);
    assert_int_equal(answer.u.comments.rows[0].body.n, 0);
    assert_int_equal(counts_of(POST, post).comment_count, 3);
    assert_int_equal(run(comment_op(BOB, post, a)), TIDINGS_DELETED);
    assert_int_equal(run(react_op(BOB, LIKE, COMMENT, a)), TIDINGS_DELETED);
    delete_comment(BOB, b); /* listed because of c, because of d */
    ASSERT_COMMENTS(post, a, TIDINGS_NEW, b);
    assert_verifies();
    delete_comment(BOB, d); /* takes them all along */
    ASSERT_COMMENTS(post, 0, TIDINGS_OLD, e);
    ASSERT_COMMENTS(post, 0, TIDINGS_HOT, e);
    static struct ids none;
    list_comments(post, a, TIDINGS_HOT, &none);
    assert_int_equal(none.n, 0);
    assert_int_equal(counts_of(POST, post).comment_count, 1);
    assert_true(unreact(CID, LIKE, COMMENT, a));
    assert_verifies();
}

static void deleting_is_for_the_author_and_admins(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), c = comment(BOB, post, 0, "c");
    struct tidings_op op = {
        .kind = TIDINGS_OP_COMMENT_DELETE, .user_id = ANN, .u.comment_id.comment_id = c};
    assert_int_equal(run(op), TIDINGS_FORBIDDEN);
    op.role = TIDINGS_ROLE_ADMIN;
    assert_int_equal(run(op), TIDINGS_OK);
    op.u.comment_id.comment_id = post;
    assert_int_equal(run(op), TIDINGS_NOT_FOUND);
}

static void a_reply_belongs_to_the_post_of_its_parent(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), other = publish(ANN, "t", "b");
    uint64_t c = comment(BOB, post, 0, "c");
    assert_int_equal(run(comment_op(BOB, other, c)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(comment_op(BOB, post, other)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(comment_op(BOB, c, 0)), TIDINGS_NOT_FOUND);
    assert_int_equal(run((struct tidings_op){.kind = TIDINGS_OP_COMMENTS,
                                             .user_id = BOB,
                                             .u.comments = {other, c, TIDINGS_HOT}}),
                     TIDINGS_NOT_FOUND);
    assert_int_equal(run(react_op(BOB, LIKE, POST, c)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(react_op(BOB, LIKE, COMMENT, post)), TIDINGS_NOT_FOUND);
    assert_verifies();
}

/* ---- Deleted posts -------------------------------------------------------------------------- */

static void a_deleted_post_settles_its_author_and_is_left_to_admins(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "the title", "b"), other = publish(ANN, "u", "b");
    uint64_t c = comment(BOB, post, 0, "c");
    react(BOB, LIKE, POST, post);
    react(CID, LIKE, POST, post);
    react(CID, FAV, POST, post);
    react(CID, LIKE, POST, other);
    react(CID, LIKE, COMMENT, c);
    ASSERT_HOT(TIDINGS_NOTE, post, other);
    delete_post(ANN, post);
    ASSERT_HOT(TIDINGS_NOTE, other);
    assert_counters(ANN, 0, 0, 1, 0);
    assert_counters(CID, 2, 1, 0, 0);
    assert_verifies();

    assert_int_equal(run(react_op(DAN, LIKE, POST, post)), TIDINGS_DELETED);
    assert_string_equal(answer.title.p, "the title");
    assert_int_equal(run(react_op(DAN, LIKE, COMMENT, c)), TIDINGS_DELETED);
    assert_string_equal(answer.title.p, "the title");
    assert_int_equal(run(comment_op(DAN, post, 0)), TIDINGS_DELETED);
    assert_int_equal(run(comment_op(DAN, post, c)), TIDINGS_DELETED);
    struct tidings_op look = {
        .kind = TIDINGS_OP_COMMENTS, .user_id = BOB, .u.comments = {post, 0, TIDINGS_HOT}};
    assert_int_equal(run(look), TIDINGS_DELETED);
    look.role = TIDINGS_ROLE_SERVICE;
    assert_int_equal(run(look), TIDINGS_DELETED);
    look.role = TIDINGS_ROLE_ADMIN;
    assert_int_equal(run(look), TIDINGS_OK);
    assert_string_equal(answer.u.comments.rows[0].body.p, "c");
    assert_int_equal(run((struct tidings_op){.kind = TIDINGS_OP_STATS,
                                             .user_id = BOB,
                                             .u.react = {.target = COMMENT, .id = c}}),
                     TIDINGS_DELETED);

    assert_true(unreact(CID, LIKE, POST, post));
    assert_int_equal(answer.u.reaction.counts.like_count, 1);
    assert_true(unreact(CID, LIKE, COMMENT, c));
    assert_counters(CID, 1, 1, 0, 0);
    assert_counters(ANN, 0, 0, 1, 0);
    ASSERT_HOT(TIDINGS_NOTE, other);
    must((struct tidings_op){
        .kind = TIDINGS_OP_REACTED, .user_id = BOB, .u.reactors = {LIKE, POST, 0}});
    assert_true(answer.u.reacted.rows[0].is_deleted);
    assert_string_equal(answer.u.reacted.rows[0].text.p, "the title");
    assert_verifies();
}

/* ---- Heat ----------------------------------------------------------------------------------- */

static uint64_t publish_kind(enum tidings_post_kind kind)
{
    must((struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                             .user_id = ANN,
                             .u.publish = {kind, text_of("t"), text_of("b")}});
    return answer.u.post.id;
}

static void hot_lists_are_by_kind_then_score_then_newest(void **state)
{
    (void)state;
    uint64_t n[4], story = publish_kind(TIDINGS_STORY), activity = publish_kind(TIDINGS_ACTIVITY);
    for (size_t i = 0; i < 4; i++)
        n[i] = publish_kind(TIDINGS_NOTE);
    comment(BOB, n[0], 0, "5");
    react(BOB, LIKE, POST, n[1]);
    react(BOB, FAV, POST, n[2]);
    ASSERT_HOT(TIDINGS_NOTE, n[0], n[2], n[1], n[3]);
    ASSERT_HOT(TIDINGS_STORY, story);
    ASSERT_HOT(TIDINGS_ACTIVITY, activity);
    react(CID, LIKE, POST, n[1]);
    ASSERT_HOT(TIDINGS_NOTE, n[1], n[0], n[2], n[3]);
    unreact(BOB, LIKE, POST, n[1]);
    unreact(CID, LIKE, POST, n[1]);
    ASSERT_HOT(TIDINGS_NOTE, n[0], n[2], n[3], n[1]);
    assert_verifies();
}

static void with_a_half_life_newer_posts_overtake_without_a_write(void **state)
{
    (void)state;
    options.settings.hot_half_life_hours = 24;
    reopen_engine();
    uint64_t old = publish(ANN, "t", "b"), cold = publish(ANN, "t", "b");
    for (uint64_t user = 10; user < 14; user++)
        react(user, LIKE, POST, old); /* 12 */
    clock_ms += INT64_C(24) * 3600 * 1000;
    uint64_t fresh = publish(ANN, "t", "b"), newest = publish(ANN, "t", "b");
    react(10, LIKE, POST, fresh); /* 3: less than half of 12 */
    ASSERT_HOT(TIDINGS_NOTE, old, fresh, newest, cold);
    react(11, LIKE, POST, fresh); /* 6: just as hot, and newer */
    ASSERT_HOT(TIDINGS_NOTE, fresh, old, newest, cold);
    must((struct tidings_op){
        .kind = TIDINGS_OP_STATS, .user_id = BOB, .u.react = {.target = POST, .id = old}});
    assert_int_equal(answer.u.stats.counts.hot_score, 12);
    assert_int_equal(answer.u.stats.age_ms, 24 * 3600 * 1000);
    assert_true(answer.u.stats.heat == 6.0);
    clock_ms += INT64_C(24) * 3600 * 1000;
    must((struct tidings_op){
        .kind = TIDINGS_OP_STATS, .user_id = BOB, .u.react = {.target = POST, .id = old}});
    assert_true(answer.u.stats.heat == 3.0);
    assert_verifies();
}

static void other_weights_reorder_everything_at_opening(void **state)
{
    (void)state;
    uint64_t p = publish(ANN, "t", "b"), q = publish(ANN, "t", "b");
    uint64_t c = comment(BOB, p, 0, "c"), d = comment(BOB, p, 0, "d");
    react(CID, LIKE, POST, q);
    react(CID, LIKE, COMMENT, c);
    ASSERT_HOT(TIDINGS_NOTE, p, q); /* 10, 3 */
    ASSERT_COMMENTS(p, 0, TIDINGS_HOT, c, d);
    options.settings.hot_like = 100;
    options.settings.hot_comment_like = 0;
    uint64_t after = events_end();
    reopen_engine();
    assert_verifies();
    ASSERT_HOT(TIDINGS_NOTE, q, p);
    ASSERT_COMMENTS(p, 0, TIDINGS_HOT, d, c);
    assert_int_equal(counts_of(POST, q).hot_score, 100);
    assert_string_equal(events_after(after), "");
    unreact(CID, LIKE, POST, q);
    ASSERT_HOT(TIDINGS_NOTE, p, q);
    assert_verifies();
}

static void another_fold_rule_folds_and_restores_at_opening(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), top = comment(BOB, post, 0, "c");
    uint64_t c = comment(BOB, post, top, "c"), stays = comment(BOB, post, top, "d");
    restore(stays);
    react(10, DOWN, COMMENT, c);
    react(10, DOWN, COMMENT, stays);
    uint64_t after = events_end();
    options.settings.fold_down = 1;
    options.settings.fold_percent = 0;
    reopen_engine();
    assert_verifies();
    assert_string_equal(events_after(after), "CommentHidden(0)-1/0");
    assert_int_equal(status_of(post, top, c), TIDINGS_COMMENT_HIDDEN);
    assert_int_equal(status_of(post, top, stays), TIDINGS_COMMENT_VISIBLE);
    assert_int_equal(counts_of(POST, post).comment_count, 2);
    assert_int_equal(counts_of(COMMENT, top).reply_count, 1);
    after = events_end();
    reopen_engine(); /* the same rules: nothing to do */
    assert_string_equal(events_after(after), "");
    options.settings.fold_down = 3;
    reopen_engine();
    assert_verifies();
    assert_string_equal(events_after(after), "CommentRestored(0)+1/0");
    assert_int_equal(counts_of(POST, post).comment_count, 3);
}

/* More than one transaction's worth, of posts and of comments on one of them. */
static void many_rows_are_reordered_in_several_transactions(void **state)
{
    (void)state;
    enum { MANY = 6000 };
    static struct ids hot, old;
    static struct tidings_op ops[MANY];
    publish_many(ANN, MANY);
    uint64_t post = publish(ANN, "busy", "b");
    for (size_t i = 0; i < MANY; i++) {
        ops[i] = comment_op(BOB, post, 0);
        ops[i].role = TIDINGS_ROLE_SERVICE;
    }
    must_all(ops, MANY);
    list_comments(post, 0, TIDINGS_OLD, &old);
    assert_int_equal(old.n, MANY);
    for (size_t i = 0; i < MANY; i += 100)
        react(CID, DOWN, COMMENT, old.at[i]);
    options.settings.hot_half_life_hours = 24;
    options.settings.hot_comment = 0;
    options.settings.fold_down = 1;
    options.settings.fold_percent = 100;
    reopen_engine();
    assert_int_equal(counts_of(POST, post).comment_count, MANY - MANY / 100);
    assert_int_equal(counts_of(POST, post).hot_score, 0);
    list_hot(TIDINGS_NOTE, &hot);
    assert_int_equal(hot.n, MANY + 1);
    list_comments(post, 0, TIDINGS_HOT, &hot);
    assert_int_equal(hot.n, MANY);
    assert_int_equal(hot.at[MANY - 1], old.at[0]);
    assert_verifies();
}

/* As an interruption leaves it: the rules are written down, and rows behind the place are missing. */
static void interrupt_at(uint8_t stage, uint64_t place)
{
    struct rules_record rules;
    uint8_t bytes[RULES_RECORD_MAX];
    assert_true(rules_decode(row_get(TABLE_META, key_meta("rules")), &rules));
    assert_int_equal(rules.stage, 0);
    rules.stage = stage;
    rules.place = place;
    row_put(TABLE_META, key_meta("rules"), (struct bytes){bytes, rules_encode(&rules, bytes)});
}

static void reordering_goes_on_after_an_interruption(void **state)
{
    (void)state;
    enum { CLEAR = 1, FOLD, COMMENTS, POSTS };
    uint64_t p = publish(ANN, "t", "b"), c = comment(BOB, p, 0, "c"), d = comment(BOB, p, 0, "d");
    uint64_t q = publish(ANN, "t", "b");
    struct key hot_q = key_hot(TIDINGS_NOTE, 1, q);
    struct key hot_d = key_hot_reply(p, heat_comment_key(0), d);
    react(CID, DOWN, COMMENT, c);
    const struct {
        uint8_t stage;
        uint64_t place;
        bool posts_too; /* rows of the last post and of the last comment are missing */
        bool comments_too;
    } cases[] = {
        {CLEAR, 0, false, false},  {FOLD, 0, true, false},  {FOLD, c, true, true},
        {COMMENTS, c, true, true}, {POSTS, p, true, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        interrupt_at(cases[i].stage, cases[i].place);
        if (cases[i].posts_too)
            row_delete(TABLE_HOT, hot_q);
        if (cases[i].comments_too)
            row_delete(TABLE_TARGET, hot_d);
        open_engine();
        assert_verifies();
        ASSERT_HOT(TIDINGS_NOTE, p, q);
        ASSERT_COMMENTS(p, 0, TIDINGS_HOT, d, c);
    }
    /* With other settings than those that were on their way it begins again. */
    interrupt_at(POSTS, TIDINGS_ID_MAX);
    row_delete(TABLE_HOT, hot_q);
    options.settings.hot_comment = 7;
    options.settings.fold_down = 1;
    options.settings.fold_percent = 0;
    open_engine();
    assert_verifies();
    assert_int_equal(status_of(p, 0, c), TIDINGS_COMMENT_HIDDEN);
    ASSERT_HOT(TIDINGS_NOTE, p, q);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(a_like_changes_everything_in_one_step_and_once),
        TEST(liking_ones_own_counts_on_both_sides),
        TEST(lists_of_reactions_are_newest_first_and_page),
        TEST(like_and_downvote_exclude_each_other),
        TEST(reactions_have_a_bucket_of_their_own),
        TEST(comments_are_listed_by_heat_and_by_time),
        TEST(a_comment_that_moves_costs_no_other_its_place),
        TEST(votes_fold_a_comment_and_bring_it_back),
        TEST(a_moderators_word_sticks),
        TEST(deleted_comments_leave_with_their_last_listed_reply),
        TEST(deleting_is_for_the_author_and_admins),
        TEST(a_reply_belongs_to_the_post_of_its_parent),
        TEST(a_deleted_post_settles_its_author_and_is_left_to_admins),
        TEST(hot_lists_are_by_kind_then_score_then_newest),
        TEST(with_a_half_life_newer_posts_overtake_without_a_write),
        TEST(other_weights_reorder_everything_at_opening),
        TEST(another_fold_rule_folds_and_restores_at_opening),
        TEST(many_rows_are_reordered_in_several_transactions),
        TEST(reordering_goes_on_after_an_interruption),
    };
#undef TEST
    return RUN_TESTS(tests);
}
