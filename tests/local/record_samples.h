/* SPDX-License-Identifier: MIT */
/* A sample of every kind of record, and of each kind those at the edges. */
#ifndef TESTS_LOCAL_RECORD_SAMPLES_H
#define TESTS_LOCAL_RECORD_SAMPLES_H

#include "engine/records/records.h"
#include "local/record_checks.h"
#include "unit/test.h"

extern struct arena arena; /* what the samples lie in */

/* Around every test. */
int samples_begin(void **state);
int samples_end(void **state);

struct sample {
    enum record_kind kind;
    struct bytes value;
    bool has_free_tail; /* ends in bytes of any length: what is cut off there is not missed */
};

enum { SAMPLES_MAX = 80 };

/* All of them; how many. */
size_t make_samples(struct sample *to);

struct bytes sample_user(uint64_t value);
struct bytes sample_profile(const char *name, const char *avatar);
struct bytes sample_pair(uint32_t n_spans, bool following, bool reads, size_t n_skips);
struct bytes sample_post(bool deleted, const char *title, const char *excerpt);
struct bytes sample_once(const char *answer);
struct bytes sample_event(uint64_t id, int64_t delta);
struct bytes sample_vote_event(void);
struct bytes sample_reaction(enum tidings_target target, uint64_t like, uint64_t fav,
                             uint64_t down);
struct bytes sample_counts(uint64_t count);
struct bytes sample_comment(enum tidings_comment_status status, uint64_t parent, uint64_t count);
struct bytes sample_messages(size_t n);
/* Entries that the oldest is followed by, so much later each; 0: of one operation, and the posts as much apart. */
struct bytes sample_history(size_t n, uint64_t stamps, int64_t posts);

/* Whether the decoder takes a copy in memory of exactly that size, so that a sanitizer sees a byte too far. */
bool accepts(enum record_kind kind, const uint8_t *bytes, size_t n);

#endif
