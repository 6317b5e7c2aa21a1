/* SPDX-License-Identifier: MIT */
/*
 * Verify, against damage done on purpose, one row at a time, to a small community that has a bit of
 * everything. Damage must be found. Where it can be recomputed, repairing must make every public
 * answer what it was; where it cannot, repairing must leave everything else alone.
 */
#include <string.h>

#include "contract/harness.h"
#include "engine/local/store.h"
#include "local/damage.h"
#include "support/local.h"

enum { ANN = 1, BOB, CID, DAN, EVE, FAY, USERS = FAY };
enum { POSTS = 150 };

static uint64_t posts[POSTS]; /* of ANN, oldest first */
static uint64_t dans_post;
static char *before; /* every public answer, while all was well */

/* ---- Every public answer as text ------------------------------------------------------------ */

static void write_feed(FILE *to, struct tidings_op op)
{
    op.u.feed.page.limit = 100;
    do {
        must(op);
        for (size_t i = 0; i < answer.u.feed.n; i++) {
            const struct tidings_item *item = &answer.u.feed.rows[i];
            fprintf(to, " %" PRIu64 "%s%s%s@%" PRId64, item->post_id, item->title.p,
                    item->is_read ? "r" : "", item->is_deleted ? "d" : "", item->read_at);
        }
        op.u.feed.page.after = answer.u.feed.next;
    } while (answer.u.feed.next.a);
    fprintf(to, " total %" PRIu64 "\n", answer.u.feed.total);
}

static void write_relations(FILE *to, uint64_t user)
{
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_FOLLOWING, TIDINGS_OP_FOLLOWERS};
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = user, .u.user.user_id = user});
    fprintf(to, "counters %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", answer.u.counters.following,
            answer.u.counters.followers, answer.u.counters.posts);
    for (size_t k = 0; k < 2; k++) {
        must((struct tidings_op){.kind = kinds[k], .user_id = user, .u.users.user_id = user});
        for (size_t i = 0; i < answer.u.users.n; i++)
            fprintf(to, " %" PRIu64 " %s", answer.u.users.rows[i].user_id,
                    answer.u.users.rows[i].name.p);
        fputc('\n', to);
    }
}

static void write_reading(FILE *to, uint64_t user)
{
    must((struct tidings_op){.kind = TIDINGS_OP_UNREAD, .user_id = user});
    for (size_t i = 0; i < answer.u.unread.n; i++)
        fprintf(to, " %" PRIu64 ":%" PRIu64 "%d", answer.u.unread.rows[i].user_id,
                answer.u.unread.rows[i].unread, answer.u.unread.rows[i].following);
    fprintf(to, "\nbadge %" PRIu64 "\n", badge(user));
    for (int filter = TIDINGS_ALL; filter <= TIDINGS_READ; filter++) {
        struct tidings_op op = {.kind = TIDINGS_OP_INBOX,
                                .user_id = user,
                                .u.feed.filter = (enum tidings_filter)filter};
        write_feed(to, op);
        op.kind = TIDINGS_OP_AUTHOR_PAGE;
        op.u.feed.author_id = ANN;
        write_feed(to, op);
    }
    struct tidings_op op = {.kind = TIDINGS_OP_HISTORY, .user_id = user, .u.page.limit = 50};
    do {
        must(op);
        for (size_t i = 0; i < answer.u.history.n; i++)
            fprintf(to, " %" PRIu64 "@%" PRId64, answer.u.history.rows[i].post_id,
                    answer.u.history.rows[i].read_at);
        op.u.page.after = answer.u.history.next;
    } while (answer.u.history.next.a);
    fputc('\n', to);
}

static char *all_answers(void)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    assert_non_null(to);
    for (uint64_t user = 1; user <= USERS; user++) {
        fprintf(to, "user %" PRIu64 "\n", user);
        write_relations(to, user);
        write_reading(to, user);
    }
    for (size_t i = 0; i < POSTS; i += 10) {
        run((struct tidings_op){
            .kind = TIDINGS_OP_POST, .user_id = BOB, .u.post.post_id = posts[i]});
        fprintf(to, "post %d %s\n", (int)answer.err,
                answer.err ? answer.title.p : answer.u.post.body.p);
    }
    fclose(to);
    return text;
}

