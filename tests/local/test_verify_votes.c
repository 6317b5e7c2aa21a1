/* SPDX-License-Identifier: MIT */
/*
 * Verify, against damage done on purpose to reactions, comments, counts and hot lists. Damage must
 * be found. Where it can be recomputed, repairing must make every public answer what it was; where
 * it cannot, repairing must leave everything else alone.
 */
#include <string.h>

#include "contract/harness.h"
#include "domain/heat.h"
#include "domain/ids.h"
#include "local/damage.h"

enum { ANN = 1, BOB, CID, DAN, EVE, USERS = EVE };

static uint64_t note, quiet, gone;
/* On the note: top has a reply, which has one that is folded, which has a visible one. dead is
 * deleted and listed for the sake of its reply; leaf is deleted and not listed. */
static uint64_t top, reply, folded, deep, dead, dead_reply, leaf;
static char *before;

/* ---- Every public answer as text ------------------------------------------------------------ */

static void write_counts(FILE *to, const struct tidings_counts *c)
{
    fprintf(to, "[%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 "]",
            c->like_count, c->fav_count, c->comment_count, c->down_count, c->reply_count,
            c->hot_score);
}

static void write_comments(FILE *to, uint64_t post, uint64_t parent, enum tidings_sort sort)
{
    struct tidings_op op = {.kind = TIDINGS_OP_COMMENTS,
                            .role = TIDINGS_ROLE_ADMIN,
                            .user_id = CID,
                            .u.comments = {post, parent, sort, true, .page.limit = 2}};
    fprintf(to, "comments %" PRIu64 " %" PRIu64 ":", post, parent);
    do {
        must(op);
        for (size_t i = 0; i < answer.u.comments.n; i++) {
            const struct tidings_comment *c = &answer.u.comments.rows[i];
            fprintf(to, " %" PRIu64 "%s/%d%d%d%d", c->id, c->body.p, (int)c->status, c->moderated,
                    c->liked, c->downvoted);
            write_counts(to, &c->counts);
        }
        op.u.comments.page.after = answer.u.comments.next;
    } while (answer.u.comments.next.a);
    fputc('\n', to);
}

static void write_user(FILE *to, uint64_t user)
{
    static const struct {
        enum tidings_reaction reaction;
        enum tidings_target target;
    } lists[] = {{LIKE, POST}, {FAV, POST}, {LIKE, COMMENT}};
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = user, .u.user.user_id = user});
    fprintf(to, "user %" PRIu64 ": %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 ":", user,
            answer.u.counters.liked_posts, answer.u.counters.faved_posts,
            answer.u.counters.likes_received, answer.u.counters.favs_received);
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        must((struct tidings_op){.kind = TIDINGS_OP_REACTED,
                                 .user_id = user,
                                 .u.reactors = {lists[i].reaction, lists[i].target, 0}});
        for (size_t j = 0; j < answer.u.reacted.n; j++)
            fprintf(to, " %" PRIu64 "%s", answer.u.reacted.rows[j].id,
                    answer.u.reacted.rows[j].text.p);
    }
    fputc('\n', to);
}

static void write_target(FILE *to, enum tidings_target target, enum tidings_reaction reaction,
                         uint64_t id)
{
    struct tidings_counts counts = counts_of(target, id);
    fprintf(to, "target %" PRIu64, id);
    write_counts(to, &counts);
    must((struct tidings_op){.kind = TIDINGS_OP_REACTORS,
                             .role = TIDINGS_ROLE_ADMIN,
                             .user_id = BOB,
                             .u.reactors = {reaction, target, id}});
    for (size_t i = 0; i < answer.u.users.n; i++)
        fprintf(to, " %" PRIu64 "@%" PRId64, answer.u.users.rows[i].user_id,
                answer.u.users.rows[i].since);
    fputc('\n', to);
}

