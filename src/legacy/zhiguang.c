/* SPDX-License-Identifier: MIT */
/*
 * Relations of zhiguang. The table `following` is true; `follower` is a copy of it, and so are the lists of the newest in Redis, which
 * may be missing or shorter; counts are compared. Records are brought together by pair, then by user.
 */
#include "legacy/inside.h"

enum of_pair { PAIR_FOLLOWING, PAIR_FOLLOWER, PAIR_IN_FOLLOWING, PAIR_IN_FANS };

struct pair_record {
    uint64_t from, to, kind;
    uint64_t stands; /* of a row */
    uint64_t created, updated;
};

enum side { SIDE_COUNTS, SIDE_FOLLOWING, SIDE_FOLLOWERS };

struct side_record {
    uint64_t user, side;
    uint64_t at, other, cached;    /* one that stands; cached: in the list in Redis */
    uint64_t following, followers; /* of SIDE_COUNTS */
};

struct zhiguang {
    struct source *source;
    struct sorter *by_pair, *by_user;
    bool has_follower; /* the table */
};

/* ---- Records -------------------------------------------------------------------------------- */

/* Records are numbers alone: they are kept as they are. */
static void add(struct zhiguang *z, struct sorter *sorter, const uint8_t key[SORT_KEY_BYTES],
                void *record, size_t size)
{
    struct buf value;
    buf_init_borrowed(&value, record, size);
    value.len = size;
    source_sort(z->source, sorter, key, &value);
}

static void add_pair(struct zhiguang *z, struct pair_record record)
{
    uint8_t key[SORT_KEY_BYTES] = {0};
    put_u64(key, record.from);
    put_u64(key + 8, record.to);
    key[16] = (uint8_t)record.kind;
    add(z, z->by_pair, key, &record, sizeof record);
}

static void add_side(struct zhiguang *z, struct side_record record)
{
    uint8_t key[SORT_KEY_BYTES] = {0};
    put_u64(key, record.user);
    key[8] = (uint8_t)record.side;
    put_u64(key + 9, record.at);
    put_u64(key + 17, record.other);
    add(z, z->by_user, key, &record, sizeof record);
}

static bool next(struct zhiguang *z, struct sorter *sorter, void *record, size_t size)
{
    struct bytes value;
    if (!source_next(z->source, sorter, &value))
        return false;
    if (value.n != size) {
        source_failed_with(z->source, "sorting", TIDINGS_IO);
        return false;
    }
    memcpy(record, value.p, size);
    return true;
}

/* ---- Tables --------------------------------------------------------------------------------- */

enum { COLUMN_ROW, COLUMN_FROM, COLUMN_TO, COLUMN_STATUS, COLUMN_CREATED, COLUMN_UPDATED };

struct taking {
    struct zhiguang *z;
    enum of_pair kind;
};

static void take_row(struct source *source, const struct table *table, void *ctx)
{
    const struct taking *taking = ctx;
    struct pair_record record = {.kind = taking->kind};
    struct drift_example example = {.where = table->name};
    int64_t status = 1;
    row_id(source, table, COLUMN_ROW, INT64_MAX, &example.row);
    if (!row_id(source, table, COLUMN_FROM, TIDINGS_ID_MAX, &record.from) ||
        !row_id(source, table, COLUMN_TO, TIDINGS_ID_MAX, &record.to)) {
        source_found(source, DRIFT_bad_row, example);
        return;
    }
    example.user_id = record.from;
    if (record.from == record.to) {
        source_found(source, DRIFT_follow_self, example);
        return;
    }
    row_count(source, table, COLUMN_STATUS, &status);
    record.stands = status != 0;
    if (taking->kind == PAIR_FOLLOWING) {
        bool known = row_time(source, table, COLUMN_CREATED, &record.created);
        record.created = source_time(source, known, record.created, 0, example);
        known = row_time(source, table, COLUMN_UPDATED, &record.updated);
        if (!known || record.updated < record.created || record.updated > source->now_ms)
            record.updated = record.created;
    }
    add_pair(taking->z, record);
}

