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
 * What is counted is read without locks, at READ COMMITTED, and always by an index: a count may follow from rows that an earlier
 * stage has mended, rather than from what those are made of.
 *
 * A question is asked of a page of its walk (verify_pages.c). It says so of every table that it begins with, and joins others by their
 * keys, in the order in which it names them: no question is about a whole table.
 */
#include "engine/cluster/verify.h"

struct rule {
    const char *what; /* of the number in the first column the second is, and should be the third */
    const char *query;
    enum kind locked; /* to mend: the row of this kind whose key is that column's */
    unsigned locked_by;
    const char *
        mend; /* with @a to @d, the columns; the last statement changes rows. NULL: nothing can be made of it */
};

enum { COLUMNS = 4 };

#define CLOSED "18446744073709551615"

/* The page that is asked about. */
#define IN_PAGE(key) key " > @p AND " key " <= @q"
#define IN_PAGE_OF(a, b, c)                                                           \
    a " >= @p AND (" a " > @p OR " a " = @p AND (" b " > @pb OR " b " = @pb AND " c   \
      " > @pc)) AND " a " <= @q AND (" a " < @q OR " a " = @q AND (" b " < @qb OR " b \
      " = @qb AND " c " <= @qc))"

/* A column of a table holds a number by its key; `truth` selects what it should be in the page, as id and n, and `one` is that
 * of @a. Where there is no row, or nothing to count, the number is 0. */
#define COUNTED(kind, name, key, column, truth, one)                                               \
    {                                                                                              \
        .what = name "." column, .locked = kind,                                                   \
        .query = "SELECT id, SUM(i), SUM(n) FROM (SELECT " key " id, " column " i, 0 n FROM " name \
                 " WHERE " IN_PAGE(key) " UNION ALL SELECT id, 0, n FROM (" truth                  \
                                        ") x) u GROUP BY id HAVING SUM(i) <> SUM(n)",              \
        .mend = "SELECT COALESCE((" one "), 0) INTO @n;UPDATE " name " SET " column " = @n WHERE " \
                "" key " = @a AND " column " <> @n",                                               \
    }

#define RULES(list) .rules = list, .n_rules = sizeof(list) / sizeof *(list)

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

#define DELETIONS(kind, head, deletion, post, key)                                                \
    {.what = deletion ": one that did not happen",                                                \
     .query = "SELECT d." key ", d.number, 0 FROM " deletion " d LEFT JOIN " post " p ON p." key  \
              " = d." key " AND p.number = d.number AND p.removed > 0 WHERE " IN_PAGE(            \
                  "d." key) " AND p.number IS NULL",                                              \
     .locked = kind,                                                                              \
     .mend = MEND_DELETIONS(head, deletion, post, key)},                                          \
        {.what = deletion ": one is missing",                                                     \
         .query = "SELECT p." key ", 0, p.number FROM " post " p LEFT JOIN (SELECT DISTINCT " key \
                  ", number FROM " deletion                                                       \
                  " WHERE " IN_PAGE(key) ") d ON d." key " = p." key                              \
                                         " AND d.number = p.number WHERE " IN_PAGE(               \
                                             "p." key) " AND p.removed > 0 AND d.number IS NULL", \
         .locked = kind,                                                                          \
         .mend = MEND_DELETIONS(head, deletion, post, key)},                                      \
    {                                                                                             \
        .what = deletion ": their order",                                                         \
        .query = "SELECT " key ", MAX(ordinal) + 1, COUNT(DISTINCT number) FROM " deletion        \
                 " WHERE " IN_PAGE(key) " GROUP BY " key                                          \
                                        " HAVING MAX(ordinal) + 1 <> COUNT(DISTINCT number)",     \
        .locked = kind, .mend = MEND_DELETIONS(head, deletion, post, key)                         \
    }

/* Posts stay for good: one that is not there is lost, and nobody knows what it was. */
#define NUMBERED(post, id, key)                                                                \
    {.what = post "s that are lost",                                                           \
     .query = "SELECT " key ", COUNT(*), MAX(number) + 1 FROM " post                           \
              " WHERE " IN_PAGE(key) " GROUP BY " key " HAVING COUNT(*) <> MAX(number) + 1"},  \
    {                                                                                          \
        .what = post ": the order of numbers, ids and positions",                              \
        .query = "SELECT a." id ", a.position, b.position FROM " post " a STRAIGHT_JOIN " post \
                 " b ON b." key " = a." key " AND b.number = a.number + 1 WHERE " IN_PAGE(     \
                     "a." key) " AND (a.position >= b.position OR a." id " >= b." id ")"       \
    }

