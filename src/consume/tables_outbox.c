/* SPDX-License-Identifier: MIT */
/*
 * yl_outbox_event. The counts beside it are made in the transaction that makes its row. So its status says how far the others are
 * who go through events, Kafka and Redis: 1, none of them was told; 2, some were; 3, all were, or there are none.
 */
#include <time.h>

#include "base/wait.h"
#include "consume/tables_internal.h"
#include "domain/event_yl.h"
#include "domain/ids.h"

enum { SETTLE_MS = 200, SWEEP_MS = 1000, SWEEP_ROWS = 5000, ACTING_USER = 1 };

#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)

/* ---- Rows --------------------------------------------------------------------------------------- */

/* The payload has numbers and the program's own words alone, so it may stand in a statement as it is. */
static void outbox_put_payload(struct buf *text, const struct tidings_event *event)
{
    struct json_out out;
    buf_literal(text, ",'");
    json_out_init(&out, text);
    json_out_object(&out);
    event_yl_members(&out, event);
    json_out_end(&out);
    buf_literal(text, "',");
}

void tables_outbox_put(const struct tables *tables, struct buf *text,
                       const struct tidings_event *events, size_t n)
{
    size_t put = 0;
    for (size_t i = 0; i < n; i++) {
        const char *type = event_yl_type(&events[i]);
        if (!type)
            continue;
        if (!put++)
            buf_literal(text, ";INSERT INTO yl_outbox_event "
                              "(id,event_type,payload,status,created_at,updated_at) VALUES ");
        tables_put(text, put > 1 ? ",(" : "(", events[i].event_id);
        buf_literal(text, ",'");
        buf_text(text, type);
        buf_char(text, '\'');
        outbox_put_payload(text, &events[i]);
        buf_text(text, tables->has_others ? "1," : "3,");
        tables_put_time(text, (uint64_t)events[i].happened_at);
        buf_char(text, ',');
        tables_put_time(text, (uint64_t)events[i].happened_at);
        buf_char(text, ')');
    }
    if (put)
        buf_literal(text, " ON DUPLICATE KEY UPDATE id=VALUES(id)");
}

bool tables_outbox_fill(struct tables *tables, struct consumer *consumer, uint64_t up_to,
                        uint64_t *last)
{
    struct tidings_event events[TABLES_EVENTS_MAX];
    size_t n = 1, wanted = 1;
    *last = 0;
    while (n && wanted == n && consume_goes_on(consumer)) {
        if (!tables_read_events(tables, *last, events, &n))
            return false;
        for (wanted = 0; wanted < n && events[wanted].event_id <= up_to;)
            wanted++;
        if (!wanted)
            continue;
        struct buf *text = tables_text(tables);
        tables_put_fence(tables, text);
        tables_outbox_put(tables, text, events, wanted);
        buf_literal(text, ";COMMIT");
        if (!tables_run(tables))
            return false;
        *last = events[wanted - 1].event_id;
    }
    return !n || wanted < n;
}

/* ---- How far others are --------------------------------------------------------------------------- */

static bool is_other(const struct tidings_webhook *row)
{
    bool consumer = row->name.n > 1 && row->name.p[0] == '.' && !row->url.n;
    return consumer && strcmp(row->name.p, tables_target.name) != 0;
}

/* Up to where all others were told, and up to where one was. */
static bool outbox_look(struct tables *tables, uint64_t *all, uint64_t *one)
{
    struct tidings_answer answer;
    struct tidings_op op = {
        .kind = TIDINGS_OP_WEBHOOKS, .role = TIDINGS_ROLE_SERVICE, .user_id = ACTING_USER};
    tidings_answer_init(&answer);
    enum tidings_err err = tidings_run(tables->tidings, &op, &answer);
    *all = *one = tables->place.position;
    bool others = false;
    for (size_t i = 0; !err && i < answer.u.webhooks.n; i++) {
        const struct tidings_webhook *row = &answer.u.webhooks.rows[i];
        if (!is_other(row))
            continue;
        *all = row->position < *all ? row->position : *all;
        *one = others && row->position < *one ? *one : row->position;
        others = true;
    }
    tables->has_others = others;
    if (*one > tables->place.position)
        *one = tables->place.position;
    tidings_answer_release(&answer);
    return !err ||
           tables_fail(tables, "how far others are cannot be read: %s", tidings_err_text(err));
}

bool tables_outbox_look(struct tables *tables)
{
    uint64_t all, one;
    return outbox_look(tables, &all, &one);
}

static void outbox_put_status(struct buf *text, int status, uint64_t after, uint64_t up_to)
{
    tables_put(text, "UPDATE yl_outbox_event SET status=", (uint64_t)status);
    tables_put(text, ",updated_at=NOW(3) WHERE id>", after);
    tables_put(text, " AND id<=", up_to);
    tables_put(text, " AND status<", (uint64_t)status);
}

static bool outbox_settle(struct tables *tables)
{
    uint64_t all, one, settled = tables->place.settled;
    if (!outbox_look(tables, &all, &one))
        return false;
    if (all < settled)
        all = settled;
    struct buf *text = tables_text(tables);
    if (all > settled) {
        outbox_put_status(text, 3, settled, all);
        buf_char(text, ';');
    }
    if (one > all) {
        outbox_put_status(text, 2, all, one);
        buf_char(text, ';');
    }
    tables_put(text, "UPDATE tidings_tables SET settled=", all);
    tables_put(text, " WHERE id=1 AND settled<", all);
    if (!tables_run(tables))
        return false;
    tables->place.settled = all;
    tables->due = all < tables->place.position;
    return true;
}

/* ---- Removing ----------------------------------------------------------------------------------- */

static bool outbox_sweep(struct tables *tables)
{
    struct tidings_settings settings;
    struct timespec now;
    if (tidings_settings_of(tables->tidings, &settings))
        return true;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t oldest_ms = (int64_t)now.tv_sec * 1000 - (int64_t)settings.event_days * DAY_MS;
    struct buf *text = tables_text(tables);
    tables_put(text, "DELETE FROM yl_outbox_event WHERE id<", id_floor(oldest_ms));
    tables_put(text, " ORDER BY id LIMIT ", SWEEP_ROWS);
    return tables_run(tables);
}

bool tables_outbox_tend(struct tables *tables)
{
    int64_t now_ms = wait_now_ms();
    if (tables->due && now_ms - tables->settled_ms >= SETTLE_MS) {
        tables->settled_ms = now_ms;
        if (!outbox_settle(tables))
            return false;
    }
    if (now_ms - tables->swept_ms < SWEEP_MS)
        return true;
    tables->swept_ms = now_ms;
    return outbox_sweep(tables);
}
