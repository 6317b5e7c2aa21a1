/* SPDX-License-Identifier: MIT */
/* What the parts of verify share. See verify.c. */
#ifndef CLUSTER_VERIFY_H
#define CLUSTER_VERIFY_H

#include "engine/cluster/cluster.h"

/* Parts, in their order: each rests on what those before have looked at, and mended. Each is a kind of differences. */
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
enum { SOURCES_MAX = 5, PAGE_ROWS = 500, TABLES_MAX = 64, TABLE_BYTES = 65 };

struct check;
struct rule;
typedef void visit_fn(struct check *check, struct view *view, const uint64_t key[ROW_KEYS]);

/*
 * A table that is gone through in the order of its key, a page at a time. A page is a range of keys, whether a table has rows in it or
 * not, and the last one has no end: so what is missing lies in one of them, too. Rules are asked of the range; a walk without rules
 * visits the rows one by one.
 */
struct walk {
    const char *table;
    const char *keys[ROW_KEYS]; /* "0" where it has no more; NULL: all of it is one page */
    struct {
        const char *table, *key;
    } sources
        [SOURCES_MAX]; /* where the rules find rows by the first key: a page has no more of any */
    const struct rule *rules;
    size_t n_rules;
    bool
        is_users; /* visits: the first key is a user's, who is locked; otherwise all that is loaded is */
    visit_fn *visit;
};

struct walks {
    const struct walk *at;
    size_t n;
};
#define WALKS(list)                         \
    {                                       \
        list, sizeof(list) / sizeof *(list) \
    }

/* The keys of a page: those behind the page before, up to and including this one. */
struct range {
    uint64_t up_to[ROW_KEYS];
    uint64_t rows; /* of the walk's table */
    bool is_last;
};

/* How far it has come. A stage is gone through again while that mends anything, since one count may follow from another. */
struct place_in_round {
    unsigned stage, walk;
    uint64_t key[ROW_KEYS];
    unsigned again; /* how often the stage was begun again */
    bool mended;    /* since then */
};

/* The server's guess at the rows of all tables. */
struct guesses {
    size_t n;
    int64_t made_ms; /* 0: never */
    struct {
        char table[TABLE_BYTES];
        uint64_t rows;
    } at[TABLES_MAX];
};

struct check {
    struct cluster *cluster;
    struct tidings_verify *out;
    struct known known; /* heads as the tables have them, whatever the server knows */
    struct desk desk;   /* looks, at one snapshot a page */
    struct desk mender; /* changes */
    uint64_t page;      /* rows */
    bool silent;        /* what is found now is reported at another time, or was */
    bool repeats;       /* the stage, which has mended something */
    uint64_t found;     /* also what is not reported */
    void (*tell)(struct check *check, const char *difference); /* may be NULL */
    uint64_t done, total; /* rows of the round, and one for each walk; the total is a guess */
    int64_t told_ms;
    struct guesses guesses;
};

/* ---- verify.c ------------------------------------------------------------------------------- */

/* With so much room for heads. */
void check_start(struct check *check, struct cluster *cluster, struct tidings_verify *out,
                 size_t heads_bytes);
void check_end(struct check *check);

/* Looks at the next page and moves on; *over: there is none behind it. After any other outcome than DONE it is still to be done. */
enum sql_outcome check_step(struct check *check, struct place_in_round *place, bool *over);

/* A connection with the settings that looking and mending need. */
bool check_connect(struct check *check, struct desk *desk);

/* NULL behind the last. */
const struct walk *check_walk(unsigned stage, unsigned walk);

/* Reports a difference: of that number it is so, and should be so. */
void check_differ(struct check *check, const char *what, uint64_t id, int64_t is, int64_t should);

/* What was mended is to be seen from now on. */
enum sql_outcome check_look_anew(struct check *check);

/* Tries again what may be tried again, on the mender's desk; `mend` does one try, with the transaction begun and all, and
 * says how many rows it has changed. */
typedef enum sql_outcome mend_fn(struct check *check, const void *what, uint64_t *rows);
enum sql_outcome check_mend(struct check *check, mend_fn *mend, const void *what);

/* ---- verify_pages.c ------------------------------------------------------------------------- */

/* How far the page behind that key reaches; the connection knows it from then on. */
enum sql_outcome page_measure(struct check *check, const struct walk *walk,
                              const uint64_t after[ROW_KEYS], struct range *range);
/* The condition that a row of the walk's table is in it. */
void page_put_range(struct buf *text, const struct walk *walk);

/* ---- verify_rules.c: what can be asked in SQL ----------------------------------------------- */

extern const struct walks rule_walks[STAGES];
enum sql_outcome check_rules(struct check *check, const struct walk *walk);

/* ---- verify_rows.c: what is looked at row by row, by the rules that all engines share ------- */

extern const struct walks row_walks[STAGES];
enum sql_outcome check_rows(struct check *check, const struct walk *walk);

#endif
