/* SPDX-License-Identifier: MIT */
/*
 * Rows as facts: what each kind of rows says, over the engine's rows. Whoever exports walks through its rows, in the order of
 * docs/FACTS.md, and tells each of them.
 */
#ifndef FACTS_TELL_H
#define FACTS_TELL_H

#include "engine/facts/apply.h"

struct teller {
    struct view *view;
    struct fact_sink *sink; /* NULL: all that is told of is looked at, and not told */
    uint64_t user;          /* only this one's; 0: all */
    bool enough;            /* the sink takes no more */
};

static inline bool teller_goes_on(const struct teller *teller)
{
    return !teller->enough && !view_failed(teller->view);
}

void tell_begin(struct teller *teller, uint64_t newest);
void tell_profile(struct teller *teller, uint64_t user, const struct profile_record *profile);
void tell_post(struct teller *teller, uint64_t id, const struct post_record *post);
/* The ids that its messages ever had, which are sorted. */
void tell_scene(struct teller *teller, uint64_t id, const struct scene_record *scene,
                uint64_t *given, size_t n_given);
void tell_comment(struct teller *teller, uint64_t id, const struct comment_record *comment);
void tell_shelf(struct teller *teller, uint64_t user, const struct shelf_record *shelf);
void tell_pair(struct teller *teller, const struct tie *tie);
void tell_map(struct teller *teller, enum realm realm, uint64_t user, uint64_t author,
              uint32_t chunk, const struct readmap *map);
/* What was cleared is nobody's, and not told. */
void tell_history(struct teller *teller, uint64_t user, struct history_entry entry,
                  uint64_t cleared);
void tell_reaction(struct teller *teller, uint64_t user, uint64_t target, enum tidings_target kind,
                   enum tidings_reaction reaction, uint64_t stamp);
void tell_position(struct teller *teller, uint64_t user, uint64_t story,
                   const struct position_record *position);
/* All of them; nobody's are a user's. */
void tell_webhooks(struct teller *teller);

#endif
