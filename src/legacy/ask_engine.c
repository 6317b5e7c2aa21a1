/* SPDX-License-Identifier: MIT */
#include "legacy/ask_engine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The first page of an inbox, counts and history of each user: asked together. */
enum { FIRST_INBOX, FIRST_COUNTS, FIRST_HISTORY, FIRSTS };

/* Somebody has to ask, where it does not matter who. */
enum { ACTING_USER = 1 };

struct ask_engine {
    struct ask ask;
    struct tidings *tidings;
    struct tidings_answer answer;
    struct members members;
    struct tidings_op ops[FIRSTS * ASK_MANY];
    struct tidings_answer answers[FIRSTS * ASK_MANY];
    struct tidings_call calls[FIRSTS * ASK_MANY];
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    size_t waiting;
};

static bool engine_failed(struct ask *ask, enum tidings_err err)
{
    return ask_fail(ask, "Tidings: %s", tidings_err_text(err));
}

/* ---- Operations ------------------------------------------------------------------------------- */

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct tidings_settings engine_settings(struct ask_engine *engine)
{
    struct tidings_settings settings = {.page_max = 1, .ids_max = 1};
    tidings_settings_of(engine->tidings, &settings);
    return settings;
}

uint32_t ask_engine_page(struct ask *ask)
{
    return (uint32_t)at_most(engine_settings((struct ask_engine *)ask).page_max, ASK_PAGE);
}

static struct tidings_op as_asked(const struct tidings_op *op)
{
    struct tidings_op own = *op;
    own.role = TIDINGS_ROLE_SERVICE;
    own.freshness = TIDINGS_EXACT;
    if (!own.user_id)
        own.user_id = ACTING_USER;
    return own;
}

enum tidings_err ask_engine_run(struct ask *ask, const struct tidings_op *op,
                                const struct tidings_answer **answer)
{
    struct ask_engine *engine = (struct ask_engine *)ask;
    struct tidings_op own = as_asked(op);
    enum tidings_err err = tidings_run(engine->tidings, &own, &engine->answer);
    *answer = &engine->answer;
    return err;
}

static void note_done(struct tidings_call *call)
{
    struct ask_engine *engine = call->ctx;
    pthread_mutex_lock(&engine->mutex);
    if (!--engine->waiting)
        pthread_cond_signal(&engine->cond);
    pthread_mutex_unlock(&engine->mutex);
}

static enum tidings_err run_together(struct ask_engine *engine, size_t n)
{
    enum tidings_err err = TIDINGS_OK;
    engine->waiting = n;
    for (size_t i = 0; i < n; i++) {
        engine->calls[i] = (struct tidings_call){
            .op = &engine->ops[i], .answer = &engine->answers[i], .done = note_done, .ctx = engine};
        tidings_submit(engine->tidings, &engine->calls[i]);
    }
    pthread_mutex_lock(&engine->mutex);
    while (engine->waiting)
        pthread_cond_wait(&engine->cond, &engine->mutex);
    pthread_mutex_unlock(&engine->mutex);
    for (size_t i = 0; i < n; i++) {
        enum tidings_err one = tidings_finish(engine->tidings, &engine->calls[i]);
        err = err ? err : one;
    }
    return err;
}

/* ---- Posts ------------------------------------------------------------------------------------ */

static uint64_t member_of(const struct tidings_post *post)
{
    return legacy_member(post->id, post->key.p, post->key.n);
}

static enum tidings_err ask_posts(struct ask *ask, const uint64_t *posts, size_t n,
                                  const struct tidings_answer **answer)
{
    struct tidings_op op = {.kind = TIDINGS_OP_POST_MANY, .u.posts = {posts, n}};
    return ask_engine_run(ask, &op, answer);
}

static bool look_for_members(struct ask *ask, const uint64_t *posts, size_t n, uint64_t *found)
{
    const struct tidings_answer *answer;
    size_t ids_max = engine_settings((struct ask_engine *)ask).ids_max;
    for (size_t i = 0; i < n; i += ids_max) {
        size_t some = at_most(n - i, ids_max);
        enum tidings_err err = ask_posts(ask, posts + i, some, &answer);
        if (err)
            return engine_failed(ask, err);
        for (size_t k = 0; k < some; k++)
            found[i + k] = member_of(&answer->u.post_many.rows[k].post);
    }
    return true;
}

