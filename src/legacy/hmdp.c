/* SPDX-License-Identifier: MIT */
#include "legacy/hmdp.h"

#include <inttypes.h>

#include "engine/facts/apply.h"

/* What servers take, and their document promises, if they are not set otherwise. Of a title more is kept: see hmdp_posts.c. */
enum {
    NAME_CHARACTERS = 64,
    AVATAR_BYTES = 512,
    BODY_BYTES = 1 << 16,
    COMMENT_CHARACTERS = 4000,
    IMAGES_CHARACTERS = 4096,
    RECORD_MAX = 16 << 20,
    CHARACTER_BYTES = 4,
};

/* ---- Records -------------------------------------------------------------------------------- */

static void begin_value(struct hmdp *h, const uint64_t *numbers, size_t n)
{
    buf_clear(&h->value);
    for (size_t i = 0; i < n; i++)
        pack_u64(&h->value, numbers[i]);
}

static void read_numbers(struct decoder *from, uint64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        numbers[i] = read_u64(from);
}

void hmdp_add_post(struct hmdp *h, const struct of_post_record *record, const struct buf *rest)
{
    uint8_t key[SORT_KEY_BYTES] = {0};
    const uint64_t numbers[] = {record->post, record->kind, record->x, record->y};
    put_u64(key, record->post);
    key[8] = (uint8_t)record->kind;
    put_u64(key + 9, record->x);
    put_u64(key + 17, record->y);
    begin_value(h, numbers, 4);
    if (rest)
        buf_append(&h->value, rest->data, rest->len);
    h->value.failed |= rest && rest->failed;
    source_sort(h->source, h->by_post, key, &h->value);
}

bool hmdp_next_post(struct hmdp *h, struct of_post_record *record)
{
    struct bytes value;
    uint64_t numbers[4];
    if (!source_next(h->source, h->by_post, &value))
        return false;
    struct decoder from = decoder_of(value.p, value.n);
    read_numbers(&from, numbers, 4);
    *record = (struct of_post_record){.post = numbers[0],
                                      .kind = (enum of_post)numbers[1],
                                      .x = numbers[2],
                                      .y = numbers[3],
                                      .rest = from};
    return true;
}

void hmdp_add_author(struct hmdp *h, const struct of_author_record *record)
{
    uint8_t key[SORT_KEY_BYTES];
    const uint64_t numbers[] = {record->author,
                                record->user,
                                record->kind,
                                record->at,
                                record->post,
                                record->flags,
                                (uint64_t)record->number};
    put_u64(key, record->author);
    key[8] = record->kind != AUTHOR_POST;
    put_u64(key + 9, record->user);
    key[17] = (uint8_t)record->kind;
    put_u64(key + 18, record->at);
    put_u64(key + 26, record->post);
    begin_value(h, numbers, 7);
    source_sort(h->source, h->by_author, key, &h->value);
}

bool hmdp_next_author(struct hmdp *h, struct of_author_record *record)
{
    struct bytes value;
    uint64_t numbers[7];
    if (!source_next(h->source, h->by_author, &value))
        return false;
    struct decoder from = decoder_of(value.p, value.n);
    read_numbers(&from, numbers, 7);
    *record = (struct of_author_record){.author = numbers[0],
                                        .user = numbers[1],
                                        .kind = (enum of_author)numbers[2],
                                        .at = numbers[3],
                                        .post = numbers[4],
                                        .flags = numbers[5],
                                        .number = (int64_t)numbers[6]};
    return true;
}

/* The sum needs no order among a user's authors, but what is said is there once. */
void hmdp_add_user(struct hmdp *h, const struct of_user_record *record)
{
    uint8_t key[SORT_KEY_BYTES] = {0};
    const uint64_t numbers[] = {record->user, record->said, (uint64_t)record->number};
    put_u64(key, record->user);
    key[8] = record->said;
    begin_value(h, numbers, 3);
    source_sort(h->source, h->by_user, key, &h->value);
}

