/* SPDX-License-Identifier: MIT */
/* The model's tables and the frame around each operation; see model.h. */
#include "model.h"

#include "ops.h"
#include "render.h"

#include <stdlib.h>
#include <string.h>

bool model_op_writes(enum tidings_op_kind kind)
{
    switch (kind) {
#define X(name, lower, writes, args, answer) \
    case TIDINGS_OP_##name:                  \
        return writes;
        TIDINGS_OPS(X)
#undef X
    case TIDINGS_OP_COUNT:
        break;
    }
    return false;
}

void *model_room(void *old, size_t n, size_t size)
{
    void *p = realloc(old, (n ? n : 1) * size);

    if (p == NULL)
        abort();
    return p;
}

void model_init(struct model *model, const struct tidings_settings *settings)
{
    memset(model, 0, sizeof *model);
    model->settings = *settings;
}

static void release_stories(struct model_stories *stories)
{
    for (size_t i = 0; i < stories->n_scenes; i++) {
        model_drop(stories->scenes[i].title);
        model_drop_messages(&stories->scenes[i]);
        free(stories->scenes[i].given);
    }
    for (size_t i = 0; i < stories->n_readers; i++) {
        free(stories->readers[i].visits);
        free(stories->readers[i].marks);
        free(stories->readers[i].changes);
        free(stories->readers[i].told);
    }
    free(stories->scenes);
    free(stories->subscriptions);
    free(stories->readers);
}

void model_release(struct model *model)
{
    for (size_t i = 0; i < model->n_users; i++) {
        model_drop(model->users[i]->name);
        model_drop(model->users[i]->avatar);
        model_drop(model->users[i]->extra);
        free(model->users[i]->cells);
        free(model->users[i]);
    }
    for (size_t i = 0; i < model->n_posts; i++) {
        model_drop(model->posts[i].title);
        model_drop(model->posts[i].body);
        model_drop(model->posts[i].excerpt);
        model_drop(model->posts[i].extra);
        free(model->posts[i].reactions.rows);
        free(model->posts[i].comments);
    }
    for (size_t i = 0; i < model->n_comments; i++) {
        model_drop(model->comments[i].body);
        free(model->comments[i].reactions.rows);
    }
    free(model->comments);
    for (size_t i = 0; i < model->n_onces; i++)
        model_drop(model->onces[i].stored);
    release_stories(&model->stories);
    model_drop_webhooks(model);
    free(model->onces);
    free(model->spent);
    free(model->users);
    free(model->follows);
    free(model->posts);
    free(model->events);
    memset(model, 0, sizeof *model);
}

void model_answer_init(struct model_answer *answer)
{
    memset(answer, 0, sizeof *answer);
}

void model_answer_release(struct model_answer *answer)
{
    free(answer->items);
    free(answer->user_rows);
    free(answer->unread_rows);
    free(answer->history_rows);
    free(answer->user_ids);
    free(answer->many);
    free(answer->event_rows);
    free(answer->event_places);
    free(answer->reacted_rows);
    free(answer->comment_rows);
    free(answer->hot_rows);
    free(answer->webhook_rows);
    free(answer->story.scenes);
    free(answer->story.readings);
    free(answer->story.subscriptions);
    free(answer->story.notifications);
    model_answer_init(answer);
}

struct model_moment model_now(const struct model *model)
{
    return (struct model_moment){true, model->n_posts, model->stories.n_scenes};
}

size_t model_page_limit(const struct model *model, const struct tidings_page *page)
{
    return page->limit != 0 ? page->limit : (size_t)model->settings.page_default;
}

/* ---- Arguments --------------------------------------------------------------------------------- */

bool model_id_ok(uint64_t id)
{
    return id >= 1 && id <= TIDINGS_ID_MAX;
}

const char *model_check_page(const struct model *model, const struct tidings_page *page)
{
    if (page->limit > model->settings.page_max)
        return "limit";
    if (page->after.a > TIDINGS_ID_MAX || page->after.b > TIDINGS_ID_MAX)
        return "cursor";
    return NULL;
}

const char *model_check_own_page(const struct model *model, const struct model_call *call)
{
    return model_check_page(model, &call->op->u.page);
}