bool ask_engine_post(struct ask *ask, uint64_t post, struct legacy_item *item,
                     char title[TITLE_ROOM])
{
    const struct tidings_answer *answer;
    enum tidings_err err = ask_posts(ask, &post, 1, &answer);
    if (err)
        return engine_failed(ask, err);
    const struct tidings_post_row *row = &answer->u.post_many.rows[0];
    size_t n = at_most(row->post.title.n, TITLE_ROOM - 1);
    *item = (struct legacy_item){.post = post,
                                 .member = member_of(&row->post),
                                 .author = row->post.author_id,
                                 .at = row->post.created_at,
                                 .is_deleted = row->err == TIDINGS_DELETED};
    if (n)
        memcpy(title, row->post.title.p, n);
    title[n] = 0;
    return true;
}

bool ask_engine_member(struct ask *ask, uint64_t post, uint64_t *member)
{
    struct ask_engine *engine = (struct ask_engine *)ask;
    struct legacy_item item = {.post = post};
    bool fine = members_name(&engine->members, &item, 1, look_for_members, ask);
    *member = item.member;
    return fine;
}

bool ask_engine_fans(struct ask *ask, uint64_t author, uint64_t post, uint64_t *users, size_t *n)
{
    const struct tidings_answer *answer;
    struct tidings_op op = {
        .kind = TIDINGS_OP_FANS_AMONG,
        .u.among = {.author_id = author, .item_id = post, .user_ids = users, .n_user_ids = *n}};
    enum tidings_err err = *n ? ask_engine_run(ask, &op, &answer) : TIDINGS_OK;
    if (err)
        return engine_failed(ask, err);
    if (!*n)
        return true;
    *n = answer->u.among.n;
    if (*n)
        memcpy(users, answer->u.among.user_ids, *n * sizeof *users);
    return true;
}

/* ---- Inboxes ---------------------------------------------------------------------------------- */

static enum tidings_err add_feed(struct legacy_inbox *inbox, const struct tidings_answer *answer)
{
    bool fine = true;
    for (size_t i = 0; i < answer->u.feed.n && fine; i++) {
        const struct tidings_item *row = &answer->u.feed.rows[i];
        fine = legacy_inbox_add(inbox,
                                &(struct legacy_item){.post = row->post_id,
                                                      .author = row->author_id,
                                                      .at = row->created_at,
                                                      .read_at = row->is_read ? row->read_at : 0,
                                                      .delivered = true,
                                                      .is_deleted = row->is_deleted});
    }
    return fine ? TIDINGS_OK : TIDINGS_NO_MEMORY;
}

static enum tidings_err add_history(struct legacy_inbox *inbox, const struct tidings_answer *answer)
{
    bool fine = true;
    for (size_t i = 0; i < answer->u.history.n && fine; i++) {
        const struct tidings_history_row *row = &answer->u.history.rows[i];
        fine = legacy_inbox_add(inbox, &(struct legacy_item){.post = row->post_id,
                                                             .author = row->author_id,
                                                             .read_at = row->read_at,
                                                             .is_deleted = row->is_deleted});
    }
    return fine ? TIDINGS_OK : TIDINGS_NO_MEMORY;
}

static enum tidings_err add_pages(struct ask *ask, struct legacy_inbox *inbox,
                                  struct tidings_cursor next)
{
    enum tidings_err err = TIDINGS_OK;
    while (next.a && inbox->n < INBOX_MAX && !err) {
        const struct tidings_answer *answer;
        struct tidings_op op = {.kind = TIDINGS_OP_INBOX,
                                .user_id = inbox->user,
                                .u.feed = {.page = {ask_engine_page(ask), next}}};
        err = ask_engine_run(ask, &op, &answer);
        if (!err)
            err = add_feed(inbox, answer);
        next = answer->u.feed.next;
    }
    return err;
}

