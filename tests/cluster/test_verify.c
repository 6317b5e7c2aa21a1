/* SPDX-License-Identifier: MIT */
/*
 * Verify on the tables: each damage that a statement can do to a sound database is found and named, and mended where it follows from
 * other rows, while servers run. What cannot be mended is still there afterwards.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "cluster/sql_support.h"
#include "contract/harness.h"
#include "contract/stories.h"
#include "contract/webhooks.h"

static struct sql *sql;
static uint64_t page; /* rows; 0: as many as usual */
static char *report;

static int begin(void **state)
{
    if (harness_begin(state))
        return -1;
    sql = connect_to_data(harness_dir());
    return 0;
}

static int end(void **state)
{
    sql_close(sql);
    free(report);
    report = NULL;
    page = 0;
    return harness_end(state);
}

static struct tidings_verify verify(bool repair)
{
    struct tidings_verify verify = {.repair = repair, .page = page};
    size_t n;
    free(report);
    verify.report = open_memstream(&report, &n);
    assert_non_null(verify.report);
    enum tidings_err err = tidings_verify(engine, &verify);
    fclose(verify.report);
    if (err)
        fail_msg("%s; so far:\n%s", tidings_err_text(err), report);
    return verify;
}

/* ---- A community with something of everything ------------------------------------------------ */

static void talk(uint64_t post)
{
    uint64_t first = comment(BOB, post, 0, "first"), gone = comment(CID, post, first, "gone");
    uint64_t last = comment(DAN, post, gone, "last"), folded = comment(DAN, post, 0, "folded");
    delete_comment(CID, gone);
    react(CID, LIKE, COMMENT, first);
    react(BOB, DOWN, COMMENT, last);
    for (uint64_t user = 20; user < 26; user++)
        react(user, DOWN, COMMENT, folded);
    react(BOB, LIKE, POST, post);
    react(CID, LIKE, POST, post);
    react(CID, FAV, POST, post);
}

static void tell_stories(void)
{
    uint64_t tale = story(ANN, "tale"), closed = story(ANN, "closed");
    subscribe(BOB, tale);
    uint64_t first = scene(ANN, tale, "1"), gone = scene(ANN, tale, "2");
    scene(ANN, tale, "3");
    scene(ANN, closed, "1");
    delete_scene(ANN, TIDINGS_ROLE_USER, gone);
    delete_post(ANN, closed);
    must((struct tidings_op){.kind = TIDINGS_OP_NOTIFICATIONS_MARK,
                             .user_id = BOB,
                             .u.mark = {.post_ids = &first, .n_post_ids = 1}});
    must((struct tidings_op){.kind = TIDINGS_OP_READING_SET,
                             .user_id = BOB,
                             .u.reading = {.story_id = tale, .scene_id = first}});
}

static void populate(void)
{
    uint64_t posts[5];
    must((struct tidings_op){.kind = TIDINGS_OP_HISTORY_CLEAR, .user_id = ANN});
    follow(BOB, ANN);
    follow(CID, ANN);
    for (size_t i = 0; i < COUNT_OF(posts); i++)
        posts[i] = publish(ANN, "t", "body");
    open_post(BOB, posts[0]);
    open_post(DAN, posts[0]);
    mark_one(BOB, posts[3]);
    delete_post(ANN, posts[3]);
    delete_post(ANN, posts[1]);
    unfollow(CID, ANN, false);
    talk(posts[0]);
    tell_stories();
    set_name(BOB, "Bob");
    set_webhook("hook");
    assert_verifies();
}

/* ---- What can be mended ---------------------------------------------------------------------- */

struct damage {
    const char *found; /* in the report */
    const char *plant;
};

