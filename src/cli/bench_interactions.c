/* SPDX-License-Identifier: MIT */
/* The part of bench-engine about likes, comments and hot lists, with one post that has very many of
 * both. */
#include <stdlib.h>

#include "cli/bench.h"

enum { COMMENTS_PAGE = 20 };

/* The post with the many comments; made when it is first wanted. */
static uint64_t busy_post(struct bench *bench)
{
    static uint64_t id;
    uint64_t author = bench_big(bench) + 1;
    struct tidings_answer answer;
    struct tidings_op op = {
        .kind = TIDINGS_OP_AUTHOR_PAGE, .user_id = 1, .u.feed.author_id = author};
    if (id)
        return id;
    tidings_answer_init(&answer);
    enum tidings_err err = tidings_run(bench->tidings, &op, &answer);
    if (!err && answer.u.feed.n) {
        id = answer.u.feed.rows[0].post_id;
    } else {
        op = bench_publish(author);
        err = tidings_run(bench->tidings, &op, &answer);
        id = answer.u.post.id;
    }
    if (err)
        bench_fail("the busy post", err);
    tidings_answer_release(&answer);
    return id;
}

static uint64_t comments_there(struct bench *bench)
{
    struct tidings_answer answer;
    struct tidings_op op = {.kind = TIDINGS_OP_STATS,
                            .user_id = 1,
                            .u.react = {.target = TIDINGS_TARGET_POST, .id = busy_post(bench)}};
    tidings_answer_init(&answer);
    if (tidings_run(bench->tidings, &op, &answer))
        bench_fail("stats", answer.err);
    uint64_t n = answer.u.stats.counts.comment_count;
    tidings_answer_release(&answer);
    return n;
}

static void fill_comments(struct bench *bench)
{
    static const char body[] = "A comment of ordinary length: a sentence or two, as people write.";
    uint64_t post = busy_post(bench), n = comments_there(bench);
    uint64_t missing = bench->comments > n ? bench->comments - n : 0;
    struct pool *pool = pool_new(bench);
    struct usage from = bench_usage();
    for (uint64_t i = 0; i < missing; i++)
        bench_submit(bench, pool,
                     (struct tidings_op){.kind = TIDINGS_OP_COMMENT,
                                         .role = TIDINGS_ROLE_SERVICE,
                                         .user_id = bench_user(bench),
                                         .u.comment = {post, 0, {body, sizeof body - 1}}});
    pool_drain(pool);
    bench_print_usage("comment on the busy post, batches", from, missing);
    pool_free(pool);
}

/* ---- Pages ---------------------------------------------------------------------------------- */

static struct tidings_op comments_op(struct bench *bench, enum tidings_sort sort)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_COMMENTS,
        .user_id = bench_user(bench),
        .u.comments = {busy_post(bench), 0, sort, .page.limit = COMMENTS_PAGE}};
}

static struct tidings_op make_hot_page(struct bench *bench, struct tidings_answer *answer)
{
    (void)answer;
    return comments_op(bench, TIDINGS_HOT);
}

/* The page after the one before, so that each is of other comments. */
static struct tidings_op make_next_page(struct bench *bench, struct tidings_answer *answer)
{
    struct tidings_op op = comments_op(bench, TIDINGS_HOT);
    op.u.comments.page.after = answer->u.comments.next;
    return op;
}

static struct tidings_op make_new_page(struct bench *bench, struct tidings_answer *answer)
{
    (void)answer;
    return comments_op(bench, TIDINGS_NEW);
}

static struct tidings_op make_hot_list(struct bench *bench, struct tidings_answer *answer)
{
    (void)answer;
    return (struct tidings_op){.kind = TIDINGS_OP_HOT,
                               .user_id = bench_user(bench),
                               .u.hot = {TIDINGS_NOTE, .page.limit = COMMENTS_PAGE}};
}

/* ---- Reactions ------------------------------------------------------------------------------ */

/* Somebody and something to like, chosen beforehand. */
struct pick {
    uint64_t user;
    uint64_t id;
};

typedef void pick_list(struct bench *bench, struct pick *picks, uint64_t n);

