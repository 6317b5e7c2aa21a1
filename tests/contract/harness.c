/* SPDX-License-Identifier: MIT */
#include "contract/harness.h"

#include <ftw.h>
#include <pthread.h>
#include <string.h>

#include "support/engine.h"

struct tidings *engine;
struct tidings_answer answer;
struct tidings_options options;
_Atomic int64_t clock_ms;

static char root[256]; /* removed at the end; the data directory is in it */
static char dir[300];

static int64_t standing_clock(void *ctx)
{
    (void)ctx;
    return atomic_load(&clock_ms);
}

int harness_begin_closed(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/tidings-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(root))
        return -1;
    snprintf(dir, sizeof dir, "%s/data", root);
    atomic_store(&clock_ms, START_MS);
    tidings_options_init(&options);
    options.dir = dir;
    options.clock = standing_clock;
    options.settings.map_mb = 1024;
    tidings_answer_init(&answer);
    return 0;
}

int harness_begin(void **state)
{
    if (harness_begin_closed(state))
        return -1;
    return try_open() ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *where)
{
    (void)stat;
    (void)type;
    (void)where;
    return remove(path);
}

int harness_end(void **state)
{
    (void)state;
    close_engine();
    tidings_answer_release(&answer);
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *harness_dir(void)
{
    return dir;
}

void harness_path(char path[512], const char *name)
{
    snprintf(path, 512, "%s/%s", root, name);
}

enum tidings_err try_open(void)
{
    return engine_open(&options, &engine, NULL);
}

void open_engine(void)
{
    assert_int_equal(try_open(), TIDINGS_OK);
}

void close_engine(void)
{
    tidings_close(engine);
    engine = NULL;
}

void reopen_engine(void)
{
    close_engine();
    open_engine();
}

static void note_progress(void *ctx, const char *part, uint64_t done, uint64_t total)
{
    struct told *told = ctx;
    assert_true(*part && done <= total);
    told->fell |= done < told->done;
    told->times++;
    told->done = done;
    told->total = total;
}

struct tidings_progress progress_to(struct told *told)
{
    *told = (struct told){0};
    return (struct tidings_progress){note_progress, told};
}

/* ---- Operations ------------------------------------------------------------------------------ */

enum tidings_err run(struct tidings_op op)
{
    return tidings_run(engine, &op, &answer);
}

void must(struct tidings_op op)
{
    if (run(op))
        fail_msg("op %d by %" PRIu64 ": %s%s%s", (int)op.kind, op.user_id,
                 tidings_err_code(answer.err), answer.field ? ", " : "",
                 answer.field ? answer.field : "");
}

struct crowd {
    pthread_mutex_t mutex;
    pthread_cond_t all_done;
    size_t left;
};

static void one_done(struct tidings_call *call)
{
    struct crowd *crowd = call->ctx;
    pthread_mutex_lock(&crowd->mutex);
    if (!--crowd->left)
        pthread_cond_signal(&crowd->all_done);
    pthread_mutex_unlock(&crowd->mutex);
}

/* Each has an answer of its own, which is the engine's until the call is finished. */
static void submit_some(const struct tidings_op *ops, size_t n, struct tidings_call *calls,
                        struct tidings_answer *answers)
{
    struct crowd crowd = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, n};
    for (size_t i = 0; i < n; i++) {
        calls[i] = (struct tidings_call){
            .op = &ops[i], .answer = &answers[i], .done = one_done, .ctx = &crowd};
        tidings_submit(engine, &calls[i]);
    }
    pthread_mutex_lock(&crowd.mutex);
    while (crowd.left)
        pthread_cond_wait(&crowd.all_done, &crowd.mutex);
    pthread_mutex_unlock(&crowd.mutex);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(tidings_finish(engine, &calls[i]), TIDINGS_OK);
}

void must_all(const struct tidings_op *ops, size_t n)
{
    enum { AT_ONCE = 1000 };
    static struct tidings_call calls[AT_ONCE];
    static struct tidings_answer answers[AT_ONCE];
    for (size_t i = 0; i < AT_ONCE; i++)
        tidings_answer_init(&answers[i]);
    for (size_t i = 0; i < n; i += AT_ONCE)
        submit_some(ops + i, n - i < AT_ONCE ? n - i : AT_ONCE, calls, answers);
    for (size_t i = 0; i < AT_ONCE; i++)
        tidings_answer_release(&answers[i]);
}

struct tidings_text text_of(const char *s)
{
    return (struct tidings_text){s, s ? strlen(s) : 0};
}

