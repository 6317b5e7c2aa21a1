/* SPDX-License-Identifier: MIT */
/* Relations: following, who follows whom, and the counters. */
#include "ops.h"

#include <inttypes.h>

/* ---- The model ----------------------------------------------------------------------------------- */

bool model_follows(const struct model *model, uint64_t fan, uint64_t author)
{
    for (size_t i = 0; i < model->n_follows; i++) {
        if (model->follows[i].fan == fan && model->follows[i].author == author)
            return true;
    }
    return false;
}

struct model_bucket model_follow_bucket(struct model *model, const struct tidings_op *op)
{
    return (struct model_bucket){&model_user(model, op->user_id)->full_at,
                                 (int64_t)model->settings.follow_burst,
                                 (int64_t)model->settings.follow_refill_ms, 0};
}

static uint64_t count_following(const struct model *model, uint64_t fan)
{
    uint64_t n = 0;

    for (size_t i = 0; i < model->n_follows; i++)
        n += model->follows[i].fan == fan;
    return n;
}

static bool write_follow(struct model *model, const struct model_call *call,
                         struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
    uint64_t fan = op->user_id;
    uint64_t author = op->u.relation.user_id;
    bool already = model_follows(model, fan, author);
    struct model_bucket bucket = model_follow_bucket(model, op);

    if (!model_bucket_has(&bucket, op, t, answer))
        return false;
    if (!already && count_following(model, fan) >= model->settings.following_max) {
        answer->err = TIDINGS_FOLLOWING_LIMIT;
        return false;
    }
    model_bucket_take(&bucket, op, t);
    if (!already) {
        model_user(model, author); /* who may not have been heard of before */
        model->follows = model_room(model->follows, model->n_follows + 1, sizeof *model->follows);
        model->follows[model->n_follows++] =
            (struct model_follow){.fan = fan, .author = author, .since = t, .turn = model->turn};
        model_event(model, TIDINGS_EVENT_FOLLOW_CREATED, t, fan, author, 0, +1);
    }
    answer->changed = !already;
    answer->following = true;
    answer->mutual = model_follows(model, author, fan);
    return true;
}

static bool drop_follow(struct model *model, uint64_t fan, uint64_t author)
{
    for (size_t i = 0; i < model->n_follows; i++) {
        if (model->follows[i].fan != fan || model->follows[i].author != author)
            continue;
        for (size_t j = i + 1; j < model->n_follows; j++)
            model->follows[j - 1] = model->follows[j];
        model->n_follows--;
        return true;
    }
    return false;
}

static uint64_t purge(struct model *model, uint64_t fan, uint64_t author)
{
    struct model_user *user = model_user(model, fan);
    uint64_t n = 0;

    for (size_t i = 0; i < model->n_posts; i++) {
        if (model->posts[i].author_id == author && user->cells[i].delivered) {
            user->cells[i].delivered = false;
            n++;
        }
    }
    return n;
}

static bool write_unfollow(struct model *model, const struct model_call *call,
                           struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
    uint64_t fan = op->user_id;
    uint64_t author = op->u.relation.user_id;
    struct model_bucket bucket = model_follow_bucket(model, op);

    if (!model_bucket_has(&bucket, op, t, answer))
        return false;
    model_bucket_take(&bucket, op, t);
    answer->changed = drop_follow(model, fan, author);
    if (answer->changed)
        model_event(model, TIDINGS_EVENT_FOLLOW_CANCELED, t, fan, author, 0, -1);
    if (op->u.relation.purge_inbox)
        answer->purged = purge(model, fan, author);
    if (answer->purged > 0)
        model_event(model, TIDINGS_EVENT_INBOX_PURGED, t, fan, author, 0, -(int64_t)answer->purged);
    return true;
}

static void read_status(struct model *model, const struct model_call *call,
                        struct model_answer *answer)
{
    const struct tidings_op *op = call->op;

    answer->following = model_follows(model, op->user_id, op->u.relation.user_id);
    answer->followed_by = model_follows(model, op->u.relation.user_id, op->user_id);
    answer->mutual = answer->following && answer->followed_by;
}

