/* SPDX-License-Identifier: MIT */
/* Mistakes: arguments that no well-behaved host would give. Two in one operation show in which
 * order they are looked for. */
#include "generate.h"

#include "support/engine.h"

uint64_t generate_bad_id(struct generator *g)
{
    static const uint64_t bad[] = {0, TIDINGS_ID_MAX + 1, UINT64_MAX, UINT64_C(1) << 63};

    return bad[rng_below(&g->rng, sizeof bad / sizeof bad[0])];
}

uint64_t generate_too_great(struct generator *g)
{
    return rng_percent(&g->rng, 50) ? TIDINGS_ID_MAX + 1 : UINT64_MAX;
}

void generate_bad_page(struct generator *g, struct step *step)
{
    struct tidings_page *page = op_page(&step->op);
    uint32_t most = (uint32_t)g->recording->settings.page_max;

    if (rng_percent(&g->rng, 50)) {
        page->limit = rng_percent(&g->rng, 50) ? most + 1 : UINT32_MAX;
        return;
    }
    if (step->op.kind == TIDINGS_OP_EVENTS)
        step->post = (struct ref){0};
    if (rng_percent(&g->rng, 50))
        page->after.a = generate_too_great(g);
    else
        page->after = (struct tidings_cursor){1, generate_too_great(g)};
}

static void bad_post_ids(struct generator *g, struct step *step)
{
    size_t n = step->op.u.mark.n_post_ids;

    switch (rng_below(&g->rng, 4)) {
    case 0: /* too many */
        n = (size_t)g->recording->settings.mark_max + 1;
        step->posts = recording_room(g->recording, n * sizeof *step->posts);
        for (size_t i = 0; i < n; i++)
            step->posts[i] = (struct ref){REF_POST, 0, rng_below(&g->rng, 1 + i)};
        step->op.u.mark.n_post_ids = n;
        break;
    case 1: /* none, but a list */
        step->posts = recording_room(g->recording, sizeof *step->posts);
        step->op.u.mark.n_post_ids = 0;
        break;
    case 2: /* no list */
        step->posts = NULL;
        step->op.u.mark.n_post_ids = 0;
        break;
    default:
        if (n > 0)
            step->posts[rng_below(&g->rng, n)] = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        break;
    }
}

void generate_bad_mark(struct generator *g, struct step *step)
{
    bool read = step->op.kind != TIDINGS_OP_MARK_UNREAD; /* the others take up_to, too */

    switch (rng_below(&g->rng, 6)) {
    case 0:
        if (read)
            step->op.u.mark.author_id = generate_too_great(g);
        break;
    case 1:
        if (read)
            step->op.u.mark.author_id = g->recording->user_ids[0];
        break;
    case 2:
        if (read)
            step->up_to = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        break;
    case 3:
        if (read && engine_is_local())
            step->up_to = (struct ref){REF_BEYOND, (int64_t)rng_between(&g->rng, 1, 2), 0};
        break;
    default:
        bad_post_ids(g, step);
        break;
    }
}

static void bad_texts(struct generator *g, struct tidings_text *a, uint64_t a_most,
                      struct tidings_text *b, uint64_t b_most)
{
    switch (rng_below(&g->rng, 5)) {
    case 0:
        *a = (struct tidings_text){NULL, 0};
        *b = (struct tidings_text){NULL, 0};
        break;
    case 1:
        *a = (struct tidings_text){"", 0};
        break;
    case 2:
        *a = generate_bad_text(g, a_most);
        break;
    case 3:
        *b = generate_bad_text(g, b_most);
        break;
    default:
        *a = generate_bad_text(g, a_most);
        *b = generate_bad_text(g, b_most);
        break;
    }
}

static void bad_reaction(struct generator *g, struct step *step)
{
    struct tidings_op *op = &step->op;
    bool stats = op->kind == TIDINGS_OP_STATS;
    bool post = op->u.react.target == TIDINGS_TARGET_POST;
    static const int bad_targets[] = {0, 3, 255};
    static const int bad_reactions[] = {0, 4, 255};

    switch (rng_below(&g->rng, stats ? 2 : 4)) {
    case 0:
        step->post = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        break;
    case 1:
        op->u.react.target = (enum tidings_target)bad_targets[rng_below(&g->rng, 3)];
        break;
    case 2:
        op->u.react.reaction = (enum tidings_reaction)bad_reactions[rng_below(&g->rng, 3)];
        break;
    default: /* one that there is, but not on this */
        op->u.react.reaction = post ? TIDINGS_DOWNVOTE : TIDINGS_FAV;
        break;
    }
}

