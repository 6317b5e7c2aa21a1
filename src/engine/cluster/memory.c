/* SPDX-License-Identifier: MIT */
#include "engine/cluster/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/wait.h"
#include "engine/cluster/cluster.h"
#include "engine/ops/ops.h"
#include "redis/redis.h"

/* A mark outlives whatever a batch may wait for; what comes later, after a network has held it, is not committed. */
enum { MARK_MORE_MS = 10000 };

/* Epochs are raised again after so long at the soonest. */
enum { REST_S = 5 };

static const uint64_t only_row[ROW_KEYS] = {1};

/* ---- Life ----------------------------------------------------------------------------------- */

static bool open_one(const struct cluster *cluster, const struct redis_options *redis,
                     struct versions **versions, const char **message)
{
    *versions = versions_open(redis, cluster->url.database, message);
    return *versions != NULL;
}

enum tidings_err memory_open(struct cluster *cluster, const struct tidings_options *options,
                             const char **message)
{
    struct memory *memory = &cluster->memory;
    struct redis_options redis = {.nodes = options->redis,
                                  .user = options->redis_user,
                                  .password = options->redis_password,
                                  .tls = options->redis_tls,
                                  .ca_file = options->redis_ca};
    pthread_mutex_init(&memory->telling, NULL);
    if (!options->redis)
        return TIDINGS_OK;
    bool fine = open_one(cluster, &redis, &memory->probe, message);
    for (unsigned i = 0; fine && i < LANES; i++)
        fine = open_one(cluster, &redis, &cluster->lanes[i].memory.versions, message);
    for (unsigned i = 0; fine && i < READERS; i++)
        fine = open_one(cluster, &redis, &cluster->readers[i].memory.versions, message);
    if (fine)
        fine = (cluster->copier.mirror = mirror_open(&redis, message)) != NULL;
    memory->wanted = fine;
    memory->exact = options->exact;
    return fine ? TIDINGS_OK : TIDINGS_INVALID;
}

void memory_close(struct cluster *cluster)
{
    versions_close(cluster->memory.probe);
    for (unsigned i = 0; i < LANES; i++)
        versions_close(cluster->lanes[i].memory.versions);
    for (unsigned i = 0; i < READERS; i++)
        versions_close(cluster->readers[i].memory.versions);
    pthread_mutex_destroy(&cluster->memory.telling);
}

static bool is_on(uint64_t epoch)
{
    return epoch & 1;
}

/* It is on, and what was heard of it last still holds. While the database is away nothing better can be had, and the answer says how old it is. */
static bool may_recall(struct cluster *cluster, uint64_t *epoch, int64_t *age_ms)
{
    struct memory *memory = &cluster->memory;
    int64_t heard_ms_ago = wait_now_ms() - atomic_load(&memory->heard_ms);
    bool holds = heard_ms_ago < MEMORY_HEARD_MS;
    *epoch = atomic_load(&memory->epoch);
    *age_ms = holds ? 0 : heard_ms_ago;
    return memory->wanted && !memory->exact && is_on(*epoch) &&
           (holds || pulse_is_silent(&cluster->pulse));
}

void memory_status(struct cluster *cluster, struct tidings_cluster *status)
{
    struct memory *memory = &cluster->memory;
    uint64_t epoch;
    int64_t age_ms;
    status->redis.configured = memory->wanted;
    status->redis.remembers = may_recall(cluster, &epoch, &age_ms) && !age_ms;
    status->redis.recalled = atomic_load(&memory->recalled);
    status->redis.looked_up = atomic_load(&memory->looked_up);
    status->redis.masters = atomic_load(&memory->masters);
    status->redis.away = atomic_load(&memory->away);
    pthread_mutex_lock(&memory->telling);
    snprintf(status->redis.trouble, sizeof status->redis.trouble, "%s", memory->trouble);
    pthread_mutex_unlock(&memory->telling);
}

/* ---- The epoch ------------------------------------------------------------------------------ */