void follow(uint64_t fan, uint64_t author)
{
    must((struct tidings_op){.kind = TIDINGS_OP_FOLLOW,
                             .role = TIDINGS_ROLE_SERVICE,
                             .user_id = fan,
                             .u.relation.user_id = author});
}

uint64_t unfollow(uint64_t fan, uint64_t author, bool purge)
{
    must((struct tidings_op){.kind = TIDINGS_OP_UNFOLLOW,
                             .role = TIDINGS_ROLE_SERVICE,
                             .user_id = fan,
                             .u.relation = {.user_id = author, .purge_inbox = purge}});
    return answer.u.relation.purged;
}

uint64_t publish(uint64_t author, const char *title, const char *body)
{
    must((struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                             .user_id = author,
                             .role = TIDINGS_ROLE_SERVICE,
                             .u.publish = {TIDINGS_NOTE, text_of(title), text_of(body)}});
    return answer.u.post.id;
}

void publish_many(uint64_t author, size_t n)
{
    struct tidings_op *ops = calloc(n, sizeof *ops);
    assert_non_null(ops);
    for (size_t i = 0; i < n; i++)
        ops[i] = (struct tidings_op){
            .kind = TIDINGS_OP_PUBLISH,
            .user_id = author,
            .role = TIDINGS_ROLE_SERVICE,
            .u.publish = {TIDINGS_NOTE, text_of("one of many"), text_of("body")}};
    must_all(ops, n);
    free(ops);
}

void delete_post(uint64_t author, uint64_t post)
{
    must((struct tidings_op){.kind = TIDINGS_OP_DELETE, .user_id = author, .u.post.post_id = post});
}

void open_post(uint64_t viewer, uint64_t post)
{
    must((struct tidings_op){.kind = TIDINGS_OP_OPEN, .user_id = viewer, .u.post.post_id = post});
}

uint64_t mark(uint64_t viewer, const uint64_t *posts, size_t n)
{
    must((struct tidings_op){.kind = TIDINGS_OP_MARK_READ,
                             .user_id = viewer,
                             .u.mark = {.post_ids = posts, .n_post_ids = n}});
    return answer.u.mark.marked;
}

uint64_t mark_one(uint64_t viewer, uint64_t post)
{
    return mark(viewer, &post, 1);
}

uint64_t unmark_one(uint64_t viewer, uint64_t post)
{
    must((struct tidings_op){.kind = TIDINGS_OP_MARK_UNREAD,
                             .user_id = viewer,
                             .u.mark = {.post_ids = &post, .n_post_ids = 1}});
    return answer.u.mark.marked;
}

uint64_t mark_up_to(uint64_t viewer, uint64_t author, struct tidings_moment up_to)
{
    must((struct tidings_op){.kind = TIDINGS_OP_MARK_READ,
                             .user_id = viewer,
                             .u.mark = {.author_id = author, .up_to = up_to}});
    return answer.u.mark.marked;
}

static struct tidings_op free_react_op(enum tidings_op_kind kind, uint64_t user,
                                       enum tidings_reaction reaction, enum tidings_target target,
                                       uint64_t id)
{
    return (struct tidings_op){.kind = kind,
                               .role = TIDINGS_ROLE_SERVICE,
                               .user_id = user,
                               .u.react = {reaction, target, id}};
}

bool react(uint64_t user, enum tidings_reaction reaction, enum tidings_target target, uint64_t id)
{
    must(free_react_op(TIDINGS_OP_REACT, user, reaction, target, id));
    return answer.u.reaction.changed;
}

bool unreact(uint64_t user, enum tidings_reaction reaction, enum tidings_target target, uint64_t id)
{
    must(free_react_op(TIDINGS_OP_UNREACT, user, reaction, target, id));
    return answer.u.reaction.changed;
}

uint64_t comment(uint64_t user, uint64_t post, uint64_t parent, const char *body)
{
    must((struct tidings_op){.kind = TIDINGS_OP_COMMENT,
                             .role = TIDINGS_ROLE_SERVICE,
                             .user_id = user,
                             .u.comment = {post, parent, text_of(body)}});
    return answer.u.comment.id;
}

void delete_comment(uint64_t user, uint64_t id)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_COMMENT_DELETE, .user_id = user, .u.comment_id.comment_id = id});
}

static void moderate(enum tidings_op_kind kind, uint64_t id)
{
    must((struct tidings_op){
        .kind = kind, .role = TIDINGS_ROLE_ADMIN, .user_id = 999, .u.comment_id.comment_id = id});
}

void hide(uint64_t id)
{
    moderate(TIDINGS_OP_COMMENT_HIDE, id);
}

void restore(uint64_t id)
{
    moderate(TIDINGS_OP_COMMENT_RESTORE, id);
}