/* ---- The community -------------------------------------------------------------------------- */

static bool render_nothing(const struct tidings_once *once, const struct tidings_answer *of,
                           struct tidings_text *bytes)
{
    (void)once;
    (void)of;
    *bytes = (struct tidings_text){"done", 4};
    return true;
}

static const struct tidings_once once = {.key = "a key", .render = render_nothing};

static int set_up(void **state)
{
    if (harness_begin(state))
        return -1;
    follow(BOB, ANN);
    follow(BOB, DAN);
    follow(CID, ANN);
    follow(DAN, ANN);
    must((struct tidings_op){.kind = TIDINGS_OP_PROFILE_SET,
                             .user_id = ANN,
                             .u.profile = {text_of("Ann"), text_of("https://a")}});
    publish_many(ANN, 100);
    unfollow(DAN, ANN, false); /* and keeps what is unread */
    publish_many(ANN, POSTS - 100);
    static struct ids newest_first;
    list_author(ANN, ANN, TIDINGS_ALL, &newest_first);
    for (size_t i = 0; i < POSTS; i++)
        posts[i] = newest_first.at[POSTS - 1 - i];
    dans_post = publish(DAN, "dan's", "body");
    mark(BOB, posts, 140); /* two whole chunks, and a bit */
    open_post(BOB, dans_post);
    for (size_t i = 0; i < POSTS; i += 20)
        open_post(CID, posts[i]);
    open_post(EVE, posts[5]); /* never delivered */
    open_post(EVE, posts[149]);
    for (size_t i = 0; i < POSTS; i += 30)
        delete_post(ANN, posts[i]);
    must((struct tidings_op){
        .kind = TIDINGS_OP_FOLLOW, .user_id = FAY, .once = &once, .u.relation.user_id = ANN});
    assert_verifies();
    before = all_answers();
    return 0;
}

static int tear_down(void **state)
{
    free(before);
    before = NULL;
    return harness_end(state);
}

/* ---- Verdicts ------------------------------------------------------------------------------- */

/* TEST_REPORT=1 shows what verify says. */
static uint64_t verify(bool repair)
{
    struct tidings_verify result = {.repair = repair};
    result.report = getenv("TEST_REPORT") ? stderr : NULL;
    assert_int_equal(tidings_verify(engine, &result), TIDINGS_OK);
    return result.differences;
}

/* The damage is found, looking changes nothing, and repairing makes everything as it was. */
static void assert_mended(void)
{
    open_engine();
    uint64_t found = verify(false);
    assert_true(found >= 1);
    assert_int_equal(verify(false), found);
    assert_int_equal(verify(true), found);
    assert_int_equal(verify(false), 0);
    reopen_engine();
    assert_int_equal(verify(false), 0);
    char *after = all_answers();
    assert_string_equal(after, before);
    free(after);
}

/* The damage is found and nobody crashes over it. */
static void assert_found(void)
{
    open_engine();
    assert_true(verify(false) >= 1);
}

/*
 * A record that cannot be read: found; and repairing touches nothing that hangs on it, so that with
 * the record back in its place (from a backup, say) all is as it was.
 */
static void assert_left_alone(enum table table, struct key key, size_t cut)
{
    uint8_t whole[4096];
    struct bytes value = row_get(table, key);
    assert_true(value.n <= sizeof whole);
    memcpy(whole, value.p, value.n);
    row_cut(table, key, cut);
    open_engine();
    assert_true(verify(true) >= 1);
    assert_true(verify(false) >= 1);
    row_put(table, key, (struct bytes){whole, value.n});
    open_engine();
    assert_int_equal(verify(false), 0);
    char *after = all_answers();
    assert_string_equal(after, before);
    free(after);
}

/* ---- Counters ------------------------------------------------------------------------------- */

