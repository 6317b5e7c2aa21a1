/* SPDX-License-Identifier: MIT */
/* What all sources of answers have in common. */
#include "legacy/ask.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ask_users(struct ask *ask, uint64_t after, size_t most, uint64_t *users, size_t *n)
{
    return ask->table->users(ask, after, most, users, n);
}

bool ask_inboxes(struct ask *ask, const uint64_t *users, size_t n, struct legacy_inbox *inboxes)
{
    for (size_t i = 0; i < n; i++)
        inboxes[i] = (struct legacy_inbox){.user = users[i]};
    return ask->table->inboxes(ask, users, n, inboxes);
}

void ask_free(struct ask *ask)
{
    if (ask)
        ask->table->free(ask);
}

bool ask_fail(struct ask *ask, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(ask->trouble, sizeof ask->trouble, format, args);
    va_end(args);
    return false;
}

/* ---- Inboxes --------------------------------------------------------------------------------- */

bool legacy_inbox_add(struct legacy_inbox *inbox, const struct legacy_item *item)
{
    if (inbox->n == inbox->room) {
        size_t room = inbox->room ? 2 * inbox->room : 256;
        struct legacy_item *more = realloc(inbox->items, room * sizeof *more);
        if (!more)
            return false;
        inbox->items = more;
        inbox->room = room;
    }
    inbox->items[inbox->n++] = *item;
    return true;
}

static int item_by_post(const void *a, const void *b)
{
    const struct legacy_item *x = a, *y = b;
    return (x->post > y->post) - (x->post < y->post);
}

bool legacy_inbox_unite(struct legacy_inbox *inbox, size_t n_delivered)
{
    if (!n_delivered || n_delivered == inbox->n)
        return true;
    struct legacy_item *sorted = malloc(n_delivered * sizeof *sorted);
    if (!sorted)
        return false;
    memcpy(sorted, inbox->items, n_delivered * sizeof *sorted);
    qsort(sorted, n_delivered, sizeof *sorted, item_by_post);
    size_t kept = n_delivered;
    for (size_t i = n_delivered; i < inbox->n; i++)
        if (!bsearch(&inbox->items[i], sorted, n_delivered, sizeof *sorted, item_by_post))
            inbox->items[kept++] = inbox->items[i];
    inbox->n = kept;
    free(sorted);
    return true;
}

void legacy_inbox_release(struct legacy_inbox *inbox)
{
    free(inbox->items);
    free(inbox->counts);
    *inbox = (struct legacy_inbox){0};
}

/* ---- The old numbers of posts ---------------------------------------------------------------- */

uint64_t legacy_member(uint64_t post, const char *key, size_t key_n)
{
    static const char start[] = "blog:";
    size_t n = sizeof start - 1;
    uint64_t number = 0;
    if (key_n <= n || key_n > n + 18 || memcmp(key, start, n) != 0)
        return post;
    for (; n < key_n; n++) {
        if (key[n] < '0' || key[n] > '9')
            return post;
        number = number * 10 + (uint64_t)(key[n] - '0');
    }
    return number ? number : post;
}

/* Answers are taken at once, since two posts may have the same place. */
static bool members_look(struct members *members, struct legacy_item **items, size_t n,
                         bool (*look)(struct ask *ask, const uint64_t *posts, size_t n,
                                      uint64_t *found),
                         struct ask *ask)
{
    uint64_t posts[MEMBERS_PAGE], found[MEMBERS_PAGE];
    for (size_t i = 0; i < n; i++)
        posts[i] = items[i]->post;
    if (n && !look(ask, posts, n, found))
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t place = legacy_place(posts[i], MEMBERS_BITS);
        members->known[place].post = posts[i];
        members->known[place].member = items[i]->member = found[i];
    }
    return true;
}

bool members_name(struct members *members, struct legacy_item *items, size_t n,
                  bool (*look)(struct ask *ask, const uint64_t *posts, size_t n, uint64_t *found),
                  struct ask *ask)
{
    struct legacy_item *unknown[MEMBERS_PAGE];
    size_t n_unknown = 0;
    for (size_t i = 0; i < n; i++) {
        size_t place = legacy_place(items[i].post, MEMBERS_BITS);
        items[i].member = members->known[place].member;
        if (members->known[place].post != items[i].post)
            unknown[n_unknown++] = &items[i];
        if (n_unknown < MEMBERS_PAGE)
            continue;
        if (!members_look(members, unknown, n_unknown, look, ask))
            return false;
        n_unknown = 0;
    }
    return members_look(members, unknown, n_unknown, look, ask);
}
