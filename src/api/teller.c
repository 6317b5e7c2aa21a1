/* SPDX-License-Identifier: MIT */
#include "api/teller.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/activity.h"
#include "api/audience.h"
#include "api/internal.h"
#include "api/messages.h"
#include "api/parcel.h"
#include "base/search.h"
#include "base/thread.h"

enum { REPLAY_MAX = 100, TEXTS_MAX = 16 << 20, ACTING_USER = 1 };

/* A stream that has begun. */
struct greeting {
    struct greeting *next;
    unsigned loop;
    uint64_t user;
    uint64_t stream;
    uint64_t seen;
};

/* One turn of the thread: what has come meanwhile, and what is made of it. */
struct round {
    uint64_t *users; /* online, ascending */
    size_t n, room;
    bool *counts_badge, *counts_unread;    /* by place in users: to be counted anew */
    uint64_t *messages, *scenes, *changes; /* likewise: bits, of the events that concern the user */
    uint64_t *badges;                      /* likewise: the counts */
    struct tidings_event events[PARCEL_MESSAGES];
    struct tidings_notification told_scenes[PARCEL_MESSAGES]; /* by event; id 0: none */
    size_t n_events;
    bool lost;
};

struct teller {
    struct tidings_watcher watcher;
    struct api *api;
    pthread_t thread;
    struct audience audience;
    struct watched watched;
    struct tidings_answer answer;
    struct arena texts; /* of the round */
    struct round round;

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t wanted;
    struct tidings_event *events; /* that wait to be told: stream_backlog at most */
    size_t n_events;
    bool lost; /* there were more: everything is counted anew for everybody */
    struct greeting *first, **last;
    bool stopping;
};

/* ---- Who is concerned ----------------------------------------------------------------------- */

/* Whom an event concerns, and what is told. */
struct concern {
    enum { NOBODY, ACTOR, FOLLOWERS } whom;
    enum tidings_op_kind among; /* FOLLOWERS: the question who they are */
    bool delivered;             /* those too who have something delivered and follow no more */
    bool post, scene;           /* they are told of it */
    bool badge, unread;         /* what may have moved */
    bool changed;               /* a post that they have is another now: they are told */
    bool activity;              /* it happened to a post: those who have it open are told */
};

static const struct concern concerns[] = {
    [TIDINGS_EVENT_POST_PUBLISHED] = {FOLLOWERS, TIDINGS_OP_FANS_AMONG, .post = true,
                                      .badge = true},
    [TIDINGS_EVENT_POST_DELETED] = {FOLLOWERS, TIDINGS_OP_FANS_AMONG, .delivered = true,
                                    .badge = true, .changed = true, .activity = true},
    [TIDINGS_EVENT_POST_EDITED] = {FOLLOWERS, TIDINGS_OP_FANS_AMONG, .delivered = true,
                                   .changed = true, .activity = true},
    [TIDINGS_EVENT_SCENE_PUBLISHED] = {FOLLOWERS, TIDINGS_OP_SUBSCRIBERS_AMONG, .scene = true},
    [TIDINGS_EVENT_SCENE_DELETED] = {FOLLOWERS, TIDINGS_OP_SUBSCRIBERS_AMONG, .delivered = true,
                                     .unread = true},
    [TIDINGS_EVENT_STORY_CLOSED] = {FOLLOWERS, TIDINGS_OP_SUBSCRIBERS_AMONG, .delivered = true,
                                    .unread = true},
    [TIDINGS_EVENT_POST_READ] = {ACTOR, .badge = true},
    [TIDINGS_EVENT_POST_UNREAD] = {ACTOR, .badge = true},
    [TIDINGS_EVENT_INBOX_READ] = {ACTOR, .badge = true},
    [TIDINGS_EVENT_INBOX_PURGED] = {ACTOR, .badge = true},
    [TIDINGS_EVENT_NOTIFICATIONS_READ] = {ACTOR, .unread = true},
    [TIDINGS_EVENT_REACTION_CREATED] = {.activity = true},
    [TIDINGS_EVENT_REACTION_DELETED] = {.activity = true},
    [TIDINGS_EVENT_VOTE_CREATED] = {.activity = true},
    [TIDINGS_EVENT_VOTE_DELETED] = {.activity = true},
    [TIDINGS_EVENT_COMMENT_CREATED] = {.activity = true},
    [TIDINGS_EVENT_COMMENT_HIDDEN] = {.activity = true},
    [TIDINGS_EVENT_COMMENT_RESTORED] = {.activity = true},
    [TIDINGS_EVENT_COMMENT_DELETED] = {.activity = true},
};

