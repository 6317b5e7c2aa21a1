/* SPDX-License-Identifier: MIT */
/* Records to bytes and back, and what decoders make of bytes that are no records. */
#include "engine/local/records.h"

#include <string.h>

#include "local/record_checks.h"
#include "unit/test.h"

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, 1 << 20);
    return 0;
}

static int tear_down(void **state)
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

/* ---- Samples -------------------------------------------------------------------------------- */

static struct bytes sample_user(uint64_t value)
{
    struct user_record user;
    uint8_t bytes[USER_RECORD_MAX];
#define X(field) user.field = value;
    USER_FIELDS(X)
#undef X
    return keep(bytes, user_encode(&user, bytes));
}

static struct bytes sample_profile(const char *name, const char *avatar)
{
    struct profile_record profile = {bytes_of(name), bytes_of(avatar)};
    return profile_encode(&profile, &arena);
}

static struct bytes sample_pair(uint32_t n_spans, bool following, bool reads, size_t n_skips)
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

static struct bytes sample_post(bool deleted, const char *title, const char *excerpt)
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
    };
    return post_encode(&post, &arena);
}

static struct bytes sample_once(const char *answer)
{
    struct once_record once = {
        .stamp = TIDINGS_ID_MAX,
        .fingerprint = (const uint8_t *)"0123456789abcdef",
        .answer = bytes_of(answer),
    };
    return once_encode(&once, &arena);
}

static struct bytes sample_event(uint64_t id, int64_t delta)
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

static struct bytes sample_vote_event(void)
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

static struct bytes sample_reaction(enum tidings_target target, uint64_t like, uint64_t fav,
                                    uint64_t down)
{
    struct reaction_record reaction = {target, {0, like, fav, down}};
    uint8_t bytes[REACTION_RECORD_MAX];
    return keep(bytes, reaction_encode(&reaction, bytes));
}

static struct bytes sample_counts(uint64_t count)
{
    struct counts_record counts = {count, count, count};
    uint8_t bytes[COUNTS_RECORD_MAX];
    return keep(bytes, counts_encode(&counts, bytes));
}

static struct bytes sample_comment(enum tidings_comment_status status, uint64_t parent,
                                   uint64_t count)
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

static struct bytes sample_messages(size_t n)
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
    };
    return webhook_encode(&webhook, &arena);
}

/* Entries that the oldest is followed by, so much later each; 0: of one operation, and the posts as much apart. */
static struct bytes sample_history(size_t n, uint64_t stamps, int64_t posts)
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

struct sample {
    enum record_kind kind;
    struct bytes value;
    bool has_free_tail; /* ends in bytes of any length: what is cut off there is not missed */
};

enum { SAMPLES_MAX = 80 };

static size_t make_samples(struct sample *to)
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

/* A copy in memory of exactly that size, so that a sanitizer sees a byte too far. */
static bool accepts(enum record_kind kind, const uint8_t *bytes, size_t n)
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

/* ---- Round trips ---------------------------------------------------------------------------- */

static void what_is_encoded_can_be_decoded(void **state)
{
    (void)state;
    struct sample samples[SAMPLES_MAX];
    for (size_t i = 0, n = make_samples(samples); i < n; i++)
        assert_true(accepts(samples[i].kind, samples[i].value.p, samples[i].value.n));
}

static void fields_come_back_as_they_were(void **state)
{
    (void)state;
    struct user_record user;
    struct profile_record profile;
    struct post_record post;
    struct tidings_event event;
    struct once_record once;
    assert_true(user_decode(sample_user(TIDINGS_ID_MAX), &user));
    assert_int_equal(user.following, TIDINGS_ID_MAX);
    assert_int_equal(user.history_cleared, TIDINGS_ID_MAX);
    assert_true(profile_decode(sample_profile("n", "a"), &profile));
    assert_memory_equal(profile.name.p, "n", 1);
    assert_memory_equal(profile.avatar.p, "a", 1);
    assert_true(post_decode(sample_post(true, "T", "E"), &post));
    assert_true(post.deleted);
    assert_int_equal(post.kind, TIDINGS_STORY);
    assert_int_equal(post.author, TIDINGS_ID_MAX);
    assert_int_equal(post.seq, UINT32_MAX);
    assert_int_equal(post.removed, TIDINGS_ID_MAX);
    assert_memory_equal(post.title.p, "T", 1);
    assert_true(event_decode(sample_event(5, -7), &event));
    assert_int_equal(event.type, TIDINGS_EVENT_INBOX_READ);
    assert_int_equal(event.delta, -7);
    assert_true(once_decode(sample_once("body"), &once));
    assert_int_equal(once.stamp, TIDINGS_ID_MAX);
    assert_memory_equal(once.answer.p, "body", 4);
}

