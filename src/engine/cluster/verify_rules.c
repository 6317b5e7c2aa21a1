/* SPDX-License-Identifier: MIT */
/*
 * Verify's questions in SQL. Each answers with the rows that differ, and most have statements that mend one.
 *
 * Why counting under the lock of the row that holds the count is exact: whoever changes what is counted changes the count in the
 * same transaction, and has that row locked until the commit. So while it is locked here, what is committed is in it, and what is
 * not committed adds to it later.
 *
 *     user                 locked by whoever acts, before all else; nobody else changes what is a user's
 *     user_counter         added to without being read: the adding locks it
 *     author, story        locked alone by whoever publishes or deletes
 *     comment              loaded FOR UPDATE, and so is what it answers, by whoever votes, comments, hides, deletes
 *     content_stats        likewise; the post with it, since a row that is missing holds up nobody
 *
 * What is counted is read without locks, at READ COMMITTED, by an index where there is one: a count may follow from rows that
 * an earlier stage has mended, rather than from what those are made of.
 */
#include "engine/cluster/verify.h"

struct rule {
    const char *table; /* what it looks at */
    const char *what; /* of the number in the first column the second is, and should be the third */
    const char *query;
    enum kind locked; /* to mend: the row of this kind whose key is that column's */
    unsigned locked_by;
    const char *
        mend; /* with @a to @d, the columns; the last statement changes rows. NULL: nothing can be made of it */
};

enum { COLUMNS = 4 };

#define CLOSED "18446744073709551615"

/* A column of a table holds a number by its key; `truth` selects what it should be, as id and n, and `one` is that of @a. */
#define COUNTED(kind, name, key, column, truth, one)                                               \
    {                                                                                              \
        .table = name, .what = name "." column, .locked = kind,                                    \
        .query = "SELECT k.id, COALESCE(t." column ", 0), COALESCE(x.n, 0) FROM (SELECT " key      \
                 " id FROM " name " UNION SELECT id FROM (" truth ") y) k LEFT JOIN " name         \
                 " t ON t." key " = k.id LEFT JOIN (" truth                                        \
                 ") x ON x.id = k.id WHERE COALESCE(t." column ", 0) <> COALESCE(x.n, 0)",         \
        .mend = "SELECT COALESCE((" one "), 0) INTO @n;UPDATE " name " SET " column " = @n WHERE " \
                "" key " = @a AND " column " <> @n",                                               \
    }

/* ---- Lists of authors and stories ----------------------------------------------------------- */

/*
 * The deletions as they are, as far as they are right, and behind them those that are missing, in their order. They are put
 * together at a distance and moved when the old ones are gone. The number in the author's row tells servers that what they have
 * in memory is of another making.
 */
#define FAR "2147483648"
#define MEND_DELETIONS(head, deletion, post, key)                                                 \
    "UPDATE " head " SET remade = remade + 1 WHERE " key " = @a;"                                 \
    "INSERT INTO " deletion " (" key ", ordinal, number) SELECT @a, " FAR                         \
    " + ROW_NUMBER() OVER (ORDER BY d.ordinal IS NULL, d.ordinal, p.removed) - 1, p.number FROM " \
    "" post " p LEFT JOIN (SELECT number, MIN(ordinal) ordinal FROM " deletion " WHERE " key      \
    " = @a GROUP BY number) d ON d.number = p.number WHERE p." key " = @a AND p.removed > 0;"     \
    "DELETE FROM " deletion " WHERE " key " = @a AND ordinal < " FAR ";"                          \
    "UPDATE " deletion " SET ordinal = ordinal - " FAR " WHERE " key " = @a ORDER BY ordinal"