static void wait_until_all_heard(void)
{
    struct timespec time = {.tv_nsec = MEMORY_HEARD_MS * 1000000L};
    while (nanosleep(&time, &time))
        ;
}

/* Others may have done it already. */
static enum sql_outcome stop_remembering(struct sql *sql, uint64_t epoch)
{
    struct buf text;
    buf_init(&text, 1 << 10);
    buf_printf(&text,
               "UPDATE memory_epoch SET epoch=epoch+1, changed_at=NOW(3) WHERE id=1 AND epoch=%llu",
               (unsigned long long)epoch);
    enum sql_outcome outcome = sql_run(sql, &text);
    buf_release(&text);
    if (!outcome)
        wait_until_all_heard();
    return outcome;
}

enum sql_outcome memory_forget(struct sql *sql)
{
    return sql_run_text(sql, "UPDATE memory_epoch SET epoch=epoch+2, changed_at=NOW(3) WHERE id=1;"
                             "UPDATE rebuild SET wanted=wanted+1 WHERE id=1");
}

static void note_health(struct memory *memory, bool there)
{
    struct redis_health health;
    versions_health(memory->probe, &health);
    atomic_store(&memory->masters, health.masters);
    atomic_store(&memory->away, health.away);
    pthread_mutex_lock(&memory->telling);
    snprintf(memory->trouble, sizeof memory->trouble, "%s", there ? "" : health.problem);
    pthread_mutex_unlock(&memory->telling);
}

void memory_beat(struct cluster *cluster, struct sql *sql, bool first)
{
    struct buf text;
    buf_init(&text, 1 << 12);
    buf_printf(&text,
               "INSERT INTO memory_server (slot, fence) VALUES (%u,%llu) ON DUPLICATE KEY UPDATE "
               "fence=VALUES(fence)",
               cluster->slot, (unsigned long long)cluster->fence);
    bool there = versions_probe(cluster->memory.probe);
    note_health(&cluster->memory, there);
    if (first && there)
        buf_printf(
            &text,
            ";UPDATE memory_epoch SET epoch=epoch+1, changed_at=NOW(3) WHERE id=1 AND epoch%%2=0 "
            "AND changed_at < NOW(3) - INTERVAL %d SECOND AND NOT EXISTS (SELECT 1 FROM server s "
            "LEFT JOIN memory_server m ON m.slot=s.slot AND m.fence=s.fence WHERE m.slot IS NULL "
            "AND s.seen_at > NOW(3) - INTERVAL %d SECOND)",
            REST_S, SERVER_SILENT_MS / 1000);
    sql_run(sql, &text);
    buf_release(&text);
}

/* ---- Those who change ----------------------------------------------------------------------- */

/* The users whose version the batch changes. */
static size_t collect(struct desk *desk, struct version users[VERSIONS_MAX])
{
    size_t n = 0;
    for (const struct row *row = desk->sheet.changed; row; row = row->next_changed)
        if (row->kind == KIND_USER && row->value && n < VERSIONS_MAX)
            users[n++] =
                (struct version){.user = row->key[0], .version = row->value->numbers[USER_VERSION]};
    return n;
}

static int64_t mark_life_ms(const struct lane *lane)
{
    return (int64_t)lane->cluster->settings.deadline_ms + MARK_MORE_MS;
}

unsigned memory_put_begin(struct lane *lane)
{
    if (!lane->cluster->memory.wanted)
        return 0;
    buf_literal(&lane->desk.text, "SET @begun=UNIX_TIMESTAMP(NOW(3))*1000;");
    return 1;
}

void memory_put_limit(struct lane *lane)
{
    if (memory_is_marked(lane))
        buf_printf(&lane->desk.text, " AND UNIX_TIMESTAMP(NOW(3))*1000<@begun+%lld",
                   (long long)mark_life_ms(lane));
}

bool memory_is_marked(const struct lane *lane)
{
    return lane->memory.n != 0;
}

