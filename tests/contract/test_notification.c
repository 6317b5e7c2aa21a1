/* SPDX-License-Identifier: MIT */
/* Notifications: who is told, what is unread, and what leaves the list. */
#include <string.h>

#include "contract/stories.h"

static uint64_t mark_notifications(uint64_t user, const uint64_t *ids, size_t n)
{
    must((struct tidings_op){.kind = TIDINGS_OP_NOTIFICATIONS_MARK,
                             .user_id = user,
                             .u.mark = {.post_ids = ids, .n_post_ids = n}});
    return answer.u.notifications_mark.marked;
}

static uint64_t mark_notifications_up_to(uint64_t user, struct tidings_moment up_to)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_NOTIFICATIONS_MARK, .user_id = user, .u.mark.up_to = up_to});
    return answer.u.notifications_mark.marked;
}

static void list_notifications(uint64_t user, struct ids *ids)
{
    struct tidings_op op = {
        .kind = TIDINGS_OP_NOTIFICATIONS, .user_id = user, .u.page.limit = PAGE};
    uint64_t unread = 0;
    ids->n = 0;
    do {
        must(op);
        for (size_t i = 0; i < answer.u.notifications.n; i++) {
            add(ids, answer.u.notifications.rows[i].id);
            unread += !answer.u.notifications.rows[i].is_read;
        }
        op.u.page.after = answer.u.notifications.next;
    } while (answer.u.notifications.next.a);
    assert_int_equal(answer.u.notifications.unread, unread);
}

static uint64_t unread(uint64_t user)
{
    static struct ids notifications;
    list_notifications(user, &notifications);
    return answer.u.notifications.unread;
}

static void what_is_published_while_subscribed_is_notified(void **state)
{
    (void)state;
    uint64_t a = story(ANN, "a"), b = story(CID, "b");
    scene(ANN, a, "before");
    subscribe(BOB, a);
    subscribe(BOB, b);
    subscribe(ANN, a); /* one's own, too */
    uint64_t a1 = scene(ANN, a, "a1"), b1 = scene(CID, b, "b1"), a2 = scene(ANN, a, "a2");
    unsubscribe(BOB, a);
    scene(ANN, a, "missed");
    subscribe(BOB, a);
    uint64_t a3 = scene(ANN, a, "a3");

    ASSERT_LIST(list_notifications, BOB, a3, a2, b1, a1);
    assert_int_equal(unread(BOB), 4);
    assert_int_equal(unread(CID), 0);
    assert_int_equal(unread(ANN), 4);
    must((struct tidings_op){.kind = TIDINGS_OP_NOTIFICATIONS, .user_id = BOB});
    const struct tidings_notification *row = &answer.u.notifications.rows[2];
    assert_int_equal(row->story_id, b);
    assert_int_equal(row->author_id, CID);
    assert_string_equal(row->story_title.p, "b");
    assert_string_equal(row->scene_title.p, "b1");
    reopen_engine();
    ASSERT_LIST(list_notifications, BOB, a3, a2, b1, a1);
    assert_verifies();
}

static void those_who_turned_it_off_are_not_told(void **state)
{
    (void)state;
    uint64_t a = story(ANN, "a"), b = story(ANN, "b");
    must((struct tidings_op){.kind = TIDINGS_OP_PREFERENCES, .user_id = BOB});
    assert_true(answer.u.preferences.story_updates);
    subscribe(BOB, a);
    uint64_t first = scene(ANN, a, "first");
    want_updates(BOB, false);
    want_updates(BOB, false);
    subscribe(BOB, b); /* while it is off */
    scene(ANN, a, "unheard");
    scene(ANN, b, "unheard");
    ASSERT_LIST(list_notifications, BOB, first);
    ASSERT_LIST(list_subscriptions, BOB, b, a);
    ASSERT_LIST(list_subscribers, a);
    assert_verifies();
    want_updates(BOB, true);
    ASSERT_LIST(list_subscribers, a, BOB);
    uint64_t second = scene(ANN, b, "second"), third = scene(ANN, a, "third");
    ASSERT_LIST(list_notifications, BOB, third, second, first);
    want_updates(BOB, false);
    unsubscribe(BOB, a); /* while it is off */
    want_updates(BOB, true);
    scene(ANN, a, "gone");
    ASSERT_LIST(list_notifications, BOB, third, second, first);
    ASSERT_LIST(list_subscriptions, BOB, b);
    assert_verifies();
}