static const struct damage mendable[] = {
    {"author.posts", "UPDATE author SET posts = posts - 1"},
    {"author.posts", "DELETE FROM author"},
    {"author.deleted", "UPDATE author SET deleted = deleted - 1"},
    {"author.last_id", "UPDATE author SET last_id = last_id + 1"},
    {"post_deletion: one is missing", "DELETE FROM post_deletion WHERE ordinal = 0"},
    {"post_deletion: one that did not happen",
     "UPDATE post_deletion SET number = 0 WHERE ordinal = 1"},
    {"post_deletion: their order", "UPDATE post_deletion SET ordinal = ordinal + 7"},
    {"story.scenes", "UPDATE story SET scenes = scenes + 1 WHERE scenes > 1"},
    {"story.deleted", "UPDATE story SET deleted = 0 WHERE deleted > 0"},
    {"story.last_id", "UPDATE story SET last_id = 5"},
    {"scene_deletion: one is missing", "DELETE FROM scene_deletion"},
    {"scene_deletion: one that did not happen", "UPDATE scene_deletion SET number = 2"},
    {"scene_deletion: their order", "UPDATE scene_deletion SET ordinal = 3"},
    {"the body of a post that is gone",
     "INSERT INTO post_body SELECT post_id, 'x' FROM post WHERE removed > 0 LIMIT 1"},

    {"a status or rank", "UPDATE following SET rel_status = 1 WHERE rel_status = 2"},
    {"a status or rank", "UPDATE following SET rank_id = rank_id + 1 WHERE rel_status = 2"},
    {"a status or rank", "UPDATE subscription SET status = 3"},
    {"stored amiss", "UPDATE following SET rel_status = 0 WHERE from_user_id = 3"},
    {"posts read that no pair knows of", "DELETE FROM following WHERE from_user_id = 4"},
    {"history: a post that was read is missing", "DELETE FROM history"},
    {"history: a post that was not read then",
     "INSERT INTO history SELECT 2, post_id + 5, post_id FROM post WHERE number = 2"},
    {"cleared history that nobody sweeps",
     "DELETE FROM history_cleared; INSERT INTO history VALUES (1, 5, 7)"},
    {"reading_position.shown_at", "UPDATE reading_position SET shown_at = shown_at + 1"},
    {"reading_position.shown_at", "UPDATE reading_position SET shown_at = 0"},

    {"follower: one whom no following knows", "INSERT INTO follower VALUES (1, 77, 99)"},
    {"following: one whom no follower knows", "DELETE FROM follower"},
    {"subscriber: one whom no subscription knows",
     "INSERT INTO subscriber SELECT story_id, 77, 99 FROM subscription"},
    {"subscription: one whom no subscriber knows", "DELETE FROM subscriber"},
    {"user.following", "UPDATE user SET following = following + 1 WHERE user_id = 2"},
    {"user.liked_posts", "UPDATE user SET liked_posts = liked_posts + 1 WHERE user_id = 2"},
    {"user.faved_posts", "UPDATE user SET faved_posts = 0 WHERE user_id = 3"},
    {"user.subscriptions", "UPDATE user SET subscriptions = 0"},
    {"user.positions", "UPDATE user SET positions = 9"},
    {"user_counter.followers", "UPDATE user_counter SET followers = -3"},
    {"user_counter.posts", "UPDATE user_counter SET posts = posts + 1"},
    {"user_counter.likes_received", "UPDATE user_counter SET likes_received = 0"},
    {"user_counter.favs_received", "UPDATE user_counter SET favs_received = 17"},
    {"user_counter.posts", "DELETE FROM user_counter"},

    {"comment.likes", "UPDATE comment SET likes = likes + 1"},
    {"comment.downs", "UPDATE comment SET downs = 0"},
    {"comment.replies", "UPDATE comment SET replies = replies + 1"},
    {"comment.listed", "UPDATE comment SET listed = 0"},
    {"comment.listed", "UPDATE comment SET listed = 0, list_id = IF(status = 3, 0, list_id)"},
    {"comment.list_id", "UPDATE comment SET list_id = 0"},
    {"comment.list_id", "UPDATE comment SET list_id = 0, listed = 0, replies = 0"},
    {"comment.heat", "UPDATE comment SET heat = heat + 1"},
    {"comment.status", "UPDATE comment SET status = 3 - status WHERE status < 3"},
    {"the body of a comment that is gone",
     "INSERT INTO comment_body SELECT comment_id, 'x' FROM comment WHERE status = 3"},
    {"content_stats.likes", "UPDATE content_stats SET likes = likes + 5"},
    {"content_stats.favs", "UPDATE content_stats SET favs = favs + 1"},
    {"content_stats.comments", "UPDATE content_stats SET comments = 100"},
    {"content_stats.kind", "UPDATE content_stats SET kind = kind + 1"},
    {"content_stats.heat", "UPDATE content_stats SET heat = heat + 1"},
    {"content_stats.kind", "DELETE FROM content_stats"},
    {"counts of nothing", "INSERT INTO content_stats VALUES (4242, 1, 0, 0, 0, 0)"},

    {"scene.messages", "UPDATE scene SET messages = messages + 1 WHERE removed = 0"},
    {"a message's id that was never given out", "DELETE FROM scene_message_id"},
    {"scene_messages of no scene", "INSERT INTO scene_messages VALUES (4242, x'00')"},
    {"scene_message_id of no scene", "INSERT INTO scene_message_id VALUES (4242, 1), (4242, 2)"},
    {"a user who cannot be found by the name", "DELETE FROM profile_name"},
    {"a user who cannot be found by the name", "UPDATE profile_name SET folded = 'x'"},
    {"a name of a user who has none", "INSERT INTO profile_name VALUES (99, 'x')"},
    {"messages of a scene that is gone",
     "INSERT INTO scene_messages SELECT scene_id, x'00' FROM scene WHERE removed > 0"},
    /* Only what nothing follows from any more: reads are lost with their map. */
    {"counts do not fit what was read", "DELETE FROM read_map WHERE user_id = 2"},
    {"counts do not fit what was read", "DELETE FROM scene_read_map"},
};

