/* SPDX-License-Identifier: MIT */
/*
 * All facts of one snapshot, in the order in which they are applied (engine/facts/fact.h): a walk through the tables that hold the truth, by
 * pages of their keys. What is at these keys is told as operations read it, from a desk: some at a time are looked at until all that they need is
 * loaded, and then told.
 */
#include <stdlib.h>

#include "engine/cluster/cluster.h"
#include "engine/facts/tell.h"

enum { BATCH = 256, PAGE = 1024, ROUNDS_MAX = 4096 };
enum { SILENT_MS = 600 * 1000 };

/* What is walked through: a table, in the order of its key, and how a row of it is told. */
struct source {
    const char *table;
    const char *keys[ROW_KEYS]; /* "0" where it has no more */
    void (*tell)(struct teller *teller, const uint64_t key[ROW_KEYS]);
    bool is_users; /* the first key is a user's */
};

/* Its keys, a page at a time. */
struct cursor {
    const struct source *source;
    uint64_t page[PAGE][ROW_KEYS];
    size_t at, n;
    bool is_last; /* there is no page behind this one */
};

struct item {
    const struct source *source;
    uint64_t key[ROW_KEYS];
};

struct exporting {
    struct cluster *cluster;
    struct desk desk;
    struct fact_sink *sink;
    uint64_t user; /* only this one's; 0: all */
    bool enough;
    enum tidings_err err;
    struct tidings_progress progress;
    const char *part;
    uint64_t done, total;
    struct item items[BATCH];
    size_t n_items;
};

/* ---- One row -------------------------------------------------------------------------------- */

static void one_profile(struct teller *teller, const uint64_t key[ROW_KEYS])
{
    struct profile_record profile = teller->view->rows->get_profile(teller->view, key[0]);
    tell_profile(teller, key[0], &profile);
}

static void one_post(struct teller *teller, const uint64_t key[ROW_KEYS])
{
    struct post_record post;
    if (view_post(teller->view, key[0], &post))
        tell_post(teller, key[0], &post);
}

/* All ids that messages of the scene ever had. */
static uint64_t *given_ids(struct view *view, uint64_t scene, size_t *n)
{
    const uint64_t key[ROW_KEYS] = {scene};
    struct sheet *sheet = &desk_view(view)->desk->sheet;
    bool here = sheet_has_range(sheet, KIND_MESSAGE_ID, key);
    const struct row *first = here ? sheet_from(sheet, KIND_MESSAGE_ID, key) : NULL, *row;
    size_t room = 0;
    *n = 0;
    desk_view(view)->incomplete |= !here;
    for (row = first; row && row->kind == KIND_MESSAGE_ID && row->key[0] == scene;
         row = sheet_next(row))
        room++;
    uint64_t *ids = view_array(view, view->scratch, room, sizeof *ids);
    for (row = first; ids && room--; row = sheet_next(row))
        if (!row->is_range && row->value && row->value->exists)
            ids[(*n)++] = row->key[1];
    return ids;
}

static void one_scene(struct teller *teller, const uint64_t key[ROW_KEYS])
{
    struct scene_record scene;
    size_t n;
    uint64_t *given = given_ids(teller->view, key[0], &n);
    if (view_scene(teller->view, key[0], &scene))
        tell_scene(teller, key[0], &scene, given, n);
}

static void one_comment(struct teller *teller, const uint64_t key[ROW_KEYS])
{
    struct comment_record comment;
    if (view_comment(teller->view, key[0], &comment))
        tell_comment(teller, key[0], &comment);
}

static void one_shelf(struct teller *teller, const uint64_t key[ROW_KEYS])
{
    struct shelf_record shelf = teller->view->rows->get_shelf(teller->view, key[0]);
    tell_shelf(teller, key[0], &shelf);
}

/* One that was never delivered anything is what its read maps say. */
static void one_pair(struct teller *teller, enum realm realm, const uint64_t key[ROW_KEYS])
{
    struct tie tie;
    tie_load(teller->view, realm, key[0], key[1], &tie);
    if (tie.stored == TIE_INSIDE)
        tell_pair(teller, &tie);
}

