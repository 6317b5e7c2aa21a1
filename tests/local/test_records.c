/* SPDX-License-Identifier: MIT */
/* Records to bytes and back. */
#include <string.h>

#include "local/record_samples.h"

/* ---- Round trips ---------------------------------------------------------------------------- */

static void what_is_encoded_can_be_decoded(void **state)
{
    (void)state;
    struct sample samples[SAMPLES_MAX];
    for (size_t i = 0, n = make_samples(samples); i < n; i++)
        assert_true(accepts(samples[i].kind, samples[i].value.p, samples[i].value.n));
}

/* From before there was a bucket of posts: eleven numbers, and no flag. */
static void a_user_record_of_before_has_a_full_bucket_of_posts(void **state)
{
    (void)state;
    static const uint8_t before[] = {0x10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    struct user_record user = {.publish_full_at = 99};
    uint8_t bytes[USER_RECORD_MAX];
    assert_true(user_decode((struct bytes){before, sizeof before}, &user));
    assert_int_equal(user.comment_full_at, 11);
    assert_int_equal(user.publish_full_at, 0);
    assert_int_equal(user_encode(&user, bytes), sizeof before);
    assert_memory_equal(bytes, before, sizeof before);
    user.publish_full_at = 12;
    assert_int_equal(user_encode(&user, bytes), sizeof before + 1);
    assert_int_equal(bytes[0], 0x11);
    /* One that says it has the twelfth number, and has not, or has 0. */
    bytes[sizeof before] = 0;
    assert_false(user_decode((struct bytes){bytes, sizeof before + 1}, &user));
    assert_false(user_decode((struct bytes){bytes, sizeof before}, &user));
}

/* From before webhooks had events and old secrets: no flag, and nothing behind the last error. */
static void a_webhook_of_before_has_no_events_of_its_own(void **state)
{
    (void)state;
    static const uint8_t before[] = {0x11, 0, 0, 0,   0,   0,   0, 9,   0,   0,   0,
                                     0,    0, 0, 5,   7,   0,   1, 2,   3,   4,   5,
                                     6,    0, 3, 'u', 'r', 'l', 3, 'k', 'e', 'y', 0};
    struct webhook_record webhook = {.events = 9, .rotated = 9};
    assert_true(webhook_decode((struct bytes){before, sizeof before}, &webhook));
    assert_true(webhook.disabled);
    assert_int_equal(webhook.generation, 9);
    assert_int_equal(webhook.position, 7);
    assert_int_equal(webhook.delivered, 5);
    assert_memory_equal(webhook.secret.p, "key", 3);
    assert_int_equal(webhook.events + webhook.rotated + webhook.old_secret.n, 0);
    struct bytes again = webhook_encode(&webhook, &arena);
    assert_int_equal(again.n, sizeof before);
    assert_memory_equal(again.p, before, sizeof before);
    webhook.events = 2;
    again = webhook_encode(&webhook, &arena);
    assert_int_equal(again.n, sizeof before + 3);
    assert_int_equal(again.p[0], 0x13);
    /* One that says it has more, and has not; bits of types that there are not; a time without a secret. */
    uint8_t wrong[sizeof before + 3];
    memcpy(wrong, again.p, sizeof wrong);
    assert_false(webhook_decode((struct bytes){wrong, sizeof before}, &webhook));
    wrong[sizeof before] = 0;
    assert_false(webhook_decode((struct bytes){wrong, sizeof wrong}, &webhook));
    wrong[sizeof before] = 1; /* TIDINGS_EVENT_NONE */
    assert_false(webhook_decode((struct bytes){wrong, sizeof wrong}, &webhook));
    wrong[sizeof before] = 2;
    wrong[sizeof before + 1] = 1;
    assert_false(webhook_decode((struct bytes){wrong, sizeof wrong}, &webhook));
}

/* From before there was own data: no flag, and nothing behind the other texts. */
static void a_post_and_a_profile_of_before_have_nothing_extra(void **state)
{
    (void)state;
    static const uint8_t old_post[] = {0x10, 1, 0, 0, 0, 0, 0, 0, 7, 3, 0, 0, 1, 't', 1, 'e'};
    static const uint8_t old_profile[] = {0x10, 1, 'n', 1, 'a'};
    struct post_record post = {.extra = {old_post, 1}};
    struct profile_record profile = {.extra = {old_post, 1}};
    assert_true(post_decode((struct bytes){old_post, sizeof old_post}, &post));
    assert_int_equal(post.author, 7);
    assert_int_equal(post.extra.n, 0);
    struct bytes again = post_encode(&post, &arena);
    assert_int_equal(again.n, sizeof old_post);
    assert_memory_equal(again.p, old_post, sizeof old_post);
    assert_true(profile_decode((struct bytes){old_profile, sizeof old_profile}, &profile));
    assert_int_equal(profile.extra.n, 0);
    again = profile_encode(&profile, &arena);
    assert_int_equal(again.n, sizeof old_profile);
    assert_memory_equal(again.p, old_profile, sizeof old_profile);
    /* One that says it has some, and has not, or has none of it. */
    static const uint8_t wrong[] = {0x11, 1, 'n', 1, 'a', 0};
    assert_false(profile_decode((struct bytes){wrong, sizeof wrong}, &profile));
    assert_false(profile_decode((struct bytes){wrong, sizeof wrong - 1}, &profile));
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
    assert_int_equal(user.publish_full_at, TIDINGS_ID_MAX);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, samples_begin, samples_end)
    const struct CMUnitTest tests[] = {
        TEST(what_is_encoded_can_be_decoded),
        TEST(a_user_record_of_before_has_a_full_bucket_of_posts),
        TEST(a_webhook_of_before_has_no_events_of_its_own),
        TEST(a_post_and_a_profile_of_before_have_nothing_extra),
        TEST(fields_come_back_as_they_were),
        TEST(a_pair_comes_back_as_it_was),
        TEST(few_spans_need_no_memory),
        TEST(random_records_come_back),
        TEST(random_histories_come_back),
        TEST(a_block_of_the_history_grows_by_its_entries),
        TEST(the_worked_example_is_right),
        TEST(ids_sort_as_their_bytes_do),
        TEST(varints_of_every_length_come_back),
        TEST(a_reader_that_failed_stays_at_its_end),
    };
#undef TEST
    return RUN_TESTS(tests);
}