static void a_pair_comes_back_as_it_was(void **state)
{
    (void)state;
    struct pair pair;
    struct skips skips;
    assert_true(pair_decode(sample_pair(4, true, true, 3), &arena, &pair, 1));
    assert_true(pair.following);
    assert_int_equal(pair.rank, TIDINGS_ID_MAX);
    assert_int_equal(pair.settled, 4);
    assert_int_equal(pair.reads_in, 300);
    assert_int_equal(pair.dead_in, 2);
    assert_int_equal(pair.reads_out, UINT32_MAX);
    assert_int_equal(pair.n_spans, 4);
    assert_int_equal(pair.spans[0].start, 3);
    assert_int_equal(pair.spans[3].end, SPAN_OPEN);
    assert_true(pair_skips(&pair, &skips));
    assert_int_equal(skips.n, 3);
    assert_int_equal(skips.at[2].start, 6);
}

static void few_spans_need_no_memory(void **state)
{
    (void)state;
    struct bytes value = sample_pair(2, true, false, 0);
    struct arena nothing;
    struct pair pair;
    arena_init(&nothing, 0);
    assert_true(pair_decode(value, &nothing, &pair, 1));
    assert_ptr_equal(pair.spans, pair.inline_spans);
    assert_false(pair_decode(value, &nothing, &pair, 2)); /* refused, not overrun */
    assert_false(pair_decode(value, &nothing, &pair, UINT32_MAX));
}

static void random_records_come_back(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    for (int round = 0; round < 20000; round++) {
        struct readmap map = {.read = rng_next(&rng) & rng_next(&rng), .history = rng_next(&rng)};
        uint8_t bytes[READMAP_RECORD_MAX];
        map.read |= 1;
        map.history &= map.read;
        map.late = map.history & rng_next(&rng);
        for (unsigned i = 0; i < READMAP_POSTS; i++) {
            map.read_stamp[i] = rng_between(&rng, 1, rng_percent(&rng, 50) ? 3 : TIDINGS_ID_MAX);
            map.late_stamp[i] = rng_between(&rng, 1, TIDINGS_ID_MAX);
        }
        size_t n = readmap_encode(&map, bytes);
        assert_true(n <= sizeof bytes);
        assert_true(check_record(RECORD_READMAP, (struct bytes){bytes, n}, &arena));
    }
}

/* Anything from one of a millisecond's many to one that is years away. */
static uint64_t random_gap(struct rng *rng)
{
    static const unsigned shifts[] = {0, 4, 12};
    return (1 + rng_below(rng, UINT64_C(1) << rng_below(rng, 38))) << shifts[rng_below(rng, 3)];
}

/* However many there are: they go into blocks in their order, and come back from them. */
static void random_histories_come_back(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    enum { ENTRIES = 500 };
    struct history_entry entries[ENTRIES];
    for (int round = 0; round < 2000; round++) {
        size_t n = 1 + rng_below(&rng, ENTRIES);
        unsigned alone = (unsigned)rng_below(&rng, 101);
        entries[0] = (struct history_entry){1, rng_between(&rng, 1, TIDINGS_ID_MAX)};
        for (size_t i = 1; i < n; i++) {
            const struct history_entry *last = &entries[i - 1];
            uint64_t post = last->post + random_gap(&rng), stamp = last->stamp;
            if (rng_percent(&rng, alone) || post > TIDINGS_ID_MAX) {
                stamp += random_gap(&rng) >> 6 | 1;
                post = rng_percent(&rng, 50) ? rng_between(&rng, 1, TIDINGS_ID_MAX)
                                             : last->post - rng_below(&rng, last->post);
            }
            entries[i] = (struct history_entry){stamp, post};
        }
        for (size_t at = 0; at < n;) {
            uint8_t bytes[HISTORY_RECORD_MAX];
            size_t used, taken = history_encode(entries + at, n - at, bytes, &used);
            struct history_block block;
            assert_true(used <= sizeof bytes && (at + taken == n || used >= HISTORY_FULL));
            assert_true(history_decode((struct bytes){bytes, used}, entries[at], &block));
            assert_int_equal(block.n, taken);
            for (size_t i = 0; i < taken; i++, at++) {
                assert_int_equal(block.at[i].stamp, entries[at].stamp);
                assert_int_equal(block.at[i].post, entries[at].post);
            }
        }
    }
}

