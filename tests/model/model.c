/* SPDX-License-Identifier: MIT */
/* The model's tables and the frame around each operation; see model.h. */
#include "model.h"

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

struct tidings_text model_copy(struct tidings_text text)
{
    char *p = model_room(NULL, text.n + 1, 1);

    if (text.n > 0)
        memcpy(p, text.p, text.n);
    p[text.n] = '\0';
    return (struct tidings_text){p, text.n};
}

void model_drop(struct tidings_text text)
{
    free((void *)(uintptr_t)text.p);
}

void model_init(struct model *model, const struct tidings_settings *settings)
{
    memset(model, 0, sizeof *model);
    model->settings = *settings;
}

void model_release(struct model *model)
{
    for (size_t i = 0; i < model->n_users; i++) {
        model_drop(model->users[i]->name);
        model_drop(model->users[i]->avatar);
        free(model->users[i]->cells);
        free(model->users[i]);
    }
    for (size_t i = 0; i < model->n_posts; i++) {
        model_drop(model->posts[i].title);
        model_drop(model->posts[i].body);
        model_drop(model->posts[i].excerpt);
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
    model_story_release(&model->stories);
    free(model->onces);
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
    free(answer->event_rows);
    free(answer->event_places);
    free(answer->reacted_rows);
    free(answer->comment_rows);
    free(answer->hot_rows);
    model_story_answer_release(&answer->story);
    model_answer_init(answer);
}

struct model_user *model_user(struct model *model, uint64_t id)
{
    struct model_user *user;

    for (size_t i = 0; i < model->n_users; i++) {
        if (model->users[i]->id == id)
            return model->users[i];
    }
    user = model_room(NULL, 1, sizeof *user);
    memset(user, 0, sizeof *user);
    user->id = id;
    user->name = model_copy((struct tidings_text){"", 0});
    user->avatar = model_copy((struct tidings_text){"", 0});
    user->cells = model_room(NULL, model->posts_room, sizeof *user->cells);
    memset(user->cells, 0, model->posts_room * sizeof *user->cells);
    model->users = model_room(model->users, model->n_users + 1, sizeof *model->users);
    model->users[model->n_users++] = user;
    return user;
}

struct model_post *model_post(const struct model *model, uint64_t id)
{
    for (size_t i = 0; i < model->n_posts; i++) {
        if (model->posts[i].id == id)
            return &model->posts[i];
    }
    return NULL;
}

struct model_cell *model_cell(const struct model *model, const struct model_user *user,
                              const struct model_post *post)
{
    return &user->cells[post - model->posts];
}

bool model_follows(const struct model *model, uint64_t fan, uint64_t author)
{
    for (size_t i = 0; i < model->n_follows; i++) {
        if (model->follows[i].fan == fan && model->follows[i].author == author)
            return true;
    }
    return false;
}

uint64_t model_unread(const struct model *model, const struct model_user *user, uint64_t author_id)
{
    uint64_t n = 0;

    for (size_t i = 0; i < model->n_posts; i++) {
        if (author_id != 0 && model->posts[i].author_id != author_id)
            continue;
        if (user->cells[i].delivered && !user->cells[i].is_read && !model->posts[i].deleted)
            n++;
    }
    return n;
}

void model_show_post(struct model *model, const struct model_post *post, uint64_t viewer,
                     struct tidings_post *shown)
{
    shown->id = post->id;
    shown->author_id = post->author_id;
    shown->author_name = model_user(model, post->author_id)->name;
    shown->kind = post->kind;
    shown->title = post->title;
    shown->body = post->body;
    shown->created_at = post->created_at;
    shown->edited_at = post->edited_at;
    shown->counts = model_post_counts(model, post);
    shown->liked = model_has_reaction(&post->reactions, viewer, TIDINGS_LIKE);
    shown->faved = model_has_reaction(&post->reactions, viewer, TIDINGS_FAV);
}

struct model_moment model_now(const struct model *model)
{
    return (struct model_moment){true, model->n_posts, model->stories.n_scenes};
}

size_t model_page_limit(const struct model *model, const struct tidings_page *page)
{
    return page->limit != 0 ? page->limit : (size_t)model->settings.page_default;
}

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
    once->at = t;
    once->stored = model_render(op, answer);
    memcpy(once->key, op->once->key, sizeof once->key);
    memcpy(once->fingerprint, op->once->fingerprint, sizeof once->fingerprint);
    answer->stored = once->stored;
}

/* True if the operation counts as a write made at `t`. */
static bool write_once(struct model *model, const struct model_call *call, int64_t t,
                       struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    const struct model_once *once = find_once(model, op, t);
    bool wrote;

    if (once == NULL) {
        wrote = model_write(model, call, t, answer);
        if (answer->err == TIDINGS_OK)
            add_once(model, op, t, answer);
        return wrote || answer->err == TIDINGS_OK;
    }
    if (memcmp(once->fingerprint, op->once->fingerprint, sizeof once->fingerprint) != 0)
        answer->err = TIDINGS_KEY_REUSED;
    else
        answer->stored = once->stored;
    return answer->err == TIDINGS_OK;
}

void model_run(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    int64_t t = call->now_ms;

    model_answer_release(answer);
    answer->field = model_check_arguments(model, call);
    if (answer->field != NULL) {
        answer->err = TIDINGS_INVALID;
        return;
    }
    /* Time never runs backwards, whatever the clock does. */
    if (t < model->newest_write_ms)
        t = model->newest_write_ms;
    model->turn++;
    if (!model_op_writes(call->op->kind))
        model_read(model, call, t, answer);
    else if (call->op->once != NULL ? write_once(model, call, t, answer)
                                    : model_write(model, call, t, answer))
        model->newest_write_ms = t;
}