static const struct concern *concern_of(enum tidings_event_type type)
{
    static const struct concern none;
    return (size_t)type < sizeof concerns / sizeof *concerns ? &concerns[type] : &none;
}

/* Of what they are followers: an author, or a story. */
static uint64_t followed_in(const struct tidings_event *event)
{
    if (event->type == TIDINGS_EVENT_STORY_CLOSED)
        return event->target_id;
    return event->post_id ? event->post_id : event->author_id;
}

/* ---- Asking --------------------------------------------------------------------------------- */

static bool ask(struct teller *teller, struct tidings_op op)
{
    op.role = TIDINGS_ROLE_SERVICE;
    return !tidings_run(teller->api->config.tidings, &op, &teller->answer);
}

static void mark(struct round *round, size_t i, const struct concern *concern, size_t event)
{
    round->counts_badge[i] |= concern->badge;
    round->counts_unread[i] |= concern->unread || concern->scene;
    round->messages[i] |= (uint64_t)concern->post << event;
    round->scenes[i] |= (uint64_t)concern->scene << event;
    round->changes[i] |= (uint64_t)concern->changed << event;
}

static void mark_user(struct round *round, uint64_t user, const struct concern *concern)
{
    size_t i = ids_below(round->users, round->n, user);
    if (i < round->n && round->users[i] == user)
        mark(round, i, concern, 0);
}

static void mark_followers(struct teller *teller, size_t event, const struct concern *concern)
{
    struct round *round = &teller->round;
    struct tidings_op op = {
        .kind = concern->among,
        .user_id = ACTING_USER,
        .u.among = {.author_id = followed_in(&round->events[event]),
                    .delivered = concern->delivered,
                    .item_id = concern->delivered ? 0 : round->events[event].target_id,
                    .user_ids = round->users,
                    .n_user_ids = round->n},
    };
    if (!ask(teller, op))
        return;
    for (size_t i = 0, found = 0; found < teller->answer.u.among.n; i++)
        if (round->users[i] == teller->answer.u.among.user_ids[found]) {
            mark(round, i, concern, event);
            found++;
        }
}

static void mark_everybody(struct round *round)
{
    static const struct concern all = {.badge = true, .unread = true, .changed = true};
    for (size_t i = 0; i < round->n; i++)
        mark(round, i, &all, 0);
}

/* ---- Counting ------------------------------------------------------------------------------- */

/* Some of those whose badge may have moved; where to go on. */
static size_t count_some_badges(struct teller *teller, size_t from)
{
    struct round *round = &teller->round;
    size_t most = teller->api->config.settings.many_max, n = 0, i = from;
    uint64_t *asked = round->badges + round->n; /* the second half is room for this */
    for (; i < round->n && n < most; i++)
        if (round->counts_badge[i])
            asked[n++] = round->users[i];
    struct tidings_op op = {
        .kind = TIDINGS_OP_BADGES, .user_id = ACTING_USER, .u.many = {asked, n}};
    bool ok = n && ask(teller, op);
    for (size_t k = from, at = 0; k < i; k++)
        if (round->counts_badge[k])
            round->badges[k] = ok ? teller->answer.u.badges.totals[at++] : NOT_COUNTED;
    return i;
}

static bool count_unread(struct teller *teller, uint64_t user, uint64_t *unread)
{
    struct tidings_op op = {.kind = TIDINGS_OP_NOTIFICATIONS, .user_id = user, .u.page.limit = 1};
    bool ok = ask(teller, op);
    *unread = ok ? teller->answer.u.notifications.unread : NOT_COUNTED;
    return ok;
}

/* ---- Making --------------------------------------------------------------------------------- */

