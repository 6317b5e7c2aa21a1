/* SPDX-License-Identifier: MIT */
#include "legacy/ask.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 1000, POSTS_PAGE = 100, KNOWN_BITS = 16 };

/* The first page of an inbox, counts and history of each user: asked together. */
enum { INBOX, COUNTS, HISTORY, FIRSTS };

struct ask {
    struct tidings *tidings;
    struct tidings_answer answer;
    struct known {
        uint64_t post, member;
    } known[1 << KNOWN_BITS]; /* posts, each in the one place that it may have */
    struct tidings_op ops[FIRSTS * ASK_MANY];
    struct tidings_answer answers[FIRSTS * ASK_MANY];
    struct tidings_call calls[FIRSTS * ASK_MANY];
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    size_t waiting;
};

struct ask *ask_new(struct tidings *tidings)
{
    struct ask *ask = calloc(1, sizeof *ask);
    if (!ask)
        return NULL;
    ask->tidings = tidings;
    tidings_answer_init(&ask->answer);
    for (size_t i = 0; i < FIRSTS * ASK_MANY; i++)
        tidings_answer_init(&ask->answers[i]);
    pthread_mutex_init(&ask->mutex, NULL);
    pthread_cond_init(&ask->cond, NULL);
    return ask;
}

void ask_free(struct ask *ask)
{
    if (!ask)
        return;
    tidings_answer_release(&ask->answer);
    for (size_t i = 0; i < FIRSTS * ASK_MANY; i++)
        tidings_answer_release(&ask->answers[i]);
    pthread_mutex_destroy(&ask->mutex);
    pthread_cond_destroy(&ask->cond);
    free(ask);
}

/* Somebody has to ask, where it does not matter who. */
enum { ACTING_USER = 1 };

static struct tidings_op as_asked(const struct tidings_op *op)
{
    struct tidings_op own = *op;
    own.role = TIDINGS_ROLE_SERVICE;
    own.freshness = TIDINGS_EXACT;
    if (!own.user_id)
        own.user_id = ACTING_USER;
    return own;
}

enum tidings_err ask_one(struct ask *ask, const struct tidings_op *op,
                         const struct tidings_answer **answer)
{
    struct tidings_op own = as_asked(op);
    enum tidings_err err = tidings_run(ask->tidings, &own, &ask->answer);
    *answer = &ask->answer;
    return err;
}

/* ---- Posts ----------------------------------------------------------------------------------- */

/* "blog:77": what the old system calls 77. */
static uint64_t member_of(const struct tidings_post *post)
{
    static const char start[] = "blog:";
    size_t n = sizeof start - 1;
    uint64_t number = 0;
    if (post->key.n <= n || post->key.n > n + 18 || memcmp(post->key.p, start, n) != 0)
        return post->id;
    for (; n < post->key.n; n++) {
        if (post->key.p[n] < '0' || post->key.p[n] > '9')
            return post->id;
        number = number * 10 + (uint64_t)(post->key.p[n] - '0');
    }
    return number ? number : post->id;
}

static enum tidings_err ask_posts(struct ask *ask, const uint64_t *posts, size_t n)
{
    const struct tidings_answer *answer;
    struct tidings_op op = {.kind = TIDINGS_OP_POST_MANY, .u.posts = {posts, n}};
    enum tidings_err err = n ? ask_one(ask, &op, &answer) : TIDINGS_OK;
    for (size_t i = 0; n && !err && i < answer->u.post_many.n; i++) {
        const struct tidings_post *post = &answer->u.post_many.rows[i].post;
        ask->known[legacy_place(post->id, KNOWN_BITS)] = (struct known){post->id, member_of(post)};
    }
    return err;
}

/* Those that are not known, a page of them; their answers are taken at once, since two may have the same place. */
static enum tidings_err name_unknown(struct ask *ask, struct legacy_item **items, size_t n)
{
    uint64_t posts[POSTS_PAGE];
    for (size_t i = 0; i < n; i++)
        posts[i] = items[i]->post;
    enum tidings_err err = ask_posts(ask, posts, n);
    for (size_t i = 0; i < n && !err; i++)
        items[i]->member = member_of(&ask->answer.u.post_many.rows[i].post);
    return err;
}

static enum tidings_err name_members(struct ask *ask, struct legacy_item *items, size_t n)
{
    struct legacy_item *unknown[POSTS_PAGE];
    size_t n_unknown = 0;
    enum tidings_err err = TIDINGS_OK;
    for (size_t i = 0; i < n && !err; i++) {
        const struct known *known = &ask->known[legacy_place(items[i].post, KNOWN_BITS)];
        items[i].member = known->member;
        if (known->post != items[i].post)
            unknown[n_unknown++] = &items[i];
        if (n_unknown < POSTS_PAGE)
            continue;
        err = name_unknown(ask, unknown, n_unknown);
        n_unknown = 0;
    }
    return err ? err : name_unknown(ask, unknown, n_unknown);
}

