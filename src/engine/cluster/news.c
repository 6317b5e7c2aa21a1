/* SPDX-License-Identifier: MIT */
/*
 * What happens on other servers, for those who watch here: a thread that looks again and again while anybody watches. Events that
 * are kept it reads behind the position that it has reached. Those that are not kept (reading) stand for a minute in
 * `passing_news`, a row a batch of the lane that they happened in; a lane's batches are committed one after the other, so how
 * far it was heard is one number. What happened on this server its lanes tell themselves, at once.
 */
#include <time.h>

#include "base/thread.h"
#include "domain/events.h"
#include "engine/cluster/cluster.h"
#include "engine/cluster/passing.h"

enum { EVERY_MS = 25, IDLE_MS = 250, PAGE = 1000 };
/* Who did not look for so long may have missed some; and who has just come, since the others did not know yet. */
enum { MISSED_S = 30, SETTLED_S = 5 };

/* ---- What is not kept ----------------------------------------------------------------------- */

static bool is_passing(const struct tidings_event *event)
{
    return !event->event_id;
}

void news_put_passing(struct lane *lane)
{
    const struct news *news = &lane->desk.news;
    uint8_t bytes[PASSING_MAX];
    size_t n = 0;
    bool lost = news->lost;
    for (size_t i = 0; i < news->n && !lost; i++) {
        if (!is_passing(&news->events[i]))
            continue;
        lost = !passing_put(bytes, &n, &news->events[i]);
    }
    if (!n && !lost)
        return;
    buf_printf(&lane->desk.text,
               "INSERT INTO passing_news (slot, lane, fence, batch, told_at, events) VALUES "
               "(%u,%u,%llu,%llu,NOW(3),",
               lane->standing.slot, lane->number, (unsigned long long)lane->standing.fence,
               (unsigned long long)lane->batch);
    sql_put_bytes(&lane->desk.text, (struct bytes){bytes, lost ? 0 : n});
    buf_literal(&lane->desk.text, ");");
}

/* ---- Looking -------------------------------------------------------------------------------- */

static void tell(struct cluster *cluster, const struct tidings_event *events, size_t n)
{
    pthread_mutex_lock(&cluster->tell);
    engine_tell(&cluster->engine, events, n);
    pthread_mutex_unlock(&cluster->tell);
}

/* How far the others have come: what is told of goes up to there. */
struct ends {
    uint64_t position;
    struct heard lanes[ID_SLOTS][LANES];
};

static void take_lane(struct sql *sql, struct ends *ends)
{
    uint64_t slot = sql_u64(sql, 0), lane = sql_u64(sql, 1);
    if (slot < ID_SLOTS && lane < LANES)
        ends->lanes[slot][lane] = (struct heard){sql_u64(sql, 2), sql_u64(sql, 3)};
}

static enum sql_outcome find_ends(struct news_reader *news, struct ends *ends)
{
    struct desk *desk = &news->desk;
    bool more = false;
    *ends = (struct ends){.position = news->position};
    buf_literal(&desk->text, "SELECT position FROM news_position WHERE id=1;"
                             "SELECT slot, lane, fence, batch FROM lane");
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    if (!outcome && sql_row(desk->sql))
        ends->position = sql_u64(desk->sql, 0);
    if (!outcome)
        outcome = sql_next(desk->sql, &more);
    while (!outcome && more && sql_row(desk->sql))
        take_lane(desk->sql, ends);
    buf_clear(&desk->text);
    return outcome;
}

static bool put_lane_news(struct news_reader *news, const struct ends *ends, unsigned slot,
                          unsigned lane, bool first)
{
    const struct heard *heard = &news->lanes[slot][lane], *end = &ends->lanes[slot][lane];
    if (slot == news->slot || (heard->fence == end->fence && heard->batch == end->batch))
        return false;
    buf_printf(&news->desk.text,
               "%s slot=%u AND lane=%u AND fence=%llu AND batch > %llu AND batch <= %llu",
               first ? "SELECT events FROM passing_news WHERE" : " OR", slot, lane,
               (unsigned long long)end->fence,
               (unsigned long long)(heard->fence == end->fence ? heard->batch : 0),
               (unsigned long long)end->batch);
    return true;
}

