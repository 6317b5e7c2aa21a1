/* SPDX-License-Identifier: MIT */
/*
 * Verify: everything that is stored twice, recomputed from what it follows from. Most of it in SQL, in a table of questions that
 * each answer with the rows that differ; what is packed is looked at in memory, by the rules that the local engine's verify uses,
 * too. All of it on one snapshot.
 */
#include <inttypes.h>
#include <stdio.h>

#include "domain/ids.h"
#include "engine/cluster/cluster.h"
#include "engine/cluster/names.h"
#include "engine/inbox/audit.h"

/* ---- In SQL --------------------------------------------------------------------------------- */

struct rule {
    const char *what; /* of the number in the first column the second is, and should be the third */
    const char *query;
};

/* A column of a table holds a number by its key; `truth` selects what it should be, as id and n. */
#define COUNTED(table, key, column, truth)                                                         \
    {                                                                                              \
        table "." column, "SELECT k.id, COALESCE(t." column ", 0), COALESCE(x.n, 0) FROM "         \
                          "(SELECT " key " id FROM " table " UNION SELECT id FROM (" truth         \
                          ") y) k LEFT JOIN " table " t ON t." key " = k.id LEFT JOIN (" truth     \
                          ") x ON x.id = k.id WHERE COALESCE(t." column ", 0) <> COALESCE(x.n, 0)" \
    }

#define CLOSED "18446744073709551615"

