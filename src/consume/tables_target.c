/* SPDX-License-Identifier: MIT */
/*
 * The row in tidings_tables alone says which events are in the tables; the consumer's own position, which may be behind it after a
 * failure, only says from where on events are offered.
 */
#include "consume/tables_target.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "consume/tables_internal.h"
#include "domain/ids.h"

#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)

/* ---- Whether the tables are of this history --------------------------------------------------- */

static uint64_t tables_era(struct tables *tables)
{
    struct tidings_replica *status = malloc(sizeof *status);
    uint64_t era = 0;
    if (status && !tidings_replica_status(tables->tidings, status))
        era = status->era;
    free(status);
    return era;
}

static bool is_kept(struct tables *tables, uint64_t id)
{
    struct tidings_settings settings;
    struct timespec now;
    if (tidings_settings_of(tables->tidings, &settings))
        return false;
    clock_gettime(CLOCK_REALTIME, &now);
    return id_time_ms(id) > (int64_t)now.tv_sec * 1000 - (int64_t)settings.event_days * DAY_MS;
}

/* The last event of the tables is one of this server's, if that can still be told. */
static bool tables_know_event(struct tables *tables, bool *known)
{
    struct tidings_event events[TABLES_EVENTS_MAX];
    uint64_t id = tables->place.event_id;
    size_t n;
    *known = true;
    if (!id || !is_kept(tables, id + (UINT64_C(3600000) << ID_TIME_SHIFT)))
        return true;
    if (!tables_read_events(tables, id - 1, events, &n))
        return false;
    *known = (n && events[0].event_id == id) || !is_kept(tables, id);
    return true;
}

static void tables_say(const char *message, const char *why)
{
    struct log_line line;
    log_begin(&line, LOG_INFO, message);
    log_text(&line, "consumer", tables_target.name + 1);
    if (*why)
        log_text(&line, "reason", why);
    log_end(&line);
}

/* Why they must be filled; "": they need not. False: that cannot be known now. */
static bool tables_judge(struct tables *tables, const char **why)
{
    bool known;
    *why = "";
    if (tables->place.state == TABLES_FILLING)
        *why = "they are new, or filling was interrupted";
    else if (tables->place.era != tables_era(tables))
        *why = "they are of another era";
    else if (!tables_know_event(tables, &known))
        return false;
    else if (!known)
        *why = "they are of another history";
    return true;
}

/* ---- What is to be done besides telling ------------------------------------------------------- */

static bool tables_follow_rules(struct tables *tables, struct consumer *consumer)
{
    struct tables_place now = tables->place;
    struct tidings_settings settings;
    uint64_t differences = 0;
    if (!tables_rules(tables, &settings, now.rules))
        return false;
    if (!strcmp(now.rules, tables->place.rules))
        return true;
    tables_say("the tables are counted again", "the weights of hot_score have changed");
    return tables_recount(tables, consumer, &settings, &differences) && tables_move(tables, &now);
}

static bool is_due(struct tables *tables)
{
    if (tables->place.state == TABLES_COMPARE)
        return true;
    return tables->compare_hours && tables->place.compared_s_ago >= tables->compare_hours * 3600;
}

static bool tables_refill(struct tables *tables, struct consumer *consumer, const char *why)
{
    tables_say("the tables are being filled", why);
    if (!tables_fill(tables, consumer, tables_era(tables)))
        return false;
    tables->is_fresh = tables->due = true;
    return true;
}

/* Connected, filled, and of this history. */
static bool tables_are_ready(struct tables *tables, struct consumer *consumer)
{
    const char *why;
    if (tables->sql && tables->has_place && sql_is_alive(tables->sql))
        return true;
    tables_disconnect(tables);
    if (!tables_connect(tables) || !tables_make(tables) || !tables_read_place(tables) ||
        !tables_outbox_look(tables) || !tables_judge(tables, &why))
        return false;
    if (*why)
        return tables_refill(tables, consumer, why);
    tables->due = true;
    return tables_follow_rules(tables, consumer);
}

/* Events between the tables and the consumer's position: there are some if somebody has put the tables back, or while they were
 * filled for two reasons. No page has these. */
static bool tables_close_gap(struct tables *tables, struct consumer *consumer)
{
    uint64_t up_to = consume_position(consumer);
    if (tables->place.position >= up_to)
        return true;
    if (!is_kept(tables, tables->place.position) &&
        !tables_refill(tables, consumer, "events behind them are gone"))
        return false;
    return tables->place.position >= up_to || tables_advance(tables, consumer, up_to);
}