/* The event's post, as a message to all it concerns; none if it is gone already. */
static void make_post(struct teller *teller, struct parcel *parcel, size_t event)
{
    uint64_t id = teller->round.events[event].target_id;
    struct tidings_op op = {.kind = TIDINGS_OP_POST, .user_id = ACTING_USER, .u.post.post_id = id};
    size_t from = parcel->text.len;
    if (!ask(teller, op))
        return;
    const struct tidings_post *post = &teller->answer.u.post;
    message_post(&parcel->text, &(struct message_post){post->id, post->author_id, post->author_name,
                                                       post->kind, post->title, post->created_at});
    parcel->messages[event] = parcel_slice(parcel, from);
}

/* What happened to a post, as a message to those who have it open; nothing if nobody has. */
static void make_activity(struct teller *teller, struct parcel *parcel, size_t event)
{
    const struct tidings_event *events = teller->round.events;
    uint64_t id = activity_post(&events[event]);
    struct tidings_op op = {.kind = TIDINGS_OP_POST, .user_id = ACTING_USER, .u.post.post_id = id};
    if (!watched_perhaps(&teller->watched, id))
        return;
    bool there = ask(teller, op);
    activity_make(parcel, events, event, there ? &teller->answer.u.post.counts : NULL);
}

static struct tidings_text keep(struct teller *teller, struct tidings_text text)
{
    char *copy = arena_text(&teller->texts, text.p, text.n);
    return (struct tidings_text){copy ? copy : "", copy ? text.n : 0};
}

/* The event's scene with its story's title, kept for the round; none if it is gone already. */
static void load_scene(struct teller *teller, size_t i)
{
    const struct tidings_event *event = &teller->round.events[i];
    struct tidings_notification *scene = &teller->round.told_scenes[i];
    struct tidings_op of_story = {
        .kind = TIDINGS_OP_POST, .user_id = ACTING_USER, .u.post.post_id = event->post_id};
    struct tidings_op of_scene = {
        .kind = TIDINGS_OP_SCENE, .user_id = ACTING_USER, .u.scene_id.scene_id = event->target_id};
    *scene = (struct tidings_notification){.id = 0};
    if (!ask(teller, of_story))
        return;
    scene->story_title = keep(teller, teller->answer.u.post.title);
    if (!ask(teller, of_scene))
        return;
    scene->scene_title = keep(teller, teller->answer.u.scene.title);
    scene->created_at = teller->answer.u.scene.created_at;
    scene->story_id = event->post_id;
    scene->author_id = event->author_id;
    scene->id = event->target_id;
}

/* Each of those concerned is told with the number of their own. */
static void make_scenes(struct teller *teller, struct parcel *parcel, struct told *told,
                        uint64_t scenes)
{
    size_t from = parcel->text.len;
    for (; scenes; scenes &= scenes - 1) {
        const struct tidings_notification *scene =
            &teller->round.told_scenes[__builtin_ctzll(scenes)];
        if (scene->id)
            message_notification(&parcel->text, scene, told->unread);
    }
    told->own = parcel_slice(parcel, from);
}

/* What user i is told. */
static void make_told(struct teller *teller, struct parcel *parcel, size_t i)
{
    struct round *round = &teller->round;
    struct told *told = &parcel->told[parcel->n];
    *told = (struct told){.user = round->users[i],
                          .messages = round->messages[i],
                          .changes = round->changes[i],
                          .badge = NOT_COUNTED,
                          .unread = NOT_COUNTED};
    if (round->counts_badge[i])
        told->badge = round->badges[i];
    if (round->counts_unread[i] && count_unread(teller, told->user, &told->unread) &&
        round->scenes[i])
        make_scenes(teller, parcel, told, round->scenes[i]);
    size_t from = parcel->text.len;
    if (told->badge != NOT_COUNTED)
        message_badge(&parcel->text, told->badge, 0);
    told->badge_text = parcel_slice(parcel, from);
    from = parcel->text.len;
    if (told->unread != NOT_COUNTED && !told->own.n)
        message_unread(&parcel->text, told->unread);
    told->unread_text = parcel_slice(parcel, from);
    parcel->n++;
}