static const struct rule rules[] = {
    COUNTED(
        "user_counter", "user_id", "followers",
        "SELECT to_user_id id, COUNT(*) n FROM following WHERE rel_status = 2 GROUP BY to_user_id"),
    COUNTED("user_counter", "user_id", "posts",
            "SELECT author_id id, COUNT(*) n FROM post WHERE removed = 0 GROUP BY author_id"),
    COUNTED(
        "user_counter", "user_id", "likes_received",
        "SELECT p.author_id id, COUNT(*) n FROM post p JOIN reaction r ON r.target_id = p.post_id "
        "AND r.target_kind = 1 AND r.reaction = 1 WHERE p.removed = 0 GROUP BY p.author_id"),
    COUNTED(
        "user_counter", "user_id", "favs_received",
        "SELECT p.author_id id, COUNT(*) n FROM post p JOIN reaction r ON r.target_id = p.post_id "
        "AND r.target_kind = 1 AND r.reaction = 2 WHERE p.removed = 0 GROUP BY p.author_id"),
    COUNTED("user", "user_id", "following",
            "SELECT from_user_id id, COUNT(*) n FROM following WHERE rel_status = 2 GROUP BY "
            "from_user_id"),
    COUNTED("user", "user_id", "liked_posts",
            "SELECT user_id id, COUNT(*) n FROM reaction WHERE target_kind = 1 AND reaction = 1 "
            "GROUP BY user_id"),
    COUNTED("user", "user_id", "faved_posts",
            "SELECT user_id id, COUNT(*) n FROM reaction WHERE target_kind = 1 AND reaction = 2 "
            "GROUP BY user_id"),
    COUNTED("user", "user_id", "subscriptions",
            "SELECT user_id id, COUNT(*) n FROM subscription WHERE status >= 2 GROUP BY user_id"),
    COUNTED(
        "user", "user_id", "positions",
        "SELECT user_id id, COUNT(*) n FROM reading_position WHERE shown_at > 0 GROUP BY user_id"),
    COUNTED("author", "author_id", "posts",
            "SELECT author_id id, COUNT(*) n FROM post GROUP BY author_id"),
    COUNTED("author", "author_id", "deleted",
            "SELECT author_id id, COUNT(*) n FROM post_deletion GROUP BY author_id"),
    COUNTED("author", "author_id", "last_id",
            "SELECT author_id id, MAX(post_id) n FROM post GROUP BY author_id"),
    COUNTED("story", "story_id", "scenes",
            "SELECT story_id id, COUNT(*) n FROM scene GROUP BY story_id"),
    COUNTED("story", "story_id", "deleted",
            "SELECT story_id id, COUNT(*) n FROM scene_deletion GROUP BY story_id"),
    COUNTED("story", "story_id", "last_id",
            "SELECT post_id id, " CLOSED " n FROM post WHERE kind = 3 AND removed > 0 UNION ALL "
            "SELECT s.story_id id, MAX(s.scene_id) n FROM scene s JOIN post p ON p.post_id = "
            "s.story_id "
            "WHERE p.removed = 0 GROUP BY s.story_id"),
    COUNTED("content_stats", "post_id", "likes",
            "SELECT target_id id, COUNT(*) n FROM reaction WHERE target_kind = 1 AND reaction = 1 "
            "GROUP BY target_id"),
    COUNTED("content_stats", "post_id", "favs",
            "SELECT target_id id, COUNT(*) n FROM reaction WHERE target_kind = 1 AND reaction = 2 "
            "GROUP BY target_id"),
    COUNTED("content_stats", "post_id", "comments",
            "SELECT post_id id, COUNT(*) n FROM comment WHERE status = 1 GROUP BY post_id"),
    COUNTED("content_stats", "post_id", "kind",
            "SELECT post_id id, IF(removed = 0, kind, 0) n FROM post"),
    COUNTED("comment", "comment_id", "likes",
            "SELECT target_id id, COUNT(*) n FROM reaction WHERE target_kind = 2 AND reaction = 1 "
            "GROUP BY target_id"),
    COUNTED("comment", "comment_id", "downs",
            "SELECT target_id id, COUNT(*) n FROM reaction WHERE target_kind = 2 AND reaction = 3 "
            "GROUP BY target_id"),
    COUNTED("comment", "comment_id", "replies",
            "SELECT parent_id id, COUNT(*) n FROM comment WHERE parent_id > 0 AND status = 1 "
            "GROUP BY parent_id"),
    COUNTED("comment", "comment_id", "listed",
            "SELECT parent_id id, COUNT(*) n FROM comment WHERE parent_id > 0 AND list_id > 0 "
            "GROUP BY parent_id"),
    COUNTED("comment", "comment_id", "list_id",
            "SELECT comment_id id, IF(status < 3 OR listed > 0, IF(parent_id > 0, parent_id, "
            "post_id), 0) "
            "n FROM comment"),
    {"a follower whom no following knows",
     "SELECT f.to_user_id, f.from_user_id, 0 FROM follower f LEFT JOIN following g ON "
     "g.from_user_id = f.from_user_id AND g.to_user_id = f.to_user_id AND g.rank_id = f.rank_id "
     "AND "
     "g.rel_status = 2 WHERE g.to_user_id IS NULL"},
    {"a following whom no follower knows",
     "SELECT g.to_user_id, 0, g.from_user_id FROM following g LEFT JOIN follower f ON "
     "f.to_user_id = g.to_user_id AND f.rank_id = g.rank_id AND f.from_user_id = g.from_user_id "
     "WHERE "
     "g.rel_status = 2 AND f.to_user_id IS NULL"},
    {"a subscriber whom no subscription knows",
     "SELECT f.story_id, f.user_id, 0 FROM subscriber f LEFT JOIN subscription g ON "
     "g.user_id = f.user_id AND g.story_id = f.story_id AND g.rank_id = f.rank_id AND g.status = 2 "
     "WHERE "
     "g.story_id IS NULL"},
    {"a subscription whom no subscriber knows",
     "SELECT g.story_id, 0, g.user_id FROM subscription g LEFT JOIN subscriber f ON "
     "f.story_id = g.story_id AND f.rank_id = g.rank_id AND f.user_id = g.user_id WHERE "
     "g.status = 2 AND f.story_id IS NULL"},
    {"a deletion of a post that is not deleted",
     "SELECT d.author_id, d.number, 0 FROM post_deletion d LEFT JOIN post p ON "
     "p.author_id = d.author_id AND p.number = d.number AND p.removed > 0 WHERE p.post_id IS NULL"},
    {"a deleted post without its deletion",
     "SELECT p.post_id, 0, p.number FROM post p LEFT JOIN post_deletion d ON "
     "d.author_id = p.author_id AND d.number = p.number WHERE p.removed > 0 AND d.number IS NULL"},
    {"a deletion of a scene that is not deleted",
     "SELECT d.story_id, d.number, 0 FROM scene_deletion d LEFT JOIN scene p ON "
     "p.story_id = d.story_id AND p.number = d.number AND p.removed > 0 WHERE p.scene_id IS NULL"},
    {"a deleted scene without its deletion",
     "SELECT p.scene_id, 0, p.number FROM scene p LEFT JOIN scene_deletion d ON "
     "d.story_id = p.story_id AND d.number = p.number WHERE p.removed > 0 AND d.number IS NULL"},
    {"the order of an author's posts and their positions",
     "SELECT a.post_id, a.position, b.position FROM post a JOIN post b ON b.author_id = "
     "a.author_id AND "
     "b.number = a.number + 1 WHERE a.position >= b.position OR a.post_id >= b.post_id"},
    {"the order of a story's scenes and their positions",
     "SELECT a.scene_id, a.position, b.position FROM scene a JOIN scene b ON b.story_id = "
     "a.story_id AND "
     "b.number = a.number + 1 WHERE a.position >= b.position OR a.scene_id >= b.scene_id"},
    {"a position that was not given yet", "SELECT p.post_id, p.position, n.position FROM post p "
                                          "JOIN news_position n WHERE p.position > n.position "
                                          "OR p.position = 0"},
    {"a name of a user who has none",
     "SELECT n.user_id, 1, 0 FROM profile_name n LEFT JOIN profile p ON p.user_id = n.user_id AND "
     "LENGTH(p.name) > 0 WHERE p.user_id IS NULL"},
};
enum { RULES_IN_SQL = sizeof rules / sizeof *rules };

