/* SPDX-License-Identifier: MIT */
/*
 * Settings that are stored: those that orders and states were made with (weights, the fold rule, the half-life), and limits
 * that must be the same on every server.
 */
#ifndef OPS_RULES_H
#define OPS_RULES_H

#include "engine/records/records.h"

/* Those that are wanted, in the order of struct rules_record. */
void rules_of(const struct tidings_settings *settings, uint64_t value[RULES]);

/* Those that are stored, in place of what the settings say, if they could be settings. */
void rules_adopt(const struct rules_record *stored, struct tidings_settings *settings);

/* Every limit as a varint, so many bytes at most. */
enum { LIMITS_BYTES_MAX = 64 * VARINT_MAX };

/* The limits of the settings as bytes. */
size_t limits_encode(const struct tidings_settings *settings, uint8_t to[LIMITS_BYTES_MAX]);

/* Those that are stored, in place of what the settings say; false, with the settings as they were, if they could not be
 * settings. */
bool limits_adopt(struct bytes stored, struct tidings_settings *settings);

#endif
