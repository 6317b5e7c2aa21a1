/* SPDX-License-Identifier: MIT */
#include "legacy/bridge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/wait.h"
#include "legacy/bridge_internal.h"

enum { SAVE_MS = 500 };
/* A slot that moves looks as one whose node was replaced: not more often than that. */
enum { ANEW_EVERY_MS = 30000 };

/* ---- What is said ----------------------------------------------------------------------------- */

void say(struct bridge *bridge, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    bridge->options.say(bridge->options.ctx, line);
}

bool fail_tidings(struct bridge *bridge, enum tidings_err err)
{
    snprintf(bridge->trouble, sizeof bridge->trouble, "Tidings: %s", tidings_err_text(err));
    return false;
}

bool fail_ask(struct bridge *bridge)
{
    snprintf(bridge->trouble, sizeof bridge->trouble, "%s", bridge->ask->trouble);
    return false;
}

bool fail_old(struct bridge *bridge)
{
    snprintf(bridge->trouble, sizeof bridge->trouble, "%s", bridge->old->trouble);
    return false;
}

bool in_share(const struct bridge *bridge, uint64_t user)
{
    return share_has(bridge->options.share, user);
}

bool is_stopped(const struct bridge *bridge)
{
    return !bridge->options.goes_on(bridge->options.ctx);
}

/* ---- Reading that is told and not kept -------------------------------------------------------- */

static bool is_reading(enum tidings_event_type type)
{
    return type == TIDINGS_EVENT_POST_READ || type == TIDINGS_EVENT_POST_UNREAD ||
           type == TIDINGS_EVENT_INBOX_READ;
}

static void note_passing(struct bridge *bridge, uint64_t user)
{
    bridge->passing_heard = true;
    if (!in_share(bridge, user))
        return;
    if (bridge->n_passing < BRIDGE_PASSING)
        bridge->passing[bridge->n_passing++] = user;
    else
        bridge->passing_lost = true;
}

/* On a thread of the engine. */
static void hear(struct tidings_watcher *watcher, const struct tidings_event *events, size_t n)
{
    struct bridge *bridge =
        (struct bridge *)(void *)((char *)watcher - offsetof(struct bridge, watcher));
    pthread_mutex_lock(&bridge->mutex);
    bridge->passing_lost |= !n;
    for (size_t i = 0; i < n; i++)
        if (!events[i].event_id && is_reading(events[i].type))
            note_passing(bridge, events[i].actor_user_id);
    pthread_mutex_unlock(&bridge->mutex);
}

/* Who has read is filled: no position says in which order that was. *anew: it is not known who. */
static bool take_passing(struct bridge *bridge, bool *anew)
{
    bool fine = true;
    pthread_mutex_lock(&bridge->mutex);
    bool begins = bridge->passing_heard && !bridge->state.passing;
    *anew = begins || (bridge->state.passing && bridge->passing_lost);
    bridge->state.passing |= begins;
    bridge->passing_lost = bridge->passing_heard = false;
    while (bridge->n_passing && fine) {
        fine = fill_want(bridge, bridge->passing[bridge->n_passing - 1]);
        bridge->n_passing -= fine;
    }
    pthread_mutex_unlock(&bridge->mutex);
    return fine;
}

/* ---- Events ----------------------------------------------------------------------------------- */

static bool note_left(struct bridge *bridge, const struct tidings_event *event)
{
    bundle_clear(&bridge->others);
    put_left(&bridge->others, event->author_id, event->actor_user_id);
    return old_run(bridge->old, &bridge->others, OLD_NONE) || fail_old(bridge);
}

static bool mark(struct bridge *bridge, const struct tidings_event *event)
{
    struct legacy_item item;
    bool unread = event->type == TIDINGS_EVENT_POST_UNREAD;
    if (!ask_engine_member(bridge->ask, event->target_id, &item.member))
        return fail_ask(bridge);
    item.author = event->author_id;
    item.read_at = event->happened_at;
    if (unread && !note_left(bridge, event))
        return false;
    return touch_put(bridge, event->actor_user_id, unread ? TOUCH_UNREAD : TOUCH_READ,
                     event->event_id, &item);
}

