/* SPDX-License-Identifier: MIT */
/*
 * Verify, the part about comments, counts and hot lists. It goes through the rows three times:
 *
 *   1. every row of TABLE_TARGET for itself: does what it is about exist, and does that agree?
 *   2. the comments, newest first. A reply is newer than what it answers, so when a comment's counts
 *      are made from its replies these are known as they will be. Each is compared with its record,
 *      its place in the lists, and the lists under it.
 *   3. the posts, from reactions and comments as they will be; then the hot lists back again.
 *
 * "Will be" is the stored rows and what tallies say about those that will be mended.
 */
#include <inttypes.h>

#include "domain/heat.h"
#include "domain/ids.h"
#include "engine/local/verify/verify.h"
#include "engine/ops/target.h"

/* ---- Rows for themselves -------------------------------------------------------------------- */

static bool is_reply(struct view *view, uint64_t parent, uint64_t id, struct comment_record *reply)
{
    return id > parent && view_comment(view, id, reply) && comment_parent(reply) == parent;
}

static void check_place(struct check *check, uint64_t parent, struct bytes key)
{
    bool by_heat = key.p[ID_BYTES] == ROW_HOT;
    struct comment_record reply;
    struct key row = {.n = (uint8_t)key.n};
    if (key.n != (by_heat ? 3 : 2) * ID_BYTES + 1) {
        verify_differ(check, "%" PRIu64 ": a key of %zu bytes", parent, key.n);
        return;
    }
    uint64_t id =
        by_heat ? get_id_descending(key.p + 2 * ID_BYTES + 1) : get_id(key.p + ID_BYTES + 1);
    if (is_reply(check->view, parent, id, &reply) || view_failed(check->view))
        return;
    memcpy(row.bytes, key.p, key.n);
    verify_differ(check, "%" PRIu64 " lists %" PRIu64 ", which is no comment on it", parent, id);
    verify_mend_delete(check, TABLE_TARGET, &row);
}

static void check_body(struct check *check, uint64_t id)
{
    struct comment_record comment;
    struct key row = key_row(id, ROW_BODY);
    bool alive =
        view_comment(check->view, id, &comment) && comment.status != TIDINGS_COMMENT_DELETED;
    if (alive || view_failed(check->view))
        return;
    verify_differ(check, "a body without its comment %" PRIu64, id);
    verify_mend_delete(check, TABLE_TARGET, &row);
}

static void check_counts(struct check *check, uint64_t id, struct bytes value)
{
    struct post_record post;
    struct counts_record counts;
    struct key row = key_row(id, ROW_COUNTS);
    bool found = view_post(check->view, id, &post);
    if (view_failed(check->view))
        return;
    if (!counts_decode(value, &counts)) {
        verify_differ(check, "counts of %" PRIu64 " cannot be decoded", id);
    } else if (!found || !(counts.likes || counts.favs || counts.comments)) {
        verify_differ(check, "counts of nothing, for %" PRIu64, id);
        verify_mend_delete(check, TABLE_TARGET, &row);
    }
}

void verify_target_row(struct check *check, struct bytes key, struct bytes value)
{
    if (key.n < ID_BYTES + 1) {
        verify_differ(check, "a key of %zu bytes", key.n);
        return;
    }
    uint64_t id = get_id(key.p);
    uint8_t row = key.p[ID_BYTES];
    bool alone = row == ROW_BODY || row == ROW_COMMENT || row == ROW_COUNTS;
    if (alone && key.n != ID_BYTES + 1) {
        verify_differ(check, "%" PRIu64 ": a key of %zu bytes", id, key.n);
        return;
    }
    switch (row) {
    case ROW_BODY:
        check_body(check, id);
        break;
    case ROW_COMMENT: /* when its turn comes */
        break;
    case ROW_COUNTS:
        check_counts(check, id, value);
        break;
    case ROW_REACTOR:
        verify_reactor(check, id, key, value);
        break;
    case ROW_HOT:
    case ROW_REPLY:
        check_place(check, id, key);
        break;
    default:
        verify_differ(check, "%" PRIu64 ": a row of unknown kind %u", id, row);
    }
}

/* ---- Lists of comments ---------------------------------------------------------------------- */

static bool has_row(struct check *check, enum table table, const struct key *key)
{
    struct bytes value;
    return kv_get(txn_of(check->view), table, key, &value);
}

