/* SPDX-License-Identifier: MIT */
/* Numbers of users, authors or posts that are collected, and then sorted, each once. Zeros are none. */
#ifndef LEGACY_ID_SET_H
#define LEGACY_ID_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_set {
    uint64_t *at;
    size_t n, room;
    bool failed; /* memory was short: something is missing */
};

void id_set_add(struct id_set *set, uint64_t id);
void id_set_sort(struct id_set *set);
/* Of those that are sorted: its place; set->n: it is not there. */
size_t id_set_find(const struct id_set *set, uint64_t id);
void id_set_release(struct id_set *set);

#endif