static void read_users(struct model *model, const struct model_call *call,
                       struct model_answer *answer)
{
    bool following = call->op->kind == TIDINGS_OP_FOLLOWING;
    uint64_t id = call->op->u.users.user_id;
    size_t limit = model_page_limit(model, &call->op->u.users.page);
    uint64_t last = 0;

    answer->user_rows = model_room(NULL, limit, sizeof *answer->user_rows);
    for (size_t i = model->n_follows; i-- > 0;) {
        const struct model_follow *follow = &model->follows[i];
        const struct model_user *other;

        if ((following ? follow->fan : follow->author) != id)
            continue;
        if (call->after.a != 0 && follow->turn >= call->after.a)
            continue;
        if (answer->n == limit) {
            answer->next.a = last;
            return;
        }
        other = model_user(model, following ? follow->author : follow->fan);
        answer->user_rows[answer->n++] =
            (struct tidings_user_row){other->id, other->name, other->avatar, follow->since};
        last = follow->turn;
    }
}

static void read_fans_among(struct model *model, const struct model_call *call,
                            struct model_answer *answer)
{
    const struct tidings_op *op = call->op;

    answer->user_ids = model_room(NULL, op->u.among.n_user_ids, sizeof *answer->user_ids);
    for (size_t i = 0; i < op->u.among.n_user_ids; i++) {
        if (model_follows(model, op->u.among.user_ids[i], op->u.among.author_id))
            answer->user_ids[answer->n++] = op->u.among.user_ids[i];
    }
}

static void read_counters(struct model *model, const struct model_call *call,
                          struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    uint64_t id = op->u.user.user_id;

    for (size_t i = 0; i < model->n_follows; i++) {
        answer->count_following += model->follows[i].fan == id;
        answer->count_followers += model->follows[i].author == id;
    }
    for (size_t i = 0; i < model->n_posts; i++)
        answer->count_posts += model->posts[i].author_id == id && !model->posts[i].deleted;
    model_count_interactions(model, id, answer);
}

/* ---- Arguments ----------------------------------------------------------------------------------- */

static const char *check_relation(const struct model *model, const struct model_call *call)
{
    (void)model;
    const struct tidings_op *op = call->op;

    if (!model_id_ok(op->u.relation.user_id))
        return "user_id";
    if (op->kind != TIDINGS_OP_STATUS && op->u.relation.user_id == op->user_id)
        return "user_id";
    return NULL;
}

static const char *check_users(const struct model *model, const struct model_call *call)
{
    return !model_id_ok(call->op->u.users.user_id)
               ? "user_id"
               : model_check_page(model, &call->op->u.users.page);
}

static const char *check_fans_among(const struct model *model, const struct model_call *call)
{
    (void)model;
    return !model_id_ok(call->op->u.among.author_id) ? "author_id" : NULL;
}

/* Somebody the viewer follows, if there is anybody. */
static uint64_t some_followed(struct generator *g, const struct model *model, uint64_t viewer)
{
    uint64_t found = 0;
    uint64_t n = 0;

    for (size_t i = 0; i < model->n_follows; i++) {
        if (model->follows[i].fan == viewer && rng_below(&g->rng, ++n) == 0)
            found = model->follows[i].author;
    }
    return n > 0 ? found : some_target(g, viewer);
}

static void relation_arguments(struct generator *g, struct run *run, struct step *step)
{
    (void)run;
    step->op.u.relation.user_id = some_target(g, step->op.user_id);
}

static void unfollow_arguments(struct generator *g, struct run *run, struct step *step)
{
    relation_arguments(g, run, step);
    if (rng_percent(&g->rng, 60))
        step->op.u.relation.user_id = some_followed(g, &run->model, step->op.user_id);
    step->op.u.relation.purge_inbox = rng_percent(&g->rng, 30);
}

static void users_arguments(struct generator *g, struct run *run, struct step *step)
{
    step->op.u.users.user_id = some_target(g, 0);
    page_arguments(g, run, step);
}

/* To when a token comes back. */
static void aim_follow(struct generator *g, struct run *run, const struct step *step)
{
    const struct tidings_settings *s = &g->recording->settings;

    aim_at_token(g, model_user(&run->model, step->op.user_id)->full_at, s->follow_burst,
                 s->follow_refill_ms);
}