static void what_is_deleted_leaves_the_list(void **state)
{
    (void)state;
    uint64_t a = story(ANN, "a"), b = story(ANN, "b");
    subscribe(BOB, a);
    subscribe(BOB, b);
    uint64_t a1 = scene(ANN, a, "a1"), a2 = scene(ANN, a, "a2"), a3 = scene(ANN, a, "a3");
    uint64_t b1 = scene(ANN, b, "b1");
    const uint64_t two[] = {a1, a2};
    assert_int_equal(mark_notifications(BOB, two, 2), 2);
    assert_int_equal(answer.u.notifications_mark.unread, 2);
    assert_int_equal(delete_scene(ANN, TIDINGS_ROLE_USER, a2), TIDINGS_OK);
    ASSERT_LIST(list_notifications, BOB, b1, a3, a1);
    assert_int_equal(unread(BOB), 2);
    assert_int_equal(delete_scene(ANN, TIDINGS_ROLE_USER, a3), TIDINGS_OK);
    ASSERT_LIST(list_notifications, BOB, b1, a1);
    assert_int_equal(unread(BOB), 1);
    assert_int_equal(mark_notifications(BOB, &a3, 1), 0); /* it was there */
    delete_post(ANN, b);
    for (int i = 0; i < 2; i++) {
        ASSERT_LIST(list_notifications, BOB, a1);
        assert_int_equal(unread(BOB), 0);
        assert_int_equal(mark_notifications(BOB, &b1, 1), 0);
        reopen_engine();
    }
    ASSERT_LIST(list_subscriptions, BOB, b, a);
    assert_true(unsubscribe(BOB, b));
    assert_verifies();
}

static void notifications_are_marked_all_or_none(void **state)
{
    (void)state;
    uint64_t a = story(ANN, "a"), missed = scene(ANN, a, "missed");
    subscribe(BOB, a);
    uint64_t a1 = scene(ANN, a, "a1"), a2 = scene(ANN, a, "a2");
    const uint64_t wrong[] = {a1, missed};
    struct tidings_op op = {.kind = TIDINGS_OP_NOTIFICATIONS_MARK,
                            .user_id = BOB,
                            .u.mark = {.post_ids = wrong, .n_post_ids = 2}};
    assert_int_equal(run(op), TIDINGS_NOT_FOUND);
    const uint64_t story_id[] = {a};
    op.u.mark.post_ids = story_id;
    op.u.mark.n_post_ids = 1;
    assert_int_equal(run(op), TIDINGS_NOT_FOUND);
    assert_int_equal(unread(BOB), 2);
    const uint64_t twice[] = {a1, a1};
    assert_int_equal(mark_notifications(BOB, twice, 2), 1);
    assert_int_equal(mark_notifications(BOB, &a1, 1), 0);

    must((struct tidings_op){.kind = TIDINGS_OP_NOTIFICATIONS, .user_id = BOB});
    assert_int_equal(answer.u.notifications.unread, 1);
    assert_false(answer.u.notifications.rows[0].is_read);
    assert_true(answer.u.notifications.rows[1].is_read);
    struct tidings_moment seen = answer.u.notifications.as_of;
    uint64_t a3 = scene(ANN, a, "a3");
    assert_int_equal(mark_notifications_up_to(BOB, seen), 1);
    assert_int_equal(answer.u.notifications_mark.unread, 1);
    ASSERT_LIST(list_notifications, BOB, a3, a2, a1);
    assert_verifies();
}