const char *model_check_arguments(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    const struct op_row *row = op_row(op->kind);

    if (row == NULL)
        return "op";
    if (!model_id_ok(op->user_id))
        return "viewer";
    if (op->role != TIDINGS_ROLE_USER && op->role != TIDINGS_ROLE_SERVICE &&
        op->role != TIDINGS_ROLE_ADMIN)
        return "role";
    return row->check != NULL ? row->check(model, call) : NULL;
}

/* ---- Buckets ----------------------------------------------------------------------------------- */

/* What is taken, in time; no more than there can be. */
static int64_t taken_ms(const struct model_bucket *bucket)
{
    int64_t tokens = 1 + bucket->more;

    return (tokens < bucket->burst ? tokens : bucket->burst) * bucket->refill_ms;
}

bool model_bucket_has(const struct model_bucket *bucket, const struct tidings_op *op, int64_t t,
                      struct model_answer *answer)
{
    int64_t most = bucket->burst * bucket->refill_ms;
    int64_t full_at = *bucket->full_at;

    if (op->role != TIDINGS_ROLE_USER)
        return true;
    if (full_at < t)
        full_at = t;
    if (full_at + taken_ms(bucket) - t <= most)
        return true;
    answer->err = TIDINGS_RATE_LIMITED;
    answer->retry_after_ms = full_at + taken_ms(bucket) - t - most;
    return false;
}

void model_bucket_take(const struct model_bucket *bucket, const struct tidings_op *op, int64_t t)
{
    if (op->role != TIDINGS_ROLE_USER)
        return;
    if (*bucket->full_at < t)
        *bucket->full_at = t;
    *bucket->full_at += taken_ms(bucket);
}

/* ---- Operations -------------------------------------------------------------------------------- */

/* What was remembered under the operation's key, or NULL. */
static const struct model_once *find_once(const struct model *model, const struct tidings_op *op,
                                          int64_t t)
{
    int64_t gone = t - (int64_t)model->settings.once_hours * 3600000;

    for (size_t i = 0; i < model->n_onces; i++) {
        const struct model_once *once = &model->onces[i];

        if (once->user_id == op->user_id && once->at > gone &&
            memcmp(once->key, op->once->key, sizeof once->key) == 0)
            return once;
    }
    return NULL;
}

static void add_once(struct model *model, const struct tidings_op *op, int64_t t,
                     struct model_answer *answer)
{
    struct model_once *once;

    model->onces = model_room(model->onces, model->n_onces + 1, sizeof *model->onces);
    once = &model->onces[model->n_onces++];
    once->user_id = op->user_id;
    once->kind = op->kind;
    once->at = t;
    once->stored = model_render(op, answer);
    memcpy(once->key, op->once->key, sizeof once->key);
    memcpy(once->fingerprint, op->once->fingerprint, sizeof once->fingerprint);
    answer->stored = once->stored;
}

/* True if the operation counts as a write made at `t`. */
static bool write_once(struct model *model, const struct model_call *call,
                       struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    const struct model_once *once = find_once(model, op, call->t);
    bool wrote;

    if (once == NULL) {
        wrote = op_row(op->kind)->write(model, call, answer);
        if (answer->err == TIDINGS_OK)
            add_once(model, op, call->t, answer);
        return wrote || answer->err == TIDINGS_OK;
    }
    if (once->kind != op->kind ||
        memcmp(once->fingerprint, op->once->fingerprint, sizeof once->fingerprint) != 0)
        answer->err = TIDINGS_KEY_REUSED;
    else
        answer->stored = once->stored;
    return answer->err == TIDINGS_OK;
}

void model_run(struct model *model, const struct model_call *asked, struct model_answer *answer)
{
    struct model_call call = *asked;
    const struct op_row *row = op_row(call.op->kind);

    model_answer_release(answer);
    answer->field = model_check_arguments(model, &call);
    if (answer->field != NULL) {
        answer->err = TIDINGS_INVALID;
        return;
    }
    /* Time never runs backwards, whatever the clock does. */
    call.t = call.now_ms < model->newest_write_ms ? model->newest_write_ms : call.now_ms;
    model->turn++;
    if (row->read != NULL)
        row->read(model, &call, answer);
    else if (call.op->once != NULL ? write_once(model, &call, answer)
                                   : row->write(model, &call, answer))
        model->newest_write_ms = call.t;
}