static bool read_table(struct zhiguang *z, const char *name, enum of_pair kind, bool rows)
{
    struct taking taking = {z, kind};
    struct column columns[] = {
        [COLUMN_ROW] = {.name = "id", .needed = true},
        [COLUMN_FROM] = {.name = "from_user_id", .needed = true},
        [COLUMN_TO] = {.name = "to_user_id", .needed = true},
        [COLUMN_STATUS] = {"rel_status", COLUMN_COUNT},
        [COLUMN_CREATED] = {"created_at", COLUMN_TIME, .needed = kind == PAIR_FOLLOWING},
        [COLUMN_UPDATED] = {"updated_at", COLUMN_TIME},
    };
    struct table table = {name, columns, sizeof columns / sizeof *columns, 500};
    return table_read(z->source, &table, kind == PAIR_FOLLOWING, rows ? take_row : NULL, &taking);
}

/* ---- Keys ----------------------------------------------------------------------------------- */

static void take_key(struct source *source, const struct found_key *key,
                     const struct bytes values[VALUES_MAX], void *ctx)
{
    struct zhiguang *z = ctx;
    uint32_t counts[UCNT_FIELDS];
    uint64_t other;
    if (key->first > TIDINGS_ID_MAX) {
        source_found(source, DRIFT_bad_key, key_example(key));
    } else if (key->kind == LEGACY_UCNT) {
        if (value_ucnt(values[0], counts))
            add_side(z, (struct side_record){.user = key->first,
                                             .side = SIDE_COUNTS,
                                             .following = counts[0],
                                             .followers = counts[1]});
        else
            source_found(source, DRIFT_bad_key, key_example(key));
    } else if (!value_id(values[0], TIDINGS_ID_MAX, &other)) {
        source_found(source, DRIFT_bad_member, key_example(key));
    } else {
        bool fans = key->kind == LEGACY_FANS;
        add_pair(z, (struct pair_record){.from = fans ? other : key->first,
                                         .to = fans ? key->first : other,
                                         .kind = fans ? PAIR_IN_FANS : PAIR_IN_FOLLOWING});
    }
}

/* ---- By pair -------------------------------------------------------------------------------- */

struct pair {
    uint64_t from, to;
    bool row, stands, copied, in_following, in_fans;
    uint64_t created, updated;
};

static void write_pair(struct zhiguang *z, const struct pair *pair, enum fact_type type,
                       uint64_t at)
{
    struct fact fact = {.type = type};
    FACT_SET(&fact, user_id, pair->from);
    FACT_SET(&fact, author_id, pair->to);
    FACT_SET(&fact, at, at);
    source_write(z->source, &fact);
}

static void compare_pair(struct zhiguang *z, const struct pair *pair)
{
    const struct {
        bool found;
        enum drift_kind kind;
        const char *where;
    } found[] = {
        {pair->stands && !pair->copied && z->has_follower, DRIFT_follower_missing, NULL},
        {pair->copied && !pair->stands, DRIFT_follower_stale, NULL},
        {pair->in_following && !pair->stands, DRIFT_list_stale, key_name(LEGACY_FOLLOWING)},
        {pair->in_fans && !pair->stands, DRIFT_list_stale, key_name(LEGACY_FANS)},
    };
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        if (found[i].found)
            source_found(z->source, found[i].kind,
                         (struct drift_example){.user_id = pair->from,
                                                .author_id = pair->to,
                                                .where = found[i].where});
}

static void end_pair(struct zhiguang *z, const struct pair *pair)
{
    if (!pair->from)
        return;
    compare_pair(z, pair);
    if (pair->row)
        write_pair(z, pair, FACT_FOLLOW, pair->created);
    if (pair->row && !pair->stands)
        write_pair(z, pair, FACT_UNFOLLOW, pair->updated);
    if (!pair->stands)
        return;
    add_side(z, (struct side_record){.user = pair->from,
                                     .side = SIDE_FOLLOWING,
                                     .at = pair->created,
                                     .other = pair->to,
                                     .cached = pair->in_following});
    add_side(z, (struct side_record){.user = pair->to,
                                     .side = SIDE_FOLLOWERS,
                                     .at = pair->created,
                                     .other = pair->from,
                                     .cached = pair->in_fans});
}

