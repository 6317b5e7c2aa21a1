/* SPDX-License-Identifier: MIT */
/*
 * Columns of a table stand in the order of kind_forms (rows/kinds.c): keys, numbers, texts. docs/FORMAT.md says what they mean.
 */
#include "engine/cluster/schema.h"

#include <stdio.h>
#include <sys/random.h>

#include "engine/cluster/names.h"

#define ID  "BIGINT UNSIGNED NOT NULL"
#define END ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"

/* A column that is not there yet. MySQL has no IF NOT EXISTS for that. */
#define ADD_COLUMN(table, column, type)                                                          \
    "SET @add = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = "       \
    "DATABASE() AND table_name = '" table "' AND column_name = '" column "') = 0, 'ALTER TABLE " \
    "" table " ADD COLUMN " column " " type "', 'DO 0');"                                        \
    "PREPARE add_column FROM @add;EXECUTE add_column;DEALLOCATE PREPARE add_column"

struct step {
    const char *what;
    const char *statements;
};

/* One is never changed after it was released: another is added. */
static const struct step steps[] = {
    {"users, authors and posts",
     "CREATE TABLE IF NOT EXISTS user (user_id " ID ", version " ID ", following " ID
     ", liked_posts " ID ", faved_posts " ID ", follow_full_at " ID ", react_full_at " ID
     ", comment_full_at " ID ", publish_full_at " ID ", history_cleared " ID ", subscriptions " ID
     ", positions " ID ", reading_cleared " ID ", quiet TINYINT UNSIGNED NOT NULL"
     ", PRIMARY KEY (user_id)" END ";"
     "CREATE TABLE IF NOT EXISTS user_counter (user_id " ID
     ", followers BIGINT NOT NULL, posts BIGINT NOT NULL, likes_received BIGINT NOT NULL"
     ", favs_received BIGINT NOT NULL, PRIMARY KEY (user_id)" END ";"
     "CREATE TABLE IF NOT EXISTS profile (user_id " ID
     ", name TEXT NOT NULL, avatar TEXT NOT NULL, extra TEXT NOT NULL, PRIMARY KEY (user_id)" END
     ";"
     "CREATE TABLE IF NOT EXISTS author (author_id " ID ", posts INT UNSIGNED NOT NULL"
     ", deleted INT UNSIGNED NOT NULL, last_id " ID ", PRIMARY KEY (author_id)" END ";"
     "CREATE TABLE IF NOT EXISTS story (story_id " ID ", scenes INT UNSIGNED NOT NULL"
     ", deleted INT UNSIGNED NOT NULL, last_id " ID ", PRIMARY KEY (story_id)" END ";"
     "CREATE TABLE IF NOT EXISTS post (post_id " ID ", author_id " ID
     ", number INT UNSIGNED NOT NULL, kind TINYINT UNSIGNED NOT NULL, edited " ID ", removed " ID
     ", position " ID
     ", title TEXT NOT NULL, excerpt TEXT NOT NULL, extra TEXT NOT NULL, PRIMARY KEY (post_id)"
     ", UNIQUE KEY by_author (author_id, number)" END ";"
     "CREATE TABLE IF NOT EXISTS post_body (post_id " ID
     ", body MEDIUMTEXT NOT NULL, PRIMARY KEY (post_id)" END ";"
     "CREATE TABLE IF NOT EXISTS post_deletion (author_id " ID
     ", ordinal INT UNSIGNED NOT NULL, number INT UNSIGNED NOT NULL"
     ", PRIMARY KEY (author_id, ordinal)" END},
    {"follows and what is read",
     "CREATE TABLE IF NOT EXISTS following (from_user_id " ID ", to_user_id " ID
     ", rel_status TINYINT UNSIGNED NOT NULL, rank_id " ID ", pair MEDIUMBLOB NOT NULL"
     ", PRIMARY KEY (from_user_id, to_user_id)" END ";"
     "CREATE TABLE IF NOT EXISTS follower (to_user_id " ID ", rank_id " ID ", from_user_id " ID
     ", PRIMARY KEY (to_user_id, rank_id, from_user_id)" END ";"
     "CREATE TABLE IF NOT EXISTS read_map (user_id " ID ", author_id " ID
     ", chunk INT UNSIGNED NOT NULL, map BLOB NOT NULL, PRIMARY KEY (user_id, author_id, chunk)" END
     ";"
     "CREATE TABLE IF NOT EXISTS history (user_id " ID ", stamp " ID ", post_id " ID
     ", PRIMARY KEY (user_id, stamp, post_id)" END ";"
     "CREATE TABLE IF NOT EXISTS history_cleared (user_id " ID ", PRIMARY KEY (user_id)" END},
    {"reactions, comments and counts",
     "CREATE TABLE IF NOT EXISTS reaction (user_id " ID ", target_id " ID
     ", reaction TINYINT UNSIGNED NOT NULL, target_kind TINYINT UNSIGNED NOT NULL, stamp " ID
     ", PRIMARY KEY (user_id, target_id, reaction)"
     ", KEY reactors (target_id, reaction, stamp), KEY reacted (user_id, target_kind, reaction, "
     "stamp)" END ";"
     "CREATE TABLE IF NOT EXISTS comment (comment_id " ID ", post_id " ID ", parent_id " ID
     ", user_id " ID ", status TINYINT UNSIGNED NOT NULL, moderated TINYINT UNSIGNED NOT NULL"
     ", likes " ID ", downs " ID ", replies " ID ", listed " ID ", list_id " ID ", heat " ID
     ", PRIMARY KEY (comment_id), KEY hot (list_id, heat, comment_id), KEY list (list_id, "
     "comment_id)" END ";"
     "CREATE TABLE IF NOT EXISTS comment_body (comment_id " ID
     ", body MEDIUMTEXT NOT NULL, PRIMARY KEY (comment_id)" END ";"
     "CREATE TABLE IF NOT EXISTS content_stats (post_id " ID
     ", kind TINYINT UNSIGNED NOT NULL, likes " ID ", favs " ID ", comments " ID ", heat " ID
     ", PRIMARY KEY (post_id), KEY hot (kind, heat, post_id)" END},
    {"scenes, reading and subscriptions",
     "CREATE TABLE IF NOT EXISTS scene (scene_id " ID ", story_id " ID
     ", number INT UNSIGNED NOT NULL, messages INT UNSIGNED NOT NULL, edited " ID ", removed " ID
     ", position " ID ", title TEXT NOT NULL, PRIMARY KEY (scene_id)"
     ", UNIQUE KEY by_story (story_id, number)" END ";"
     "CREATE TABLE IF NOT EXISTS scene_messages (scene_id " ID
     ", messages LONGBLOB NOT NULL, PRIMARY KEY (scene_id)" END ";"
     "CREATE TABLE IF NOT EXISTS scene_message_id (scene_id " ID ", message_id " ID
     ", PRIMARY KEY (scene_id, message_id)" END ";"
     "CREATE TABLE IF NOT EXISTS scene_deletion (story_id " ID
     ", ordinal INT UNSIGNED NOT NULL, number INT UNSIGNED NOT NULL"
     ", PRIMARY KEY (story_id, ordinal)" END ";"
     "CREATE TABLE IF NOT EXISTS subscription (user_id " ID ", story_id " ID
     ", status TINYINT UNSIGNED NOT NULL, rank_id " ID ", pair MEDIUMBLOB NOT NULL"
     ", PRIMARY KEY (user_id, story_id)" END ";"
     "CREATE TABLE IF NOT EXISTS subscriber (story_id " ID ", rank_id " ID ", user_id " ID
     ", PRIMARY KEY (story_id, rank_id, user_id)" END ";"
     "CREATE TABLE IF NOT EXISTS scene_read_map (user_id " ID ", story_id " ID
     ", chunk INT UNSIGNED NOT NULL, map BLOB NOT NULL, PRIMARY KEY (user_id, story_id, chunk)" END
     ";"
     "CREATE TABLE IF NOT EXISTS reading_position (user_id " ID ", story_id " ID ", read_at " ID
     ", scene_id " ID ", message_id " ID ", entered_at " ID ", erased_at " ID ", first_version " ID
     ", changed_version " ID ", shown_at " ID ", PRIMARY KEY (user_id, story_id)"
     ", KEY shown (user_id, shown_at, story_id), KEY changed (user_id, changed_version, "
     "story_id)" END},
    {"events, webhooks, idempotency and servers",
     "CREATE TABLE IF NOT EXISTS news_position (id TINYINT UNSIGNED NOT NULL, position " ID
     ", PRIMARY KEY (id)" END ";"
     "INSERT INTO news_position VALUES (1, 1) ON DUPLICATE KEY UPDATE id = id;"
     "CREATE TABLE IF NOT EXISTS outbox_event (position " ID
     ", event_type TINYINT UNSIGNED NOT NULL, happened_at BIGINT NOT NULL, actor_id " ID
     ", target_id " ID ", author_id " ID ", delta BIGINT NOT NULL, post_id " ID
     ", reaction TINYINT UNSIGNED NOT NULL, slot TINYINT UNSIGNED NOT NULL, PRIMARY KEY "
     "(position)" END ";"
     "CREATE TABLE IF NOT EXISTS webhook (created " ID
     ", name VARCHAR(255) NOT NULL, record MEDIUMBLOB NOT NULL, PRIMARY KEY (created)"
     ", UNIQUE KEY by_name (name)" END ";"
     "CREATE TABLE IF NOT EXISTS idempotency (user_id " ID ", key_high " ID ", key_low " ID
     ", stamp " ID ", record LONGBLOB NOT NULL, PRIMARY KEY (user_id, key_high, key_low)"
     ", KEY age (stamp)" END ";"
     "CREATE TABLE IF NOT EXISTS rules (id TINYINT UNSIGNED NOT NULL, record BLOB NOT NULL"
     ", PRIMARY KEY (id)" END ";"
     "INSERT INTO rules VALUES (1, '') ON DUPLICATE KEY UPDATE id = id;"
     "CREATE TABLE IF NOT EXISTS secret (id TINYINT UNSIGNED NOT NULL, bytes BINARY(32) NOT NULL"
     ", PRIMARY KEY (id)" END ";"
     "CREATE TABLE IF NOT EXISTS lane (slot TINYINT UNSIGNED NOT NULL, lane TINYINT UNSIGNED NOT "
     "NULL"
     ", fence " ID ", batch " ID ", PRIMARY KEY (slot, lane)" END ";"
     "CREATE TABLE IF NOT EXISTS server (slot TINYINT UNSIGNED NOT NULL, fence " ID ", until_id " ID
     ", seen_at DATETIME(3) NOT NULL, PRIMARY KEY (slot)" END},
    {"the time that has elapsed",
     "CREATE TABLE IF NOT EXISTS clock (id TINYINT UNSIGNED NOT NULL, elapsed_ms BIGINT NOT NULL"
     ", ages VARBINARY(1024) NOT NULL, PRIMARY KEY (id)" END ";"
     "INSERT INTO clock VALUES (1, 0, x'') ON DUPLICATE KEY UPDATE id = id;"
     "CREATE TABLE IF NOT EXISTS server_clock (slot TINYINT UNSIGNED NOT NULL"
     ", boot VARBINARY(64) NOT NULL, offset_ms BIGINT NOT NULL, lead_ms BIGINT NOT NULL"
     ", PRIMARY KEY (slot)" END},
    {"news of what is not kept",
     "CREATE TABLE IF NOT EXISTS passing_news (slot TINYINT UNSIGNED NOT NULL, lane TINYINT "
     "UNSIGNED NOT NULL, fence " ID ", batch " ID ", told_at DATETIME(3) NOT NULL"
     ", events MEDIUMBLOB NOT NULL, PRIMARY KEY (slot, lane, fence, batch), KEY age (told_at)" END},
    {"stories whose scenes are to be removed",
     "CREATE TABLE IF NOT EXISTS story_closed (story_id " ID ", PRIMARY KEY (story_id)" END},
    {"names to search by",
     "CREATE TABLE IF NOT EXISTS profile_name (user_id " ID
     ", folded VARBINARY(240) NOT NULL, PRIMARY KEY (user_id), KEY by_name (folded, user_id)" END},
    {"how often lists of deletions were mended",
     ADD_COLUMN("author", "remade", "INT UNSIGNED NOT NULL DEFAULT 0") ";" ADD_COLUMN(
         "story", "remade", "INT UNSIGNED NOT NULL DEFAULT 0")},
    {"whether servers remember",
     "CREATE TABLE IF NOT EXISTS memory_epoch (id TINYINT UNSIGNED NOT NULL, epoch " ID
     ", changed_at DATETIME(3) NOT NULL, PRIMARY KEY (id)" END ";"
     "INSERT INTO memory_epoch VALUES (1, 0, '1971-01-01') ON DUPLICATE KEY UPDATE id = id;"
     "CREATE TABLE IF NOT EXISTS memory_server (slot TINYINT UNSIGNED NOT NULL, fence " ID
     ", PRIMARY KEY (slot)" END},
    {"what Kafka is told",
     "CREATE TABLE IF NOT EXISTS relay (id TINYINT UNSIGNED NOT NULL, fence " ID ", position " ID
     ", told " ID ", missed " ID ", slot TINYINT UNSIGNED NOT NULL, held_until DATETIME(3) NOT NULL"
     ", wanted_at DATETIME(3) NOT NULL, trouble VARCHAR(255) NOT NULL, PRIMARY KEY (id)" END ";"
     "INSERT INTO relay VALUES (1, 0, 0, 0, 0, 0, '1970-01-01', '1970-01-01', '') ON DUPLICATE KEY "
     "UPDATE id = id;"
     "CREATE TABLE IF NOT EXISTS dead_letter (position " ID
     ", event_type TINYINT UNSIGNED NOT NULL, happened_at BIGINT NOT NULL, actor_id " ID
     ", target_id " ID ", author_id " ID ", delta BIGINT NOT NULL, post_id " ID
     ", reaction TINYINT UNSIGNED NOT NULL, again TINYINT UNSIGNED NOT NULL, noted_at DATETIME(3) "
     "NOT NULL, reason VARCHAR(255) NOT NULL, PRIMARY KEY (position)" END},
    {"keys in Redis for others to read",
     "INSERT INTO relay SELECT 2, 0, position, 0, 0, 0, '1970-01-01', '1970-01-01', '' FROM "
     "news_position WHERE news_position.id = 1 ON DUPLICATE KEY UPDATE relay.id = relay.id;"
     "CREATE TABLE IF NOT EXISTS rebuild (id TINYINT UNSIGNED NOT NULL, wanted " ID ", done " ID
     ", looked_at " ID ", removed " ID ", PRIMARY KEY (id)" END ";"
     "INSERT INTO rebuild VALUES (1, 0, 0, 0, 0) ON DUPLICATE KEY UPDATE id = id"},
    {"how far counts have been looked at, and what was found",
     "CREATE TABLE IF NOT EXISTS reconciliation (id TINYINT UNSIGNED NOT NULL, step " ID
     ", under_way TINYINT UNSIGNED NOT NULL, stage TINYINT UNSIGNED NOT NULL"
     ", walk TINYINT UNSIGNED NOT NULL, key_a " ID ", key_b " ID ", key_c " ID
     ", again TINYINT UNSIGNED NOT NULL, again_wanted TINYINT UNSIGNED NOT NULL, done " ID
     ", total " ID ", found " ID ", mended " ID ", began_at DATETIME(3) NOT NULL"
     ", last_ended_at DATETIME(3) NOT NULL, last_took_ms " ID ", last_rows " ID ", last_found " ID
     ", last_mended " ID ", PRIMARY KEY (id)" END ";"
     "INSERT INTO reconciliation VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '1970-01-01', "
     "'1970-01-01', 0, 0, 0, 0) ON DUPLICATE KEY UPDATE id = id;"
     "CREATE TABLE IF NOT EXISTS drift (kind VARCHAR(32) NOT NULL, found " ID ", mended " ID
     ", found_at DATETIME(3) NOT NULL, PRIMARY KEY (kind)" END},
    {"keys that posts were imported with",
     "CREATE TABLE IF NOT EXISTS post_key (post_id " ID
     ", name VARBINARY(200) NOT NULL, PRIMARY KEY (post_id)" END ";"
     "CREATE TABLE IF NOT EXISTS imported_key (kind TINYINT UNSIGNED NOT NULL, hash_high " ID
     ", hash_low " ID ", id " ID
     ", name VARBINARY(200) NOT NULL, PRIMARY KEY (kind, hash_high, hash_low)" END},
    {"how far an import has come",
     "CREATE TABLE IF NOT EXISTS import (id TINYINT UNSIGNED NOT NULL, input_lines " ID
     ", taken " ID ", repeated " ID ", rejected " ID ", input_check " ID ", step " ID
     ", step_id " ID ", newest " ID ", ended TINYINT UNSIGNED NOT NULL, PRIMARY KEY (id)" END},
    {"how far a move has come",
     ADD_COLUMN("import", "batch", "BIGINT UNSIGNED NOT NULL DEFAULT 0")},
};
enum { STEPS = sizeof steps / sizeof *steps };

