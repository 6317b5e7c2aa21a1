/* SPDX-License-Identifier: MIT */
#include "local/community.h"

#include <string.h>

uint64_t posts[POSTS];
uint64_t dans_post;
char *before;

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

char *all_answers(void)
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

static bool render_nothing(const struct tidings_once *once, const struct tidings_answer *of,
                           struct tidings_text *bytes)
{
    (void)once;
    (void)of;
    *bytes = (struct tidings_text){"done", 4};
    return true;
}

const struct tidings_once followed_once = {.key = "a key", .render = render_nothing};

int community_begin(void **state)
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
    must((struct tidings_op){.kind = TIDINGS_OP_FOLLOW,
                             .user_id = FAY,
                             .once = &followed_once,
                             .u.relation.user_id = ANN});
    assert_verifies();
    before = all_answers();
    return 0;
}

int community_end(void **state)
{
    free(before);
    before = NULL;
    return harness_end(state);
}

uint64_t verify(bool repair)
{
    struct tidings_verify result = {.repair = repair};
    result.report = getenv("TEST_REPORT") ? stderr : NULL;
    assert_int_equal(tidings_verify(engine, &result), TIDINGS_OK);
    return result.differences;
}

void assert_mended(void)
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

void assert_found(void)
{
    open_engine();
    assert_true(verify(false) >= 1);
}

void assert_left_alone(enum table table, struct key key, size_t cut)
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
