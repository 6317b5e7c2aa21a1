/* SPDX-License-Identifier: MIT */
#include "cli/demo.h"

#include <string.h>
#include <time.h>

#include "base/log.h"

static const struct {
    uint64_t id;
    const char *name;
} people[] = {
    {DEMO_READER, "Robin"}, {2, "Ann"}, {3, "小林"}, {4, "Mateo"}, {5, "Priya"}, {6, "阿紫"},
};

static const struct {
    uint64_t author;
    enum tidings_post_kind kind;
    const char *title;
    const char *body;
    int hours_ago;
} posts[] = {
    {2, TIDINGS_NOTE, "Sourdough, week three",
     "It rises now. The trick was patience, and a warmer "
     "shelf.\n[img]https://example.org/loaf.jpg[/img]",
     70},
    {3, TIDINGS_NOTE, "周末去爬山", "早上六点出发，山顶的风很大，云海值得。", 64},
    {4, TIDINGS_ACTIVITY, "Thursday run, 7 pm at the bridge", "Easy pace, everybody is welcome.",
     50},
    {5, TIDINGS_STORY, "The lighthouse that moved", "Every evening it stood a little further out.",
     46},
    {2, TIDINGS_NOTE, "A small bench for the balcony", "Two boards, eight screws, one afternoon.",
     30},
    {6, TIDINGS_NOTE, "读书笔记：海边的灯", "读到一半停不下来。", 22},
    {3, TIDINGS_ACTIVITY, "电影之夜", "周五晚上八点，老地方。", 12},
    {5, TIDINGS_NOTE, "What I learned from a broken clock",
     "It is right more often than my estimates.", 5},
    {4, TIDINGS_NOTE, "Route notes for the coast path", "Bring water. There is no shop for 14 km.",
     2},
    {2, TIDINGS_NOTE, "This one will be gone soon", "A post that its author deletes again.", 1},
};

static struct tidings_text text(const char *s)
{
    return (struct tidings_text){s, strlen(s)};
}

struct demo {
    struct tidings *tidings;
    struct tidings_answer answer;
    int64_t now_ms;
    bool failed;
};

static void run(struct demo *demo, struct tidings_op op)
{
    op.role = TIDINGS_ROLE_SERVICE;
    if (!demo->failed && tidings_run(demo->tidings, &op, &demo->answer))
        demo->failed = true;
}

static bool is_known(struct demo *demo)
{
    run(demo, (struct tidings_op){.kind = TIDINGS_OP_PROFILE,
                                  .user_id = DEMO_READER,
                                  .u.user.user_id = DEMO_READER});
    return demo->answer.u.profile.name.n > 0;
}

/* Everybody follows the next two; the reader follows all. */
static void fill_people(struct demo *demo, int64_t at_ms)
{
    size_t n = sizeof people / sizeof *people;
    for (size_t i = 0; i < n; i++)
        run(demo, (struct tidings_op){.kind = TIDINGS_OP_PROFILE_SET,
                                      .user_id = people[i].id,
                                      .now_ms = at_ms,
                                      .u.profile.name = text(people[i].name)});
    for (size_t i = 0; i < n; i++)
        for (size_t j = 1; j < n; j++)
            if (i == 0 || j <= 2)
                run(demo, (struct tidings_op){.kind = TIDINGS_OP_FOLLOW,
                                              .user_id = people[i].id,
                                              .now_ms = at_ms,
                                              .u.relation.user_id = people[(i + j) % n].id});
}

static void fill_posts(struct demo *demo)
{
    size_t n = sizeof posts / sizeof *posts;
    for (size_t i = 0; i < n; i++) {
        int64_t at_ms = demo->now_ms - (int64_t)posts[i].hours_ago * 3600000;
        run(demo, (struct tidings_op){
                      .kind = TIDINGS_OP_PUBLISH,
                      .user_id = posts[i].author,
                      .now_ms = at_ms,
                      .u.publish = {posts[i].kind, text(posts[i].title), text(posts[i].body)}});
        uint64_t id = demo->answer.u.post.id;
        if (i < 2)
            run(demo, (struct tidings_op){.kind = TIDINGS_OP_OPEN,
                                          .user_id = DEMO_READER,
                                          .now_ms = at_ms + 60000,
                                          .u.post.post_id = id});
        if (i + 1 == n)
            run(demo, (struct tidings_op){.kind = TIDINGS_OP_DELETE,
                                          .user_id = posts[i].author,
                                          .u.post.post_id = id});
    }
}

bool demo_fill(struct tidings *tidings)
{
    struct demo demo = {.tidings = tidings, .now_ms = (int64_t)time(NULL) * 1000};
    tidings_answer_init(&demo.answer);
    if (!is_known(&demo)) {
        fill_people(&demo, demo.now_ms - (int64_t)72 * 3600000);
        fill_posts(&demo);
    }
    if (demo.failed)
        log_message(LOG_ERROR, "the demo community could not be made: %s",
                    tidings_err_text(demo.answer.err));
    tidings_answer_release(&demo.answer);
    return !demo.failed;
}
