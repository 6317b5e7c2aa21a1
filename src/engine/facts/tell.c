/* SPDX-License-Identifier: MIT */
#include "engine/facts/tell.h"

static void tell(struct teller *teller, const struct fact *fact)
{
    if (teller->sink && teller_goes_on(teller))
        teller->enough = !teller->sink->take(teller->sink, fact);
}

/* An id, and its time. */
static void tell_stamp(struct teller *teller, struct fact *fact, uint64_t id)
{
    FACT_SET(fact, id, id);
    FACT_SET(fact, at, (uint64_t)view_time(teller->view, id));
}

static bool is_wanted(const struct teller *teller, uint64_t user)
{
    return !teller->user || teller->user == user;
}

static void set_text(struct fact *fact, struct bytes *to, uint64_t bit, struct bytes text)
{
    if (!text.n)
        return;
    *to = text;
    fact->has |= bit;
}
#define SET_TEXT(fact, field, text) set_text(fact, &(fact)->field, HAS(field), text)

void tell_begin(struct teller *teller, uint64_t newest)
{
    struct fact fact = {.type = FACT_TIDINGS};
    FACT_SET(&fact, version, FACTS_VERSION);
    if (newest)
        FACT_SET(&fact, newest, newest);
    if (teller->user)
        FACT_SET(&fact, user_id, teller->user);
    tell(teller, &fact);
}

/* ---- Profiles, posts, scenes, comments ------------------------------------------------------ */

void tell_profile(struct teller *teller, uint64_t user, const struct profile_record *profile)
{
    struct fact fact = {.type = FACT_USER};
    FACT_SET(&fact, user_id, user);
    SET_TEXT(&fact, name, profile->name);
    SET_TEXT(&fact, avatar, profile->avatar);
    SET_TEXT(&fact, extra, profile->extra);
    tell(teller, &fact);
}

/* When it was edited and deleted. */
static void set_changes(struct teller *teller, struct fact *fact, uint64_t edited, uint64_t removed)
{
    if (edited) {
        FACT_SET(fact, edited_id, edited);
        FACT_SET(fact, edited_at, (uint64_t)view_time(teller->view, edited));
    }
    if (removed) {
        FACT_SET(fact, deleted_id, removed);
        FACT_SET(fact, deleted_at, (uint64_t)view_time(teller->view, removed));
    }
}

void tell_post(struct teller *teller, uint64_t id, const struct post_record *post)
{
    struct fact fact = {.type = FACT_POST};
    const struct rows *rows = teller->view->rows;
    if (!is_wanted(teller, post->author))
        return;
    struct bytes body = rows->get_body(teller->view, id);
    tell_stamp(teller, &fact, id);
    FACT_SET(&fact, author_id, post->author);
    FACT_SET(&fact, kind, (int)post->kind);
    SET_TEXT(&fact, key, rows->get_post_key(teller->view, id));
    SET_TEXT(&fact, title, post->title);
    SET_TEXT(&fact, body, body);
    SET_TEXT(&fact, extra, post->extra);
    if (!post->deleted && !bytes_same(post->excerpt, fact_excerpt(teller->view, body)))
        FACT_SET(&fact, excerpt, post->excerpt);
    set_changes(teller, &fact, post->edited, post->removed);
    tell(teller, &fact);
}

void tell_scene(struct teller *teller, uint64_t id, const struct scene_record *scene,
                uint64_t *given, size_t n_given)
{
    struct fact fact = {.type = FACT_SCENE};
    struct view *view = teller->view;
    struct post_record story;
    if (!view_post(view, scene->story, &story)) {
        view_corrupt(view);
        return;
    }
    if (!is_wanted(teller, story.author))
        return;
    tell_stamp(teller, &fact, id);
    FACT_SET(&fact, story_id, scene->story);
    SET_TEXT(&fact, title, scene->title);
    if (scene->n_messages && !story.deleted) {
        if (!view->rows->get_messages(view, id, &fact.messages.at, &fact.messages.n))
            view_corrupt(view);
        fact.has |= HAS(messages);
    }
    fact_set_given(&fact, given, n_given);
    set_changes(teller, &fact, scene->edited, scene->removed);
    tell(teller, &fact);
}

void tell_comment(struct teller *teller, uint64_t id, const struct comment_record *comment)
{
    struct fact fact = {.type = FACT_COMMENT};
    struct bytes body = {NULL, 0};
    if (!is_wanted(teller, comment->user))
        return;
    teller->view->rows->get_comment_body(teller->view, id, &body);
    tell_stamp(teller, &fact, id);
    FACT_SET(&fact, user_id, comment->user);
    FACT_SET(&fact, post_id, comment->post);
    if (comment->parent)
        FACT_SET(&fact, parent_id, comment->parent);
    SET_TEXT(&fact, body, body);
    if (comment->status != TIDINGS_COMMENT_VISIBLE)
        FACT_SET(&fact, status, (int)comment->status);
    if (comment->moderated)
        FACT_SET(&fact, moderated, true);
    tell(teller, &fact);
}

/* ---- A user's ------------------------------------------------------------------------------- */