static void a_wrong_following_counter_is_mended(void **state)
{
    (void)state;
    struct user_record user = user_get(BOB);
    user.following += 5;
    user_put(BOB, &user);
    assert_mended();
}

static void a_wrong_followers_counter_is_mended(void **state)
{
    (void)state;
    struct user_record user = user_get(ANN);
    user.followers = 0;
    user_put(ANN, &user);
    assert_mended();
}

static void a_wrong_posts_counter_is_mended(void **state)
{
    (void)state;
    struct user_record user = user_get(ANN);
    user.posts = UINT64_MAX;
    user_put(ANN, &user);
    assert_mended();
}

static void a_missing_user_record_is_mended(void **state)
{
    (void)state;
    row_delete(TABLE_USER, key_row(ANN, ROW_USER));
    assert_mended();
}

static void a_counter_of_nothing_is_mended(void **state)
{
    (void)state;
    struct user_record user = {.following = 1, .posts = 2, .followers = 3};
    user_put(777, &user); /* a user who never did anything */
    assert_mended();
}

/* ---- The follower index --------------------------------------------------------------------- */

static uint64_t rank_of(uint64_t fan, uint64_t author)
{
    struct pair pair;
    pair_get(fan, ROW_INBOX, author, &pair);
    assert_true(pair.following);
    return pair.rank;
}

static void a_missing_follower_row_is_mended(void **state)
{
    (void)state;
    row_delete(TABLE_FOLLOWER, key_follower(ANN, rank_of(CID, ANN)));
    assert_mended();
}

static void an_extra_follower_row_is_mended(void **state)
{
    (void)state;
    uint8_t fan[ID_BYTES];
    put_id(fan, EVE);
    row_put(TABLE_FOLLOWER, key_follower(ANN, 12345), (struct bytes){fan, sizeof fan});
    assert_mended();
}

static void a_follower_row_that_names_another_is_mended(void **state)
{
    (void)state;
    uint8_t fan[ID_BYTES];
    put_id(fan, EVE);
    row_put(TABLE_FOLLOWER, key_follower(ANN, rank_of(CID, ANN)), (struct bytes){fan, sizeof fan});
    assert_mended();
}

static void a_follower_row_in_the_wrong_place_is_mended(void **state)
{
    (void)state;
    uint8_t fan[ID_BYTES];
    uint64_t rank = rank_of(CID, ANN);
    put_id(fan, CID);
    row_delete(TABLE_FOLLOWER, key_follower(ANN, rank));
    row_put(TABLE_FOLLOWER, key_follower(ANN, rank + 16), (struct bytes){fan, sizeof fan});
    assert_mended();
}

static void a_follower_row_of_the_wrong_size_is_found(void **state)
{
    (void)state;
    row_cut(TABLE_FOLLOWER, key_follower(ANN, rank_of(CID, ANN)), 3);
    assert_found();
}

/* ---- Pairs ---------------------------------------------------------------------------------- */

static void wrong_counts_in_a_pair_are_mended(void **state)
{
    (void)state;
    for (int which = 0; which < 6; which++) {
        struct pair pair;
        pair_get(CID, ROW_INBOX, ANN, &pair);
        switch (which) {
        case 0:
            pair.reads_in++;
            break;
        case 1:
            pair.reads_in -= 3;
            break;
        case 2:
            pair.reads_out = 2;
            break;
        case 3:
            pair.dead_in++;
            pair.settled = 5;
            break;
        case 4:
            pair.reads_out = pair.dead_out = 1;
            break;
        default:
            pair.reads_in = UINT32_MAX;
        }
        pair_put(CID, ROW_INBOX, ANN, &pair);
        assert_mended();
    }
}