/* The same at random, against lists that a naive model keeps; also that inboxes are left alone. */
static void notifications_are_exact_whatever_happens(void **state)
{
    (void)state;
    enum { STORIES = 4, SCENES = 400, STEPS = 1500, USERS = 3 };
    struct rng rng = test_rng();
    static uint64_t ids[SCENES];
    static struct tidings_moment seen[SCENES]; /* when that scene was the newest */
    static uint8_t told[USERS][SCENES], is_read[USERS][SCENES], gone[SCENES], of[SCENES];
    bool subscribed[USERS][STORIES] = {{false}}, quiet[USERS] = {false}, dead[STORIES] = {false};
    uint64_t s[STORIES];
    size_t n = 0;
    memset(told, 0, sizeof told);
    memset(is_read, 0, sizeof is_read);
    memset(gone, 0, sizeof gone);
    for (int i = 0; i < STORIES; i++)
        s[i] = story(ANN, "Tale");
    follow(BOB, ANN);
    for (int step = 0; step < STEPS; step++) {
        uint64_t u = rng_below(&rng, USERS), which = rng_below(&rng, STORIES);
        uint64_t user = BOB + u, kind = rng_below(&rng, 100);
        size_t k = n ? rng_below(&rng, n) : 0;
        if (kind < 30 && n < SCENES && !dead[which]) {
            ids[n] = scene(ANN, s[which], "s");
            must((struct tidings_op){.kind = TIDINGS_OP_NOTIFICATIONS, .user_id = BOB});
            seen[n] = answer.u.notifications.as_of;
            of[n] = (uint8_t)which;
            for (int i = 0; i < USERS; i++)
                told[i][n] = subscribed[i][which] && !quiet[i];
            n++;
        } else if (kind < 40 && !dead[which]) {
            assert_int_equal(subscribe(user, s[which]), !subscribed[u][which]);
            subscribed[u][which] = true;
        } else if (kind < 47) {
            assert_int_equal(unsubscribe(user, s[which]), subscribed[u][which]);
            subscribed[u][which] = false;
        } else if (kind < 53) {
            quiet[u] = rng_below(&rng, 2);
            want_updates(user, !quiet[u]);
        } else if (kind < 78 && n && told[u][k]) {
            bool fresh = !is_read[u][k] && !gone[k] && !dead[of[k]];
            assert_int_equal(mark_notifications(user, &ids[k], 1), fresh);
            is_read[u][k] |= fresh;
        } else if (kind < 80 && n) {
            uint64_t marked = 0;
            for (size_t i = 0; i <= k; i++) {
                bool fresh = told[u][i] && !is_read[u][i] && !gone[i] && !dead[of[i]];
                marked += fresh;
                is_read[u][i] |= fresh;
            }
            assert_int_equal(mark_notifications_up_to(user, seen[k]), marked);
        } else if (kind < 90 && n && !gone[k] && !dead[of[k]]) {
            assert_int_equal(delete_scene(ANN, TIDINGS_ROLE_USER, ids[k]), TIDINGS_OK);
            gone[k] = true;
        } else if (kind == 99 && step > STEPS / 2 && rng_below(&rng, 5) == 0 && !dead[which]) {
            delete_post(ANN, s[which]);
            dead[which] = true;
        }
        if (step % 50 == 49) {
            for (uint64_t i = 0; i < USERS; i++) {
                static struct ids found, expected;
                uint64_t count = 0;
                expected.n = 0;
                for (size_t j = n; j--;)
                    if (told[i][j] && !gone[j] && !dead[of[j]]) {
                        add(&expected, ids[j]);
                        count += !is_read[i][j];
                    }
                list_notifications(BOB + i, &found);
                assert_ids(&found, expected.at, expected.n);
                assert_int_equal(answer.u.notifications.unread, count);
            }
            assert_int_equal(badge(BOB), 0);
        }
        if (step % 500 == 499) {
            assert_verifies();
            reopen_engine();
        }
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(what_is_published_while_subscribed_is_notified),
        TEST(those_who_turned_it_off_are_not_told),
        TEST(what_is_deleted_leaves_the_list),
        TEST(notifications_are_marked_all_or_none),
        TEST(notifications_are_exact_whatever_happens),
    };
#undef TEST
    return RUN_TESTS(tests);
}
