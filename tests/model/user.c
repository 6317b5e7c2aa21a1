/* SPDX-License-Identifier: MIT */
/* Users: the model's table of them, and their profiles. */
#include "ops.h"

#include <inttypes.h>
#include <string.h>

/* ---- The model ----------------------------------------------------------------------------------- */

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
    user->extra = model_copy((struct tidings_text){"", 0});
    user->cells = model_room(NULL, model->posts_room, sizeof *user->cells);
    memset(user->cells, 0, model->posts_room * sizeof *user->cells);
    model->users = model_room(model->users, model->n_users + 1, sizeof *model->users);
    model->users[model->n_users++] = user;
    return user;
}

static bool write_profile_set(struct model *model, const struct model_call *call,
                              struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
    struct model_user *user = model_user(model, op->user_id);
    struct tidings_text name = op->u.profile.name;
    struct tidings_text avatar = op->u.profile.avatar;
    struct tidings_text extra = op->u.profile.extra;
    bool changed = false;

    if (name.p != NULL && !model_same_text(user->name, name)) {
        model_set_text(&user->name, name);
        changed = true;
    }
    if (avatar.p != NULL && !model_same_text(user->avatar, avatar)) {
        model_set_text(&user->avatar, avatar);
        changed = true;
    }
    if (extra.p != NULL && !model_same_text(user->extra, extra)) {
        model_set_text(&user->extra, extra);
        changed = true;
    }
    if (changed)
        model_event(model, TIDINGS_EVENT_PROFILE_CHANGED, t, user->id, user->id, 0, 0);
    answer->profile_id = user->id;
    answer->name = user->name;
    answer->avatar = user->avatar;
    answer->extra = user->extra;
    return true;
}

static void read_profile(struct model *model, const struct model_call *call,
                         struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    struct model_user *user = model_user(model, op->u.user.user_id);

    answer->profile_id = user->id;
    answer->name = user->name;
    answer->avatar = user->avatar;
    answer->extra = user->extra;
}

/* ---- Arguments ----------------------------------------------------------------------------------- */

static const char *check_profile(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    struct tidings_text name = op->u.profile.name;
    struct tidings_text avatar = op->u.profile.avatar;

    if (name.p == NULL && avatar.p == NULL && op->u.profile.extra.p == NULL)
        return "name";
    if (name.p != NULL) {
        long n = model_characters(name);

        if (n < 0 || (uint64_t)n > model->settings.name_max)
            return "name";
    }
    if (avatar.p != NULL) {
        if (avatar.n > model->settings.avatar_max || model_characters(avatar) < 0)
            return "avatar";
        if (avatar.n > 0 && !model_url_ok(avatar))
            return "avatar";
    }
    if (op->u.profile.extra.p != NULL && !model_extra_ok(op->u.profile.extra))
        return "extra";
    return NULL;
}

const char *model_check_user(const struct model *model, const struct model_call *call)
{
    (void)model;
    return !model_id_ok(call->op->u.user.user_id) ? "user_id" : NULL;
}

void user_arguments(struct generator *g, struct run *run, struct step *step)
{
    (void)run;
    step->op.u.user.user_id = some_target(g, 0);
}

static void profile_arguments(struct generator *g, struct run *run, struct step *step)
{
    struct tidings_op *op = &step->op;

    (void)run;
    if (rng_percent(&g->rng, 70))
        op->u.profile.name = generate_name(g);
    if (rng_percent(&g->rng, 40) || op->u.profile.name.p == NULL)
        op->u.profile.avatar = generate_avatar(g);
    op->u.profile.extra = generate_extra(g);
}

void generate_bad_user(struct generator *g, struct step *step)
{
    step->op.u.user.user_id = generate_bad_id(g);
}

static void bad_profile(struct generator *g, struct step *step)
{
    if (rng_percent(&g->rng, 20))
        step->op.u.profile.extra = generate_bad_extra(g);
    else if (rng_percent(&g->rng, 20))
        step->op.u.profile.avatar = generate_bad_url(g);
    else
        generate_bad_texts(g, &step->op.u.profile.name, g->recording->settings.name_max,
                           &step->op.u.profile.avatar, g->recording->settings.avatar_max);
}

void user_report(struct report *report, const struct step *step)
{
    report_add(report, " user_id=%" PRIu64, step->op.u.user.user_id);
}

static void profile_report(struct report *report, const struct step *step)
{
    two_texts_report(report, "name", step->op.u.profile.name, "avatar", step->op.u.profile.avatar);
    extra_report(report, step->op.u.profile.extra);
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void same_profile(struct diff *diff, const struct model_answer *want,
                         const struct tidings_answer *got)
{
    same_u64(diff, "user_id", want->profile_id, got->u.profile.user_id);
    same_text(diff, "name", want->name, got->u.profile.name);
    same_text(diff, "avatar", want->avatar, got->u.profile.avatar);
    same_text(diff, "extra", want->extra, got->u.profile.extra);
}

static int line_of_profile(char *line, uint64_t id, size_t name, size_t avatar)
{
    return snprintf(line, RENDER_MAX, "user %" PRIu64 " name %zu avatar %zu", id, name, avatar);
}

static int profile_line(char *line, const struct tidings_answer *a)
{
    return line_of_profile(line, a->u.profile.user_id, a->u.profile.name.n, a->u.profile.avatar.n);
}

static int model_profile_line(char *line, const struct model_answer *a)
{
    return line_of_profile(line, a->profile_id, a->name.n, a->avatar.n);
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

/* Profiles are swept with the relations. */

const struct op_row row_profile_set = {
    .weights = {[MOOD_PUSH] = 4, [MOOD_MIXED] = 3},
    .arguments = profile_arguments,
    .mistake = bad_profile,
    .report = profile_report,
    .check = check_profile,
    .write = write_profile_set,
    .compare = same_profile,
    .line = profile_line,
    .model_line = model_profile_line,
};

const struct op_row row_profile = {
    .weights = {[MOOD_MIXED] = 2},
    .arguments = user_arguments,
    .mistake = generate_bad_user,
    .report = user_report,
    .check = model_check_user,
    .read = read_profile,
    .compare = same_profile,
};