/* Deletions that are yet to come would pass for accounted for. */
static void deletions_accounted_for_before_they_happened_are_mended(void **state)
{
    (void)state;
    struct pair pair;
    assert_int_equal(mark_one(BOB, posts[145]), 1); /* settles the pair */
    free(before);
    before = all_answers();
    pair_get(BOB, ROW_INBOX, ANN, &pair);
    pair.settled += 3;
    pair_put(BOB, ROW_INBOX, ANN, &pair);
    assert_mended();
    uint64_t unread = badge(BOB);
    delete_post(ANN, posts[1]); /* which BOB has read */
    assert_int_equal(badge(BOB), unread);
}

static void a_wrong_skip_is_mended(void **state)
{
    (void)state;
    struct pair pair;
    struct skips skips;
    uint8_t bytes[SKIPS_BYTES_MAX];
    pair_get(BOB, ROW_INBOX, ANN, &pair);
    assert_true(pair_skips(&pair, &skips));
    assert_int_equal(skips.n, 1); /* the two chunks read in whole */
    skips.at[0].end = 3;          /* and one that is not */
    pair_set_skips(&pair, &skips, bytes);
    pair_put(BOB, ROW_INBOX, ANN, &pair);
    assert_mended();
}

static void skips_that_cannot_be_read_are_mended(void **state)
{
    (void)state;
    struct pair pair;
    uint8_t bytes[] = {200, 1, 1};
    pair_get(BOB, ROW_INBOX, ANN, &pair);
    pair.skips = (struct bytes){bytes, sizeof bytes};
    pair_put(BOB, ROW_INBOX, ANN, &pair);
    assert_mended();
}

static void a_missing_pair_of_someone_who_only_read_is_mended(void **state)
{
    (void)state;
    row_delete(TABLE_USER, key_pair(EVE, ROW_OUTSIDE, ANN));
    assert_mended();
}

static void a_pair_in_the_wrong_row_is_mended(void **state)
{
    (void)state;
    struct pair pair;
    pair_get(EVE, ROW_OUTSIDE, ANN, &pair);
    row_delete(TABLE_USER, key_pair(EVE, ROW_OUTSIDE, ANN));
    pair_put(EVE, ROW_INBOX, ANN, &pair);
    assert_mended();
}

static void a_pair_that_says_nothing_is_mended(void **state)
{
    (void)state;
    struct pair nothing = {.following = false};
    pair_put(EVE, ROW_INBOX, DAN, &nothing);
    assert_mended();
}

static void two_pairs_of_the_same_two_are_found(void **state)
{
    (void)state;
    struct pair pair;
    pair_get(EVE, ROW_OUTSIDE, ANN, &pair);
    pair_put(BOB, ROW_OUTSIDE, ANN, &pair);
    assert_found();
}

static void posts_delivered_beyond_the_last_are_found(void **state)
{
    (void)state;
    struct pair pair;
    pair_get(DAN, ROW_INBOX, ANN, &pair);
    assert_int_equal(pair.n_spans, 1);
    pair.spans[0].end = POSTS + 1;
    pair_put(DAN, ROW_INBOX, ANN, &pair);
    assert_found();
}

/* ---- History -------------------------------------------------------------------------------- */

/* The row anew, without some of its entries. */
static void history_without(uint64_t reader, size_t row, size_t first, size_t n)
{
    struct history_block block;
    struct key key = history_get(reader, row, &block);
    assert_true(first + n <= block.n);
    memmove(block.at + first, block.at + first + n, (block.n - first - n) * sizeof *block.at);
    row_delete(TABLE_USER, key);
    if (block.n > n)
        history_put(reader, block.at, block.n - n);
}

static enum tidings_err look_at_history(uint64_t reader)
{
    return run((struct tidings_op){.kind = TIDINGS_OP_HISTORY, .user_id = reader});
}

static void missing_history_is_mended(void **state)
{
    (void)state;
    history_without(CID, 0, 3, 2);
    assert_mended();
    history_without(CID, 0, 0, 1); /* the one in the key */
    assert_mended();
    history_without(CID, 0, 7, 1); /* the latest */
    assert_mended();
    struct history_block block;
    row_delete(TABLE_USER, history_get(BOB, 1, &block)); /* all of a row between others */
    assert_mended();
    row_delete(TABLE_USER, history_get(CID, 0, &block)); /* all there is */
    assert_mended();
}

