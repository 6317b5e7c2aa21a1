/* SPDX-License-Identifier: MIT */
/* Scenes: who writes them, what an edit keeps, and how they are listed. */
#include "contract/stories.h"

static enum tidings_err look(uint64_t id)
{
    return run(
        (struct tidings_op){.kind = TIDINGS_OP_SCENE, .user_id = DAN, .u.scene_id.scene_id = id});
}

static void list_scenes(uint64_t story_id, struct ids *ids)
{
    struct tidings_op op = {
        .kind = TIDINGS_OP_SCENES, .user_id = DAN, .u.scenes = {story_id, {PAGE, {0, 0}}}};
    ids->n = 0;
    do {
        must(op);
        for (size_t i = 0; i < answer.u.scenes.n; i++)
            add(ids, answer.u.scenes.rows[i].id);
        op.u.scenes.page.after = answer.u.scenes.next;
    } while (answer.u.scenes.next.a);
}

static void a_scene_comes_back_as_it_was_written(void **state)
{
    (void)state;
    uint64_t s = story(ANN, "Tale");
    const struct tidings_message messages[] = {{0, text_of("first")},
                                               {0, text_of("[img]http://a[/img]")}};
    must(scene_op(ANN, s, "One", messages, 2));
    uint64_t id = answer.u.scene.id;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(answer.u.scene.story_id, s);
        assert_int_equal(answer.u.scene.author_id, ANN);
        assert_int_equal(answer.u.scene.number, 1);
        assert_string_equal(answer.u.scene.title.p, "One");
        assert_int_equal(answer.u.scene.n_messages, 2);
        assert_string_equal(answer.u.scene.messages[0].text.p, "first");
        assert_string_equal(answer.u.scene.messages[1].text.p, "[img]http://a[/img]");
        assert_true(id < answer.u.scene.messages[0].id);
        assert_true(answer.u.scene.messages[0].id < answer.u.scene.messages[1].id);
        assert_int_equal(answer.u.scene.created_at, START_MS);
        assert_int_equal(answer.u.scene.edited_at, 0);
        reopen_engine();
        assert_int_equal(look(id), TIDINGS_OK);
    }
    must(scene_op(ANN, s, "Empty", NULL, 0));
    assert_int_equal(answer.u.scene.n_messages, 0);
    assert_int_equal(answer.u.scene.number, 2);
    assert_verifies();
}