const char schema_is_newer[] = "the tables were made by a newer version";

/* Made once, by whoever comes first. */
static enum sql_outcome make_secret(struct sql *sql)
{
    uint8_t secret[TIDINGS_SECRET_BYTES];
    struct buf text;
    if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret)
        return SQL_REFUSED;
    buf_init(&text, 1 << 10);
    buf_literal(&text, "INSERT INTO secret (id, bytes) VALUES (1, ");
    sql_put_bytes(&text, (struct bytes){secret, sizeof secret});
    buf_literal(&text, ") ON DUPLICATE KEY UPDATE id = id");
    enum sql_outcome outcome = sql_run(sql, &text);
    buf_release(&text);
    return outcome;
}

/* How many steps were taken. */
static enum sql_outcome read_version(struct sql *sql, uint64_t *version)
{
    struct buf text;
    buf_init(&text, 1 << 10);
    buf_literal(&text, "SELECT COALESCE(MAX(version), 0) FROM schema_version");
    enum sql_outcome outcome = sql_send(sql, &text);
    if (!outcome && sql_row(sql))
        *version = sql_u64(sql, 0);
    buf_release(&text);
    return outcome;
}

static enum sql_outcome take_step(struct sql *sql, unsigned number)
{
    struct buf text;
    buf_init(&text, 1 << 16);
    buf_text(&text, steps[number].statements);
    buf_printf(&text,
               ";INSERT INTO schema_version VALUES (%u) ON DUPLICATE KEY UPDATE version=version",
               number + 1);
    enum sql_outcome outcome = sql_run(sql, &text);
    buf_release(&text);
    return outcome;
}