enum sql_outcome memory_mark(struct lane *lane)
{
    struct desk *desk = &lane->desk;
    struct recollection *own = &lane->memory;
    const struct value *epoch = sheet_peek(&desk->sheet, KIND_EPOCH, only_row);
    own->n = 0;
    if (!epoch || !is_on(epoch->numbers[0]))
        return SQL_DONE;
    size_t n = collect(desk, own->users);
    own->epoch = epoch->numbers[0];
    if (!n)
        return SQL_DONE;
    if (own->versions &&
        versions_mark(own->versions, own->epoch, own->users, n, mark_life_ms(lane))) {
        own->n = n;
        return SQL_DONE;
    }
    enum sql_outcome outcome = sql_run_text(desk->sql, "ROLLBACK");
    if (!outcome)
        outcome = stop_remembering(desk->sql, own->epoch);
    return outcome ? outcome : SQL_AGAIN;
}

enum sql_outcome memory_tell(struct lane *lane, uint64_t position)
{
    struct recollection *own = &lane->memory;
    size_t n = own->n;
    own->n = 0;
    for (size_t i = 0; i < n; i++) {
        own->users[i].position = position;
        own->users[i].version = position ? own->users[i].version : 0;
    }
    if (!n || versions_tell(own->versions, own->epoch, own->users, n))
        return SQL_DONE;
    bool stopped = lane->desk.sql && !stop_remembering(lane->desk.sql, own->epoch);
    return stopped ? SQL_DONE : SQL_LOST;
}

void memory_unmark(struct lane *lane)
{
    struct recollection *own = &lane->memory;
    for (size_t i = 0; i < own->n; i++)
        own->users[i].version = 0;
    if (own->n)
        versions_tell(own->versions, own->epoch, own->users, own->n);
    own->n = 0;
}

/* ---- Those who answer ----------------------------------------------------------------------- */

static bool can_be_recalled(const struct tidings_call *call)
{
    return call->op->kind == TIDINGS_OP_BADGE && !call->op->exact;
}

static void put_user(struct reader *reader, const struct version *user, uint64_t position)
{
    struct value row = {.exists = true};
    const uint64_t key[ROW_KEYS] = {user->user};
    if (user->state != VERSION_KNOWN || user->position > position)
        return;
    row.numbers[USER_VERSION] = user->version;
    sheet_loaded(&reader->desk.sheet, KIND_USER, key, &row);
}

static size_t ask_versions(struct reader *reader, struct tidings_call **calls, size_t n)
{
    struct recollection *own = &reader->memory;
    size_t n_users = 0;
    for (size_t i = 0; i < n; i++)
        if (can_be_recalled(calls[i]))
            own->users[n_users++] = (struct version){.user = calls[i]->op->user_id};
    if (n_users)
        versions_get(own->versions, own->epoch, own->users, n_users);
    return n_users;
}

size_t memory_recall(struct reader *reader, struct tidings_call **calls,
                     struct tidings_answer *said, size_t n)
{
    struct recollection *own = &reader->memory;
    struct memory *memory = &reader->cluster->memory;
    uint64_t position = current_position(&memory->current);
    size_t left = 0;
    int64_t age_ms;
    own->n = 0;
    if (!may_recall(reader->cluster, &own->epoch, &age_ms))
        return n;
    own->n = ask_versions(reader, calls, n);
    if (!own->n)
        return n;
    struct value at = {.exists = true, .numbers = {position}};
    sheet_loaded(&reader->desk.sheet, KIND_POSITION, only_row, &at);
    for (size_t i = 0; i < own->n; i++)
        put_user(reader, &own->users[i], position);
    reader->desk.recalls_at = position;
    for (size_t i = 0; i < n; i++) {
        if (can_be_recalled(calls[i]) && calls[i]->op->seen <= position &&
            reader_try(reader, calls[i], i, &said[i])) {
            atomic_fetch_add(&memory->recalled, 1);
            calls[i]->answer->age_ms = age_ms;
            calls[i]->done(calls[i]);
            continue;
        }
        said[left] = said[i];
        calls[left++] = calls[i];
    }
    atomic_fetch_add(&memory->looked_up, own->n - (n - left));
    reader->desk.recalls_at = 0;
    desk_clear(&reader->desk);
    return left;
}

