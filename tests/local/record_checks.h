/* SPDX-License-Identifier: MIT */
/*
 * What must hold of anything that a decoder of records.h accepts, whatever the bytes: the
 * invariants written there, and that encoding it again and decoding that gives the same. Shared by
 * the unit test, which feeds it damaged records, and the fuzz target, which feeds it anything.
 */
#ifndef TESTS_LOCAL_RECORD_CHECKS_H
#define TESTS_LOCAL_RECORD_CHECKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "domain/heat.h"
#include "engine/local/rows/keys.h"
#include "engine/records/records.h"
#include "engine/records/stories.h"

#define MUST(condition)                                                                    \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                       \
        }                                                                                  \
    } while (0)

enum record_kind {
    RECORD_USER,
    RECORD_PROFILE,
    RECORD_PAIR,
    RECORD_READMAP,
    RECORD_POST,
    RECORD_ONCE,
    RECORD_EVENT,
    RECORD_REACTION,
    RECORD_COUNTS,
    RECORD_COMMENT,
    RECORD_RULES,
    RECORD_SCENE,
    RECORD_MESSAGES,
    RECORD_SHELF,
    RECORD_POSITION,
    RECORD_WEBHOOK,
    RECORD_HISTORY,
    RECORD_KINDS
};

static inline bool is_an_id(uint64_t id)
{
    return id >= 1 && id <= TIDINGS_ID_MAX;
}