#define DELETIONS(kind, head, deletion, post, key)                                               \
    {.table = deletion,                                                                          \
     .what = deletion ": one that did not happen",                                               \
     .query = "SELECT d." key ", d.number, 0 FROM " deletion " d LEFT JOIN " post " p ON p." key \
              " = d." key " AND p.number = d.number AND p.removed > 0 WHERE p.number IS NULL",   \
     .locked = kind,                                                                             \
     .mend = MEND_DELETIONS(head, deletion, post, key)},                                         \
        {.table = deletion,                                                                      \
         .what = deletion ": one is missing",                                                    \
         .query = "SELECT p." key ", 0, p.number FROM " post " p LEFT JOIN " deletion            \
                  " d ON d." key " = p." key " AND d.number = p.number WHERE p.removed > 0 AND " \
                  "d.number IS NULL",                                                            \
         .locked = kind,                                                                         \
         .mend = MEND_DELETIONS(head, deletion, post, key)},                                     \
    {                                                                                            \
        .table = deletion, .what = deletion ": their order",                                     \
        .query = "SELECT " key ", MAX(ordinal) + 1, COUNT(DISTINCT number) FROM " deletion       \
                 " GROUP BY " key " HAVING MAX(ordinal) + 1 <> COUNT(DISTINCT number)",          \
        .locked = kind, .mend = MEND_DELETIONS(head, deletion, post, key)                        \
    }

/* Posts stay for good: one that is not there is lost, and nobody knows what it was. */
#define NUMBERED(post, id, key)                                                                   \
    {.table = post,                                                                               \
     .what = post "s that are lost",                                                              \
     .query = "SELECT " key ", COUNT(*), MAX(number) + 1 FROM " post " GROUP BY " key             \
              " HAVING COUNT(*) <> MAX(number) + 1"},                                             \
        {.table = post,                                                                           \
         .what = post ": the order of numbers, ids and positions",                                \
         .query = "SELECT a." id ", a.position, b.position FROM " post " a JOIN " post " b ON b." \
                  "" key " = a." key " AND b.number = a.number + 1 WHERE a.position >= "          \
                  "b.position OR a." id " >= b." id},                                             \
    {                                                                                             \
        .table = post, .what = post ".position that was not given yet",                           \
        .query = "SELECT p." id ", p.position, n.position FROM " post " p JOIN news_position n "  \
                 "WHERE p.position > n.position OR p.position = 0"                                \
    }

static const struct rule of_lists[] = {
    NUMBERED("post", "post_id", "author_id"),
    NUMBERED("scene", "scene_id", "story_id"),
    DELETIONS(KIND_AUTHOR, "author", "post_deletion", "post", "author_id"),
    DELETIONS(KIND_STORY, "story", "scene_deletion", "scene", "story_id"),
    COUNTED(KIND_AUTHOR, "author", "author_id", "posts",
            "SELECT author_id id, MAX(number) + 1 n FROM post GROUP BY author_id",
            "SELECT MAX(number) + 1 FROM post WHERE author_id = @a"),
    COUNTED(KIND_AUTHOR, "author", "author_id", "deleted",
            "SELECT author_id id, COUNT(*) n FROM post WHERE removed > 0 GROUP BY author_id",
            "SELECT COUNT(*) FROM post WHERE author_id = @a AND removed > 0"),
    COUNTED(KIND_AUTHOR, "author", "author_id", "last_id",
            "SELECT author_id id, MAX(post_id) n FROM post GROUP BY author_id",
            "SELECT MAX(post_id) FROM post WHERE author_id = @a"),
    COUNTED(KIND_STORY, "story", "story_id", "scenes",
            "SELECT story_id id, MAX(number) + 1 n FROM scene GROUP BY story_id",
            "SELECT MAX(number) + 1 FROM scene WHERE story_id = @a"),
    COUNTED(KIND_STORY, "story", "story_id", "deleted",
            "SELECT story_id id, COUNT(*) n FROM scene WHERE removed > 0 GROUP BY story_id",
            "SELECT COUNT(*) FROM scene WHERE story_id = @a AND removed > 0"),
    COUNTED(KIND_STORY, "story", "story_id", "last_id",
            "SELECT post_id id, " CLOSED " n FROM post WHERE kind = 3 AND removed > 0 UNION ALL "
            "SELECT s.story_id id, MAX(s.scene_id) n FROM scene s JOIN post p ON p.post_id = "
            "s.story_id WHERE p.removed = 0 GROUP BY s.story_id",
            "IF((SELECT removed FROM post WHERE post_id = @a) > 0, " CLOSED
            ", (SELECT MAX(scene_id) FROM scene WHERE story_id = @a))"),
    {.table = "post_body",
     .what = "the body of a post that is gone",
     .query = "SELECT b.post_id, 1, 0 FROM post_body b LEFT JOIN post p ON p.post_id = b.post_id "
              "AND p.removed = 0 WHERE p.post_id IS NULL",
     .locked = KIND_POST,
     .mend = "DELETE FROM post_body WHERE post_id = @a AND NOT EXISTS (SELECT 1 FROM post WHERE "
             "post_id = @a AND removed = 0)"},
};

