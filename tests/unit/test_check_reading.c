/* SPDX-License-Identifier: MIT */
/* The arguments of reading positions. */
#include "unit/check.h"

static void a_position_has_a_story_and_a_time(void **state)
{
    (void)state;
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_READING_SET, TIDINGS_OP_READING_DELETE,
                                          TIDINGS_OP_READING_CLEAR};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct tidings_op op = {.kind = kinds[i], .user_id = 7};
        if (kinds[i] == TIDINGS_OP_READING_CLEAR)
            assert_field(&op, NULL);
        else
            assert_id(&op, &op.u.reading.story_id, "story_id");
        op.u.reading.modified_at = INT64_MAX; /* cut to the server's clock */
        assert_field(&op, NULL);
        op.u.reading.modified_at = -1;
        assert_field(&op, "modified_at");
        op.u.reading.modified_at = INT64_MIN;
        assert_field(&op, "modified_at");
    }
}

static void a_message_is_read_in_its_scene(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_READING_SET, .user_id = 7};
    op.u.reading.story_id = 16;
    assert_field(&op, NULL); /* entered */
    op.u.reading.message_id = 48;
    assert_field(&op, "message_id");
    op.u.reading.scene_id = 32;
    assert_field(&op, NULL);
    op.u.reading.message_id = TIDINGS_ID_MAX + 1;
    assert_field(&op, "message_id");
    op.u.reading.message_id = 0;
    assert_field(&op, NULL);
    op.u.reading.scene_id = TIDINGS_ID_MAX;
    assert_field(&op, NULL);
    op.u.reading.scene_id = TIDINGS_ID_MAX + 1;
    assert_field(&op, "scene_id");
    op.kind = TIDINGS_OP_READING_DELETE; /* which has no use for it */
    assert_field(&op, NULL);
}

static void only_a_delta_has_a_version(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_READING, .user_id = 7};
    assert_page(&op, &op.u.readings.page);
    op.u.readings.since = 1;
    assert_field(&op, "since");
    op.u.readings.delta = true;
    assert_field(&op, NULL);
    assert_page(&op, &op.u.readings.page);
    op.u.readings.since = TIDINGS_ID_MAX;
    assert_field(&op, NULL);
    op.u.readings.since = TIDINGS_ID_MAX + 1;
    assert_field(&op, "since");
    op.u.readings.since = 0;
    assert_field(&op, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_position_has_a_story_and_a_time, check_begin_small),
        cmocka_unit_test_setup(a_message_is_read_in_its_scene, check_begin_small),
        cmocka_unit_test_setup(only_a_delta_has_a_version, check_begin_small),
    };
    return RUN_TESTS(tests);
}