static enum tidings_err add_histories(struct ask *ask, struct legacy_inbox *inbox,
                                      const struct tidings_answer *answer)
{
    size_t n_delivered = inbox->n;
    enum tidings_err err = add_history(inbox, answer);
    struct tidings_cursor next = answer->u.history.next;
    while (next.a && !err && inbox->n - n_delivered < INBOX_MAX) {
        struct tidings_op op = {.kind = TIDINGS_OP_HISTORY,
                                .user_id = inbox->user,
                                .u.page = {ask_engine_page(ask), next}};
        err = ask_engine_run(ask, &op, &answer);
        if (!err)
            err = add_history(inbox, answer);
        next = answer->u.history.next;
    }
    if (!err && !legacy_inbox_unite(inbox, n_delivered))
        err = TIDINGS_NO_MEMORY;
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

static bool take_inbox(struct ask_engine *engine, const struct tidings_answer firsts[FIRSTS],
                       struct legacy_inbox *inbox)
{
    struct ask *ask = &engine->ask;
    enum tidings_err err = add_feed(inbox, &firsts[FIRST_INBOX]);
    if (!err)
        err = add_pages(ask, inbox, firsts[FIRST_INBOX].u.feed.next);
    if (!err)
        err = add_histories(ask, inbox, &firsts[FIRST_HISTORY]);
    if (!err)
        err = take_counts(inbox, &firsts[FIRST_COUNTS]);
    if (err)
        return engine_failed(ask, err);
    return members_name(&engine->members, inbox->items, inbox->n, look_for_members, ask);
}

static bool engine_inboxes(struct ask *ask, const uint64_t *users, size_t n,
                           struct legacy_inbox *inboxes)
{
    struct ask_engine *engine = (struct ask_engine *)ask;
    uint32_t page = ask_engine_page(ask);
    for (size_t i = 0; i < n; i++) {
        struct tidings_op *ops = &engine->ops[i * FIRSTS];
        struct tidings_op op = as_asked(&(struct tidings_op){.user_id = users[i]});
        ops[FIRST_INBOX] = ops[FIRST_COUNTS] = ops[FIRST_HISTORY] = op;
        ops[FIRST_INBOX].kind = TIDINGS_OP_INBOX;
        ops[FIRST_INBOX].u.feed.page.limit = page;
        ops[FIRST_COUNTS].kind = TIDINGS_OP_UNREAD;
        ops[FIRST_HISTORY].kind = TIDINGS_OP_HISTORY;
        ops[FIRST_HISTORY].u.page.limit = page;
    }
    enum tidings_err err = run_together(engine, n * FIRSTS);
    if (err)
        return engine_failed(ask, err);
    bool fine = true;
    for (size_t i = 0; i < n && fine; i++)
        fine = take_inbox(engine, &engine->answers[i * FIRSTS], &inboxes[i]);
    return fine;
}

/* ---- The source ------------------------------------------------------------------------------- */

static bool engine_users(struct ask *ask, uint64_t after, size_t most, uint64_t *users, size_t *n)
{
    struct ask_engine *engine = (struct ask_engine *)ask;
    enum tidings_err err = tidings_users(engine->tidings, after, users, most, n);
    return !err || engine_failed(ask, err);
}

static void engine_free(struct ask *ask)
{
    struct ask_engine *engine = (struct ask_engine *)ask;
    tidings_answer_release(&engine->answer);
    for (size_t i = 0; i < FIRSTS * ASK_MANY; i++)
        tidings_answer_release(&engine->answers[i]);
    pthread_mutex_destroy(&engine->mutex);
    pthread_cond_destroy(&engine->cond);
    free(engine);
}

static const struct ask_table ask_engine_table = {
    .users = engine_users,
    .inboxes = engine_inboxes,
    .free = engine_free,
};

struct ask *ask_engine_new(struct tidings *tidings)
{
    struct ask_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return NULL;
    engine->ask.table = &ask_engine_table;
    engine->tidings = tidings;
    tidings_answer_init(&engine->answer);
    for (size_t i = 0; i < FIRSTS * ASK_MANY; i++)
        tidings_answer_init(&engine->answers[i]);
    pthread_mutex_init(&engine->mutex, NULL);
    pthread_cond_init(&engine->cond, NULL);
    return &engine->ask;
}