enum tidings_err ask_post(struct ask *ask, uint64_t post, struct legacy_item *item,
                          char title[TITLE_ROOM])
{
    enum tidings_err err = ask_posts(ask, &post, 1);
    if (err)
        return err;
    const struct tidings_post_row *row = &ask->answer.u.post_many.rows[0];
    size_t n = row->post.title.n < TITLE_ROOM ? row->post.title.n : TITLE_ROOM - 1;
    *item = (struct legacy_item){.post = post,
                                 .member = member_of(&row->post),
                                 .author = row->post.author_id,
                                 .at = row->post.created_at,
                                 .is_deleted = row->err == TIDINGS_DELETED};
    if (n)
        memcpy(title, row->post.title.p, n);
    title[n] = 0;
    return TIDINGS_OK;
}

enum tidings_err ask_member(struct ask *ask, uint64_t post, uint64_t *member)
{
    struct legacy_item item = {.post = post};
    enum tidings_err err = name_members(ask, &item, 1);
    *member = item.member;
    return err;
}

enum tidings_err ask_fans(struct ask *ask, uint64_t author, uint64_t post, uint64_t *users,
                          size_t *n)
{
    const struct tidings_answer *answer;
    struct tidings_op op = {
        .kind = TIDINGS_OP_FANS_AMONG,
        .u.among = {.author_id = author, .item_id = post, .user_ids = users, .n_user_ids = *n}};
    enum tidings_err err = *n ? ask_one(ask, &op, &answer) : TIDINGS_OK;
    if (err || !*n)
        return err;
    *n = answer->u.among.n;
    if (*n)
        memcpy(users, answer->u.among.user_ids, *n * sizeof *users);
    return TIDINGS_OK;
}

/* ---- Many operations ------------------------------------------------------------------------- */

static void note_done(struct tidings_call *call)
{
    struct ask *ask = call->ctx;
    pthread_mutex_lock(&ask->mutex);
    if (!--ask->waiting)
        pthread_cond_signal(&ask->cond);
    pthread_mutex_unlock(&ask->mutex);
}

/* The engine asks its database once for those that wait together. */
static enum tidings_err run_together(struct ask *ask, size_t n)
{
    enum tidings_err err = TIDINGS_OK;
    ask->waiting = n;
    for (size_t i = 0; i < n; i++) {
        ask->calls[i] = (struct tidings_call){
            .op = &ask->ops[i], .answer = &ask->answers[i], .done = note_done, .ctx = ask};
        tidings_submit(ask->tidings, &ask->calls[i]);
    }
    pthread_mutex_lock(&ask->mutex);
    while (ask->waiting)
        pthread_cond_wait(&ask->cond, &ask->mutex);
    pthread_mutex_unlock(&ask->mutex);
    for (size_t i = 0; i < n; i++) {
        enum tidings_err one = tidings_finish(ask->tidings, &ask->calls[i]);
        err = err ? err : one;
    }
    return err;
}

/* ---- An inbox -------------------------------------------------------------------------------- */

static enum tidings_err add(struct legacy_inbox *inbox, const struct legacy_item *item)
{
    if (inbox->n == inbox->room) {
        size_t room = inbox->room ? 2 * inbox->room : 256;
        struct legacy_item *more = realloc(inbox->items, room * sizeof *more);
        if (!more)
            return TIDINGS_NO_MEMORY;
        inbox->items = more;
        inbox->room = room;
    }
    inbox->items[inbox->n++] = *item;
    return TIDINGS_OK;
}

static enum tidings_err add_feed(struct legacy_inbox *inbox, const struct tidings_answer *answer)
{
    enum tidings_err err = TIDINGS_OK;
    for (size_t i = 0; i < answer->u.feed.n && !err; i++) {
        const struct tidings_item *row = &answer->u.feed.rows[i];
        err = add(inbox, &(struct legacy_item){.post = row->post_id,
                                               .author = row->author_id,
                                               .at = row->created_at,
                                               .read_at = row->is_read ? row->read_at : 0,
                                               .delivered = true,
                                               .is_deleted = row->is_deleted});
    }
    return err;
}

static int by_post(const void *a, const void *b)
{
    const struct legacy_item *x = a, *y = b;
    return (x->post > y->post) - (x->post < y->post);
}

