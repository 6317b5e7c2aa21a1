/* SPDX-License-Identifier: MIT */
/*
 * What there is between an author and each fan: follows, what was delivered, read and unread, and what counts say of it.
 *
 * Delivered is what the inbox has, and what was published while the follow of tb_follow stands. A row of tb_follow goes when
 * somebody unfollows, and its posts stay in the inbox: each of them is delivered by a follow that begins a millisecond before it and ends with
 * it. Facts of one time are taken in the order of lines, and posts come before follows: so that follow has this post in it, but none of
 * a millisecond before, and the follow of the row is not ended by it.
 */
#include <stdlib.h>

#include "legacy/hmdp.h"

struct authored {
    uint64_t at, post, flags;
};

/* One fan of the author. */
struct fan {
    uint64_t user;
    uint64_t follow_at;    /* 0: does not follow */
    uint64_t n_follows;    /* rows of it */
    bool cached;           /* in follows */
    int64_t says, counts;  /* author_unread, and user:unread:count */
    int64_t members;       /* of user:unread */
    uint64_t last_member;  /* which is not counted twice */
    int64_t unread;        /* by feed and blog:read */
    struct authored item;  /* under way; post 0: none */
    uint64_t read_at;      /* of it */
    size_t next;           /* of the author's posts, to be looked at ... */
    bool placed;           /* ... and that is known */
    uint64_t last_kept_at; /* of a post that is delivered by a follow of its own */
};

struct pairing {
    struct hmdp *h;
    uint64_t author;
    struct authored *posts; /* of the author, by time */
    size_t n_posts, room;
    bool judged; /* the posts are all there, and were looked at */
    struct fan fan;
};

static struct drift_example example_of(const struct pairing *p, uint64_t post)
{
    return (struct drift_example){.user_id = p->fan.user, .author_id = p->author, .post = post};
}

/* ---- The author's posts --------------------------------------------------------------------- */

static void keep_post(struct pairing *p, const struct of_author_record *record)
{
    if (p->n_posts == p->room) {
        size_t room = p->room ? p->room * 2 : 64;
        struct authored *grown = realloc(p->posts, room * sizeof *grown);
        if (!grown) {
            source_failed_with(p->h->source, "posts", TIDINGS_NO_MEMORY);
            return;
        }
        p->posts = grown;
        p->room = room;
    }
    p->posts[p->n_posts++] = (struct authored){record->at, record->post, record->flags};
}

/* author:blogs is made when somebody asks, of all posts: it is there as a whole, or not at all. */
static void judge_posts(struct pairing *p)
{
    bool listed = false;
    for (size_t i = 0; i < p->n_posts; i++)
        listed |= p->posts[i].flags & IS_LISTED;
    for (size_t i = 0; i < p->n_posts && listed; i++)
        if ((p->posts[i].flags & (IS_LISTED | IS_ROW | IS_DELETED)) == IS_ROW)
            source_found(p->h->source, DRIFT_author_blogs_missing, example_of(p, p->posts[i].post));
    p->judged = true;
}

/* ---- Facts ---------------------------------------------------------------------------------- */

static void write_pair(struct pairing *p, enum fact_type type, uint64_t at)
{
    struct fact fact = {.type = type};
    FACT_SET(&fact, user_id, p->fan.user);
    FACT_SET(&fact, author_id, p->author);
    FACT_SET(&fact, at, at);
    source_write(p->h->source, &fact);
}

/* Without a time it is read as of its publication, and not in the history. */
static void write_read(struct pairing *p, const struct authored *item)
{
    struct fact fact = {.type = FACT_READ};
    char key[POST_KEY_MAX];
    FACT_SET(&fact, user_id, p->fan.user);
    FACT_SET(&fact, post_key, hmdp_key("blog", item->post, key));
    FACT_SET(&fact, at, item->flags & IS_TIMED ? p->fan.read_at : item->at);
    if (!(item->flags & IS_TIMED))
        FACT_SET(&fact, history, false);
    source_write(p->h->source, &fact);
}

/* ---- A post and a fan ----------------------------------------------------------------------- */

/* By the row of tb_follow. In the same moment, which is a second in most tables, nobody knows; then the inbox says it. */
static bool is_followed(const struct fan *fan, uint64_t at)
{
    return fan->follow_at && at > fan->follow_at;
}

