/* SPDX-License-Identifier: MIT */
/*
 * Posts and comments as things that people react to and comment on: their counts, and what follows from these. For the
 * files of this folder, and for the engine, which makes stored orders anew.
 */
#ifndef OPS_TARGET_H
#define OPS_TARGET_H

#include "engine/view.h"

struct target {
    enum tidings_target kind;
    uint64_t id;
    uint64_t post_id;
    struct post_record post;       /* its texts live until the first put */
    struct comment_record comment; /* comments only */
};

/* The post or comment, and the post it is on. */
bool target_find(struct view *view, enum tidings_target kind, uint64_t id, struct target *target);

/* Whether it, or the post it is on, is deleted. */
static inline bool target_is_gone(const struct target *target)
{
    return target->post.deleted || (target->kind == TIDINGS_TARGET_COMMENT &&
                                    target->comment.status == TIDINGS_COMMENT_DELETED);
}

/* For an answer: NOT_FOUND; or DELETED with the post's title, except for admins. */
enum tidings_err target_look(struct view *view, struct reply *reply, enum tidings_target kind,
                             uint64_t id, struct target *target);

/* ---- Posts ---------------------------------------------------------------------------------- */

/* A post's counts as an answer gives them, with the score. */
struct tidings_counts post_counts(const struct view *view, const struct counts_record *counts);

/* What a post is ordered by in the hot list of its kind. */
uint64_t post_heat(const struct view *view, uint64_t id, const struct counts_record *counts);

/* A reaction to a post comes or goes: the post's counts, the user's, and the author's. The user's record is written by the
 * caller, and may be the author's, too (reaction.c). */
void reaction_count(struct view *view, const struct target *target, enum tidings_reaction reaction,
                    int delta, uint64_t user_id, struct user_record *user);

/* ---- Comments (comment.c) ------------------------------------------------------------------- */

struct tidings_counts comment_counts(const struct view *view, const struct comment_record *comment);

/* What a comment is ordered by among those of its parent. */
uint64_t comment_heat(const struct view *view, const struct comment_record *comment);

/* A deleted comment is listed only while it has replies that are. */
static inline bool comment_is_listed(const struct comment_record *comment)
{
    return comment->status != TIDINGS_COMMENT_DELETED || comment->listed;
}

static inline bool comment_is_visible(const struct comment_record *comment)
{
    return comment->status == TIDINGS_COMMENT_VISIBLE;
}

/* What it is listed under: a comment or the post. */
static inline uint64_t comment_parent(const struct comment_record *comment)
{
    return comment->parent ? comment->parent : comment->post;
}

/* The state that votes alone would give it; as it is, if it is deleted or a moderator has spoken. */
enum tidings_comment_status comment_folded(const struct view *view,
                                           const struct comment_record *comment);

/*
 * Changes a comment from `old`, NULL if it is new, to `now`, and all that hangs on it: its place in
 * the lists, the counts of the comments above it, and the post's. The post's counts are written,
 * too, if they change.
 */
void comment_change(struct view *view, uint64_t id, const struct post_record *post,
                    const struct comment_record *old, const struct comment_record *now);

/* Tells of what a user, or nobody (0), did with it; delta is that of the visible ones. */
void comment_tell(struct view *view, enum tidings_event_type type, uint64_t actor,
                  const struct target *target, int64_t delta);

/* The votes or the rule have changed: changes the comment, and tells if that hides or restores it. */
void comment_judge(struct view *view, uint64_t actor, const struct target *target,
                   struct comment_record *now);

#endif
