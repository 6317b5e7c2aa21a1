/* SPDX-License-Identifier: MIT */
/*
 * Posts and comments as things that people react to and comment on: their counts, and the lists
 * that the counts order. Whoever changes a count or a state comes through here, so that record and
 * lists cannot part.
 */
#ifndef LOCAL_TARGET_H
#define LOCAL_TARGET_H

#include "engine/ops/ops.h"

struct target {
    enum tidings_target kind;
    uint64_t id;
    uint64_t post_id;
    struct post_record post;       /* its texts belong to the transaction */
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

/* What the user thinks of it; zeros if nothing. */
struct reaction_record view_reaction(struct view *view, uint64_t user, uint64_t target);

/* ---- Posts ---------------------------------------------------------------------------------- */

/* Zeros if there are none. */
struct counts_record view_counts(struct view *view, uint64_t post);

/* The same as an answer gives them, with the score. */
struct tidings_counts post_counts(const struct view *view, const struct counts_record *counts);

/* The post's place in the hot list of its kind. */
struct key post_hot_key(const struct view *view, uint64_t id, const struct post_record *post,
                        const struct counts_record *counts);

/* Changes the counts, and the post's place in the hot list if it has one. */
void counts_change(struct view *view, uint64_t id, const struct post_record *post,
                   const struct counts_record *old, const struct counts_record *now);

/* Puts a new post into the hot list, or takes a deleted one out of it. */
void hot_enter(struct view *view, uint64_t id, const struct post_record *post);
void hot_leave(struct view *view, uint64_t id, const struct post_record *post,
               const struct counts_record *counts);

/* ---- Comments ------------------------------------------------------------------------------- */

bool view_comment(struct view *view, uint64_t id, struct comment_record *comment);

struct tidings_counts comment_counts(const struct view *view, const struct comment_record *comment);

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

struct key comment_hot_key(const struct view *view, uint64_t id,
                           const struct comment_record *comment);

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

/* The event that a comment became visible or ceased to be. */
void comment_event(struct view *view, enum tidings_event_type type, uint64_t actor, uint64_t id,
                   const struct comment_record *comment, const struct post_record *post,
                   int64_t delta);

/* As an answer shows it to the viewer, with the body of a hidden one only if that is wanted. */
void comment_show(struct view *view, struct reply *reply, uint64_t id,
                  const struct comment_record *comment, bool hidden_too,
                  struct tidings_comment *out);

#endif