static char *all_answers(void)
{
    const uint64_t parents[] = {0, top, reply, folded, deep, dead, dead_reply, leaf};
    static struct ids hot;
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    assert_non_null(to);
    for (uint64_t user = 1; user <= USERS; user++)
        write_user(to, user);
    for (size_t i = 0; i < COUNT_OF(parents); i++)
        for (int sort = TIDINGS_HOT; sort <= TIDINGS_OLD; sort++)
            write_comments(to, note, parents[i], (enum tidings_sort)sort);
    for (size_t i = 1; i < COUNT_OF(parents); i++)
        write_target(to, COMMENT, LIKE, parents[i]);
    const uint64_t posts[] = {note, quiet, gone};
    for (size_t i = 0; i < COUNT_OF(posts); i++) {
        write_target(to, POST, LIKE, posts[i]);
        write_target(to, POST, FAV, posts[i]);
    }
    list_hot(TIDINGS_NOTE, &hot);
    for (size_t i = 0; i < hot.n; i++)
        fprintf(to, " %" PRIu64, hot.at[i]);
    fclose(to);
    return text;
}

/* ---- The community -------------------------------------------------------------------------- */

static int set_up(void **state)
{
    if (harness_begin(state))
        return -1;
    note = publish(ANN, "a note", "body");
    quiet = publish(ANN, "a quiet one", "body");
    gone = publish(ANN, "gone", "body");
    top = comment(BOB, note, 0, "top");
    reply = comment(CID, note, top, "reply");
    folded = comment(BOB, note, reply, "folded");
    deep = comment(DAN, note, folded, "deep");
    dead = comment(BOB, note, 0, "dead");
    dead_reply = comment(CID, note, dead, "dead's reply");
    leaf = comment(CID, note, 0, "leaf");
    comment(CID, gone, 0, "on what will be gone");
    for (uint64_t user = BOB; user <= EVE; user++) {
        react(user, LIKE, POST, note);
        react(user, LIKE, COMMENT, reply);
        react(user, DOWN, COMMENT, folded);
        react(user, LIKE, POST, gone);
    }
    react(BOB, FAV, POST, note);
    react(CID, FAV, POST, gone);
    react(EVE, LIKE, COMMENT, leaf);
    delete_comment(BOB, dead);
    delete_comment(CID, leaf);
    delete_post(ANN, gone);
    unreact(EVE, LIKE, POST, gone);
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

/* TEST_REPORT=1 shows what verify says. */
static uint64_t verify(bool repair)
{
    struct tidings_verify result = {.repair = repair};
    result.report = getenv("TEST_REPORT") ? stderr : NULL;
    assert_int_equal(tidings_verify(engine, &result), TIDINGS_OK);
    return result.differences;
}

static void assert_as_before(void)
{
    char *after = all_answers();
    assert_string_equal(after, before);
    free(after);
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
    assert_as_before();
}

static void assert_found(void)
{
    open_engine();
    assert_true(verify(false) >= 1);
}

/* The truth itself is gone: what is left must agree after repairing. */
static void assert_settled(void)
{
    open_engine();
    assert_true(verify(true) >= 1);
    assert_int_equal(verify(false), 0);
}

/* A record that cannot be read: repairing touches nothing that hangs on it. */
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
    assert_as_before();
}

/* ---- Rows to damage ------------------------------------------------------------------------- */

static struct counts_record counts_get(uint64_t post)
{
    struct counts_record counts;
    assert_true(counts_decode(row_get(TABLE_TARGET, key_row(post, ROW_COUNTS)), &counts));
    return counts;
}

static void counts_put(uint64_t post, struct counts_record counts)
{
    uint8_t bytes[COUNTS_RECORD_MAX];
    row_put(TABLE_TARGET, key_row(post, ROW_COUNTS),
            (struct bytes){bytes, counts_encode(&counts, bytes)});
}

static struct comment_record comment_get(uint64_t id)
{
    struct comment_record record;
    assert_true(comment_decode(row_get(TABLE_TARGET, key_row(id, ROW_COMMENT)), &record));
    return record;
}

static void comment_put(uint64_t id, struct comment_record record)
{
    uint8_t bytes[COMMENT_RECORD_MAX];
    row_put(TABLE_TARGET, key_row(id, ROW_COMMENT),
            (struct bytes){bytes, comment_encode(&record, bytes)});
}

static struct reaction_record vote_get(uint64_t user, uint64_t target)
{
    struct reaction_record record;
    assert_true(reaction_decode(row_get(TABLE_USER, key_vote(user, target)), &record));
    return record;
}