static void want_mark(struct check *check, enum table table, const struct key *key,
                      const char *what, uint64_t id)
{
    if (has_row(check, table, key) || view_failed(check->view))
        return;
    verify_differ(check, "%" PRIu64 " is missing from %s", id, what);
    verify_mend(check, table, key, (struct bytes){(const uint8_t *)"", 0});
}

/* The next comment listed under the parent behind `after`; 0 at the end. */
static uint64_t next_reply(struct view *view, uint64_t parent, uint64_t after,
                           struct comment_record *reply)
{
    struct key prefix = key_row(parent, ROW_REPLY);
    struct bytes key, value;
    for (uint64_t id = after;;) {
        struct key from = key_reply(parent, id + 1);
        if (!kv_seek(txn_of(view), TABLE_TARGET, &from, &key, &value) ||
            !key_has_prefix(key, &prefix) || key.n != (size_t)prefix.n + ID_BYTES)
            return 0;
        id = get_id(key.p + prefix.n);
        if (is_reply(view, parent, id, reply))
            return id;
        if (view_failed(view) || id >= ID_MASK)
            return 0;
    }
}

/* Direct replies, as they will be. */
static void count_replies(struct check *check, uint64_t id, struct comment_record *comment)
{
    struct comment_record reply;
    comment->listed = (uint64_t)verify_tally_of(check, TALLY_LISTED, id);
    comment->replies = (uint64_t)verify_tally_of(check, TALLY_VISIBLE, id);
    for (uint64_t at = 0; (at = next_reply(check->view, id, at, &reply));) {
        comment->listed++;
        comment->replies += comment_is_visible(&reply);
    }
}

/* Visible comments at every depth under a post or comment, as stored, as far as the lists lead.
 * Goes down and up again by what the records say, and needs no memory. */
static uint64_t count_visible(struct view *view, uint64_t root)
{
    struct comment_record comment;
    uint64_t parent = root, after = 0, n = 0;
    while (!view_failed(view)) {
        uint64_t id = next_reply(view, parent, after, &comment);
        if (id) {
            n += comment_is_visible(&comment);
            parent = id;
            after = 0;
        } else if (parent == root) {
            break;
        } else if (view_comment(view, parent, &comment)) {
            after = parent;
            parent = comment_parent(&comment);
        } else {
            view_corrupt(view);
        }
    }
    return n;
}

/* What orders the comment once all is mended; 0 if it will not be listed. */
static uint64_t heat_of(struct check *check, uint64_t id, const struct comment_record *comment)
{
    int64_t will_be = verify_tally_of(check, TALLY_HEAT, id);
    if (will_be)
        return will_be > 0 ? (uint64_t)will_be : 0;
    if (!comment_is_listed(comment))
        return 0;
    return heat_comment_key(comment_counts(check->view, comment).hot_score);
}

/* The list by heat under a post or comment: rows where no comment is any more, or should be. */
static void check_hot_rows(struct check *check, uint64_t parent)
{
    struct view *view = check->view;
    struct key prefix = key_row(parent, ROW_HOT);
    struct comment_record reply;
    struct bytes key, value;
    bool found = kv_seek(txn_of(view), TABLE_TARGET, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(txn_of(view), TABLE_TARGET, &key, &value)) {
        if (key.n != (size_t)prefix.n + 2 * ID_BYTES)
            continue; /* reported already */
        uint64_t heat = get_id_descending(key.p + prefix.n);
        uint64_t id = get_id_descending(key.p + prefix.n + ID_BYTES);
        if (!is_reply(view, parent, id, &reply) || heat_of(check, id, &reply) == heat)
            continue;
        struct key row = key_hot_reply(parent, heat, id);
        verify_differ(check, "%" PRIu64 " is in the wrong place by heat", id);
        verify_mend_delete(check, TABLE_TARGET, &row);
    }
}

/* ---- Comments ------------------------------------------------------------------------------- */

static bool same_comment(const struct comment_record *a, const struct comment_record *b)
{
    return a->status == b->status && a->likes == b->likes && a->downs == b->downs &&
           a->replies == b->replies && a->listed == b->listed;
}

