/* SPDX-License-Identifier: MIT */
/*
 * The tables, with the columns and keys of the documents that they follow; docs/tables.sql has the same statements, for whoever
 * makes them by hand. Indexes beyond these documents serve the comparison and the recount.
 *
 * tidings_tables has one row. Its state may be set by hand: anything but `ready` has everything compared.
 */
#include <inttypes.h>
#include <stdio.h>

#include "consume/tables_internal.h"

#define ID     "BIGINT NOT NULL"
#define TIME   "DATETIME(3) NOT NULL"
#define WORD   "VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL"
#define COUNT_ "BIGINT NOT NULL DEFAULT 0"
#define END    ") ENGINE=InnoDB"

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS following (id BIGINT PRIMARY KEY, from_user_id " ID
    ", to_user_id " ID ", rel_status TINYINT NOT NULL DEFAULT 1, created_at " TIME
    ", updated_at " TIME ", UNIQUE KEY uk_from_to (from_user_id, to_user_id)"
    ", KEY idx_from_created (from_user_id, created_at, to_user_id, rel_status)"
    ", KEY idx_to (to_user_id, from_user_id, rel_status)" END ";"
    "CREATE TABLE IF NOT EXISTS follower (id BIGINT PRIMARY KEY, to_user_id " ID
    ", from_user_id " ID ", rel_status TINYINT NOT NULL DEFAULT 1, created_at " TIME
    ", updated_at " TIME ", UNIQUE KEY uk_to_from (to_user_id, from_user_id)"
    ", KEY idx_to_created (to_user_id, created_at, from_user_id, rel_status)"
    ", KEY idx_from (from_user_id, to_user_id, rel_status)" END ";"
    "CREATE TABLE IF NOT EXISTS yl_content_stats (content_id BIGINT PRIMARY KEY, like_count " COUNT_
    ", fav_count " COUNT_ ", comment_count " COUNT_ ", hot_score " COUNT_ END ";"
    "CREATE TABLE IF NOT EXISTS yl_activity_stats (activity_id BIGINT PRIMARY KEY, "
    "like_count " COUNT_ ", fav_count " COUNT_ ", comment_count " COUNT_ ", hot_score " COUNT_ END
    ";"
    "CREATE TABLE IF NOT EXISTS yl_comment_stats (comment_id BIGINT PRIMARY KEY, like_count " COUNT_
    ", down_count " COUNT_ ", reply_count " COUNT_ ", hot_score " COUNT_ END ";"
    "CREATE TABLE IF NOT EXISTS yl_reaction (user_id " ID ", target_type " WORD ", target_id " ID
    ", type " WORD ", created_at " TIME
    ", UNIQUE KEY uk_reaction (user_id, target_type, target_id, type)"
    ", KEY idx_target (target_type, target_id, type)" END ";"
    "CREATE TABLE IF NOT EXISTS yl_comment (id BIGINT PRIMARY KEY, target_type " WORD
    ", target_id " ID ", parent_id BIGINT NULL, user_id " ID ", status " WORD ", created_at " TIME
    ", KEY idx_target (target_type, target_id, status), KEY idx_parent (parent_id, status)" END ";"
    "CREATE TABLE IF NOT EXISTS yl_outbox_event (id BIGINT PRIMARY KEY, event_type " WORD
    ", payload JSON NOT NULL, status SMALLINT NOT NULL DEFAULT 1, created_at " TIME
    ", updated_at " TIME ", retry_count INT NOT NULL DEFAULT 0"
    ", KEY idx_status (status, id)" END ";"
    "CREATE TABLE IF NOT EXISTS tidings_tables (id TINYINT PRIMARY KEY, version INT NOT NULL"
    ", position BIGINT NOT NULL, event_id BIGINT NOT NULL, era BIGINT NOT NULL, state " WORD
    ", rules VARCHAR(120) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, settled BIGINT NOT NULL"
    ", compared_at DATETIME(3) NULL, differences BIGINT NOT NULL DEFAULT 0, updated_at " TIME END;

#define NAMES                                                                           \
    "'following','follower','yl_content_stats','yl_activity_stats','yl_comment_stats'," \
    "'yl_reaction','yl_comment','yl_outbox_event','tidings_tables'"

enum { TABLES_N = 9 };

static const char *const states[] = {[TABLES_FILLING] = "filling", [TABLES_READY] = "ready"};

/* ---- Making them ------------------------------------------------------------------------------ */

static bool tables_count(struct tables *tables, uint64_t *n)
{
    buf_literal(tables_text(tables), "SELECT COUNT(*) FROM information_schema.tables WHERE "
                                     "table_schema=DATABASE() AND table_name IN (" NAMES ")");
    if (!tables_ask(tables))
        return false;
    *n = sql_row(tables->sql) ? sql_u64(tables->sql, 0) : 0;
    return true;
}

static bool tables_judge_version(struct tables *tables)
{
    buf_literal(tables_text(tables), "SELECT version FROM tidings_tables WHERE id=1");
    if (!tables_ask(tables))
        return false;
    uint64_t version = sql_row(tables->sql) ? sql_u64(tables->sql, 0) : TABLES_SCHEMA;
    if (version == TABLES_SCHEMA)
        return true;
    return tables_fail(tables, "the tables are of version %" PRIu64 ", this program's of %d: %s",
                       version, TABLES_SCHEMA,
                       version > TABLES_SCHEMA ? "use the newer program"
                                               : "drop them, they are filled anew");
}

static bool tables_create(struct tables *tables)
{
    char why[CONSUMER_TROUBLE_MAX + 1];
    buf_text(tables_text(tables), schema);
    if (tables_run(tables))
        return true;
    snprintf(why, sizeof why, "%.*s", CONSUMER_TROUBLE_MAX / 2, tables->trouble);
    return tables_fail(tables, "the tables cannot be made; docs/tables.sql has the statements: %s",
                       why);
}

bool tables_make(struct tables *tables)
{
    uint64_t n = 0;
    if (tables->has_tables)
        return true;
    if (!tables_count(tables, &n) || (n < TABLES_N && !tables_create(tables)) ||
        !tables_judge_version(tables))
        return false;
    return tables->has_tables = true;
}

/* ---- The row ---------------------------------------------------------------------------------- */

static enum tables_state state_of(struct bytes word)
{
    for (int i = 0; i <= TABLES_READY; i++)
        if (word.n == strlen(states[i]) && !memcmp(word.p, states[i], word.n))
            return (enum tables_state)i;
    return TABLES_COMPARE;
}

static void tables_take_place(struct sql *sql, struct tables_place *place)
{
    struct bytes rules = sql_bytes(sql, 5);
    *place = (struct tables_place){
        .position = sql_u64(sql, 0),
        .event_id = sql_u64(sql, 1),
        .era = sql_u64(sql, 2),
        .settled = sql_u64(sql, 3),
        .state = state_of(sql_bytes(sql, 4)),
        .compared_s_ago = sql_is_null(sql, 6) ? UINT64_MAX : sql_u64(sql, 6),
    };
    if (rules.n <= TABLES_RULES_MAX && rules.n)
        memcpy(place->rules, rules.p, rules.n);
}

/* Whoever comes first makes the row. */
static bool tables_begin(struct tables *tables)
{
    buf_printf(tables_text(tables),
               "INSERT INTO tidings_tables VALUES (1,%d,0,0,0,'filling','',0,NULL,0,NOW(3)) ON "
               "DUPLICATE KEY UPDATE version=version",
               TABLES_SCHEMA);
    return tables_run(tables);
}

bool tables_read_place(struct tables *tables)
{
    for (int i = 0; i < 2; i++) {
        buf_literal(tables_text(tables),
                    "SELECT position,event_id,era,settled,state,rules,"
                    "GREATEST(TIMESTAMPDIFF(SECOND,compared_at,NOW(3)),0) FROM tidings_tables "
                    "WHERE id=1");
        if (!tables_ask(tables))
            return false;
        tables->has_place = sql_row(tables->sql);
        if (tables->has_place) {
            tables_take_place(tables->sql, &tables->place);
            return true;
        }
        if (!tables_begin(tables))
            return false;
    }
    return tables_fail(tables, "tidings_tables has no row");
}

static void tables_put_condition(struct tables *tables, struct buf *text)
{
    tables_put(text, "position=IF(position=", tables->place.position);
    tables_put(text, " AND era=", tables->place.era);
    buf_literal(text, ",");
}

void tables_put_fence(struct tables *tables, struct buf *text)
{
    buf_literal(text, "BEGIN;UPDATE tidings_tables SET ");
    tables_put_condition(tables, text);
    buf_literal(text, "position,NULL) WHERE id=1");
}

bool tables_move(struct tables *tables, const struct tables_place *now)
{
    struct buf *text = tables_text(tables);
    bool compared = !now->compared_s_ago;
    buf_literal(text, "BEGIN;UPDATE tidings_tables SET ");
    tables_put_condition(tables, text);
    tables_put(text, "", now->position);
    tables_put(text, ",NULL),event_id=", now->event_id);
    tables_put(text, ",era=", now->era);
    tables_put(text, ",settled=", now->settled);
    buf_literal(text, ",rules='");
    buf_text(text, now->rules);
    buf_literal(text, "',state='");
    buf_text(text, states[now->state]);
    buf_literal(text, "',updated_at=NOW(3)");
    if (compared)
        buf_literal(text, ",compared_at=NOW(3)");
    buf_literal(text, " WHERE id=1;COMMIT");
    if (!tables_run(tables))
        return false;
    tables->place = *now;
    return true;
}

bool tables_rules(struct tables *tables, struct tidings_settings *settings,
                  char rules[TABLES_RULES_MAX + 1])
{
    enum tidings_err err = tidings_settings_of(tables->tidings, settings);
    if (err)
        return tables_fail(tables, "the settings cannot be read: %s", tidings_err_text(err));
    snprintf(rules, TABLES_RULES_MAX + 1,
             "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
             settings->hot_like, settings->hot_fav, settings->hot_comment,
             settings->hot_comment_like, settings->hot_comment_reply, settings->hot_comment_down);
    return true;
}
