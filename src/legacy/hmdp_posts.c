/* SPDX-License-Identifier: MIT */
/*
 * Posts, with all that refers to each. A post without a row is taken from what keys know of it, as one that was deleted: fans still have
 * it in their inboxes. Of one that nobody knows the author of nothing can be taken.
 */
#include <stdlib.h>

#include "base/json_out.h"
#include "base/search.h"
#include "base/utf8.h"
#include "legacy/hmdp.h"

/* Where nothing is left of a post that was deleted; it has a notice below it. */
#define NO_TITLE "\xe2\x80\x94"

enum { TEXT_MAX = 8 << 20, MADE_TITLE_CHARACTERS = 50, DATE_MS = 1000 };

struct post {
    uint64_t id;
    bool row, deleted, settled; /* settled: all that says what it is was seen */
    uint64_t author;            /* 0: nobody says */
    uint64_t listed_by;         /* in whose author:blogs it is */
    uint64_t at, updated;
    uint64_t liked, comments, shop; /* one more than the row says; 0: nothing */
    uint64_t info_author, info_at, said_author;
    bool has_info;
    struct buf title, body, images, info_title;
    uint64_t n_likes, n_comments;
    uint64_t *comment_ids; /* so far */
    size_t room;
};

struct joining {
    struct hmdp *h;
    struct post post;
};

static struct drift_example of_post(const struct post *post, const char *where)
{
    return (struct drift_example){.author_id = post->author, .post = post->id, .where = where};
}

static struct drift_example of_user(const struct post *post, uint64_t user)
{
    return (struct drift_example){.user_id = user, .author_id = post->author, .post = post->id};
}

/* ---- What it is ----------------------------------------------------------------------------- */

static void keep(struct buf *to, struct bytes text)
{
    buf_clear(to);
    buf_append(to, text.p, text.n);
}

static void take_row(struct post *post, struct decoder *from)
{
    post->row = true;
    post->author = read_u64(from);
    post->at = read_u64(from);
    post->updated = read_u64(from);
    post->liked = read_u64(from);
    post->comments = read_u64(from);
    post->shop = read_u64(from);
    keep(&post->title, unpack_text(from));
    keep(&post->body, unpack_text(from));
    keep(&post->images, unpack_text(from));
}

static void take_info(struct post *post, uint64_t author, struct decoder *from)
{
    post->has_info = true;
    post->info_author = author;
    post->info_at = read_u64(from);
    buf_clear(&post->info_title);
    value_text(unpack_text(from), TITLE_KEPT, TEXT_MAX, &post->info_title);
}

