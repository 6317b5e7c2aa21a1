/* SPDX-License-Identifier: MIT */
#include "contract/stories.h"

uint64_t story(uint64_t author, const char *title)
{
    must((struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                             .user_id = author,
                             .role = TIDINGS_ROLE_SERVICE,
                             .u.publish = {TIDINGS_STORY, text_of(title), text_of("")}});
    return answer.u.post.id;
}

struct tidings_op scene_op(uint64_t author, uint64_t story_id, const char *title,
                           const struct tidings_message *messages, size_t n)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_SCENE_PUBLISH,
        .user_id = author,
        .u.scene = {
            .story_id = story_id, .title = text_of(title), .messages = messages, .n_messages = n}};
}

uint64_t scene(uint64_t author, uint64_t story_id, const char *title)
{
    const struct tidings_message messages[] = {{0, text_of("one")}, {0, text_of("two")}};
    must(scene_op(author, story_id, title, messages, 2));
    return answer.u.scene.id;
}

struct tidings_op edit_op(uint64_t author, uint64_t id, const char *title,
                          const struct tidings_message *messages, size_t n)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_SCENE_EDIT,
        .user_id = author,
        .u.scene = {
            .scene_id = id, .title = text_of(title), .messages = messages, .n_messages = n}};
}

enum tidings_err delete_scene(uint64_t user, enum tidings_role role, uint64_t id)
{
    return run((struct tidings_op){
        .kind = TIDINGS_OP_SCENE_DELETE, .role = role, .user_id = user, .u.scene_id.scene_id = id});
}

bool subscribe(uint64_t user, uint64_t story_id)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_SUBSCRIBE, .user_id = user, .u.post.post_id = story_id});
    assert_true(answer.u.subscription.subscribed);
    return answer.u.subscription.changed;
}

bool unsubscribe(uint64_t user, uint64_t story_id)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_UNSUBSCRIBE, .user_id = user, .u.post.post_id = story_id});
    assert_false(answer.u.subscription.subscribed);
    return answer.u.subscription.changed;
}

void want_updates(uint64_t user, bool wanted)
{
    must((struct tidings_op){.kind = TIDINGS_OP_PREFERENCES_SET,
                             .user_id = user,
                             .u.preferences.story_updates = wanted});
    assert_int_equal(answer.u.preferences.story_updates, wanted);
}

void add(struct ids *ids, uint64_t id)
{
    assert_true(ids->n < IDS_MAX);
    ids->at[ids->n++] = id;
}

void list_subscriptions(uint64_t user, struct ids *ids)
{
    struct tidings_op op = {
        .kind = TIDINGS_OP_SUBSCRIPTIONS, .user_id = user, .u.page.limit = PAGE};
    ids->n = 0;
    do {
        must(op);
        for (size_t i = 0; i < answer.u.subscriptions.n; i++)
            add(ids, answer.u.subscriptions.rows[i].story_id);
        op.u.page.after = answer.u.subscriptions.next;
    } while (answer.u.subscriptions.next.a);
}

void list_subscribers(uint64_t story_id, struct ids *ids)
{
    struct tidings_op op = {.kind = TIDINGS_OP_SUBSCRIBERS,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = DAN,
                            .u.scenes = {story_id, {PAGE, {0, 0}}}};
    ids->n = 0;
    do {
        must(op);
        for (size_t i = 0; i < answer.u.users.n; i++)
            add(ids, answer.u.users.rows[i].user_id);
        op.u.scenes.page.after = answer.u.users.next;
    } while (answer.u.users.next.a);
}