static void one_follow(struct teller *teller, const uint64_t key[ROW_KEYS])
{
    one_pair(teller, REALM_POSTS, key);
}

static void one_subscription(struct teller *teller, const uint64_t key[ROW_KEYS])
{
    one_pair(teller, REALM_SCENES, key);
}

static void one_map(struct teller *teller, enum realm realm, const uint64_t key[ROW_KEYS])
{
    struct tie tie = {.realm = realm, .fan = key[0], .author = key[1]};
    struct readmap map;
    if (teller->view->rows->get_readmap(teller->view, &tie, (uint32_t)key[2], &map))
        tell_map(teller, realm, key[0], key[1], (uint32_t)key[2], &map);
    else
        view_head(teller->view, realm, key[1]); /* it will be needed */
}

static void one_read(struct teller *teller, const uint64_t key[ROW_KEYS])
{
    one_map(teller, REALM_POSTS, key);
}

static void one_notified(struct teller *teller, const uint64_t key[ROW_KEYS])
{
    one_map(teller, REALM_SCENES, key);
}

static void one_entry(struct teller *teller, const uint64_t key[ROW_KEYS])
{
    tell_history(teller, key[0], (struct history_entry){key[1], key[2]},
                 view_user(teller->view, key[0]).history_cleared);
}

static void one_reaction(struct teller *teller, const uint64_t key[ROW_KEYS])
{
    struct reaction_record record = teller->view->rows->get_reaction(teller->view, key[0], key[1]);
    if (key[2] >= TIDINGS_LIKE && key[2] < REACTIONS)
        tell_reaction(teller, key[0], key[1], record.target, (enum tidings_reaction)key[2],
                      record.stamp[key[2]]);
    else
        view_corrupt(teller->view);
}

static void one_position(struct teller *teller, const uint64_t key[ROW_KEYS])
{
    struct position_record position =
        teller->view->rows->get_position(teller->view, key[0], key[1]);
    tell_position(teller, key[0], key[1], &position);
}

static const struct source things[] = {
    {"profile", {"user_id", "0", "0"}, one_profile, true},
    {"post", {"post_id", "0", "0"}, one_post, false},
    {"scene", {"scene_id", "0", "0"}, one_scene, false},
    {"comment", {"comment_id", "0", "0"}, one_comment, false},
};
enum { THINGS = sizeof things / sizeof *things };

/* Of each user in turn. */
static const struct source users[] = {
    {"user", {"user_id", "0", "0"}, one_shelf, true},
    {"following", {"from_user_id", "to_user_id", "0"}, one_follow, true},
    {"read_map", {"user_id", "author_id", "chunk"}, one_read, true},
    {"history", {"user_id", "stamp", "post_id"}, one_entry, true},
    {"reaction", {"user_id", "target_id", "reaction"}, one_reaction, true},
    {"subscription", {"user_id", "story_id", "0"}, one_subscription, true},
    {"scene_read_map", {"user_id", "story_id", "chunk"}, one_notified, true},
    {"reading_position", {"user_id", "story_id", "0"}, one_position, true},
};
enum { USERS = sizeof users / sizeof *users };

/* ---- Some at a time ------------------------------------------------------------------------- */

static bool goes_on(const struct exporting *ex)
{
    return !ex->err && !ex->enough;
}

static void fail(struct exporting *ex, enum sql_outcome outcome)
{
    if (outcome && !ex->err)
        ex->err = sql_err(outcome);
}

/* Looks at one, or tells it; false if something is not at hand. */
static bool visit(struct exporting *ex, const struct item *item, bool tells)
{
    static const struct tidings_op nobody = {.user_id = 1};
    struct desk_view own = desk_view_of(ex->cluster, &ex->desk, &nobody, 0);
    struct teller teller = {.view = &own.view, .sink = tells ? ex->sink : NULL, .user = ex->user};
    own.view.err = &own.err;
    own.need = NEED_IDS;
    if (item)
        item->source->tell(&teller, item->key);
    else
        tell_webhooks(&teller);
    arena_clear(&ex->desk.scratch);
    if (own.incomplete)
        return false;
    if (own.err && !ex->err)
        ex->err = own.err;
    ex->enough |= teller.enough;
    return true;
}

