/* SPDX-License-Identifier: MIT */
/* Who follows and reads what: pairs, read maps, the history, positions; and what else is a user's own. */
#include "base/search.h"
#include "domain/ids.h"
#include "engine/facts/taking.h"
#include "engine/ops/story.h"
#include "engine/ops/target.h"

/* ---- Pairs ---------------------------------------------------------------------------------- */

/* The numbers of the ranges' posts as spans, ascending, with room for one more. False: they are none. */
static bool find_spans(struct applier *a, const struct fact_ranges *ranges, const struct head *head,
                       bool stands, struct pair *pair)
{
    struct span *spans = view_array(a->view, a->view->scratch, ranges->n + 1, sizeof *spans);
    size_t n = 0;
    for (size_t i = 0; spans && i < ranges->n; i++) {
        struct fact_range range = ranges->at[i];
        uint32_t start = head_posts_below(head, range.first), end = SPAN_OPEN;
        if (start >= head->n_posts || head->ids[start] != range.first)
            return false;
        if (range.last)
            end = head_posts_below(head, range.last);
        if (range.last && (end >= head->n_posts || head->ids[end++] != range.last))
            return false;
        bool open = !range.last;
        if (end <= start || (n && start < spans[n - 1].end) ||
            (open && (!stands || i + 1 < ranges->n)))
            return false;
        spans_add(spans, &n, (struct span){start, end});
    }
    pair->spans = spans;
    pair->n_spans = (uint32_t)n;
    return spans != NULL;
}

/* The whole pair, as it was exported. */
static bool set_pair(struct applier *a, const struct fact *fact, struct tie *tie, bool paused)
{
    bool stands = fact_has(fact, HAS(id)), following = stands && !paused;
    struct pair *pair = &tie->pair;
    if (!find_spans(a, &fact->delivered, tie->head, following, pair))
        return false;
    bool open = pair->n_spans && pair->spans[pair->n_spans - 1].end == SPAN_OPEN;
    size_t n = pair->n_spans;
    if (following && !open)
        spans_add(pair->spans, &n, (struct span){tie->head->n_posts, SPAN_OPEN});
    pair->n_spans = (uint32_t)n;
    pair->following = following;
    pair->paused = stands && paused;
    pair->rank = stands ? fact->id : 0;
    return true;
}

/* As the author's posts were at the time of the fact: what was published later is delivered. */
static struct head head_at(const struct head *head, uint64_t id)
{
    struct head then = *head;
    then.n_posts = head_posts_below(head, id);
    return then;
}

static void save_tie(struct applier *a, struct tie *tie)
{
    tie_save(a->view, tie);
    a->tie_open = false;
}

static void count_follow(struct applier *a, const struct fact *fact, int delta)
{
    view_add(a->view, &applier_user(a, fact->user_id)->following, delta);
    applier_count(a, fact->author_id, COUNTER_FOLLOWERS, delta);
}

enum fact_outcome fact_take_follow(struct applier *a, const struct fact *fact,
                                   struct refusal *refusal)
{
    bool whole = fact_has(fact, HAS(delivered));
    struct tie *tie = applier_tie(a, REALM_POSTS, fact->user_id, fact->author_id);
    if (whole && tie->stored != TIE_NOWHERE)
        return fact_refuse(refusal, "author_id", "it is there already");
    if (tie->pair.following)
        return FACT_REPEATED;
    struct head then = head_at(tie->head, fact->id);
    struct list followers = {.kind = LIST_FOLLOWERS, .of = fact->author_id};
    if (fact->id && a->view->rows->has_stamp(a->view, &followers, fact->id))
        return fact_refuse(refusal, "id", "it is there already");
    if (!whole)
        pair_open(&tie->pair, &then, fact->id);
    else if (!set_pair(a, fact, tie, false))
        return fact_refuse(refusal, "delivered", "it is no ascending list of the author's posts");
    bool follows = tie->pair.following;
    save_tie(a, tie);
    if (follows)
        count_follow(a, fact, +1);
    return FACT_TAKEN;
}

