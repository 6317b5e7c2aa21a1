/* SPDX-License-Identifier: MIT */
/* A consumer that reads the events as they are written, always from where it stands. An event that
 * came to light only after a later one would be lost to it. */
#include "world.h"

#include <inttypes.h>

/* Reads on; true if there was something. */
static bool read_on(struct seat *seat)
{
    struct tidings_op op = op_of(TIDINGS_OP_EVENTS, 1);

    op.role = TIDINGS_ROLE_SERVICE;
    op.u.page.limit = (uint32_t)rng_between(&seat->rng, 1, 100);
    op.u.page.after = seat->event;
    if (!ask(seat, &op))
        return false;
    for (size_t i = 0; i < seat->answer.u.events.n; i++) {
        uint64_t id = seat->answer.u.events.rows[i].event_id;

        seat->events++;
        seat->events_mixed = seat->events_mixed * UINT64_C(0x9e3779b97f4a7c15) + id;
    }
    seat->event = seat->answer.u.events.next;
    return seat->answer.u.events.n > 0;
}

void *tail(void *arg)
{
    struct seat *seat = arg;

    while (world_goes_on(seat->world))
        read_on(seat);
    return NULL;
}

bool tail_missed_nothing(struct seat *seat)
{
    struct seat again;

    while (read_on(seat))
        ;
    seat_init(&again, seat->world, 0, 0);
    while (read_on(&again))
        ;
    if (seat->events != again.events || seat->events_mixed != again.events_mixed)
        world_fail(seat->world, "the tail saw %" PRIu64 " events, there are %" PRIu64, seat->events,
                   again.events);
    seat_release(&again);
    return !atomic_load(&seat->world->failed);
}