bool hmdp_next_user(struct hmdp *h, struct of_user_record *record)
{
    struct bytes value;
    uint64_t numbers[3];
    if (!source_next(h->source, h->by_user, &value))
        return false;
    struct decoder from = decoder_of(value.p, value.n);
    read_numbers(&from, numbers, 3);
    *record = (struct of_user_record){
        .user = numbers[0], .said = numbers[1], .number = (int64_t)numbers[2]};
    return true;
}

struct bytes hmdp_key(const char *kind, uint64_t id, char text[POST_KEY_MAX])
{
    int n = snprintf(text, POST_KEY_MAX, "%s:%" PRIu64, kind, id);
    return (struct bytes){(const uint8_t *)text, (size_t)n};
}

/* ---- Tables --------------------------------------------------------------------------------- */

static void bad_row(struct source *source, const struct table *table, uint64_t id)
{
    source_found(source, DRIFT_bad_row, (struct drift_example){.row = id, .where = table->name});
}

/* A row that has a number of its own, even if nothing else. */
static uint64_t row_number(struct source *source, const struct table *table)
{
    uint64_t id = 0;
    row_id(source, table, 0, INT64_MAX, &id);
    return id;
}

/* The text of a column behind what is in the buf already, and its length before it; what is left out is counted. */
static void pack_column(struct source *source, const struct table *table, size_t column,
                        size_t characters, size_t bytes, struct buf *to)
{
    struct buf text;
    struct drift_example example = {.row = row_number(source, table), .where = table->name};
    buf_init(&text, RECORD_MAX);
    if (value_text(row_text(source, table, column), characters, bytes, &text))
        source_found(source, DRIFT_cut, example);
    pack_text(to, text.data, text.len);
    to->failed |= text.failed;
    buf_release(&text);
}

enum { USER_ID, USER_NAME, USER_ICON };

/* False: an import would refuse it, and the name with it. */
static bool take_avatar(struct fact *fact, struct bytes avatar)
{
    struct fact with = *fact;
    struct refusal refusal;
    FACT_SET(&with, avatar, avatar);
    bool sound = fact_is_sound(&with, &refusal);
    if (sound)
        *fact = with;
    return sound;
}

/* Neither telephone numbers nor passwords are asked for. */
static void take_user(struct source *source, const struct table *table, void *ctx)
{
    struct fact fact = {.type = FACT_USER};
    struct buf texts;
    uint64_t id;
    (void)ctx;
    if (!row_id(source, table, USER_ID, TIDINGS_ID_MAX, &id)) {
        bad_row(source, table, row_number(source, table));
        return;
    }
    buf_init(&texts, RECORD_MAX);
    pack_column(source, table, USER_NAME, NAME_CHARACTERS, NAME_CHARACTERS * CHARACTER_BYTES,
                &texts);
    pack_column(source, table, USER_ICON, AVATAR_BYTES, AVATAR_BYTES, &texts);
    struct decoder from = decoder_of(texts.data, texts.len);
    struct bytes name = unpack_text(&from), avatar = unpack_text(&from);
    FACT_SET(&fact, user_id, id);
    if (name.n)
        FACT_SET(&fact, name, name);
    if (avatar.n && !take_avatar(&fact, avatar))
        source_found(source, DRIFT_no_url, (struct drift_example){.row = id, .where = table->name});
    if (fact.has & (HAS(name) | HAS(avatar)))
        source_write(source, &fact);
    buf_release(&texts);
}

static void read_users(struct hmdp *h, bool rows)
{
    struct column columns[] = {
        [USER_ID] = {.name = "id", .needed = true},
        [USER_NAME] = {"nick_name", COLUMN_TEXT, .characters = NAME_CHARACTERS + 1},
        [USER_ICON] = {"icon", COLUMN_TEXT, .characters = AVATAR_BYTES + 1},
    };
    struct table table = {"tb_user", columns, sizeof columns / sizeof *columns, 500};
    table_read(h->source, &table, false, rows ? take_user : NULL, h);
}