static void assert_found(const struct damage *damage, bool repair)
{
    struct tidings_verify found = verify(repair);
    if (!found.differences || !strstr(report, damage->found))
        fail_msg("%s: \"%s\" is not in the report of %" PRIu64 " differences:\n%s", damage->plant,
                 damage->found, found.differences, report);
}

static void assert_sound_after(const struct damage *damage)
{
    if (verify(false).differences)
        fail_msg("%s: left over:\n%s", damage->plant, report);
}

static void what_follows_from_other_rows_is_mended(void **state)
{
    (void)state;
    populate();
    page = 3; /* so small that everything is on several */
    for (size_t i = 0; i < COUNT_OF(mendable); i++) {
        assert_run(sql, mendable[i].plant);
        assert_found(&mendable[i], true);
        assert_sound_after(&mendable[i]);
    }
}

static void messages_of_a_deleted_story_are_swept_in_the_end(void **state)
{
    static const struct damage damage = {"messages of a deleted story that nobody sweeps", ""};
    (void)state;
    populate();
    for (int i = 0; i < 600 && asked(sql, "SELECT COUNT(*) FROM story_closed"); i++)
        usleep(50000);
    assert_run(sql, "INSERT INTO scene_messages SELECT s.scene_id, x'00' FROM scene s JOIN post p "
                    "ON p.post_id = s.story_id WHERE p.removed > 0");
    assert_found(&damage, false);
    assert_found(&damage, true);
    assert_sound_after(&damage);
}

/* What is mended is what the other way of counting says, and answers show it. */
static void mended_counts_are_the_right_ones(void **state)
{
    (void)state;
    populate();
    assert_run(sql, "UPDATE user_counter SET followers = 9, likes_received = 9;"
                    "UPDATE content_stats SET comments = 9, likes = 9");
    struct tidings_verify found = verify(false), done = verify(true);
    assert_true(found.differences >= 4);
    assert_int_equal(found.repaired, 0);
    assert_true(done.differences >= 4); /* looking has changed nothing */
    assert_true(done.repaired >= 4);
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = ANN, .u.user.user_id = ANN});
    assert_int_equal(answer.u.counters.followers, 1);
    assert_int_equal(answer.u.counters.likes_received, 2);
    assert_int_equal(asked(sql, "SELECT comments FROM content_stats ORDER BY likes DESC LIMIT 1"),
                     2);
}

/* Servers have copies of pairs, which go by the version of the user's row. */
static void answers_show_what_was_mended(void **state)
{
    uint64_t read;
    (void)state;
    follow(BOB, ANN);
    read = publish(ANN, "t", "");
    publish_many(ANN, 2);
    mark_one(BOB, read);
    assert_int_equal(badge(BOB), 2);
    assert_run(sql, "DELETE FROM read_map");
    assert_int_equal(badge(BOB), 2);
    verify(true);
    assert_int_equal(badge(BOB), 3);
    mark_one(BOB, read);
    assert_int_equal(badge(BOB), 2);
    assert_verifies();
}

static uint64_t unread_notifications(uint64_t user)
{
    must((struct tidings_op){.kind = TIDINGS_OP_NOTIFICATIONS, .user_id = user});
    return answer.u.notifications.unread;
}

/* On both servers: what BOB has not read of CID's posts, and of ANN's scenes. */
static void assert_unread(struct tidings *servers[2], uint64_t posts, uint64_t scenes)
{
    for (int i = 0; i < 2; i++) {
        engine = servers[i];
        assert_int_equal(badge(BOB), posts);
        assert_int_equal(unread_notifications(BOB), scenes);
    }
    engine = servers[0];
}