static void history_that_was_not_read_is_mended(void **state)
{
    (void)state;
    struct history_block block;
    history_get(CID, 0, &block);
    block.at[block.n].stamp = block.at[block.n - 1].stamp + 1;
    block.at[block.n++].post = posts[41];
    history_put(CID, block.at, block.n);
    assert_mended();
    struct history_entry of_no_post = {posts[149], 17};
    history_put(CID, &of_no_post, 1);
    assert_mended();
    history_get(CID, 0, &block);
    block.at[3].stamp++; /* another time */
    history_put(CID, block.at, block.n);
    assert_mended();
}

static void rows_of_the_history_that_overlap_are_mended(void **state)
{
    (void)state;
    struct history_block block;
    history_get(CID, 0, &block);
    history_put(CID, block.at + 2, 3); /* twice, then */
    open_engine();
    assert_int_equal(look_at_history(CID), TIDINGS_CORRUPT);
    close_engine();
    assert_mended();
}

static void damaged_rows_of_the_history_are_mended(void **state)
{
    (void)state;
    struct history_block block;
    for (size_t row = 0; row < 2; row++) {
        struct key key = history_get(BOB, row, &block);
        size_t cuts[] = {0, 1, 2, row_get(TABLE_USER, key).n - 1};
        for (size_t i = 0; i < COUNT_OF(cuts); i++) {
            row_cut(TABLE_USER, history_get(BOB, row, &block), cuts[i]);
            open_engine();
            assert_int_equal(look_at_history(CID), TIDINGS_OK);
            struct tidings_op all = {
                .kind = TIDINGS_OP_HISTORY, .user_id = BOB, .u.page.limit = 100};
            assert_int_equal(run(all), TIDINGS_CORRUPT);
            close_engine();
            assert_mended();
        }
    }
}

static void a_damaged_row_of_the_history_spoils_nothing_else(void **state)
{
    (void)state;
    struct history_block block;
    row_cut(TABLE_USER, history_get(BOB, 0, &block), 1);
    open_engine();
    struct tidings_op op = {.kind = TIDINGS_OP_OPEN, .user_id = BOB, .u.post.post_id = posts[148]};
    assert_int_equal(run(op), TIDINGS_CORRUPT);
    assert_int_equal(mark_one(CID, posts[148]), 1);
    assert_adds_up(BOB);
    assert_true(verify(true) >= 1);
    assert_int_equal(verify(false), 0);
    must(op);
    assert_verifies();
}

static void a_history_key_of_another_length_is_mended(void **state)
{
    (void)state;
    row_put(TABLE_USER, key_pair(CID, ROW_HISTORY, 5), (struct bytes){NULL, 0});
    assert_mended();
}

/* Without all maps, the history cannot be made anew: what it has of the damaged one would be lost. */
static void history_waits_for_a_damaged_read_map(void **state)
{
    (void)state;
    struct history_block block;
    struct key map = key_readmap(CID, ANN, 0);
    uint8_t whole[READMAP_RECORD_MAX];
    struct bytes value = row_get(TABLE_USER, map);
    memcpy(whole, value.p, value.n);
    history_without(CID, 0, 7, 1); /* of another map */
    row_cut(TABLE_USER, map, value.n - 1);
    open_engine();
    assert_true(verify(true) >= 1);
    assert_true(verify(true) >= 1);
    history_get(CID, 0, &block);
    assert_int_equal(block.n, 7);
    row_put(TABLE_USER, map, (struct bytes){whole, value.n});
    assert_mended();
}

static void cleared_history_that_nobody_sweeps_is_mended(void **state)
{
    (void)state;
    struct tidings_moment now = as_of(CID);
    struct user_record user = user_get(CID);
    user.history_cleared = local_newest(&now);
    user_put(CID, &user);
    open_engine();
    free(before);
    before = all_answers(); /* cleared is cleared */
    close_engine();
    assert_mended();
    publish(FAY, "the sweeper's turn", "");
    assert_null(row_get(TABLE_TODO, key_id(CID)).p);
    open_engine();
    assert_int_equal(verify(false), 0);
}