static void deliver(struct teller *teller, struct parcel *parcel, unsigned first, unsigned n)
{
    bool whole = parcel->n && !parcel->text.failed;
    atomic_store(&parcel->holders, whole ? n : 1);
    for (unsigned i = 0; whole && i < n; i++)
        streams_deliver(teller->api->loops[first + i].streams, parcel);
    if (!whole)
        parcel_drop(parcel);
}

static bool is_concerned(const struct round *round, size_t i)
{
    return round->counts_badge[i] || round->counts_unread[i] || round->messages[i] ||
           round->changes[i];
}

/* All that a round has found, to every loop. */
static void tell_round(struct teller *teller)
{
    struct round *round = &teller->round;
    size_t n = 0;
    for (size_t i = 0; i < round->n; i++)
        n += is_concerned(round, i);
    struct parcel *parcel = n ? parcel_new(n) : NULL;
    if (!parcel)
        return;
    for (size_t i = 0; i < round->n_events; i++) {
        const struct concern *concern = concern_of(round->events[i].type);
        if (concern->post)
            make_post(teller, parcel, i);
        if (concern->scene)
            load_scene(teller, i);
        if (concern->changed)
            activity_make_change(parcel, round->events, i);
        if (concern->activity)
            make_activity(teller, parcel, i);
    }
    if (round->lost)
        activity_make_missed(parcel);
    for (size_t i = 0; i < round->n;)
        i = count_some_badges(teller, i);
    for (size_t i = 0; i < round->n; i++)
        if (is_concerned(round, i))
            make_told(teller, parcel, i);
    deliver(teller, parcel, 0, teller->api->config.threads);
}

/* ---- Greeting ------------------------------------------------------------------------------- */

static uint32_t replay_limit(const struct teller *teller)
{
    uint64_t most = teller->api->config.settings.page_max;
    return most < REPLAY_MAX ? (uint32_t)most : REPLAY_MAX;
}

/* Posts that came after the last event the client has seen, oldest first, as far back as a page
 * goes. */
static void replay_posts(struct teller *teller, const struct greeting *greeting, struct buf *to)
{
    struct tidings_op op = {.kind = TIDINGS_OP_INBOX,
                            .user_id = greeting->user,
                            .u.feed.page.limit = replay_limit(teller)};
    if (!ask(teller, op))
        return;
    for (size_t i = teller->answer.u.feed.n; i--;) {
        const struct tidings_item *item = &teller->answer.u.feed.rows[i];
        if (item->post_id > greeting->seen && !item->is_deleted)
            message_post(to,
                         &(struct message_post){item->post_id, item->author_id, item->author_name,
                                                item->kind, item->title, item->created_at});
    }
}

/* Notifications likewise, those not read. Having no ids of their own they may come twice. */
static void replay_notifications(struct teller *teller, const struct greeting *greeting,
                                 struct buf *to)
{
    struct tidings_op op = {.kind = TIDINGS_OP_NOTIFICATIONS,
                            .user_id = greeting->user,
                            .u.page.limit = replay_limit(teller)};
    if (!ask(teller, op))
        return;
    for (size_t i = teller->answer.u.notifications.n; i--;) {
        const struct tidings_notification *row = &teller->answer.u.notifications.rows[i];
        if (row->id > greeting->seen && !row->is_read)
            message_notification(to, row, teller->answer.u.notifications.unread);
    }
}

/* The newest post or scene that was delivered to the user, so that a client has an id to come back with; 1 if there is
 * none. */
static uint64_t newest_delivered(struct teller *teller, uint64_t user)
{
    struct tidings_op inbox = {.kind = TIDINGS_OP_INBOX, .user_id = user, .u.feed.page.limit = 1};
    struct tidings_op bell = {.kind = TIDINGS_OP_NOTIFICATIONS, .user_id = user, .u.page.limit = 1};
    uint64_t newest = 1;
    if (ask(teller, inbox) && teller->answer.u.feed.n)
        newest = teller->answer.u.feed.rows[0].post_id;
    if (ask(teller, bell) && teller->answer.u.notifications.n &&
        teller->answer.u.notifications.rows[0].id > newest)
        newest = teller->answer.u.notifications.rows[0].id;
    return newest;
}