/* Heads in the memory of servers once only ever grew: a list that was mended was found there as it had been, until a restart. */
static void servers_that_run_take_deletions_that_were_mended(void **state)
{
    struct tidings *servers[2];
    uint64_t posts[4], scenes[4], tale = story(ANN, "tale");
    (void)state;
    follow(BOB, CID);
    subscribe(BOB, tale);
    for (int i = 0; i < 4; i++) {
        posts[i] = publish(CID, "t", "");
        scenes[i] = scene(ANN, tale, "s");
    }
    mark_one(BOB, posts[0]);
    must((struct tidings_op){.kind = TIDINGS_OP_NOTIFICATIONS_MARK,
                             .user_id = BOB,
                             .u.mark = {.post_ids = scenes, .n_post_ids = 1}});
    delete_post(CID, posts[1]);
    delete_scene(ANN, TIDINGS_ROLE_USER, scenes[1]);
    reopen_engine(); /* nothing is in memory */
    servers[0] = engine;
    open_engine();
    servers[1] = engine;
    assert_run(sql, "UPDATE post_deletion SET number = 0; UPDATE scene_deletion SET number = 0");
    assert_unread(servers, 3, 3); /* which is wrong, and now in the memory of both */
    verify(true);
    assert_unread(servers, 2, 2);
    delete_post(CID, posts[2]);
    engine = servers[1];
    delete_scene(ANN, TIDINGS_ROLE_USER, scenes[2]);
    assert_unread(servers, 1, 1);
    tidings_close(servers[1]);
    assert_verifies();
}

/* ---- What cannot ----------------------------------------------------------------------------- */

#define SAVED(table)    "DROP TABLE IF EXISTS saved; CREATE TABLE saved AS SELECT * FROM " table ";"
#define PUT_BACK(table) "DELETE FROM " table "; INSERT INTO " table " SELECT * FROM saved"

static const struct {
    struct damage damage;
    const char *undo;
} lost[] = {
    {{"posts that are lost", SAVED("post") "DELETE FROM post WHERE number = 2"}, PUT_BACK("post")},
    {{"scenes that are lost", SAVED("scene") "DELETE FROM scene WHERE number = 1"},
     PUT_BACK("scene")},
    {{"post: the order of", SAVED("post") "UPDATE post SET position = 1 WHERE number = 2"},
     PUT_BACK("post")},
    {{"post.position that was not given yet",
      SAVED("post") "UPDATE post SET position = position + 1000000 ORDER BY number DESC LIMIT 1"},
     PUT_BACK("post")},
    {{"scene.position that was not given yet",
      SAVED("scene") "UPDATE scene SET position = position + 1000000 WHERE number = 2"},
     PUT_BACK("scene")},
    {{"what cannot be decoded", SAVED("following") "UPDATE following SET pair = x'ff'"},
     PUT_BACK("following")},
    {{"what cannot be decoded", SAVED("read_map") "UPDATE read_map SET map = x'ff'"},
     PUT_BACK("read_map")},
    {{"posts read that were never published", SAVED("read_map") "UPDATE read_map SET chunk = 50"},
     PUT_BACK("read_map")},
    {{"a pair that is paused, or is not", "UPDATE user SET quiet = 1 WHERE user_id = 2"},
     "UPDATE user SET quiet = 0"},
    {{"a reader stopped at no place", SAVED("reading_position") "UPDATE reading_position SET "
                                                                "scene_id = 4242"},
     PUT_BACK("reading_position")},
    {{"a reaction to nothing", "INSERT INTO reaction VALUES (2, 4242, 1, 1, 5)"},
     "DELETE FROM reaction WHERE target_id = 4242"},
    {{"a comment that is not on what it says",
      SAVED("comment") "UPDATE comment SET parent_id = 4242 WHERE parent_id > 0"},
     PUT_BACK("comment")},
    {{"a comment that has lost its body", SAVED("comment_body") "DELETE FROM comment_body"},
     PUT_BACK("comment_body")},
    {{"a scene of no story", SAVED("scene") "UPDATE scene SET story_id = 4242 WHERE number = 2"},
     PUT_BACK("scene")},
    {{"messages that are lost", SAVED("scene_messages") "DELETE FROM scene_messages"},
     PUT_BACK("scene_messages")},
    {{"messages that cannot be decoded",
      SAVED("scene_messages") "UPDATE scene_messages SET messages = x'ffff'"},
     PUT_BACK("scene_messages")},
    {{"an event whose position was not given yet",
      "UPDATE outbox_event SET position = position + 1000000 ORDER BY position DESC LIMIT 1"},
     "UPDATE outbox_event SET position = position - 1000000 ORDER BY position DESC LIMIT 1"},
    {{"a webhook that cannot be decoded", SAVED("webhook") "UPDATE webhook SET record = x'ff'"},
     PUT_BACK("webhook")},
};

