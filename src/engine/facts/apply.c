/* SPDX-License-Identifier: MIT */
#include "domain/ids.h"
#include "engine/facts/taking.h"

/* ---- What is open --------------------------------------------------------------------------- */

static void close_map(struct applier *a)
{
    if (!a->map_open)
        return;
    a->map_open = false;
    a->tie_read |= a->map.read != a->map_before;
    tie_put_readmap(a->view, &a->tie, a->map_number, &a->map, a->map_before);
}

/* Which of the posts read are deleted is counted anew: facts may say that what is deleted was read. */
void applier_close_tie(struct applier *a)
{
    close_map(a);
    if (a->tie_open && a->tie_read) {
        a->tie.pair.settled = a->tie.pair.dead_in = a->tie.pair.dead_out = 0;
        tie_settle(a->view, &a->tie);
        tie_save(a->view, &a->tie);
    }
    a->tie_open = a->tie_read = false;
}

struct tie *applier_tie(struct applier *a, enum realm realm, uint64_t fan, uint64_t author)
{
    if (a->tie_open && a->tie.realm == realm && a->tie.fan == fan && a->tie.author == author)
        return &a->tie;
    applier_close_tie(a);
    tie_load(a->view, realm, fan, author, &a->tie);
    tie_settle(a->view, &a->tie);
    a->tie_open = true;
    return &a->tie;
}

struct readmap *applier_map(struct applier *a, uint32_t number)
{
    if (a->map_open && a->map_number / READMAP_POSTS == number / READMAP_POSTS)
        return &a->map;
    close_map(a);
    tie_readmap(a->view, &a->tie, number, &a->map);
    a->map_open = true;
    a->map_number = number;
    a->map_before = a->map.read;
    return &a->map;
}

static void close_user(struct applier *a)
{
    if (!a->user)
        return;
    view_put_user(a->view, a->user, &a->record);
    if (a->shelf_changed)
        a->view->rows->put_shelf(a->view, a->user, &a->shelf);
    a->shelf_changed = false;
    a->user = 0;
}

struct user_record *applier_user(struct applier *a, uint64_t user)
{
    if (a->user == user)
        return &a->record;
    close_user(a);
    a->record = view_user(a->view, user);
    a->shelf = a->view->rows->get_shelf(a->view, user);
    a->user = user;
    return &a->record;
}

void applier_count(struct applier *a, uint64_t user, enum counter counter, int64_t delta)
{
    if (a->user == user)
        view_add(a->view, counter_of(&a->record, counter), delta);
    else
        a->view->rows->count(a->view, user, counter, delta);
}

void applier_write_history(struct applier *a)
{
    if (a->n_entries)
        a->view->rows->add_history(a->view, a->reader, a->entries, a->n_entries);
    a->n_entries = 0;
}

static void close_history(struct applier *a)
{
    applier_write_history(a);
    a->reader = 0;
}

void applier_history(struct applier *a, uint64_t reader)
{
    if (a->reader == reader)
        return;
    close_history(a);
    a->reader = reader;
    a->last = a->view->rows->newest_history(a->view, reader);
}

void applier_begin(struct applier *a, struct view *view, uint64_t newest, uint64_t limit,
                   struct fact_place place)
{
    a->view = view;
    a->newest = newest;
    a->limit = limit;
    a->place = place;
    a->tie_open = a->tie_read = a->map_open = a->shelf_changed = false;
    a->user = a->reader = 0;
    a->n_entries = 0;
}

void applier_end(struct applier *a)
{
    close_history(a);
    applier_close_tie(a);
    close_user(a);
}

void applier_note(struct applier *a, uint64_t id)
{
    if (id > a->newest)
        a->newest = id;
}

/* A time that is not in the id is stored beside it. */
static void applier_put_time(struct applier *a, uint64_t id, bool timed, uint64_t at)
{
    const struct rows *rows = a->view->rows;
    if (timed && id && id < ID_EARLY_END && at < (uint64_t)EARLY_END_MS &&
        (int64_t)at != id_time_ms(id) && rows->put_time)
        rows->put_time(a->view, id, (int64_t)at);
}

static void applier_put_times(struct applier *a, const struct fact *fact)
{
    applier_put_time(a, fact->id, fact_has(fact, HAS(at)), fact->at);
    applier_put_time(a, fact->edited_id, fact_has(fact, HAS(edited_at)), fact->edited_at);
    applier_put_time(a, fact->deleted_id, fact_has(fact, HAS(deleted_at)), fact->deleted_at);
}

