/* SPDX-License-Identifier: MIT */
/*
 * One webhook as it was set, and how far it has been told. It does one thing at a time: look for the
 * next event, call, report. A report is written before the next call, so after a crash nothing is
 * skipped, and no more than the one event under way is told twice.
 *
 * Times are milliseconds since 1970 as the clock had them at the start, and go on by elapsed time: a clock that is set makes
 * nothing wait longer or be given up sooner. What is reported is by the clock again, for those who look.
 *
 * On the thread of push.c, but for what `mutex` guards.
 */
#ifndef PUSH_ENDPOINT_H
#define PUSH_ENDPOINT_H

#include <pthread.h>

#include "push/call.h"
#include "push/push.h"

/* What endpoints share. */
struct push_shared {
    struct push_config config;
    int64_t started_ms, started_up_ms; /* by the clock, and by the time since the boot */
    CURLM *multi;
    pthread_mutex_t mutex;
    uint64_t
        term; /* in which the webhooks were listed (tidings_term); 0: this server calls nobody */
};

enum { ENDPOINT_NAME_MAX = 31 };

enum endpoint_phase {
    ENDPOINT_IDLE,
    ENDPOINT_CALLING,
    ENDPOINT_REPORTING,
    ENDPOINT_HOLDING, /* the engine took no report: it gets it again at hold_until */
};

struct endpoint {
    struct push_shared *shared;
    struct endpoint *next; /* the rest is endpoint.c's, but for name, generation and listed */
    char name[ENDPOINT_NAME_MAX + 1];
    uint64_t generation;
    bool listed; /* it is still there, and so set */
    char *url;
    char *secret;
    char *old_secret; /* signs, too, until then */
    int64_t old_secret_until;
    uint64_t events; /* see tidings_webhook_wants */

    enum endpoint_phase phase;
    bool stale;        /* the engine knows no such generation any more */
    bool look;         /* there may be events that it has not seen */
    uint64_t position; /* as reported */
    uint64_t scanned;  /* seen up to here, and nothing of it is waiting but `event` */
    uint64_t skipped;  /* events seen that are not in the reported position */
    int64_t reported_at;
    int64_t hold_until; /* after the engine failed: until then it is not asked again */

    bool has_letters;       /* dead letters are to be told again, before anything else */
    uint64_t letters_after; /* behind the letter of that event */
    uint64_t dead_event;    /* given up, and not yet reported; 0: none */
    bool is_letter;         /* `event` is one's: it is tried once */
    bool has_event;
    struct tidings_event event; /* the next one to tell */
    uint32_t attempts;
    int64_t retry_at;
    int64_t failing_since;
    struct call call;

    struct tidings_op op;
    struct tidings_call report;
    struct tidings_answer answer;
    bool reported; /* under the mutex */
    char error[CALL_ERROR_MAX];
};

/* NULL if memory is short. */
struct endpoint *endpoint_new(struct push_shared *shared, const struct tidings_webhook *webhook);

/* Only if endpoint_is_quiet. */
void endpoint_free(struct endpoint *endpoint);

/* Ends a call under way; a report under way goes on. */
void endpoint_abort(struct endpoint *endpoint);

/* Whether the engine has nothing of it. */
bool endpoint_is_quiet(const struct endpoint *endpoint);

/* Does what there is to do; the milliseconds until there may be more, `most` at most. */
int64_t endpoint_step(struct endpoint *endpoint, int64_t most);

/* libcurl is done with its call. */
void endpoint_called(struct endpoint *endpoint, CURLcode code);

void push_clock_start(struct push_shared *shared);

#endif