struct check {
    struct cluster *cluster;
    struct desk desk;
    struct tidings_verify *out;
};

static void differ(struct check *check, const char *what, uint64_t id, int64_t is, int64_t should)
{
    check->out->differences++;
    if (check->out->report)
        fprintf(check->out->report,
                "%s: of %" PRIu64 " it is %" PRId64 ", and should be %" PRId64 "\n", what, id, is,
                should);
}

static enum sql_outcome check_rule(struct check *check, const struct rule *rule)
{
    struct desk *desk = &check->desk;
    buf_clear(&desk->text);
    buf_text(&desk->text, rule->query);
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    while (!outcome && sql_row(desk->sql))
        differ(check, rule->what, sql_u64(desk->sql, 0), (int64_t)sql_u64(desk->sql, 1),
               (int64_t)sql_u64(desk->sql, 2));
    check->out->checked++;
    buf_clear(&desk->text);
    return outcome;
}

/* ---- Names: what they are found by is made in memory ------------------------------------------ */

static void differ_name(void *ctx, uint64_t user, struct bytes name, struct bytes folded)
{
    (void)name;
    (void)folded;
    differ(ctx, "a user who cannot be found by the name", user, 0, 1);
}

static enum sql_outcome check_names(struct check *check)
{
    enum sql_outcome outcome;
    uint64_t after = 0;
    bool more;
    do
        outcome = names_look(check->desk.sql, &after, &more, differ_name, check);
    while (!outcome && more);
    check->out->checked++;
    return outcome;
}

/* ---- Packed --------------------------------------------------------------------------------- */

/* Pairs and maps of a realm, a page at a time. */
enum { PAGE = 256 };

struct page {
    enum realm realm;
    bool maps; /* or pairs */
    uint64_t key[PAGE][ROW_KEYS];
    size_t n;
};

static const struct {
    const char *table, *a, *b, *c;
} packed[2][2] = {
    [REALM_POSTS] = {{"following", "from_user_id", "to_user_id", "0"},
                     {"read_map", "user_id", "author_id", "chunk"}},
    [REALM_SCENES] = {{"subscription", "user_id", "story_id", "0"},
                      {"scene_read_map", "user_id", "story_id", "chunk"}},
};

/* The keys behind those of the page before. */
static enum sql_outcome next_page(struct check *check, struct page *page,
                                  const uint64_t after[ROW_KEYS])
{
    struct desk *desk = &check->desk;
    const char *a = packed[page->realm][page->maps].a, *b = packed[page->realm][page->maps].b,
               *c = packed[page->realm][page->maps].c;
    buf_clear(&desk->text);
    buf_printf(&desk->text,
               "SELECT %s, %s, %s FROM %s WHERE %s > %" PRIu64 " OR %s = %" PRIu64
               " AND (%s > %" PRIu64 " OR %s = %" PRIu64 " AND %s > %" PRIu64
               ") ORDER BY 1, 2, 3 LIMIT %d",
               a, b, c, packed[page->realm][page->maps].table, a, after[0], a, after[0], b,
               after[1], b, after[1], c, after[2], PAGE);
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    for (page->n = 0; !outcome && page->n < PAGE && sql_row(desk->sql); page->n++)
        for (unsigned i = 0; i < ROW_KEYS; i++)
            page->key[page->n][i] = sql_u64(desk->sql, i);
    buf_clear(&desk->text);
    return outcome;
}

static void check_pair(struct check *check, struct view *view, enum realm realm,
                       const uint64_t key[ROW_KEYS])
{
    struct tie tie, fresh;
    tie_load(view, realm, key[0], key[1], &tie);
    enum audit_verdict verdict = audit_tie(view, &tie, &fresh);
    if (desk_view(view)->incomplete || verdict == AUDIT_FINE)
        return;
    check->out->differences++;
    if (check->out->report)
        fprintf(check->out->report, "pair %" PRIu64 " and %" PRIu64 ": %s\n", key[0], key[1],
                audit_text(verdict));
}

