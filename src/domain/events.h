/* SPDX-License-Identifier: MIT */
/* Which events are kept, to be read later; all others are told to those who watch, and forgotten. */
#ifndef DOMAIN_EVENTS_H
#define DOMAIN_EVENTS_H

#include "tidings.h"

/* Types that are kept are numbered from 1 on. */
#define X(type, name, action, target) +1
enum { EVENT_TYPES = 0 TIDINGS_EVENTS(X) };
#undef X

/* Every type that may be kept has its bit. */
extern const uint64_t event_bits_all;

/* Of an event that was stored: there are such a type and such a reaction, and it is one that is kept. */
bool event_is_sound(const struct tidings_event *event);

bool event_is_kept(enum tidings_event_type type, const struct tidings_settings *settings);

#endif