static void greet(struct teller *teller, const struct greeting *greeting)
{
    struct parcel *parcel = parcel_new(1);
    struct tidings_op badge = {.kind = TIDINGS_OP_BADGE, .user_id = greeting->user};
    uint64_t id = 0;
    if (!parcel)
        return;
    if (greeting->seen) {
        replay_posts(teller, greeting, &parcel->text);
        replay_notifications(teller, greeting, &parcel->text);
    } else {
        id = newest_delivered(teller, greeting->user);
    }
    struct told *told = &parcel->told[0];
    *told = (struct told){.user = greeting->user,
                          .badge = NOT_COUNTED,
                          .unread = NOT_COUNTED,
                          .stream = greeting->stream};
    size_t from = 0;
    if (ask(teller, badge)) {
        told->badge = teller->answer.u.badge.total;
        message_badge(&parcel->text, told->badge, id);
    }
    told->own = parcel_slice(parcel, from);
    from = parcel->text.len;
    if (told->badge != NOT_COUNTED)
        message_badge(&parcel->text, told->badge, 0);
    told->badge_text = parcel_slice(parcel, from);
    parcel->n = 1;
    deliver(teller, parcel, greeting->loop, 1);
}

/* ---- The thread ----------------------------------------------------------------------------- */

/* Room for as many users as are online, all of it zero; false if memory is short. */
static bool begin_round(struct teller *teller)
{
    struct round *round = &teller->round;
    round->n = audience_copy(&teller->audience, &round->users, &round->room);
    size_t n = round->n;
    round->messages = n ? calloc(n, 2 * sizeof(bool) + 5 * sizeof(uint64_t)) : NULL;
    if (!round->messages)
        return false;
    round->scenes = round->messages + n;
    round->changes = round->scenes + n;
    round->badges = round->changes + n; /* and the room that count_some_badges wants */
    round->counts_badge = (bool *)(void *)(round->badges + 2 * n);
    round->counts_unread = round->counts_badge + n;
    return true;
}

static void run_round(struct teller *teller)
{
    struct round *round = &teller->round;
    if (!begin_round(teller))
        return;
    struct activity_users users = {round->users, round->n, round->messages};
    if (round->lost) {
        mark_everybody(round);
        activity_mark_missed(&teller->watched, users);
    }
    for (size_t i = 0; i < round->n_events; i++) {
        const struct concern *concern = concern_of(round->events[i].type);
        if (concern->whom == ACTOR)
            mark_user(round, round->events[i].actor_user_id, concern);
        else if (concern->whom == FOLLOWERS && !activity_is_repeat(round->events, i))
            mark_followers(teller, i, concern);
        if (concern->activity)
            activity_mark(&teller->watched, round->events, i, users);
    }
    tell_round(teller);
    arena_clear(&teller->texts);
    free(round->messages);
}

/* What has come meanwhile; waits for something. False when it is time to stop. */
static bool take_news(struct teller *teller, struct greeting **greetings)
{
    struct round *round = &teller->round;
    pthread_mutex_lock(&teller->mutex);
    while (!teller->n_events && !teller->lost && !teller->first && !teller->stopping)
        pthread_cond_wait(&teller->wanted, &teller->mutex);
    round->lost = teller->lost;
    if (round->lost)
        teller->n_events = 0; /* all is counted anew, and whoever is behind must not stay so */
    teller->lost = false;
    round->n_events = teller->n_events < PARCEL_MESSAGES ? teller->n_events : PARCEL_MESSAGES;
    memcpy(round->events, teller->events, round->n_events * sizeof *round->events);
    teller->n_events -= round->n_events;
    memmove(teller->events, teller->events + round->n_events,
            teller->n_events * sizeof *teller->events);
    *greetings = teller->first;
    teller->first = NULL;
    teller->last = &teller->first;
    bool go_on = !teller->stopping;
    pthread_mutex_unlock(&teller->mutex);
    return go_on;
}

static void free_greetings(struct greeting *greeting)
{
    while (greeting) {
        struct greeting *next = greeting->next;
        free(greeting);
        greeting = next;
    }
}