/* Of no items: the webhooks. */
static void look_at_all(struct exporting *ex)
{
    bool ready = false;
    for (int round = 0; goes_on(ex) && !ready && round < ROUNDS_MAX; round++) {
        ready = ex->n_items || visit(ex, NULL, false);
        for (size_t i = 0; i < ex->n_items && goes_on(ex); i++)
            ready &= visit(ex, &ex->items[i], false);
        if (!ready && goes_on(ex))
            fail(ex, desk_load(&ex->desk, 0));
        if (ex->desk.sheet.failed)
            fail(ex, SQL_FULL);
    }
    if (!ready && goes_on(ex))
        fail(ex, SQL_TIMEOUT);
}

static void end_batch(struct exporting *ex)
{
    if (!ex->n_items)
        return;
    look_at_all(ex);
    for (size_t i = 0; i < ex->n_items && goes_on(ex); i++)
        visit(ex, &ex->items[i], true);
    desk_clear(&ex->desk);
    ex->done += ex->n_items;
    ex->n_items = 0;
    if (ex->progress.tell)
        ex->progress.tell(ex->progress.ctx, ex->part, ex->done,
                          ex->total > ex->done ? ex->total : ex->done);
}

static void add_item(struct exporting *ex, const struct source *source,
                     const uint64_t key[ROW_KEYS])
{
    struct item *item = &ex->items[ex->n_items++];
    item->source = source;
    memcpy(item->key, key, sizeof item->key);
    if (ex->n_items == BATCH)
        end_batch(ex);
}

/* ---- Pages of keys -------------------------------------------------------------------------- */

static void put_page(struct exporting *ex, const struct cursor *cursor)
{
    const struct source *source = cursor->source;
    const char *a = source->keys[0], *b = source->keys[1], *c = source->keys[2];
    const uint64_t *after = cursor->n ? cursor->page[cursor->n - 1] : (const uint64_t[ROW_KEYS]){0};
    unsigned long long p = after[0], pb = after[1], pc = after[2];
    buf_printf(&ex->desk.text, "SELECT %s, %s, %s FROM %s FORCE INDEX (PRIMARY) WHERE ", a, b, c,
               source->table);
    buf_printf(&ex->desk.text,
               "%s >= %llu AND (%s > %llu OR %s = %llu AND (%s > %llu OR %s = %llu AND %s > "
               "%llu))",
               a, p, a, p, a, p, b, pb, b, pb, c, pc);
    if (ex->user && source->is_users)
        buf_printf(&ex->desk.text, " AND %s = %llu", a, (unsigned long long)ex->user);
    buf_printf(&ex->desk.text, " ORDER BY 1, 2, 3 LIMIT %d", PAGE);
}

/* The next key; NULL: there is none. */
static const uint64_t *look(struct exporting *ex, struct cursor *cursor)
{
    if (cursor->at < cursor->n)
        return cursor->page[cursor->at];
    if (cursor->is_last || !goes_on(ex))
        return NULL;
    put_page(ex, cursor);
    enum sql_outcome outcome = sql_send(ex->desk.sql, &ex->desk.text);
    for (cursor->at = cursor->n = 0; !outcome && cursor->n < PAGE && sql_row(ex->desk.sql);
         cursor->n++)
        for (unsigned i = 0; i < ROW_KEYS; i++)
            cursor->page[cursor->n][i] = sql_u64(ex->desk.sql, i);
    cursor->is_last = cursor->n < PAGE;
    buf_clear(&ex->desk.text);
    fail(ex, outcome);
    return cursor->n && !outcome ? cursor->page[0] : NULL;
}

/* All keys, or those of one user, become items. */
static void take_all(struct exporting *ex, struct cursor *cursor, uint64_t user)
{
    const uint64_t *key;
    while (goes_on(ex) && (key = look(ex, cursor)) && (!user || key[0] == user)) {
        add_item(ex, cursor->source, key);
        cursor->at++;
    }
}

static uint64_t next_user(struct exporting *ex, struct cursor *cursors)
{
    uint64_t next = 0;
    for (unsigned i = 0; i < USERS; i++) {
        const uint64_t *key = look(ex, &cursors[i]);
        if (key && (!next || key[0] < next))
            next = key[0];
    }
    return next;
}

