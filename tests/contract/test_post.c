/* SPDX-License-Identifier: MIT */
/* Posts: who may change them, who is shown as their author, and what ids they get. */
#include "contract/harness.h"

enum { ANN = 1, BOB = 2, CID = 3, DAN = 4 };

static void posts_are_edited_by_their_author_and_deleted_by_admins_too(void **state)
{
    (void)state;
    follow(BOB, ANN);
    uint64_t post = publish(ANN, "title", "a[img]http://u[/img]b");
    must((struct tidings_op){.kind = TIDINGS_OP_INBOX, .user_id = BOB});
    assert_string_equal(answer.u.feed.rows[0].excerpt.p, "ab");
    atomic_fetch_add(&clock_ms, 5);
    struct tidings_op op = {.kind = TIDINGS_OP_EDIT,
                            .user_id = ANN,
                            .u.edit = {.post_id = post, .body = text_of("new")}};
    must(op);
    assert_string_equal(answer.u.post.title.p, "title");
    assert_string_equal(answer.u.post.body.p, "new");
    assert_int_equal(answer.u.post.edited_at, START_MS + 5);
    atomic_fetch_add(&clock_ms, 5);
    must(op); /* the same: no edit */
    assert_int_equal(answer.u.post.edited_at, START_MS + 5);
    op.u.edit.body = (struct tidings_text){"", 0};
    must(op);
    assert_int_equal(answer.u.post.body.n, 0);
    op.user_id = BOB;
    op.role = TIDINGS_ROLE_ADMIN;
    op.u.edit.body = text_of("by another");
    assert_int_equal(run(op), TIDINGS_FORBIDDEN);

    struct tidings_op delete = {.kind = TIDINGS_OP_DELETE, .user_id = BOB, .u.post.post_id = post};
    assert_int_equal(run(delete), TIDINGS_FORBIDDEN);
    delete.role = TIDINGS_ROLE_SERVICE;
    assert_int_equal(run(delete), TIDINGS_FORBIDDEN);
    delete.role = TIDINGS_ROLE_ADMIN;
    must(delete);
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = BOB, .u.user.user_id = ANN});
    assert_int_equal(answer.u.counters.posts, 0);
    assert_verifies();
}

static void names_are_shown_wherever_users_are(void **state)
{
    (void)state;
    follow(BOB, ANN);
    uint64_t post = publish(ANN, "t", "");
    must((struct tidings_op){.kind = TIDINGS_OP_PROFILE_SET,
                             .user_id = ANN,
                             .u.profile = {text_of("Ann"), text_of("https://a")}});
    must((struct tidings_op){.kind = TIDINGS_OP_INBOX, .user_id = BOB});
    assert_string_equal(answer.u.feed.rows[0].author_name.p, "Ann");
    must((struct tidings_op){.kind = TIDINGS_OP_UNREAD, .user_id = BOB});
    assert_string_equal(answer.u.unread.rows[0].name.p, "Ann");
    must((struct tidings_op){.kind = TIDINGS_OP_POST, .user_id = BOB, .u.post.post_id = post});
    assert_string_equal(answer.u.post.author_name.p, "Ann");
    must((struct tidings_op){.kind = TIDINGS_OP_FOLLOWING, .user_id = BOB, .u.users.user_id = BOB});
    assert_string_equal(answer.u.users.rows[0].avatar.p, "https://a");
    must((struct tidings_op){
        .kind = TIDINGS_OP_PROFILE_SET, .user_id = ANN, .u.profile = {{"", 0}, {NULL, 0}}});
    must((struct tidings_op){.kind = TIDINGS_OP_PROFILE, .user_id = BOB, .u.user.user_id = ANN});
    assert_int_equal(answer.u.profile.name.n, 0);
    assert_string_equal(answer.u.profile.avatar.p, "https://a");
}

static void ids_go_on_rising_after_a_restart_with_the_clock_set_back(void **state)
{
    (void)state;
    uint64_t last = publish(ANN, "1", "");
    for (int round = 0; round < 3; round++) {
        reopen_engine();
        atomic_fetch_add(&clock_ms, -86400000);
        uint64_t next = publish(ANN, "2", "");
        assert_true(next > last);
        last = next;
    }
    atomic_store(&clock_ms, 5); /* before the epoch */
    assert_true(publish(ANN, "3", "") > last);
    assert_verifies();
}