static bool settle(struct bridge *bridge, uint64_t position)
{
    if (!touch_flush(bridge) || !fill_wanted(bridge))
        return false;
    bridge->state.position = position;
    return true;
}

static bool apply(struct bridge *bridge, const struct tidings_event *event)
{
    switch (event->type) {
    case TIDINGS_EVENT_POST_READ:
    case TIDINGS_EVENT_POST_UNREAD:
        return !in_share(bridge, event->actor_user_id) || mark(bridge, event);
    case TIDINGS_EVENT_INBOX_READ:
    case TIDINGS_EVENT_INBOX_PURGED:
    case TIDINGS_EVENT_FOLLOW_CANCELED:
        return !in_share(bridge, event->actor_user_id) || fill_want(bridge, event->actor_user_id);
    case TIDINGS_EVENT_POST_PUBLISHED:
    case TIDINGS_EVENT_POST_DELETED:
        return settle(bridge, event->event_id - 1) && fan_out(bridge, event) &&
               settle(bridge, event->event_id);
    default:
        return true;
    }
}

/* A copy, since whatever is asked next takes the answer's place. */
static bool next_page(struct bridge *bridge, uint32_t limit, size_t *n, uint64_t *newest)
{
    const struct tidings_answer *answer;
    struct tidings_op op = {.kind = TIDINGS_OP_EVENTS,
                            .u.page = {limit, {bridge->state.position, 0}}};
    enum tidings_err err = ask_engine_run(bridge->ask, &op, &answer);
    if (err)
        return fail_tidings(bridge, err);
    *n = answer->u.events.n;
    *newest = answer->u.events.newest;
    if (*n)
        memcpy(bridge->events_page, answer->u.events.rows, *n * sizeof *bridge->events_page);
    return true;
}

/* Behind the last event that there is. */
static void reach_end(struct bridge *bridge, uint64_t newest)
{
    if (bridge->state.position < newest)
        bridge->state.position = newest;
    bridge->state.fresh_at = state_now_ms();
    bridge->event_at = 0;
}

static bool page_step(struct bridge *bridge, bool *more)
{
    const struct tidings_event *events = bridge->events_page;
    uint32_t limit = ask_engine_page(bridge->ask);
    uint64_t newest;
    size_t n = 0;
    if (!next_page(bridge, limit, &n, &newest))
        return false;
    bool is_end = n < limit;
    uint64_t last = n ? events[n - 1].event_id : bridge->state.position;
    if (bridge->horizon < (is_end ? newest : last))
        bridge->horizon = is_end ? newest : last;
    for (size_t i = 0; i < n; i++) {
        bridge->event_at = events[i].happened_at;
        if (is_stopped(bridge) || !apply(bridge, &events[i]))
            return false;
        bridge->state.last_event = events[i].event_id;
        bridge->state.last_at = (uint64_t)events[i].happened_at;
        bridge->events++;
    }
    if (!settle(bridge, last))
        return false;
    if (is_end)
        reach_end(bridge, newest);
    *more |= n > 0;
    return true;
}

/* ---- Steps ------------------------------------------------------------------------------------ */

/* A process that went and came back is noticed by whoever asks all of them. */
static bool look_at_nodes(struct bridge *bridge)
{
    int64_t now = wait_now_ms();
    if (now - bridge->looked_ms < SAVE_MS)
        return true;
    if (!old_look(bridge->old))
        return fail_old(bridge);
    bridge->looked_ms = now;
    return true;
}

static bool begin_anew(struct bridge *bridge, const char *why)
{
    if (!state_begin(bridge))
        return false;
    bridge->begun_ms = wait_now_ms();
    say(bridge, "%s: all keys are filled anew, from event %llu on", why,
        (unsigned long long)bridge->state.position);
    if (bridge->state.passing)
        say(bridge,
            "reading leaves no events: whoever reads is filled anew, and everybody at every start "
            "and takeover; read_events = 1 spares that");
    return true;
}