/* ---- Who follows whom, and what users have and do ------------------------------------------- */

#define RELATION(pair, fan, author, status, list)                                               \
    {.table = list,                                                                             \
     .what = list ": one whom no " pair " knows",                                               \
     .query = "SELECT f." author ", f." fan ", 0, f.rank_id FROM " list " f LEFT JOIN " pair    \
              " g ON g." fan " = f." fan " AND g." author " = f." author                        \
              " AND g.rank_id = f.rank_id AND g." status " = 2 WHERE g." author " IS NULL",     \
     .locked = KIND_USER,                                                                       \
     .locked_by = 1,                                                                            \
     .mend = "DELETE FROM " list " WHERE " author " = @a AND rank_id = @d AND " fan             \
             " = @b AND NOT EXISTS (SELECT 1 FROM " pair " WHERE " fan " = @b AND " author      \
             " = @a AND rank_id = @d AND " status " = 2)"},                                     \
    {                                                                                           \
        .table = pair, .what = pair ": one whom no " list " knows",                             \
        .query = "SELECT g." author ", 0, g." fan " FROM " pair " g LEFT JOIN " list " f ON f." \
                 "" author " = g." author " AND f.rank_id = g.rank_id AND f." fan " = g." fan   \
                 " WHERE g." status " = 2 AND f." author " IS NULL",                            \
        .locked = KIND_USER, .locked_by = 2,                                                    \
        .mend = "INSERT IGNORE INTO " list " (" author ", rank_id, " fan ") SELECT " author     \
                ", rank_id, " fan " FROM " pair " WHERE " fan " = @c AND " author " = @a AND "  \
                "" status " = 2"                                                                \
    }

static const struct rule of_relations[] = {
    RELATION("following", "from_user_id", "to_user_id", "rel_status", "follower"),
    RELATION("subscription", "user_id", "story_id", "status", "subscriber"),
    COUNTED(
        KIND_COUNTER, "user_counter", "user_id", "followers",
        "SELECT to_user_id id, COUNT(*) n FROM following WHERE rel_status = 2 GROUP BY to_user_id",
        "SELECT COUNT(*) FROM follower WHERE to_user_id = @a"),
    COUNTED(KIND_USER, "user", "user_id", "following",
            "SELECT from_user_id id, COUNT(*) n FROM following WHERE rel_status = 2 GROUP BY "
            "from_user_id",
            "SELECT COUNT(*) FROM following WHERE from_user_id = @a AND rel_status = 2"),
    COUNTED(KIND_USER, "user", "user_id", "liked_posts",
            "SELECT user_id id, COUNT(*) n FROM reaction WHERE target_kind = 1 AND reaction = 1 "
            "GROUP BY user_id",
            "SELECT COUNT(*) FROM reaction WHERE user_id = @a AND target_kind = 1 AND reaction = "
            "1"),
    COUNTED(KIND_USER, "user", "user_id", "faved_posts",
            "SELECT user_id id, COUNT(*) n FROM reaction WHERE target_kind = 1 AND reaction = 2 "
            "GROUP BY user_id",
            "SELECT COUNT(*) FROM reaction WHERE user_id = @a AND target_kind = 1 AND reaction = "
            "2"),
    COUNTED(KIND_USER, "user", "user_id", "subscriptions",
            "SELECT user_id id, COUNT(*) n FROM subscription WHERE status >= 2 GROUP BY user_id",
            "SELECT COUNT(*) FROM subscription WHERE user_id = @a AND status >= 2"),
    COUNTED(
        KIND_USER, "user", "user_id", "positions",
        "SELECT user_id id, COUNT(*) n FROM reading_position WHERE shown_at > 0 GROUP BY user_id",
        "SELECT COUNT(*) FROM reading_position WHERE user_id = @a AND shown_at > 0"),
    {.table = "history",
     .what = "cleared history that nobody sweeps",
     .query = "SELECT DISTINCT u.user_id, 0, u.history_cleared FROM user u JOIN history h ON "
              "h.user_id = u.user_id AND h.stamp <= u.history_cleared LEFT JOIN history_cleared c "
              "ON c.user_id = u.user_id WHERE u.history_cleared > 0 AND c.user_id IS NULL",
     .locked = KIND_USER,
     .mend = "INSERT IGNORE INTO history_cleared (user_id) VALUES (@a)"},
};