#define GIVEN(post, id)                                                                          \
    {                                                                                            \
        .what = post ".position that was not given yet",                                         \
        .query = "SELECT " id ", position, (SELECT position FROM news_position WHERE id = 1) "   \
                 "FROM " post " WHERE " IN_PAGE(id) " AND (position = 0 OR position > (SELECT "  \
                                                    "position FROM news_position WHERE id = 1))" \
    }

static const struct rule lists_of_authors[] = {
    NUMBERED("post", "post_id", "author_id"),
    DELETIONS(KIND_AUTHOR, "author", "post_deletion", "post", "author_id"),
    COUNTED(KIND_AUTHOR, "author", "author_id", "posts",
            "SELECT author_id id, MAX(number) + 1 n FROM post WHERE " IN_PAGE(
                "author_id") " GROUP BY author_id",
            "SELECT MAX(number) + 1 FROM post WHERE author_id = @a"),
    COUNTED(KIND_AUTHOR, "author", "author_id", "deleted",
            "SELECT author_id id, COUNT(*) n FROM post WHERE " IN_PAGE(
                "author_id") " AND removed > 0 GROUP BY author_id",
            "SELECT COUNT(*) FROM post WHERE author_id = @a AND removed > 0"),
    COUNTED(KIND_AUTHOR, "author", "author_id", "last_id",
            "SELECT author_id id, MAX(post_id) n FROM post WHERE " IN_PAGE(
                "author_id") " GROUP BY author_id",
            "SELECT MAX(post_id) FROM post WHERE author_id = @a"),
};
static const struct rule lists_of_stories[] = {
    NUMBERED("scene", "scene_id", "story_id"),
    DELETIONS(KIND_STORY, "story", "scene_deletion", "scene", "story_id"),
    COUNTED(KIND_STORY, "story", "story_id", "scenes",
            "SELECT story_id id, MAX(number) + 1 n FROM scene WHERE " IN_PAGE(
                "story_id") " GROUP BY story_id",
            "SELECT MAX(number) + 1 FROM scene WHERE story_id = @a"),
    COUNTED(KIND_STORY, "story", "story_id", "deleted",
            "SELECT story_id id, COUNT(*) n FROM scene WHERE " IN_PAGE(
                "story_id") " AND removed > 0 GROUP BY story_id",
            "SELECT COUNT(*) FROM scene WHERE story_id = @a AND removed > 0"),
    COUNTED(KIND_STORY, "story", "story_id", "last_id",
            "SELECT post_id id, " CLOSED " n FROM post WHERE " IN_PAGE(
                "post_id") " AND kind = 3 AND removed > 0 UNION ALL SELECT s.story_id id, "
                           "MAX(s.scene_id) n FROM scene s STRAIGHT_JOIN post p ON p.post_id = "
                           "s.story_id WHERE " IN_PAGE(
                               "s.story_id") " AND p.removed = 0 GROUP BY s.story_id",
            "IF((SELECT removed FROM post WHERE post_id = @a) > 0, " CLOSED
            ", (SELECT MAX(scene_id) FROM scene WHERE story_id = @a))"),
};
static const struct rule positions_of_posts[] = {GIVEN("post", "post_id")};
static const struct rule positions_of_scenes[] = {GIVEN("scene", "scene_id")};
static const struct rule bodies_of_posts[] = {
    {.what = "the body of a post that is gone",
     .query = "SELECT b.post_id, 1, 0 FROM post_body b LEFT JOIN post p ON p.post_id = b.post_id "
              "AND p.removed = 0 WHERE " IN_PAGE("b.post_id") " AND p.post_id IS NULL",
     .locked = KIND_POST,
     .mend = "DELETE FROM post_body WHERE post_id = @a AND NOT EXISTS (SELECT 1 FROM post WHERE "
             "post_id = @a AND removed = 0)"},
};

static const struct walk of_lists[] = {
    {.table = "author",
     .keys = {"author_id", "0", "0"},
     .sources = {{"post", "author_id"}, {"post_deletion", "author_id"}},
     RULES(lists_of_authors)},
    {.table = "story",
     .keys = {"story_id", "0", "0"},
     .sources = {{"scene", "story_id"}, {"scene_deletion", "story_id"}, {"post", "post_id"}},
     RULES(lists_of_stories)},
    {.table = "post", .keys = {"post_id", "0", "0"}, RULES(positions_of_posts)},
    {.table = "scene", .keys = {"scene_id", "0", "0"}, RULES(positions_of_scenes)},
    {.table = "post_body", .keys = {"post_id", "0", "0"}, RULES(bodies_of_posts)},
};