static bool hold(struct bridge *bridge)
{
    bool anew = false;
    if (bridge->holds)
        return true;
    if (!state_take(bridge, &anew))
        return false;
    anew |= !bridge->refilled && bridge->options.refill;
    if (anew && !begin_anew(bridge, "nothing is known to be in step")) {
        bridge->holds = false;
        return false;
    }
    bridge->refilled = true;
    if (!anew)
        say(bridge, "goes on behind event %llu", (unsigned long long)bridge->state.position);
    bridge->has_held = true;
    return true;
}

/* Why all must be filled anew; NULL: they need not. */
static const char *find_reason(struct bridge *bridge)
{
    if (bridge->old->replaced && wait_now_ms() - bridge->begun_ms >= ANEW_EVERY_MS)
        return "the old Redis was restarted, or has failed over";
    if (bridge->state.row != bridge->row)
        return "it was sent back";
    return NULL;
}

static bool work(struct bridge *bridge, bool *more)
{
    bool anew = false, fine = hold(bridge) && look_at_nodes(bridge);
    const char *reason = fine ? find_reason(bridge) : NULL;
    fine = fine && (!reason || begin_anew(bridge, reason));
    fine = fine && fill_wanted(bridge) && take_passing(bridge, &anew);
    if (fine && anew)
        fine = begin_anew(bridge, "what was read is not known");
    fine = fine && fill_wanted(bridge) && page_step(bridge, more);
    if (fine && bridge->state.phase != PHASE_DONE) {
        fine = fill_step(bridge);
        *more = true;
    }
    if (fine && (*more || wait_now_ms() - bridge->saved_ms >= SAVE_MS)) {
        bridge->saved_ms = wait_now_ms();
        fine = state_save(bridge);
    }
    return fine;
}

/* What was put down and not run is forgotten: it comes again. */
bool bridge_step(struct bridge *bridge, uint64_t row, bool *more)
{
    *more = false;
    *bridge->trouble = 0;
    bridge->row = row;
    bool fine = work(bridge, more);
    if (fine)
        *bridge->trouble = 0;
    bundle_clear(&bridge->bundle);
    bridge->n_about = 0;
    return fine;
}

const char *bridge_trouble(const struct bridge *bridge)
{
    return bridge->trouble;
}

/* With trouble the lease ends by itself: a server that is to stop does not wait for a Redis that is away. */
void bridge_rest(struct bridge *bridge)
{
    if (bridge->holds && !*bridge->trouble)
        state_let_go(bridge);
    bridge->holds = false;
}

struct bridge_progress bridge_look(const struct bridge *bridge)
{
    struct bridge_progress progress = {.position = bridge->state.position,
                                       .events = bridge->events};
    progress.waiting_since = bridge->event_at;
    if (bridge->state.phase != PHASE_DONE)
        progress.waiting_since = (int64_t)bridge->state.generation;
    else if (bridge->old->replaced && !progress.waiting_since)
        progress.waiting_since = (int64_t)state_now_ms();
    return progress;
}

/* ---- The whole --------------------------------------------------------------------------------- */

struct bridge *bridge_new(const struct bridge_options *options)
{
    struct bridge *bridge = calloc(1, sizeof *bridge);
    if (!bridge)
        return NULL;
    bridge->options = *options;
    bridge->old = options->old;
    bridge->ask = ask_engine_new(options->tidings);
    bridge->about = calloc(BRIDGE_FANS, sizeof *bridge->about);
    bridge->watcher.tell = hear;
    pthread_mutex_init(&bridge->mutex, NULL);
    bundle_init(&bridge->bundle);
    bundle_init(&bridge->others);
    touch_init();
    fill_init();
    state_init();
    tidings_watch(options->tidings, &bridge->watcher);
    if (bridge->ask && bridge->about)
        return bridge;
    bridge_free(bridge);
    return NULL;
}

void bridge_free(struct bridge *bridge)
{
    if (!bridge)
        return;
    tidings_unwatch(bridge->options.tidings, &bridge->watcher);
    bundle_release(&bridge->bundle);
    bundle_release(&bridge->others);
    pthread_mutex_destroy(&bridge->mutex);
    ask_free(bridge->ask);
    free(bridge->about);
    free(bridge);
}