static void join_pairs(struct zhiguang *z)
{
    struct pair_record record;
    struct pair pair = {0};
    while (next(z, z->by_pair, &record, sizeof record)) {
        if (record.from != pair.from || record.to != pair.to) {
            end_pair(z, &pair);
            pair = (struct pair){.from = record.from, .to = record.to};
        }
        if (record.kind == PAIR_FOLLOWING) {
            pair.row = true;
            pair.stands = record.stands;
            pair.created = record.created;
            pair.updated = record.updated;
        }
        pair.copied |= record.kind == PAIR_FOLLOWER && record.stands;
        pair.in_following |= record.kind == PAIR_IN_FOLLOWING;
        pair.in_fans |= record.kind == PAIR_IN_FANS;
    }
    if (source_goes_on(z->source))
        end_pair(z, &pair);
}

/* ---- By user -------------------------------------------------------------------------------- */

struct user {
    uint64_t id;
    int64_t says[SIDE_FOLLOWERS + 1], is[SIDE_FOLLOWERS + 1];
    uint64_t oldest[SIDE_FOLLOWERS + 1]; /* of those in the list; 0: none so far */
};

static void end_user(struct zhiguang *z, const struct user *user)
{
    static const enum drift_kind kinds[] = {
        [SIDE_FOLLOWING] = DRIFT_following, [SIDE_FOLLOWERS] = DRIFT_followers};
    if (!user->id || !z->source->seen[LEGACY_UCNT])
        return;
    for (int side = SIDE_FOLLOWING; side <= SIDE_FOLLOWERS; side++)
        if (user->says[side] != user->is[side])
            source_found(z->source, kinds[side],
                         (struct drift_example){.user_id = user->id,
                                                .counted = true,
                                                .says = user->says[side],
                                                .is = user->is[side]});
}

/* They come from old to new. A list has the newest, however many: what is newer than one in it should be in it. */
static void take_side(struct zhiguang *z, struct user *user, const struct side_record *record)
{
    bool follows = record->side == SIDE_FOLLOWING;
    uint64_t *oldest = &user->oldest[record->side];
    user->is[record->side]++;
    if (record->cached && !*oldest)
        *oldest = record->at;
    if (!record->cached && *oldest && record->at > *oldest)
        source_found(
            z->source, DRIFT_list_missing,
            (struct drift_example){.user_id = follows ? record->user : record->other,
                                   .author_id = follows ? record->other : record->user,
                                   .where = key_name(follows ? LEGACY_FOLLOWING : LEGACY_FANS)});
}

static void join_users(struct zhiguang *z)
{
    struct side_record record;
    struct user user = {0};
    while (next(z, z->by_user, &record, sizeof record)) {
        if (record.user != user.id) {
            end_user(z, &user);
            user = (struct user){.id = record.user};
        }
        if (record.side == SIDE_COUNTS) {
            user.says[SIDE_FOLLOWING] = (int64_t)record.following;
            user.says[SIDE_FOLLOWERS] = (int64_t)record.followers;
        } else {
            take_side(z, &user, &record);
        }
    }
    if (source_goes_on(z->source))
        end_user(z, &user);
}

/* ---- All of it ------------------------------------------------------------------------------ */

void zhiguang_read(struct source *source)
{
    static const bool wanted[LEGACY_KEY_COUNT] = {
        [LEGACY_UCNT] = true, [LEGACY_FOLLOWING] = true, [LEGACY_FANS] = true};
    struct zhiguang z = {
        .source = source, .by_pair = source_sorter(source), .by_user = source_sorter(source)};
    if (!source->failed) {
        read_table(&z, "following", PAIR_FOLLOWING, false);
        scan_keys(source, wanted, take_key, &z);
        read_table(&z, "following", PAIR_FOLLOWING, true);
        z.has_follower = read_table(&z, "follower", PAIR_FOLLOWER, true);
        join_pairs(&z);
        join_users(&z);
    }
    sorter_free(z.by_pair);
    sorter_free(z.by_user);
}
