/* SPDX-License-Identifier: MIT */
/* Users and what they wrote: posts, scenes, comments, and reactions to them. */
#include <stdlib.h>

#include "domain/ids.h"
#include "domain/markup.h"
#include "engine/facts/taking.h"
#include "engine/ops/story.h"
#include "engine/ops/target.h"

/* ---- Things --------------------------------------------------------------------------------- */

enum fact_outcome fact_take_user(struct applier *a, const struct fact *fact)
{
    struct profile_record profile = a->view->rows->get_profile(a->view, fact->user_id);
    struct profile_record now = {fact->name, fact->avatar, fact->extra};
    if (bytes_same(profile.name, now.name) && bytes_same(profile.avatar, now.avatar) &&
        bytes_same(profile.extra, now.extra))
        return FACT_REPEATED;
    a->view->rows->put_profile(a->view, fact->user_id, &now);
    return FACT_TAKEN;
}

/* The excerpt that the body gives by the settings' defaults, which an export leaves out. */
struct bytes fact_excerpt(struct view *view, struct bytes body)
{
    struct tidings_options defaults;
    tidings_options_init(&defaults);
    size_t most = defaults.settings.excerpt_max, room = most * 4;
    char *excerpt = view_array(view, view->scratch, room, 1);
    if (!excerpt)
        return (struct bytes){NULL, 0};
    return (struct bytes){(const uint8_t *)excerpt,
                          markup_excerpt(fact_text(body), most, excerpt, room)};
}