enum {
    BLOG_ID,
    BLOG_USER,
    BLOG_TITLE,
    BLOG_CONTENT,
    BLOG_IMAGES,
    BLOG_SHOP,
    BLOG_LIKED,
    BLOG_COMMENTS,
    BLOG_CREATED,
    BLOG_UPDATED,
};

/* Counts are one more than they are; 0: there is none. */
static uint64_t packed_count(struct source *source, const struct table *table, size_t column)
{
    int64_t count;
    return row_count(source, table, column, &count) && count >= 0 ? (uint64_t)count + 1 : 0;
}

static void take_blog(struct source *source, const struct table *table, void *ctx)
{
    struct hmdp *h = ctx;
    struct of_post_record record = {.kind = POST_ROW};
    struct drift_example example = {.row = row_number(source, table), .where = table->name};
    struct buf rest;
    uint64_t author, created = 0, updated = 0;
    if (!row_id(source, table, BLOG_ID, INT64_MAX, &record.post) ||
        !row_id(source, table, BLOG_USER, TIDINGS_ID_MAX, &author)) {
        bad_row(source, table, example.row);
        return;
    }
    bool has_updated = row_time(source, table, BLOG_UPDATED, &updated) && updated <= source->now_ms;
    bool has_created = row_time(source, table, BLOG_CREATED, &created);
    created = source_time(source, has_created, created, has_updated ? updated : 0, example);
    const uint64_t numbers[] = {author,
                                created,
                                has_updated ? updated : 0,
                                packed_count(source, table, BLOG_LIKED),
                                packed_count(source, table, BLOG_COMMENTS),
                                packed_count(source, table, BLOG_SHOP)};
    buf_init(&rest, RECORD_MAX);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        pack_u64(&rest, numbers[i]);
    pack_column(source, table, BLOG_TITLE, TITLE_KEPT, TITLE_KEPT * CHARACTER_BYTES, &rest);
    pack_column(source, table, BLOG_CONTENT, BODY_BYTES, BODY_BYTES, &rest);
    pack_column(source, table, BLOG_IMAGES, IMAGES_CHARACTERS, IMAGES_CHARACTERS * CHARACTER_BYTES,
                &rest);
    hmdp_add_post(h, &record, &rest);
    buf_release(&rest);
}

static void read_blogs(struct hmdp *h, bool rows)
{
    struct column columns[] = {
        [BLOG_ID] = {.name = "id", .needed = true},
        [BLOG_USER] = {.name = "user_id", .needed = true},
        [BLOG_TITLE] = {"title", COLUMN_TEXT, .characters = TITLE_KEPT + 1},
        [BLOG_CONTENT] = {"content", COLUMN_TEXT, .characters = BODY_BYTES + 1},
        [BLOG_IMAGES] = {"images", COLUMN_TEXT, .characters = IMAGES_CHARACTERS + 1},
        [BLOG_SHOP] = {"shop_id", COLUMN_COUNT},
        [BLOG_LIKED] = {"liked", COLUMN_COUNT},
        [BLOG_COMMENTS] = {"comments", COLUMN_COUNT},
        [BLOG_CREATED] = {"create_time", COLUMN_TIME, .needed = true},
        [BLOG_UPDATED] = {"update_time", COLUMN_TIME},
    };
    struct table table = {"tb_blog", columns, sizeof columns / sizeof *columns, 200};
    table_read(h->source, &table, true, rows ? take_blog : NULL, h);
}

enum { FOLLOW_ID, FOLLOW_USER, FOLLOW_AUTHOR, FOLLOW_CREATED };