static void pick_posts(struct bench *bench, struct pick *picks, uint64_t n)
{
    struct tidings_answer answer;
    tidings_answer_init(&answer);
    for (uint64_t i = 0; i < n; i++) {
        struct tidings_op op = {
            .kind = TIDINGS_OP_AUTHOR_PAGE, .user_id = 1, .u.feed.author_id = bench_user(bench)};
        if (tidings_run(bench->tidings, &op, &answer) || !answer.u.feed.n)
            bench_fail("a post to like", answer.err);
        uint64_t which = bench_random(bench) % answer.u.feed.n;
        picks[i] = (struct pick){bench_user(bench), answer.u.feed.rows[which].post_id};
    }
    tidings_answer_release(&answer);
}

static void pick_busy_post(struct bench *bench, struct pick *picks, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        picks[i] = (struct pick){bench_user(bench), busy_post(bench)};
}

static void pick_comments(struct bench *bench, struct pick *picks, uint64_t n)
{
    struct tidings_answer answer;
    tidings_answer_init(&answer);
    for (uint64_t i = 0; i < n;) {
        struct tidings_op op = comments_op(bench, TIDINGS_OLD);
        op.u.comments.page.after = answer.u.comments.next;
        if (tidings_run(bench->tidings, &op, &answer) || !answer.u.comments.n)
            bench_fail("a comment to like", answer.err);
        for (size_t j = 0; j < answer.u.comments.n && i < n; j++)
            picks[i++] = (struct pick){bench_user(bench), answer.u.comments.rows[j].id};
    }
    tidings_answer_release(&answer);
}

static void react_all(struct bench *bench, const char *what, enum tidings_op_kind kind,
                      enum tidings_target target, const struct pick *picks)
{
    struct pool *pool = pool_new(bench);
    struct usage from = bench_usage();
    for (uint64_t i = 0; i < bench->samples; i++)
        bench_submit(bench, pool,
                     (struct tidings_op){.kind = kind,
                                         .user_id = picks[i].user,
                                         .u.react = {TIDINGS_LIKE, target, picks[i].id}});
    pool_drain(pool);
    bench_print_usage(what, from, bench->samples);
    pool_free(pool);
}

static void time_likes(struct bench *bench, const char *const names[2], enum tidings_target target,
                       pick_list *pick)
{
    struct pick *picks = calloc(bench->samples, sizeof *picks);
    if (!picks)
        bench_fail(names[0], TIDINGS_NO_MEMORY);
    pick(bench, picks, bench->samples);
    react_all(bench, names[0], TIDINGS_OP_REACT, target, picks);
    react_all(bench, names[1], TIDINGS_OP_UNREACT, target, picks);
    free(picks);
}

void bench_interactions(struct bench *bench)
{
    static const struct {
        const char *names[2];
        enum tidings_target target;
        pick_list *pick;
    } likes[] = {
        {{"like random posts, batches", "unlike random posts, batches"},
         TIDINGS_TARGET_POST,
         pick_posts},
        {{"like the busy post, batches", "unlike the busy post, batches"},
         TIDINGS_TARGET_POST,
         pick_busy_post},
        {{"like its comments, batches", "unlike its comments, batches"},
         TIDINGS_TARGET_COMMENT,
         pick_comments},
    };
    static const struct {
        const char *name;
        make_op *make;
    } pages[] = {
        {"hot comments, first page of 20", make_hot_page},
        {"hot comments, page after page", make_next_page},
        {"new comments, first page of 20", make_new_page},
        {"hot list of posts, page of 20", make_hot_list},
    };
    bool filled = false;
    for (size_t i = 0; i < sizeof likes / sizeof *likes; i++) {
        if (!bench_wants(bench, likes[i].names[0]))
            continue;
        if (!filled)
            fill_comments(bench);
        filled = true;
        time_likes(bench, likes[i].names, likes[i].target, likes[i].pick);
    }
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (!bench_wants(bench, pages[i].name))
            continue;
        if (!filled)
            fill_comments(bench);
        filled = true;
        bench_time(bench, pages[i].name, pages[i].make);
    }
}
