/* SPDX-License-Identifier: MIT */
/*
 * A test run as data: a list of steps that can be run again, in whole or in part.
 *
 * A step must mean the same when steps before it are left out, so it does not name posts by the ids
 * that the engine made: it says "the post of publish number 7", and likewise for comments, tokens and
 * places in lists (struct ref, `list`). Where that does not exist in a run, an id that does not exist
 * stands in. Times are absolute, for the same reason.
 *
 * The recording lies in shared memory: the process that runs the engine may crash, and its parent
 * then still has the steps.
 */
#ifndef TIDINGS_TESTS_RECORDING_H
#define TIDINGS_TESTS_RECORDING_H

#include "report.h"
#include "tidings.h"

enum {
    MAX_USERS = 512,
    LISTS = 24, /* lists being paged through at the same time */
    SLOTS = 64, /* as_of tokens remembered; number 0 is none */
};

enum ref_kind {
    REF_NUMBER,  /* `value` itself */
    REF_POST,    /* id of the post that publish number `value` made, plus delta */
    REF_AS_OF,   /* the token in slot `value`; a fresh one if there is none */
    REF_BEYOND,  /* one that is delta beyond the newest, where an engine's can be made up */
    REF_COMMENT, /* id of the comment that COMMENT number `value` made, plus delta */
    REF_SCENE,   /* id of the scene that step number `value` of those that write scenes made */
    REF_MESSAGE, /* id of a message of such a step: number * MESSAGES_MOST + place in its list */
    REF_EVENT,   /* id of the event number `value` that the run has seen, plus delta (0 or -1) */
};

struct ref {
    enum ref_kind kind;
    int64_t delta;
    uint64_t value;
};

enum step_kind {
    STEP_OP,
    STEP_SWEEP,  /* compare everything that can be asked; op.u.page.limit rows a page */
    STEP_VERIFY, /* tidings_verify finds nothing */
    STEP_REOPEN, /* close the engine and open it again, maybe with other rules of heat and folding */
};

struct step {
    enum step_kind kind;
    int64_t now_ms;
    bool by_clock;        /* op.now_ms is 0, and it is the engine's clock that says now_ms */
    struct tidings_op op; /* but for now_ms and what the following stand for */
    struct ref post;      /* post_id, comment_id, id; in EVENTS page.after.a */
    struct ref parent;    /* COMMENT and COMMENTS: parent_id */
    struct ref *posts;    /* mark: the n_post_ids; NULL is NULL */
    struct ref up_to;
    struct ref scene;     /* scene_id */
    struct ref message;   /* message_id */
    struct ref *messages; /* the ids of a scene's messages; NULL: all are new */
    uint32_t maker;       /* SCENE_PUBLISH, SCENE_EDIT: its number among these, from 1 */
    uint32_t client;      /* READING: number of the client that asks for a delta; 0 is none */
    uint32_t publish;     /* PUBLISH: its number */
    uint32_t comment;     /* COMMENT: its number */
    uint32_t list;        /* number of the list it pages through; 0 is none */
    bool list_begins;     /* from its beginning, rather than from where it stands */
    uint32_t
        keep_as_of; /* the slot that keeps the answer's token, or if it has none, one of the moment before it */
    uint32_t once;       /* number of its key; 0: it is not one to be made only once */
    uint32_t once_print; /* number of its fingerprint */
    const struct tidings_settings *rules; /* REOPEN: from now on these; NULL: as before */
    bool wild_cursor;                     /* op's cursor is made up: any sane answer will do */
};

/* How a run went. */
struct outcome {
    bool failed;
    size_t failed_step;
    uint64_t steps;
    uint64_t answers; /* compared with the model's */
    uint64_t errors;  /* of these, expected errors */
    uint64_t reopens;
    uint64_t verifies;
    uint64_t posts;
    uint64_t comments;
    struct report report;
};

struct recording {
    uint64_t seed;
    struct tidings_settings settings;
    uint64_t user_ids[MAX_USERS];
    size_t n_users;
    uint32_t n_publishes;
    uint32_t n_comments;
    uint32_t n_makers;
    int64_t start_ms;

    struct step *steps;
    size_t n;
    size_t room;
    char *bytes; /* what the steps point to */
    size_t bytes_used;
    size_t bytes_room;

    struct outcome outcome; /* of the run under way or the last one */
};

/* In shared memory; NULL if there is none. */
struct recording *recording_new(size_t steps);
void recording_free(struct recording *recording);
/* Memory that lives as long as the recording. */
void *recording_room(struct recording *recording, size_t size);

/* The step in one line. */
void step_report(struct report *report, size_t number, const struct step *step);

/* ---- Parts of a line ----------------------------------------------------------------------- */

void ref_report(struct report *report, const struct ref *ref);
/* " name=ref" */
void named_report(struct report *report, const char *name, const struct ref *ref);
/* Which page of its list the step asks for. */
void page_report(struct report *report, const struct step *step);
void among_report(struct report *report, const struct step *step);
void two_texts_report(struct report *report, const char *a_name, struct tidings_text a,
                      const char *b_name, struct tidings_text b);
/* Nothing if there is none. */
void extra_report(struct report *report, struct tidings_text extra);
void target_report(struct report *report, const struct step *step, enum tidings_target target);
/* The arguments of operations that name a user, a post, a story, a page of a story's list, or what to mark. */
void user_report(struct report *report, const struct step *step);
void post_report(struct report *report, const struct step *step);
void story_report(struct report *report, const struct step *step);
void story_page_report(struct report *report, const struct step *step);
void mark_report(struct report *report, const struct step *step);

/* Name of an operation, also of one that does not exist. */
const char *op_name(enum tidings_op_kind kind);
/* Where the operation says which page it wants; NULL if it answers with no list. */
struct tidings_page *op_page(struct tidings_op *op);
const struct tidings_page *op_page_of(const struct tidings_op *op);

#endif