/* Mending leaves it where it is, and comes to an end. Put back, what was mended on account of it is mended again. */
static void what_is_lost_is_left_over(void **state)
{
    (void)state;
    populate();
    for (size_t i = 0; i < COUNT_OF(lost); i++) {
        assert_run(sql, lost[i].damage.plant);
        assert_found(&lost[i].damage, true);
        assert_found(&lost[i].damage, false);
        assert_run(sql, lost[i].undo);
        verify(true);
        assert_sound_after(&lost[i].damage);
    }
}

/* Who has it in memory already goes on with that; others are told at once, and not after having asked for it over and over. */
static void what_rests_on_a_lost_post_is_refused(void **state)
{
    struct tidings_op inbox = {.kind = TIDINGS_OP_INBOX, .user_id = BOB};
    (void)state;
    follow(BOB, ANN);
    follow(BOB, CID);
    publish_many(ANN, 3);
    uint64_t other = publish(CID, "t", "");
    assert_run(sql, SAVED("post") "DELETE FROM post WHERE author_id = 1 AND number = 1");
    reopen_engine();
    assert_int_equal(run(inbox), TIDINGS_CORRUPT);
    open_post(BOB, other);
    assert_run(sql, PUT_BACK("post"));
    must(inbox);
    assert_int_equal(answer.u.feed.n, 3 + 1);
}

/* ---- Beside servers -------------------------------------------------------------------------- */

/* A change that has written what is counted, and the count, and has not been committed. */
static const struct {
    const char *plant, *change, *count;
    uint64_t right, mended; /* the comment's likes and its heat; the author's likes */
} under_way[] = {
    {"UPDATE comment SET likes = 9",
     "INSERT INTO reaction SELECT 50, comment_id, 1, 2, 7 FROM comment WHERE likes = 9;"
     "UPDATE comment SET likes = likes + 1",
     "SELECT MIN(likes) FROM comment", 2, 2},
    {"UPDATE user_counter SET likes_received = 9 WHERE user_id = 1",
     "INSERT INTO reaction SELECT 50, post_id, 1, 1, 7 FROM content_stats;"
     "UPDATE content_stats SET likes = likes + 1;"
     "UPDATE user_counter SET likes_received = likes_received + 1 WHERE user_id = 1",
     "SELECT likes_received FROM user_counter WHERE user_id = 1", 2, 1},
};

static void *repair(void *arg)
{
    *(struct tidings_verify *)arg = verify(true);
    return NULL;
}

/* The server's view of its transactions is made anew when nobody has looked for 100 ms. */
static void await_lock(struct sql *beside)
{
    for (int i = 0; i < 200; i++) {
        usleep(150000);
        if (asked(beside, "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = "
                          "'LOCK WAIT'"))
            return;
    }
    fail_msg("nobody waits for a lock");
}

/* Counted before it is committed, it would be missing, and be found and mended in a second round. */
static void a_change_under_way_is_waited_for(void **state)
{
    struct sql_url url = server_url();
    struct sql *beside = connect_as(&url, "");
    struct tidings_verify done;
    pthread_t thread;
    (void)state;
    uint64_t post = publish(ANN, "t", ""), only = comment(BOB, post, 0, "only");
    react(CID, LIKE, COMMENT, only);
    react(CID, LIKE, POST, post);
    for (size_t i = 0; i < COUNT_OF(under_way); i++) {
        assert_run(sql, under_way[i].plant);
        assert_run(sql, "BEGIN");
        assert_run(sql, under_way[i].change);
        assert_int_equal(pthread_create(&thread, NULL, repair, &done), 0);
        await_lock(beside);
        assert_run(sql, "COMMIT");
        pthread_join(thread, NULL);
        assert_int_equal(asked(sql, under_way[i].count), under_way[i].right);
        assert_int_equal(done.repaired, under_way[i].mended);
    }
    sql_close(beside);
}

static atomic_bool stopping;
static uint64_t busy_post, busy_comment;

