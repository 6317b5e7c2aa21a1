/* SPDX-License-Identifier: MIT */
/*
 * The parts of the bridge. Beside a user's keys, in the same slot, stands a companion: the generation and position that they are
 * of, and the authors of whom something is unread. What is done to a user's keys is done by a script that looks there first:
 *
 *   - of another generation, or none: the user's keys are not known, and are filled
 *   - of that position or a later one: it was done before
 *
 * A generation begins when nothing that is there can be trusted to be in step: at the first start, with another share, when the Redis
 * was emptied or replaced, when the server's history is another. All is then filled from Tidings, by whom it concerns first.
 *
 * Fills of one generation are numbered, also across servers: what a server sent before it lost its turn may arrive after what the next one
 * sent, and positions alone do not tell which of two fills read later.
 */
#ifndef LEGACY_BRIDGE_INTERNAL_H
#define LEGACY_BRIDGE_INTERNAL_H

#include <pthread.h>

#include "legacy/ask_engine.h"
#include "legacy/bridge.h"
#include "legacy/id_set.h"
#include "legacy/share.h"

#define BRIDGE_STATE "tidings:{bridge}:state"
#define BRIDGE_LEASE "tidings:{bridge}:lease"

enum { BRIDGE_TOLD_BITS = 14 };
enum { BRIDGE_PAGE = ASK_PAGE, BRIDGE_FANS = 1000, BRIDGE_PASSING = 4096, BRIDGE_WANTS = 4096 };

/* Where it stands: one text in one key, so that no part of it is newer than another. */
enum bridge_phase { PHASE_WALK, PHASE_FILL, PHASE_DONE };
struct bridge_state {
    uint64_t generation, share, schemes;
    uint64_t position; /* all events up to it are in the keys */
    uint64_t fresh_at; /* when there were no events behind the position, ms since 1970 */
    uint64_t phase;
    uint64_t filled_to;            /* PHASE_FILL: users up to it are filled */
    uint64_t fan_event, fan_stage; /* the event that is being fanned out, and how far that is */
    struct tidings_cursor fan;
    uint64_t passing;    /* reading is told of without being kept */
    uint64_t processes;  /* who had the keys when the generation began: a digest */
    uint64_t turn;       /* grows with each server that takes the lease */
    uint64_t row;        /* the generation of the server's row that the keys are of */
    uint64_t era;        /* of the server's history */
    uint64_t last_event; /* the last event gone through in this generation; 0: none */
    uint64_t last_at;    /* and when it happened */
};

struct bridge {
    struct bridge_options options;
    struct old *old;
    struct ask *ask;
    struct bridge_state state;
    uint64_t horizon; /* the newest event that is known to have happened */
    char token[40];
    bool holds, has_held, refilled;
    uint64_t row;     /* the generation of the server's row now */
    uint64_t newer;   /* a generation that somebody else has gone on with; 0: none */
    uint64_t n_fills; /* of this turn */
    uint64_t events;  /* gone through since it was made */
    int64_t event_at; /* when the first event behind the position happened; 0: there is none */
    struct walk walk;
    struct bundle bundle, others;
    uint64_t *about; /* the users of the bundle's calls, by call */
    size_t n_about;
    uint64_t wants[BRIDGE_WANTS]; /* users to be filled */
    size_t n_wants;
    char trouble[320];
    int64_t saved_ms, looked_ms, begun_ms;
    struct tidings_event events_page[BRIDGE_PAGE];
    uint64_t told_posts
        [1 << BRIDGE_TOLD_BITS]; /* whose author and deletion were written in this generation */

    struct tidings_watcher watcher;
    pthread_mutex_t mutex; /* of what follows */
    uint64_t passing[BRIDGE_PASSING];
    size_t n_passing;
    bool passing_heard, passing_lost;
};

/* What is to be done to a user's keys. */
enum touch { TOUCH_PUSH, TOUCH_READ, TOUCH_UNREAD, TOUCH_GONE };

/* All of these answer false if it cannot be done now; trouble says why. */

/* bridge_touch.c: one user's keys, by scripts. Those that are put down are run together, and who is not known is wanted. */
void touch_init(void);
bool touch_put(struct bridge *bridge, uint64_t user, enum touch touch, uint64_t position,
               const struct legacy_item *item);
bool touch_flush(struct bridge *bridge);

/* bridge_fill.c: users whose keys are made anew. */
void fill_init(void);
bool fill_want(struct bridge *bridge, uint64_t user);
bool fill_wanted(struct bridge *bridge);
/* Some of everybody, as the phase says. */
bool fill_step(struct bridge *bridge);
/* Users who have something of an author and may not follow: they have to be told of deletions. */
void put_left(struct bundle *bundle, uint64_t author, uint64_t user);

/* bridge_fan.c: what concerns all fans of an author, by batches. */
bool fan_out(struct bridge *bridge, const struct tidings_event *event);

/* bridge_state.c */
void state_init(void);
/* Takes the lease and learns where things stand; *anew: nowhere. */
bool state_take(struct bridge *bridge, bool *anew);
/* Keeps both. */
bool state_save(struct bridge *bridge);
void state_let_go(struct bridge *bridge);
/* A new generation, from now on. */
bool state_begin(struct bridge *bridge);
/* Ms since 1970. */
uint64_t state_now_ms(void);

void companion_key(uint64_t user, char key[LEGACY_KEY_MAX]);
bool fail_tidings(struct bridge *bridge, enum tidings_err err);
bool fail_ask(struct bridge *bridge);
bool fail_old(struct bridge *bridge);
bool in_share(const struct bridge *bridge, uint64_t user);
bool is_stopped(const struct bridge *bridge);
void say(struct bridge *bridge, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
