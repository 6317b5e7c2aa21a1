/* SPDX-License-Identifier: MIT */
/* The settings that stored orders and states were made with: weights, the fold rule, the half-life. */
#ifndef OPS_RULES_H
#define OPS_RULES_H

#include "engine/records/records.h"

/* Those that are wanted, in the order of struct rules_record. */
void rules_of(const struct tidings_settings *settings, uint64_t value[RULES]);

/* Those that are stored, in place of what the settings say, if they could be settings. */
void rules_adopt(const struct rules_record *stored, struct tidings_settings *settings);

#endif