void tell_shelf(struct teller *teller, uint64_t user, const struct shelf_record *shelf)
{
    struct fact fact = {.type = FACT_PREFERENCES};
    if (!shelf->quiet && !shelf->cleared)
        return;
    FACT_SET(&fact, user_id, user);
    if (shelf->quiet)
        FACT_SET(&fact, story_updates, false);
    if (shelf->cleared)
        FACT_SET(&fact, cleared_at, shelf->cleared);
    tell(teller, &fact);
}

/* The spans as ranges of ids. One that is open and has no posts yet follows from the rest. */
static void set_delivered(struct teller *teller, const struct tie *tie, struct fact *fact)
{
    const struct head *head = tie->head;
    struct fact_ranges ranges = {0};
    ranges.at =
        view_array(teller->view, teller->view->scratch, tie->pair.n_spans, sizeof *ranges.at);
    for (size_t i = 0; ranges.at && i < tie->pair.n_spans; i++) {
        struct span span = tie->pair.spans[i];
        bool open = span.end == SPAN_OPEN;
        if (span.start < head->n_posts && (open || span.end <= head->n_posts))
            ranges.at[ranges.n++] =
                (struct fact_range){head->ids[span.start], open ? 0 : head->ids[span.end - 1]};
        else if (!open)
            view_corrupt(teller->view);
    }
    FACT_SET(fact, delivered, ranges);
}

void tell_pair(struct teller *teller, const struct tie *tie)
{
    struct fact fact = {.type = tie->realm == REALM_POSTS ? FACT_FOLLOW : FACT_SUBSCRIPTION};
    if (pair_stands(&tie->pair))
        tell_stamp(teller, &fact, tie->pair.rank);
    FACT_SET(&fact, user_id, tie->fan);
    if (tie->realm == REALM_POSTS)
        FACT_SET(&fact, author_id, tie->author);
    else
        FACT_SET(&fact, story_id, tie->author);
    set_delivered(teller, tie, &fact);
    tell(teller, &fact);
}

void tell_map(struct teller *teller, enum realm realm, uint64_t user, uint64_t author,
              uint32_t chunk, const struct readmap *map)
{
    uint32_t first = chunk * READMAP_POSTS;
    const struct head *head = view_head(teller->view, realm, author);
    for (uint64_t left = map->read; left && teller_goes_on(teller); left &= left - 1) {
        struct fact fact = {.type = realm == REALM_POSTS ? FACT_READ : FACT_NOTIFIED};
        unsigned i = (unsigned)__builtin_ctzll(left);
        if (first + i >= head->n_posts) {
            view_corrupt(teller->view);
            return;
        }
        tell_stamp(teller, &fact, map->read_stamp[i]);
        FACT_SET(&fact, user_id, user);
        if (realm == REALM_POSTS)
            FACT_SET(&fact, post_id, head->ids[first + i]);
        else
            FACT_SET(&fact, scene_id, head->ids[first + i]);
        tell(teller, &fact);
    }
}

void tell_history(struct teller *teller, uint64_t user, struct history_entry entry,
                  uint64_t cleared)
{
    struct fact fact = {.type = FACT_HISTORY};
    if (entry.stamp <= cleared)
        return;
    tell_stamp(teller, &fact, entry.stamp);
    FACT_SET(&fact, user_id, user);
    FACT_SET(&fact, post_id, entry.post);
    tell(teller, &fact);
}

void tell_reaction(struct teller *teller, uint64_t user, uint64_t target, enum tidings_target kind,
                   enum tidings_reaction reaction, uint64_t stamp)
{
    struct fact fact = {.type = FACT_REACTION};
    tell_stamp(teller, &fact, stamp);
    FACT_SET(&fact, user_id, user);
    if (kind == TIDINGS_TARGET_POST)
        FACT_SET(&fact, post_id, target);
    else
        FACT_SET(&fact, comment_id, target);
    FACT_SET(&fact, reaction, (int)reaction);
    tell(teller, &fact);
}

void tell_position(struct teller *teller, uint64_t user, uint64_t story,
                   const struct position_record *position)
{
    struct fact fact = {.type = FACT_POSITION};
    FACT_SET(&fact, user_id, user);
    FACT_SET(&fact, story_id, story);
    fact_set_position(&fact, position);
    tell(teller, &fact);
}

/* ---- Webhooks ------------------------------------------------------------------------------- */

void tell_webhooks(struct teller *teller)
{
    struct webhook_row *rows;
    size_t n = teller->user ? 0 : teller->view->rows->get_webhooks(teller->view, &rows);
    for (size_t i = 0; i < n && teller_goes_on(teller); i++) {
        struct fact fact = {.type = FACT_WEBHOOK};
        if (!rows[i].record.url.n)
            continue; /* a consumer: how far it is means nothing elsewhere */
        tell_stamp(teller, &fact, rows[i].record.created);
        FACT_SET(&fact, name, rows[i].name);
        FACT_SET(&fact, url, rows[i].record.url);
        FACT_SET(&fact, secret, rows[i].record.secret);
        if (rows[i].record.events)
            FACT_SET(&fact, events, rows[i].record.events);
        if (rows[i].record.disabled)
            FACT_SET(&fact, enabled, false);
        tell(teller, &fact);
    }
}