static void bad_reactors(struct generator *g, struct step *step)
{
    struct tidings_op *op = &step->op;

    switch (rng_below(&g->rng, 5)) {
    case 0:
        op->u.reactors.target = (enum tidings_target)(rng_percent(&g->rng, 50) ? 0 : 3);
        break;
    case 1:
        op->u.reactors.reaction = (enum tidings_reaction)(rng_percent(&g->rng, 50) ? 0 : 4);
        break;
    case 2: /* not on this, or not told to anybody */
        op->u.reactors.reaction =
            op->u.reactors.target == TIDINGS_TARGET_COMMENT && rng_percent(&g->rng, 50)
                ? TIDINGS_FAV
                : TIDINGS_DOWNVOTE;
        break;
    case 3:
        if (op->kind == TIDINGS_OP_REACTORS)
            step->post = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        break;
    default:
        generate_bad_page(g, step);
        break;
    }
}

static void bad_comment(struct generator *g, struct step *step)
{
    struct tidings_text *body = &step->op.u.comment.body;

    switch (rng_below(&g->rng, 5)) {
    case 0:
        step->post = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        break;
    case 1:
        step->parent = (struct ref){REF_NUMBER, 0, generate_too_great(g)};
        break;
    case 2:
        *body = (struct tidings_text){rng_percent(&g->rng, 50) ? "" : NULL, 0};
        break;
    default:
        *body = generate_bad_text(g, g->recording->settings.comment_max);
        break;
    }
}

static void bad_comments(struct generator *g, struct step *step)
{
    switch (rng_below(&g->rng, 4)) {
    case 0:
        step->post = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        break;
    case 1:
        step->parent = (struct ref){REF_NUMBER, 0, generate_too_great(g)};
        break;
    case 2:
        step->op.u.comments.sort = (enum tidings_sort)(rng_percent(&g->rng, 50) ? 3 : 255);
        break;
    default:
        generate_bad_page(g, step);
        break;
    }
}

