/* SPDX-License-Identifier: MIT */
/* The redo log in words, for whoever wants to know what happened when. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "engine/local/rows/keys.h"
#include "engine/local/rows/told.h"
#include "engine/local/storage/store.h"
#include "engine/records/records.h"

struct printing {
    FILE *to;
    bool rows;
};

static void print_time(FILE *to, int64_t time_ms)
{
    char text[32];
    time_t seconds = (time_t)(time_ms / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    fprintf(to, "%s.%03dZ", text, (int)(time_ms % 1000));
}

/* Texts as they are; the id that almost every other key begins with, then letters as letters and the rest in hexadecimal. */
static void print_key(FILE *to, const struct change *change)
{
    struct bytes key = change->key;
    size_t i = 0;
    if (change->table == TABLE_META) {
        fprintf(to, "%.*s", (int)key.n, (const char *)key.p);
        return;
    }
    if (change->table == TABLE_NAME && key.n > ID_BYTES) { /* no name has a NUL */
        fprintf(to, "%.*s %" PRIu64, (int)(key.n - ID_BYTES), (const char *)key.p,
                get_id(key.p + key.n - ID_BYTES));
        return;
    }
    if (key.n >= ID_BYTES) {
        fprintf(to, "%" PRIu64, get_id(key.p));
        i = ID_BYTES;
    }
    if (i < key.n && islower(key.p[i]))
        fprintf(to, " %c", key.p[i++]);
    if (i < key.n)
        fputc(' ', to);
    for (; i < key.n; i++)
        fprintf(to, "%02x", key.p[i]);
}

static void print_row(FILE *to, const struct change *change)
{
    static const char *const names[TABLE_COUNT] = {
#define X(table, name, near) [TABLE_##table] = name,
        KV_TABLES(X)
#undef X
    };
    if (!change_is_row(change->table))
        return;
    fprintf(to, "    %s %s ", change->is_put ? "put" : "delete", names[change->table]);
    print_key(to, change);
    if (change->is_put)
        fprintf(to, " (%zu bytes)", change->value.n);
    fputc('\n', to);
}

static void print_event(FILE *to, const struct change *change)
{
    struct tidings_event event;
    if (!told_event(change, &event))
        return;
    fprintf(to, "    %s by %" PRIu64 ": %s %" PRIu64 "\n", tidings_event_name(event.type),
            event.actor_user_id, tidings_event_target(event.type), event.target_id);
}

static bool print_record(void *ctx, const struct redo_record *record)
{
    struct printing *printing = ctx;
    struct decoder r = decoder_of(record->changes.p, record->changes.n);
    struct change change;
    size_t n = 0;
    while (change_decode(&r, &change))
        n += change_is_row(change.table);
    fprintf(printing->to, "%" PRIu64 " ", record->number);
    print_time(printing->to, record->time_ms);
    fprintf(printing->to, " %zu rows, %zu bytes%s\n", n, record->changes.n,
            r.bad ? ", not all of which can be read" : "");
    r = decoder_of(record->changes.p, record->changes.n);
    while (change_decode(&r, &change)) {
        print_event(printing->to, &change);
        if (printing->rows)
            print_row(printing->to, &change);
    }
    return !ferror(printing->to);
}

/* Where the log begins, if that is later. */
static uint64_t before_first(const char *log_dir, uint64_t after)
{
    uint64_t *firsts, first = 0;
    size_t n;
    if (!redo_segments(log_dir, &firsts, &n) && n)
        first = firsts[0];
    free(firsts);
    return first > after + 1 ? first - 1 : after;
}

enum tidings_err tidings_print_log(const char *dir, uint64_t after, bool rows, FILE *to,
                                   const char **message)
{
    char log_dir[PATH_BYTES];
    struct state state;
    bool found;
    struct printing printing = {to, rows};
    if (!path_join(log_dir, dir, "log") || state_read(dir, &state, &found) || !found)
        return store_fail(TIDINGS_NOT_FOUND, message,
                          "there is neither a data directory nor a backup", false);
    struct redo_scan scan = {.dir = log_dir,
                             .id = state.id,
                             .after = before_first(log_dir, after),
                             .reaches = dir_is_empty(log_dir) ? 0 : state.reaches,
                             .visit = print_record,
                             .ctx = &printing};
    enum tidings_err err = redo_scan(&scan);
    if (err)
        return store_fail(err, message, scan.message[0] ? scan.message : "the log cannot be read",
                          false);
    if (scan.end.torn)
        fprintf(to, "(a batch that was never finished follows)\n");
    return TIDINGS_OK;
}