/* ---- Reactions and comments ----------------------------------------------------------------- */

static const struct rule of_votes[] = {
    {.table = "reaction",
     .what = "a reaction to nothing, of",
     .query = "SELECT r.target_id, r.user_id, 0 FROM reaction r LEFT JOIN post p ON p.post_id = "
              "r.target_id AND r.target_kind = 1 LEFT JOIN comment c ON c.comment_id = r.target_id "
              "AND r.target_kind = 2 WHERE p.post_id IS NULL AND c.comment_id IS NULL"},
    COUNTED(KIND_COMMENT, "comment", "comment_id", "likes",
            "SELECT c.comment_id id, COUNT(*) n FROM comment c JOIN reaction r ON r.target_id = "
            "c.comment_id AND r.target_kind = 2 AND r.reaction = 1 GROUP BY c.comment_id",
            "SELECT COUNT(*) FROM reaction WHERE target_id = @a AND target_kind = 2 AND reaction = "
            "1"),
    COUNTED(KIND_COMMENT, "comment", "comment_id", "downs",
            "SELECT c.comment_id id, COUNT(*) n FROM comment c JOIN reaction r ON r.target_id = "
            "c.comment_id AND r.target_kind = 2 AND r.reaction = 3 GROUP BY c.comment_id",
            "SELECT COUNT(*) FROM reaction WHERE target_id = @a AND target_kind = 2 AND reaction = "
            "3"),
};

/* A comment's answers are found by what they are listed under, which is right, or will be in the next round. */
static const struct rule of_comments[] = {
    {.table = "comment",
     .what = "a comment that is not on what it says",
     .query = "SELECT c.comment_id, c.parent_id, c.post_id FROM comment c LEFT JOIN post p ON "
              "p.post_id = c.post_id LEFT JOIN comment q ON q.comment_id = c.parent_id WHERE "
              "p.post_id IS NULL OR (c.parent_id > 0 AND (q.comment_id IS NULL OR q.post_id <> "
              "c.post_id OR q.comment_id > c.comment_id))"},
    {.table = "comment",
     .what = "a comment that has lost its body",
     .query = "SELECT c.comment_id, 0, 1 FROM comment c LEFT JOIN comment_body b ON b.comment_id = "
              "c.comment_id WHERE c.status < 3 AND b.comment_id IS NULL"},
    {.table = "comment_body",
     .what = "the body of a comment that is gone",
     .query = "SELECT b.comment_id, 1, 0 FROM comment_body b LEFT JOIN comment c ON c.comment_id = "
              "b.comment_id AND c.status < 3 WHERE c.comment_id IS NULL",
     .locked = KIND_COMMENT,
     .mend = "DELETE FROM comment_body WHERE comment_id = @a AND NOT EXISTS (SELECT 1 FROM comment "
             "WHERE comment_id = @a AND status < 3)"},
    COUNTED(KIND_COMMENT, "comment", "comment_id", "listed",
            "SELECT q.comment_id id, COUNT(*) n FROM comment q JOIN comment c ON c.parent_id = "
            "q.comment_id AND (c.status < 3 OR c.listed > 0) GROUP BY q.comment_id",
            "SELECT COUNT(*) FROM comment WHERE list_id = @a AND parent_id = @a"),
    COUNTED(KIND_COMMENT, "comment", "comment_id", "replies",
            "SELECT q.comment_id id, COUNT(*) n FROM comment q JOIN comment c ON c.parent_id = "
            "q.comment_id AND c.status = 1 GROUP BY q.comment_id",
            "SELECT COUNT(*) FROM comment WHERE list_id = @a AND parent_id = @a AND status = 1"),
};