/* ---- Who follows whom, and what users have and do ------------------------------------------- */

#define IN_LIST(pair, fan, author, status, list)                                                \
    {                                                                                           \
        .what = list ": one whom no " pair " knows",                                            \
        .query = "SELECT f." author ", f." fan ", 0, f.rank_id FROM " list " f LEFT JOIN " pair \
                 " g ON g." fan " = f." fan " AND g." author " = f." author                     \
                 " AND g.rank_id = f.rank_id AND g." status                                     \
                 " = 2 WHERE " IN_PAGE_OF("f." author, "f.rank_id", "f." fan) " AND g." author  \
                                                                              " IS NULL",       \
        .locked = KIND_USER, .locked_by = 1,                                                    \
        .mend = "DELETE FROM " list " WHERE " author " = @a AND rank_id = @d AND " fan          \
                " = @b AND NOT EXISTS (SELECT 1 FROM " pair " WHERE " fan " = @b AND " author   \
                " = @a AND rank_id = @d AND " status " = 2)"                                    \
    }
#define IN_PAIRS(pair, fan, author, status, list)                                                  \
    {                                                                                              \
        .what = pair ": one whom no " list " knows",                                               \
        .query = "SELECT g." author ", 0, g." fan " FROM " pair " g LEFT JOIN " list " f ON f."    \
                 "" author " = g." author " AND f.rank_id = g.rank_id AND f." fan " = g." fan      \
                 " WHERE " IN_PAGE_OF("g." fan, "g." author, "0") " AND g." status                 \
                                                                  " = 2 AND f." author " IS NULL", \
        .locked = KIND_USER, .locked_by = 2,                                                       \
        .mend = "INSERT IGNORE INTO " list " (" author ", rank_id, " fan ") SELECT " author        \
                ", rank_id, " fan " FROM " pair " WHERE " fan " = @c AND " author " = @a AND "     \
                "" status " = 2"                                                                   \
    }

static const struct rule followers[] = {
    IN_LIST("following", "from_user_id", "to_user_id", "rel_status", "follower")};
static const struct rule followings[] = {
    IN_PAIRS("following", "from_user_id", "to_user_id", "rel_status", "follower")};
static const struct rule subscribers[] = {
    IN_LIST("subscription", "user_id", "story_id", "status", "subscriber")};
static const struct rule subscriptions[] = {
    IN_PAIRS("subscription", "user_id", "story_id", "status", "subscriber")};

static const struct rule counts_of_followers[] = {
    COUNTED(KIND_COUNTER, "user_counter", "user_id", "followers",
            "SELECT to_user_id id, COUNT(*) n FROM follower WHERE " IN_PAGE(
                "to_user_id") " GROUP BY to_user_id",
            "SELECT COUNT(*) FROM follower WHERE to_user_id = @a"),
};

#define REACTED(column, reaction)                                                                 \
    COUNTED(KIND_USER, "user", "user_id", column,                                                 \
            "SELECT user_id id, COUNT(*) n FROM reaction WHERE " IN_PAGE(                         \
                "user_id") " AND target_kind = 1 AND reaction = " reaction " GROUP BY user_id",   \
            "SELECT COUNT(*) FROM reaction WHERE user_id = @a AND target_kind = 1 AND reaction =" \
            " " reaction)

/* History is cleared up to a stamp, and swept from the oldest on. */
static const struct rule counts_of_users[] = {
    COUNTED(KIND_USER, "user", "user_id", "following",
            "SELECT from_user_id id, COUNT(*) n FROM following WHERE " IN_PAGE(
                "from_user_id") " AND rel_status = 2 GROUP BY from_user_id",
            "SELECT COUNT(*) FROM following WHERE from_user_id = @a AND rel_status = 2"),
    REACTED("liked_posts", "1"),
    REACTED("faved_posts", "2"),
    COUNTED(KIND_USER, "user", "user_id", "subscriptions",
            "SELECT user_id id, COUNT(*) n FROM subscription WHERE " IN_PAGE(
                "user_id") " AND status >= 2 GROUP BY user_id",
            "SELECT COUNT(*) FROM subscription WHERE user_id = @a AND status >= 2"),
    COUNTED(KIND_USER, "user", "user_id", "positions",
            "SELECT user_id id, COUNT(*) n FROM reading_position WHERE " IN_PAGE(
                "user_id") " AND shown_at > 0 GROUP BY user_id",
            "SELECT COUNT(*) FROM reading_position WHERE user_id = @a AND shown_at > 0"),
    {.what = "cleared history that nobody sweeps",
     .query = "SELECT u.user_id, 0, u.history_cleared FROM user u LEFT JOIN history_cleared c ON "
              "c.user_id = u.user_id WHERE " IN_PAGE(
                  "u.user_id") " AND u.history_cleared > 0 AND c.user_id IS NULL AND (SELECT "
                               "MIN(h.stamp) FROM history h WHERE h.user_id = u.user_id) <= "
                               "u.history_cleared",
     .locked = KIND_USER,
     .mend = "INSERT IGNORE INTO history_cleared (user_id) VALUES (@a)"},
};