struct tidings_op follow_op(uint64_t fan, uint64_t author)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_FOLLOW, .user_id = fan, .u.relation.user_id = author};
}

struct tidings_op react_op(uint64_t user, enum tidings_reaction reaction,
                           enum tidings_target target, uint64_t id)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_REACT, .user_id = user, .u.react = {reaction, target, id}};
}

struct tidings_op comment_op(uint64_t user, uint64_t post, uint64_t parent)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_COMMENT, .user_id = user, .u.comment = {post, parent, text_of("words")}};
}

/* ---- Looking --------------------------------------------------------------------------------- */

uint64_t badge(uint64_t viewer)
{
    must((struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = viewer});
    return answer.u.badge.total;
}

struct tidings_moment as_of(uint64_t viewer)
{
    badge(viewer);
    return answer.u.badge.as_of;
}

uint64_t events_end(void)
{
    struct tidings_op op = {.kind = TIDINGS_OP_EVENTS,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = 999,
                            .u.page.limit = 100};
    do {
        must(op);
        op.u.page.after = answer.u.events.next;
    } while (answer.u.events.n);
    return op.u.page.after.a;
}

const char *events_after(uint64_t after)
{
    static char text[4096];
    size_t n = 0;
    must((struct tidings_op){.kind = TIDINGS_OP_EVENTS,
                             .role = TIDINGS_ROLE_SERVICE,
                             .user_id = 999,
                             .u.page = {100, {after, 0}}});
    text[0] = 0;
    for (size_t i = 0; i < answer.u.events.n; i++) {
        const struct tidings_event *e = &answer.u.events.rows[i];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s(%" PRIu64 ")%+d/%d", i ? " " : "",
                              tidings_event_name(e->type), e->actor_user_id, (int)e->delta,
                              (int)e->reaction);
    }
    return text;
}

void assert_counters(uint64_t user, uint64_t liked, uint64_t faved, uint64_t likes, uint64_t favs)
{
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = user, .u.user.user_id = user});
    assert_int_equal(answer.u.counters.liked_posts, liked);
    assert_int_equal(answer.u.counters.faved_posts, faved);
    assert_int_equal(answer.u.counters.likes_received, likes);
    assert_int_equal(answer.u.counters.favs_received, favs);
}

enum tidings_comment_status status_of(uint64_t post, uint64_t parent, uint64_t id)
{
    must((struct tidings_op){.kind = TIDINGS_OP_COMMENTS,
                             .role = TIDINGS_ROLE_ADMIN,
                             .user_id = 999,
                             .u.comments = {post, parent, TIDINGS_OLD, .page.limit = 100}});
    for (size_t i = 0; i < answer.u.comments.n; i++)
        if (answer.u.comments.rows[i].id == id)
            return answer.u.comments.rows[i].status;
    return 0;
}

uint64_t unread_of(uint64_t viewer, uint64_t author)
{
    must((struct tidings_op){.kind = TIDINGS_OP_UNREAD, .user_id = viewer});
    for (size_t i = 0; i < answer.u.unread.n; i++)
        if (answer.u.unread.rows[i].user_id == author)
            return answer.u.unread.rows[i].unread;
    return 0;
}

static void add_id(struct ids *ids, uint64_t id)
{
    assert_true(ids->n < IDS_MAX);
    ids->at[ids->n++] = id;
}

/* Small pages, so that every list is put together from several. */
static void list_feed(struct tidings_op op, struct ids *ids)
{
    ids->n = 0;
    op.u.feed.page.limit = 7;
    do {
        must(op);
        assert_true(answer.u.feed.n <= 7);
        assert_true(answer.u.feed.n == 7 || !answer.u.feed.next.a);
        for (size_t i = 0; i < answer.u.feed.n; i++)
            add_id(ids, answer.u.feed.rows[i].post_id);
        op.u.feed.page.after = answer.u.feed.next;
    } while (answer.u.feed.next.a);
}

void list_inbox(uint64_t viewer, uint64_t author, enum tidings_filter filter, struct ids *ids)
{
    list_feed((struct tidings_op){.kind = TIDINGS_OP_INBOX,
                                  .user_id = viewer,
                                  .u.feed = {.author_id = author, .filter = filter}},
              ids);
}

void list_author(uint64_t viewer, uint64_t author, enum tidings_filter filter, struct ids *ids)
{
    list_feed((struct tidings_op){.kind = TIDINGS_OP_AUTHOR_PAGE,
                                  .user_id = viewer,
                                  .u.feed = {.author_id = author, .filter = filter}},
              ids);
    assert_int_equal(answer.u.feed.total, ids->n);
}

