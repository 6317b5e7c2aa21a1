/* SPDX-License-Identifier: MIT */
/*
 * Relations of zhiguang. The table `following` is true; `follower` is a copy of it, and so are the lists of the newest in Redis, which
 * may be missing or shorter; counts are compared. The outbox, from which the copies are made, explains what they lack, and is compared,
 * too. Records are brought together by pair, then by user.
 */
#include "legacy/inside.h"
#include "legacy/payload.h"

enum of_pair { PAIR_FOLLOWING, PAIR_FOLLOWER, PAIR_IN_FOLLOWING, PAIR_IN_FANS, PAIR_EVENT };

struct pair_record {
    uint64_t from, to, kind;
    uint64_t stands; /* of a row; of an event: what it says */
    uint64_t created, updated;
    uint64_t order, row; /* of an event: a later one is a newer one */
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
    bool has_follower;  /* the table */
    const char *outbox; /* its name; NULL: there is none */
    uint64_t events;    /* of it, so far */
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
    put_u64(key + 17, record.order);
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

/* ---- The outbox ----------------------------------------------------------------------------- */

enum { EVENT_ROW, EVENT_TYPE, EVENT_PAYLOAD, EVENT_STATUS, EVENT_COLUMNS };
enum { EVENT_PENDING = 1, EVENT_PROCESSING = 2, EVENT_DEAD = 4 };
/* More than two ids and what stands beside them need. What is longer is cut, and so no JSON. */
enum { TYPE_CHARACTERS = 32, PAYLOAD_CHARACTERS = 4096 };

/* Whether it is about a follow, and which way. */
static bool is_follow_event(struct bytes type, uint64_t *stands)
{
    static const char *const types[] = {"FollowCanceled", "FollowCreated"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (type.n == strlen(types[i]) && !memcmp(type.p, types[i], type.n)) {
            *stands = i;
            return true;
        }
    return false;
}

static void note_status(struct source *source, const struct table *table,
                        struct drift_example example)
{
    int64_t status = 0;
    row_count(source, table, EVENT_STATUS, &status);
    if (status == EVENT_PENDING || status == EVENT_PROCESSING)
        source_found(source, DRIFT_outbox_pending, example);
    else if (status == EVENT_DEAD)
        source_found(source, DRIFT_outbox_dead, example);
}

/* One that cannot be read was told to nobody all the same. */
static void take_event(struct source *source, const struct table *table, void *ctx)
{
    struct zhiguang *z = ctx;
    struct pair_record record = {.kind = PAIR_EVENT, .order = ++z->events};
    if (!is_follow_event(row_text(source, table, EVENT_TYPE), &record.stands))
        return;
    row_id(source, table, EVENT_ROW, INT64_MAX, &record.row);
    bool readable = payload_pair(row_text(source, table, EVENT_PAYLOAD), &record.from, &record.to);
    struct drift_example example = {
        .user_id = record.from, .author_id = record.to, .row = record.row, .where = table->name};
    note_status(source, table, example);
    if (!readable)
        source_found(source, DRIFT_bad_row, example);
    else if (record.from == record.to)
        source_found(source, DRIFT_follow_self, example);
    else
        add_pair(z, record);
}

/* A table of that name that has other columns is of something else. */
static bool read_outbox(struct zhiguang *z, const char *name)
{
    struct column columns[EVENT_COLUMNS] = {
        [EVENT_ROW] = {.name = "id"},
        [EVENT_TYPE] = {"event_type", COLUMN_TEXT, .characters = TYPE_CHARACTERS},
        [EVENT_PAYLOAD] = {"payload", COLUMN_TEXT, .characters = PAYLOAD_CHARACTERS},
        [EVENT_STATUS] = {"status", COLUMN_COUNT},
    };
    struct table table = {name, columns, EVENT_COLUMNS, 500};
    if (!table_read(z->source, &table, false, NULL, NULL))
        return false;
    for (size_t i = EVENT_ROW; i <= EVENT_PAYLOAD; i++)
        if (columns[i].field < 0)
            return false;
    z->outbox = name;
    return table_read(z->source, &table, false, take_event, z);
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
    bool told, told_stands; /* by the newest event */
    uint64_t told_row;
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

/* Events are removed some day: that there is none says nothing. */
static void compare_event(struct zhiguang *z, const struct pair *pair)
{
    if (pair->told && pair->told_stands != pair->stands)
        source_found(z->source, DRIFT_outbox_contradicts,
                     (struct drift_example){.user_id = pair->from,
                                            .author_id = pair->to,
                                            .row = pair->told_row,
                                            .where = z->outbox,
                                            .counted = true,
                                            .says = pair->told_stands,
                                            .is = pair->stands});
}

static void end_pair(struct zhiguang *z, const struct pair *pair)
{
    if (!pair->from)
        return;
    compare_pair(z, pair);
    compare_event(z, pair);
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

static void take_record(struct pair *pair, const struct pair_record *record)
{
    switch ((enum of_pair)record->kind) {
    case PAIR_FOLLOWING:
        pair->row = true;
        pair->stands = record->stands;
        pair->created = record->created;
        pair->updated = record->updated;
        break;
    case PAIR_FOLLOWER:
        pair->copied |= record->stands;
        break;
    case PAIR_IN_FOLLOWING:
        pair->in_following = true;
        break;
    case PAIR_IN_FANS:
        pair->in_fans = true;
        break;
    case PAIR_EVENT: /* from old to new: the last one stays */
        pair->told = true;
        pair->told_stands = record->stands;
        pair->told_row = record->row;
        break;
    }
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
        take_record(&pair, &record);
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
        /* Before the rows: of what happens meanwhile there is then no event, which contradicts nothing unless an older one is there. */
        if (!read_outbox(&z, "outbox_event"))
            read_outbox(&z, "outbox");
        read_table(&z, "following", PAIR_FOLLOWING, true);
        z.has_follower = read_table(&z, "follower", PAIR_FOLLOWER, true);
        join_pairs(&z);
        join_users(&z);
    }
    sorter_free(z.by_pair);
    sorter_free(z.by_user);
}
