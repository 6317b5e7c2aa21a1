/* SPDX-License-Identifier: MIT */
/*
 * What facts change, over the rows of any engine. Facts come in the order of their types (fact.h), and those of a type in the order
 * of docs/FACTS.md; whatever comes, no row is left that contradicts others: such a fact is refused.
 *
 * Neighbours are often about the same pair, read map or user. What they share is kept open and written when the next fact is about
 * something else, or at the end.
 */
#ifndef FACTS_APPLY_H
#define FACTS_APPLY_H

#include "engine/engine.h"
#include "engine/facts/fact.h"
#include "engine/inbox/tie.h"

enum fact_outcome { FACT_TAKEN, FACT_REPEATED, FACT_REFUSED };

enum { APPLY_HISTORY = 256 };

struct applier {
    struct view *view;
    uint64_t limit;          /* no id may be greater */
    uint64_t newest;         /* of all ids so far */
    struct fact_place place; /* of the last one that has a place */

    bool tie_open, tie_read; /* and whether anything in it is newly read */
    struct tie tie;
    bool map_open;
    uint32_t map_number; /* a post in it */
    uint64_t map_before;
    struct readmap map;

    uint64_t user; /* whose record and shelf these are; 0: none are open */
    struct user_record record;
    struct shelf_record shelf;
    bool shelf_changed;

    uint64_t reader; /* whose history is added to; 0: nobody's */
    struct history_entry last, entries[APPLY_HISTORY];
    size_t n_entries;
};

/*
 * Facts are taken in the steps of this order: posts, scenes and comments by their ids, then all that is about them. Who takes a step's
 * facts has all of the steps before, also in what an engine can load: so those of the first two are not in one piece with others.
 */
enum fact_step { STEP_OTHERS, STEP_POSTS, STEP_SCENES, STEP_COMMENTS, STEP_ABOUT };
enum fact_step fact_step(enum fact_type type);

void applier_begin(struct applier *applier, struct view *view, uint64_t newest, uint64_t limit,
                   struct fact_place place);

/* Storage errors are the view's. */
enum fact_outcome applier_take(struct applier *applier, const struct fact *fact,
                               struct refusal *refusal);

/* Writes what is open. */
void applier_end(struct applier *applier);

/* A fact by itself: whether its fields can be right at all. The widest settings are the measure: an export may come from
 * a server with others than this one's. */
bool fact_is_sound(const struct fact *fact, struct refusal *refusal);

/* ---- For tell.c ----------------------------------------------------------------------------- */

/* The excerpt that the body gives by the default of the setting, which an export leaves out; in the scratch arena. */
struct bytes fact_excerpt(struct view *view, struct bytes body);

/* message_ids: those of the ids that no message has, ascending. The array becomes the fact's. */
void fact_set_given(struct fact *fact, uint64_t *ids, size_t n);

void fact_set_position(struct fact *fact, const struct position_record *position);

#endif