/* In the inbox, and not by that row. */
static void keep_delivered(struct pairing *p, const struct authored *item)
{
    struct fan *fan = &p->fan;
    if (fan->user == p->author) {
        source_found(p->h->source, DRIFT_inbox_own, example_of(p, item->post));
        return;
    }
    if (!fan->follow_at)
        source_found(p->h->source, DRIFT_inbox_unfollowed, example_of(p, item->post));
    else if (item->at < fan->follow_at)
        source_found(p->h->source, DRIFT_inbox_before_follow, example_of(p, item->post));
    if (fan->last_kept_at == item->at)
        return;
    fan->last_kept_at = item->at;
    write_pair(p, FACT_FOLLOW, item->at - 1);
    write_pair(p, FACT_UNFOLLOW, item->at);
}

/* The second scheme: sets of unread posts. */
static void compare_unread(struct pairing *p, const struct authored *item, bool delivered)
{
    struct source *source = p->h->source;
    bool unread = item->flags & IS_UNREAD, read = item->flags & IS_READ;
    if (unread && read)
        source_found(source, DRIFT_unread_read, example_of(p, item->post));
    else if (unread && !delivered)
        source_found(source, DRIFT_unread_undelivered, example_of(p, item->post));
    if (source->seen[LEGACY_USER_UNREAD] && delivered && !read && !unread &&
        !(item->flags & IS_DELETED))
        source_found(source, DRIFT_unread_missing, example_of(p, item->post));
}

/* A post of the author, with all that the fan has of it. */
static void look_at(struct pairing *p, const struct authored *item)
{
    struct fan *fan = &p->fan;
    struct source *source = p->h->source;
    uint64_t flags = item->flags;
    bool followed = is_followed(fan, item->at), in_inbox = flags & IS_DELIVERED;
    if (followed && source->seen[LEGACY_FEED] && !(flags & (IS_DELIVERED | IS_READ | IS_DELETED)))
        source_found(source, DRIFT_inbox_missing, example_of(p, item->post));
    if (in_inbox && !followed)
        keep_delivered(p, item);
    fan->unread += in_inbox && fan->user != p->author && !(flags & (IS_READ_FIRST | IS_DELETED));
    if (flags & IS_READ)
        write_read(p, item);
    compare_unread(p, item, followed || (in_inbox && fan->user != p->author));
}

static bool is_before(const struct authored *a, const struct authored *b)
{
    return a->at != b->at ? a->at < b->at : a->post < b->post;
}

/* The first post that the follow has in it; who does not follow has none. */
static void find_place(struct pairing *p)
{
    struct fan *fan = &p->fan;
    size_t low = 0, high = fan->follow_at ? p->n_posts : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_followed(fan, p->posts[middle].at))
            high = middle;
        else
            low = middle + 1;
    }
    fan->next = fan->follow_at ? low : p->n_posts;
    fan->placed = true;
}

/* Posts up to that one that the fan should have, and has nothing of; NULL: all that are left. */
static void pass_posts(struct pairing *p, const struct authored *until)
{
    struct fan *fan = &p->fan;
    if (!fan->placed)
        find_place(p);
    for (; fan->next < p->n_posts; fan->next++) {
        const struct authored *post = &p->posts[fan->next];
        if (until && !is_before(post, until))
            break;
        /* What is known of the post itself says nothing of the fan. */
        look_at(p, &(struct authored){post->at, post->post, post->flags & IS_DELETED});
    }
}

static void end_item(struct pairing *p)
{
    struct fan *fan = &p->fan;
    if (!fan->item.post)
        return;
    pass_posts(p, &fan->item);
    look_at(p, &fan->item);
    if (fan->next < p->n_posts && p->posts[fan->next].post == fan->item.post)
        fan->next++;
    fan->item = (struct authored){0};
}

/* ---- A fan ---------------------------------------------------------------------------------- */

static void compare_number(struct pairing *p, enum drift_kind kind, int64_t says, int64_t is)
{
    struct drift_example example = example_of(p, 0);
    example.counted = true;
    example.says = says;
    example.is = is;
    if (says != is)
        source_found(p->h->source, kind, example);
}

