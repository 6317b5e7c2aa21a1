/* SPDX-License-Identifier: MIT */
/*
 * A share of the users, the same whenever and by whomever it is asked: a user is in it if a hash of the id, modulo a million, is less than
 * the share in millionths. So whoever is in a share is in every larger one.
 *
 * The hash is the last step of SplitMix64, on id + 0x9E3779B97F4A7C15: docs/MIGRATING.md has it in words.
 */
#ifndef LEGACY_SHARE_H
#define LEGACY_SHARE_H

#include <stdbool.h>
#include <stdint.h>

enum { SHARE_ALL = 1000000 };

/* "5%", "0.25%", "100%": with four digits behind the point at most, above 0. In millionths, a uint64_t. */
bool share_parse(const char *text, void *millionths);

bool share_has(uint32_t millionths, uint64_t user);

#endif
