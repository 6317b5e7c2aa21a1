/* SPDX-License-Identifier: MIT */
#include "local/record_samples.h"

#include <string.h>

struct arena arena;

int samples_begin(void **state)
{
    (void)state;
    arena_init(&arena, 1 << 20);
    return 0;
}

int samples_end(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct bytes bytes_of(const char *s)
{
    return (struct bytes){(const uint8_t *)s, strlen(s)};
}

static struct bytes keep(const uint8_t *bytes, size_t n)
{
    return (struct bytes){(const uint8_t *)arena_text(&arena, bytes, n), n};
}

struct bytes sample_user(uint64_t value)
{
    struct user_record user;
    uint8_t bytes[USER_RECORD_MAX];
#define X(field) user.field = value;
    USER_FIELDS(X)
#undef X
    user.publish_full_at = value;
    return keep(bytes, user_encode(&user, bytes));
}

struct bytes sample_profile(const char *name, const char *avatar)
{
    struct profile_record profile = {
        .name = bytes_of(name),
        .avatar = bytes_of(avatar),
        .extra = bytes_of(*avatar ? "{}" : ""),
    };
    return profile_encode(&profile, &arena);
}

struct bytes sample_pair(uint32_t n_spans, bool following, bool reads, size_t n_skips)
{
    struct span spans[64];
    struct skips skips = {.n = n_skips};
    uint8_t bytes[SKIPS_BYTES_MAX];
    struct pair pair = {.n_spans = n_spans, .spans = spans, .following = following};
    for (uint32_t i = 0; i < n_spans; i++)
        spans[i] = (struct span){i * 100 + 3, i * 100 + 90};
    if (following) {
        pair.rank = TIDINGS_ID_MAX;
        spans[n_spans - 1].end = SPAN_OPEN;
    }
    if (reads) {
        pair.settled = 4;
        pair.reads_in = 300;
        pair.dead_in = 2;
        pair.reads_out = UINT32_MAX;
        pair.dead_out = UINT32_MAX;
    }
    for (size_t i = 0; i < n_skips; i++)
        skips.at[i] = (struct span){(uint32_t)i * 3, (uint32_t)i * 3 + 1};
    pair_set_skips(&pair, &skips, bytes);
    return pair_encode(&pair, &arena);
}

static struct bytes sample_readmap(uint64_t read, uint64_t history, uint64_t late, bool one_stamp)
{
    struct readmap map = {.read = read, .history = history, .late = late};
    uint8_t bytes[READMAP_RECORD_MAX];
    for (unsigned i = 0; i < READMAP_POSTS; i++) {
        map.read_stamp[i] = one_stamp ? TIDINGS_ID_MAX : 1 + i;
        map.late_stamp[i] = one_stamp ? TIDINGS_ID_MAX : 1000 + i;
    }
    return keep(bytes, readmap_encode(&map, bytes));
}

struct bytes sample_post(bool deleted, const char *title, const char *excerpt)
{
    struct post_record post = {
        .deleted = deleted,
        .kind = TIDINGS_STORY,
        .author = TIDINGS_ID_MAX,
        .seq = UINT32_MAX,
        .edited = TIDINGS_ID_MAX,
        .removed = deleted ? TIDINGS_ID_MAX : 0,
        .title = bytes_of(title),
        .excerpt = bytes_of(excerpt),
        .extra = bytes_of(*excerpt ? "{}" : ""),
    };
    return post_encode(&post, &arena);
}

struct bytes sample_once(const char *answer)
{
    struct once_record once = {
        .stamp = TIDINGS_ID_MAX,
        .fingerprint = (const uint8_t *)"0123456789abcdef",
        .answer = bytes_of(answer),
    };
    return once_encode(&once, &arena);
}

struct bytes sample_event(uint64_t id, int64_t delta)
{
    struct tidings_event event = {
        .type = TIDINGS_EVENT_INBOX_READ,
        .actor_user_id = id,
        .target_id = id,
        .author_id = id,
        .delta = delta,
    };
    uint8_t bytes[EVENT_RECORD_MAX];
    return keep(bytes, event_encode(&event, bytes));
}

struct bytes sample_vote_event(void)
{
    struct tidings_event event = {
        .type = TIDINGS_EVENT_VOTE_CREATED,
        .actor_user_id = 1,
        .target_id = 2,
        .author_id = 3,
        .delta = 1,
        .post_id = TIDINGS_ID_MAX,
        .reaction = TIDINGS_DOWNVOTE,
    };
    uint8_t bytes[EVENT_RECORD_MAX];
    return keep(bytes, event_encode(&event, bytes));
}

struct bytes sample_reaction(enum tidings_target target, uint64_t like, uint64_t fav, uint64_t down)
{
    struct reaction_record reaction = {target, {0, like, fav, down}};
    uint8_t bytes[REACTION_RECORD_MAX];
    return keep(bytes, reaction_encode(&reaction, bytes));
}

struct bytes sample_counts(uint64_t count)
{
    struct counts_record counts = {count, count, count};
    uint8_t bytes[COUNTS_RECORD_MAX];
    return keep(bytes, counts_encode(&counts, bytes));
}

struct bytes sample_comment(enum tidings_comment_status status, uint64_t parent, uint64_t count)
{
    struct comment_record comment = {.status = status,
                                     .moderated = parent,
                                     .post = 7,
                                     .parent = parent,
                                     .user = TIDINGS_ID_MAX,
                                     .likes = count,
                                     .downs = count,
                                     .replies = count,
                                     .listed = count};
    uint8_t bytes[COMMENT_RECORD_MAX];
    return keep(bytes, comment_encode(&comment, bytes));
}

static struct bytes sample_rules(void)
{
    struct rules_record rules = {.value = {1, 2, 3, UINT64_MAX}, .stage = 2, .place = 99};
    uint8_t bytes[RULES_RECORD_MAX];
    return keep(bytes, rules_encode(&rules, bytes));
}

static struct bytes sample_paused(void)
{
    struct span spans[] = {{3, 90}};
    struct pair pair = {.paused = true, .rank = TIDINGS_ID_MAX, .n_spans = 1, .spans = spans};
    return pair_encode(&pair, &arena);
}

static struct bytes sample_scene(bool deleted, const char *title)
{
    struct scene_record scene = {
        .deleted = deleted,
        .story = TIDINGS_ID_MAX,
        .seq = UINT32_MAX,
        .n_messages = deleted ? 0 : 1000,
        .edited = TIDINGS_ID_MAX,
        .removed = deleted ? TIDINGS_ID_MAX : 0,
        .title = bytes_of(title),
    };
    return scene_encode(&scene, &arena);
}

struct bytes sample_messages(size_t n)
{
    struct tidings_message messages[3] = {
        {1, {"a", 1}}, {TIDINGS_ID_MAX, {"bc", 2}}, {2, {"d", 1}}};
    return messages_encode(messages, n, &arena);
}

static struct bytes sample_shelf(uint64_t value)
{
    struct shelf_record shelf = {value, value, value, value != 0};
    uint8_t bytes[SHELF_RECORD_MAX];
    return keep(bytes, shelf_encode(&shelf, bytes));
}

static struct bytes sample_position(uint64_t scene, uint64_t stamp)
{
    struct position_record position = {
        .reading = {.read_at = scene ? 1000 : 0,
                    .scene = scene,
                    .message = scene,
                    .entered_at = (int64_t)stamp,
                    .erased_at = (int64_t)stamp},
        .first = stamp,
        .changed = stamp,
    };
    uint8_t bytes[POSITION_RECORD_MAX];
    return keep(bytes, position_encode(&position, bytes));
}

static struct bytes sample_webhook(uint64_t id, uint64_t number, const char *text)
{
    struct webhook_record webhook = {
        .disabled = *text,
        .generation = id,
        .created = id,
        .position = id,
        .dead_from = number ? id : 0,
        .retry_at = number,
        .attempts = number & UINT32_MAX,
        .dead = number,
        .url = bytes_of(text),
        .secret = bytes_of(text),
        .last_error = bytes_of(text),
        .events = number ? UINT64_C(1) << TIDINGS_EVENT_POST_PUBLISHED : 0,
        .rotated = *text ? number : 0,
        .old_secret = bytes_of(text),
        .fills = number,
        .rebuild = *text && number ? id : 0,
    };
    return webhook_encode(&webhook, &arena);
}

struct bytes sample_history(size_t n, uint64_t stamps, int64_t posts)
{
    struct history_entry entries[HISTORY_ENTRIES_MAX] = {HISTORY_OLDEST};
    uint8_t bytes[HISTORY_RECORD_MAX];
    size_t used;
    for (size_t i = 1; i < n; i++)
        entries[i] = (struct history_entry){entries[i - 1].stamp + stamps,
                                            entries[i - 1].post + (uint64_t)posts};
    assert_int_equal(history_encode(entries, n, bytes, &used), n);
    return keep(bytes, used);
}

size_t make_samples(struct sample *to)
{
    const struct sample samples[] = {
        {RECORD_USER, sample_user(0), false},
        {RECORD_USER, sample_user(127), false},
        {RECORD_USER, sample_user(TIDINGS_ID_MAX), false},
        {RECORD_PROFILE, sample_profile("", ""), false},
        {RECORD_PROFILE, sample_profile("Ann", "https://example.org/a.png"), false},
        {RECORD_PAIR, sample_pair(0, false, true, 0), true},
        {RECORD_PAIR, sample_pair(1, true, false, 0), true},
        {RECORD_PAIR, sample_pair(1, false, false, 0), true},
        {RECORD_PAIR, sample_pair(3, true, true, 2), true},
        {RECORD_PAIR, sample_pair(4, true, true, PAIR_SKIPS_MAX), true},
        {RECORD_PAIR, sample_pair(64, false, true, 1), true},
        {RECORD_READMAP, sample_readmap(1, 0, 0, true), false},
        {RECORD_READMAP, sample_readmap(~UINT64_C(0), 0, 0, true), false},
        {RECORD_READMAP, sample_readmap(~UINT64_C(0), ~UINT64_C(0), 0, false), false},
        {RECORD_READMAP, sample_readmap(0xff, 0x0f, 0x03, false), false},
        {RECORD_READMAP, sample_readmap(~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0), false), false},
        {RECORD_READMAP, sample_readmap(UINT64_C(1) << 63, UINT64_C(1) << 63, 0, false), false},
        {RECORD_POST, sample_post(false, "", ""), false},
        {RECORD_POST, sample_post(false, "A title", "An excerpt"), false},
        {RECORD_POST, sample_post(true, "A title", ""), false},
        {RECORD_ONCE, sample_once(""), true},
        {RECORD_ONCE, sample_once("{\"changed\":true}"), true},
        {RECORD_EVENT, sample_event(0, 0), false},
        {RECORD_EVENT, sample_event(TIDINGS_ID_MAX, INT64_MAX), false},
        {RECORD_EVENT, sample_event(UINT64_MAX, INT64_MIN), false},
        {RECORD_EVENT, sample_vote_event(), false},
        {RECORD_REACTION, sample_reaction(TIDINGS_TARGET_POST, 1, TIDINGS_ID_MAX, 0), false},
        {RECORD_REACTION, sample_reaction(TIDINGS_TARGET_POST, 0, 5, 0), false},
        {RECORD_REACTION, sample_reaction(TIDINGS_TARGET_COMMENT, 0, 0, 5), false},
        {RECORD_COUNTS, sample_counts(0), false},
        {RECORD_COUNTS, sample_counts(HEAT_COUNT_MAX), false},
        {RECORD_COMMENT, sample_comment(TIDINGS_COMMENT_VISIBLE, 0, 0), false},
        {RECORD_COMMENT, sample_comment(TIDINGS_COMMENT_HIDDEN, 8, HEAT_COUNT_MAX), false},
        {RECORD_COMMENT, sample_comment(TIDINGS_COMMENT_DELETED, 8, 300), false},
        {RECORD_RULES, sample_rules(), false},
        {RECORD_PAIR, sample_paused(), true},
        {RECORD_SCENE, sample_scene(false, "A title"), false},
        {RECORD_SCENE, sample_scene(true, ""), false},
        {RECORD_MESSAGES, sample_messages(1), false},
        {RECORD_MESSAGES, sample_messages(3), false},
        {RECORD_SHELF, sample_shelf(0), false},
        {RECORD_SHELF, sample_shelf(TIDINGS_ID_MAX), false},
        {RECORD_POSITION, sample_position(0, 0), false},
        {RECORD_POSITION, sample_position(TIDINGS_ID_MAX, TIDINGS_ID_MAX), false},
        {RECORD_WEBHOOK, sample_webhook(1, 0, ""), false},
        {RECORD_WEBHOOK, sample_webhook(TIDINGS_ID_MAX, INT64_MAX, "https://a.example/"), false},
        {RECORD_HISTORY, sample_history(1, 0, 0), false},
        {RECORD_HISTORY, sample_history(60, 0, 16), false},
        {RECORD_HISTORY, sample_history(20, 1 << 28, -(1 << 20)), false},
        {RECORD_HISTORY, sample_history(7, UINT64_C(1) << 40 | 1, INT64_C(1) << 40 | 1), false},
    };
    memcpy(to, samples, sizeof samples);
    return COUNT_OF(samples);
}

bool accepts(enum record_kind kind, const uint8_t *bytes, size_t n)
{
    struct arena scratch;
    uint8_t *exact = malloc(n ? n : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, n);
    arena_init(&scratch, 1 << 20);
    bool accepted = check_record(kind, (struct bytes){exact, n}, &scratch);
    arena_release(&scratch);
    free(exact);
    return accepted;
}