/* Somebody may have set the state by hand. */
static bool tables_look_after(struct tables *tables, struct consumer *consumer)
{
    if (!tables_are_ready(tables, consumer) || !tables_read_place(tables))
        return false;
    if (tables->place.state == TABLES_FILLING)
        return tables_refill(tables, consumer, "the state says so");
    if (!tables_close_gap(tables, consumer) || !tables_follow_rules(tables, consumer))
        return false;
    if (is_due(tables) && !tables_compare(tables, consumer, NULL))
        return false;
    return tables_outbox_tend(tables);
}

static bool tables_say_trouble(struct tables *tables, struct consumer *consumer)
{
    if (*tables->trouble)
        consume_note(consumer, tables->trouble);
    *tables->trouble = '\0';
    return false;
}

static bool tables_target_look(void *ctx, struct consumer *consumer, bool first)
{
    struct tables *tables = ctx;
    (void)first;
    return tables_look_after(tables, consumer) || tables_say_trouble(tables, consumer);
}

/* A new row of the consumer and new tables are two reasons for the same. */
static enum consumer_filled tables_target_fill(void *ctx, struct consumer *consumer,
                                               struct consumer_fill *fill)
{
    struct tables *tables = ctx;
    (void)fill;
    if (tables_are_ready(tables, consumer) &&
        (tables->is_fresh || tables_refill(tables, consumer, "the consumer is to be made anew")))
        return CONSUMER_FILL_DONE;
    tables_say_trouble(tables, consumer);
    return CONSUMER_FILL_FAILED;
}

/* The same as by the state in the row, in one step: what is compared is one moment of the engine. */
static enum consumer_filled tables_target_reconcile(void *ctx, struct consumer *consumer,
                                                    struct consumer_fill *fill)
{
    struct tables *tables = ctx;
    if (tables_are_ready(tables, consumer) && tables_close_gap(tables, consumer) &&
        tables_compare(tables, consumer, &fill->done))
        return CONSUMER_FILL_DONE;
    tables_say_trouble(tables, consumer);
    return CONSUMER_FILL_FAILED;
}

/* ---- Telling ---------------------------------------------------------------------------------- */

static bool tables_tell_page(struct tables *tables, struct consumer *consumer,
                             struct consumer_page *page)
{
    if (!tables_are_ready(tables, consumer) || !tables_close_gap(tables, consumer))
        return false;
    while (page->done < page->n) {
        const struct tidings_event *events = page->events + page->done;
        size_t left = page->n - page->done, n = 0;
        while (n < left && events[n].event_id <= tables->place.position)
            n++;
        if (!n) {
            n = left < TABLES_EVENTS_MAX ? left : TABLES_EVENTS_MAX;
            if (!consume_goes_on(consumer) || !tables_apply(tables, events, n))
                return false;
        }
        page->done += n;
    }
    return tables_outbox_tend(tables);
}

static bool tables_target_tell(void *ctx, struct consumer *consumer, struct consumer_page *page)
{
    struct tables *tables = ctx;
    return tables_tell_page(tables, consumer, page) || tables_say_trouble(tables, consumer);
}

static void tables_target_rest(void *ctx)
{
    struct tables *tables = ctx;
    tables_disconnect(tables);
}

const struct consumer_target tables_target = {
    .name = ".tables",
    .fill = tables_target_fill,
    .reconcile = tables_target_reconcile,
    .look = tables_target_look,
    .tell = tables_target_tell,
    .rest = tables_target_rest,
};

/* ---- Life ------------------------------------------------------------------------------------- */

struct tables *tables_new(struct tidings *tidings, const char *url, const char *password,
                          uint64_t compare_hours, const char **wrong)
{
    struct sql_url parsed;
    if (!sql_url_parse(url, &parsed, wrong))
        return NULL;
    *wrong = "the URL names no database";
    if (!*parsed.database)
        return NULL;
    *wrong = "out of memory";
    struct tables *tables = calloc(1, sizeof *tables);
    if (!tables)
        return NULL;
    tables->tidings = tidings;
    tables->url = parsed;
    tables->compare_hours = compare_hours;
    tables->batch = tables_batch_new();
    tables->password = password ? strdup(password) : NULL;
    buf_init(&tables->text, TABLES_TEXT_MAX);
    if (tables->batch && (!password || tables->password))
        return tables;
    tables_free(tables);
    return NULL;
}

void tables_free(struct tables *tables)
{
    if (!tables)
        return;
    tables_disconnect(tables);
    tables_batch_free(tables->batch);
    buf_release(&tables->text);
    if (tables->password)
        explicit_bzero(tables->password, strlen(tables->password));
    free(tables->password);
    free(tables);
}
