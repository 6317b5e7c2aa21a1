/* SPDX-License-Identifier: MIT */
/* Authors' heads, and those of stories: how much there is of them is in their row, the rest in memory. */
#include <stdlib.h>

#include "engine/cluster/rows/desk.h"
#include "engine/inbox/tie.h"

static const struct {
    enum kind head, post, deletion;
    unsigned position;
} realms[] = {
    [REALM_POSTS] = {KIND_AUTHOR, KIND_POST, KIND_DELETION, POST_POSITION},
    [REALM_SCENES] = {KIND_STORY, KIND_SCENE, KIND_SCENE_DELETION, SCENE_POSITION},
};

struct positioned_head {
    struct head head;
    const uint64_t *positions; /* of the posts */
};

/* The first n deletions in the order of their numbers. */
static const uint32_t *sort_deleted(struct view *view, const struct known_found *found, uint32_t n)
{
    if (n == found->n_deleted)
        return found->sorted;
    uint32_t *sorted = view_array(view, view->scratch, n, sizeof *sorted);
    for (uint32_t i = 0, at; sorted && i < n; i++) {
        for (at = i; at && sorted[at - 1] > found->deleted[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = found->deleted[i];
    }
    return sorted;
}

/* ---- What is wanted ------------------------------------------------------------------------- */

static void want(struct desk_view *own, const struct wanted_head *wanted)
{
    struct desk *desk = own->desk;
    own->incomplete = true;
    if (desk->n_wanted_heads == desk->wanted_heads_room) {
        enum { FIRST = 64 };
        size_t room = desk->wanted_heads_room ? desk->wanted_heads_room * 2 : FIRST;
        struct wanted_head *grown = realloc(desk->wanted_heads, room * sizeof *grown);
        if (!grown) {
            view_fail(&own->view, TIDINGS_NO_MEMORY);
            return;
        }
        desk->wanted_heads = grown;
        desk->wanted_heads_room = room;
    }
    desk->wanted_heads[desk->n_wanted_heads++] = *wanted;
}

static int by_head(const void *a, const void *b)
{
    const struct wanted_head *x = a, *y = b;
    if (x->key.realm != y->key.realm)
        return x->key.realm < y->key.realm ? -1 : 1;
    if (x->key.author != y->key.author)
        return x->key.author < y->key.author ? -1 : 1;
    return (x->key.remade > y->key.remade) - (x->key.remade < y->key.remade);
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t greater(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

void desk_sort_wanted_heads(struct desk *desk)
{
    struct wanted_head *all = desk->wanted_heads;
    size_t n = 0;
    if (desk->n_wanted_heads)
        qsort(all, desk->n_wanted_heads, sizeof *all, by_head);
    for (size_t i = 0; i < desk->n_wanted_heads; i++) {
        if (!n || by_head(&all[n - 1], &all[i])) {
            all[n++] = all[i];
            continue;
        }
        all[n - 1].from_ids = lesser(all[n - 1].from_ids, all[i].from_ids);
        all[n - 1].to_ids = greater(all[n - 1].to_ids, all[i].to_ids);
        all[n - 1].from_deleted = lesser(all[n - 1].from_deleted, all[i].from_deleted);
        all[n - 1].to_deleted = greater(all[n - 1].to_deleted, all[i].to_deleted);
    }
    desk->n_wanted_heads = n;
}

bool desk_tear(struct desk *desk, struct known_key key)
{
    enum { FIRST = 8 };
    if (desk->n_torn == desk->torn_room) {
        size_t room = desk->torn_room ? desk->torn_room * 2 : FIRST;
        struct known_key *grown = realloc(desk->torn, room * sizeof *grown);
        if (!grown)
            return false;
        desk->torn = grown;
        desk->torn_room = room;
    }
    desk->torn[desk->n_torn++] = key;
    return true;
}

static bool is_torn(const struct desk *desk, struct known_key key)
{
    for (size_t i = 0; i < desk->n_torn; i++)
        if (known_same(desk->torn[i], key))
            return true;
    return false;
}

/* ---- Heads ---------------------------------------------------------------------------------- */

const struct head *cluster_get_head(struct view *view, enum realm realm, uint64_t author)
{
    static const struct positioned_head none;
    struct desk_view *own = desk_view(view);
    const struct value *row = desk_get(view, realms[realm].head, author, 0, 0);
    struct positioned_head *made = view_array(view, view->scratch, 1, sizeof *made);
    if (!row || !made)
        return &none.head;
    struct known_key key = {realm, author, row->numbers[AUTHOR_REMADE]};
    struct known_found found = {0};
    uint32_t posts = (uint32_t)row->numbers[AUTHOR_POSTS];
    uint32_t ids = own->need == NEED_IDS ? posts : 0;
    uint32_t deleted = own->need == NEED_COUNTS ? 0 : (uint32_t)row->numbers[AUTHOR_DELETED];
    if (ids || deleted) /* the row says all that is needed of most */
        found = known_find(own->desk->known, &own->desk->guest, key);
    bool known = found.n_deleted >= deleted && found.n_ids >= ids;
    if (!known && is_torn(own->desk, key)) {
        view_corrupt(view);
        return &none.head;
    }
    if (!known) {
        want(own, &(struct wanted_head){key, found.n_ids, ids, found.n_deleted, deleted});
        return &none.head;
    }
    *made = (struct positioned_head){
        .head =
            {
                .author = author,
                .last_id = row->numbers[AUTHOR_LAST_ID],
                .n_posts = posts,
                .n_deleted = deleted,
                .ids = found.ids,
                .deleted = found.deleted,
                .deleted_sorted = sort_deleted(view, &found, deleted),
            },
        .positions = found.positions,
    };
    return &made->head;
}

/* The row as it is, or a new one. */
static struct value row_of(struct view *view, enum kind kind, uint64_t id)
{
    const struct value *row = desk_get(view, kind, id, 0, 0);
    struct value value = row ? *row : (struct value){0};
    value.exists = true;
    return value;
}

/* What is imported has its position already. */
static void give_position(struct view *view, enum realm realm, uint64_t id)
{
    if (desk_view(view)->importing)
        return;
    struct value post = row_of(view, realms[realm].post, id);
    post.numbers[realms[realm].position] = POSITION_LATER + ++desk_view(view)->desk->n_positions;
    desk_put(view, realms[realm].post, id, 0, 0, &post);
}

void cluster_add_number(struct view *view, enum realm realm, uint64_t author, uint64_t id)
{
    struct value head = row_of(view, realms[realm].head, author);
    give_position(view, realm, id);
    head.numbers[AUTHOR_POSTS]++;
    head.numbers[AUTHOR_LAST_ID] = id;
    desk_put(view, realms[realm].head, author, 0, 0, &head);
}

void cluster_add_deletion(struct view *view, enum realm realm, uint64_t author, uint32_t number)
{
    struct value head = row_of(view, realms[realm].head, author);
    struct value deletion = {.exists = true, .numbers = {number}};
    desk_put(view, realms[realm].deletion, author, head.numbers[AUTHOR_DELETED], 0, &deletion);
    head.numbers[AUTHOR_DELETED]++;
    desk_put(view, realms[realm].head, author, 0, 0, &head);
}

void cluster_close_story(struct view *view, uint64_t story)
{
    struct value row = row_of(view, KIND_STORY, story);
    row.numbers[AUTHOR_LAST_ID] = HEAD_CLOSED;
    desk_put(view, KIND_STORY, story, 0, 0, &row);
    desk_put(view, KIND_STORY_CLOSED, story, 0, 0, &(struct value){.exists = true});
}

/* ---- For a move ----------------------------------------------------------------------------- */

void cluster_put_head(struct view *view, enum realm realm, uint64_t author, const struct head *head)
{
    struct value row = row_of(view, realms[realm].head, author);
    bool closed = head->last_id == HEAD_CLOSED || row.numbers[AUTHOR_LAST_ID] == HEAD_CLOSED;
    uint64_t last_id = head->n_posts ? head->ids[head->n_posts - 1] : 0;
    row.numbers[AUTHOR_POSTS] = head->n_posts;
    row.numbers[AUTHOR_DELETED] = head->n_deleted;
    row.numbers[AUTHOR_LAST_ID] = closed ? HEAD_CLOSED : last_id;
    desk_put(view, realms[realm].head, author, 0, 0, &row);
}

void cluster_put_deletions(struct view *view, enum realm realm, uint64_t author,
                           const uint32_t *numbers, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct value deletion = {.exists = true, .numbers = {numbers[i]}};
        desk_put(view, realms[realm].deletion, author, first + i, 0, &deletion);
    }
}

/* ---- Moments -------------------------------------------------------------------------------- */

/* Positions grow with the numbers. */
uint32_t cluster_posts_by(struct view *view, const struct head *head,
                          const struct tidings_moment *at)
{
    const uint64_t *positions = ((const struct positioned_head *)head)->positions;
    uint32_t low = 0, high = head->n_posts;
    (void)view;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (positions[middle] < at->part[0])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
