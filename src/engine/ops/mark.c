/* SPDX-License-Identifier: MIT */
/*
 * Reading: open, mark read, mark unread. A post's being read is one bit, whether it was delivered
 * or not; the counts follow. Everything is checked before the first change, so that a list with one
 * wrong id marks nothing.
 */
#include "engine/local/rows/journal.h"
#include "engine/ops/ops.h"
#include "engine/inbox/tie.h"

enum { RESULT_MARKED };               /* call->result of the marks ... */
enum { RESULT_POST = RESULT_MARKED }; /* ... and of a refused open */

/* One post to be marked. */
struct target {
    uint64_t post_id;
    uint32_t seq;
    bool deleted;
    struct tie *tie;
};

static bool in_history(const struct readmap *map, unsigned i, uint64_t cleared)
{
    return readmap_has(map->history, i) && readmap_history_stamp(map, i) > cleared;
}

static void read_event(struct view *view, const struct target *target, bool read)
{
    if (view->settings->read_events)
        view_event(view, read ? TIDINGS_EVENT_POST_READ : TIDINGS_EVENT_POST_UNREAD,
                   target->tie->fan, target->post_id, target->tie->author, read ? +1 : -1);
}

/* ---- One post ------------------------------------------------------------------------------- */

/* Whether it was unread; then *entry has to enter the history. */
static bool mark_read(struct view *view, const struct target *target, struct history_entry *entry)
{
    struct readmap map;
    unsigned i = target->seq % READMAP_POSTS;
    tie_readmap(view, target->tie, target->seq, &map);
    if (target->deleted || readmap_has(map.read, i))
        return false;
    uint64_t before = map.read;
    readmap_mark(&map, i, view->stamp, true);
    tie_put_readmap(view, target->tie, target->seq, &map, before);
    *entry = (struct history_entry){view->stamp, target->post_id};
    read_event(view, target, true);
    return true;
}

/* Whether it was read; then *entry has to leave the history, or its stamp is 0. */
static bool mark_unread(struct view *view, const struct target *target, struct history_entry *entry)
{
    struct readmap map;
    unsigned i = target->seq % READMAP_POSTS;
    tie_readmap(view, target->tie, target->seq, &map);
    if (target->deleted || !readmap_has(map.read, i))
        return false;
    uint64_t before = map.read;
    *entry = (struct history_entry){
        readmap_has(map.history, i) ? readmap_history_stamp(&map, i) : 0, target->post_id};
    readmap_unmark(&map, i);
    tie_put_readmap(view, target->tie, target->seq, &map, before);
    read_event(view, target, false);
    return true;
}

/* Read, but not in the history: marked in bulk, or removed from there. */
static void enter_history(struct view *view, const struct target *target)
{
    struct readmap map;
    tie_readmap(view, target->tie, target->seq, &map);
    readmap_enter_history(&map, target->seq % READMAP_POSTS, view->stamp);
    tie_put_readmap(view, target->tie, target->seq, &map, map.read);
}

/* ---- Open ----------------------------------------------------------------------------------- */

/* Whether the post is read and stands in the history. */
static bool is_settled(struct view *view, const struct tie *tie, uint32_t seq)
{
    struct readmap map;
    tie_readmap(view, tie, seq, &map);
    uint64_t cleared = map.history ? view_user(view, tie->fan).history_cleared : 0;
    return in_history(&map, seq % READMAP_POSTS, cleared);
}

bool open_is_settled(struct view *view, uint64_t viewer, uint64_t post_id)
{
    struct post_record post;
    struct tie tie;
    if (!view_post(view, post_id, &post) || post.deleted)
        return true;
    tie_load(view, viewer, post.author, &tie);
    return is_settled(view, &tie, post.seq);
}

enum tidings_err apply_open(struct view *view, struct tidings_call *call)
{
    uint64_t post_id = call->op->u.post.post_id;
    struct post_record post;
    struct tie tie;

    call->result[RESULT_POST] = post_id;
    if (!view_post(view, post_id, &post))
        return TIDINGS_NOT_FOUND;
    if (post.deleted)
        return TIDINGS_DELETED;
    tie_load(view, call->op->user_id, post.author, &tie);
    struct target target = {.post_id = post_id, .seq = post.seq, .tie = &tie};
    if (is_settled(view, &tie, post.seq))
        return TIDINGS_OK;
    tie_settle(view, &tie);
    struct history_entry entry = {view->stamp, post_id};
    if (mark_read(view, &target, &entry))
        tie_save(view, &tie);
    else
        enter_history(view, &target);
    journal_add(view, tie.fan, &entry, 1);
    return TIDINGS_OK;
}

/* ---- By ids --------------------------------------------------------------------------------- */