static bool is_in_use(const struct fact_messages *messages, uint64_t id)
{
    for (size_t i = 0; i < messages->n; i++)
        if (messages->at[i].id == id)
            return true;
    return false;
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void fact_set_given(struct fact *fact, uint64_t *ids, size_t n)
{
    size_t kept = 0;
    if (n)
        qsort(ids, n, sizeof *ids, by_id);
    for (size_t i = 0; i < n; i++)
        if (!is_in_use(&fact->messages, ids[i]))
            ids[kept++] = ids[i];
    if (kept)
        FACT_SET(fact, message_ids, ((struct fact_ids){ids, kept}));
}

static void set_number(struct fact *fact, uint64_t *to, uint64_t bit, uint64_t value)
{
    *to = value;
    fact->has |= value ? bit : 0;
}
#define SET_NUMBER(fact, field, value) set_number(fact, &(fact)->field, HAS(field), value)

void fact_set_position(struct fact *fact, const struct position_record *position)
{
    const struct reading *reading = &position->reading;
    SET_NUMBER(fact, read_at, (uint64_t)reading->read_at);
    SET_NUMBER(fact, scene_id, reading->scene);
    SET_NUMBER(fact, message_id, reading->message);
    SET_NUMBER(fact, entered_at, (uint64_t)reading->entered_at);
    SET_NUMBER(fact, erased_at, (uint64_t)reading->erased_at);
    SET_NUMBER(fact, first_id, position->first);
    SET_NUMBER(fact, changed_id, position->changed);
}

static bool is_new_key(struct applier *a, enum key_kind kind, const struct fact *fact)
{
    return !fact->key.n || !a->view->rows->get_key(a->view, kind, fact->key);
}

static void put_key(struct applier *a, enum key_kind kind, const struct fact *fact)
{
    if (fact->key.n)
        a->view->rows->put_key(a->view, kind, fact->key, fact->id);
}

static struct post_record post_of(struct applier *a, const struct fact *fact)
{
    struct post_record post = {
        .kind = (enum tidings_post_kind)(fact_has(fact, HAS(kind)) ? fact->kind : TIDINGS_NOTE),
        .author = fact->author_id,
        .seq = view_head(a->view, REALM_POSTS, fact->author_id)->n_posts,
        .deleted = fact->deleted_id != 0,
        .edited = fact->edited_id,
        .removed = fact->deleted_id,
        .title = fact->title,
    };
    if (post.deleted)
        return post;
    post.extra = fact->extra;
    post.excerpt = fact_has(fact, HAS(excerpt)) ? fact->excerpt : fact_excerpt(a->view, fact->body);
    return post;
}

enum fact_outcome fact_take_post(struct applier *a, const struct fact *fact,
                                 struct refusal *refusal)
{
    const struct rows *rows = a->view->rows;
    applier_close_tie(a); /* its head may be this author's */
    struct comment_record comment;
    struct post_record there;
    if (view_post(a->view, fact->id, &there) || view_comment(a->view, fact->id, &comment))
        return fact_refuse(refusal, "id", "it is there already");
    if (!is_new_key(a, KEY_POST, fact))
        return fact_refuse(refusal, "key", "it is there already");
    struct post_record post = post_of(a, fact);
    if (post.seq >= SPAN_OPEN - READMAP_POSTS)
        return fact_refuse(refusal, "author_id", "there are too many posts");

    rows->put_post(a->view, fact->id, &post);
    rows->add_number(a->view, REALM_POSTS, fact->author_id, fact->id);
    if (post.deleted) {
        rows->add_deletion(a->view, REALM_POSTS, fact->author_id, post.seq);
        if (post.kind == TIDINGS_STORY)
            rows->close_story(a->view, fact->id);
    } else {
        rows->put_body(a->view, fact->id, fact->body);
        rows->put_counts(a->view, fact->id, &post, NULL, &(struct counts_record){0});
        applier_count(a, fact->author_id, COUNTER_POSTS, +1);
    }
    put_key(a, KEY_POST, fact);
    return FACT_TAKEN;
}

/* ---- Scenes --------------------------------------------------------------------------------- */

/* All ids that messages of the scene ever had, ascending. */
static const uint64_t *sort_ids(struct applier *a, const struct fact *fact, size_t *n)
{
    size_t most = fact->messages.n + fact->message_ids.n;
    uint64_t *ids = view_array(a->view, a->view->scratch, most, sizeof *ids);
    *n = 0;
    for (size_t i = 0; ids && i < fact->messages.n; i++)
        ids[(*n)++] = fact->messages.at[i].id;
    for (size_t i = 0; ids && i < fact->message_ids.n; i++)
        ids[(*n)++] = fact->message_ids.at[i];
    if (*n)
        qsort(ids, *n, sizeof *ids, by_id);
    return ids;
}

/* In runs, as they are given. */
static void give_ids(struct applier *a, const struct fact *fact)
{
    size_t n;
    const uint64_t *ids = sort_ids(a, fact, &n);
    for (size_t from = 0, to; from < n; from = to) {
        to = from + 1;
        while (to < n && ids[to] == ids[to - 1] + ID_STEP)
            to++;
        a->view->rows->give_ids(a->view, fact->id, ids + from, to - from);
        applier_note(a, ids[to - 1]);
    }
}

/* No id twice. */
static bool ids_differ(struct applier *a, const struct fact *fact)
{
    size_t n;
    const uint64_t *ids = sort_ids(a, fact, &n);
    for (size_t i = 0; i < n; i++)
        if (!ids[i] || ids[i] > a->limit || (i && ids[i] == ids[i - 1]))
            return false;
    return true;
}

static void put_scene(struct applier *a, const struct fact *fact, const struct post_record *story,
                      uint64_t story_id)
{
    const struct rows *rows = a->view->rows;
    bool deleted = fact->deleted_id, gone = deleted || story->deleted;
    struct scene_record scene = {
        .deleted = deleted,
        .story = story_id,
        .seq = view_head(a->view, REALM_SCENES, story_id)->n_posts,
        .n_messages = gone ? 0 : (uint32_t)fact->messages.n,
        .edited = fact->edited_id,
        .removed = fact->deleted_id,
        .title = fact->title,
    };
    bool story_deleted = story->deleted;
    rows->put_scene(a->view, fact->id, &scene);
    if (!gone && fact->messages.n)
        rows->put_messages(a->view, fact->id, fact->messages.at, fact->messages.n);
    give_ids(a, fact);
    rows->add_number(a->view, REALM_SCENES, story_id, fact->id);
    if (deleted)
        rows->add_deletion(a->view, REALM_SCENES, story_id, scene.seq);
    if (story_deleted)
        rows->close_story(a->view, story_id);
}

enum fact_outcome fact_take_scene(struct applier *a, const struct fact *fact,
                                  struct refusal *refusal)
{
    uint64_t story_id = applier_post(a, fact->story_id, fact->story_key);
    struct scene_record there;
    struct post_record story;
    applier_close_tie(a);
    if (!story_id || !story_exists(a->view, story_id, &story))
        return fact_refuse(refusal, fact->story_id ? "story_id" : "story_key", FACT_UNKNOWN);
    if (view_scene(a->view, fact->id, &there))
        return fact_refuse(refusal, "id", "it is there already");
    if (view_head(a->view, REALM_SCENES, story_id)->n_posts >= SPAN_OPEN - READMAP_POSTS)
        return fact_refuse(refusal, "story_id", "there are too many scenes");
    if (!ids_differ(a, fact))
        return fact_refuse(refusal, "messages",
                           "an id is missing, is there twice, or lies in the future");
    put_scene(a, fact, &story, story_id);
    return FACT_TAKEN;
}

/* ---- Comments ------------------------------------------------------------------------------- */

enum fact_outcome fact_take_comment(struct applier *a, const struct fact *fact,
                                    struct refusal *refusal)
{
    const struct rows *rows = a->view->rows;
    uint64_t post_id = applier_post(a, fact->post_id, fact->post_key);
    uint64_t parent_id = fact->parent_id;
    struct comment_record parent, there;
    struct post_record post;
    if (!post_id || !view_post(a->view, post_id, &post))
        return fact_refuse(refusal, fact->post_id ? "post_id" : "post_key", FACT_UNKNOWN);
    if (fact->parent_key.n)
        parent_id = rows->get_key(a->view, KEY_COMMENT, fact->parent_key);
    if ((parent_id || fact->parent_key.n) &&
        (!parent_id || parent_id >= fact->id || !view_comment(a->view, parent_id, &parent) ||
         parent.post != post_id))
        return fact_refuse(refusal, fact->parent_id ? "parent_id" : "parent_key", FACT_UNKNOWN);
    if (view_comment(a->view, fact->id, &there) || fact->id == post_id)
        return fact_refuse(refusal, "id", "it is there already");
    if (!is_new_key(a, KEY_COMMENT, fact))
        return fact_refuse(refusal, "key", "it is there already");

    int status = fact_has(fact, HAS(status)) ? fact->status : TIDINGS_COMMENT_VISIBLE;
    bool deleted = status == TIDINGS_COMMENT_DELETED;
    /* What votes have folded they fold again. */
    struct comment_record comment = {
        .status = fact->moderated || deleted ? (enum tidings_comment_status)status
                                             : TIDINGS_COMMENT_VISIBLE,
        .moderated = fact->moderated,
        .post = post_id,
        .parent = parent_id,
        .user = fact->user_id,
    };
    if (!deleted)
        rows->put_comment_body(a->view, fact->id, fact->body);
    comment_change(a->view, fact->id, &post, NULL, &comment);
    put_key(a, KEY_COMMENT, fact);
    return FACT_TAKEN;
}

/* ---- Reactions ------------------------------------------------------------------------------ */

/* On a comment a later vote takes the place of the other. */
static void vote(struct applier *a, const struct target *target, struct reaction_record *mine,
                 enum tidings_reaction reaction)
{
    enum tidings_reaction other = reaction == TIDINGS_LIKE ? TIDINGS_DOWNVOTE : TIDINGS_LIKE;
    struct comment_record now = target->comment;
    if (mine->stamp[other])
        view_add(a->view, reaction == TIDINGS_LIKE ? &now.downs : &now.likes, -1);
    mine->stamp[other] = 0;
    view_add(a->view, reaction == TIDINGS_LIKE ? &now.likes : &now.downs, +1);
    now.status = comment_folded(a->view, &now);
    comment_change(a->view, target->id, &target->post, &target->comment, &now);
}

static bool find_target(struct applier *a, const struct fact *fact, struct target *target)
{
    bool on_comment = fact->has & (HAS(comment_id) | HAS(comment_key));
    uint64_t id = on_comment ? fact->comment_id : applier_post(a, fact->post_id, fact->post_key);
    if (on_comment && !id)
        id = a->view->rows->get_key(a->view, KEY_COMMENT, fact->comment_key);
    return id && target_find(a->view, on_comment ? TIDINGS_TARGET_COMMENT : TIDINGS_TARGET_POST, id,
                             target);
}

enum fact_outcome fact_take_reaction(struct applier *a, const struct fact *fact,
                                     struct refusal *refusal)
{
    enum tidings_reaction reaction = (enum tidings_reaction)fact->reaction;
    struct target target;
    if (!find_target(a, fact, &target))
        return fact_refuse(
            refusal, fact->has & (HAS(comment_id) | HAS(comment_key)) ? "comment_id" : "post_id",
            FACT_UNKNOWN);
    struct reaction_record old = a->view->rows->get_reaction(a->view, fact->user_id, target.id);
    struct reaction_record now = old;
    if (old.stamp[reaction])
        return FACT_REPEATED;
    struct list reactors = {.kind = LIST_REACTORS, .of = target.id, .reaction = reaction};
    struct list reacted = {
        .kind = LIST_REACTED, .of = fact->user_id, .reaction = reaction, .target = target.kind};
    if (a->view->rows->has_stamp(a->view, &reactors, fact->id) ||
        (reaction != TIDINGS_DOWNVOTE && a->view->rows->has_stamp(a->view, &reacted, fact->id)))
        return fact_refuse(refusal, "id", "it is there already");
    now.target = target.kind;
    now.stamp[reaction] = fact->id;
    struct user_record *user = applier_user(a, fact->user_id);
    if (target.kind == TIDINGS_TARGET_POST)
        reaction_count(a->view, &target, reaction, +1, fact->user_id, user);
    else
        vote(a, &target, &now, reaction);
    a->view->rows->put_reaction(a->view, fact->user_id, target.id, &old, &now);
    return FACT_TAKEN;
}