/* Whether it hangs where it says. */
static bool is_placed(struct check *check, uint64_t id, const struct comment_record *comment)
{
    struct comment_record parent;
    struct post_record post;
    struct view *view = check->view;
    bool placed = id <= local_of(view)->last_id && comment->post < id && comment->parent < id &&
                  view_post(view, comment->post, &post) &&
                  (!comment->parent ||
                   (view_comment(view, comment->parent, &parent) && parent.post == comment->post));
    if (!placed && !view_failed(view))
        verify_differ(check, "comment %" PRIu64 " is not on what it says", id);
    return placed;
}

/* A comment as it is stored and as it will be, and its rows in its parent's lists. */
struct compared {
    uint64_t id, parent;
    const struct comment_record *stored, *now;
    struct key reply, hot;
    bool is_listed, was_listed; /* by time, as it will be and as it is stored */
};

static void compare_own_rows(struct check *check, const struct compared *c)
{
    struct key row = key_row(c->id, ROW_COMMENT), body = key_row(c->id, ROW_BODY);
    if (!same_comment(c->stored, c->now)) {
        uint8_t bytes[COMMENT_RECORD_MAX];
        verify_differ(check, "comment %" PRIu64 ": counts or state do not fit", c->id);
        verify_mend(check, TABLE_TARGET, &row,
                    (struct bytes){bytes, comment_encode(c->now, bytes)});
    }
    if (c->now->status != TIDINGS_COMMENT_DELETED && !has_row(check, TABLE_TARGET, &body))
        verify_differ(check, "comment %" PRIu64 " has lost its body", c->id);
}

static void compare_places(struct check *check, const struct compared *c)
{
    if (c->is_listed) {
        want_mark(check, TABLE_TARGET, &c->reply, "the list of comments by time", c->id);
        want_mark(check, TABLE_TARGET, &c->hot, "the list of comments by heat", c->id);
    } else if (c->was_listed) {
        verify_differ(check, "comment %" PRIu64 " is listed, though nothing is left of it", c->id);
        verify_mend_delete(check, TABLE_TARGET, &c->reply);
    }
}

/* What a difference means for those above. */
static void tally_comment(struct check *check, const struct compared *c)
{
    int is_visible = comment_is_visible(c->now), was_visible = comment_is_visible(c->stored);
    int64_t lost = 0; /* visible ones that cannot be reached from the post */
    if (c->is_listed && !c->was_listed)
        lost = was_visible + (int64_t)count_visible(check->view, c->id);
    if (view_failed(check->view))
        return;
    verify_tally_add(check, TALLY_LISTED, c->parent, c->is_listed - c->was_listed);
    verify_tally_add(check, TALLY_VISIBLE, c->parent,
                     c->was_listed ? is_visible - was_visible : is_visible);
    verify_tally_add(check, TALLY_COMMENTS, c->now->post, is_visible - was_visible + lost);
    if (!same_comment(c->stored, c->now))
        verify_tally_add(check, TALLY_HEAT, c->id,
                         c->is_listed ? (int64_t)get_id_descending(c->hot.bytes + ID_BYTES + 1)
                                      : -1);
}

static void compare_comment(struct check *check, uint64_t id, const struct comment_record *stored,
                            const struct comment_record *now)
{
    uint64_t parent = comment_parent(now);
    struct compared compared = {.id = id,
                                .parent = parent,
                                .stored = stored,
                                .now = now,
                                .reply = key_reply(parent, id),
                                .hot = comment_hot_key(check->view, id, now),
                                .is_listed = comment_is_listed(now)};
    compared.was_listed = has_row(check, TABLE_TARGET, &compared.reply);
    compare_own_rows(check, &compared);
    compare_places(check, &compared);
    tally_comment(check, &compared);
}

static void check_comment(struct check *check, uint64_t id)
{
    struct comment_record stored;
    if (!view_comment(check->view, id, &stored) || !is_placed(check, id, &stored))
        return;
    struct comment_record now = stored;
    now.likes = verify_count_reactors(check, id, TIDINGS_LIKE);
    now.downs = verify_count_reactors(check, id, TIDINGS_DOWNVOTE);
    count_replies(check, id, &now);
    now.status = comment_folded(check->view, &now);
    if (view_failed(check->view))
        return;
    check_hot_rows(check, id);
    compare_comment(check, id, &stored, &now);
}