/* ---- Posts ---------------------------------------------------------------------------------- */

static void an_orphan_body_is_mended(void **state)
{
    (void)state;
    const struct bytes body = {(const uint8_t *)"orphan", 6};
    row_put(TABLE_BODY, key_id(17), body);       /* of no post */
    row_put(TABLE_BODY, key_id(posts[0]), body); /* of a deleted one */
    assert_mended();
}

static void a_missing_post_is_found(void **state)
{
    (void)state;
    row_delete(TABLE_POST, key_id(posts[50]));
    assert_found();
}

static void a_post_missing_from_its_authors_list_is_found(void **state)
{
    (void)state;
    struct key key = key_author(ANN, ROW_POSTS, 2);
    row_cut(TABLE_AUTHOR, key, row_get(TABLE_AUTHOR, key).n - ID_BYTES);
    assert_found();
}

static void a_list_with_a_foreign_post_is_found(void **state)
{
    (void)state;
    struct key key = key_author(ANN, ROW_POSTS, 2);
    uint8_t longer[READMAP_POSTS * ID_BYTES];
    struct bytes value = row_get(TABLE_AUTHOR, key);
    memcpy(longer, value.p, value.n);
    put_id(longer + value.n, dans_post);
    row_put(TABLE_AUTHOR, key, (struct bytes){longer, value.n + ID_BYTES});
    assert_found();
}

static void a_deletion_in_one_place_only_is_found(void **state)
{
    (void)state;
    struct key key = key_author(ANN, ROW_DELETED, 0);
    row_cut(TABLE_AUTHOR, key, row_get(TABLE_AUTHOR, key).n - 4);
    assert_found();
}

static void a_list_that_cannot_be_loaded_keeps_the_directory_shut(void **state)
{
    (void)state;
    const char *message = NULL;
    row_cut(TABLE_AUTHOR, key_author(ANN, ROW_POSTS, 2), ID_BYTES + 1);
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_CORRUPT);
    assert_non_null(message);
    assert_null(engine);
}

/* ---- Records that cannot be read ------------------------------------------------------------ */

static void a_damaged_user_record_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_USER, key_row(BOB, ROW_USER), 3);
}

static void a_damaged_profile_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_PROFILE, key_id(ANN), 3);
}

static void a_damaged_pair_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_USER, key_pair(BOB, ROW_INBOX, ANN), 5);
}

static void a_damaged_read_map_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_USER, key_readmap(CID, ANN, 0), 12);
}

/* Not even which posts were read can be told: then the pair's counts cannot be recomputed, either. */
static void a_read_map_without_its_bits_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_USER, key_readmap(CID, ANN, 0), 4);
    assert_left_alone(TABLE_USER, key_readmap(EVE, ANN, 0), 4); /* the only one of its pair */
    assert_left_alone(TABLE_USER, key_readmap(BOB, DAN, 0),
                      4); /* of an author who deleted nothing */
}

static void a_damaged_post_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_POST, key_id(posts[40]), 5);
}

static void a_damaged_kept_answer_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_ONCE, key_once(FAY, once.key), 4);
}

static void a_damaged_event_is_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_EVENT, key_id(posts[3]), 2);
}

static void a_row_of_unknown_kind_is_found(void **state)
{
    (void)state;
    row_put(TABLE_USER, key_row(BOB, 'z'), (struct bytes){NULL, 0});
    assert_found();
}

/* ---- Ids and kept answers ------------------------------------------------------------------- */

static void ids_newer_than_the_newest_are_found(void **state)
{
    (void)state;
    uint8_t newest[ID_BYTES + 8];
    struct bytes value = row_get(TABLE_META, key_meta("newest"));
    memcpy(newest, value.p, sizeof newest);
    put_id(newest, posts[100]);
    row_put(TABLE_META, key_meta("newest"), (struct bytes){newest, sizeof newest});
    assert_found();
}