static struct tidings_op publish_op(uint64_t author, enum tidings_role role)
{
    return (struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                               .user_id = author,
                               .role = role,
                               .u.publish = {TIDINGS_NOTE, text_of("t"), text_of("b")}};
}

/* Nothing limited how fast a user publishes. */
static void publishing_takes_tokens(void **state)
{
    (void)state;
    options.settings.publish_burst = 3;
    options.settings.publish_refill_ms = 2000;
    reopen_engine();
    for (int i = 0; i < 3; i++) {
        must(publish_op(ANN, TIDINGS_ROLE_USER));
        assert_string_equal(answer.limit.name, "publish");
        assert_int_equal(answer.limit.burst, 3);
        assert_int_equal(answer.limit.refill_ms, 2000);
        assert_int_equal(answer.limit.left, 2 - i);
        assert_int_equal(answer.limit.next_ms, 2000);
    }
    uint64_t end = events_end();
    assert_int_equal(run(publish_op(ANN, TIDINGS_ROLE_USER)), TIDINGS_RATE_LIMITED);
    assert_int_equal(answer.retry_after_ms, 2000);
    assert_int_equal(answer.limit.left, 0);
    assert_int_equal(events_end(), end);
    must(publish_op(BOB, TIDINGS_ROLE_USER)); /* each has their own */
    must(publish_op(ANN, TIDINGS_ROLE_SERVICE));
    must(publish_op(ANN, TIDINGS_ROLE_ADMIN));
    assert_null(answer.limit.name);
    atomic_fetch_add(&clock_ms, 1999);
    reopen_engine();
    assert_int_equal(run(publish_op(ANN, TIDINGS_ROLE_USER)), TIDINGS_RATE_LIMITED);
    assert_int_equal(answer.retry_after_ms, 1);
    atomic_fetch_add(&clock_ms, 1);
    must(publish_op(ANN, TIDINGS_ROLE_USER));
    assert_int_equal(run(publish_op(ANN, TIDINGS_ROLE_USER)), TIDINGS_RATE_LIMITED);
    /* Other buckets are none of its business. */
    must(follow_op(ANN, BOB));
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = ANN, .u.user.user_id = ANN});
    assert_int_equal(answer.u.counters.posts, 6);
    assert_verifies();
}

static void own_data_is_kept_as_it_is(void **state)
{
    (void)state;
    static const char first[] = "{ \"a\" : 1.50 }", second[] = "{}";
    must((struct tidings_op){
        .kind = TIDINGS_OP_PUBLISH,
        .user_id = ANN,
        .u.publish = {.kind = TIDINGS_NOTE, .title = text_of("t"), .extra = text_of(first)}});
    assert_string_equal(answer.u.post.extra.p, first);
    uint64_t post = answer.u.post.id;
    struct tidings_op op = {.kind = TIDINGS_OP_EDIT,
                            .user_id = ANN,
                            .u.edit = {.post_id = post, .title = text_of("u")}};
    must(op);
    assert_string_equal(answer.u.post.extra.p, first);
    op.u.edit.title = (struct tidings_text){NULL, 0};
    op.u.edit.extra = text_of("{\"a\":}");
    assert_int_equal(run(op), TIDINGS_INVALID);
    assert_string_equal(answer.field, "extra");
    op.u.edit.extra = text_of(second);
    must(op);
    must((struct tidings_op){
        .kind = TIDINGS_OP_PROFILE_SET, .user_id = BOB, .u.profile.extra = text_of(first)});
    reopen_engine();
    must((struct tidings_op){.kind = TIDINGS_OP_POST, .user_id = BOB, .u.post.post_id = post});
    assert_string_equal(answer.u.post.extra.p, second);
    assert_string_equal(answer.u.post.title.p, "u");
    must((struct tidings_op){.kind = TIDINGS_OP_PROFILE, .user_id = ANN, .u.user.user_id = BOB});
    assert_string_equal(answer.u.profile.extra.p, first);
    delete_post(ANN, post);
    assert_verifies();
}

int main(void)
{
#define OPENED(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        OPENED(posts_are_edited_by_their_author_and_deleted_by_admins_too),
        OPENED(names_are_shown_wherever_users_are),
        OPENED(ids_go_on_rising_after_a_restart_with_the_clock_set_back),
        OPENED(publishing_takes_tokens),
        OPENED(own_data_is_kept_as_it_is),
    };
#undef OPENED
    return RUN_TESTS(tests);
}