static bool same_text(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

/* What keys say of a post that has a row. A row's time may have whole seconds. */
static void compare_copies(struct joining *j)
{
    struct post *post = &j->post;
    struct source *source = j->h->source;
    const struct {
        uint64_t author;
        enum legacy_key key;
    } said[] = {{post->said_author, LEGACY_BLOG_AUTHOR},
                {post->has_info ? post->info_author : 0, LEGACY_BLOG_INFO},
                {post->listed_by, LEGACY_AUTHOR_BLOGS}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (said[i].author && said[i].author != post->author)
            source_found(source, DRIFT_author_wrong, of_post(post, key_name(said[i].key)));
    uint64_t apart = post->info_at > post->at ? post->info_at - post->at : post->at - post->info_at;
    if (post->has_info && (!same_text(&post->title, &post->info_title) || apart >= DATE_MS))
        source_found(source, DRIFT_info_wrong, of_post(post, key_name(LEGACY_BLOG_INFO)));
}

/* A post without a row: as far as keys know it. Pushed then: no later than that it was written. */
static void settle_lost(struct joining *j, uint64_t pushed)
{
    struct post *post = &j->post;
    struct source *source = j->h->source;
    const uint64_t authors[] = {post->said_author, post->info_author, post->listed_by};
    for (size_t i = 0; i < sizeof authors / sizeof *authors && !post->author; i++)
        post->author = authors[i];
    if (!post->author)
        return;
    uint64_t at = post->info_at ? post->info_at : pushed;
    post->at = source_time(source, at != 0, at, 0, of_post(post, NULL));
    keep(&post->title,
         (struct bytes){(const uint8_t *)post->info_title.data, post->info_title.len});
    if (!post->deleted)
        source_found(source, DRIFT_row_missing, of_post(post, NULL));
    post->deleted = true;
}

/* ---- As a fact ------------------------------------------------------------------------------ */

static struct bytes bytes_of(const struct buf *buf)
{
    return (struct bytes){(const uint8_t *)buf->data, buf->len};
}

/* The beginning of the text, up to a line's end or a tag. */
static void make_title(struct joining *j)
{
    struct post *post = &j->post;
    struct bytes body = bytes_of(&post->body);
    size_t n = 0;
    while (n < body.n && body.p[n] != '\n' && body.p[n] != '\r' && body.p[n] != '<')
        n++;
    if (post->row)
        source_found(j->h->source, DRIFT_untitled, of_post(post, NULL));
    value_text((struct bytes){body.p, n}, MADE_TITLE_CHARACTERS, TEXT_MAX, &post->title);
    if (!post->title.len)
        buf_text(&post->title, NO_TITLE);
}

/* What of the title is one here. */
static struct bytes short_title(const struct post *post)
{
    struct bytes title = bytes_of(&post->title);
    title.n = utf8_prefix((const char *)title.p, title.n, TITLE_CHARACTERS);
    return title;
}

/* {"title":"…","shop_id":…,"images":"…"}: a title that is too long for its place, and what has none here. */
static void put_extra(const struct joining *j, bool with_images, struct buf *extra)
{
    const struct post *post = &j->post;
    struct json_out out;
    buf_clear(extra);
    json_out_init(&out, extra);
    json_out_object(&out);
    if (short_title(post).n < post->title.len) {
        json_out_key(&out, "title");
        json_out_string(&out, post->title.data, post->title.len);
    }
    if (post->shop) {
        json_out_key(&out, "shop_id");
        json_out_u64(&out, post->shop - 1);
    }
    if (post->images.len && with_images) {
        json_out_key(&out, "images");
        json_out_string(&out, post->images.data, post->images.len);
    }
    json_out_end(&out);
}

/* Pictures that do not fit are left out. */
static void make_extra(struct joining *j, struct buf *extra)
{
    put_extra(j, true, extra);
    if (extra->len <= TIDINGS_EXTRA_MAX)
        return;
    source_found(j->h->source, DRIFT_cut, of_post(&j->post, "images"));
    put_extra(j, false, extra);
}

/* When it was deleted is not written down anywhere. */
static uint64_t deleted_at(const struct joining *j)
{
    const struct post *post = &j->post;
    uint64_t at = post->row && post->updated ? post->updated : j->h->source->now_ms;
    return at > post->at ? at : post->at;
}

static void write_post(struct joining *j)
{
    struct post *post = &j->post;
    struct fact fact = {.type = FACT_POST};
    struct buf extra;
    char key[POST_KEY_MAX];
    if (!post->title.len)
        make_title(j);
    buf_init(&extra, TEXT_MAX);
    FACT_SET(&fact, key, hmdp_key("blog", post->id, key));
    FACT_SET(&fact, author_id, post->author);
    FACT_SET(&fact, at, post->at);
    FACT_SET(&fact, title, short_title(post));
    if (fact.title.n < post->title.len)
        source_found(j->h->source, DRIFT_cut, of_post(post, "title"));
    if (post->deleted) {
        FACT_SET(&fact, deleted_at, deleted_at(j));
    } else {
        FACT_SET(&fact, body, bytes_of(&post->body));
        make_extra(j, &extra);
        if (extra.len > strlen("{}"))
            FACT_SET(&fact, extra, bytes_of(&extra));
    }
    source_write(j->h->source, &fact);
    buf_release(&extra);
}

static void settle(struct joining *j, uint64_t pushed)
{
    struct post *post = &j->post;
    post->settled = true;
    if (post->row)
        compare_copies(j);
    else
        settle_lost(j, pushed);
    if (!post->author)
        return;
    write_post(j);
    uint64_t flags = (post->deleted ? IS_DELETED : 0) | (post->row ? IS_ROW : 0) |
                     (post->listed_by == post->author ? IS_LISTED : 0);
    struct of_author_record record = {.author = post->author,
                                      .kind = AUTHOR_POST,
                                      .at = post->at,
                                      .post = post->id,
                                      .flags = flags};
    hmdp_add_author(j->h, &record);
}

/* ---- What refers to it ---------------------------------------------------------------------- */

static void take_like(struct joining *j, struct of_post_record *record)
{
    struct post *post = &j->post;
    struct fact fact = {.type = FACT_REACTION};
    char key[POST_KEY_MAX];
    uint64_t at = read_u64(&record->rest);
    struct drift_example example = of_user(post, record->x);
    post->n_likes++;
    if (!post->author) {
        source_found(j->h->source, DRIFT_like_unknown, example);
        return;
    }
    FACT_SET(&fact, user_id, record->x);
    FACT_SET(&fact, post_key, hmdp_key("blog", post->id, key));
    FACT_SET(&fact, reaction, TIDINGS_LIKE);
    FACT_SET(&fact, at, source_time(j->h->source, at != 0, at, post->at, example));
    source_write(j->h->source, &fact);
}

/* Comments come in the order of their ids. */
static bool has_comment(const struct post *post, uint64_t id)
{
    size_t at = ids_below(post->comment_ids, post->n_comments, id);
    return at < post->n_comments && post->comment_ids[at] == id;
}

static bool keep_comment(struct joining *j, uint64_t id)
{
    struct post *post = &j->post;
    if (post->n_comments == post->room) {
        size_t room = post->room ? post->room * 2 : 64;
        uint64_t *grown = realloc(post->comment_ids, room * sizeof *grown);
        if (!grown) {
            source_failed_with(j->h->source, "comments", TIDINGS_NO_MEMORY);
            return false;
        }
        post->comment_ids = grown;
        post->room = room;
    }
    post->comment_ids[post->n_comments++] = id;
    return true;
}

/* As the table's comment says: 0 normal, 1 reported, 2 not to be seen. */
enum { STATUS_FORBIDDEN = 2 };

static void take_comment(struct joining *j, struct of_post_record *record)
{
    struct post *post = &j->post;
    struct fact fact = {.type = FACT_COMMENT};
    char key[POST_KEY_MAX], of[POST_KEY_MAX], parent_key[POST_KEY_MAX];
    uint64_t user = read_u64(&record->rest), at = read_u64(&record->rest);
    uint64_t parent = read_u64(&record->rest), status = read_u64(&record->rest);
    struct bytes text = unpack_text(&record->rest);
    struct drift_example example = {.user_id = user, .post = post->id, .comment = record->x};
    bool answers = parent && has_comment(post, parent);
    if (!keep_comment(j, record->x))
        return;
    if (!post->author || !text.n) {
        enum drift_kind kind = post->author ? DRIFT_comment_empty : DRIFT_comment_unknown;
        source_found(j->h->source, kind, example);
        return;
    }
    if (parent && !answers)
        source_found(j->h->source, DRIFT_reply_alone, example);
    FACT_SET(&fact, key, hmdp_key("comment", record->x, key));
    FACT_SET(&fact, post_key, hmdp_key("blog", post->id, of));
    FACT_SET(&fact, user_id, user);
    FACT_SET(&fact, at, at);
    FACT_SET(&fact, body, text);
    if (answers)
        FACT_SET(&fact, parent_key, hmdp_key("comment", parent, parent_key));
    if (status == STATUS_FORBIDDEN) {
        FACT_SET(&fact, status, TIDINGS_COMMENT_HIDDEN);
        FACT_SET(&fact, moderated, true);
    }
    source_write(j->h->source, &fact);
}

/* Delivered to, read by or unread by somebody: goes on to what there is between the two. */
static void take_item(struct joining *j, struct of_post_record *record)
{
    struct post *post = &j->post;
    static const enum drift_kind unknown[] = {[POST_DELIVERED] = DRIFT_inbox_unknown,
                                              [POST_READ] = DRIFT_read_unknown,
                                              [POST_READ_SET] = DRIFT_read_unknown,
                                              [POST_UNREAD] = DRIFT_unread_unknown};
    static const uint64_t flags[] = {[POST_DELIVERED] = IS_DELIVERED,
                                     [POST_READ] = IS_READ | IS_READ_FIRST,
                                     [POST_READ_SET] = IS_READ,
                                     [POST_UNREAD] = IS_UNREAD};
    uint64_t user = record->kind == POST_DELIVERED ? record->y : record->x;
    uint64_t at = record->kind == POST_READ ? read_u64(&record->rest) : 0;
    struct of_author_record item = {.author = post->author,
                                    .user = user,
                                    .kind = FAN_ITEM,
                                    .at = post->at,
                                    .post = post->id,
                                    .flags = flags[record->kind],
                                    .number = (int64_t)at};
    if (!post->author) {
        source_found(j->h->source, unknown[record->kind], of_user(post, user));
        return;
    }
    if (record->kind == POST_UNREAD && record->y != post->author)
        source_found(j->h->source, DRIFT_author_wrong,
                     (struct drift_example){.user_id = user,
                                            .author_id = record->y,
                                            .post = post->id,
                                            .where = key_name(LEGACY_USER_UNREAD)});
    item.flags |= post->deleted ? IS_DELETED : 0;
    item.flags |= at && at <= j->h->source->now_ms ? IS_TIMED : 0;
    if (record->kind == POST_READ && !(item.flags & IS_TIMED))
        source_found(j->h->source, DRIFT_bad_time, of_user(post, user));
    hmdp_add_author(j->h, &item);
}

/* ---- One post after the other --------------------------------------------------------------- */

/* Counts of the row with what was counted; of what is not in use at all nothing is expected. */
static void compare_counts(struct joining *j)
{
    const struct post *post = &j->post;
    const struct {
        uint64_t said, is;
        bool used;
        enum drift_kind kind;
    } counts[] = {{post->liked, post->n_likes, j->h->source->seen[LEGACY_LIKED], DRIFT_liked},
                  {post->comments, post->n_comments, j->h->has_comments, DRIFT_comments}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct drift_example example = of_post(post, NULL);
        example.counted = true;
        example.says = (int64_t)counts[i].said - 1;
        example.is = (int64_t)counts[i].is;
        if (counts[i].used && counts[i].said && example.says != example.is)
            source_found(j->h->source, counts[i].kind, example);
    }
}

static void end_post(struct joining *j)
{
    struct post *post = &j->post;
    if (post->id && !post->settled)
        settle(j, 0);
    if (post->row)
        compare_counts(j);
}

/* The texts' memory and that of the comments' ids are used again. */
static void begin_post(struct joining *j, uint64_t id)
{
    struct post *post = &j->post;
    struct buf *const texts[] = {&post->title, &post->body, &post->images, &post->info_title};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        buf_clear(texts[i]);
    *post = (struct post){.id = id,
                          .title = post->title,
                          .body = post->body,
                          .images = post->images,
                          .info_title = post->info_title,
                          .comment_ids = post->comment_ids,
                          .room = post->room};
}

static void take(struct joining *j, struct of_post_record *record)
{
    struct post *post = &j->post;
    if (record->kind >= POST_DELIVERED && !post->settled)
        settle(j, record->kind == POST_DELIVERED ? record->x : 0);
    switch (record->kind) {
    case POST_ROW:
        take_row(post, &record->rest);
        break;
    case POST_INFO:
        take_info(post, record->x, &record->rest);
        break;
    case POST_AUTHOR:
        post->said_author = record->x;
        break;
    case POST_DELETED:
        post->deleted = true;
        break;
    case POST_LISTED:
        if (!post->row || post->listed_by != post->author)
            post->listed_by = record->x;
        break;
    case POST_COMMENT:
        take_comment(j, record);
        break;
    case POST_LIKED:
        take_like(j, record);
        break;
    case POST_DELIVERED:
    case POST_READ:
    case POST_READ_SET:
    case POST_UNREAD:
        take_item(j, record);
        break;
    }
}

static bool same_record(const struct of_post_record *a, const struct of_post_record *b)
{
    return a->post == b->post && a->kind == b->kind && a->x == b->x && a->y == b->y;
}

void hmdp_join_posts(struct hmdp *h)
{
    struct joining j = {.h = h};
    struct of_post_record record, last = {0};
    struct post *post = &j.post;
    buf_init(&post->title, TEXT_MAX);
    buf_init(&post->body, TEXT_MAX);
    buf_init(&post->images, TEXT_MAX);
    buf_init(&post->info_title, TEXT_MAX);
    while (hmdp_next_post(h, &record)) {
        if (same_record(&record, &last))
            continue; /* SCAN tells of some twice */
        if (record.post != post->id) {
            end_post(&j);
            begin_post(&j, record.post);
        }
        last = record;
        take(&j, &record);
    }
    if (source_goes_on(h->source))
        end_post(&j);
    if (post->title.failed || post->body.failed || post->images.failed || post->info_title.failed)
        source_failed_with(h->source, "posts", TIDINGS_NO_MEMORY);
    buf_release(&post->title);
    buf_release(&post->body);
    buf_release(&post->images);
    buf_release(&post->info_title);
    free(post->comment_ids);
}