uint64_t applier_post(struct applier *a, uint64_t id, struct bytes key)
{
    return id ? id : a->view->rows->get_key(a->view, KEY_POST, key);
}

/* ---- All of them ---------------------------------------------------------------------------- */

/* No id may lie so far ahead that none would be left, or that the clock had to wait for it. */
static bool ids_are_past(struct applier *a, const struct fact *fact, struct refusal *refusal)
{
    const struct {
        const char *field;
        uint64_t id;
    } ids[] = {
        {"id", fact->id},
        {"edited_id", fact->edited_id},
        {"deleted_id", fact->deleted_id},
        {"first_id", fact->first_id},
        {"changed_id", fact->changed_id},
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i].id > a->limit) {
            *refusal = (struct refusal){ids[i].field, "it lies in the future"};
            return false;
        }
    return true;
}

enum fact_step fact_step(enum fact_type type)
{
    switch (type) {
    case FACT_TIDINGS:
    case FACT_USER:
    case FACT_END:
        return STEP_OTHERS;
    case FACT_POST:
        return STEP_POSTS;
    case FACT_SCENE:
        return STEP_SCENES;
    case FACT_COMMENT:
        return STEP_COMMENTS;
    default:
        return STEP_ABOUT;
    }
}

/* Authors' posts are numbered in the order of ids, and what is about a post comes behind it. */
static bool is_in_order(const struct applier *a, const struct fact *fact, struct fact_place *place)
{
    enum fact_step step = fact_step(fact->type);
    *place = a->place;
    if (step == STEP_OTHERS)
        return true;
    *place = (struct fact_place){step, step == STEP_ABOUT ? 0 : fact->id};
    return a->place.step < step ||
           (a->place.step == step && (step == STEP_ABOUT || a->place.id < fact->id));
}

static enum fact_outcome apply(struct applier *a, const struct fact *fact, struct refusal *refusal)
{
    switch (fact->type) {
    case FACT_USER:
        return fact_take_user(a, fact);
    case FACT_POST:
        return fact_take_post(a, fact, refusal);
    case FACT_SCENE:
        return fact_take_scene(a, fact, refusal);
    case FACT_COMMENT:
        return fact_take_comment(a, fact, refusal);
    case FACT_PREFERENCES:
        return fact_take_preferences(a, fact, refusal);
    case FACT_FOLLOW:
        return fact_take_follow(a, fact, refusal);
    case FACT_UNFOLLOW:
        return fact_take_unfollow(a, fact);
    case FACT_READ:
        return fact_take_read(a, fact, refusal);
    case FACT_HISTORY:
        return fact_take_history(a, fact, refusal);
    case FACT_REACTION:
        return fact_take_reaction(a, fact, refusal);
    case FACT_SUBSCRIPTION:
        return fact_take_subscription(a, fact, refusal);
    case FACT_NOTIFIED:
        return fact_take_notified(a, fact, refusal);
    case FACT_POSITION:
        return fact_take_position(a, fact, refusal);
    case FACT_WEBHOOK:
        return fact_take_webhook(a, fact, refusal);
    case FACT_TIDINGS:
    case FACT_END:
    case FACT_TYPE_COUNT:
        break;
    }
    return fact_refuse(refusal, "type", FACT_OUT_OF_ORDER);
}

enum fact_outcome applier_take(struct applier *a, const struct fact *fact, struct refusal *refusal)
{
    struct fact_place place;
    if (!ids_are_past(a, fact, refusal))
        return FACT_REFUSED;
    if (!is_in_order(a, fact, &place))
        return fact_refuse(refusal, fact_step(fact->type) == a->place.step ? "id" : "type",
                           FACT_OUT_OF_ORDER);
    enum fact_outcome outcome = apply(a, fact, refusal);
    if (outcome != FACT_TAKEN)
        return outcome;
    a->place = place;
    if (fact->type != FACT_UNFOLLOW)
        applier_put_times(a, fact);
    applier_note(a, fact->id);
    applier_note(a, fact->edited_id);
    applier_note(a, fact->deleted_id);
    applier_note(a, fact->changed_id);
    return outcome;
}
