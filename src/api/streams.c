/* SPDX-License-Identifier: MIT */
#include "api/streams.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "api/internal.h"

enum { NOTICES = 1024, NOTICES_PER_TURN = 8, EVENT_MAX = 16384, REPLAY_MAX = 100 };

/* Users looked at in one turn of the loop: requests of others wait for its end. */
enum { USERS_PER_TURN = 1024 };

/* The most that the setting title_max may be, in bytes. */
enum { TITLE_MAX = 4000 };

/* One open stream. */
struct watcher {
    struct watcher *next;
    struct streams *owner;
    struct http_stream *stream;
    uint64_t user;
    int64_t until_ms; /* of the token: nothing is sent after it */
};

/* A user with streams on this loop. */
struct online {
    uint64_t user;
    uint64_t badge;  /* the last one sent */
    uint64_t unread; /* notifications: the last number sent */
    struct watcher *watchers;
};

enum notice_kind {
    NOTICE_USER,    /* something of the user's own that moves the badge */
    NOTICE_BELL,    /* something of the user's own that moves the number of notifications */
    NOTICE_POST,    /* a post of the author's */
    NOTICE_DELETED, /* a post of the author's is gone */
    NOTICE_SCENE,   /* a scene of a story of the author's */
    NOTICE_GONE,    /* a scene of the story, or all of it, is gone */
    NOTICE_ALL,     /* too much to remember: all is counted anew for everybody */
};

struct notice {
    enum notice_kind kind;
    uint64_t user; /* whose; the author */
    uint64_t post; /* or the story */
    uint64_t scene;
    uint64_t done; /* users up to this one have been told */
};

struct streams {
    struct http_post post; /* how the loop is told */
    struct api *api;
    unsigned loop_index;

    struct online *online; /* by user id */
    size_t n, room;
    uint64_t ids[USERS_PER_TURN]; /* of those asked about, then of those concerned */
    struct tidings_answer answer;
    struct notice current[NOTICES_PER_TURN + 1]; /* being told of */
    size_t n_current;
    struct buf out;

    pthread_mutex_t mutex; /* guards what follows */
    struct notice notices[NOTICES];
    size_t n_notices;
    bool overflow; /* too many to remember */
    bool posted;
};

static void run_notices(struct http_post *post);

struct streams *streams_new(struct api *api, unsigned loop_index)
{
    struct streams *streams = calloc(1, sizeof *streams);
    if (!streams)
        return NULL;
    streams->api = api;
    streams->loop_index = loop_index;
    streams->post.run = run_notices;
    pthread_mutex_init(&streams->mutex, NULL);
    tidings_answer_init(&streams->answer);
    buf_init(&streams->out, EVENT_MAX);
    return streams;
}

void streams_free(struct streams *streams)
{
    if (!streams)
        return;
    pthread_mutex_destroy(&streams->mutex);
    tidings_answer_release(&streams->answer);
    buf_release(&streams->out);
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
    if (!make_room(streams))
        return NULL;
    size_t i = place_of(streams, user);
    memmove(streams->online + i + 1, streams->online + i,
            (streams->n - i) * sizeof *streams->online);
    streams->online[i] = (struct online){.user = user, .badge = UINT64_MAX, .unread = UINT64_MAX};
    streams->n++;
    return &streams->online[i];
}