static const struct walk of_relations[] = {
    {.table = "follower", .keys = {"to_user_id", "rank_id", "from_user_id"}, RULES(followers)},
    {.table = "following", .keys = {"from_user_id", "to_user_id", "0"}, RULES(followings)},
    {.table = "subscriber", .keys = {"story_id", "rank_id", "user_id"}, RULES(subscribers)},
    {.table = "subscription", .keys = {"user_id", "story_id", "0"}, RULES(subscriptions)},
    {.table = "user_counter",
     .keys = {"user_id", "0", "0"},
     .sources = {{"follower", "to_user_id"}},
     RULES(counts_of_followers)},
    {.table = "user",
     .keys = {"user_id", "0", "0"},
     .sources = {{"following", "from_user_id"},
                 {"reaction", "user_id"},
                 {"subscription", "user_id"},
                 {"reading_position", "user_id"}},
     RULES(counts_of_users)},
};

/* ---- Reactions and comments ----------------------------------------------------------------- */

/* An id is a post's or a comment's and never both, so `target_kind`, which the index does not have, need not be looked at: one that
 * is wrong is a reaction to nothing. */
#define RECEIVED(kind, name, key, of, column, reaction)                                           \
    COUNTED(kind, name, key, column,                                                              \
            "SELECT t." key " id, COUNT(*) n FROM " of " t STRAIGHT_JOIN reaction r FORCE INDEX " \
            "(reactors) ON r.target_id = t." key " AND r.reaction = " reaction                    \
            " WHERE " IN_PAGE("t." key) " GROUP BY t." key,                                       \
            "SELECT COUNT(*) FROM reaction WHERE target_id = @a AND reaction = " reaction)

static const struct rule reactions[] = {
    {.what = "a reaction to nothing, of",
     .query = "SELECT r.target_id, r.user_id, 0 FROM reaction r LEFT JOIN post p ON p.post_id = "
              "r.target_id AND r.target_kind = 1 LEFT JOIN comment c ON c.comment_id = r.target_id "
              "AND r.target_kind = 2 WHERE " IN_PAGE_OF(
                  "r.user_id", "r.target_id",
                  "r.reaction") " AND p.post_id IS NULL AND c.comment_id IS NULL"},
};
static const struct rule votes_on_comments[] = {
    RECEIVED(KIND_COMMENT, "comment", "comment_id", "comment", "likes", "1"),
    RECEIVED(KIND_COMMENT, "comment", "comment_id", "comment", "downs", "3"),
};

static const struct walk of_votes[] = {
    {.table = "reaction", .keys = {"user_id", "target_id", "reaction"}, RULES(reactions)},
    {.table = "comment",
     .keys = {"comment_id", "0", "0"},
     .sources = {{"reaction", "target_id"}},
     RULES(votes_on_comments)},
};

/* A comment's answers are found by what they are listed under, which is right, or will be when the stage is repeated. */
#define ANSWERED(column, which)                                                                \
    COUNTED(KIND_COMMENT, "comment", "comment_id", column,                                     \
            "SELECT q.comment_id id, COUNT(*) n FROM comment q STRAIGHT_JOIN comment c FORCE " \
            "INDEX (list) ON c.list_id = q.comment_id AND c.parent_id = q.comment_id" which    \
            " WHERE " IN_PAGE("q.comment_id") " GROUP BY q.comment_id",                        \
            "SELECT COUNT(*) FROM comment c WHERE c.list_id = @a AND c.parent_id = @a" which)