static void scenes_are_for_the_storys_author(void **state)
{
    (void)state;
    uint64_t s = story(ANN, "Tale"), note = publish(ANN, "note", "");
    assert_int_equal(run(scene_op(ANN, 12345, "x", NULL, 0)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(scene_op(ANN, note, "x", NULL, 0)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(scene_op(BOB, s, "x", NULL, 0)), TIDINGS_FORBIDDEN);
    uint64_t a = scene(ANN, s, "a");
    assert_int_equal(run(edit_op(BOB, a, "mine", NULL, 0)), TIDINGS_FORBIDDEN);
    assert_int_equal(delete_scene(BOB, TIDINGS_ROLE_USER, a), TIDINGS_FORBIDDEN);
    assert_int_equal(delete_scene(BOB, TIDINGS_ROLE_ADMIN, a), TIDINGS_OK);
    assert_int_equal(delete_scene(ANN, TIDINGS_ROLE_USER, a), TIDINGS_DELETED);
    assert_string_equal(answer.title.p, "a");
    assert_int_equal(look(a), TIDINGS_DELETED);
    assert_string_equal(answer.title.p, "a");
    assert_int_equal(run(edit_op(ANN, a, "b", NULL, 0)), TIDINGS_DELETED);
    assert_int_equal(look(s), TIDINGS_NOT_FOUND);
    delete_post(ANN, s);
    assert_int_equal(run(scene_op(ANN, s, "x", NULL, 0)), TIDINGS_DELETED);
    assert_string_equal(answer.title.p, "Tale");
    assert_verifies();
}

static void an_edit_keeps_the_ids_that_it_names(void **state)
{
    (void)state;
    uint64_t s = story(ANN, "Tale"), id = scene(ANN, s, "One");
    uint64_t one = answer.u.scene.messages[0].id, two = answer.u.scene.messages[1].id;
    must(
        (struct tidings_op){.kind = TIDINGS_OP_EVENTS, .role = TIDINGS_ROLE_ADMIN, .user_id = DAN});
    size_t events = answer.u.events.n;

    const struct tidings_message as_it_is[] = {{one, text_of("one")}, {two, text_of("two")}};
    must(edit_op(ANN, id, "One", as_it_is, 2));
    assert_int_equal(answer.u.scene.edited_at, 0); /* nothing changed */
    atomic_fetch_add(&clock_ms, 1000);
    const struct tidings_message turned[] = {
        {two, text_of("two")}, {0, text_of("new")}, {one, text_of("ONE")}};
    must(edit_op(ANN, id, NULL, turned, 3));
    assert_int_equal(answer.u.scene.n_messages, 3);
    assert_int_equal(answer.u.scene.messages[0].id, two);
    assert_true(answer.u.scene.messages[1].id > two);
    assert_int_equal(answer.u.scene.messages[2].id, one);
    assert_string_equal(answer.u.scene.messages[2].text.p, "ONE");
    assert_string_equal(answer.u.scene.title.p, "One");
    assert_int_equal(answer.u.scene.edited_at, START_MS + 1000);

    const struct tidings_message twice[] = {{one, text_of("x")}, {one, text_of("y")}};
    assert_int_equal(run(edit_op(ANN, id, NULL, twice, 2)), TIDINGS_NOT_FOUND);
    const struct tidings_message foreign[] = {{id, text_of("x")}};
    assert_int_equal(run(edit_op(ANN, id, NULL, foreign, 1)), TIDINGS_NOT_FOUND);
    must(edit_op(ANN, id, NULL, as_it_is, 0)); /* given, and empty */
    assert_int_equal(answer.u.scene.n_messages, 0);
    assert_int_equal(run(edit_op(ANN, id, NULL, as_it_is, 1)), TIDINGS_NOT_FOUND);

    must(
        (struct tidings_op){.kind = TIDINGS_OP_EVENTS, .role = TIDINGS_ROLE_ADMIN, .user_id = DAN});
    assert_int_equal(answer.u.events.n, events + 2);
    const struct tidings_event *event = &answer.u.events.rows[events];
    assert_int_equal(event->type, TIDINGS_EVENT_SCENE_EDITED);
    assert_int_equal(event->target_id, id);
    assert_int_equal(event->post_id, s);
    assert_int_equal(event->author_id, ANN);
    assert_int_equal(event[-1].type, TIDINGS_EVENT_SCENE_PUBLISHED);
    assert_int_equal(event[-1].target_id, id);
    assert_int_equal(event[-1].delta, 1);
    assert_verifies();
}

static void scenes_are_listed_in_order_without_the_deleted(void **state)
{
    (void)state;
    static struct ids found;
    uint64_t s = story(ANN, "Tale"), ids[200], left[200];
    size_t n = 0;
    for (int i = 0; i < 200; i++)
        ids[i] = scene(ANN, s, "s");
    for (int i = 0; i < 200; i++) {
        if (i % 5 && i / 64 != 1)
            left[n++] = ids[i];
        else
            assert_int_equal(delete_scene(ANN, TIDINGS_ROLE_USER, ids[i]), TIDINGS_OK);
    }
    list_scenes(s, &found);
    assert_ids(&found, left, n);
    reopen_engine();
    list_scenes(s, &found);
    assert_ids(&found, left, n);
    assert_int_equal(look(ids[199]), TIDINGS_OK);
    assert_int_equal(answer.u.scene.number, 200);
    assert_verifies();

    delete_post(ANN, s);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run((struct tidings_op){
                             .kind = TIDINGS_OP_SCENES, .user_id = BOB, .u.scenes.story_id = s}),
                         TIDINGS_DELETED);
        assert_string_equal(answer.title.p, "Tale");
        assert_int_equal(look(ids[199]), TIDINGS_DELETED);
        assert_verifies();
        reopen_engine();
    }
}

static void a_story_has_so_many_scenes_at_most(void **state)
{
    (void)state;
    options.settings.scenes_max = 2;
    reopen_engine();
    uint64_t s = story(ANN, "Tale"), other = story(ANN, "Other");
    scene(ANN, s, "1");
    scene(ANN, s, "2");
    assert_int_equal(run(scene_op(ANN, s, "3", NULL, 0)), TIDINGS_STORY_LIMIT);
    scene(ANN, other, "1");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(a_scene_comes_back_as_it_was_written),
        TEST(scenes_are_for_the_storys_author),
        TEST(an_edit_keeps_the_ids_that_it_names),
        TEST(scenes_are_listed_in_order_without_the_deleted),
        TEST(a_story_has_so_many_scenes_at_most),
    };
#undef TEST
    return RUN_TESTS(tests);
}