static void remove_watcher(struct streams *streams, struct watcher *watcher)
{
    struct online *online = find_online(streams, watcher->user);
    struct watcher **link = &online->watchers;
    while (*link != watcher)
        link = &(*link)->next;
    *link = watcher->next;
    if (!online->watchers) {
        size_t i = (size_t)(online - streams->online);
        memmove(online, online + 1, (streams->n - i - 1) * sizeof *online);
        streams->n--;
    }
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

static void send_out(struct streams *streams, struct watcher *watcher)
{
    if (api_now_ms() >= watcher->until_ms)
        http_stream_end(watcher->stream);
    else
        http_stream_send(watcher->stream, streams->out.data, streams->out.len);
}

static void send_all(struct streams *streams, const struct online *online)
{
    for (struct watcher *watcher = online->watchers; watcher; watcher = watcher->next)
        send_out(streams, watcher);
}

static enum tidings_err ask(struct streams *streams, const struct tidings_op *op)
{
    return tidings_run(streams->api->config.tidings, op, &streams->answer);
}

/* "event: name\nid: id\ndata: " and an open object; no id if that is 0. */
static struct json_out begin_event(struct streams *streams, const char *name, uint64_t id)
{
    struct json_out out;
    buf_clear(&streams->out);
    buf_printf(&streams->out, "event: %s\n", name);
    if (id)
        buf_printf(&streams->out, "id: %llu\n", (unsigned long long)id);
    buf_literal(&streams->out, "data: ");
    json_out_init(&out, &streams->out);
    json_out_object(&out);
    return out;
}

static void end_event(struct streams *streams, struct json_out *out)
{
    json_out_end(out);
    buf_literal(&streams->out, "\n\n");
}

/*
 * The user's badge in streams->out; false if it could not be had. Only posts have ids, since a client that comes back
 * is told of the posts behind the last id it saw: a badge may be counted before an older post is told of. The first
 * badge of a new client has one all the same, or there would be none to come back with.
 */
static bool make_badge(struct streams *streams, uint64_t user, bool first, uint64_t *total)
{
    struct tidings_op op = {.kind = TIDINGS_OP_BADGE, .user_id = user};
    if (ask(streams, &op))
        return false;
    *total = streams->answer.u.badge.total;
    struct json_out out =
        begin_event(streams, "badge", first ? streams->answer.u.badge.as_of.part[0] : 0);
    put_u64(&out, "total", *total);
    end_event(streams, &out);
    return true;
}

static void refresh_badge(struct streams *streams, struct online *online)
{
    uint64_t total;
    if (!make_badge(streams, online->user, false, &total) || total == online->badge)
        return;
    online->badge = total;
    send_all(streams, online);
}

static void make_post(struct streams *streams, uint64_t id, uint64_t author,
                      struct tidings_text author_name, enum tidings_post_kind kind,
                      struct tidings_text title, int64_t created_at)
{
    struct json_out out = begin_event(streams, "post", id);
    put_u64(&out, "post_id", id);
    json_out_key(&out, "kind");
    json_out_text(&out, post_kind_name(kind));
    put_u64(&out, "author_id", author);
    put_text(&out, "author_name", author_name);
    put_text(&out, "title", title);
    put_i64(&out, "created_at", created_at);
    end_event(streams, &out);
}

/* The notification, and how many are unread after it. */
static void make_notification(struct streams *streams, const struct tidings_notification *notice,
                              uint64_t unread)
{
    struct json_out out = begin_event(streams, "notification", 0);
    put_notification(&out, notice);
    put_u64(&out, "unread", unread);
    end_event(streams, &out);
}

/* How many notifications the user has not read; false if it could not be had. */
static bool count_unread(struct streams *streams, uint64_t user, uint64_t *unread)
{
    struct tidings_op op = {.kind = TIDINGS_OP_NOTIFICATIONS, .user_id = user, .u.page.limit = 1};
    if (ask(streams, &op))
        return false;
    *unread = streams->answer.u.notifications.unread;
    return true;
}

static void refresh_unread(struct streams *streams, struct online *online)
{
    uint64_t unread;
    if (!count_unread(streams, online->user, &unread) || unread == online->unread)
        return;
    online->unread = unread;
    struct json_out out = begin_event(streams, "unread", 0);
    put_u64(&out, "notifications", unread);
    end_event(streams, &out);
    send_all(streams, online);
}

/* ---- Notices -------------------------------------------------------------------------------- */

/* Those concerned among n users of streams->ids, there again; how many they are. */
static size_t keep_concerned(struct streams *streams, const struct notice *notice, size_t n)
{
    bool gone = notice->kind == NOTICE_GONE, scene = gone || notice->kind == NOTICE_SCENE;
    struct tidings_op op = {
        .kind = scene ? TIDINGS_OP_SUBSCRIBERS_AMONG : TIDINGS_OP_FANS_AMONG,
        .user_id = notice->user,
        .u.among = {.author_id = scene ? notice->post : notice->user,
                    .delivered = gone || notice->kind == NOTICE_DELETED,
                    .user_ids = streams->ids,
                    .n_user_ids = n},
    };
    if (notice->kind == NOTICE_ALL)
        return n;
    if (!n || ask(streams, &op))
        return 0;
    n = streams->answer.u.among.n;
    memcpy(streams->ids, streams->answer.u.among.user_ids, n * sizeof *streams->ids);
    return n;
}

/* Tells n users of streams->ids of a post. */
static void tell_of_post(struct streams *streams, const struct notice *notice, size_t n)
{
    struct tidings_op op = {
        .kind = TIDINGS_OP_POST, .user_id = notice->user, .u.post.post_id = notice->post};
    if (!n || ask(streams, &op))
        return;
    const struct tidings_post *post = &streams->answer.u.post;
    make_post(streams, post->id, post->author_id, post->author_name, post->kind, post->title,
              post->created_at);
    for (size_t i = 0; i < n; i++)
        send_all(streams, find_online(streams, streams->ids[i]));
}

/* The answer's memory is used for the next question. */
static struct tidings_text keep_title(struct tidings_text title, char to[TITLE_MAX])
{
    size_t n = title.n < TITLE_MAX ? title.n : TITLE_MAX;
    memcpy(to, title.p, n);
    return (struct tidings_text){to, n};
}

/* Tells n users of streams->ids of a scene, each with the number of the user's own. */
static void tell_of_scene(struct streams *streams, const struct notice *notice, size_t n)
{
    char story_title[TITLE_MAX], scene_title[TITLE_MAX];
    struct tidings_op story = {
        .kind = TIDINGS_OP_POST, .user_id = notice->user, .u.post.post_id = notice->post};
    struct tidings_op scene = {
        .kind = TIDINGS_OP_SCENE, .user_id = notice->user, .u.scene_id.scene_id = notice->scene};
    struct tidings_notification told = {
        .id = notice->scene, .story_id = notice->post, .author_id = notice->user};
    if (!n || ask(streams, &story))
        return;
    told.story_title = keep_title(streams->answer.u.post.title, story_title);
    if (ask(streams, &scene))
        return;
    told.scene_title = keep_title(streams->answer.u.scene.title, scene_title);
    told.created_at = streams->answer.u.scene.created_at;
    for (size_t i = 0; i < n; i++) {
        struct online *online = find_online(streams, streams->ids[i]);
        if (!count_unread(streams, online->user, &online->unread))
            continue;
        make_notification(streams, &told, online->unread);
        send_all(streams, online);
    }
}

/* Tells some of those online, those next in order; true if nobody is left. */
static bool tell_some(struct streams *streams, struct notice *notice, size_t *budget)
{
    size_t from = place_of(streams, notice->done + 1);
    size_t n = streams->n - from < *budget ? streams->n - from : *budget;
    bool last = from + n == streams->n;
    for (size_t i = 0; i < n; i++)
        streams->ids[i] = streams->online[from + i].user;
    if (n)
        notice->done = streams->ids[n - 1];
    *budget -= n;

    n = keep_concerned(streams, notice, n);
    if (notice->kind == NOTICE_POST)
        tell_of_post(streams, notice, n);
    if (notice->kind == NOTICE_SCENE)
        tell_of_scene(streams, notice, n);
    for (size_t i = 0; i < n; i++) {
        struct online *online = find_online(streams, streams->ids[i]);
        if (notice->kind != NOTICE_SCENE && notice->kind != NOTICE_GONE)
            refresh_badge(streams, online);
        if (notice->kind == NOTICE_GONE || notice->kind == NOTICE_ALL)
            refresh_unread(streams, online);
    }
    return last;
}

/* True if it is done with. */
static bool heed(struct streams *streams, struct notice *notice, size_t *budget)
{
    if (notice->kind != NOTICE_USER && notice->kind != NOTICE_BELL)
        return tell_some(streams, notice, budget);
    struct online *online = find_online(streams, notice->user);
    if (online && notice->kind == NOTICE_USER)
        refresh_badge(streams, online);
    if (online && notice->kind == NOTICE_BELL)
        refresh_unread(streams, online);
    return true;
}

/* The next few, if all before them are done with. */
static void take_notices(struct streams *streams)
{
    if (streams->n_current)
        return;
    pthread_mutex_lock(&streams->mutex);
    size_t n = streams->n_notices < NOTICES_PER_TURN ? streams->n_notices : NOTICES_PER_TURN;
    memcpy(streams->current, streams->notices, n * sizeof *streams->notices);
    streams->n_notices -= n;
    memmove(streams->notices, streams->notices + n, streams->n_notices * sizeof *streams->notices);
    if (!streams->n_notices && streams->overflow) {
        streams->overflow = false;
        streams->current[n++] = (struct notice){.kind = NOTICE_ALL};
    }
    pthread_mutex_unlock(&streams->mutex);
    streams->n_current = n;
}

/*
 * On the loop's thread. A few at a time, and a bounded number of users: what is sent goes out at the end of the
 * loop's turn, and too much at once would look like a reader that is too slow. A stream's end is only noted while we
 * send: see http_stream_begin.
 */
static void run_notices(struct http_post *post)
{
    struct streams *streams = (struct streams *)post;
    size_t budget = USERS_PER_TURN, done = 0;
    take_notices(streams);
    while (budget && done < streams->n_current && heed(streams, &streams->current[done], &budget))
        done++;
    streams->n_current -= done;
    memmove(streams->current, streams->current + done,
            streams->n_current * sizeof *streams->current);

    pthread_mutex_lock(&streams->mutex);
    streams->posted = streams->n_current || streams->n_notices || streams->overflow;
    bool again = streams->posted;
    pthread_mutex_unlock(&streams->mutex);
    if (again)
        http_post(http_server_loop(streams->api->server, streams->loop_index), post);
}

static void tell_loop(struct streams *streams, const struct notice *notice)
{
    pthread_mutex_lock(&streams->mutex);
    if (streams->n_notices < NOTICES)
        streams->notices[streams->n_notices++] = *notice;
    else
        streams->overflow = true;
    bool post = !streams->posted;
    streams->posted = true;
    pthread_mutex_unlock(&streams->mutex);
    if (post)
        http_post(http_server_loop(streams->api->server, streams->loop_index), &streams->post);
}

/* What is to be told: up to two notices; how many. */
static size_t make_notices(const struct exchange *ex, struct notice notices[2])
{
    const struct notice gone = {.kind = NOTICE_GONE, .user = ex->author_id, .post = ex->post_id};
    switch (ex->op.kind) {
    case TIDINGS_OP_PUBLISH:
        notices[0] =
            (struct notice){.kind = NOTICE_POST, .user = ex->author_id, .post = ex->post_id};
        return 1;
    case TIDINGS_OP_DELETE:
        notices[0] = (struct notice){.kind = NOTICE_DELETED, .user = ex->author_id};
        notices[1] = gone;
        return ex->post_id ? 2 : 1;
    case TIDINGS_OP_SCENE_PUBLISH:
        notices[0] = (struct notice){.kind = NOTICE_SCENE,
                                     .user = ex->author_id,
                                     .post = ex->post_id,
                                     .scene = ex->scene_id};
        return 1;
    case TIDINGS_OP_SCENE_DELETE:
        notices[0] = gone;
        return 1;
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        notices[0] = (struct notice){.kind = NOTICE_BELL, .user = ex->user_id};
        return 1;
    case TIDINGS_OP_OPEN:
    case TIDINGS_OP_MARK_READ:
    case TIDINGS_OP_MARK_UNREAD:
    case TIDINGS_OP_UNFOLLOW:
        notices[0] = (struct notice){.kind = NOTICE_USER, .user = ex->user_id};
        return 1;
    default:
        return 0;
    }
}

void streams_tell(struct api *api, const struct exchange *ex)
{
    struct notice notices[2];
    size_t n = make_notices(ex, notices);
    if (!n)
        return;
    struct http_counters counters;
    api_counters(api, &counters);
    if (!counters.streams_open)
        return;
    for (unsigned i = 0; i < api->config.threads; i++)
        for (size_t j = 0; j < n; j++)
            tell_loop(api->loops[i].streams, &notices[j]);
}

/* ---- Opening -------------------------------------------------------------------------------- */

static uint32_t replay_limit(const struct streams *streams)
{
    uint64_t most = streams->api->config.settings.page_max;
    return most < REPLAY_MAX ? (uint32_t)most : REPLAY_MAX;
}

/* Posts that came after the last event the client has seen, oldest first, as far back as a page
 * goes. */
static void replay(struct streams *streams, struct watcher *watcher, uint64_t seen)
{
    struct tidings_op op = {.kind = TIDINGS_OP_INBOX,
                            .user_id = watcher->user,
                            .u.feed.page.limit = replay_limit(streams)};
    if (ask(streams, &op))
        return;
    for (size_t i = streams->answer.u.feed.n; i--;) {
        const struct tidings_item *item = &streams->answer.u.feed.rows[i];
        if (item->post_id <= seen || item->is_deleted)
            continue;
        make_post(streams, item->post_id, item->author_id, item->author_name, item->kind,
                  item->title, item->created_at);
        send_out(streams, watcher);
    }
}

/* Notifications likewise, those not read. Having no ids of their own they may come twice. */
static void replay_notifications(struct streams *streams, struct watcher *watcher, uint64_t seen)
{
    struct tidings_op op = {.kind = TIDINGS_OP_NOTIFICATIONS,
                            .user_id = watcher->user,
                            .u.page.limit = replay_limit(streams)};
    if (ask(streams, &op))
        return;
    for (size_t i = streams->answer.u.notifications.n; i--;) {
        const struct tidings_notification *notice = &streams->answer.u.notifications.rows[i];
        if (notice->id <= seen || notice->is_read)
            continue;
        make_notification(streams, notice, streams->answer.u.notifications.unread);
        send_out(streams, watcher);
    }
}

static void greet(struct streams *streams, struct watcher *watcher, uint64_t seen)
{
    uint64_t total;
    if (seen) {
        replay(streams, watcher, seen);
        replay_notifications(streams, watcher, seen);
    }
    if (!make_badge(streams, watcher->user, !seen, &total))
        return;
    send_out(streams, watcher);
    /* Other devices of the user may not have heard of this total yet; the new one then hears it twice. */
    struct online *online = find_online(streams, watcher->user);
    if (online->watchers->next)
        refresh_badge(streams, online);
    else
        online->badge = total;
}

void streams_open(struct exchange *ex)
{
    struct streams *streams = exchange_loop(ex)->streams;
    struct http_text last = http_request_header(ex->req, "Last-Event-ID", NULL);
    uint64_t seen = 0;
    if (last.p && last.n && !parse_id(last, &seen)) {
        exchange_invalid(ex, "Last-Event-ID", "It must be the id of an event of this stream.");
        return;
    }
    struct watcher *watcher = malloc(sizeof *watcher);
    struct online *online = watcher ? add_online(streams, ex->user_id) : NULL;
    if (!online) {
        free(watcher);
        exchange_problem(ex, 503, "busy", "Too much to do at the moment. Try again later.");
        return;
    }
    *watcher = (struct watcher){
        .next = online->watchers,
        .owner = streams,
        .user = ex->user_id,
        .until_ms = ex->claims.until_ms,
    };
    online->watchers = watcher;
    metrics_count(exchange_loop(ex)->metrics, (size_t)(ex->route - routes), 200,
                  api_now_us() - ex->started_us);
    json_decref(ex->body);
    /* The exchange goes with the request. */
    watcher->stream = http_stream_begin(ex->req, NULL, 0, stream_closed, watcher);
    if (watcher->stream)
        greet(streams, watcher, seen);
    else
        remove_watcher(streams, watcher);
}