/* Greetings first: what happened after a stream began must be told to it, and comes behind. */
static void *teller_main(void *arg)
{
    struct teller *teller = arg;
    struct greeting *greetings;
    thread_name("teller");
    while (take_news(teller, &greetings)) {
        for (struct greeting *one = greetings; one; one = one->next)
            greet(teller, one);
        free_greetings(greetings);
        if (teller->round.n_events || teller->round.lost)
            run_round(teller);
        for (unsigned i = 0; i < teller->api->config.threads; i++)
            streams_wait(teller->api->loops[i].streams);
    }
    free_greetings(greetings);
    return NULL;
}

/* Whether anybody may have to hear of it. */
static bool is_news(struct teller *teller, const struct tidings_event *event)
{
    const struct concern *concern = concern_of(event->type);
    return concern->whom != NOBODY ||
           (concern->activity && watched_perhaps(&teller->watched, activity_post(event)));
}

/* On the engine's thread. */
static void heed(struct tidings_watcher *watcher, const struct tidings_event *events, size_t n)
{
    struct teller *teller = (struct teller *)watcher;
    if (audience_is_empty(&teller->audience))
        return;
    pthread_mutex_lock(&teller->mutex);
    teller->lost |= !n;
    for (size_t i = 0; i < n; i++) {
        if (!is_news(teller, &events[i]))
            continue;
        if (teller->n_events < teller->api->config.stream_backlog)
            teller->events[teller->n_events++] = events[i];
        else
            teller->lost = true;
    }
    pthread_cond_signal(&teller->wanted);
    pthread_mutex_unlock(&teller->mutex);
}

/* ---- Life ----------------------------------------------------------------------------------- */

struct teller *teller_start(struct api *api)
{
    struct teller *teller = calloc(1, sizeof *teller);
    struct tidings_event *events = calloc(api->config.stream_backlog, sizeof *events);
    if (!teller || !events) {
        free(teller);
        free(events);
        return NULL;
    }
    teller->api = api;
    teller->events = events;
    teller->watcher.tell = heed;
    teller->last = &teller->first;
    audience_init(&teller->audience);
    watched_init(&teller->watched);
    tidings_answer_init(&teller->answer);
    arena_init(&teller->texts, TEXTS_MAX);
    pthread_mutex_init(&teller->mutex, NULL);
    pthread_cond_init(&teller->wanted, NULL);
    if (pthread_create(&teller->thread, NULL, teller_main, teller)) {
        free(events);
        free(teller);
        return NULL;
    }
    tidings_watch(api->config.tidings, &teller->watcher);
    return teller;
}

void teller_stop(struct teller *teller)
{
    if (!teller)
        return;
    tidings_unwatch(teller->api->config.tidings, &teller->watcher);
    for (unsigned i = 0; i < teller->api->config.threads; i++)
        streams_stop(teller->api->loops[i].streams);
    pthread_mutex_lock(&teller->mutex);
    teller->stopping = true;
    pthread_cond_signal(&teller->wanted);
    pthread_mutex_unlock(&teller->mutex);
    pthread_join(teller->thread, NULL);
    free_greetings(teller->first);
    tidings_answer_release(&teller->answer);
    arena_release(&teller->texts);
    audience_release(&teller->audience);
    watched_release(&teller->watched);
    free(teller->round.users);
    free(teller->events);
    pthread_mutex_destroy(&teller->mutex);
    pthread_cond_destroy(&teller->wanted);
    free(teller);
}

/* ---- From the loops ------------------------------------------------------------------------- */

bool teller_greet(struct teller *teller, unsigned loop, uint64_t user, uint64_t stream,
                  uint64_t seen)
{
    struct greeting *greeting = malloc(sizeof *greeting);
    if (!greeting)
        return false;
    *greeting = (struct greeting){NULL, loop, user, stream, seen};
    pthread_mutex_lock(&teller->mutex);
    *teller->last = greeting;
    teller->last = &greeting->next;
    pthread_cond_signal(&teller->wanted);
    pthread_mutex_unlock(&teller->mutex);
    return true;
}

struct watched *teller_watched(struct teller *teller)
{
    return &teller->watched;
}

bool teller_online(struct teller *teller, uint64_t user)
{
    return audience_add(&teller->audience, user);
}

void teller_offline(struct teller *teller, uint64_t user)
{
    audience_remove(&teller->audience, user);
}
