/* SPDX-License-Identifier: MIT */
/* Reading what has to do with stories, and the changes that several capabilities share. */
#ifndef LOCAL_STORY_H
#define LOCAL_STORY_H

#include "engine/records/stories.h"
#include "engine/inbox/tie.h"

/* scene.c */

/* The story: NOT_FOUND if it is no post or no story, DELETED if it is deleted; the post in any case
 * but the first. */
enum tidings_err view_story(struct view *view, uint64_t id, struct post_record *story);

/* Whether there is such a scene. Its title belongs to the transaction. */
bool view_scene(struct view *view, uint64_t id, struct scene_record *scene);

/* Whether the scene, deleted or not, has or ever had a message with that id. */
bool scene_had_message(struct view *view, uint64_t scene, uint64_t message);

static inline const struct head *view_story_head(const struct view *view, uint64_t story)
{
    return view_head_in(view, &realm_scenes, story);
}

/* subscription.c */

/* The user's shelf; zeros if there is none. */
struct shelf_record view_shelf(struct view *view, uint64_t user);
void view_put_shelf(struct view *view, uint64_t user, const struct shelf_record *shelf);

#endif