/* ---- What posts have received, and their authors -------------------------------------------- */

#define RECEIVED(column, reaction)                                                                 \
    COUNTED(KIND_STATS, "content_stats", "post_id", column,                                        \
            "SELECT p.post_id id, COUNT(*) n FROM post p JOIN reaction r ON r.target_id = "        \
            "p.post_id AND r.target_kind = 1 AND r.reaction = " reaction " GROUP BY p.post_id",    \
            "SELECT COUNT(*) FROM reaction WHERE target_id = @a AND target_kind = 1 AND reaction " \
            "= " reaction)

static const struct rule of_posts[] = {
    {.table = "content_stats",
     .what = "counts of nothing",
     .query = "SELECT s.post_id, 1, 0 FROM content_stats s LEFT JOIN post p ON p.post_id = "
              "s.post_id WHERE p.post_id IS NULL",
     .locked = KIND_POST,
     .mend =
         "DELETE FROM content_stats WHERE post_id = @a AND NOT EXISTS (SELECT 1 FROM post WHERE "
         "post_id = @a)"},
    RECEIVED("likes", "1"),
    RECEIVED("favs", "2"),
    COUNTED(
        KIND_STATS, "content_stats", "post_id", "comments",
        "SELECT p.post_id id, COUNT(*) n FROM post p JOIN comment c ON c.post_id = p.post_id AND "
        "c.status = 1 GROUP BY p.post_id",
        "SELECT COUNT(*) FROM comment WHERE post_id = @a AND status = 1"),
};

static const struct rule of_counters[] = {
    COUNTED(KIND_COUNTER, "user_counter", "user_id", "posts",
            "SELECT author_id id, COUNT(*) n FROM post WHERE removed = 0 GROUP BY author_id",
            "SELECT COUNT(*) FROM post WHERE author_id = @a AND removed = 0"),
    COUNTED(
        KIND_COUNTER, "user_counter", "user_id", "likes_received",
        "SELECT p.author_id id, COUNT(*) n FROM post p JOIN reaction r ON r.target_id = p.post_id "
        "AND r.target_kind = 1 AND r.reaction = 1 WHERE p.removed = 0 GROUP BY p.author_id",
        "SELECT SUM(s.likes) FROM post p JOIN content_stats s ON s.post_id = p.post_id WHERE "
        "p.author_id = @a AND p.removed = 0"),
    COUNTED(
        KIND_COUNTER, "user_counter", "user_id", "favs_received",
        "SELECT p.author_id id, COUNT(*) n FROM post p JOIN reaction r ON r.target_id = p.post_id "
        "AND r.target_kind = 1 AND r.reaction = 2 WHERE p.removed = 0 GROUP BY p.author_id",
        "SELECT SUM(s.favs) FROM post p JOIN content_stats s ON s.post_id = p.post_id WHERE "
        "p.author_id = @a AND p.removed = 0"),
};

/* ---- Scenes, and the rest ------------------------------------------------------------------- */

#define OF_SCENE(name)                                                                             \
    {                                                                                              \
        .table = name, .what = name " of no scene",                                                \
        .query = "SELECT m.scene_id, COUNT(*), 0 FROM " name " m LEFT JOIN scene s ON s.scene_id " \
                 "= m.scene_id WHERE s.scene_id IS NULL GROUP BY m.scene_id",                      \
        .locked = KIND_SCENE,                                                                      \
        .mend = "DELETE FROM " name " WHERE scene_id = @a AND NOT EXISTS (SELECT 1 FROM scene "    \
                "WHERE scene_id = @a)"                                                             \
    }

static const struct rule of_scenes[] = {
    {.table = "scene",
     .what = "a scene of no story",
     .query = "SELECT s.scene_id, s.story_id, 0 FROM scene s LEFT JOIN post p ON p.post_id = "
              "s.story_id AND p.kind = 3 WHERE p.post_id IS NULL"},
    OF_SCENE("scene_messages"),
    OF_SCENE("scene_message_id"),
};