/* One who does and undoes all that counts; how often, or 0 if that was refused. */
static void *keep_busy(void *arg)
{
    uint64_t user = (uint64_t)(uintptr_t)arg;
    const struct tidings_op done[] = {
        {.kind = TIDINGS_OP_FOLLOW, .u.relation.user_id = ANN},
        {.kind = TIDINGS_OP_REACT, .u.react = {LIKE, POST, busy_post}},
        {.kind = TIDINGS_OP_REACT, .u.react = {DOWN, COMMENT, busy_comment}},
        {.kind = TIDINGS_OP_OPEN, .u.post.post_id = busy_post},
        {.kind = TIDINGS_OP_COMMENT,
         .u.comment = {busy_post, busy_comment, {.p = "reply", .n = 5}}},
        {.kind = TIDINGS_OP_MARK_UNREAD, .u.mark = {.post_ids = &busy_post, .n_post_ids = 1}},
        {.kind = TIDINGS_OP_UNREACT, .u.react = {LIKE, POST, busy_post}},
        {.kind = TIDINGS_OP_UNFOLLOW, .u.relation.user_id = ANN},
    };
    struct tidings_answer mine;
    tidings_answer_init(&mine);
    enum tidings_err err = TIDINGS_OK;
    uintptr_t i;
    for (i = 0; !err && !atomic_load(&stopping); i++) {
        struct tidings_op op = done[i % COUNT_OF(done)];
        op.user_id = user;
        op.role = TIDINGS_ROLE_SERVICE;
        err = tidings_run(engine, &op, &mine);
    }
    tidings_answer_release(&mine);
    return (void *)(err ? 0 : i);
}

/* Were it counted without the locks, what is under way would be missing from some counts, or in them twice. */
static void mending_beside_servers_is_exact(void **state)
{
    enum { USERS = 6, FIRST = 30, ROUNDS = 8 };
    pthread_t threads[USERS];
    (void)state;
    for (uint64_t i = 0; i < USERS; i++)
        follow(FIRST + i, ANN);
    busy_post = publish(ANN, "t", "");
    busy_comment = comment(BOB, busy_post, 0, "first");
    atomic_store(&stopping, false);
    for (uintptr_t i = 0; i < USERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, keep_busy, (void *)(FIRST + i)), 0);
    for (int i = 0; i < ROUNDS; i++) {
        assert_run(sql, "UPDATE user_counter SET followers = followers + 50, likes_received = "
                        "likes_received + 50;"
                        "UPDATE content_stats SET likes = likes + 7, comments = comments + 7;"
                        "UPDATE comment SET downs = downs + 3, replies = replies + 9;"
                        "UPDATE user SET following = following + 2, liked_posts = liked_posts + 2;"
                        "DELETE FROM history WHERE user_id = 31");
        verify(true);
        if (verify(false).differences)
            fail_msg("left over:\n%s", report);
    }
    atomic_store(&stopping, true);
    for (int i = 0; i < USERS; i++) {
        void *times;
        pthread_join(threads[i], &times);
        assert_true((uintptr_t)times > ROUNDS);
    }
    if (verify(false).differences)
        fail_msg("left over:\n%s", report);
}

static void it_tells_how_far_it_is(void **state)
{
    struct told told;
    struct tidings_verify verify = {.progress = progress_to(&told)};
    (void)state;
    populate();
    assert_int_equal(tidings_verify(engine, &verify), TIDINGS_OK);
    assert_true(told.times > 1);
    assert_false(told.fell);
    assert_true(told.total > 0);
    assert_int_equal(told.done, told.total);
    assert_true(verify.checked > 50);
}

static void files_are_not_its_business(void **state)
{
    struct tidings_verify verify = {.deep = true};
    (void)state;
    assert_int_equal(tidings_verify(engine, &verify), TIDINGS_UNSUPPORTED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(what_follows_from_other_rows_is_mended),
        TEST(messages_of_a_deleted_story_are_swept_in_the_end),
        TEST(mended_counts_are_the_right_ones),
        TEST(answers_show_what_was_mended),
        TEST(servers_that_run_take_deletions_that_were_mended),
        TEST(what_is_lost_is_left_over),
        TEST(what_rests_on_a_lost_post_is_refused),
        TEST(a_change_under_way_is_waited_for),
        TEST(mending_beside_servers_is_exact),
        TEST(it_tells_how_far_it_is),
        TEST(files_are_not_its_business),
    };
    return RUN_TESTS(tests);
}
