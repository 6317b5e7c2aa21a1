/* SPDX-License-Identifier: MIT */
#include "api/streams.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "api/internal.h"
#include "api/parcel.h"
#include "api/teller.h"
#include "api/watched.h"

/* Parcels that wait for a loop at most; users looked at in one turn of it: requests of others wait for its end. */
enum { PARCELS = 4, USERS_PER_TURN = 1024 };

/* One open stream. */
struct watcher {
    struct watcher *next;
    struct streams *owner;
    struct http_stream *stream;
    uint64_t user;
    uint64_t number;  /* among the loop's */
    bool greeted;     /* what is told before that is in the greeting */
    int64_t until_ms; /* of the token: nothing is sent after it */
    size_t n_watches;
    struct watch watches[]; /* posts that it has open */
};

/* A user with streams on this loop. */
struct online {
    uint64_t user;
    uint64_t badge;  /* the last one sent */
    uint64_t unread; /* notifications: the last number sent */
    struct watcher *watchers;
};

struct streams {
    struct http_post post; /* how the loop is told */
    struct api *api;
    unsigned loop_index;

    struct online *online; /* by user id */
    size_t n, room;
    uint64_t opened; /* streams so far */
    size_t done;     /* users of the first parcel who have been told */
    int64_t now_ms;  /* in this turn */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t taken;
    struct parcel *parcels[PARCELS];
    size_t n_parcels;
    bool posted;
    bool stopped;
};

static void run_parcels(struct http_post *post);

struct streams *streams_new(struct api *api, unsigned loop_index)
{
    struct streams *streams = calloc(1, sizeof *streams);
    if (!streams)
        return NULL;
    streams->api = api;
    streams->loop_index = loop_index;
    streams->post.run = run_parcels;
    pthread_mutex_init(&streams->mutex, NULL);
    pthread_cond_init(&streams->taken, NULL);
    return streams;
}

void streams_free(struct streams *streams)
{
    if (!streams)
        return;
    for (size_t i = 0; i < streams->n_parcels; i++)
        parcel_drop(streams->parcels[i]);
    pthread_mutex_destroy(&streams->mutex);
    pthread_cond_destroy(&streams->taken);
    free(streams->online);
    free(streams);
}

/* ---- Who is online -------------------------------------------------------------------------- */