static void bad_follow(struct generator *g, struct step *step)
{
    step->op.u.relation.user_id = rng_percent(&g->rng, 50) ? step->op.user_id : generate_bad_id(g);
}

static void bad_status(struct generator *g, struct step *step)
{
    step->op.u.relation.user_id = generate_bad_id(g);
}

static void bad_users(struct generator *g, struct step *step)
{
    if (rng_percent(&g->rng, 40))
        step->op.u.users.user_id = generate_bad_id(g);
    else
        generate_bad_page(g, step);
}

static void bad_fans_among(struct generator *g, struct step *step)
{
    step->op.u.among.author_id = generate_bad_id(g);
}

static void relation_report(struct report *report, const struct step *step)
{
    report_add(report, " user_id=%" PRIu64 "%s", step->op.u.relation.user_id,
               step->op.u.relation.purge_inbox ? " purge_inbox" : "");
}

static void users_report(struct report *report, const struct step *step)
{
    report_add(report, " user_id=%" PRIu64, step->op.u.users.user_id);
    page_report(report, step);
}

static void fans_among_report(struct report *report, const struct step *step)
{
    report_add(report, " author_id=%" PRIu64, step->op.u.among.author_id);
    among_report(report, step);
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void same_relation(struct diff *diff, const struct model_answer *want,
                          const struct tidings_answer *got)
{
    same_bool(diff, "changed", want->changed, got->u.relation.changed);
    same_bool(diff, "following", want->following, got->u.relation.following);
    same_bool(diff, "mutual", want->mutual, got->u.relation.mutual);
    same_u64(diff, "purged", want->purged, got->u.relation.purged);
}

static void same_status(struct diff *diff, const struct model_answer *want,
                        const struct tidings_answer *got)
{
    same_bool(diff, "following", want->following, got->u.status.following);
    same_bool(diff, "followed_by", want->followed_by, got->u.status.followed_by);
    same_bool(diff, "mutual", want->mutual, got->u.status.mutual);
}

static void same_counters(struct diff *diff, const struct model_answer *want,
                          const struct tidings_answer *got)
{
    same_u64(diff, "following", want->count_following, got->u.counters.following);
    same_u64(diff, "followers", want->count_followers, got->u.counters.followers);
    same_u64(diff, "posts", want->count_posts, got->u.counters.posts);
    same_u64(diff, "liked_posts", want->count_liked, got->u.counters.liked_posts);
    same_u64(diff, "faved_posts", want->count_faved, got->u.counters.faved_posts);
    same_u64(diff, "likes_received", want->count_likes_received, got->u.counters.likes_received);
    same_u64(diff, "favs_received", want->count_favs_received, got->u.counters.favs_received);
}

static void hold_status(struct check *check, const struct tidings_answer *answer)
{
    require(check,
            answer->u.status.mutual == (answer->u.status.following && answer->u.status.followed_by),
            "mutual is both", 0);
}

static int line_of_relation(char *line, bool changed, bool following, bool mutual, uint64_t purged)
{
    return snprintf(line, RENDER_MAX, "changed %d following %d mutual %d purged %" PRIu64, changed,
                    following, mutual, purged);
}

static int relation_line(char *line, const struct tidings_answer *a)
{
    return line_of_relation(line, a->u.relation.changed, a->u.relation.following,
                            a->u.relation.mutual, a->u.relation.purged);
}

static int model_relation_line(char *line, const struct model_answer *a)
{
    return line_of_relation(line, a->changed, a->following, a->mutual, a->purged);
}

static bool sweep_relations(struct sweep *sweep, uint64_t viewer)
{
    struct tidings_op following = question(sweep, TIDINGS_OP_FOLLOWING, viewer);
    struct tidings_op followers = question(sweep, TIDINGS_OP_FOLLOWERS, viewer);
    struct tidings_op counters = question(sweep, TIDINGS_OP_COUNTERS, viewer);
    struct tidings_op profile = question(sweep, TIDINGS_OP_PROFILE, viewer);
    uint64_t n_following;
    uint64_t n_followers;
    uint64_t posts;

    following.u.users.user_id = viewer;
    followers.u.users.user_id = viewer;
    counters.u.user.user_id = viewer;
    profile.u.user.user_id = viewer;
    if (!sweep_list(sweep, following, &n_following) ||
        !sweep_list(sweep, followers, &n_followers) ||
        !sweep_feed(sweep, TIDINGS_OP_AUTHOR_PAGE, viewer, viewer, TIDINGS_ALL, &posts) ||
        !sweep_ask(sweep, &profile) || !sweep_ask(sweep, &counters))
        return false;
    if (sweep->run->answer.u.counters.following != n_following ||
        sweep->run->answer.u.counters.followers != n_followers ||
        sweep->run->answer.u.counters.posts != posts)
        return run_fail(sweep->run, "user %" PRIu64 ": the counters are not the lists' lengths",
                        viewer);
    return true;
}

/* All of the users at once: who of them follows the viewer? */
static bool sweep_fans(struct sweep *sweep, uint64_t viewer)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_FANS_AMONG, viewer);
    uint64_t ids[MAX_USERS];

    op.u.among.author_id = viewer;
    op.u.among.user_ids = ids;
    op.u.among.n_user_ids = sweep_users(sweep, ids);
    return sweep_ask(sweep, &op);
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