static const struct rule comments[] = {
    {.what = "a comment that is not on what it says",
     .query =
         "SELECT c.comment_id, c.parent_id, c.post_id FROM comment c LEFT JOIN post p ON "
         "p.post_id = c.post_id LEFT JOIN comment q ON q.comment_id = c.parent_id WHERE " IN_PAGE(
             "c.comment_id") " AND (p.post_id IS NULL OR (c.parent_id > 0 AND (q.comment_id IS "
                             "NULL OR q.post_id <> c.post_id OR q.comment_id > "
                             "c.comment_id)))"},
    {.what = "a comment that has lost its body",
     .query = "SELECT c.comment_id, 0, 1 FROM comment c LEFT JOIN comment_body b ON b.comment_id = "
              "c.comment_id WHERE " IN_PAGE(
                  "c.comment_id") " AND c.status < 3 AND b.comment_id IS NULL"},
    ANSWERED("listed", ""),
    ANSWERED("replies", " AND c.status = 1"),
};
static const struct rule bodies_of_comments[] = {
    {.what = "the body of a comment that is gone",
     .query =
         "SELECT b.comment_id, 1, 0 FROM comment_body b LEFT JOIN comment c ON c.comment_id = "
         "b.comment_id AND c.status < 3 WHERE " IN_PAGE("b.comment_id") " AND c.comment_id IS NULL",
     .locked = KIND_COMMENT,
     .mend = "DELETE FROM comment_body WHERE comment_id = @a AND NOT EXISTS (SELECT 1 FROM comment "
             "WHERE comment_id = @a AND status < 3)"},
};

static const struct walk of_comments[] = {
    {.table = "comment",
     .keys = {"comment_id", "0", "0"},
     .sources = {{"comment", "list_id"}},
     RULES(comments)},
    {.table = "comment_body", .keys = {"comment_id", "0", "0"}, RULES(bodies_of_comments)},
};

/* ---- What posts have received, and their authors -------------------------------------------- */

/* There is no index of comments by post, which every comment would pay for: those of a post are found by what they are listed under,
 * and those under them likewise. */
#define COMMENTS_UNDER(posts)                                                                      \
    "WITH RECURSIVE under AS (SELECT p.post_id, c.comment_id, c.status FROM post p STRAIGHT_JOIN " \
    "comment c FORCE INDEX (list) ON c.list_id = p.post_id WHERE " posts                           \
    " UNION ALL SELECT u.post_id, c.comment_id, c.status FROM under u STRAIGHT_JOIN comment c "    \
    "FORCE INDEX (list) ON c.list_id = u.comment_id) "

static const struct rule counts_of_posts[] = {
    {.what = "counts of nothing",
     .query = "SELECT s.post_id, 1, 0 FROM content_stats s LEFT JOIN post p ON p.post_id = "
              "s.post_id WHERE " IN_PAGE("s.post_id") " AND p.post_id IS NULL",
     .locked = KIND_POST,
     .mend =
         "DELETE FROM content_stats WHERE post_id = @a AND NOT EXISTS (SELECT 1 FROM post WHERE "
         "post_id = @a)"},
    RECEIVED(KIND_STATS, "content_stats", "post_id", "post", "likes", "1"),
    RECEIVED(KIND_STATS, "content_stats", "post_id", "post", "favs", "2"),
    COUNTED(KIND_STATS, "content_stats", "post_id", "comments",
            COMMENTS_UNDER(IN_PAGE("p.post_id")) "SELECT post_id id, COUNT(*) n FROM under WHERE "
                                                 "status = 1 GROUP BY post_id",
            COMMENTS_UNDER("p.post_id = @a") "SELECT COUNT(*) FROM under WHERE status = 1"),
};

static const struct walk of_posts[] = {
    {.table = "content_stats",
     .keys = {"post_id", "0", "0"},
     .sources = {{"post", "post_id"}, {"reaction", "target_id"}, {"comment", "list_id"}},
     RULES(counts_of_posts)},
};

#define OF_AUTHOR(column, what)                                                                   \
    COUNTED(KIND_COUNTER, "user_counter", "user_id", column,                                      \
            "SELECT p.author_id id, SUM(s." what ") n FROM post p STRAIGHT_JOIN content_stats s " \
            "ON s.post_id = p.post_id WHERE " IN_PAGE(                                            \
                "p.author_id") " AND p.removed = 0 GROUP BY p.author_id",                         \
            "SELECT SUM(s." what ") FROM post p JOIN content_stats s ON s.post_id = p.post_id "   \
            "WHERE p.author_id = @a AND p.removed = 0")