static void export_users(struct exporting *ex, struct cursor *cursors)
{
    uint64_t user;
    for (unsigned i = 0; i < USERS; i++)
        cursors[i] = (struct cursor){.source = &users[i]};
    ex->part = "users";
    while (goes_on(ex) && (user = next_user(ex, cursors)))
        for (unsigned i = 0; i < USERS; i++)
            take_all(ex, &cursors[i], user);
    end_batch(ex);
}

/* ---- All of it ------------------------------------------------------------------------------ */

/* No id that was given out is greater. What servers that run may give out is not known to them alone. */
static enum sql_outcome find_newest(struct exporting *ex, uint64_t *newest)
{
    buf_printf(&ex->desk.text, "SELECT MAX(until_id) FROM server WHERE slot <> %u",
               (unsigned)ex->cluster->slot);
    enum sql_outcome outcome = sql_send(ex->desk.sql, &ex->desk.text);
    *newest = !outcome && sql_row(ex->desk.sql) ? sql_u64(ex->desk.sql, 0) : 0;
    buf_clear(&ex->desk.text);
    if (ids_last(&ex->cluster->ids) > *newest)
        *newest = ids_last(&ex->cluster->ids);
    return outcome;
}

static enum sql_outcome guess_total(struct exporting *ex)
{
    buf_literal(&ex->desk.text, "SELECT SUM(TABLE_ROWS) FROM information_schema.TABLES WHERE "
                                "TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (");
    for (unsigned i = 0; i < THINGS + USERS; i++) {
        const char *table = i < THINGS ? things[i].table : users[i - THINGS].table;
        buf_printf(&ex->desk.text, "%s'%s'", i ? "," : "", table);
    }
    buf_char(&ex->desk.text, ')');
    enum sql_outcome outcome = sql_send(ex->desk.sql, &ex->desk.text);
    if (!outcome && sql_row(ex->desk.sql))
        ex->total = sql_u64(ex->desk.sql, 0);
    buf_clear(&ex->desk.text);
    return outcome;
}

static void begin(struct exporting *ex)
{
    uint64_t newest = 0;
    struct view view = {.err = &ex->err};
    struct teller teller = {.view = &view, .sink = ex->sink, .user = ex->user};
    fail(ex, guess_total(ex));
    if (goes_on(ex))
        fail(ex,
             sql_run_text(ex->desk.sql, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"));
    if (goes_on(ex))
        fail(ex, find_newest(ex, &newest));
    tell_begin(&teller, newest);
    ex->enough = teller.enough;
}

static void export_all(struct exporting *ex, struct cursor *cursors)
{
    static const char *const parts[THINGS] = {"profiles", "posts", "scenes", "comments"};
    begin(ex);
    for (unsigned i = 0; i < THINGS; i++) {
        cursors[0] = (struct cursor){.source = &things[i]};
        ex->part = parts[i];
        take_all(ex, &cursors[0], 0);
        end_batch(ex);
    }
    export_users(ex, cursors);
    look_at_all(ex);
    if (goes_on(ex))
        visit(ex, NULL, true);
    desk_clear(&ex->desk);
}

enum tidings_err cluster_export(struct engine *engine, uint64_t user, struct fact_sink *sink,
                                struct tidings_progress *progress)
{
    struct cluster *cluster = (struct cluster *)engine;
    struct exporting *ex = calloc(1, sizeof *ex);
    struct cursor *cursors = calloc(USERS, sizeof *cursors);
    enum tidings_err err = TIDINGS_NO_MEMORY;
    if (ex && cursors) {
        ex->cluster = cluster;
        ex->sink = sink;
        ex->user = user;
        ex->progress = *progress;
        desk_init(cluster, &ex->desk, true);
        ex->desk.silent_ms = SILENT_MS;
        if (desk_connect(cluster, &ex->desk, 0))
            export_all(ex, cursors);
        else
            ex->err = TIDINGS_UNREACHABLE;
        err = ex->err;
        desk_release(&ex->desk);
    }
    free(ex);
    free(cursors);
    return err;
}