/* One by one or at once, the bytes are the same. */
static void a_block_of_the_history_grows_by_its_entries(void **state)
{
    (void)state;
    struct bytes whole = sample_history(20, 1 << 28, -(1 << 20));
    struct history_block block;
    uint8_t bytes[HISTORY_RECORD_MAX];
    size_t used;
    assert_true(history_decode(whole, HISTORY_OLDEST, &block));
    assert_int_equal(history_encode(block.at, 1, bytes, &used), 1);
    for (size_t i = 1; i < block.n; i++)
        assert_int_equal(history_append(bytes, &used, block.at[i - 1], &block.at[i], 1), 1);
    assert_int_equal(used, whole.n);
    assert_memory_equal(bytes, whole.p, used);
}

/* Of docs/FORMAT.md. */
static void the_worked_example_is_right(void **state)
{
    (void)state;
    const uint64_t noon = UINT64_C(888451891200000), later = UINT64_C(888452136960000);
    const uint8_t map_bytes[] = {0x12, 0,    0,    0,    0,    0,    0,    0,    0xb9, 0,    0,
                                 0,    0,    0,    0,    0,    0x81, 0x80, 0xe0, 0xa6, 0xab, 0xc0,
                                 0x32, 0x81, 0xa6, 0x1d, 0x03, 0xf6, 0xff, 0x97, 0x75};
    const uint8_t block_bytes[] = {0x10, 0x02, 0x81, 0xf8, 0xc9, 0x04, 0x05};
    struct readmap map = {.read = 0xb9, .history = 0x81};
    map.read_stamp[0] = noon;
    map.read_stamp[3] = map.read_stamp[4] = map.read_stamp[5] = later;
    map.read_stamp[7] = noon + 16;
    uint8_t bytes[READMAP_RECORD_MAX];
    assert_int_equal(readmap_encode(&map, bytes), sizeof map_bytes);
    assert_memory_equal(bytes, map_bytes, sizeof map_bytes);
    const struct history_entry entries[] = {{noon, UINT64_C(888444518400000)},
                                            {noon + 16, UINT64_C(888449433600000)}};
    size_t used;
    assert_int_equal(history_encode(entries, 2, bytes, &used), 2);
    assert_int_equal(used, sizeof block_bytes);
    assert_memory_equal(bytes, block_bytes, used);
}

/* ---- Damage --------------------------------------------------------------------------------- */

static void a_truncated_record_is_refused(void **state)
{
    (void)state;
    struct sample samples[SAMPLES_MAX];
    for (size_t i = 0, n = make_samples(samples); i < n; i++)
        for (size_t length = 0; length < samples[i].value.n; length++) {
            bool accepted = accepts(samples[i].kind, samples[i].value.p, length);
            if (accepted && !samples[i].has_free_tail)
                fail_msg("sample %zu accepted with %zu bytes", i, length);
        }
}

static void a_record_with_something_behind_it_is_refused(void **state)
{
    (void)state;
    struct sample samples[SAMPLES_MAX];
    uint8_t longer[4096];
    for (size_t i = 0, n = make_samples(samples); i < n; i++) {
        if (samples[i].has_free_tail)
            continue;
        memcpy(longer, samples[i].value.p, samples[i].value.n);
        longer[samples[i].value.n] = 0;
        assert_false(accepts(samples[i].kind, longer, samples[i].value.n + 1));
    }
}

