/* SPDX-License-Identifier: MIT */
/*
 * The last half hour in numbers, so that the console's charts begin with what was: a thread takes a sample of the counters
 * every ten seconds into a ring. Rates and percentiles come from the differences between two of them.
 */
#ifndef API_SAMPLES_H
#define API_SAMPLES_H

#include "api/metrics.h"
#include "tidings.h"

struct api;
struct exchange;
struct samples;

enum { SAMPLES_EVERY_MS = 10000, SAMPLES_MAX = 180 };

/* Takes the first sample, and starts the thread. NULL if that cannot be done. */
struct samples *samples_start(struct api *api);

/* Ends the thread, before the engine closes. NULL is fine. */
void samples_stop(struct samples *samples);

/* GET /v1/admin/samples */
void run_samples(struct exchange *ex);

#endif
