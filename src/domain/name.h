/* SPDX-License-Identifier: MIT */
/*
 * Names as they are compared when somebody is looked for: without case, as far as a key of the storage goes. The result is
 * stored, so that the same name must always give the same bytes: no locale has a say in it.
 */
#ifndef DOMAIN_NAME_H
#define DOMAIN_NAME_H

#include "base/bytes.h"

/* What is searched for: so many characters at most. And so many bytes are compared: behind them all names are the same. */
enum { NAME_PREFIX_MAX = 64, NAME_FOLDED_MAX = 240 };

/*
 * Writes the name in small letters, as many whole characters as fit, and answers how many bytes that are: never more than the
 * name has. Letters of Latin, Greek and Cyrillic have a small form here; all else stays as it is. Twice is the same as once.
 */
size_t name_fold(struct bytes name, uint8_t folded[NAME_FOLDED_MAX]);

#endif