static void an_answer_kept_for_ever_is_mended(void **state)
{
    (void)state;
    struct once_record record;
    assert_true(once_decode(row_get(TABLE_ONCE, key_once(FAY, once.key)), &record));
    row_delete(TABLE_ONCE_AGE, key_id(record.stamp));
    assert_mended();
}

static void an_age_without_an_answer_is_mended(void **state)
{
    (void)state;
    row_delete(TABLE_ONCE, key_once(FAY, once.key));
    assert_mended();
}

/* ---- What must not hang or crash ------------------------------------------------------------ */

static bool verify_ends(void)
{
    struct tidings_verify result = {.repair = false};
    alarm(20);
    return !try_open() && !tidings_verify(engine, &result) && result.differences >= 1;
}

/* The greatest id that a key can hold has no successor. */
static void verify_ends_at_the_greatest_key(void **state)
{
    (void)state;
    uint8_t bytes[USER_RECORD_MAX];
    const struct user_record user = {.posts = 1};
    struct bytes value = {bytes, user_encode(&user, bytes)};
    row_put(TABLE_USER, key_row(ID_MASK, ROW_USER), value);
    assert_true(test_survives(verify_ends));
}

static bool write_is_refused(void)
{
    alarm(20);
    return !try_open() && run((struct tidings_op){.kind = TIDINGS_OP_HISTORY_CLEAR,
                                                  .user_id = BOB}) == TIDINGS_CORRUPT;
}

/* A batch fails for a reason that is no call's fault: that must not be tried for ever. */
static void a_damaged_newest_id_refuses_writes_and_does_not_hang(void **state)
{
    (void)state;
    row_cut(TABLE_META, key_meta("newest"), 3);
    assert_true(test_survives(write_is_refused));
}

static void damage_in_one_users_rows_does_not_stop_another(void **state)
{
    (void)state;
    row_cut(TABLE_USER, key_pair(BOB, ROW_INBOX, ANN), 5);
    open_engine();
    assert_int_equal(run((struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = BOB}),
                     TIDINGS_CORRUPT);
    assert_int_equal(run((struct tidings_op){.kind = TIDINGS_OP_MARK_READ,
                                             .user_id = BOB,
                                             .u.mark = {.post_ids = &posts[148], .n_post_ids = 1}}),
                     TIDINGS_CORRUPT);
    assert_int_equal(mark_one(CID, posts[148]), 1);
    assert_adds_up(CID);
}

/* A batch with one such call in it goes through without that one. */
static void one_damaged_call_does_not_spoil_its_batch(void **state)
{
    (void)state;
    enum { CALLS = 50 };
    struct tidings_op ops[CALLS], spoiled = {.kind = TIDINGS_OP_MARK_READ,
                                             .user_id = BOB,
                                             .u.mark = {.post_ids = &posts[148], .n_post_ids = 1}};
    row_cut(TABLE_USER, key_pair(BOB, ROW_INBOX, ANN), 5);
    open_engine();
    for (size_t i = 0; i < CALLS; i++)
        ops[i] = (struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                                     .user_id = FAY,
                                     .u.publish = {TIDINGS_NOTE, text_of("t"), {NULL, 0}}};
    must_all(ops, CALLS);
    assert_int_equal(run(spoiled), TIDINGS_CORRUPT);
    must_all(ops, CALLS);
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = FAY, .u.user.user_id = FAY});
    assert_int_equal(answer.u.counters.posts, 2 * CALLS);
}

/* ---- The format ----------------------------------------------------------------------------- */

