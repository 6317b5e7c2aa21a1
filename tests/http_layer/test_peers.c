/* SPDX-License-Identifier: MIT */
/* How many connections an address may have, while addresses come and go. */
#include "http/peers.h"

#include <string.h>

#include "unit/test.h"

enum { ROOM = 4, LIMIT = 2, MANY = 1000 };

/* An IPv4 address, in the form that the transport gives. */
static struct http_peer v4(unsigned number)
{
    struct http_peer peer = {.address = {[10] = 0xff, [11] = 0xff, [12] = 10}};
    peer.address[14] = (uint8_t)(number >> 8);
    peer.address[15] = (uint8_t)number;
    return peer;
}

static void an_address_has_so_many(void **state)
{
    (void)state;
    struct peers *peers = peers_new(ROOM, LIMIT, 1);
    struct http_peer one = v4(1), other = v4(2);
    uint32_t slot = PEERS_NONE, last = PEERS_NONE;
    assert_true(peers_enter(peers, &one, &slot) && peers_enter(peers, &one, &last));
    assert_false(peers_enter(peers, &one, &slot));
    assert_true(peers_enter(peers, &other, &slot));
    peers_leave(peers, last);
    assert_true(peers_enter(peers, &one, &slot));
    peers_free(peers);
}

/* There is room for as many as there are connections: who has gone must have made room. */
static void addresses_come_and_go_for_ever(void **state)
{
    (void)state;
    struct peers *peers = peers_new(ROOM, LIMIT, 1);
    uint32_t slots[ROOM];
    for (unsigned i = 0; i < MANY; i++) {
        struct http_peer peer = v4(i);
        if (i >= ROOM)
            peers_leave(peers, slots[i % ROOM]);
        assert_true(peers_enter(peers, &peer, &slots[i % ROOM]));
    }
    peers_free(peers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_has_so_many),
        cmocka_unit_test(addresses_come_and_go_for_ever),
    };
    return RUN_TESTS(tests);
}