static enum sql_outcome read_passing(struct news_reader *news, const struct ends *ends)
{
    struct tidings_event events[PASSING_EVENTS];
    struct desk *desk = &news->desk;
    bool any = false;
    for (unsigned slot = 0; slot < ID_SLOTS; slot++)
        for (unsigned lane = 0; lane < LANES; lane++)
            any |= put_lane_news(news, ends, slot, lane, !any);
    enum sql_outcome outcome = any ? sql_send(desk->sql, &desk->text) : SQL_DONE;
    while (!outcome && any && sql_row(desk->sql)) {
        size_t n = passing_take(sql_bytes(desk->sql, 0), events);
        tell(news->cluster, n ? events : NULL, n);
    }
    buf_clear(&desk->text);
    return outcome;
}

/* Events of others behind the position, up to the end, a page at most; how many. */
static enum sql_outcome read_page(struct news_reader *news, uint64_t end,
                                  struct tidings_event *events, size_t *n)
{
    struct desk *desk = &news->desk;
    struct question question = {
        .what = ASKS_NEWS, .after = {news->position, end}, .up_to = news->slot, .most = PAGE};
    question.events = events;
    question_put(desk, &question);
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    if (!outcome)
        question_take(desk, &question);
    *n = question.n;
    buf_clear(&desk->text);
    return outcome;
}

/* Of what nobody here knows, nobody is told. */
static void tell_page(struct news_reader *news, const struct tidings_event *events, size_t n)
{
    struct tidings_event known[PAGE];
    size_t n_known = 0;
    for (size_t i = 0; i < n; i++)
        if (event_is_sound(&events[i]))
            known[n_known++] = events[i];
    if (n_known)
        tell(news->cluster, known, n_known);
}

static int64_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void note_look(struct news_reader *news, bool watched)
{
    int64_t now = now_s();
    bool missed = now - news->looked_s > MISSED_S;
    bool settles = !news->settled && now - news->began_s > SETTLED_S;
    if (watched && (missed || settles))
        tell(news->cluster, NULL, 0);
    if (settles)
        news->settled = true;
    news->looked_s = now;
}

/* Whether the server has another slot than before. Then nobody knows which events in between were told here already, and which
 * were another server's in the old one. */
static bool has_moved(struct news_reader *news)
{
    unsigned slot = news->cluster->slot;
    bool moved = slot != news->slot;
    news->slot = slot;
    return moved;
}

/* Whether there may be more. The position moves on over what this server told itself, too. */
static bool look(struct news_reader *news, struct tidings_event *events)
{
    struct ends ends;
    size_t n = 0;
    bool watched = engine_is_watched(&news->cluster->engine);
    if (!desk_connect(news->cluster, &news->desk, 0))
        return false;
    enum sql_outcome outcome =
        news->cluster->memory.wanted ? memory_hear(news->cluster, news->desk.sql) : SQL_DONE;
    if (!outcome)
        outcome = find_ends(news, &ends);
    if (!outcome && has_moved(news)) {
        tell(news->cluster, NULL, 0);
        watched = false;
    }
    if (!outcome && watched && ends.position > news->position)
        outcome = read_page(news, ends.position, events, &n);
    if (!outcome)
        tell_page(news, events, n);
    if (!outcome && watched)
        outcome = read_passing(news, &ends);
    if (outcome) {
        desk_disconnect(&news->desk);
        return false;
    }
    note_look(news, watched);
    memcpy(news->lanes, ends.lanes, sizeof ends.lanes);
    news->position = n == PAGE ? events[n - 1].event_id : ends.position;
    return n == PAGE;
}

static bool is_wanted(struct cluster *cluster)
{
    return cluster->memory.wanted || engine_is_watched(&cluster->engine);
}

static void *news_main(void *arg)
{
    struct news_reader *news = arg;
    struct tidings_event events[PAGE];
    thread_name("news");
    do
        while (look(news, events))
            ;
    while (ticker_wait(&news->ticker, is_wanted(news->cluster) ? EVERY_MS : IDLE_MS));
    return NULL;
}

/* The position is known before anybody can watch. */
enum tidings_err news_start(struct cluster *cluster)
{
    struct news_reader *news = &cluster->news;
    struct ends ends;
    if (!desk_connect(cluster, &news->desk, 0) || find_ends(news, &ends))
        return TIDINGS_UNREACHABLE;
    news->began_s = news->looked_s = now_s();
    news->slot = cluster->slot;
    news->position = ends.position;
    memcpy(news->lanes, ends.lanes, sizeof ends.lanes);
    return ticker_start(&news->ticker, news_main, news) ? TIDINGS_OK : TIDINGS_NO_MEMORY;
}

void news_stop(struct cluster *cluster)
{
    ticker_stop(&cluster->news.ticker);
}