/* Of one whose time is not known nothing is delivered but what the inbox has: it counts as of now. */
static void take_follow(struct source *source, const struct table *table, void *ctx)
{
    struct of_author_record record = {.kind = FAN_FOLLOW};
    struct drift_example example = {.row = row_number(source, table), .where = table->name};
    if (!row_id(source, table, FOLLOW_USER, TIDINGS_ID_MAX, &record.user) ||
        !row_id(source, table, FOLLOW_AUTHOR, TIDINGS_ID_MAX, &record.author)) {
        bad_row(source, table, example.row);
        return;
    }
    if (record.user == record.author) {
        example.user_id = record.user;
        source_found(source, DRIFT_follow_self, example);
        return;
    }
    bool known = row_time(source, table, FOLLOW_CREATED, &record.at);
    record.at = source_time(source, known, record.at, 0, example);
    record.post = example.row;
    hmdp_add_author(ctx, &record);
}

static void read_follows(struct hmdp *h, bool rows)
{
    struct column columns[] = {
        [FOLLOW_ID] = {.name = "id", .needed = true},
        [FOLLOW_USER] = {.name = "user_id", .needed = true},
        [FOLLOW_AUTHOR] = {.name = "follow_user_id", .needed = true},
        [FOLLOW_CREATED] = {"create_time", COLUMN_TIME, .needed = true},
    };
    struct table table = {"tb_follow", columns, sizeof columns / sizeof *columns, 500};
    table_read(h->source, &table, true, rows ? take_follow : NULL, h);
}

enum {
    COMMENT_ID,
    COMMENT_USER,
    COMMENT_BLOG,
    COMMENT_PARENT,
    COMMENT_ANSWER,
    COMMENT_CONTENT,
    COMMENT_STATUS,
    COMMENT_CREATED,
};

static void take_comment(struct source *source, const struct table *table, void *ctx)
{
    struct hmdp *h = ctx;
    struct of_post_record record = {.kind = POST_COMMENT};
    struct drift_example example = {.row = row_number(source, table), .where = table->name};
    struct buf rest;
    uint64_t user, at = 0, parent = 0;
    int64_t status = 0;
    h->has_comments = true;
    if (!row_id(source, table, COMMENT_ID, INT64_MAX, &record.x) ||
        !row_id(source, table, COMMENT_USER, TIDINGS_ID_MAX, &user) ||
        !row_id(source, table, COMMENT_BLOG, INT64_MAX, &record.post)) {
        bad_row(source, table, example.row);
        return;
    }
    bool known = row_time(source, table, COMMENT_CREATED, &at);
    at = source_time(source, known, at, 0, example);
    row_count(source, table, COMMENT_STATUS, &status);
    /* What it answers is nearer than what the whole conversation is below. */
    if (!row_id(source, table, COMMENT_ANSWER, INT64_MAX, &parent))
        row_id(source, table, COMMENT_PARENT, INT64_MAX, &parent);
    buf_init(&rest, RECORD_MAX);
    pack_u64(&rest, user);
    pack_u64(&rest, at);
    pack_u64(&rest, parent);
    pack_u64(&rest, (uint64_t)status);
    pack_column(source, table, COMMENT_CONTENT, COMMENT_CHARACTERS,
                COMMENT_CHARACTERS * CHARACTER_BYTES, &rest);
    hmdp_add_post(h, &record, &rest);
    buf_release(&rest);
}

static void read_comments(struct hmdp *h, bool rows)
{
    struct column columns[] = {
        [COMMENT_ID] = {.name = "id", .needed = true},
        [COMMENT_USER] = {.name = "user_id", .needed = true},
        [COMMENT_BLOG] = {.name = "blog_id", .needed = true},
        [COMMENT_PARENT] = {.name = "parent_id"},
        [COMMENT_ANSWER] = {.name = "answer_id"},
        [COMMENT_CONTENT] = {"content", COLUMN_TEXT, .needed = true,
                             .characters = COMMENT_CHARACTERS + 1},
        [COMMENT_STATUS] = {"status", COLUMN_COUNT},
        [COMMENT_CREATED] = {"create_time", COLUMN_TIME},
    };
    struct table table = {"tb_blog_comments", columns, sizeof columns / sizeof *columns, 200};
    table_read(h->source, &table, false, rows ? take_comment : NULL, h);
}