const struct op_row row_follow = {
    .weights = {[MOOD_PUSH] = 8,
                [MOOD_MIXED] = 12,
                [MOOD_PUBLISH] = 3,
                [MOOD_READ] = 1,
                [MOOD_RELATE] = 55,
                [MOOD_DELETE] = 3,
                [MOOD_LOOK] = 4},
    .arguments = relation_arguments,
    .mistake = bad_follow,
    .aim = aim_follow,
    .report = relation_report,
    .check = check_relation,
    .write = write_follow,
    .compare = same_relation,
    .line = relation_line,
    .model_line = model_relation_line,
};

const struct op_row row_unfollow = {
    .weights = {[MOOD_MIXED] = 5,
                [MOOD_PUBLISH] = 2,
                [MOOD_READ] = 1,
                [MOOD_RELATE] = 20,
                [MOOD_DELETE] = 3,
                [MOOD_LOOK] = 4},
    .arguments = unfollow_arguments,
    .mistake = bad_follow,
    .aim = aim_follow,
    .report = relation_report,
    .check = check_relation,
    .write = write_unfollow,
    .compare = same_relation,
    .line = relation_line,
    .model_line = model_relation_line,
};

const struct op_row row_status = {
    .weights = {[MOOD_MIXED] = 2, [MOOD_RELATE] = 3},
    .arguments = relation_arguments,
    .mistake = bad_status,
    .report = relation_report,
    .check = check_relation,
    .read = read_status,
    .compare = same_status,
    .hold = hold_status,
};

const struct op_row row_following = {
    .weights = {[MOOD_MIXED] = 3, [MOOD_RELATE] = 8, [MOOD_LOOK] = 10},
    .page = offsetof(struct tidings_op, u.users.page),
    .next = offsetof(struct tidings_answer, u.users.next),
    .arguments = users_arguments,
    .mistake = bad_users,
    .report = users_report,
    .check = check_users,
    .read = read_users,
    .compare = same_users,
    .hold = hold_users,
    .sweep_user = sweep_relations,
};

const struct op_row row_followers = {
    .weights = {[MOOD_MIXED] = 3, [MOOD_RELATE] = 8, [MOOD_LOOK] = 10},
    .page = offsetof(struct tidings_op, u.users.page),
    .next = offsetof(struct tidings_answer, u.users.next),
    .arguments = users_arguments,
    .mistake = bad_users,
    .report = users_report,
    .check = check_users,
    .read = read_users,
    .compare = same_users,
    .hold = hold_users,
};

const struct op_row row_fans_among = {
    .weights = {[MOOD_MIXED] = 2},
    .arguments = among_arguments,
    .mistake = bad_fans_among,
    .report = fans_among_report,
    .check = check_fans_among,
    .read = read_fans_among,
    .compare = same_among,
    .sweep_user = sweep_fans,
};

const struct op_row row_counters = {
    .weights = {[MOOD_MIXED] = 2, [MOOD_RELATE] = 2, [MOOD_DELETE] = 6},
    .arguments = user_arguments,
    .mistake = generate_bad_user,
    .report = user_report,
    .check = model_check_user,
    .read = read_counters,
    .compare = same_counters,
};