/* Newest first. */
static void check_comments(struct check *check)
{
    struct key at = key_id(ID_MASK), row;
    struct bytes key, value;
    while (!view_failed(check->view) &&
           kv_seek_below(txn_of(check->view), TABLE_TARGET, &at, &key, &value) &&
           key.n >= ID_BYTES) {
        uint64_t id = get_id(key.p);
        row = key_row(id, ROW_COMMENT);
        if (has_row(check, TABLE_TARGET, &row))
            check_comment(check, id);
        verify_step(check);
        at = key_id(id);
    }
}

/* ---- Posts ---------------------------------------------------------------------------------- */

static bool compare_counts(struct check *check, uint64_t id, const struct counts_record *stored,
                           const struct counts_record *now)
{
    struct key row = key_row(id, ROW_COUNTS);
    uint8_t bytes[COUNTS_RECORD_MAX];
    if (stored->likes == now->likes && stored->favs == now->favs &&
        stored->comments == now->comments)
        return true;
    verify_differ(check,
                  "post %" PRIu64 ": counts are %" PRIu64 " %" PRIu64 " %" PRIu64
                  ", counted %" PRIu64 " %" PRIu64 " %" PRIu64,
                  id, stored->likes, stored->favs, stored->comments, now->likes, now->favs,
                  now->comments);
    if (now->likes || now->favs || now->comments)
        verify_mend(check, TABLE_TARGET, &row, (struct bytes){bytes, counts_encode(now, bytes)});
    else
        verify_mend_delete(check, TABLE_TARGET, &row);
    return false;
}

static void check_post(struct check *check, struct bytes key, struct bytes value)
{
    struct view *view = check->view;
    struct post_record post;
    if (key.n != ID_BYTES || !post_decode(value, &post))
        return; /* reported already */
    uint64_t id = get_id(key.p);
    struct counts_record stored = local_get_counts(view, id);
    struct counts_record now = {
        .likes = verify_count_reactors(check, id, TIDINGS_LIKE),
        .favs = verify_count_reactors(check, id, TIDINGS_FAV),
        .comments = count_visible(view, id) + (uint64_t)verify_tally_of(check, TALLY_COMMENTS, id),
    };
    struct key hot = post_hot_key(view, id, &post, &now);
    if (view_failed(view))
        return;
    check_hot_rows(check, id);
    if (!post.deleted)
        want_mark(check, TABLE_HOT, &hot, "the hot list", id);
    bool same = compare_counts(check, id, &stored, &now);
    if (view_failed(view) || same)
        return;
    verify_tally_add(check, TALLY_HEAT, id, (int64_t)get_id_descending(hot.bytes + 1));
    if (post.deleted)
        return;
    verify_tally_add(check, TALLY_LIKES_RECEIVED, post.author, (int64_t)(now.likes - stored.likes));
    verify_tally_add(check, TALLY_FAVS_RECEIVED, post.author, (int64_t)(now.favs - stored.favs));
}

static void check_hot(struct check *check, struct bytes key, struct bytes value)
{
    struct view *view = check->view;
    struct post_record post;
    (void)value;
    if (key.n != 1 + 2 * ID_BYTES) {
        verify_differ(check, "a key of %zu bytes", key.n);
        return;
    }
    uint64_t heat = get_id_descending(key.p + 1), id = get_id_descending(key.p + 1 + ID_BYTES);
    uint64_t will_be = (uint64_t)verify_tally_of(check, TALLY_HEAT, id);
    bool found = view_post(view, id, &post) && !post.deleted && post.kind == key.p[0];
    if (found && !will_be) {
        struct counts_record counts = local_get_counts(view, id);
        struct key hot = post_hot_key(view, id, &post, &counts);
        will_be = get_id_descending(hot.bytes + 1);
    }
    if (view_failed(view) || (found && heat == will_be))
        return;
    struct key row = {.n = (uint8_t)key.n};
    memcpy(row.bytes, key.p, key.n);
    verify_differ(check, "%" PRIu64 " is in the wrong place of a hot list", id);
    verify_mend_delete(check, TABLE_HOT, &row);
}

void verify_interactions(struct check *check)
{
    verify_part(check, "comments", TABLE_TARGET);
    verify_tally_reactors(check);
    check_comments(check);
    verify_part(check, "counts", TABLE_POST);
    verify_each_row(check, TABLE_POST, check_post);
    verify_part(check, "hot lists", TABLE_HOT);
    verify_each_row(check, TABLE_HOT, check_hot);
}