/* ---- Keys ----------------------------------------------------------------------------------- */

static void bad_value(struct source *source, enum drift_kind kind, const struct found_key *key)
{
    source_found(source, kind, key_example(key));
}

/* Members of lists of posts; the user is the key's. */
static void take_post(struct hmdp *h, const struct found_key *key, const struct bytes values[])
{
    static const enum of_post kinds[LEGACY_KEY_COUNT] = {[LEGACY_FEED] = POST_DELIVERED,
                                                         [LEGACY_READ] = POST_READ,
                                                         [LEGACY_USER_READ] = POST_READ_SET,
                                                         [LEGACY_USER_UNREAD] = POST_UNREAD,
                                                         [LEGACY_AUTHOR_BLOGS] = POST_LISTED};
    struct of_post_record record = {.kind = kinds[key->kind], .x = key->first, .y = key->second};
    struct buf rest;
    uint8_t storage[8];
    uint64_t at = 0;
    if (!value_id(values[0], INT64_MAX, &record.post)) {
        bad_value(h->source, DRIFT_bad_member, key);
        return;
    }
    if (values[1].p && !value_score(values[1], &at))
        at = 0;
    if (key->kind == LEGACY_FEED) {
        record.x = at;
        record.y = key->first;
    }
    buf_init_borrowed(&rest, storage, sizeof storage);
    pack_u64(&rest, at);
    hmdp_add_post(h, &record, &rest);
    if (key->kind != LEGACY_USER_UNREAD)
        return;
    struct of_author_record member = {
        .author = key->second, .user = key->first, .kind = FAN_MEMBER, .post = record.post};
    hmdp_add_author(h, &member);
}

/* What is said of the post that is in the key. */
static void take_of_post(struct hmdp *h, const struct found_key *key, const struct bytes values[])
{
    struct of_post_record record = {.post = key->first};
    struct buf rest;
    uint64_t at = 0;
    buf_init(&rest, RECORD_MAX);
    if (key->kind == LEGACY_LIKED) {
        record.kind = POST_LIKED;
        if (!value_score(values[1], &at))
            at = 0;
        pack_u64(&rest, at);
    } else if (key->kind == LEGACY_BLOG_AUTHOR) {
        record.kind = POST_AUTHOR;
    } else {
        record.kind = POST_INFO;
        if (!value_score(values[2], &at))
            at = 0;
        pack_u64(&rest, at);
        struct bytes title = values[1];
        pack_text(&rest, (const char *)title.p, title.n < 1 << 16 ? title.n : 1 << 16);
    }
    if (value_id(values[0], TIDINGS_ID_MAX, &record.x))
        hmdp_add_post(h, &record, &rest);
    else
        bad_value(h->source, key->kind == LEGACY_LIKED ? DRIFT_bad_member : DRIFT_bad_key, key);
    buf_release(&rest);
}

static void take_deleted(struct hmdp *h, const struct found_key *key, const struct bytes values[])
{
    struct of_post_record record = {.kind = POST_DELETED};
    if (value_id(values[0], INT64_MAX, &record.post))
        hmdp_add_post(h, &record, NULL);
    else
        bad_value(h->source, DRIFT_bad_member, key);
}

