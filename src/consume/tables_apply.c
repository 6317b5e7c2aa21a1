/* SPDX-License-Identifier: MIT */
/* A batch of events and its position, in one transaction: so each event is in the tables exactly once. */
#include "consume/tables_internal.h"

enum { ACTING_USER = 1 }; /* an operation has somebody acting; here it does not matter who */

static void tables_put_step(struct tables *tables, struct buf *text, uint64_t position)
{
    tables_put(text,
               "BEGIN;UPDATE tidings_tables SET position=IF(position=", tables->place.position);
    tables_put(text, " AND era=", tables->place.era);
    tables_put(text, ",", position);
    tables_put(text, ",NULL),event_id=", position);
    buf_literal(text, ",updated_at=NOW(3) WHERE id=1");
}

bool tables_apply(struct tables *tables, const struct tidings_event *events, size_t n)
{
    struct tidings_settings settings;
    char rules[TABLES_RULES_MAX + 1];
    if (!tables_rules(tables, &settings, rules))
        return false;
    if (strcmp(rules, tables->place.rules) != 0)
        return tables_fail(tables, "the weights of hot_score have changed");
    struct buf *text = tables_text(tables);
    uint64_t position = events[n - 1].event_id;
    tables_put_step(tables, text, position);
    tables_batch_clear(tables->batch);
    for (size_t i = 0; i < n; i++)
        tables_batch_add(tables->batch, &events[i], &settings);
    tables_batch_put(tables->batch, text);
    tables_outbox_put(tables, text, events, n);
    buf_literal(text, ";COMMIT");
    if (!tables_run(tables))
        return false;
    tables->place.position = tables->place.event_id = position;
    tables->due = true;
    tables->is_fresh = false;
    return true;
}

bool tables_read_events(struct tables *tables, uint64_t after, struct tidings_event *events,
                        size_t *n)
{
    struct tidings_settings settings;
    struct tidings_answer answer;
    struct tidings_op op = {.kind = TIDINGS_OP_EVENTS,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = ACTING_USER,
                            .u.page = {.after.a = after}};
    enum tidings_err err = tidings_settings_of(tables->tidings, &settings);
    op.u.page.limit = settings.page_max < TABLES_EVENTS_MAX ? (uint32_t)settings.page_max
                                                            : (uint32_t)TABLES_EVENTS_MAX;
    tidings_answer_init(&answer);
    if (!err)
        err = tidings_run(tables->tidings, &op, &answer);
    if (!err) {
        *n = answer.u.events.n;
        if (*n)
            memcpy(events, answer.u.events.rows, *n * sizeof *events);
    }
    tidings_answer_release(&answer);
    return !err || tables_fail(tables, "the events cannot be read: %s", tidings_err_text(err));
}

bool tables_advance(struct tables *tables, struct consumer *consumer, uint64_t up_to)
{
    struct tidings_event events[TABLES_EVENTS_MAX];
    size_t n = 1, wanted;
    while (n && consume_goes_on(consumer)) {
        if (!tables_read_events(tables, tables->place.position, events, &n))
            return false;
        for (wanted = 0; wanted < n && events[wanted].event_id <= up_to;)
            wanted++;
        if (wanted && !tables_apply(tables, events, wanted))
            return false;
        if (wanted < n)
            return true;
    }
    return !n;
}
