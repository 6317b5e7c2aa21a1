/* SPDX-License-Identifier: MIT */
/* Values of other systems as ours: numbers, times and texts that may be anything. None of these trusts its input. */
#ifndef LEGACY_VALUES_H
#define LEGACY_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"

/* A decimal number, with a minus or without, and nothing else. */
bool value_number(struct bytes text, int64_t *number);

/* The same, from 1 to `most`. */
bool value_id(struct bytes text, uint64_t most, uint64_t *id);

/* Seconds or milliseconds since 1970, whichever it must be, as milliseconds: a number below 10^11 is seconds. False: it is neither. */
bool value_moment(double number, uint64_t *at_ms);

/* The same of a number in digits, as Redis writes scores: with a fraction or an exponent, too. */
bool value_score(struct bytes text, uint64_t *at_ms);

/* "2024-05-29 10:00:00", with a fraction or without, of a zone that is so far ahead of UTC. */
bool value_date(struct bytes text, int64_t ahead_ms, uint64_t *at_ms);

/* "+08:00": how far a zone is ahead of UTC. */
bool value_zone(const char *text, int64_t *ahead_ms);

/* Five counts of 32 bits, big-endian, and nothing else. */
enum { UCNT_FIELDS = 5, UCNT_BYTES = 4 * UCNT_FIELDS };
bool value_ucnt(struct bytes packed, uint32_t counts[UCNT_FIELDS]);

/*
 * Appends a text as UTF-8, what is none as U+FFFD, as far as so many characters and bytes go. True: something was left out.
 */
bool value_text(struct bytes text, size_t characters, size_t bytes, struct buf *to);

#endif
