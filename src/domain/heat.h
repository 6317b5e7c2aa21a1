/* SPDX-License-Identifier: MIT */
/*
 * Heat: how posts and comments rank, and when votes fold a comment. Every number is a setting.
 *
 * Lists are ordered by a key in which time does not move: with a half-life H, the order of
 * score * 2^(-age / H) is at every moment the order of log2(score) + created / H. So nothing has to
 * be swept as time goes by. The arithmetic is in integers: the same numbers give the same key on
 * every machine, for ever. See docs/decisions/0012-heat.md.
 */
#ifndef DOMAIN_HEAT_H
#define DOMAIN_HEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "tidings.h"

/* No count goes beyond this: then no sum below overflows, whatever the settings. */
#define HEAT_COUNT_MAX (UINT64_C(1) << 40)

/* hot_score of a post and of a comment, from the other counts. */
int64_t heat_post_score(const struct tidings_settings *settings,
                        const struct tidings_counts *counts);
int64_t heat_comment_score(const struct tidings_settings *settings,
                           const struct tidings_counts *counts);

/* Whether votes alone hide a comment. */
bool heat_folds(const struct tidings_settings *settings, uint64_t likes, uint64_t downs);

/*
 * What lists are ordered by, greatest first: 1 ... TIDINGS_ID_MAX, so that a key fits a cursor and
 * is not its end. Among posts a score of 0 is behind all others, whatever their age.
 */
uint64_t heat_post_key(const struct tidings_settings *settings, int64_t score, int64_t created_ms);
uint64_t heat_comment_key(int64_t score);

/* The score of a post as its age has left it. */
double heat_decayed(const struct tidings_settings *settings, int64_t score, int64_t age_ms);

#endif
