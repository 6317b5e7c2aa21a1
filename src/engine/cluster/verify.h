/* SPDX-License-Identifier: MIT */
/* What the parts of verify share. See verify.c. */
#ifndef CLUSTER_VERIFY_H
#define CLUSTER_VERIFY_H

#include "engine/cluster/cluster.h"

/* Parts, in their order: each rests on what those before have looked at, and mended. */
enum stage {
    STAGE_LISTS,     /* of authors' posts and stories' scenes */
    STAGE_INBOXES,   /* pairs, read maps, history, reading positions */
    STAGE_RELATIONS, /* follower and subscriber rows, what users have and do */
    STAGE_VOTES,     /* on comments */
    STAGE_COMMENTS,
    STAGE_POSTS,    /* what they have received, and their heat */
    STAGE_COUNTERS, /* of authors */
    STAGE_SCENES,
    STAGE_OTHERS,
    STAGES,
};
_Static_assert((int)STAGES <= (int)TIDINGS_VERIFY_KINDS_MAX, "each is a kind of differences");

enum { MENDS_MAX = 16 }; /* tries, while locks do not come or connections are lost */

struct check {
    struct cluster *cluster;
    struct tidings_verify *out;
    struct known known; /* heads as the tables have them, whatever the server knows */
    struct desk desk;   /* looks at one snapshot */
    struct desk mender; /* changes */
    bool silent;        /* what is found now is reported at another time, or was */
    bool repeats;       /* the stage, which has mended something */
    uint64_t found;     /* also what is not reported */
    const char *stage;
    uint64_t done, total; /* rows, as far as their number is known */
    int64_t told_ms;
};

/* Reports a difference: of that number it is so, and should be so. */
void check_differ(struct check *check, const char *what, uint64_t id, int64_t is, int64_t should);

/* If it mends: goes on with a snapshot that shows what was mended. */
enum sql_outcome check_look_anew(struct check *check);

/* So many rows more were looked at. */
void check_progress(struct check *check, uint64_t rows);

/* Tries again what may be tried again, on the mender's desk; `mend` does one try, with the transaction begun and all, and
 * says how many rows it has changed. */
typedef enum sql_outcome mend_fn(struct check *check, const void *what, uint64_t *rows);
enum sql_outcome check_mend(struct check *check, mend_fn *mend, const void *what);

/* verify_rules.c: what can be asked in SQL. */
enum sql_outcome check_rules(struct check *check, enum stage stage);
/* The tables that a stage's rules look at, one after the other; NULL behind the last. */
const char *check_rule_table(enum stage stage, size_t i);

/* verify_rows.c: what is looked at row by row, by the rules that all engines share. */
enum sql_outcome check_rows(struct check *check, enum stage stage);
const char *check_row_table(enum stage stage, size_t i);

#endif