static inline bool same_bytes(struct bytes a, struct bytes b)
{
    return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

static inline bool lies_within(struct bytes part, struct bytes whole)
{
    return !part.n || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

static inline bool check_user_record(struct bytes from)
{
    struct user_record user, again;
    uint8_t bytes[USER_RECORD_MAX];
    if (!user_decode(from, &user))
        return false;
    size_t n = user_encode(&user, bytes);
    MUST(n <= sizeof bytes);
    MUST(user_decode((struct bytes){bytes, n}, &again));
    MUST(!memcmp(&user, &again, sizeof user));
    return true;
}

static inline bool check_profile_record(struct bytes from, struct arena *arena)
{
    struct profile_record profile, again;
    if (!profile_decode(from, &profile))
        return false;
    MUST(lies_within(profile.name, from) && lies_within(profile.avatar, from));
    MUST(lies_within(profile.extra, from));
    struct bytes value = profile_encode(&profile, arena);
    MUST(value.p && profile_decode(value, &again));
    MUST(same_bytes(profile.name, again.name) && same_bytes(profile.avatar, again.avatar));
    MUST(same_bytes(profile.extra, again.extra));
    return true;
}

static inline void check_pair_skips(const struct pair *pair)
{
    struct skips skips, again;
    uint8_t bytes[SKIPS_BYTES_MAX];
    struct pair copy = {.reads_in = 1};
    if (!pair_skips(pair, &skips))
        return;
    MUST(skips.n <= PAIR_SKIPS_MAX && spans_valid(skips.at, skips.n));
    pair_set_skips(&copy, &skips, bytes);
    MUST(copy.skips.n <= sizeof bytes && pair_skips(&copy, &again));
    MUST(skips.n == again.n && !memcmp(skips.at, again.at, skips.n * sizeof *skips.at));
}

static inline bool check_pair_record(struct bytes from, struct arena *arena)
{
    struct pair pair, again;
    struct pair_sum sum;
    if (!pair_decode(from, arena, &pair, 1))
        return false;
    bool has_reads = pair.reads_in || pair.reads_out;
    bool open = pair.n_spans && pair.spans[pair.n_spans - 1].end == SPAN_OPEN;
    MUST(spans_valid(pair.spans, pair.n_spans));
    MUST(open == pair.following);
    MUST(!(pair.following && pair.paused));
    MUST(pair.following || pair.paused ? is_an_id(pair.rank) : !pair.rank);
    MUST(pair.dead_in <= pair.reads_in && pair.dead_out <= pair.reads_out);
    MUST(has_reads || (!pair.settled && !pair.skips.n));
    MUST(lies_within(pair.skips, from));
    check_pair_skips(&pair);

    uint64_t rank;
    MUST(pair_rank(from, &rank) && rank == pair.rank);

    /* The short way to the counts agrees with the long one, once the author has that many posts. */
    uint64_t delivered = spans_count(pair.spans, pair.n_spans, SPAN_OPEN - 1);
    MUST(pair_sum(from, &sum) && sum.following == pair.following);
    MUST(pair_sum_unread(sum, SPAN_OPEN - 1) == (int64_t)delivered - pair.reads_in);

    struct bytes value = pair_encode(&pair, arena);
    MUST(value.p && pair_decode(value, arena, &again, 0));
    MUST(again.following == pair.following && again.paused == pair.paused);
    MUST(again.rank == pair.rank);
    MUST(again.settled == pair.settled && again.n_spans == pair.n_spans);
    MUST(again.reads_in == pair.reads_in && again.reads_out == pair.reads_out);
    MUST(again.dead_in == pair.dead_in && again.dead_out == pair.dead_out);
    MUST(!pair.n_spans ||
         !memcmp(pair.spans, again.spans, (size_t)pair.n_spans * sizeof *pair.spans));
    MUST(same_bytes(pair.skips, again.skips));
    return true;
}

static inline bool check_readmap_record(struct bytes from)
{
    struct readmap map, again;
    uint8_t bytes[READMAP_RECORD_MAX];
    uint64_t bits;
    if (!readmap_decode(from, &map))
        return false;
    MUST(map.read && !(map.history & ~map.read) && !(map.late & ~map.history));
    MUST(readmap_decode_bits(from, &bits) && bits == map.read);
    size_t n = readmap_encode(&map, bytes);
    MUST(n <= sizeof bytes && readmap_decode((struct bytes){bytes, n}, &again));
    MUST(map.read == again.read && map.history == again.history && map.late == again.late);
    for (unsigned i = 0; i < READMAP_POSTS; i++) {
        if (readmap_has(map.read, i))
            MUST(is_an_id(map.read_stamp[i]) && map.read_stamp[i] == again.read_stamp[i]);
        if (readmap_has(map.late, i))
            MUST(is_an_id(map.late_stamp[i]) && map.late_stamp[i] == again.late_stamp[i]);
    }
    return true;
}

static inline bool check_post_record(struct bytes from, struct arena *arena)
{
    struct post_record post, again;
    if (!post_decode(from, &post))
        return false;
    MUST(post.kind >= TIDINGS_NOTE && post.kind <= TIDINGS_STORY);
    MUST(is_an_id(post.author) && post.deleted == (post.removed != 0));
    MUST(lies_within(post.title, from) && lies_within(post.excerpt, from));
    MUST(lies_within(post.extra, from));
    struct bytes value = post_encode(&post, arena);
    MUST(value.p && post_decode(value, &again));
    MUST(post.deleted == again.deleted && post.kind == again.kind && post.author == again.author);
    MUST(post.seq == again.seq && post.edited == again.edited && post.removed == again.removed);
    MUST(same_bytes(post.title, again.title) && same_bytes(post.excerpt, again.excerpt));
    MUST(same_bytes(post.extra, again.extra));
    return true;
}

static inline bool check_once_record(struct bytes from, struct arena *arena)
{
    struct once_record once, again;
    if (!once_decode(from, &once))
        return false;
    MUST(is_an_id(once.stamp));
    MUST(lies_within((struct bytes){once.fingerprint, ONCE_BYTES}, from));
    MUST(lies_within(once.answer, from));
    struct bytes value = once_encode(&once, arena);
    MUST(value.p && once_decode(value, &again));
    MUST(once.stamp == again.stamp && same_bytes(once.answer, again.answer));
    MUST(!memcmp(once.fingerprint, again.fingerprint, ONCE_BYTES));
    return true;
}

static inline bool check_event_record(struct bytes from)
{
    struct tidings_event event, again;
    uint8_t bytes[EVENT_RECORD_MAX];
    if (!event_decode(from, &event))
        return false;
    MUST(tidings_event_name(event.type) && tidings_event_action(event.type));
    size_t n = event_encode(&event, bytes);
    MUST(n <= sizeof bytes && event_decode((struct bytes){bytes, n}, &again));
    MUST(event.type == again.type && event.actor_user_id == again.actor_user_id);
    MUST(event.target_id == again.target_id && event.author_id == again.author_id);
    MUST(event.delta == again.delta && event.post_id == again.post_id);
    MUST(event.reaction == again.reaction && (unsigned)event.reaction <= TIDINGS_DOWNVOTE);
    MUST(event.post_id <= TIDINGS_ID_MAX);
    return true;
}

static inline bool check_reaction_record(struct bytes from)
{
    struct reaction_record reaction, again;
    uint8_t bytes[REACTION_RECORD_MAX];
    if (!reaction_decode(from, &reaction))
        return false;
    bool like = reaction.stamp[TIDINGS_LIKE], fav = reaction.stamp[TIDINGS_FAV];
    bool down = reaction.stamp[TIDINGS_DOWNVOTE];
    if (reaction.target == TIDINGS_TARGET_POST)
        MUST((like || fav) && !down);
    else
        MUST(like != down && !fav);
    for (int i = TIDINGS_LIKE; i < REACTIONS; i++)
        MUST(reaction.stamp[i] <= TIDINGS_ID_MAX);
    size_t n = reaction_encode(&reaction, bytes);
    MUST(n == from.n && !memcmp(bytes, from.p, n));
    MUST(reaction_decode((struct bytes){bytes, n}, &again));
    MUST(!memcmp(&reaction, &again, sizeof reaction));
    return true;
}

static inline bool check_counts_record(struct bytes from)
{
    struct counts_record counts, again;
    uint8_t bytes[COUNTS_RECORD_MAX];
    if (!counts_decode(from, &counts))
        return false;
    MUST(counts.likes <= HEAT_COUNT_MAX && counts.favs <= HEAT_COUNT_MAX);
    MUST(counts.comments <= HEAT_COUNT_MAX);
    size_t n = counts_encode(&counts, bytes);
    MUST(n <= sizeof bytes && counts_decode((struct bytes){bytes, n}, &again));
    MUST(!memcmp(&counts, &again, sizeof counts));
    return true;
}

static inline bool check_comment_record(struct bytes from)
{
    struct comment_record comment, again;
    uint8_t bytes[COMMENT_RECORD_MAX];
    if (!comment_decode(from, &comment))
        return false;
    MUST(is_an_id(comment.post) && is_an_id(comment.user) && comment.parent <= TIDINGS_ID_MAX);
    MUST(comment.status >= TIDINGS_COMMENT_VISIBLE && comment.status <= TIDINGS_COMMENT_DELETED);
    MUST(comment.likes <= HEAT_COUNT_MAX && comment.downs <= HEAT_COUNT_MAX);
    MUST(comment.replies <= HEAT_COUNT_MAX && comment.listed <= HEAT_COUNT_MAX);
    size_t n = comment_encode(&comment, bytes);
    MUST(n <= sizeof bytes && comment_decode((struct bytes){bytes, n}, &again));
    MUST(comment.status == again.status && comment.moderated == again.moderated);
    MUST(comment.post == again.post && comment.parent == again.parent);
    MUST(comment.user == again.user && comment.likes == again.likes);
    MUST(comment.downs == again.downs && comment.replies == again.replies);
    MUST(comment.listed == again.listed);
    return true;
}

static inline bool check_rules_record(struct bytes from)
{
    struct rules_record rules, again;
    uint8_t bytes[RULES_RECORD_MAX];
    if (!rules_decode(from, &rules))
        return false;
    size_t n = rules_encode(&rules, bytes);
    MUST(n <= sizeof bytes && rules_decode((struct bytes){bytes, n}, &again));
    MUST(!memcmp(rules.value, again.value, sizeof rules.value));
    MUST(rules.stage == again.stage && rules.place == again.place);
    return true;
}

static inline bool check_scene_record(struct bytes from, struct arena *arena)
{
    struct scene_record scene, again;
    if (!scene_decode(from, &scene))
        return false;
    MUST(is_an_id(scene.story) && scene.deleted == (scene.removed != 0));
    MUST(!(scene.deleted && scene.n_messages) && lies_within(scene.title, from));
    struct bytes value = scene_encode(&scene, arena);
    MUST(value.p && scene_decode(value, &again));
    MUST(scene.deleted == again.deleted && scene.story == again.story && scene.seq == again.seq);
    MUST(scene.edited == again.edited && scene.removed == again.removed);
    MUST(scene.n_messages == again.n_messages && same_bytes(scene.title, again.title));
    return true;
}

static inline struct bytes message_bytes(const struct tidings_message *message)
{
    return (struct bytes){(const uint8_t *)message->text.p, message->text.n};
}

static inline bool check_messages_record(struct bytes from, struct arena *arena)
{
    struct tidings_message *messages, *again;
    size_t n, n_again;
    if (!messages_decode(from, arena, &messages, &n))
        return false;
    MUST(n >= 1 && n <= from.n);
    struct bytes value = messages_encode(messages, n, arena);
    MUST(value.p && messages_decode(value, arena, &again, &n_again) && n == n_again);
    for (size_t i = 0; i < n; i++) {
        MUST(is_an_id(messages[i].id) && messages[i].id == again[i].id && messages[i].text.n);
        MUST(lies_within(message_bytes(&messages[i]), from));
        MUST(same_bytes(message_bytes(&messages[i]), message_bytes(&again[i])));
    }
    return true;
}

static inline bool check_shelf_record(struct bytes from)
{
    struct shelf_record shelf, again;
    uint8_t bytes[SHELF_RECORD_MAX];
    if (!shelf_decode(from, &shelf))
        return false;
    MUST(shelf.cleared <= TIDINGS_ID_MAX && shelf.quiet <= 1);
    size_t n = shelf_encode(&shelf, bytes);
    MUST(n <= sizeof bytes && shelf_decode((struct bytes){bytes, n}, &again));
    MUST(!memcmp(&shelf, &again, sizeof shelf));
    return true;
}

static inline bool check_position_record(struct bytes from)
{
    struct position_record position, again;
    const struct reading *reading = &position.reading;
    uint8_t bytes[POSITION_RECORD_MAX];
    if (!position_decode(from, &position))
        return false;
    MUST(reading->read_at >= 0 && reading->entered_at >= 0 && reading->erased_at >= 0);
    MUST(!reading->scene == !reading->read_at && (reading->scene || !reading->message));
    MUST(position.first <= position.changed && position.changed <= TIDINGS_ID_MAX);
    size_t n = position_encode(&position, bytes);
    MUST(n <= sizeof bytes && position_decode((struct bytes){bytes, n}, &again));
    MUST(!memcmp(&position, &again, sizeof position));
    return true;
}

static inline bool check_webhook_record(struct bytes from, struct arena *arena)
{
    struct webhook_record webhook, again;
    if (!webhook_decode(from, &webhook))
        return false;
    MUST(is_an_id(webhook.generation) && is_an_id(webhook.created) && is_an_id(webhook.position));
    MUST(webhook.dead_from <= webhook.position && webhook.attempts <= UINT32_MAX);
    MUST((int64_t)webhook.retry_at >= 0 && (int64_t)webhook.failing_since >= 0);
    MUST(lies_within(webhook.url, from) && lies_within(webhook.secret, from));
    MUST(lies_within(webhook.last_error, from) && lies_within(webhook.old_secret, from));
    MUST(!webhook.rotated == !webhook.old_secret.n);
    MUST(!webhook.rebuild || (webhook.fills && is_an_id(webhook.rebuild)));
    struct bytes value = webhook_encode(&webhook, arena);
    MUST(value.p && webhook_decode(value, &again));
    MUST(webhook.disabled == again.disabled && webhook.generation == again.generation);
    MUST(webhook.created == again.created);
    MUST(webhook.fills == again.fills && webhook.rebuild == again.rebuild);
#define X(field) MUST(webhook.field == again.field);
    WEBHOOK_FIELDS(X)
#undef X
    MUST(same_bytes(webhook.url, again.url) && same_bytes(webhook.secret, again.secret));
    MUST(same_bytes(webhook.last_error, again.last_error));
    MUST(webhook.events == again.events && webhook.rotated == again.rotated);
    MUST(same_bytes(webhook.old_secret, again.old_secret));
    return true;
}

/* Far from both ends of what an id may be. */
#define HISTORY_OLDEST ((struct history_entry){UINT64_C(1) << 51, UINT64_C(1) << 50})

static inline bool check_history_record(struct bytes from)
{
    struct history_block block, again;
    uint8_t bytes[HISTORY_RECORD_MAX];
    size_t n;
    if (!history_decode(from, HISTORY_OLDEST, &block))
        return false;
    MUST(block.n >= 1 && block.n <= HISTORY_ENTRIES_MAX);
    for (size_t i = 0; i < block.n; i++) {
        MUST(is_an_id(block.at[i].stamp) && is_an_id(block.at[i].post));
        MUST(!i || history_before(block.at[i - 1], block.at[i]));
    }
    /* What is coded wastefully may be more than a block takes, and is less afterwards; never the other way round. */
    size_t taken = history_encode(block.at, block.n, bytes, &n);
    MUST(taken >= 1 && taken <= block.n && n <= sizeof bytes);
    MUST(taken == block.n || (n >= HISTORY_FULL && from.n > HISTORY_FULL));
    MUST(history_decode((struct bytes){bytes, n}, block.at[0], &again) && again.n == taken);
    for (size_t i = 0; i < taken; i++)
        MUST(block.at[i].stamp == again.at[i].stamp && block.at[i].post == again.at[i].post);
    return true;
}

/* Whether the bytes are such a record. Does not return if it is accepted and yet is not sound. */
static inline bool check_record(enum record_kind kind, struct bytes from, struct arena *arena)
{
    switch (kind) {
    case RECORD_USER:
        return check_user_record(from);
    case RECORD_PROFILE:
        return check_profile_record(from, arena);
    case RECORD_PAIR:
        return check_pair_record(from, arena);
    case RECORD_READMAP:
        return check_readmap_record(from);
    case RECORD_POST:
        return check_post_record(from, arena);
    case RECORD_ONCE:
        return check_once_record(from, arena);
    case RECORD_EVENT:
        return check_event_record(from);
    case RECORD_REACTION:
        return check_reaction_record(from);
    case RECORD_COUNTS:
        return check_counts_record(from);
    case RECORD_COMMENT:
        return check_comment_record(from);
    case RECORD_RULES:
        return check_rules_record(from);
    case RECORD_SCENE:
        return check_scene_record(from, arena);
    case RECORD_MESSAGES:
        return check_messages_record(from, arena);
    case RECORD_SHELF:
        return check_shelf_record(from);
    case RECORD_POSITION:
        return check_position_record(from);
    case RECORD_WEBHOOK:
        return check_webhook_record(from, arena);
    case RECORD_HISTORY:
        return check_history_record(from);
    case RECORD_KINDS:
        break;
    }
    return false;
}

#endif
