/* SPDX-License-Identifier: MIT */
/*
 * Moments that random ones hardly ever meet, and where much depends on what has been synced before: just after something
 * got its name for good. Each is tried in the styles that would tell.
 */
#ifndef TIDINGS_TESTS_AIMS_H
#define TIDINGS_TESTS_AIMS_H

#include "disk.h"

/* A state to try: of the disk when the records before `at` have happened. */
struct point {
    uint64_t at;
    enum disk_style style;
    uint64_t seed;
};

enum aim_kind {
    AIM_CLOSED,  /* `state` says that the engine ended in order, and data.mdb can be trusted */
    AIM_DATA,    /* data.mdb was made anew */
    AIM_IMAGE,   /* a base image is finished: its log may be removed */
    AIM_SEGMENT, /* a segment of the log was begun: the one before has no torn end */
    AIM_REMOVED, /* a segment was removed: so were the images that need it */
    AIM_KINDS
};

struct aims {
    struct aim {
        uint64_t at;
        enum aim_kind kind;
    } * all;
    size_t n;
    size_t count[AIM_KINDS];
    bool ends_in_order; /* the state that was written last says so */
    enum aim_kind next; /* what was named, */
    unsigned syncs;     /* and so many syncs until it is for good; 0: nothing */
};

/* Every record of the trace, in order. */
void aims_feed(struct aims *aims, uint64_t number, const struct trace_record *record,
               const char *path, const uint8_t *data);
void aims_release(struct aims *aims);

/* The states to try, from malloc. */
size_t aims_points(const struct aims *aims, struct rng *rng, struct point **points);

#endif
