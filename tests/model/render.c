/* SPDX-License-Identifier: MIT */
/* The engine's answers and the model's, in the same words; see render.h and model.h. */
#include "render.h"

#include "model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int line_of_relation(char *line, bool changed, bool following, bool mutual, uint64_t purged)
{
    return snprintf(line, RENDER_MAX, "changed %d following %d mutual %d purged %" PRIu64, changed,
                    following, mutual, purged);
}

static int line_of_post(char *line, const struct tidings_post *post, uint64_t total,
                        uint64_t author)
{
    return snprintf(line, RENDER_MAX,
                    "post %" PRIu64 " by %" PRIu64 " at %" PRId64 " edited %" PRId64
                    " title %zu body %zu unread %" PRIu64 " of author %" PRIu64 " score %" PRId64
                    " liked %d faved %d",
                    post->id, post->author_id, post->created_at, post->edited_at, post->title.n,
                    post->body.n, total, author, post->counts.hot_score, post->liked, post->faved);
}

static int line_of_comment(char *line, const struct tidings_comment *comment)
{
    return snprintf(line, RENDER_MAX,
                    "comment %" PRIu64 " on %" PRIu64 " under %" PRIu64 " by %" PRIu64
                    " at %" PRId64 " body %zu status %d%s",
                    comment->id, comment->post_id, comment->parent_id, comment->user_id,
                    comment->created_at, comment->body.n, (int)comment->status,
                    comment->moderated ? " moderated" : "");
}

static int line_of_reaction(char *line, bool changed, const struct tidings_counts *counts)
{
    return snprintf(line, RENDER_MAX,
                    "changed %d likes %" PRIu64 " favs %" PRIu64 " downs %" PRIu64, changed,
                    counts->like_count, counts->fav_count, counts->down_count);
}

static int line_of_mark(char *line, uint64_t marked, uint64_t total)
{
    return snprintf(line, RENDER_MAX, "marked %" PRIu64 " total %" PRIu64, marked, total);
}

static int line_of_profile(char *line, uint64_t id, size_t name, size_t avatar)
{
    return snprintf(line, RENDER_MAX, "user %" PRIu64 " name %zu avatar %zu", id, name, avatar);
}

static int line_of_scene(char *line, const struct tidings_scene *scene)
{
    return snprintf(line, RENDER_MAX,
                    "scene %" PRIu64 " of %" PRIu64 " number %" PRIu32 " at %" PRId64
                    " edited %" PRId64 " title %zu messages %zu",
                    scene->id, scene->story_id, scene->number, scene->created_at, scene->edited_at,
                    scene->title.n, scene->n_messages);
}

static int line_of_reading(char *line, bool changed, const struct tidings_reading *reading)
{
    return snprintf(
        line, RENDER_MAX,
        "changed %d story %" PRIu64 " scene %" PRIu64 " message %" PRIu64 " at %" PRId64, changed,
        reading->story_id, reading->scene_id, reading->message_id, reading->modified_at);
}

static int line_of_subscription(char *line, bool changed, bool subscribed)
{
    return snprintf(line, RENDER_MAX, "changed %d subscribed %d", changed, subscribed);
}

static int line_of_preferences(char *line, bool story_updates)
{
    return snprintf(line, RENDER_MAX, "story_updates %d", story_updates);
}

bool render_answer(const struct tidings_once *once, const struct tidings_answer *a,
                   struct tidings_text *bytes)
{
    struct render *render = once->ctx;
    char *line = render->text;
    int n = 0;

