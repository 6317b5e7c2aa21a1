/* SPDX-License-Identifier: MIT */
/*
 * What MySQL has of those whose keys are to be written. Counts are written with the position in one commit, so those that a
 * snapshot shows are of the position that it shows.
 */
#include "domain/ids.h"
#include "engine/cluster/mirror.h"
#include "engine/cluster/rows/desk.h"

/* Of one kind, in the order of their copies; false if there are none. */
static bool put_users(struct buf *text, const char *start, const struct mirror_copy *all, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (all[i].kind != MIRROR_COUNTS || !all[i].wanted)
            continue;
        buf_text(text, any ? "," : start);
        buf_u64(text, all[i].user);
        any = true;
    }
    if (any)
        buf_literal(text, ");");
    return any;
}

static void put_list(struct buf *text, const struct mirror_copy *copy)
{
    if (copy->kind == MIRROR_FOLLOWING)
        buf_printf(text,
                   "SELECT to_user_id, rank_id FROM following WHERE from_user_id=%llu AND "
                   "rel_status=2 ORDER BY rank_id DESC LIMIT %d;",
                   (unsigned long long)copy->user, MIRROR_LIST_MAX);
    else
        buf_printf(text,
                   "SELECT from_user_id, rank_id FROM follower WHERE to_user_id=%llu ORDER BY "
                   "rank_id DESC LIMIT %d;",
                   (unsigned long long)copy->user, MIRROR_LIST_MAX);
}

/* Rows come in the order of users, and so do most copies: the next one is behind the last. */
static struct mirror_copy *find(struct mirror_copy *all, size_t n, uint64_t user, size_t *last)
{
    for (size_t k = 0; k < n; k++) {
        size_t i = (*last + k) % n;
        if (all[i].kind != MIRROR_COUNTS || !all[i].wanted || all[i].user != user)
            continue;
        *last = i;
        return &all[i];
    }
    return NULL;
}

/* Columns behind the user are the counts at these places. */
static void take_counts(struct sql *sql, struct mirror_copy *all, size_t n, const unsigned *places,
                        unsigned n_places)
{
    size_t last = 0;
    while (sql_row(sql)) {
        struct mirror_copy *copy = find(all, n, sql_u64(sql, 0), &last);
        for (unsigned i = 0; copy && i < n_places; i++) {
            int64_t count = sql_i64(sql, i + 1);
            copy->counts[places[i]] = count > 0 ? (uint64_t)count : 0;
        }
    }
}

static bool take_list(struct desk *desk, struct mirror_copy *copy)
{
    copy->members = arena_array(&desk->scratch, MIRROR_LIST_MAX, sizeof *copy->members);
    while (copy->members && copy->n_members < MIRROR_LIST_MAX && sql_row(desk->sql))
        copy->members[copy->n_members++] =
            (struct mirror_member){sql_u64(desk->sql, 0), id_time_ms(sql_u64(desk->sql, 1))};
    return copy->members;
}

static enum sql_outcome take_all(struct desk *desk, struct mirror_copy *all, size_t n, bool counts)
{
    static const unsigned own[] = {0, 3, 4}, received[] = {1, 2, 5, 6};
    bool more = true;
    enum sql_outcome outcome = sql_next(desk->sql, &more); /* the snapshot has begun */
    uint64_t position = !outcome && sql_row(desk->sql) ? sql_u64(desk->sql, 0) : 0;
    if (!outcome && counts)
        outcome = sql_next(desk->sql, &more);
    if (!outcome && counts) {
        take_counts(desk->sql, all, n, own, 3);
        outcome = sql_next(desk->sql, &more);
    }
    if (!outcome && counts)
        take_counts(desk->sql, all, n, received, 4);
    for (size_t i = 0; i < n && !outcome; i++) {
        all[i].position = position;
        if (all[i].kind == MIRROR_COUNTS || !all[i].wanted)
            continue;
        outcome = sql_next(desk->sql, &more);
        if (!outcome && !take_list(desk, &all[i]))
            outcome = SQL_FULL;
    }
    return outcome;
}

enum sql_outcome mirror_read(struct desk *desk, struct mirror_copy *all, size_t n)
{
    struct buf *text = &desk->text;
    buf_literal(text, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;"
                      "SELECT position FROM news_position WHERE id=1;");
    bool counts = put_users(
        text, "SELECT user_id, following, liked_posts, faved_posts FROM user WHERE user_id IN (",
        all, n);
    put_users(text,
              "SELECT user_id, followers, posts, likes_received, favs_received FROM user_counter "
              "WHERE user_id IN (",
              all, n);
    for (size_t i = 0; i < n; i++) {
        memset(all[i].counts, 0, sizeof all[i].counts);
        all[i].n_members = 0;
        if (all[i].kind != MIRROR_COUNTS && all[i].wanted)
            put_list(text, &all[i]);
    }
    buf_literal(text, "COMMIT");
    enum sql_outcome outcome = sql_send(desk->sql, text);
    buf_clear(text);
    if (!outcome)
        outcome = take_all(desk, all, n, counts);
    bool more = true;
    while (!outcome && more)
        outcome = sql_next(desk->sql, &more);
    return outcome;
}