/* `sorted` are those of the inbox, whose state is there already. */
static enum tidings_err add_history(struct legacy_inbox *inbox, struct legacy_item *sorted,
                                    size_t n_sorted, const struct tidings_answer *answer)
{
    enum tidings_err err = TIDINGS_OK;
    for (size_t i = 0; i < answer->u.history.n && !err; i++) {
        const struct tidings_history_row *row = &answer->u.history.rows[i];
        struct legacy_item item = {.post = row->post_id,
                                   .author = row->author_id,
                                   .read_at = row->read_at,
                                   .is_deleted = row->is_deleted};
        if (!n_sorted || !bsearch(&item, sorted, n_sorted, sizeof *sorted, by_post))
            err = add(inbox, &item);
    }
    return err;
}

static enum tidings_err add_pages(struct ask *ask, struct legacy_inbox *inbox,
                                  struct tidings_cursor next)
{
    enum tidings_err err = TIDINGS_OK;
    while (next.a && inbox->n < INBOX_MAX && !err) {
        const struct tidings_answer *answer;
        struct tidings_op op = {
            .kind = TIDINGS_OP_INBOX, .user_id = inbox->user, .u.feed = {.page = {PAGE, next}}};
        err = ask_one(ask, &op, &answer);
        if (!err)
            err = add_feed(inbox, answer);
        next = answer->u.feed.next;
    }
    return err;
}

static enum tidings_err add_histories(struct ask *ask, struct legacy_inbox *inbox,
                                      const struct tidings_answer *answer)
{
    size_t n = inbox->n, asked = 0;
    struct legacy_item *sorted = malloc((n + 1) * sizeof *sorted);
    if (!sorted)
        return TIDINGS_NO_MEMORY;
    if (n)
        memcpy(sorted, inbox->items, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_post);
    enum tidings_err err = add_history(inbox, sorted, n, answer);
    struct tidings_cursor next = answer->u.history.next;
    for (; next.a && !err && asked < INBOX_MAX; asked += PAGE) {
        struct tidings_op op = {
            .kind = TIDINGS_OP_HISTORY, .user_id = inbox->user, .u.page = {PAGE, next}};
        err = ask_one(ask, &op, &answer);
        if (!err)
            err = add_history(inbox, sorted, n, answer);
        next = answer->u.history.next;
    }
    free(sorted);
    return err;
}

static enum tidings_err take_counts(struct legacy_inbox *inbox, const struct tidings_answer *answer)
{
    size_t n = answer->u.unread.n;
    inbox->total = answer->u.unread.total;
    inbox->counts = malloc((n + 1) * sizeof *inbox->counts);
    if (!inbox->counts)
        return TIDINGS_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const struct tidings_unread_row *row = &answer->u.unread.rows[i];
        inbox->counts[i] = (struct legacy_count){row->user_id, row->unread, row->following};
    }
    inbox->n_counts = n;
    return TIDINGS_OK;
}

static enum tidings_err take_inbox(struct ask *ask, const struct tidings_answer firsts[FIRSTS],
                                   struct legacy_inbox *inbox)
{
    enum tidings_err err = add_feed(inbox, &firsts[INBOX]);
    if (!err)
        err = add_pages(ask, inbox, firsts[INBOX].u.feed.next);
    if (!err)
        err = add_histories(ask, inbox, &firsts[HISTORY]);
    if (!err)
        err = take_counts(inbox, &firsts[COUNTS]);
    return err ? err : name_members(ask, inbox->items, inbox->n);
}

enum tidings_err ask_inboxes(struct ask *ask, const uint64_t *users, size_t n,
                             struct legacy_inbox *inboxes)
{
    for (size_t i = 0; i < n; i++) {
        struct tidings_op *ops = &ask->ops[i * FIRSTS];
        struct tidings_op op = as_asked(&(struct tidings_op){.user_id = users[i]});
        inboxes[i] = (struct legacy_inbox){.user = users[i]};
        ops[INBOX] = ops[COUNTS] = ops[HISTORY] = op;
        ops[INBOX].kind = TIDINGS_OP_INBOX;
        ops[INBOX].u.feed.page.limit = PAGE;
        ops[COUNTS].kind = TIDINGS_OP_UNREAD;
        ops[HISTORY].kind = TIDINGS_OP_HISTORY;
        ops[HISTORY].u.page.limit = PAGE;
    }
    enum tidings_err err = run_together(ask, n * FIRSTS);
    for (size_t i = 0; i < n && !err; i++)
        err = take_inbox(ask, &ask->answers[i * FIRSTS], &inboxes[i]);
    return err;
}

void legacy_inbox_release(struct legacy_inbox *inbox)
{
    free(inbox->items);
    free(inbox->counts);
    *inbox = (struct legacy_inbox){0};
}