    switch (render->kind) {
    case TIDINGS_OP_FOLLOW:
    case TIDINGS_OP_UNFOLLOW:
        n = line_of_relation(line, a->u.relation.changed, a->u.relation.following,
                             a->u.relation.mutual, a->u.relation.purged);
        break;
    case TIDINGS_OP_PUBLISH:
    case TIDINGS_OP_EDIT:
        n = line_of_post(line, &a->u.post, 0, 0);
        break;
    case TIDINGS_OP_OPEN:
        n = line_of_post(line, &a->u.open.post, a->u.open.unread_total, a->u.open.unread_author);
        break;
    case TIDINGS_OP_MARK_READ:
    case TIDINGS_OP_MARK_UNREAD:
        n = line_of_mark(line, a->u.mark.marked, a->u.mark.total);
        break;
    case TIDINGS_OP_PROFILE_SET:
        n = line_of_profile(line, a->u.profile.user_id, a->u.profile.name.n, a->u.profile.avatar.n);
        break;
    case TIDINGS_OP_REACT:
    case TIDINGS_OP_UNREACT:
        n = line_of_reaction(line, a->u.reaction.changed, &a->u.reaction.counts);
        break;
    case TIDINGS_OP_COMMENT:
    case TIDINGS_OP_COMMENT_HIDE:
    case TIDINGS_OP_COMMENT_RESTORE:
        n = line_of_comment(line, &a->u.comment);
        break;
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
        n = line_of_scene(line, &a->u.scene);
        break;
    case TIDINGS_OP_READING_SET:
        n = line_of_reading(line, a->u.reading.changed, &a->u.reading.record);
        break;
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
        n = line_of_subscription(line, a->u.subscription.changed, a->u.subscription.subscribed);
        break;
    case TIDINGS_OP_PREFERENCES_SET:
        n = line_of_preferences(line, a->u.preferences.story_updates);
        break;
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        n = line_of_mark(line, a->u.notifications_mark.marked, a->u.notifications_mark.unread);
        break;
    default:
        break;
    }
    *bytes = (struct tidings_text){line, (size_t)n};
    return true;
}

struct tidings_text model_render(const struct tidings_op *op, const struct model_answer *a)
{
    char *line = model_room(NULL, RENDER_MAX, 1);
    int n = 0;

    line[0] = '\0';
    switch (op->kind) {
    case TIDINGS_OP_FOLLOW:
    case TIDINGS_OP_UNFOLLOW:
        n = line_of_relation(line, a->changed, a->following, a->mutual, a->purged);
        break;
    case TIDINGS_OP_PUBLISH:
    case TIDINGS_OP_EDIT:
        n = line_of_post(line, &a->post, 0, 0);
        break;
    case TIDINGS_OP_OPEN:
        n = line_of_post(line, &a->post, a->total, a->unread_author);
        break;
    case TIDINGS_OP_MARK_READ:
    case TIDINGS_OP_MARK_UNREAD:
        n = line_of_mark(line, a->marked, a->total);
        break;
    case TIDINGS_OP_PROFILE_SET:
        n = line_of_profile(line, a->profile_id, a->name.n, a->avatar.n);
        break;
    case TIDINGS_OP_REACT:
    case TIDINGS_OP_UNREACT:
        n = line_of_reaction(line, a->changed, &a->counts);
        break;
    case TIDINGS_OP_COMMENT:
    case TIDINGS_OP_COMMENT_HIDE:
    case TIDINGS_OP_COMMENT_RESTORE:
        n = line_of_comment(line, &a->comment);
        break;
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
        n = line_of_scene(line, &a->story.scene);
        break;
    case TIDINGS_OP_READING_SET:
        n = line_of_reading(line, a->changed, &a->story.reading);
        break;
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
        n = line_of_subscription(line, a->changed, a->story.subscribed);
        break;
    case TIDINGS_OP_PREFERENCES_SET:
        n = line_of_preferences(line, a->story.story_updates);
        break;
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        n = line_of_mark(line, a->marked, a->story.unread);
        break;
    default:
        break;
    }
    return (struct tidings_text){line, (size_t)n};
}

uint64_t render_id(struct tidings_text bytes, const char *word)
{
    size_t n = strlen(word);

    if (bytes.p == NULL || bytes.n < n || memcmp(bytes.p, word, n) != 0)
        return 0;
    return strtoull(bytes.p + n, NULL, 10);
}