/* Counts of unread posts, and whom a user follows. */
static void take_of_fan(struct hmdp *h, const struct found_key *key, const struct bytes values[])
{
    struct of_author_record record = {.user = key->first, .author = key->second};
    bool fine = true;
    record.kind = key->kind == LEGACY_FOLLOWS        ? FAN_CACHED
                  : key->kind == LEGACY_UNREAD_COUNT ? FAN_COUNTED
                                                     : FAN_SAID;
    if (key->kind != LEGACY_AUTHOR_UNREAD && !value_id(values[0], TIDINGS_ID_MAX, &record.author)) {
        bad_value(h->source, DRIFT_bad_member, key);
        return;
    }
    if (key->kind == LEGACY_AUTHOR_UNREAD)
        fine = value_number(values[0], &record.number);
    else if (key->kind == LEGACY_UNREAD_COUNT)
        fine = value_number(values[1], &record.number);
    if (fine)
        hmdp_add_author(h, &record);
    else
        bad_value(h->source, DRIFT_bad_key, key);
}

static void take_total(struct hmdp *h, const struct found_key *key, const struct bytes values[])
{
    struct of_user_record record = {.user = key->first, .said = true};
    if (value_number(values[0], &record.number))
        hmdp_add_user(h, &record);
    else
        bad_value(h->source, DRIFT_bad_key, key);
}

static void take_key(struct source *source, const struct found_key *key,
                     const struct bytes values[VALUES_MAX], void *ctx)
{
    static void (*const takers[LEGACY_KEY_COUNT])(struct hmdp *, const struct found_key *,
                                                  const struct bytes *) = {
        [LEGACY_FEED] = take_post,           [LEGACY_READ] = take_post,
        [LEGACY_TOTAL_UNREAD] = take_total,  [LEGACY_AUTHOR_UNREAD] = take_of_fan,
        [LEGACY_BLOG_AUTHOR] = take_of_post, [LEGACY_DELETED] = take_deleted,
        [LEGACY_LIKED] = take_of_post,       [LEGACY_FOLLOWS] = take_of_fan,
        [LEGACY_USER_READ] = take_post,      [LEGACY_USER_UNREAD] = take_post,
        [LEGACY_UNREAD_COUNT] = take_of_fan, [LEGACY_AUTHOR_BLOGS] = take_post,
        [LEGACY_BLOG_INFO] = take_of_post,
    };
    bool of_post = key->kind == LEGACY_LIKED || key->kind == LEGACY_BLOG_AUTHOR ||
                   key->kind == LEGACY_BLOG_INFO || key->kind == LEGACY_DELETED;
    if (!of_post && (key->first > TIDINGS_ID_MAX || key->second > TIDINGS_ID_MAX))
        bad_value(source, DRIFT_bad_key, key);
    else
        takers[key->kind](ctx, key, values);
}

static void read_keys(struct hmdp *h)
{
    bool wanted[LEGACY_KEY_COUNT];
    for (int kind = 0; kind < LEGACY_KEY_COUNT; kind++)
        wanted[kind] = kind <= LEGACY_BLOG_INFO;
    scan_keys(h->source, wanted, take_key, h);
}

/* ---- All of it ------------------------------------------------------------------------------ */

/* Before keys it is only looked at what there is: hours later would be too late to say that something is missing. */
static void read_tables(struct hmdp *h, bool rows)
{
    read_users(h, rows);
    read_blogs(h, rows);
    read_comments(h, rows);
    read_follows(h, rows);
}

/*
 * Keys come before tables: what is published meanwhile is in the table alone, and delivered to who follows. The other way round it would be
 * in inboxes alone, and nobody would know what it is.
 */
void hmdp_read(struct source *source)
{
    struct hmdp h = {.source = source};
    buf_init(&h.value, RECORD_MAX);
    h.by_post = source_sorter(source);
    h.by_author = source_sorter(source);
    h.by_user = source_sorter(source);
    if (!source->failed) {
        read_tables(&h, false);
        read_keys(&h);
        read_tables(&h, true);
        hmdp_join_posts(&h);
        hmdp_join_pairs(&h);
        hmdp_join_users(&h);
    }
    sorter_free(h.by_post);
    sorter_free(h.by_author);
    sorter_free(h.by_user);
    buf_release(&h.value);
}