/* Looks everything up; NOT_FOUND if one of the posts is not in the viewer's inbox. */
static enum tidings_err find_targets(struct view *view, const struct tidings_op *op,
                                     struct target *targets, struct tie **ties, size_t *n_ties)
{
    for (size_t i = 0; i < op->u.mark.n_post_ids; i++) {
        struct post_record post;
        uint64_t id = op->u.mark.post_ids[i];
        if (!view_post(view, id, &post))
            return TIDINGS_NOT_FOUND;
        struct tie *tie = tie_among(view, &realm_posts, op->user_id, post.author, ties, n_ties);
        if (!tie || !tie_has(tie, post.seq))
            return TIDINGS_NOT_FOUND;
        targets[i] = (struct target){id, post.seq, post.deleted, tie};
    }
    return TIDINGS_OK;
}

/* What one of the two does with a post, and with the entries of all that it changed. */
struct marking {
    bool (*mark)(struct view *view, const struct target *target, struct history_entry *entry);
    void (*write)(struct view *view, uint64_t reader, struct history_entry *entries, size_t n);
};

static const struct marking marking_read = {mark_read, journal_add};
static const struct marking marking_unread = {mark_unread, journal_remove};

static enum tidings_err mark_ids(struct view *view, struct tidings_call *call,
                                 const struct marking *marking)
{
    size_t n = call->op->u.mark.n_post_ids, n_ties = 0, n_entries = 0;
    struct target *targets = view_array(view, view->scratch, n, sizeof *targets);
    struct tie **ties = view_array(view, view->scratch, n, sizeof *ties);
    struct history_entry *entries = view_array(view, view->scratch, n, sizeof *entries);
    uint64_t marked = 0;
    if (view_failed(view))
        return TIDINGS_OK;
    enum tidings_err err = find_targets(view, call->op, targets, ties, &n_ties);
    if (err)
        return err;
    for (size_t i = 0; i < n; i++)
        if (marking->mark(view, &targets[i], &entries[n_entries])) {
            marked++;
            n_entries += entries[n_entries].stamp != 0;
        }
    for (size_t i = 0; marked && i < n_ties; i++)
        tie_save(view, ties[i]);
    if (n_entries)
        marking->write(view, call->op->user_id, entries, n_entries);
    call->result[RESULT_MARKED] = marked;
    return TIDINGS_OK;
}

/* ---- In bulk -------------------------------------------------------------------------------- */

static uint64_t mark_author(struct view *view, uint64_t fan, uint64_t author, uint64_t up_to)
{
    struct tie tie;
    tie_load(view, fan, author, &tie);
    tie_settle(view, &tie);
    return tie_mark_below(view, &tie, head_posts_below(tie.head, up_to + 1));
}

static uint64_t mark_everything(struct view *view, uint64_t fan, uint64_t up_to)
{
    struct tie *ties;
    size_t n = tie_list(view, fan, &ties);
    uint64_t marked = 0;
    /* All of them settle before the first change: it moves the memory that they were read from. */
    for (size_t i = 0; i < n; i++)
        tie_settle(view, &ties[i]);
    for (size_t i = 0; i < n; i++)
        if (tie_unread(view, &ties[i]))
            marked += tie_mark_below(view, &ties[i], head_posts_below(ties[i].head, up_to + 1));
    return marked;
}

static enum tidings_err mark_up_to(struct view *view, struct tidings_call *call)
{
    uint64_t fan = call->op->user_id, author = call->op->u.mark.author_id;
    uint64_t up_to = call->op->u.mark.up_to.part[0];
    /* Tokens come from answers, and none of those knows of anything newer than this. */
    if (up_to > view->before) {
        call->field = "up_to";
        return TIDINGS_INVALID;
    }
    uint64_t marked =
        author ? mark_author(view, fan, author, up_to) : mark_everything(view, fan, up_to);
    if (marked && view->settings->read_events)
        view_event(view, TIDINGS_EVENT_INBOX_READ, fan, author ? author : fan, 0, (int64_t)marked);
    call->result[RESULT_MARKED] = marked;
    return TIDINGS_OK;
}

enum tidings_err apply_mark_read(struct view *view, struct tidings_call *call)
{
    return call->op->u.mark.n_post_ids ? mark_ids(view, call, &marking_read)
                                       : mark_up_to(view, call);
}

enum tidings_err apply_mark_unread(struct view *view, struct tidings_call *call)
{
    return mark_ids(view, call, &marking_unread);
}

/* ---- Answering ------------------------------------------------------------------------------ */

enum tidings_err answer_mark(struct view *view, struct reply *reply)
{
    reply->answer->u.mark.marked = reply->call->result[RESULT_MARKED];
    reply->answer->u.mark.total = inbox_badge(view, reply->op->user_id);
    return TIDINGS_OK;
}

enum tidings_err answer_open(struct view *view, struct reply *reply)
{
    struct tidings_post *post = &reply->answer->u.open.post;
    struct tie tie;
    enum tidings_err err = view_whole_post(view, reply, reply->op->u.post.post_id, post);
    if (err)
        return err;
    tie_load(view, reply->op->user_id, post->author_id, &tie);
    reply->answer->u.open.unread_author = tie_unread(view, &tie);
    reply->answer->u.open.unread_total = inbox_badge(view, reply->op->user_id);
    return TIDINGS_OK;
}