static struct key hot_key(uint64_t id, int64_t score)
{
    return key_hot(TIDINGS_NOTE, heat_post_key(&options.settings, score, id_time_ms(id)), id);
}

/* ---- Counts --------------------------------------------------------------------------------- */

static void wrong_counts_of_a_post_are_mended(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        struct counts_record counts = counts_get(note);
        counts.likes += which == 0 ? 5 : 0;
        counts.favs = which == 1 ? 0 : counts.favs;
        counts.comments = which == 2 ? 0 : counts.comments;
        if (which == 3)
            counts = (struct counts_record){1, 2, 3};
        counts_put(note, counts);
        assert_mended();
    }
}

static void missing_counts_are_mended(void **state)
{
    (void)state;
    row_delete(TABLE_TARGET, key_row(note, ROW_COUNTS));
    assert_mended();
}

static void counts_of_a_deleted_post_are_mended(void **state)
{
    (void)state;
    counts_put(gone, (struct counts_record){100, 100, 100});
    assert_mended();
}

static void counts_of_nothing_are_mended(void **state)
{
    (void)state;
    counts_put(quiet, (struct counts_record){0, 0, 0});
    counts_put(12345, (struct counts_record){1, 0, 0});
    assert_mended();
}

static void wrong_counts_of_a_comment_are_mended(void **state)
{
    (void)state;
    for (int which = 0; which < 5; which++) {
        struct comment_record record = comment_get(which == 4 ? leaf : reply);
        record.likes += which == 0 ? 7 : 0;
        record.downs += which == 1 ? 1 : 0;
        record.replies += which == 2 ? 3 : 0;
        record.listed = which == 3 ? 0 : record.listed;
        if (which == 4)
            record.likes = 0;
        comment_put(which == 4 ? leaf : reply, record);
        assert_mended();
    }
}

static void a_comment_that_is_not_folded_as_its_votes_say_is_mended(void **state)
{
    (void)state;
    struct comment_record record = comment_get(folded);
    record.status = TIDINGS_COMMENT_VISIBLE;
    comment_put(folded, record);
    assert_mended();
    record = comment_get(top);
    record.status = TIDINGS_COMMENT_HIDDEN;
    comment_put(top, record);
    assert_mended();
}

static void a_wrong_count_that_keeps_a_deleted_comment_is_mended(void **state)
{
    (void)state;
    struct comment_record record = comment_get(leaf);
    record.listed = 1;
    comment_put(leaf, record);
    assert_mended();
    record = comment_get(dead);
    record.listed = 0;
    comment_put(dead, record);
    assert_mended();
}

static void wrong_counters_of_users_are_mended(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        struct user_record user = user_get(ANN);
        *(which == 0   ? &user.liked_posts
          : which == 1 ? &user.faved_posts
          : which == 2 ? &user.likes_received
                       : &user.favs_received) += 2;
        user_put(ANN, &user);
        assert_mended();
    }
}

/* ---- Lists ---------------------------------------------------------------------------------- */

static void missing_rows_of_reactions_are_mended(void **state)
{
    (void)state;
    row_delete(TABLE_TARGET, key_reactor(note, LIKE, vote_get(CID, note).stamp[LIKE]));
    assert_mended();
    row_delete(TABLE_TARGET, key_reactor(folded, DOWN, vote_get(CID, folded).stamp[DOWN]));
    assert_mended();
    row_delete(TABLE_USER, key_reacted(CID, POST, LIKE, vote_get(CID, note).stamp[LIKE]));
    assert_mended();
}

static void extra_rows_of_reactions_are_mended(void **state)
{
    (void)state;
    uint8_t id[ID_BYTES];
    put_id(id, 77);
    row_put(TABLE_TARGET, key_reactor(note, LIKE, 12345), (struct bytes){id, sizeof id});
    assert_mended();
    for (uint64_t i = 0; i < 5; i++)
        row_put(TABLE_TARGET, key_reactor(top, DOWN, 12345 + i), (struct bytes){id, sizeof id});
    assert_mended();
    put_id(id, note);
    row_put(TABLE_USER, key_reacted(ANN, POST, FAV, 12345), (struct bytes){id, sizeof id});
    assert_mended();
    row_put(TABLE_TARGET, key_reactor(note, FAV, vote_get(BOB, note).stamp[FAV]),
            (struct bytes){id, sizeof id}); /* names another */
    assert_mended();
    put_id(id, quiet);
    row_put(TABLE_USER, key_reacted(BOB, POST, FAV, vote_get(BOB, note).stamp[FAV]),
            (struct bytes){id, sizeof id});
    assert_mended();
}

