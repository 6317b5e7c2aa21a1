/* SPDX-License-Identifier: MIT */
#include "api/activity.h"

#include "api/messages.h"
#include "base/search.h"

struct marking {
    struct activity_users users;
    uint64_t bit;
};

static void mark(void *ctx, uint64_t user)
{
    const struct marking *marking = ctx;
    size_t i = ids_below(marking->users.ids, marking->users.n, user);
    if (i < marking->users.n && marking->users.ids[i] == user)
        marking->users.messages[i] |= marking->bit;
}

bool activity_is_repeat(const struct tidings_event *events, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (events[k].type == events[i].type && events[k].target_id == events[i].target_id)
            return true;
    return false;
}

void activity_mark(struct watched *watched, const struct tidings_event *events, size_t i,
                   struct activity_users users)
{
    if (activity_is_repeat(events, i))
        return;
    watched_each(watched, activity_post(&events[i]), mark,
                 &(struct marking){users, UINT64_C(1) << i});
}

void activity_mark_missed(struct watched *watched, struct activity_users users)
{
    watched_each(watched, 0, mark, &(struct marking){users, 1});
}

void activity_make(struct parcel *parcel, const struct tidings_event *events, size_t i,
                   const struct tidings_counts *counts)
{
    size_t from = parcel->text.len;
    message_activity(&parcel->text, &events[i], activity_post(&events[i]), counts);
    parcel->messages[i] = parcel_slice(parcel, from);
    parcel->about[i] = activity_post(&events[i]);
}

void activity_make_change(struct parcel *parcel, const struct tidings_event *events, size_t i)
{
    size_t from = parcel->text.len;
    message_changed(&parcel->text, &events[i]);
    parcel->changes[i] = parcel_slice(parcel, from);
}

void activity_make_missed(struct parcel *parcel)
{
    size_t from = parcel->text.len;
    message_missed(&parcel->text);
    parcel->messages[0] = parcel_slice(parcel, from);
    parcel->about[0] = ANY_POST;
    from = parcel->text.len;
    message_changed(&parcel->text, NULL);
    parcel->changes[0] = parcel_slice(parcel, from);
}
