/* SPDX-License-Identifier: MIT */
/* What tests of the data directory share: how it is left by those who end badly, and enough in it for base images. */
#ifndef TESTS_LOCAL_STORE_SUPPORT_H
#define TESTS_LOCAL_STORE_SUPPORT_H

#include <sys/types.h>

#include "contract/harness.h"

enum { ANN = 1, BOB = 2, LARGE = 60000, EDITS = 50 };

/* Of a file in the data directory. */
void data_path(char path[512], const char *name);

/* Leaves the directory as a process that was killed would; with another boot, as a machine that went down. */
void crash(bool machine);

/* Flips a bit of a file in the data directory. */
void spoil(const char *name, off_t at);

/* Where the text is in a file in the data directory, in all at most `most` places; answers how many. */
size_t find_text(const char *name, const char *text, off_t *at, size_t most);

/* What is in a directory in the data directory, by name. */
struct names {
    size_t n;
    char at[64][64];
};
void list(const char *name, struct names *names);

void publish_large(unsigned n);

/* Much log, and not much data. */
void edit_large(uint64_t post, unsigned variant);

/* Until the keeper has made so many base images. */
void await_bases(uint64_t n);

/* Until it has removed the beginning of the log, which nobody needs when all is old: the clock stands still long ago. */
void await_first_segment_gone(void);

/* Makes so many, one a post, with small segments. */
void make_bases(unsigned n);

#endif