static void a_vanished_vote_leaves_the_lists_and_counts(void **state)
{
    (void)state;
    row_delete(TABLE_USER, key_vote(CID, note));
    assert_settled();
    assert_int_equal(counts_of(POST, note).like_count, 3);
    row_delete(TABLE_USER, key_vote(CID, folded));
    row_delete(TABLE_USER, key_vote(DAN, folded)); /* two downvotes fold nothing */
    assert_settled();
    assert_int_equal(counts_of(COMMENT, reply).reply_count, 1);
}

static void missing_places_of_comments_are_mended(void **state)
{
    (void)state;
    row_delete(TABLE_TARGET, key_reply(note, top)); /* with all that hangs on it */
    assert_mended();
    row_delete(TABLE_TARGET, key_reply(reply, folded));
    row_delete(TABLE_TARGET, key_reply(top, reply));
    assert_mended();
    row_delete(TABLE_TARGET, key_reply(dead, dead_reply));
    assert_mended();
    row_delete(TABLE_TARGET, key_hot_reply(note, heat_comment_key(3), top));
    assert_mended();
}

static void extra_places_of_comments_are_mended(void **state)
{
    (void)state;
    const struct bytes none = {(const uint8_t *)"", 0};
    row_put(TABLE_TARGET, key_reply(note, leaf), none);
    assert_mended();
    row_put(TABLE_TARGET, key_reply(note, deep), none); /* it is on another */
    assert_mended();
    row_put(TABLE_TARGET, key_reply(quiet, 12345), none);
    assert_mended();
    row_put(TABLE_TARGET, key_hot_reply(note, heat_comment_key(77), top), none);
    assert_mended();
    row_put(TABLE_TARGET, key_hot_reply(note, heat_comment_key(2), leaf), none);
    assert_mended();
    row_put(TABLE_TARGET, key_hot_reply(424242, heat_comment_key(3), top), none);
    assert_mended();
}

static void hot_lists_are_mended(void **state)
{
    (void)state;
    const struct bytes none = {(const uint8_t *)"", 0};
    row_delete(TABLE_HOT, hot_key(quiet, 0));
    assert_mended();
    row_put(TABLE_HOT, hot_key(quiet, 99), none);
    assert_mended();
    row_put(TABLE_HOT, hot_key(gone, 5), none);
    assert_mended();
    row_put(TABLE_HOT, key_hot(TIDINGS_STORY, 1, quiet), none);
    assert_mended();
    row_put(TABLE_HOT, hot_key(31337, 5), none);
    assert_mended();
}

static void much_damage_at_once_is_mended(void **state)
{
    (void)state;
    row_delete(TABLE_TARGET, key_row(note, ROW_COUNTS));
    row_delete(TABLE_TARGET, key_reactor(note, LIKE, vote_get(CID, note).stamp[LIKE]));
    row_delete(TABLE_TARGET, key_reactor(folded, DOWN, vote_get(CID, folded).stamp[DOWN]));
    row_delete(TABLE_TARGET, key_reply(note, top));
    row_delete(TABLE_TARGET, key_reply(folded, deep));
    struct comment_record record = comment_get(folded);
    record.status = TIDINGS_COMMENT_VISIBLE;
    record.downs = 0;
    comment_put(folded, record);
    record = comment_get(dead);
    record.listed = 0;
    comment_put(dead, record);
    row_delete(TABLE_USER, key_row(ANN, ROW_USER));
    assert_mended();
}

/* ---- What only others can mend -------------------------------------------------------------- */

static void a_body_without_its_comment_is_mended(void **state)
{
    (void)state;
    row_put(TABLE_TARGET, key_row(leaf, ROW_BODY), (struct bytes){(const uint8_t *)"old", 3});
    assert_mended();
    row_put(TABLE_TARGET, key_row(4711, ROW_BODY), (struct bytes){(const uint8_t *)"old", 3});
    assert_mended();
}