/* Counts that are not there are 0, unless nobody counts at all. */
static void compare_counts(struct pairing *p)
{
    struct fan *fan = &p->fan;
    struct source *source = p->h->source;
    if (source->seen[LEGACY_AUTHOR_UNREAD])
        compare_number(p, DRIFT_author_unread, fan->says, fan->unread);
    if (source->seen[LEGACY_UNREAD_COUNT] || source->seen[LEGACY_USER_UNREAD])
        compare_number(p, DRIFT_unread_count, fan->counts, fan->members);
    if (fan->unread)
        hmdp_add_user(p->h, &(struct of_user_record){.user = fan->user, .number = fan->unread});
}

static void compare_follows(struct pairing *p)
{
    struct fan *fan = &p->fan;
    struct source *source = p->h->source;
    for (uint64_t i = 1; i < fan->n_follows; i++)
        source_found(source, DRIFT_follow_repeated, example_of(p, 0));
    if (fan->follow_at && !fan->cached && source->seen[LEGACY_FOLLOWS])
        source_found(source, DRIFT_follows_missing, example_of(p, 0));
    if (!fan->follow_at && fan->cached)
        source_found(source, DRIFT_follows_stale, example_of(p, 0));
}

static void end_fan(struct pairing *p)
{
    struct fan *fan = &p->fan;
    if (!fan->user)
        return;
    end_item(p);
    pass_posts(p, NULL);
    compare_follows(p);
    compare_counts(p);
    if (fan->follow_at)
        write_pair(p, FACT_FOLLOW, fan->follow_at);
    *fan = (struct fan){0};
}

/* ---- One after the other -------------------------------------------------------------------- */

static void take_item(struct pairing *p, const struct of_author_record *record)
{
    struct fan *fan = &p->fan;
    if (fan->item.post != record->post)
        end_item(p);
    fan->item.at = record->at;
    fan->item.post = record->post;
    fan->item.flags |= record->flags;
    if (record->flags & IS_TIMED)
        fan->read_at = (uint64_t)record->number;
}

static void take_of_fan(struct pairing *p, const struct of_author_record *record)
{
    struct fan *fan = &p->fan;
    switch (record->kind) {
    case FAN_FOLLOW:
        fan->n_follows++;
        if (!fan->follow_at)
            fan->follow_at = record->at;
        break;
    case FAN_CACHED:
        fan->cached = true;
        break;
    case FAN_SAID:
        fan->says = record->number;
        break;
    case FAN_COUNTED:
        fan->counts = record->number;
        break;
    case FAN_MEMBER:
        fan->members += fan->last_member != record->post;
        fan->last_member = record->post;
        break;
    case FAN_ITEM:
        take_item(p, record);
        break;
    case AUTHOR_POST:
        break;
    }
}

static void take(struct pairing *p, const struct of_author_record *record)
{
    if (record->author != p->author) {
        end_fan(p);
        if (!p->judged)
            judge_posts(p);
        p->author = record->author;
        p->n_posts = 0;
        p->judged = false;
    }
    if (record->kind == AUTHOR_POST) {
        keep_post(p, record);
        return;
    }
    if (!p->judged)
        judge_posts(p);
    if (record->user != p->fan.user) {
        end_fan(p);
        p->fan.user = record->user;
    }
    take_of_fan(p, record);
}

void hmdp_join_pairs(struct hmdp *h)
{
    struct pairing p = {.h = h};
    struct of_author_record record;
    while (hmdp_next_author(h, &record))
        take(&p, &record);
    if (source_goes_on(h->source)) {
        end_fan(&p);
        if (!p.judged)
            judge_posts(&p);
    }
    free(p.posts);
}

/* ---- A user's authors together -------------------------------------------------------------- */

static void compare_total(struct hmdp *h, uint64_t user, int64_t says, int64_t is)
{
    struct drift_example example = {.user_id = user, .counted = true, .says = says, .is = is};
    if (user && says != is && h->source->seen[LEGACY_TOTAL_UNREAD])
        source_found(h->source, DRIFT_total_unread, example);
}

void hmdp_join_users(struct hmdp *h)
{
    struct of_user_record record;
    uint64_t user = 0;
    int64_t says = 0, is = 0;
    while (hmdp_next_user(h, &record)) {
        if (record.user != user) {
            compare_total(h, user, says, is);
            user = record.user;
            says = is = 0;
        }
        if (record.said)
            says = record.number;
        else
            is += record.number;
    }
    if (source_goes_on(h->source))
        compare_total(h, user, says, is);
}