/* What a map says is in the history is there, unless the reader has cleared it. */
static void check_map_history(struct check *check, struct view *view, uint64_t reader,
                              const uint64_t *posts, const struct readmap *map)
{
    uint64_t cleared = view_user(view, reader).history_cleared;
    for (unsigned i = 0; i < READMAP_POSTS; i++) {
        if (!readmap_has(map->history, i) || readmap_history_stamp(map, i) <= cleared)
            continue;
        const struct value *row =
            desk_get(view, KIND_HISTORY, reader, readmap_history_stamp(map, i), posts[i]);
        if (row && !row->exists && !desk_view(view)->incomplete)
            differ(check, "history of a post that was read", reader, 0, (int64_t)posts[i]);
    }
}

static void check_map(struct check *check, struct view *view, enum realm realm,
                      const uint64_t key[ROW_KEYS])
{
    struct readmap map;
    struct tie tie;
    tie_load(view, realm, key[0], key[1], &tie);
    if (!view->rows->get_readmap(view, &tie, (uint32_t)key[2], &map) || view_failed(view) ||
        desk_view(view)->incomplete)
        return;
    uint64_t first = key[2] * READMAP_POSTS;
    if (!map.read || first + 64 - (uint64_t)__builtin_clzll(map.read) > tie.head->n_posts)
        differ(check, "posts read that were never published", key[0], (int64_t)key[1], 0);
    else if (!tie.stored || !pair_has_reads(&tie.pair))
        differ(check, "posts read that no pair knows of", key[0], (int64_t)key[1], 0);
    else if (map.history)
        check_map_history(check, view, key[0], tie.head->ids + first, &map);
}

/* Looks at one of the page; false if something is not at hand yet. */
static bool look(struct check *check, const struct page *page, size_t at)
{
    static const struct tidings_op nobody = {.user_id = 1};
    struct desk_view own = desk_view_of(check->cluster, &check->desk, &nobody, 0);
    uint64_t before = check->out->differences;
    own.view.err = &own.err;
    own.need = NEED_IDS;
    if (page->maps)
        check_map(check, &own.view, page->realm, page->key[at]);
    else
        check_pair(check, &own.view, page->realm, page->key[at]);
    arena_clear(&check->desk.scratch);
    if (own.incomplete)
        return false;
    if (own.err && check->out->differences == before)
        differ(check, "what cannot be decoded", page->key[at][0], (int64_t)page->key[at][1], 0);
    check->out->checked++;
    return true;
}

static enum sql_outcome look_at_page(struct check *check, const struct page *page)
{
    bool ready[PAGE] = {false};
    enum sql_outcome outcome = SQL_DONE;
    for (size_t left = page->n; left && !outcome;) {
        for (size_t i = 0; i < page->n; i++) {
            if (ready[i])
                continue;
            ready[i] = look(check, page, i);
            left -= ready[i];
        }
        outcome = left ? desk_load(&check->desk, 0) : SQL_DONE;
    }
    return outcome;
}

static enum sql_outcome check_packed(struct check *check, enum realm realm, bool maps)
{
    struct page *page = &(struct page){.realm = realm, .maps = maps};
    uint64_t after[ROW_KEYS] = {0};
    enum sql_outcome outcome;
    do {
        outcome = next_page(check, page, after);
        if (!outcome)
            outcome = look_at_page(check, page);
        if (page->n)
            memcpy(after, page->key[page->n - 1], sizeof after);
        desk_clear(&check->desk);
    } while (!outcome && page->n == PAGE);
    return outcome;
}

/* ---- All of it ------------------------------------------------------------------------------ */

static enum sql_outcome check_all(struct check *check)
{
    enum sql_outcome outcome =
        sql_run_text(check->desk.sql, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
    for (size_t i = 0; !outcome && i < RULES_IN_SQL; i++)
        outcome = check_rule(check, &rules[i]);
    if (!outcome)
        outcome = check_names(check);
    for (int realm = REALM_POSTS; !outcome && realm <= REALM_SCENES; realm++) {
        outcome = check_packed(check, (enum realm)realm, false);
        if (!outcome)
            outcome = check_packed(check, (enum realm)realm, true);
    }
    return outcome;
}

enum tidings_err cluster_verify(struct engine *engine, struct tidings_verify *verify)
{
    struct check check = {.cluster = (struct cluster *)engine, .out = verify};
    if (verify->repair || verify->deep)
        return TIDINGS_UNSUPPORTED;
    desk_init(check.cluster, &check.desk, true);
    enum sql_outcome outcome =
        desk_connect(check.cluster, &check.desk, 0) ? check_all(&check) : SQL_LOST;
    desk_release(&check.desk);
    return sql_err(outcome);
}
