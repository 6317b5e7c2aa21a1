/* SPDX-License-Identifier: MIT */
/*
 * What happens on other servers, for those who watch here: a thread that reads the events behind the position it has reached,
 * again and again while anybody watches. What happened on this server its lanes tell themselves, at once. Events that are not
 * kept are not heard of elsewhere.
 */
#include "base/thread.h"
#include "engine/cluster/cluster.h"

enum { EVERY_MS = 25, IDLE_MS = 250, PAGE = 1000 };

/* Where it begins: what happened before is not told. */
static enum sql_outcome find_end(struct news_reader *news, uint64_t *position)
{
    struct desk *desk = &news->desk;
    buf_literal(&desk->text, "SELECT position FROM news_position WHERE id=1");
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    if (!outcome && sql_row(desk->sql))
        *position = sql_u64(desk->sql, 0);
    buf_clear(&desk->text);
    return outcome;
}

/* Events of others behind the position, up to the end, a page at most; how many. */
static enum sql_outcome read_page(struct news_reader *news, uint64_t end,
                                  struct tidings_event *events, size_t *n)
{
    struct desk *desk = &news->desk;
    struct question question = {.what = ASKS_NEWS,
                                .after = {news->position, end},
                                .up_to = news->cluster->slot,
                                .most = PAGE};
    question.events = events;
    question_put(desk, &question);
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    if (!outcome)
        question_take(desk, &question);
    *n = question.n;
    buf_clear(&desk->text);
    return outcome;
}

static void tell(struct cluster *cluster, const struct tidings_event *events, size_t n)
{
    pthread_mutex_lock(&cluster->tell);
    engine_tell(&cluster->engine, events, n);
    pthread_mutex_unlock(&cluster->tell);
}

/* Whether there may be more. The position moves on over what this server told itself, too. */
static bool look(struct news_reader *news, struct tidings_event *events)
{
    uint64_t end = news->position;
    size_t n = 0;
    if (!desk_connect(news->cluster, &news->desk))
        return false;
    enum sql_outcome outcome = find_end(news, &end);
    if (!outcome && news->position && end > news->position &&
        engine_is_watched(&news->cluster->engine))
        outcome = read_page(news, end, events, &n);
    if (outcome) {
        sql_close(news->desk.sql);
        news->desk.sql = NULL;
        return false;
    }
    if (n)
        tell(news->cluster, events, n);
    news->position = n == PAGE ? events[n - 1].event_id : end;
    return n == PAGE;
}

static void *news_main(void *arg)
{
    struct news_reader *news = arg;
    struct tidings_event events[PAGE];
    thread_name("news");
    do
        while (look(news, events))
            ;
    while (
        ticker_wait(&news->ticker, engine_is_watched(&news->cluster->engine) ? EVERY_MS : IDLE_MS));
    return NULL;
}

/* The position is known before anybody can watch. */
enum tidings_err news_start(struct cluster *cluster)
{
    struct news_reader *news = &cluster->news;
    if (!desk_connect(cluster, &news->desk) || find_end(news, &news->position))
        return TIDINGS_UNREACHABLE;
    return ticker_start(&news->ticker, news_main, news) ? TIDINGS_OK : TIDINGS_NO_MEMORY;
}

void news_stop(struct cluster *cluster)
{
    ticker_stop(&cluster->news.ticker);
}
