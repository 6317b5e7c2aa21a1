/* SPDX-License-Identifier: MIT */
/* Whether a fact's fields can be right: as an operation that would have made it is checked. */
#include "domain/check.h"
#include "engine/facts/apply.h"

enum { KEY_BYTES_MAX = TIDINGS_KEY_MAX };

/* The bounds that servers may be set to: what one of them took is not refused. */
static struct tidings_settings widest(void)
{
    return (struct tidings_settings)
    {
#define X(name, standard, least, most, text) .name = (most),
        TIDINGS_SETTINGS(X)
#undef X
    };
}

static bool check(struct tidings_op *op, uint64_t user, struct refusal *refusal)
{
    struct tidings_settings settings = widest();
    op->user_id = user;
    op->role = TIDINGS_ROLE_ADMIN;
    const char *field = check_op(op, &settings);
    if (field)
        *refusal = (struct refusal){
            field, "it is too long, missing, or not of its form (URLs are of http or https)"};
    return !field;
}

static bool is_key(struct bytes key)
{
    return key.n >= 1 && key.n <= KEY_BYTES_MAX;
}

static bool keys_are_sound(const struct fact *fact, struct refusal *refusal)
{
    const struct {
        uint64_t bit;
        struct bytes key;
        const char *field;
    } keys[] = {
        {HAS(key), fact->key, "key"},
        {HAS(post_key), fact->post_key, "post_key"},
        {HAS(comment_key), fact->comment_key, "comment_key"},
        {HAS(parent_key), fact->parent_key, "parent_key"},
        {HAS(story_key), fact->story_key, "story_key"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (fact_has(fact, keys[i].bit) && !is_key(keys[i].key)) {
            *refusal = (struct refusal){keys[i].field, "a key has 1 to 200 bytes"};
            return false;
        }
    return true;
}

static bool post_is_sound(const struct fact *fact, struct refusal *refusal)
{
    bool deleted = fact->has & (HAS(deleted_id) | HAS(deleted_at));
    struct tidings_op op = {.kind = TIDINGS_OP_PUBLISH};
    op.u.publish.kind =
        fact_has(fact, HAS(kind)) ? (enum tidings_post_kind)fact->kind : TIDINGS_NOTE;
    op.u.publish.title = fact_text(fact->title);
    if (!deleted) {
        op.u.publish.body = fact_text(fact->body);
        op.u.publish.extra = fact_text(fact->extra);
    }
    if (!check(&op, fact->author_id, refusal))
        return false;
    op.u.publish.title = fact_text(fact->excerpt);
    return !fact->excerpt.n || check(&op, fact->author_id, refusal);
}

static bool user_is_sound(const struct fact *fact, struct refusal *refusal)
{
    struct tidings_op op = {.kind = TIDINGS_OP_PROFILE_SET};
    op.u.profile.name = fact_text(fact->name);
    op.u.profile.avatar = fact_text(fact->avatar);
    op.u.profile.extra = fact_text(fact->extra);
    bool any = fact->has & (HAS(name) | HAS(avatar) | HAS(extra));
    return !any || check(&op, fact->user_id, refusal);
}

static bool scene_is_sound(const struct fact *fact, struct refusal *refusal)
{
    /* Of an edit: messages may have ids. */
    struct tidings_op op = {.kind = TIDINGS_OP_SCENE_EDIT};
    op.u.scene.scene_id = 1;
    op.u.scene.title = fact_text(fact->title);
    op.u.scene.messages = fact->messages.at;
    op.u.scene.n_messages = fact->messages.n;
    return check(&op, 1, refusal);
}

static bool comment_is_sound(const struct fact *fact, struct refusal *refusal)
{
    bool deleted = fact_has(fact, HAS(status)) && fact->status == TIDINGS_COMMENT_DELETED;
    struct tidings_op op = {.kind = TIDINGS_OP_COMMENT};
    op.u.comment.post_id = 1;
    op.u.comment.body = deleted ? (struct tidings_text){"-", 1} : fact_text(fact->body);
    return check(&op, fact->user_id, refusal);
}

static bool follow_is_sound(const struct fact *fact, struct refusal *refusal)
{
    if (fact->user_id == fact->author_id)
        *refusal = (struct refusal){"author_id", "nobody follows themselves"};
    return !refusal->reason;
}

static bool reaction_is_sound(const struct fact *fact, struct refusal *refusal)
{
    uint64_t post = fact->has & (HAS(post_id) | HAS(post_key));
    uint64_t comment = fact->has & (HAS(comment_id) | HAS(comment_key));
    bool fits = fact->reaction == TIDINGS_LIKE ||
                (fact->reaction == TIDINGS_FAV ? post != 0 : comment != 0);
    if (!post == !comment || (post & (post - 1)) || (comment & (comment - 1)))
        *refusal = (struct refusal){"post_id", "it is on a post or on a comment"};
    else if (!fits)
        *refusal =
            (struct refusal){"reaction", "posts take like and fav, comments like and downvote"};
    return !refusal->reason;
}

/* As stored: a place is read at some time; what was ever shown has both versions. */
static bool position_is_sound(const struct fact *fact, struct refusal *refusal)
{
    if (!fact->scene_id != !fact->read_at || (fact->message_id && !fact->scene_id))
        *refusal = (struct refusal){"read_at", "it goes with scene_id"};
    else if (!fact->first_id != !fact->changed_id || fact->first_id > fact->changed_id)
        *refusal = (struct refusal){"first_id", "it goes with changed_id, and is no greater"};
    return !refusal->reason;
}

static bool webhook_is_sound(const struct fact *fact, struct refusal *refusal)
{
    struct tidings_op op = {.kind = TIDINGS_OP_WEBHOOK_SET};
    op.u.webhook.name = fact_text(fact->name);
    op.u.webhook.url = fact_text(fact->url);
    op.u.webhook.secret = fact_text(fact->secret);
    op.u.webhook.events = fact->events;
    return check(&op, 1, refusal);
}

bool fact_is_sound(const struct fact *fact, struct refusal *refusal)
{
    static bool (*const checks[FACT_TYPE_COUNT])(const struct fact *, struct refusal *) = {
        [FACT_USER] = user_is_sound,         [FACT_POST] = post_is_sound,
        [FACT_SCENE] = scene_is_sound,       [FACT_COMMENT] = comment_is_sound,
        [FACT_FOLLOW] = follow_is_sound,     [FACT_UNFOLLOW] = follow_is_sound,
        [FACT_REACTION] = reaction_is_sound, [FACT_POSITION] = position_is_sound,
        [FACT_WEBHOOK] = webhook_is_sound,
    };
    *refusal = (struct refusal){0};
    return keys_are_sound(fact, refusal) &&
           (!checks[fact->type] || checks[fact->type](fact, refusal));
}
