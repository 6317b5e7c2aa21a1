/* SPDX-License-Identifier: MIT */
/* Changing the authors' lists, in memory and in their table. For the writer. */
#ifndef LOCAL_LISTS_H
#define LOCAL_LISTS_H

#include "engine/view.h"

/* One post more, or one deletion more. On failure the transaction fails. */
void list_add(struct view *view, const struct realm *realm, uint64_t author, uint64_t id);
void list_delete(struct view *view, const struct realm *realm, uint64_t author, uint32_t number);

#endif