enum sql_outcome schema_upgrade(struct sql *sql, void (*said)(void *ctx, const char *line),
                                void *ctx, bool *newer)
{
    uint64_t version = 0;
    char line[128];
    enum sql_outcome outcome = sql_run_text(
        sql,
        "CREATE TABLE IF NOT EXISTS schema_version (version INT UNSIGNED NOT NULL, PRIMARY KEY "
        "(version)) ENGINE=InnoDB");
    if (!outcome)
        outcome = read_version(sql, &version);
    *newer = version > STEPS;
    if (*newer)
        return outcome;
    for (; !outcome && version < STEPS; version++) {
        outcome = take_step(sql, (unsigned)version);
        snprintf(line, sizeof line, "step %llu of %d: %s", (unsigned long long)version + 1, STEPS,
                 steps[version].what);
        if (!outcome && said)
            said(ctx, line);
    }
    if (!outcome)
        outcome = make_secret(sql);
    return outcome ? outcome : names_fill(sql);
}

enum tidings_err schema_check(struct sql *sql, const char **message)
{
    uint64_t version = 0;
    enum sql_outcome outcome = read_version(sql, &version);
    if (!outcome && version == STEPS)
        return TIDINGS_OK;
    *message = version > STEPS
                   ? schema_is_newer
                   : "the tables are not there or are older: run `tidings cluster init`";
    return outcome && outcome != SQL_REFUSED ? sql_err(outcome) : TIDINGS_VERSION;
}
