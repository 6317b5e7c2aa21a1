/* SPDX-License-Identifier: MIT */
#include "legacy/bridge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/wait.h"
#include "legacy/bridge_internal.h"

enum { IDLE_MS = 50, AWAY_MS = 500, SAVE_MS = 1000 };
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
    bridge->options->say(line);
}

bool fail_tidings(struct bridge *bridge, enum tidings_err err, const char *message)
{
    snprintf(bridge->trouble, sizeof bridge->trouble, "Tidings: %s",
             message ? message : tidings_err_text(err));
    return false;
}

bool fail_old(struct bridge *bridge)
{
    snprintf(bridge->trouble, sizeof bridge->trouble, "%s", bridge->old->trouble);
    bridge->unwelcome = old_is_unwelcome(bridge->old);
    return false;
}

bool in_share(const struct bridge *bridge, uint64_t user)
{
    return share_has(bridge->options->share, user);
}

bool is_stopped(const struct bridge *bridge)
{
    return bridge->options->stopped();
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
    if (begins)
        say(bridge, "servers tell of reading without keeping it: whoever reads is filled anew, and "
                    "everybody at every start; `read_events = 1` on all servers spares that");
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
    enum tidings_err err = ask_member(bridge->ask, event->target_id, &item.member);
    if (err)
        return fail_tidings(bridge, err, NULL);
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

static uint64_t age_ms(int64_t happened_at)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - happened_at;
    return age > 0 ? (uint64_t)age : 0;
}

/* A copy, since whatever is asked next takes the answer's place. */
static bool next_page(struct bridge *bridge, struct tidings_event events[BRIDGE_PAGE], size_t *n)
{
    const struct tidings_answer *answer;
    struct tidings_op op = {.kind = TIDINGS_OP_EVENTS,
                            .u.page = {BRIDGE_PAGE, {bridge->state.position, 0}}};
    enum tidings_err err = ask_one(bridge->ask, &op, &answer);
    if (err)
        return fail_tidings(bridge, err, NULL);
    *n = answer->u.events.n;
    if (*n)
        memcpy(events, answer->u.events.rows, *n * sizeof *events);
    return true;
}

static bool page_step(struct bridge *bridge, bool *more)
{
    struct tidings_event events[BRIDGE_PAGE];
    size_t n = 0;
    if (!next_page(bridge, events, &n))
        return false;
    if (n && bridge->horizon < events[n - 1].event_id)
        bridge->horizon = events[n - 1].event_id;
    for (size_t i = 0; i < n; i++) {
        bridge->counts.lag_ms = age_ms(events[i].happened_at);
        if (!apply(bridge, &events[i]))
            return false;
        bridge->counts.events++;
    }
    if (!settle(bridge, n ? events[n - 1].event_id : bridge->state.position))
        return false;
    if (n < BRIDGE_PAGE)
        bridge->counts.lag_ms = 0;
    *more |= n > 0;
    return true;
}

/* ---- The loop --------------------------------------------------------------------------------- */

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
    return true;
}

static bool hold(struct bridge *bridge)
{
    bool anew = false;
    if (bridge->holds)
        return true;
    if (!state_take(bridge, &anew))
        return false;
    anew |= !bridge->has_held && bridge->options->refill;
    if (anew && !begin_anew(bridge, "nothing is known to be in step")) {
        bridge->holds = false;
        return false;
    }
    if (!anew)
        say(bridge, "goes on behind event %llu", (unsigned long long)bridge->state.position);
    bridge->has_held = true;
    return true;
}

static bool work(struct bridge *bridge, bool *more)
{
    bool anew = false, fine = hold(bridge) && look_at_nodes(bridge);
    if (fine && bridge->old->replaced && wait_now_ms() - bridge->begun_ms >= ANEW_EVERY_MS)
        fine = begin_anew(bridge, "the old Redis was restarted, or has failed over");
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

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

/* Each trouble is said once, and when it is over. What was put down and not run is forgotten: it comes again. Whom the Redis does not let in at
 * the start was told wrong; later, what was right may become so again. */
static bool loop(struct bridge *bridge)
{
    char said[sizeof bridge->trouble] = "";
    while (!is_stopped(bridge)) {
        bridge->unwelcome = false;
        bool more = false, fine = work(bridge, &more);
        if (fine)
            *bridge->trouble = 0;
        if (!is_stopped(bridge) && strcmp(said, bridge->trouble) != 0)
            say(bridge, "%s", *bridge->trouble ? bridge->trouble : "all is well again");
        memcpy(said, bridge->trouble, sizeof said);
        metrics_write(bridge);
        bundle_clear(&bridge->bundle);
        bridge->n_about = 0;
        if (!fine && bridge->unwelcome && !bridge->has_held)
            return false;
        if (!more || !fine)
            pause_ms(fine ? IDLE_MS : AWAY_MS);
    }
    state_let_go(bridge);
    return true;
}

bool bridge_run(const struct bridge_options *options)
{
    struct bridge *bridge = calloc(1, sizeof *bridge);
    if (!bridge) {
        options->say("memory is short");
        return false;
    }
    bridge->options = options;
    bridge->old = options->old;
    bridge->ask = ask_new(options->tidings);
    bridge->about = calloc(BRIDGE_FANS, sizeof *bridge->about);
    bridge->watcher.tell = hear;
    pthread_mutex_init(&bridge->mutex, NULL);
    bundle_init(&bridge->bundle);
    bundle_init(&bridge->others);
    touch_init();
    fill_init();
    state_init();
    bool fine = bridge->ask && bridge->about;
    if (fine) {
        tidings_watch(options->tidings, &bridge->watcher);
        fine = loop(bridge);
        tidings_unwatch(options->tidings, &bridge->watcher);
    } else {
        say(bridge, "memory is short");
    }
    bundle_release(&bridge->bundle);
    bundle_release(&bridge->others);
    pthread_mutex_destroy(&bridge->mutex);
    ask_free(bridge->ask);
    free(bridge->about);
    free(bridge);
    return fine;
}
