/* SPDX-License-Identifier: MIT */
/* Who may have an answer made, and who waits. */
#include "api/room.h"

#include "api/exchange.h"
#include "unit/test.h"

enum { MOST = 1 << 20, LARGE = MOST / 4, WAITING_MAX = 3, MANY = 1000 };

static struct exchange of(const char *path, size_t n, enum http_verb verb)
{
    struct exchange ex = {0};
    const char *bad_id;
    ex.route = route_find((struct http_text){path, n}, verb, ex.ids, &bad_id, ex.allow);
    assert_non_null(ex.route);
    return ex;
}

#define OF(path, verb) of(path, sizeof(path) - 1, verb)

/* Whose pages have had so many bytes. */
static struct room begin(size_t bytes)
{
    struct room room;
    struct exchange page = OF("/v1/inbox", HTTP_VERB_GET);
    assert_true(room_init(&room, MOST, WAITING_MAX));
    room_learn(&room, &page, bytes);
    return room;
}

static void large_ones_wait_in_the_order_of_coming(void **state)
{
    (void)state;
    struct room room = begin(LARGE);
    struct exchange page = OF("/v1/inbox", HTTP_VERB_GET), in[4], out[WAITING_MAX], more = page;
    for (size_t i = 0; i < 4; i++) {
        in[i] = page;
        assert_int_equal(room_enter(&room, &in[i]), ROOM_IN);
    }
    for (size_t i = 0; i < WAITING_MAX; i++) {
        out[i] = page;
        assert_int_equal(room_enter(&room, &out[i]), ROOM_WAITS);
    }
    assert_int_equal(room_enter(&room, &more), ROOM_FULL);
    assert_null(room_next(&room));
    for (size_t i = 0; i < WAITING_MAX; i++) {
        room_leave(&room, in[i].room);
        assert_ptr_equal(room_next(&room), &out[i]);
        assert_null(room_next(&room));
    }
    room_release(&room);
}

/* It would be waited for by all, for ever. */
static void one_is_let_in_however_large(void **state)
{
    (void)state;
    struct room room = begin((size_t)MOST * 2);
    struct exchange first = OF("/v1/inbox", HTTP_VERB_GET), second = first;
    assert_int_equal(room_enter(&room, &first), ROOM_IN);
    assert_int_equal(room_enter(&room, &second), ROOM_WAITS);
    room_leave(&room, first.room);
    assert_ptr_equal(room_next(&room), &second);
    room_release(&room);
}

static void small_ones_do_not_overtake(void **state)
{
    (void)state;
    struct room room = begin(MOST / 4 * 3);
    struct exchange first = OF("/v1/inbox", HTTP_VERB_GET), second = first;
    struct exchange badge = OF("/v1/inbox/badge", HTTP_VERB_GET);
    assert_int_equal(room_enter(&room, &first), ROOM_IN);
    assert_int_equal(room_enter(&room, &second), ROOM_WAITS);
    assert_int_equal(room_enter(&room, &badge), ROOM_WAITS);
    room_leave(&room, first.room);
    assert_ptr_equal(room_next(&room), &second);
    assert_ptr_equal(room_next(&room), &badge);
    room_release(&room);
}

static void changes_never_wait(void **state)
{
    (void)state;
    struct room room = begin(MOST);
    struct exchange page = OF("/v1/inbox", HTTP_VERB_GET);
    struct exchange change = OF("/v1/posts", HTTP_VERB_POST);
    assert_int_equal(room_enter(&room, &page), ROOM_IN);
    assert_int_equal(room_enter(&room, &change), ROOM_IN);
    assert_int_equal(change.room, 0);
    room_release(&room);
}

/* What a route's answers are found to have while some are under way is not what these give back. */
static void nothing_is_lost_when_answers_grow(void **state)
{
    (void)state;
    struct room room = begin(1);
    for (size_t i = 0; i < MANY; i++) {
        struct exchange page = OF("/v1/inbox", HTTP_VERB_GET);
        assert_int_equal(room_enter(&room, &page), ROOM_IN);
        room_learn(&room, &page, i * 100);
        room_leave(&room, page.room);
    }
    assert_int_equal(room.used, 0);
    room_release(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_ones_wait_in_the_order_of_coming),
        cmocka_unit_test(one_is_let_in_however_large),
        cmocka_unit_test(small_ones_do_not_overtake),
        cmocka_unit_test(changes_never_wait),
        cmocka_unit_test(nothing_is_lost_when_answers_grow),
    };
    return RUN_TESTS(tests);
}