enum fact_outcome fact_take_unfollow(struct applier *a, const struct fact *fact)
{
    struct tie *tie = applier_tie(a, REALM_POSTS, fact->user_id, fact->author_id);
    struct head then = head_at(tie->head, fact->id);
    if (!tie->pair.following)
        return FACT_REPEATED;
    pair_close(&tie->pair, &then);
    save_tie(a, tie);
    count_follow(a, fact, -1);
    return FACT_TAKEN;
}

enum fact_outcome fact_take_subscription(struct applier *a, const struct fact *fact,
                                         struct refusal *refusal)
{
    bool whole = fact_has(fact, HAS(delivered));
    uint64_t story_id = applier_post(a, fact->story_id, fact->story_key);
    struct post_record story;
    if (!story_id || !story_exists(a->view, story_id, &story))
        return fact_refuse(refusal, fact->story_id ? "story_id" : "story_key", FACT_UNKNOWN);
    applier_user(a, fact->user_id);
    struct tie *tie = applier_tie(a, REALM_SCENES, fact->user_id, story_id);
    if (whole && tie->stored != TIE_NOWHERE)
        return fact_refuse(refusal, "story_id", "it is there already");
    if (pair_stands(&tie->pair))
        return FACT_REPEATED;
    struct head then = head_at(tie->head, fact->id);
    struct list subscribers = {.kind = LIST_SUBSCRIBERS, .of = story_id};
    if (fact->id && a->view->rows->has_stamp(a->view, &subscribers, fact->id))
        return fact_refuse(refusal, "id", "it is there already");
    if (whole && !set_pair(a, fact, tie, a->shelf.quiet))
        return fact_refuse(refusal, "delivered", "it is no ascending list of the story's scenes");
    if (!whole)
        pair_open(&tie->pair, &then, fact->id);
    if (!whole && a->shelf.quiet)
        pair_pause(&tie->pair, tie->head);
    bool stands = pair_stands(&tie->pair);
    save_tie(a, tie);
    view_add(a->view, &a->shelf.subscriptions, stands);
    a->shelf_changed = true;
    return FACT_TAKEN;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static enum fact_outcome mark(struct applier *a, enum realm realm, const struct fact *fact,
                              uint64_t author, uint32_t number)
{
    applier_tie(a, realm, fact->user_id, author);
    struct readmap *map = applier_map(a, number);
    if (readmap_has(map->read, number % READMAP_POSTS))
        return FACT_REPEATED;
    readmap_mark(map, number % READMAP_POSTS, fact->id, false);
    return FACT_TAKEN;
}

enum fact_outcome fact_take_read(struct applier *a, const struct fact *fact,
                                 struct refusal *refusal)
{
    uint64_t id = applier_post(a, fact->post_id, fact->post_key);
    struct post_record post;
    if (!id || !view_post(a->view, id, &post))
        return fact_refuse(refusal, fact->post_id ? "post_id" : "post_key", FACT_UNKNOWN);
    return mark(a, REALM_POSTS, fact, post.author, post.seq);
}

/* Only what was delivered is ever notified. */
enum fact_outcome fact_take_notified(struct applier *a, const struct fact *fact,
                                     struct refusal *refusal)
{
    struct scene_record scene;
    if (!view_scene(a->view, fact->scene_id, &scene))
        return fact_refuse(refusal, "scene_id", FACT_UNKNOWN);
    if (!tie_has(applier_tie(a, REALM_SCENES, fact->user_id, scene.story), scene.seq))
        return fact_refuse(refusal, "scene_id", "it was not delivered");
    return mark(a, REALM_SCENES, fact, scene.story, scene.seq);
}

enum fact_outcome fact_take_history(struct applier *a, const struct fact *fact,
                                    struct refusal *refusal)
{
    uint64_t id = applier_post(a, fact->post_id, fact->post_key);
    struct history_entry entry = {fact->id, id};
    struct post_record post;
    if (!id || !view_post(a->view, id, &post))
        return fact_refuse(refusal, fact->post_id ? "post_id" : "post_key", FACT_UNKNOWN);
    applier_tie(a, REALM_POSTS, fact->user_id, post.author);
    struct readmap *map = applier_map(a, post.seq);
    unsigned i = post.seq % READMAP_POSTS;
    if (!readmap_has(map->read, i))
        return fact_refuse(refusal, "post_id", "it was not read");
    if (readmap_has(map->history, i))
        return FACT_REPEATED;
    applier_history(a, fact->user_id);
    if (!history_before(a->last, entry))
        return fact_refuse(refusal, "id", FACT_OUT_OF_ORDER);
    readmap_enter_history(map, i, fact->id);
    if (a->n_entries == APPLY_HISTORY)
        applier_write_history(a);
    a->last = a->entries[a->n_entries++] = entry;
    return FACT_TAKEN;
}

enum fact_outcome fact_take_position(struct applier *a, const struct fact *fact,
                                     struct refusal *refusal)
{
    const struct rows *rows = a->view->rows;
    struct position_record position = {
        .reading = {(int64_t)fact->read_at, fact->scene_id, fact->message_id,
                    (int64_t)fact->entered_at, (int64_t)fact->erased_at},
        .first = fact->first_id,
        .changed = fact->changed_id,
    };
    struct reading_shown before = {.any = false};
    if (!story_had_place(a->view, fact->story_id, fact->scene_id, fact->message_id))
        return fact_refuse(refusal, "story_id", FACT_UNKNOWN);
    if (rows->get_position(a->view, fact->user_id, fact->story_id).reading.read_at ||
        rows->get_position(a->view, fact->user_id, fact->story_id).changed)
        return fact_refuse(refusal, "story_id", "it is there already");
    applier_user(a, fact->user_id);
    struct reading_shown now = reading_show(&position.reading, (int64_t)a->shelf.cleared);
    if (now.any && !position.changed)
        return fact_refuse(refusal, "changed_id", "it is missing");
    view_add(a->view, &a->shelf.positions, now.any);
    a->shelf_changed = true;
    rows->put_position(a->view, fact->user_id, fact->story_id, &position, 0, &before, &now);
    return FACT_TAKEN;
}

/* Before all that rests on them. */
enum fact_outcome fact_take_preferences(struct applier *a, const struct fact *fact,
                                        struct refusal *refusal)
{
    applier_user(a, fact->user_id);
    if (a->shelf.subscriptions || a->shelf.positions || a->shelf.quiet || a->shelf.cleared)
        return fact_refuse(refusal, NULL, FACT_OUT_OF_ORDER);
    a->shelf.quiet = fact_has(fact, HAS(story_updates)) && !fact->story_updates;
    a->shelf.cleared = fact->cleared_at;
    a->shelf_changed = true;
    return FACT_TAKEN;
}

/* Events before it are not imported, so there is nothing that it missed. */
enum fact_outcome fact_take_webhook(struct applier *a, const struct fact *fact,
                                    struct refusal *refusal)
{
    struct tidings_text name = fact_text(fact->name);
    struct webhook_record record;
    struct webhook_row *rows;
    if (a->view->rows->get_webhook(a->view, name, &record))
        return fact_refuse(refusal, "name", "it is there already");
    if (a->view->rows->get_webhooks(a->view, &rows) >= a->view->settings->webhooks_max)
        return fact_refuse(refusal, "name", "there are too many webhooks");
    record = (struct webhook_record){
        .created = fact->id,
        .generation = fact->id,
        .position = a->view->rows->newest_position(a->view),
        .url = fact->url,
        .secret = fact->secret,
        .events = fact->events,
        .disabled = fact_has(fact, HAS(enabled)) && !fact->enabled,
    };
    a->view->rows->put_webhook(a->view, name, &record);
    return FACT_TAKEN;
}
