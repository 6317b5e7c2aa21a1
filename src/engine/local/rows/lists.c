/* SPDX-License-Identifier: MIT */
/*
 * All lists that are read page by page. But for the history each is a run of rows with a prefix, and behind it in the key
 * one or two numbers, which are the place; what stands there is the last of them, or the row's value.
 */
#include "engine/local/rows/journal.h"
#include "engine/local/rows/rows.h"

struct form {
    enum table table;
    struct key (*prefix)(const struct list *list);
    uint8_t numbers; /* in the key */
    bool descending; /* they are stored so that greater ones come first */
    bool backwards;  /* the list is read from its end */
    bool has_value;  /* what stands there is in the value */
};

static struct key prefix_of(const struct list *list)
{
    return key_id(list->of);
}

static struct key prefix_reactors(const struct list *list)
{
    return key_reactor_list(list->of, list->reaction);
}

static struct key prefix_reacted(const struct list *list)
{
    return key_reacted_list(list->of, list->target, list->reaction);
}

static struct key prefix_comments_hot(const struct list *list)
{
    return key_row(list->of, ROW_HOT);
}

static struct key prefix_comments(const struct list *list)
{
    return key_row(list->of, ROW_REPLY);
}

static struct key prefix_hot(const struct list *list)
{
    return key_hot_list((enum tidings_post_kind)list->of);
}

static struct key prefix_reading(const struct list *list)
{
    return key_row(list->of, ROW_LATEST);
}

static struct key prefix_changes(const struct list *list)
{
    return key_row(list->of, ROW_CHANGED);
}

static const struct form forms[] = {
    [LIST_FOLLOWERS] = {TABLE_FOLLOWER, prefix_of, 1, true, false, true},
    [LIST_SUBSCRIBERS] = {TABLE_SUBSCRIBER, prefix_of, 1, true, false, true},
    [LIST_REACTORS] = {TABLE_TARGET, prefix_reactors, 1, true, false, true},
    [LIST_REACTED] = {TABLE_USER, prefix_reacted, 1, true, false, true},
    [LIST_COMMENTS_HOT] = {TABLE_TARGET, prefix_comments_hot, 2, true, false, false},
    [LIST_COMMENTS_NEW] = {TABLE_TARGET, prefix_comments, 1, false, true, false},
    [LIST_COMMENTS_OLD] = {TABLE_TARGET, prefix_comments, 1, false, false, false},
    [LIST_HOT] = {TABLE_HOT, prefix_hot, 2, true, false, false},
    [LIST_READING] = {TABLE_USER, prefix_reading, 2, true, false, false},
    [LIST_READING_CHANGES] = {TABLE_USER, prefix_changes, 2, false, false, false},
};

static void add_number(struct key *key, const struct form *form, uint64_t number)
{
    if (form->descending)
        key_add_id_descending(key, number);
    else
        key_add_id(key, number);
}

static uint64_t get_number(const struct form *form, const uint8_t *at)
{
    return form->descending ? get_id_descending(at) : get_id(at);
}

/* Where the page begins: at the row of the place behind which it goes on, or at the list's beginning. */
static struct key begin_at(const struct form *form, struct key key, struct tidings_cursor after)
{
    bool given = after.a || after.b;
    if (!given && !form->backwards)
        return key;
    add_number(&key, form, given ? after.a : ID_MASK);
    if (form->numbers > 1)
        add_number(&key, form, after.b);
    return key;
}

/* The first row behind that one. */
static bool seek(struct kv_txn *txn, const struct form *form, const struct key *from,
                 struct bytes *key, struct bytes *value)
{
    if (form->backwards)
        return kv_seek_below(txn, form->table, from, key, value);
    if (!kv_seek(txn, form->table, from, key, value))
        return false;
    bool itself = key->n == from->n && !memcmp(key->p, from->bytes, from->n);
    return !itself || kv_next(txn, form->table, key, value);
}

static bool next(struct kv_txn *txn, const struct form *form, struct bytes *key,
                 struct bytes *value)
{
    return form->backwards ? kv_prev(txn, form->table, key, value)
                           : kv_next(txn, form->table, key, value);
}

/* What the row says; false if it is damaged. */
static bool take(const struct form *form, const struct key *prefix, struct bytes key,
                 struct bytes value, struct place *place)
{
    const uint8_t *at = key.p + prefix->n;
    if (key.n != (size_t)prefix->n + form->numbers * (size_t)ID_BYTES ||
        (form->has_value && value.n != ID_BYTES))
        return false;
    place->at.a = get_number(form, at);
    place->at.b = form->numbers > 1 ? get_number(form, at + ID_BYTES) : 0;
    place->id = form->numbers > 1 ? place->at.b : place->at.a;
    if (form->has_value)
        place->id = get_id(value.p);
    return true;
}

static size_t get_history(struct view *view, const struct list *list, struct tidings_cursor after,
                          size_t most, struct place *places)
{
    struct journal_walk walk;
    struct history_entry entry;
    size_t n = 0;
    journal_walk(&walk, view, list->of, (struct history_entry){after.a, after.b});
    while (n < most && journal_next(&walk, &entry) && entry.stamp > list->beyond)
        places[n++] = (struct place){{entry.stamp, entry.post}, entry.post};
    return n;
}

size_t local_get_list(struct view *view, const struct list *list, struct tidings_cursor after,
                      size_t most, struct place *places)
{
    if (list->kind == LIST_HISTORY)
        return get_history(view, list, after, most, places);
    const struct form *form = &forms[list->kind];
    struct kv_txn *txn = txn_of(view);
    struct key prefix = form->prefix(list), from = begin_at(form, prefix, after);
    struct bytes key, value;
    size_t n = 0;
    bool found = seek(txn, form, &from, &key, &value);
    for (; found && n < most && key_has_prefix(key, &prefix); found = next(txn, form, &key, &value))
        if (!take(form, &prefix, key, value, &places[n++])) {
            view_corrupt(view);
            return 0;
        }
    return n;
}

bool local_has_stamp(struct view *view, const struct list *list, uint64_t stamp)
{
    struct tidings_cursor before = {stamp + 1, 0};
    struct place place;
    return local_get_list(view, list, before, 1, &place) && place.at.a == stamp;
}

struct history_entry local_newest_history(struct view *view, uint64_t reader)
{
    struct list list = {.kind = LIST_HISTORY, .of = reader};
    struct history_entry newest = {0};
    struct place place;
    if (local_get_list(view, &list, (struct tidings_cursor){0}, 1, &place))
        newest = (struct history_entry){place.at.a, place.at.b};
    return newest;
}