static void a_lost_body_is_found(void **state)
{
    (void)state;
    row_delete(TABLE_TARGET, key_row(top, ROW_BODY));
    assert_found();
}

static void a_missing_comment_is_found(void **state)
{
    (void)state;
    row_delete(TABLE_TARGET, key_row(reply, ROW_COMMENT));
    assert_found();
}

static void damaged_records_are_found_and_left_alone(void **state)
{
    (void)state;
    assert_left_alone(TABLE_TARGET, key_row(reply, ROW_COMMENT), 9);
    assert_left_alone(TABLE_TARGET, key_row(top, ROW_COMMENT), 9);
    assert_left_alone(TABLE_TARGET, key_row(note, ROW_COUNTS), 1);
    assert_left_alone(TABLE_USER, key_vote(CID, note), 3);
    assert_left_alone(TABLE_USER, key_vote(CID, folded), 3);
}

static void rows_of_unknown_kinds_and_sizes_are_found(void **state)
{
    (void)state;
    const struct bytes none = {(const uint8_t *)"", 0};
    const struct key keys[] = {key_row(note, 'z'), key_row(note, ROW_REPLY), key_row(note, ROW_HOT),
                               key_row(note, ROW_REACTOR), key_pair(note, 'c', 1)};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        row_put(TABLE_TARGET, keys[i], none);
        assert_found();
        row_delete(TABLE_TARGET, keys[i]);
    }
    row_put(TABLE_HOT, key_hot_list(TIDINGS_NOTE), none);
    assert_found();
}

/* A count that would go below zero is refused, counted and told. */
static int told;

static void tell(void *ctx, const char *text)
{
    (void)ctx;
    (void)text;
    told++;
}

static void a_would_be_negative_count_is_a_fault_and_changes_nothing(void **state)
{
    (void)state;
    struct tidings_stats stats;
    struct user_record user = user_get(BOB);
    user.liked_posts = 0;
    user_put(BOB, &user);
    told = 0;
    options.fault = tell;
    open_engine();
    assert_int_equal(run((struct tidings_op){.kind = TIDINGS_OP_UNREACT,
                                             .user_id = BOB,
                                             .u.react = {LIKE, POST, note}}),
                     TIDINGS_CORRUPT);
    tidings_stats(engine, &stats);
    assert_int_equal(stats.faults, 1);
    assert_int_equal(told, 1);
    assert_int_equal(counts_of(POST, note).like_count, 4);
    assert_true(verify(true) >= 1);
    assert_true(unreact(BOB, LIKE, POST, note));
    assert_verifies();
}

/* Other rules, and a comment that cannot be read: the directory opens, so that verify can look. */
static void damage_does_not_keep_other_rules_from_opening(void **state)
{
    (void)state;
    row_cut(TABLE_TARGET, key_row(reply, ROW_COMMENT), 9);
    options.settings.hot_like = 50;
    assert_found();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(wrong_counts_of_a_post_are_mended),
        TEST(missing_counts_are_mended),
        TEST(counts_of_a_deleted_post_are_mended),
        TEST(counts_of_nothing_are_mended),
        TEST(wrong_counts_of_a_comment_are_mended),
        TEST(a_comment_that_is_not_folded_as_its_votes_say_is_mended),
        TEST(a_wrong_count_that_keeps_a_deleted_comment_is_mended),
        TEST(wrong_counters_of_users_are_mended),
        TEST(missing_rows_of_reactions_are_mended),
        TEST(extra_rows_of_reactions_are_mended),
        TEST(a_vanished_vote_leaves_the_lists_and_counts),
        TEST(missing_places_of_comments_are_mended),
        TEST(extra_places_of_comments_are_mended),
        TEST(hot_lists_are_mended),
        TEST(much_damage_at_once_is_mended),
        TEST(a_body_without_its_comment_is_mended),
        TEST(a_lost_body_is_found),
        TEST(a_missing_comment_is_found),
        TEST(damaged_records_are_found_and_left_alone),
        TEST(rows_of_unknown_kinds_and_sizes_are_found),
        TEST(a_would_be_negative_count_is_a_fault_and_changes_nothing),
        TEST(damage_does_not_keep_other_rules_from_opening),
    };
#undef TEST
    return RUN_TESTS(tests);
}
