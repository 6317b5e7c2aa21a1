/* SPDX-License-Identifier: MIT */
/* Between apply.c, which keeps open what neighbours share, and those who take facts of a type. */
#ifndef FACTS_TAKING_H
#define FACTS_TAKING_H

#include "engine/facts/apply.h"

#define FACT_UNKNOWN      "there is no such thing, or it was refused"
#define FACT_OUT_OF_ORDER "it is not in order: an export is taken as it was written"

static inline enum fact_outcome fact_refuse(struct refusal *refusal, const char *field,
                                            const char *reason)
{
    *refusal = (struct refusal){field, reason};
    return FACT_REFUSED;
}

/* ---- apply.c: what is open ------------------------------------------------------------------ */

struct tie *applier_tie(struct applier *a, enum realm realm, uint64_t fan, uint64_t author);
void applier_close_tie(struct applier *a);
/* Of the open tie, the one that has the post of that number. */
struct readmap *applier_map(struct applier *a, uint32_t number);
struct user_record *applier_user(struct applier *a, uint64_t user);
void applier_count(struct applier *a, uint64_t user, enum counter counter, int64_t delta);
void applier_history(struct applier *a, uint64_t reader);
void applier_write_history(struct applier *a);
/* An id that was brought. */
void applier_note(struct applier *a, uint64_t id);
/* The post of an id or a key; 0 if there is none. */
uint64_t applier_post(struct applier *a, uint64_t id, struct bytes key);

/* ---- take_things.c, take_pairs.c: one a type ------------------------------------------------ */

enum fact_outcome fact_take_user(struct applier *a, const struct fact *fact);
enum fact_outcome fact_take_post(struct applier *a, const struct fact *fact,
                                 struct refusal *refusal);
enum fact_outcome fact_take_scene(struct applier *a, const struct fact *fact,
                                  struct refusal *refusal);
enum fact_outcome fact_take_comment(struct applier *a, const struct fact *fact,
                                    struct refusal *refusal);
enum fact_outcome fact_take_preferences(struct applier *a, const struct fact *fact,
                                        struct refusal *refusal);
enum fact_outcome fact_take_follow(struct applier *a, const struct fact *fact,
                                   struct refusal *refusal);
enum fact_outcome fact_take_unfollow(struct applier *a, const struct fact *fact);
enum fact_outcome fact_take_read(struct applier *a, const struct fact *fact,
                                 struct refusal *refusal);
enum fact_outcome fact_take_history(struct applier *a, const struct fact *fact,
                                    struct refusal *refusal);
enum fact_outcome fact_take_reaction(struct applier *a, const struct fact *fact,
                                     struct refusal *refusal);
enum fact_outcome fact_take_subscription(struct applier *a, const struct fact *fact,
                                         struct refusal *refusal);
enum fact_outcome fact_take_notified(struct applier *a, const struct fact *fact,
                                     struct refusal *refusal);
enum fact_outcome fact_take_position(struct applier *a, const struct fact *fact,
                                     struct refusal *refusal);
enum fact_outcome fact_take_webhook(struct applier *a, const struct fact *fact,
                                    struct refusal *refusal);

#endif