uint64_t memory_shown(struct reader *reader)
{
    const struct value *at = sheet_peek(&reader->desk.sheet, KIND_POSITION, only_row);
    return reader->cluster->memory.wanted && at ? at->numbers[0] : 0;
}

void memory_want(struct reader *reader)
{
    if (reader->cluster->memory.wanted)
        sheet_get(&reader->desk.sheet, KIND_POSITION, only_row);
}

static void note_authors(struct reader *reader, uint64_t position)
{
    const struct row *row =
        sheet_from(&reader->desk.sheet, KIND_AUTHOR, (const uint64_t[ROW_KEYS]){0});
    for (; row && row->kind == KIND_AUTHOR; row = sheet_next(row))
        if (row->value && row->value->exists)
            current_put(&reader->cluster->memory.current, row->key[0], position, row->value);
}

void memory_note(struct reader *reader)
{
    struct recollection *own = &reader->memory;
    struct sheet *sheet = &reader->desk.sheet;
    const struct value *at = sheet_peek(sheet, KIND_POSITION, only_row);
    if (!reader->cluster->memory.wanted || !at || !at->exists)
        return;
    note_authors(reader, at->numbers[0]);
    for (size_t i = 0; i < own->n; i++) {
        const uint64_t key[ROW_KEYS] = {own->users[i].user};
        const struct value *user = sheet_peek(sheet, KIND_USER, key);
        if (own->users[i].state != VERSION_WANTED || !user)
            continue;
        own->users[i].version = user->numbers[USER_VERSION];
        own->users[i].position = at->numbers[0];
    }
}

void memory_fill(struct reader *reader)
{
    struct recollection *own = &reader->memory;
    if (own->n)
        versions_fill(own->versions, own->epoch, own->users, own->n);
    own->n = 0;
}

/* ---- The news ------------------------------------------------------------------------------- */

/* The events by which authors' rows change; all that are named in them are forgotten. */
enum { CHANGES_MAX = 4096 };

static uint64_t take_number(struct sql *sql)
{
    return sql_row(sql) ? sql_u64(sql, 0) : 0;
}

static void put_question(struct buf *text, uint64_t position)
{
    buf_printf(text,
               "SELECT epoch FROM memory_epoch WHERE id=1;"
               "SELECT position FROM news_position WHERE id=1;"
               "SELECT author_id FROM outbox_event WHERE position>%llu AND event_type IN (%d,%d) "
               "LIMIT %d",
               (unsigned long long)position, TIDINGS_EVENT_POST_PUBLISHED,
               TIDINGS_EVENT_POST_DELETED, CHANGES_MAX + 1);
}

/* The events are asked for last, so all up to the position are among them. */
enum sql_outcome memory_hear(struct cluster *cluster, struct sql *sql)
{
    struct memory *memory = &cluster->memory;
    uint64_t changed[CHANGES_MAX + 1];
    struct buf text;
    uint64_t epoch = 0, position = 0;
    size_t n = 0;
    bool more = true;
    int64_t asked_ms = wait_now_ms();
    buf_init(&text, 1 << 12);
    put_question(&text, current_position(&memory->current));
    enum sql_outcome outcome = sql_send(sql, &text);
    buf_release(&text);
    if (!outcome) {
        epoch = take_number(sql);
        outcome = sql_next(sql, &more);
    }
    if (!outcome) {
        position = take_number(sql);
        outcome = sql_next(sql, &more);
    }
    while (!outcome && n <= CHANGES_MAX && sql_row(sql))
        changed[n++] = sql_u64(sql, 0);
    if (!outcome)
        outcome = sql_next(sql, &more);
    if (outcome)
        return outcome;
    if (n > CHANGES_MAX || epoch != atomic_load(&memory->epoch))
        current_begin(&memory->current, position);
    else
        current_move(&memory->current, position, changed, n);
    atomic_store(&memory->epoch, epoch);
    atomic_store(&memory->heard_ms, asked_ms);
    return SQL_DONE;
}