void list_history(uint64_t viewer, struct ids *ids)
{
    struct tidings_op op = {.kind = TIDINGS_OP_HISTORY, .user_id = viewer, .u.page.limit = 7};
    ids->n = 0;
    do {
        must(op);
        for (size_t i = 0; i < answer.u.history.n; i++)
            add_id(ids, answer.u.history.rows[i].post_id);
        op.u.page.after = answer.u.history.next;
    } while (answer.u.history.next.a);
}

void set_name(uint64_t user, const char *name)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_PROFILE_SET, .user_id = user, .u.profile.name = text_of(name)});
}

void list_named(const char *prefix, struct ids *ids)
{
    struct tidings_op op = {.kind = TIDINGS_OP_PROFILE_SEARCH,
                            .user_id = 999,
                            .u.search = {text_of(prefix), .page.limit = 3}};
    char last[1025];
    ids->n = 0;
    do {
        must(op);
        assert_true(answer.u.profile_search.n == 3 || !answer.u.profile_search.next.a);
        for (size_t i = 0; i < answer.u.profile_search.n; i++)
            add_id(ids, answer.u.profile_search.rows[i].user_id);
        op.u.search.page.after = answer.u.profile_search.next;
        if (answer.u.profile_search.next.a) {
            struct tidings_text name = answer.u.profile_search.rows[2].name;
            assert_true(name.n < sizeof last);
            memcpy(last, name.p, name.n + 1);
            op.u.search.after_name = (struct tidings_text){last, name.n};
        }
    } while (answer.u.profile_search.next.a);
}

void list_comments(uint64_t post, uint64_t parent, enum tidings_sort sort, struct ids *ids)
{
    struct tidings_op op = {.kind = TIDINGS_OP_COMMENTS,
                            .role = TIDINGS_ROLE_ADMIN,
                            .user_id = 999,
                            .u.comments = {post, parent, sort, .page.limit = 3}};
    ids->n = 0;
    do {
        must(op);
        assert_true(answer.u.comments.n == 3 || !answer.u.comments.next.a);
        for (size_t i = 0; i < answer.u.comments.n; i++)
            add_id(ids, answer.u.comments.rows[i].id);
        op.u.comments.page.after = answer.u.comments.next;
    } while (answer.u.comments.next.a);
}

void list_hot(enum tidings_post_kind kind, struct ids *ids)
{
    struct tidings_op op = {
        .kind = TIDINGS_OP_HOT, .user_id = 999, .u.hot = {kind, .page.limit = 3}};
    ids->n = 0;
    do {
        must(op);
        assert_true(answer.u.hot.n == 3 || !answer.u.hot.next.a);
        for (size_t i = 0; i < answer.u.hot.n; i++) {
            add_id(ids, answer.u.hot.rows[i].post_id);
            assert_true(!i || answer.u.hot.rows[i].heat <= answer.u.hot.rows[i - 1].heat);
        }
        op.u.hot.page.after = answer.u.hot.next;
    } while (answer.u.hot.next.a);
}

struct tidings_counts counts_of(enum tidings_target target, uint64_t id)
{
    must((struct tidings_op){.kind = TIDINGS_OP_STATS,
                             .role = TIDINGS_ROLE_ADMIN,
                             .user_id = 999,
                             .u.react = {.target = target, .id = id}});
    return answer.u.stats.counts;
}

bool next_inbox_page(uint64_t viewer, enum tidings_filter filter, uint32_t limit,
                     struct tidings_cursor *cursor)
{
    must((struct tidings_op){.kind = TIDINGS_OP_INBOX,
                             .user_id = viewer,
                             .u.feed = {.filter = filter, .page = {limit, *cursor}}});
    *cursor = answer.u.feed.next;
    return cursor->a != 0;
}

void assert_ids(const struct ids *found, const uint64_t *expected, size_t n)
{
    assert_int_equal(found->n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(found->at[i], expected[i]);
}

void assert_adds_up(uint64_t viewer)
{
    static struct ids unread;
    uint64_t total = badge(viewer), sum = 0;
    must((struct tidings_op){.kind = TIDINGS_OP_UNREAD, .user_id = viewer});
    assert_int_equal(answer.u.unread.total, total);
    for (size_t i = 0; i < answer.u.unread.n; i++)
        sum += answer.u.unread.rows[i].unread;
    assert_int_equal(sum, total);
    list_inbox(viewer, 0, TIDINGS_UNREAD, &unread);
    assert_int_equal(unread.n, total);
}

void assert_verifies(void)
{
    struct tidings_verify verify = {.report = stderr};
    assert_int_equal(tidings_verify(engine, &verify), TIDINGS_OK);
    assert_int_equal(verify.differences, 0);
}