static const struct rule counts_of_authors[] = {
    COUNTED(KIND_COUNTER, "user_counter", "user_id", "posts",
            "SELECT author_id id, COUNT(*) n FROM post WHERE " IN_PAGE(
                "author_id") " AND removed = 0 GROUP BY author_id",
            "SELECT COUNT(*) FROM post WHERE author_id = @a AND removed = 0"),
    OF_AUTHOR("likes_received", "likes"),
    OF_AUTHOR("favs_received", "favs"),
};

static const struct walk of_counters[] = {
    {.table = "user_counter",
     .keys = {"user_id", "0", "0"},
     .sources = {{"post", "author_id"}},
     RULES(counts_of_authors)},
};

/* ---- Scenes, and the rest ------------------------------------------------------------------- */

#define OF_SCENE(name, range)                                                                      \
    {                                                                                              \
        .what = name " of no scene",                                                               \
        .query = "SELECT m.scene_id, COUNT(*), 0 FROM " name " m LEFT JOIN scene s ON s.scene_id " \
                 "= m.scene_id WHERE " range " AND s.scene_id IS NULL GROUP BY m.scene_id",        \
        .locked = KIND_SCENE,                                                                      \
        .mend = "DELETE FROM " name " WHERE scene_id = @a AND NOT EXISTS (SELECT 1 FROM scene "    \
                "WHERE scene_id = @a)"                                                             \
    }

static const struct rule scenes[] = {
    {.what = "a scene of no story",
     .query = "SELECT s.scene_id, s.story_id, 0 FROM scene s LEFT JOIN post p ON p.post_id = "
              "s.story_id AND p.kind = 3 WHERE " IN_PAGE("s.scene_id") " AND p.post_id IS NULL"},
};
static const struct rule messages[] = {OF_SCENE("scene_messages", IN_PAGE("m.scene_id"))};
static const struct rule message_ids[] = {
    OF_SCENE("scene_message_id", IN_PAGE_OF("m.scene_id", "m.message_id", "0")),
};

static const struct walk of_scenes[] = {
    {.table = "scene", .keys = {"scene_id", "0", "0"}, RULES(scenes)},
    {.table = "scene_messages", .keys = {"scene_id", "0", "0"}, RULES(messages)},
    {.table = "scene_message_id", .keys = {"scene_id", "message_id", "0"}, RULES(message_ids)},
};

static const struct rule names[] = {
    {.what = "a name of a user who has none",
     .query =
         "SELECT n.user_id, 1, 0 FROM profile_name n LEFT JOIN profile p ON p.user_id = "
         "n.user_id AND LENGTH(p.name) > 0 WHERE " IN_PAGE("n.user_id") " AND p.user_id IS NULL",
     .locked = KIND_USER,
     .mend = "DELETE FROM profile_name WHERE user_id = @a AND NOT EXISTS (SELECT 1 FROM profile "
             "WHERE user_id = @a AND LENGTH(name) > 0)"},
};
static const struct rule events[] = {
    {.what = "an event whose position was not given yet",
     .query = "SELECT position, position, (SELECT position FROM news_position WHERE id = 1) FROM "
              "outbox_event WHERE position > (SELECT position FROM news_position WHERE id = 1)"},
};

static const struct walk of_others[] = {
    {.table = "profile_name", .keys = {"user_id", "0", "0"}, RULES(names)},
    {.table = "outbox_event", RULES(events)},
};

const struct walks rule_walks[STAGES] = {
    [STAGE_LISTS] = WALKS(of_lists),   [STAGE_RELATIONS] = WALKS(of_relations),
    [STAGE_VOTES] = WALKS(of_votes),   [STAGE_COMMENTS] = WALKS(of_comments),
    [STAGE_POSTS] = WALKS(of_posts),   [STAGE_COUNTERS] = WALKS(of_counters),
    [STAGE_SCENES] = WALKS(of_scenes), [STAGE_OTHERS] = WALKS(of_others),
};

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

enum sql_outcome check_rules(struct check *check, const struct walk *walk)
{
    struct desk *desk = &check->desk;
    enum sql_outcome outcome = SQL_DONE;
    for (size_t i = 0; !outcome && i < walk->n_rules; i++) {
        uint64_t repaired = check->out->repaired;
        buf_clear(&desk->text);
        buf_text(&desk->text, walk->rules[i].query);
        outcome = sql_send(desk->sql, &desk->text);
        while (!outcome && sql_row(desk->sql))
            outcome = check_answer(check, &walk->rules[i]);
        if (!outcome && check->out->repaired > repaired)
            outcome = check_look_anew(check);
    }
    buf_clear(&desk->text);
    return outcome;
}