static const struct rule of_others[] = {
    {.table = "profile_name",
     .what = "a name of a user who has none",
     .query = "SELECT n.user_id, 1, 0 FROM profile_name n LEFT JOIN profile p ON p.user_id = "
              "n.user_id AND LENGTH(p.name) > 0 WHERE p.user_id IS NULL",
     .locked = KIND_USER,
     .mend = "DELETE FROM profile_name WHERE user_id = @a AND NOT EXISTS (SELECT 1 FROM profile "
             "WHERE user_id = @a AND LENGTH(name) > 0)"},
    {.table = "outbox_event",
     .what = "an event whose position was not given yet",
     .query = "SELECT e.position, e.position, n.position FROM outbox_event e JOIN news_position n "
              "WHERE e.position > n.position"},
};

#define LIST(rules)                            \
    {                                          \
        rules, sizeof(rules) / sizeof *(rules) \
    }
static const struct {
    const struct rule *at;
    size_t n;
} lists[STAGES] = {
    [STAGE_LISTS] = LIST(of_lists),   [STAGE_RELATIONS] = LIST(of_relations),
    [STAGE_VOTES] = LIST(of_votes),   [STAGE_COMMENTS] = LIST(of_comments),
    [STAGE_POSTS] = LIST(of_posts),   [STAGE_COUNTERS] = LIST(of_counters),
    [STAGE_SCENES] = LIST(of_scenes), [STAGE_OTHERS] = LIST(of_others),
};

const char *check_rule_table(enum stage stage, size_t i)
{
    return i < lists[stage].n ? lists[stage].at[i].table : NULL;
}

/* ---- Asking and mending --------------------------------------------------------------------- */

struct difference {
    const struct rule *rule;
    uint64_t column[COLUMNS];
};

static enum sql_outcome mend(struct check *check, const void *what, uint64_t *rows)
{
    const struct difference *difference = what;
    const struct rule *rule = difference->rule;
    struct desk *desk = &check->mender;
    struct buf *text = &desk->text;
    const uint64_t *column = difference->column, key = column[rule->locked_by];
    buf_printf(text, "SET @a = %llu, @b = %llu, @c = %llu, @d = %llu;BEGIN;",
               (unsigned long long)column[0], (unsigned long long)column[1],
               (unsigned long long)column[2], (unsigned long long)column[3]);
    if (rule->locked == KIND_STATS) {
        kind_put_lock(text, KIND_POST, key);
        buf_char(text, ';');
    }
    kind_put_lock(text, rule->locked, key);
    buf_printf(text, ";%s", rule->mend);
    enum sql_outcome outcome = sql_run_counted(desk->sql, text, rows);
    return outcome ? outcome : sql_run_text(desk->sql, "COMMIT");
}

static enum sql_outcome check_answer(struct check *check, const struct rule *rule)
{
    struct sql *sql = check->desk.sql;
    struct difference difference = {.rule = rule};
    for (unsigned i = 0; i < COLUMNS && i < sql_columns(sql); i++)
        difference.column[i] = sql_u64(sql, i);
    check_differ(check, rule->what, difference.column[0], (int64_t)difference.column[1],
                 (int64_t)difference.column[2]);
    return check->out->repair && rule->mend ? check_mend(check, mend, &difference) : SQL_DONE;
}

enum sql_outcome check_rules(struct check *check, enum stage stage)
{
    struct desk *desk = &check->desk;
    enum sql_outcome outcome = SQL_DONE;
    for (size_t i = 0; !outcome && i < lists[stage].n; i++) {
        const struct rule *rule = &lists[stage].at[i];
        buf_clear(&desk->text);
        buf_text(&desk->text, rule->query);
        outcome = check_look_anew(check);
        if (!outcome)
            outcome = sql_send(desk->sql, &desk->text);
        while (!outcome && sql_row(desk->sql))
            outcome = check_answer(check, rule);
        check_progress(check, 1);
    }
    buf_clear(&desk->text);
    return outcome;
}