/* check_record does not return if something is accepted that should not be. */
static void no_flipped_bit_gets_past_a_decoder(void **state)
{
    (void)state;
    struct sample samples[SAMPLES_MAX];
    uint8_t damaged[4096];
    for (size_t i = 0, n = make_samples(samples); i < n; i++) {
        struct bytes value = samples[i].value;
        memcpy(damaged, value.p, value.n);
        for (size_t bit = 0; bit < value.n * 8; bit++) {
            damaged[bit / 8] ^= (uint8_t)(1 << bit % 8);
            accepts(samples[i].kind, damaged, value.n);
            damaged[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

static void random_damage_does_not_get_past_a_decoder(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct sample samples[SAMPLES_MAX];
    uint8_t damaged[4096];
    size_t n = make_samples(samples);
    for (int round = 0; round < 50000; round++) {
        struct bytes value = samples[rng_below(&rng, n)].value;
        memcpy(damaged, value.p, value.n);
        for (uint64_t k = 1 + rng_below(&rng, 4); k; k--)
            damaged[rng_below(&rng, value.n)] = (uint8_t)rng_next(&rng);
        accepts((enum record_kind)rng_below(&rng, RECORD_KINDS), damaged,
                rng_below(&rng, value.n + 1));
    }
}

static void unknown_versions_and_flags_are_refused(void **state)
{
    (void)state;
    struct sample samples[SAMPLES_MAX];
    uint8_t damaged[4096];
    for (size_t i = 0, n = make_samples(samples); i < n; i++) {
        struct bytes value = samples[i].value;
        memcpy(damaged, value.p, value.n);
        for (unsigned version = 0; version < 16; version++) {
            damaged[0] = (uint8_t)(version << 4 | (value.p[0] & 0x0f));
            assert_int_equal(accepts(samples[i].kind, damaged, value.n), version == 1);
        }
        if (samples[i].kind == RECORD_REACTION || samples[i].kind == RECORD_COMMENT)
            continue;      /* these have all four */
        damaged[0] = 0x18; /* no other record has that flag */
        assert_false(accepts(samples[i].kind, damaged, value.n));
    }
}

/* ---- Counts that claim more than there is --------------------------------------------------- */

static void a_block_longer_than_the_record_is_refused(void **state)
{
    (void)state;
    const uint8_t longer[] = {0x10, 5, 'a', 'b', 0};
    const uint8_t huge[] = {0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 'a', 0};
    const uint8_t too_wide[] = {0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                0xff, 0xff, 0xff, 2,    'a',  0};
    assert_false(accepts(RECORD_PROFILE, longer, sizeof longer));
    assert_false(accepts(RECORD_PROFILE, huge, sizeof huge));
    assert_false(accepts(RECORD_PROFILE, too_wide, sizeof too_wide));
}

static void more_spans_than_bytes_are_refused(void **state)
{
    (void)state;
    const uint8_t many[] = {0x10, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 1};
    const uint8_t two[] = {0x10, 2, 1, 1};
    const uint8_t one[] = {0x10, 1, 1, 1};
    struct pair pair;
    struct arena nothing;
    arena_init(&nothing, 0); /* were it to allocate before it counts, that would show */
    assert_false(pair_decode((struct bytes){many, sizeof many}, &nothing, &pair, 0));
    assert_false(accepts(RECORD_PAIR, two, sizeof two));
    assert_true(accepts(RECORD_PAIR, one, sizeof one));
}

static void spans_that_touch_or_overflow_are_refused(void **state)
{
    (void)state;
    const uint8_t touching[] = {0x10, 2, 0, 5, 0, 5};
    const uint8_t overflowing[] = {0x10, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 1};
    const uint8_t open_inside[] = {0x10, 2, 0, 0, 1, 1};
    const uint8_t open_unfollowed[] = {0x10, 1, 0, 0};
    assert_false(accepts(RECORD_PAIR, touching, sizeof touching));
    assert_false(accepts(RECORD_PAIR, overflowing, sizeof overflowing));
    assert_false(accepts(RECORD_PAIR, open_inside, sizeof open_inside));
    assert_false(accepts(RECORD_PAIR, open_unfollowed, sizeof open_unfollowed));
}

static void more_skips_than_there_may_be_are_refused(void **state)
{
    (void)state;
    uint8_t bytes[1 + 255 * 2];
    struct skips skips;
    memset(bytes, 1, sizeof bytes);
    for (unsigned n = 1; n < 256; n++) {
        struct pair pair = {.skips = {bytes, 1 + 2 * (size_t)n}};
        bytes[0] = (uint8_t)n;
        assert_int_equal(pair_skips(&pair, &skips), n <= PAIR_SKIPS_MAX);
        pair.skips.n--;
        assert_false(pair_skips(&pair, &skips));
    }
}

static void runs_of_stamps_must_fit_the_bits(void **state)
{
    (void)state;
    /* Two posts read, at stamp 1: right as one run of two or as two runs of one. */
    enum { LONG = 1, DOWN = 2, STAMP_1 = (1 << 2 | 3) << 2 };
    uint8_t bytes[20] = {0x10, 0, 0, 0, 0, 0, 0, 0, 3, STAMP_1 | LONG, 2};
    assert_true(accepts(RECORD_READMAP, bytes, 11));
    for (unsigned run = 0; run < 256; run++) {
        bytes[10] = (uint8_t)run;
        assert_int_equal(accepts(RECORD_READMAP, bytes, 11), run == 2);
    }
    bytes[9] = STAMP_1;
    bytes[10] = 0; /* the same stamp once more */
    assert_true(accepts(RECORD_READMAP, bytes, 11));
    bytes[10] = STAMP_1 | DOWN; /* stamp 0 */
    assert_false(accepts(RECORD_READMAP, bytes, 11));
    bytes[9] = STAMP_1 | DOWN; /* below it */
    assert_false(accepts(RECORD_READMAP, bytes, 11));
    size_t n = 9 + put_varint(bytes + 9, (TIDINGS_ID_MAX << 2 | 3) << 2 | LONG);
    bytes[n++] = 2;
    assert_true(accepts(RECORD_READMAP, bytes, n));
    n = 9 + put_varint(bytes + 9, ((TIDINGS_ID_MAX + 1) >> 12 << 1) << 2 | LONG); /* 2^53 */
    bytes[n++] = 2;
    assert_false(accepts(RECORD_READMAP, bytes, n));
    bytes[8] = 0; /* nothing read is no record */
    assert_false(accepts(RECORD_READMAP, bytes, 9));
}

static void entries_of_the_history_must_ascend(void **state)
{
    (void)state;
    enum { STAMP = 1, DOWN = 2, ONE = 1 << 2 | 3 };
    struct history_block block;
    const struct history_entry oldest = {5, 5};
    const struct {
        size_t n;
        uint8_t bytes[6];
        bool sound;
    } cases[] = {
        {2, {0x10, 1}, true},
        {3, {0x10, 2, ONE << 1}, true},
        {3, {0x10, 2, 0}, false}, /* twice the same */
        {4, {0x10, 2, ONE << 2 | STAMP, ONE}, true},
        {4, {0x10, 2, STAMP, ONE}, true},                             /* the same post later on */
        {4, {0x10, 2, ONE << 2 | STAMP, 0}, false},                   /* later, but not */
        {4, {0x10, 2, (4 << 2 | 3) << 2 | DOWN | STAMP, ONE}, true},  /* post 1 */
        {4, {0x10, 2, (5 << 2 | 3) << 2 | DOWN | STAMP, ONE}, false}, /* post 0 */
        {4, {0x10, 2, (6 << 2 | 3) << 2 | DOWN | STAMP, ONE}, false},
        {2, {0x10, 0}, false}, /* empty */
        {2, {0x10, 2}, false}, /* less than it says */
        {3, {0x10, 1, ONE << 1}, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(history_decode((struct bytes){cases[i].bytes, cases[i].n}, oldest, &block),
                         cases[i].sound);
    const struct bytes alone = {cases[0].bytes, 2};
    assert_true(history_decode(alone, (struct history_entry){1, TIDINGS_ID_MAX}, &block));
    assert_false(history_decode(alone, (struct history_entry){0, 5}, &block));
    assert_false(history_decode(alone, (struct history_entry){5, 0}, &block));
    assert_false(history_decode(alone, (struct history_entry){TIDINGS_ID_MAX + 1, 5}, &block));
    assert_false(history_decode(alone, (struct history_entry){5, TIDINGS_ID_MAX + 1}, &block));
}

/* More than there is room for, though each takes a byte only. */
static void too_many_entries_of_the_history_are_refused(void **state)
{
    (void)state;
    uint8_t bytes[2 + 255];
    struct history_block block;
    memset(bytes, 1 << 2, sizeof bytes); /* the next millisecond's post */
    bytes[0] = 0x10;
    for (size_t n = 1; n < 256; n++) {
        bytes[1] = (uint8_t)n;
        assert_int_equal(history_decode((struct bytes){bytes, 1 + n}, HISTORY_OLDEST, &block),
                         n <= HISTORY_ENTRIES_MAX);
    }
}

static void impossible_posts_and_events_are_refused(void **state)
{
    (void)state;
    struct bytes post = sample_post(false, "t", ""), event = sample_event(1, 1);
    uint8_t bytes[64];
    for (unsigned kind = 0; kind < 256; kind++) {
        memcpy(bytes, post.p, post.n);
        bytes[1] = (uint8_t)kind;
        assert_int_equal(accepts(RECORD_POST, bytes, post.n), kind >= 1 && kind <= 3);
        memcpy(bytes, event.p, event.n);
        bytes[1] = (uint8_t)kind;
        assert_int_equal(accepts(RECORD_EVENT, bytes, event.n),
                         tidings_event_name((enum tidings_event_type)kind) != NULL);
    }
    memcpy(bytes, post.p, post.n);
    memset(bytes + 2, 0, ID_BYTES); /* by nobody */
    assert_false(accepts(RECORD_POST, bytes, post.n));
}

static void impossible_reactions_and_comments_are_refused(void **state)
{
    (void)state;
    const struct bytes refused[] = {
        sample_reaction(TIDINGS_TARGET_POST, 0, 0, 0),
        sample_reaction(TIDINGS_TARGET_POST, 0, 0, 1),
        sample_reaction(TIDINGS_TARGET_COMMENT, 1, 0, 1),
        sample_reaction(TIDINGS_TARGET_COMMENT, 0, 1, 0),
        sample_reaction(TIDINGS_TARGET_POST, TIDINGS_ID_MAX + 1, 0, 0),
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        assert_false(accepts(RECORD_REACTION, refused[i].p, refused[i].n));
    struct bytes many = sample_counts(HEAT_COUNT_MAX + 1);
    assert_false(accepts(RECORD_COUNTS, many.p, many.n));
    many = sample_comment(TIDINGS_COMMENT_VISIBLE, 0, HEAT_COUNT_MAX + 1);
    assert_false(accepts(RECORD_COMMENT, many.p, many.n));
    struct bytes comment = sample_comment(TIDINGS_COMMENT_VISIBLE, 0, 1);
    uint8_t bytes[COMMENT_RECORD_MAX];
    memcpy(bytes, comment.p, comment.n);
    bytes[0] |= 3; /* hidden and deleted */
    assert_false(accepts(RECORD_COMMENT, bytes, comment.n));
    struct bytes event = sample_vote_event();
    memcpy(bytes, event.p, event.n);
    bytes[event.n - 1] = TIDINGS_DOWNVOTE + 1;
    assert_false(accepts(RECORD_EVENT, bytes, event.n));
    bytes[event.n - 1] = 0; /* a flag for nothing */
    assert_false(accepts(RECORD_EVENT, bytes, event.n));
}

/* A stamp is an id, and ids end at 2^53-1; what is larger would be cut down in a key. */
static void stamps_past_the_last_id_are_refused(void **state)
{
    (void)state;
    struct post_record post = {.kind = TIDINGS_NOTE, .author = 1};
    struct user_record user = {0};
    uint8_t bytes[USER_RECORD_MAX];
    post.edited = TIDINGS_ID_MAX + 1;
    struct bytes value = post_encode(&post, &arena);
    assert_false(accepts(RECORD_POST, value.p, value.n));
    post = (struct post_record){.kind = TIDINGS_NOTE, .author = 1, .deleted = true};
    post.removed = UINT64_MAX;
    value = post_encode(&post, &arena);
    assert_false(accepts(RECORD_POST, value.p, value.n));
    user.history_cleared = TIDINGS_ID_MAX + 1;
    assert_false(accepts(RECORD_USER, bytes, user_encode(&user, bytes)));
}

static void impossible_records_of_stories_are_refused(void **state)
{
    (void)state;
    struct scene_record scene = {.deleted = true, .story = 1, .removed = 1, .n_messages = 1};
    struct bytes value = scene_encode(&scene, &arena);
    assert_false(accepts(RECORD_SCENE, value.p, value.n)); /* a deleted scene keeps no messages */
    scene = (struct scene_record){.story = 1, .removed = 1};
    value = scene_encode(&scene, &arena);
    assert_false(accepts(RECORD_SCENE, value.p, value.n));
    value = sample_messages(0); /* then there is no row */
    assert_false(accepts(RECORD_MESSAGES, value.p, value.n));
    const uint8_t many[] = {0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0, 0, 1, 1, 'a'};
    assert_false(accepts(RECORD_MESSAGES, many, sizeof many)); /* more than it has bytes */

    uint8_t bytes[POSITION_RECORD_MAX];
    const struct position_record wrong[] = {
        {.reading.scene = 1},                          /* read, but never */
        {.reading.read_at = 1},                        /* read, but nowhere */
        {.reading.message = 1},                        /* a message of no scene */
        {.first = 2, .changed = 1},                    /* changed before it was */
        {.changed = 1},                                /* never first shown */
        {.reading.entered_at = INT64_MAX},             /* would be cut down in a key */
        {.reading = {1, TIDINGS_ID_MAX + 1, 0, 0, 0}}, /* no id */
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(accepts(RECORD_POSITION, bytes, position_encode(&wrong[i], bytes)));
    const struct shelf_record shelves[] = {{.quiet = 2}, {.cleared = TIDINGS_ID_MAX + 1}};
    for (size_t i = 0; i < COUNT_OF(shelves); i++)
        assert_false(accepts(RECORD_SHELF, bytes, shelf_encode(&shelves[i], bytes)));
}

/* ---- Numbers -------------------------------------------------------------------------------- */

static void ids_sort_as_their_bytes_do(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    for (int i = 0; i < 10000; i++) {
        uint64_t a = rng_below(&rng, TIDINGS_ID_MAX + 1), b = rng_below(&rng, TIDINGS_ID_MAX + 1);
        uint8_t x[ID_BYTES], y[ID_BYTES];
        put_id(x, a);
        put_id(y, b);
        assert_int_equal(get_id(x), a);
        assert_int_equal(memcmp(x, y, ID_BYTES) < 0, a < b);
    }
}

static void varints_of_every_length_come_back(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits <= 64; bits++) {
        uint64_t value = bits == 64 ? UINT64_MAX : UINT64_C(1) << bits;
        for (int less = 0; less < 2; less++, value--) {
            uint8_t bytes[VARINT_MAX];
            size_t n = put_varint(bytes, value);
            struct decoder r = decoder_of(bytes, n);
            assert_true(n <= VARINT_MAX);
            assert_int_equal(read_varint(&r), value);
            assert_false(r.bad);
            assert_int_equal(decoder_left(&r), 0);
            r = decoder_of(bytes, n - 1);
            assert_int_equal(read_varint(&r), 0);
            assert_true(r.bad);
        }
    }
}

static void a_reader_that_failed_stays_at_its_end(void **state)
{
    (void)state;
    const uint8_t bytes[] = {1, 2, 3};
    struct decoder r = decoder_of(bytes, sizeof bytes);
    assert_null(read_bytes(&r, 4));
    assert_int_equal(read_u8(&r), 0);
    assert_int_equal(read_varint(&r), 0);
    assert_int_equal(read_id(&r), 0);
    assert_int_equal(read_u64(&r), 0);
    assert_int_equal(read_varint32(&r), 0);
    assert_true(r.bad);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_encoded_can_be_decoded),
        TEST(fields_come_back_as_they_were),
        TEST(a_pair_comes_back_as_it_was),
        TEST(few_spans_need_no_memory),
        TEST(random_records_come_back),
        TEST(random_histories_come_back),
        TEST(a_block_of_the_history_grows_by_its_entries),
        TEST(the_worked_example_is_right),
        TEST(a_truncated_record_is_refused),
        TEST(a_record_with_something_behind_it_is_refused),
        TEST(no_flipped_bit_gets_past_a_decoder),
        TEST(random_damage_does_not_get_past_a_decoder),
        TEST(unknown_versions_and_flags_are_refused),
        TEST(a_block_longer_than_the_record_is_refused),
        TEST(more_spans_than_bytes_are_refused),
        TEST(spans_that_touch_or_overflow_are_refused),
        TEST(more_skips_than_there_may_be_are_refused),
        TEST(runs_of_stamps_must_fit_the_bits),
        TEST(entries_of_the_history_must_ascend),
        TEST(too_many_entries_of_the_history_are_refused),
        TEST(impossible_posts_and_events_are_refused),
        TEST(impossible_reactions_and_comments_are_refused),
        TEST(stamps_past_the_last_id_are_refused),
        TEST(impossible_records_of_stories_are_refused),
        TEST(ids_sort_as_their_bytes_do),
        TEST(varints_of_every_length_come_back),
        TEST(a_reader_that_failed_stays_at_its_end),
    };
#undef TEST
    return RUN_TESTS(tests);
}