static void bad_argument(struct generator *g, struct step *step)
{
    const struct tidings_settings *settings = &g->recording->settings;
    struct tidings_op *op = &step->op;

    switch (op->kind) {
    case TIDINGS_OP_FOLLOW:
    case TIDINGS_OP_UNFOLLOW:
        op->u.relation.user_id = rng_percent(&g->rng, 50) ? op->user_id : generate_bad_id(g);
        break;
    case TIDINGS_OP_STATUS:
        op->u.relation.user_id = generate_bad_id(g);
        break;
    case TIDINGS_OP_FANS_AMONG:
        op->u.among.author_id = generate_bad_id(g);
        break;
    case TIDINGS_OP_COUNTERS:
    case TIDINGS_OP_PROFILE:
        op->u.user.user_id = generate_bad_id(g);
        break;
    case TIDINGS_OP_PROFILE_SET:
        bad_texts(g, &op->u.profile.name, settings->name_max, &op->u.profile.avatar,
                  settings->avatar_max);
        break;
    case TIDINGS_OP_PUBLISH:
        if (rng_percent(&g->rng, 30))
            op->u.publish.kind = (enum tidings_post_kind)(rng_percent(&g->rng, 50) ? 0 : 4);
        else
            bad_texts(g, &op->u.publish.title, settings->title_max, &op->u.publish.body,
                      settings->body_max);
        break;
    case TIDINGS_OP_EDIT:
        if (rng_percent(&g->rng, 30))
            step->post = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        else
            bad_texts(g, &op->u.edit.title, settings->title_max, &op->u.edit.body,
                      settings->body_max);
        break;
    case TIDINGS_OP_DELETE:
    case TIDINGS_OP_OPEN:
    case TIDINGS_OP_HISTORY_DELETE:
    case TIDINGS_OP_POST:
        step->post = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        break;
    case TIDINGS_OP_MARK_READ:
    case TIDINGS_OP_MARK_UNREAD:
        generate_bad_mark(g, step);
        break;
    case TIDINGS_OP_FOLLOWING:
    case TIDINGS_OP_FOLLOWERS:
        if (rng_percent(&g->rng, 40))
            op->u.users.user_id = generate_bad_id(g);
        else
            generate_bad_page(g, step);
        break;
    case TIDINGS_OP_AUTHOR_PAGE:
    case TIDINGS_OP_INBOX:
        if (rng_percent(&g->rng, 30))
            op->u.feed.author_id =
                op->kind == TIDINGS_OP_INBOX ? generate_too_great(g) : generate_bad_id(g);
        else if (rng_percent(&g->rng, 40))
            op->u.feed.filter = (enum tidings_filter)(rng_percent(&g->rng, 50) ? 3 : 255);
        else
            generate_bad_page(g, step);
        break;
    case TIDINGS_OP_HISTORY:
    case TIDINGS_OP_EVENTS:
        generate_bad_page(g, step);
        break;
    case TIDINGS_OP_REACT:
    case TIDINGS_OP_UNREACT:
    case TIDINGS_OP_STATS:
        bad_reaction(g, step);
        break;
    case TIDINGS_OP_REACTORS:
    case TIDINGS_OP_REACTED:
        bad_reactors(g, step);
        break;
    case TIDINGS_OP_COMMENT:
        bad_comment(g, step);
        break;
    case TIDINGS_OP_COMMENT_DELETE:
    case TIDINGS_OP_COMMENT_HIDE:
    case TIDINGS_OP_COMMENT_RESTORE:
        step->post = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        break;
    case TIDINGS_OP_COMMENTS:
        bad_comments(g, step);
        break;
    case TIDINGS_OP_HOT:
        if (rng_percent(&g->rng, 50))
            op->u.hot.kind = (enum tidings_post_kind)(rng_percent(&g->rng, 50) ? 0 : 4);
        else
            generate_bad_page(g, step);
        break;
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
    case TIDINGS_OP_SCENE_DELETE:
    case TIDINGS_OP_SCENES:
    case TIDINGS_OP_SCENE:
    case TIDINGS_OP_READING_SET:
    case TIDINGS_OP_READING_DELETE:
    case TIDINGS_OP_READING_CLEAR:
    case TIDINGS_OP_READING:
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
    case TIDINGS_OP_SUBSCRIPTIONS:
    case TIDINGS_OP_SUBSCRIBERS:
    case TIDINGS_OP_SUBSCRIBERS_AMONG:
    case TIDINGS_OP_PREFERENCES:
    case TIDINGS_OP_PREFERENCES_SET:
    case TIDINGS_OP_NOTIFICATIONS:
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        generate_story_mistake(g, step);
        break;
    /* Not asked for here. */
    case TIDINGS_OP_WEBHOOK_SET:
    case TIDINGS_OP_WEBHOOK_DELETE:
    case TIDINGS_OP_WEBHOOK_RETRY:
    case TIDINGS_OP_WEBHOOK_REPORT:
    case TIDINGS_OP_WEBHOOKS:
    case TIDINGS_OP_WEBHOOK:
    case TIDINGS_OP_HISTORY_CLEAR:
    case TIDINGS_OP_BADGE:
    case TIDINGS_OP_UNREAD:
    case TIDINGS_OP_COUNT:
        break;
    }
}

void generate_mistake(struct generator *g, struct step *step)
{
    if (step->wild_cursor)
        return;
    step->list = 0;
    step->once = 0;
    switch (rng_below(&g->rng, 12)) {
    case 0:
        step->op.user_id = generate_bad_id(g);
        break;
    case 1:
        step->op.role = (enum tidings_role)(rng_percent(&g->rng, 50) ? 3 : 77);
        break;
    case 2:
        if (rng_percent(&g->rng, 30)) {
            step->op.kind =
                (enum tidings_op_kind)(rng_percent(&g->rng, 50) ? TIDINGS_OP_COUNT : 9999);
            break;
        }
        /* fallthrough */
    default:
        bad_argument(g, step);
        break;
    }
}
