/* SPDX-License-Identifier: MIT */
/* Authors' heads, and those of stories: how much there is of them is in their row, the rest in memory. */
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
static const uint32_t *sort_deleted(struct view *view, const struct author_memory *memory,
                                    uint32_t n)
{
    if (n == memory->n_deleted)
        return memory->sorted;
    uint32_t *sorted = view_array(view, view->scratch, n, sizeof *sorted);
    for (uint32_t i = 0, at; sorted && i < n; i++) {
        for (at = i; at && sorted[at - 1] > memory->deleted[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = memory->deleted[i];
    }
    return sorted;
}

/* Whether what the operation needs is in memory; if not it is wanted. */
static bool is_here(struct desk_view *own, struct author_memory *memory, uint32_t posts,
                    uint32_t deleted)
{
    uint32_t ids = own->need == NEED_IDS ? posts : 0;
    if (memory->n_deleted >= deleted && memory->n_ids >= ids)
        return true;
    authors_want(&own->desk->authors, memory, ids, deleted);
    own->incomplete = true;
    return false;
}

const struct head *cluster_get_head(struct view *view, enum realm realm, uint64_t author)
{
    static const struct positioned_head none;
    struct desk_view *own = desk_view(view);
    const struct value *row = desk_get(view, realms[realm].head, author, 0, 0);
    struct positioned_head *made = view_array(view, view->scratch, 1, sizeof *made);
    struct author_memory *memory = authors_of(&own->desk->authors, realm, author);
    if (!row || !made || !memory)
        return &none.head;
    uint32_t posts = (uint32_t)row->numbers[AUTHOR_POSTS];
    uint32_t deleted = own->need == NEED_COUNTS ? 0 : (uint32_t)row->numbers[AUTHOR_DELETED];
    if (!is_here(own, memory, posts, deleted))
        return &none.head;
    *made = (struct positioned_head){
        .head =
            {
                .author = author,
                .last_id = row->numbers[AUTHOR_LAST_ID],
                .n_posts = posts,
                .n_deleted = deleted,
                .ids = memory->ids,
                .deleted = memory->deleted,
                .deleted_sorted = sort_deleted(view, memory, deleted),
            },
        .positions = memory->positions,
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

void cluster_add_number(struct view *view, enum realm realm, uint64_t author, uint64_t id)
{
    struct value head = row_of(view, realms[realm].head, author);
    struct value post = row_of(view, realms[realm].post, id);
    post.numbers[realms[realm].position] = POSITION_LATER + ++desk_view(view)->desk->n_positions;
    desk_put(view, realms[realm].post, id, 0, 0, &post);
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
