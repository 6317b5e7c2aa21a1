/* SPDX-License-Identifier: MIT */
/* What other capabilities need of stories; for the files of this folder alone. */
#ifndef OPS_STORY_H
#define OPS_STORY_H

#include "engine/view.h"

/* The story: NOT_FOUND if it is no post or no story, DELETED if it is deleted, with its title in the answer; the post in
 * any case but the first. */
enum tidings_err story_find(struct view *view, struct reply *reply, uint64_t id,
                            struct post_record *story);

/* Whether there is such a story, deleted or not. */
bool story_exists(struct view *view, uint64_t id, struct post_record *story);

/* Whether there is, or was, such a place in the story: a scene (0: none yet), and a message of it (0 likewise). */
bool story_has_place(struct view *view, uint64_t story, uint64_t scene, uint64_t message);
/* Whether a reader may have stopped there: messages of a deleted story may be removed, and their ids with them. */
bool story_had_place(struct view *view, uint64_t story_id, uint64_t scene_id, uint64_t message);

#endif
