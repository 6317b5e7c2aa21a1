/* SPDX-License-Identifier: MIT */
/* What decoders make of bytes that are no records: all of it is refused. */
#include <string.h>

#include "local/record_samples.h"

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

#define X(type, name, action, target) +1
enum { EVENT_TYPES = 0 TIDINGS_EVENTS(X) };
#undef X

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
        assert_int_equal(accepts(RECORD_EVENT, bytes, event.n), kind >= 1 && kind <= EVENT_TYPES);
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
    user = (struct user_record){.publish_full_at = TIDINGS_ID_MAX + 1};
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, samples_begin, samples_end)
    const struct CMUnitTest tests[] = {
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
    };
#undef TEST
    return RUN_TESTS(tests);
}