static void read_text(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, room - 1, file)] = '\0';
    fclose(file);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void another_format_is_refused(void **state)
{
    (void)state;
    const char *message = NULL;
    char path[4096], was[512] = "", changed[512];
    close_engine();
    snprintf(path, sizeof path, "%s/state", harness_dir());
    read_text(path, was, sizeof was);
    for (int format = 1; format < 5; format++) {
        if (format == STORE_FORMAT)
            continue;
        snprintf(changed, sizeof changed, "tidings %d%s", format, strchr(was, '\n'));
        write_text(path, changed);
        assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_VERSION);
        assert_non_null(message);
        assert_null(engine);
    }
    write_text(path, "nonsense");
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_CORRUPT);
    unlink(path);
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_VERSION);
    write_text(path, was);
    open_engine();
    assert_int_equal(verify(false), 0);
}

static void verify_tells_how_far_it_has_got(void **state)
{
    struct told told;
    struct tidings_verify verify = {.progress = progress_to(&told)};
    (void)state;
    assert_int_equal(tidings_verify(engine, &verify), TIDINGS_OK);
    assert_true(told.times >= 2 && !told.fell);
    assert_true(told.total >= POSTS && told.done == told.total);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_wrong_following_counter_is_mended),
        TEST(a_wrong_followers_counter_is_mended),
        TEST(a_wrong_posts_counter_is_mended),
        TEST(a_missing_user_record_is_mended),
        TEST(a_counter_of_nothing_is_mended),
        TEST(a_missing_follower_row_is_mended),
        TEST(an_extra_follower_row_is_mended),
        TEST(a_follower_row_that_names_another_is_mended),
        TEST(a_follower_row_in_the_wrong_place_is_mended),
        TEST(a_follower_row_of_the_wrong_size_is_found),
        TEST(wrong_counts_in_a_pair_are_mended),
        TEST(deletions_accounted_for_before_they_happened_are_mended),
        TEST(a_wrong_skip_is_mended),
        TEST(skips_that_cannot_be_read_are_mended),
        TEST(a_missing_pair_of_someone_who_only_read_is_mended),
        TEST(a_pair_in_the_wrong_row_is_mended),
        TEST(a_pair_that_says_nothing_is_mended),
        TEST(two_pairs_of_the_same_two_are_found),
        TEST(posts_delivered_beyond_the_last_are_found),
        TEST(missing_history_is_mended),
        TEST(history_that_was_not_read_is_mended),
        TEST(rows_of_the_history_that_overlap_are_mended),
        TEST(damaged_rows_of_the_history_are_mended),
        TEST(a_damaged_row_of_the_history_spoils_nothing_else),
        TEST(a_history_key_of_another_length_is_mended),
        TEST(history_waits_for_a_damaged_read_map),
        TEST(cleared_history_that_nobody_sweeps_is_mended),
        TEST(an_orphan_body_is_mended),
        TEST(a_missing_post_is_found),
        TEST(a_post_missing_from_its_authors_list_is_found),
        TEST(a_list_with_a_foreign_post_is_found),
        TEST(a_deletion_in_one_place_only_is_found),
        TEST(a_list_that_cannot_be_loaded_keeps_the_directory_shut),
        TEST(a_damaged_user_record_is_found_and_left_alone),
        TEST(a_damaged_profile_is_found_and_left_alone),
        TEST(a_damaged_pair_is_found_and_left_alone),
        TEST(a_damaged_read_map_is_found_and_left_alone),
        TEST(a_read_map_without_its_bits_is_found_and_left_alone),
        TEST(a_damaged_post_is_found_and_left_alone),
        TEST(a_damaged_kept_answer_is_found_and_left_alone),
        TEST(a_damaged_event_is_found_and_left_alone),
        TEST(a_row_of_unknown_kind_is_found),
        TEST(ids_newer_than_the_newest_are_found),
        TEST(an_answer_kept_for_ever_is_mended),
        TEST(an_age_without_an_answer_is_mended),
        TEST(verify_ends_at_the_greatest_key),
        TEST(a_damaged_newest_id_refuses_writes_and_does_not_hang),
        TEST(damage_in_one_users_rows_does_not_stop_another),
        TEST(one_damaged_call_does_not_spoil_its_batch),
        TEST(another_format_is_refused),
        TEST(verify_tells_how_far_it_has_got),
    };
#undef TEST
    return RUN_TESTS(tests);
}