/* Where the user is, or belongs. */
static size_t place_of(const struct streams *streams, uint64_t user)
{
    size_t low = 0, high = streams->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (streams->online[middle].user < user)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct online *find_online(const struct streams *streams, uint64_t user)
{
    size_t i = place_of(streams, user);
    return i < streams->n && streams->online[i].user == user ? &streams->online[i] : NULL;
}

static bool make_room(struct streams *streams)
{
    if (streams->n < streams->room)
        return true;
    size_t room = streams->room ? streams->room * 2 : 64;
    struct online *online = realloc(streams->online, room * sizeof *online);
    if (!online)
        return false;
    streams->online = online;
    streams->room = room;
    return true;
}

static struct online *add_online(struct streams *streams, uint64_t user)
{
    struct online *found = find_online(streams, user);
    if (found)
        return found;
    if (!make_room(streams) || !teller_online(streams->api->teller, user))
        return NULL;
    size_t i = place_of(streams, user);
    memmove(streams->online + i + 1, streams->online + i,
            (streams->n - i) * sizeof *streams->online);
    streams->online[i] = (struct online){.user = user, .badge = NOT_COUNTED, .unread = NOT_COUNTED};
    streams->n++;
    return &streams->online[i];
}

static void drop_if_gone(struct streams *streams, struct online *online)
{
    if (online->watchers)
        return;
    size_t i = (size_t)(online - streams->online);
    teller_offline(streams->api->teller, online->user);
    memmove(online, online + 1, (streams->n - i - 1) * sizeof *online);
    streams->n--;
}

static void remove_watcher(struct streams *streams, struct watcher *watcher)
{
    struct online *online = find_online(streams, watcher->user);
    struct watcher **link = &online->watchers;
    for (size_t i = 0; i < watcher->n_watches; i++)
        watched_remove(teller_watched(streams->api->teller), &watcher->watches[i]);
    while (*link != watcher)
        link = &(*link)->next;
    *link = watcher->next;
    drop_if_gone(streams, online);
    free(watcher);
}

static void stream_closed(struct http_stream *stream, enum http_stream_end why, void *ctx)
{
    struct watcher *watcher = ctx;
    (void)stream;
    (void)why;
    remove_watcher(watcher->owner, watcher);
}

/* ---- Sending -------------------------------------------------------------------------------- */

static void send_one(struct watcher *watcher, const struct parcel *parcel, struct slice slice)
{
    if (!slice.n || !watcher->greeted)
        return;
    if (watcher->owner->now_ms >= watcher->until_ms)
        http_stream_end(watcher->stream);
    else
        http_stream_send(watcher->stream, parcel->text.data + slice.at, slice.n);
}

static void send_all(const struct online *online, const struct parcel *parcel, struct slice slice)
{
    for (struct watcher *watcher = online->watchers; watcher; watcher = watcher->next)
        send_one(watcher, parcel, slice);
}

static bool has_open(const struct watcher *watcher, uint64_t post)
{
    for (size_t i = 0; i < watcher->n_watches; i++)
        if (watcher->watches[i].post == post || post == ANY_POST)
            return true;
    return false;
}

static void send_message(const struct online *online, const struct parcel *parcel, unsigned i)
{
    uint64_t post = parcel->about[i];
    for (struct watcher *watcher = online->watchers; watcher; watcher = watcher->next)
        if (!post || has_open(watcher, post))
            send_one(watcher, parcel, parcel->messages[i]);
}

/* The first that a stream hears. Other devices of the user may not have heard of this badge yet. */
static void greet(struct online *online, const struct parcel *parcel, const struct told *told)
{
    struct watcher *watcher = online->watchers;
    bool news = told->badge != online->badge;
    while (watcher && watcher->number != told->stream)
        watcher = watcher->next;
    if (!watcher)
        return;
    for (struct watcher *other = online->watchers; other && news; other = other->next)
        send_one(other, parcel, told->badge_text);
    watcher->greeted = true;
    send_one(watcher, parcel, told->own);
    online->badge = told->badge;
}

static void tell(struct online *online, const struct parcel *parcel, const struct told *told)
{
    for (uint64_t bits = told->messages; bits; bits &= bits - 1)
        send_message(online, parcel, (unsigned)__builtin_ctzll(bits));
    for (uint64_t bits = told->changes; bits; bits &= bits - 1)
        send_all(online, parcel, parcel->changes[__builtin_ctzll(bits)]);
    send_all(online, parcel, told->own);
    if (told->badge != NOT_COUNTED && told->badge != online->badge) {
        online->badge = told->badge;
        send_all(online, parcel, told->badge_text);
    }
    if (told->unread != NOT_COUNTED && told->unread != online->unread) {
        online->unread = told->unread;
        send_all(online, parcel, told->unread_text);
    }
}

/* The same as find_online for one user after the other, ascending: most often the next one or the one after it. */
static struct online *find_next(const struct streams *streams, size_t *at, uint64_t user)
{
    enum { STEPS = 4 };
    for (int i = 0; i < STEPS && *at < streams->n && streams->online[*at].user < user; i++)
        ++*at;
    if (*at < streams->n && streams->online[*at].user < user)
        *at = place_of(streams, user);
    return *at < streams->n && streams->online[*at].user == user ? &streams->online[*at] : NULL;
}

/* Tells some of the users; true if none is left. */
static bool tell_some(struct streams *streams, const struct parcel *parcel)
{
    size_t at = 0;
    streams->now_ms = api_now_ms();
    for (size_t budget = USERS_PER_TURN; budget && streams->done < parcel->n; streams->done++) {
        const struct told *told = &parcel->told[streams->done];
        struct online *online = find_next(streams, &at, told->user);
        if (!online)
            continue;
        if (told->stream)
            greet(online, parcel, told);
        else
            tell(online, parcel, told);
        budget--;
    }
    return streams->done == parcel->n;
}

/*
 * On the loop's thread. A bounded number of users: what is sent goes out at the end of the loop's turn, and too much at
 * once would look like a reader that is too slow. A stream's end is only noted while we send: see http_stream_begin.
 */
static void run_parcels(struct http_post *post)
{
    struct streams *streams = (struct streams *)post;
    pthread_mutex_lock(&streams->mutex);
    struct parcel *parcel = streams->parcels[0];
    pthread_mutex_unlock(&streams->mutex);
    bool done = tell_some(streams, parcel);

    pthread_mutex_lock(&streams->mutex);
    if (done) {
        streams->done = 0;
        streams->n_parcels--;
        memmove(streams->parcels, streams->parcels + 1,
                streams->n_parcels * sizeof *streams->parcels);
        pthread_cond_signal(&streams->taken);
    }
    bool again = streams->posted = streams->n_parcels != 0;
    pthread_mutex_unlock(&streams->mutex);
    if (done)
        parcel_drop(parcel);
    if (again)
        http_post(http_server_loop(streams->api->server, streams->loop_index), post);
}

void streams_deliver(struct streams *streams, struct parcel *parcel)
{
    pthread_mutex_lock(&streams->mutex);
    while (streams->n_parcels == PARCELS && !streams->stopped)
        pthread_cond_wait(&streams->taken, &streams->mutex);
    bool taken = !streams->stopped, post = taken && !streams->posted;
    if (taken) {
        streams->parcels[streams->n_parcels++] = parcel;
        streams->posted = true;
    }
    pthread_mutex_unlock(&streams->mutex);
    if (post)
        http_post(http_server_loop(streams->api->server, streams->loop_index), &streams->post);
    if (!taken)
        parcel_drop(parcel);
}

void streams_wait(struct streams *streams)
{
    pthread_mutex_lock(&streams->mutex);
    while (streams->n_parcels && !streams->stopped)
        pthread_cond_wait(&streams->taken, &streams->mutex);
    pthread_mutex_unlock(&streams->mutex);
}

void streams_stop(struct streams *streams)
{
    pthread_mutex_lock(&streams->mutex);
    streams->stopped = true;
    pthread_cond_signal(&streams->taken);
    pthread_mutex_unlock(&streams->mutex);
}

/* ---- Opening -------------------------------------------------------------------------------- */

/* A new stream of the user's, without its HTTP side; NULL if memory is short. */
static struct watcher *add_watcher(struct streams *streams, const struct exchange *ex,
                                   const uint64_t *posts, size_t n)
{
    struct watcher *watcher = malloc(sizeof *watcher + n * sizeof *watcher->watches);
    struct online *online = watcher ? add_online(streams, ex->user_id) : NULL;
    if (!online) {
        free(watcher);
        return NULL;
    }
    *watcher = (struct watcher){
        .next = online->watchers,
        .owner = streams,
        .user = ex->user_id,
        .number = ++streams->opened,
        .until_ms = ex->claims.until_ms,
        .n_watches = n,
    };
    for (size_t i = 0; i < n; i++) {
        watcher->watches[i] = (struct watch){.post = posts[i], .user = ex->user_id};
        watched_add(teller_watched(streams->api->teller), &watcher->watches[i]);
    }
    online->watchers = watcher;
    return watcher;
}

/* The posts that the stream is to hear of; none if it does not say. */
static bool open_posts(struct exchange *ex, const uint64_t **posts, size_t *n)
{
    *n = 0;
    if (!http_query_get(&ex->query, "post_ids").p)
        return true;
    if (!query_ids(ex, "post_ids", posts, n))
        return false;
    if (*n <= WATCHED_POSTS_MAX)
        return true;
    exchange_invalid(ex, "post_ids", "1 to %d ids, separated by commas", WATCHED_POSTS_MAX);
    return false;
}

/* What the stream is asked to be. */
struct wish {
    uint64_t seen; /* the last event that the client has */
    const uint64_t *posts;
    size_t n_posts;
};

static bool take_wish(struct exchange *ex, struct wish *wish)
{
    struct http_text last = http_request_header(ex->req, "Last-Event-ID", NULL);
    *wish = (struct wish){0};
    if (last.p && last.n && !parse_id(last, &wish->seen)) {
        exchange_invalid(ex, "Last-Event-ID", "the id of an event of this stream");
        return false;
    }
    return open_posts(ex, &wish->posts, &wish->n_posts);
}

static void begin(struct exchange *ex, const struct wish *wish)
{
    struct streams *streams = exchange_loop(ex)->streams;
    struct watcher *watcher = add_watcher(streams, ex, wish->posts, wish->n_posts);
    if (!watcher) {
        exchange_problem(ex, 503, "busy", "Too much to do at the moment. Try again later.");
        return;
    }
    metrics_count(exchange_loop(ex)->metrics, (size_t)(ex->route - routes), 200,
                  api_now_us() - ex->started_us);
    json_decref(ex->body);
    tidings_answer_release(&ex->answer);
    uint64_t seen = wish->seen;
    /* The exchange goes with the request. */
    watcher->stream = http_stream_begin(ex->req, NULL, 0, stream_closed, watcher);
    if (!watcher->stream)
        remove_watcher(streams, watcher);
    else if (!teller_greet(streams->api->teller, streams->loop_index, watcher->user,
                           watcher->number, seen))
        http_stream_end(watcher->stream);
}

/* The engine has answered. Whoever has gone meanwhile is found to be when the stream begins. */
static void begin_if_spent(struct exchange *ex)
{
    struct wish wish;
    if (ex->answer.err == TIDINGS_NOT_FOUND)
        exchange_refuse_ticket(ex);
    else if (ex->answer.err)
        exchange_refuse(ex);
    else if (take_wish(ex, &wish))
        begin(ex, &wish);
}

/* A ticket is not spent on what cannot be. */
void streams_open(struct exchange *ex)
{
    struct wish wish;
    if (!take_wish(ex, &wish))
        return;
    if (!ex->has_ticket) {
        begin(ex, &wish);
        return;
    }
    ex->respond = begin_if_spent;
    exchange_submit(ex);
}
