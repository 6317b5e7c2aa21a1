/* SPDX-License-Identifier: MIT */
#include "cli/demo.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

enum {
    MINUTE_MS = 60000,
    /* A server becomes the writer in so many pauses, if no other server is. */
    DEMO_PAUSES = 500,
    DEMO_PAUSE_US = 20000,
};

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
     "It rises now. The trick was patience, and a warmer shelf.\n[img]/assets/demo-loaf.svg[/img]",
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
    {DEMO_READER, TIDINGS_STORY, "Letters from a cat 猫的来信", "It lives next door.", 1},
    {2, TIDINGS_NOTE, "This one will be gone soon", "A post that its author deletes again.", 1},
};

/* Who reacts to the posts above, by their place there. */
static const struct {
    unsigned post;
    uint64_t user;
    enum tidings_reaction reaction;
} reactions[] = {
    {0, DEMO_READER, TIDINGS_LIKE},
    {0, 3, TIDINGS_LIKE},
    {0, 5, TIDINGS_LIKE},
    {0, 5, TIDINGS_FAV},
    {1, 2, TIDINGS_LIKE},
    {1, 6, TIDINGS_LIKE},
    {1, DEMO_READER, TIDINGS_FAV},
    {2, 6, TIDINGS_LIKE},
    {3, DEMO_READER, TIDINGS_LIKE},
    {3, DEMO_READER, TIDINGS_FAV},
    {3, 2, TIDINGS_FAV},
    {4, 6, TIDINGS_LIKE},
    {5, 3, TIDINGS_LIKE},
    {7, 2, TIDINGS_LIKE},
    {7, 4, TIDINGS_LIKE},
};

enum { TOP = -1, VOTERS = 3 };

/* A comment may answer an earlier one of this list, by its place. */
static const struct {
    unsigned post;
    int parent;
    uint64_t user;
    const char *body;
    int minutes_later;
    uint64_t likers[VOTERS];
    uint64_t downvoters[VOTERS];
} comments[] = {
    {0, TOP, 4, "Which flour do you use?", 30, {2, DEMO_READER}, {0}},
    {0, 0, 2, "Half rye, half wheat, from the mill at the bridge.", 45, {4, 5}, {0}},
    {0, 1, 4, "Thank you! I will try that on Sunday.", 50, {2}, {0}},
    {0, TOP, 5, "The crust looks perfect. 🍞", 90, {DEMO_READER}, {0}},
    {0, TOP, 6, "BUY CHEAP OVENS NOW at example.com", 100, {0}, {2, 3, 4}},
    {1, TOP, 6, "下次叫上我！", 20, {3}, {0}},
    {1, 5, 3, "好，下个月再去。[img]/assets/demo-summit.svg[/img]", 25, {6}, {0}},
    {2, TOP, DEMO_READER, "I am in.", 60, {4}, {0}},
    {7, TOP, 3, "Twice a day, and never when you look.", 15, {5, 2}, {0}},
};

enum { MESSAGES = 4 };

/* Scenes of the stories above, by their place there. */
static const struct {
    unsigned post;
    int minutes_later;
    const char *title;
    const char *messages[MESSAGES];
} scenes[] = {
    {3,
     10,
     "The first evening",
     {"Did you see it? The lighthouse.", "What about it?", "It is not where it was this morning.",
      "[img]/assets/demo-lighthouse.svg[/img] Count the rocks."}},
    {3,
     300,
     "Seven rocks",
     {"I counted. Seven.", "Yesterday there were five between it and the shore.",
      "Rocks do not move.", "No. They do not."}},
    {3,
     900,
     "The keeper answers",
     {"I rowed out and knocked.", "And?",
      "He asked me what had taken the village so long to drift away."}},
    {9,
     5,
     "The first letter",
     {"Dear neighbour: your window sill is warm.", "But the flower pots keep the sun out. 🐈",
      "[img]/assets/demo-cat.svg[/img][img]/assets/demo-pot.svg[/img]"}},
    {9, 25, "第二封信", {"花盆挪开了，谢谢。", "现在请谈谈鱼的问题。"}},
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
    uint64_t post_id; /* the latest */
    uint64_t comment_ids[sizeof comments / sizeof *comments];
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

static void react(struct demo *demo, uint64_t user, int64_t at_ms, enum tidings_target target,
                  uint64_t id, enum tidings_reaction reaction)
{
    run(demo, (struct tidings_op){.kind = TIDINGS_OP_REACT,
                                  .user_id = user,
                                  .now_ms = at_ms,
                                  .u.react = {reaction, target, id}});
}

static void fill_reactions(struct demo *demo, size_t post, int64_t at_ms)
{
    for (size_t i = 0; i < sizeof reactions / sizeof *reactions; i++)
        if (reactions[i].post == post)
            react(demo, reactions[i].user, at_ms, TIDINGS_TARGET_POST, demo->post_id,
                  reactions[i].reaction);
}

static void vote(struct demo *demo, size_t comment, int64_t at_ms)
{
    uint64_t id = demo->comment_ids[comment];
    for (size_t i = 0; i < VOTERS; i++) {
        uint64_t likes = comments[comment].likers[i], dislikes = comments[comment].downvoters[i];
        if (likes)
            react(demo, likes, at_ms, TIDINGS_TARGET_COMMENT, id, TIDINGS_LIKE);
        if (dislikes)
            react(demo, dislikes, at_ms, TIDINGS_TARGET_COMMENT, id, TIDINGS_DOWNVOTE);
    }
}

static void fill_comments(struct demo *demo, size_t post, int64_t posted_ms)
{
    for (size_t i = 0; i < sizeof comments / sizeof *comments; i++) {
        int64_t at_ms = posted_ms + (int64_t)comments[i].minutes_later * MINUTE_MS;
        int parent = comments[i].parent;
        if (comments[i].post != post)
            continue;
        run(demo, (struct tidings_op){.kind = TIDINGS_OP_COMMENT,
                                      .user_id = comments[i].user,
                                      .now_ms = at_ms,
                                      .u.comment = {demo->post_id,
                                                    parent == TOP ? 0 : demo->comment_ids[parent],
                                                    text(comments[i].body)}});
        demo->comment_ids[i] = demo->answer.u.comment.id;
        vote(demo, i, at_ms + MINUTE_MS);
    }
}

/* The reader has gone as far as the second message of this scene, and has heard of those before it. */
enum { READ_TO = 1 };

static void read_to(struct demo *demo, const struct tidings_scene *scene, int64_t at_ms)
{
    uint64_t id = scene->id, story = scene->story_id, message = scene->messages[1].id;
    run(demo, (struct tidings_op){.kind = TIDINGS_OP_READING_SET,
                                  .user_id = DEMO_READER,
                                  .now_ms = at_ms,
                                  .u.reading = {story, id, message, at_ms}});
    run(demo, (struct tidings_op){
                  .kind = TIDINGS_OP_NOTIFICATIONS, .user_id = DEMO_READER, .now_ms = at_ms});
    struct tidings_moment as_of = demo->answer.u.notifications.as_of;
    run(demo, (struct tidings_op){.kind = TIDINGS_OP_NOTIFICATIONS_MARK,
                                  .user_id = DEMO_READER,
                                  .now_ms = at_ms,
                                  .u.mark.up_to = as_of});
}

/* The scenes of a story, after two have subscribed to it: the reader, unless it is the reader's own. */
static void fill_scenes(struct demo *demo, size_t post, int64_t posted_ms)
{
    uint64_t author = posts[post].author, story = demo->post_id;
    const uint64_t subscribers[] = {author == DEMO_READER ? 3 : DEMO_READER, 2};
    for (size_t i = 0; i < sizeof subscribers / sizeof *subscribers; i++)
        run(demo, (struct tidings_op){.kind = TIDINGS_OP_SUBSCRIBE,
                                      .user_id = subscribers[i],
                                      .now_ms = posted_ms,
                                      .u.post.post_id = story});
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        int64_t at_ms = posted_ms + (int64_t)scenes[i].minutes_later * MINUTE_MS;
        struct tidings_message messages[MESSAGES] = {0};
        size_t n = 0;
        if (scenes[i].post != post)
            continue;
        for (; n < MESSAGES && scenes[i].messages[n]; n++)
            messages[n].text = text(scenes[i].messages[n]);
        run(demo, (struct tidings_op){.kind = TIDINGS_OP_SCENE_PUBLISH,
                                      .user_id = author,
                                      .now_ms = at_ms,
                                      .u.scene = {story, 0, text(scenes[i].title), messages, n}});
        if (i == READ_TO && !demo->failed)
            read_to(demo, &demo->answer.u.scene, at_ms + MINUTE_MS);
    }
}

/* In the order of time, since ids are. */
static void fill_posts(struct demo *demo)
{
    size_t n = sizeof posts / sizeof *posts;
    for (size_t i = 0; i < n; i++) {
        int64_t at_ms = demo->now_ms - (int64_t)posts[i].hours_ago * 60 * MINUTE_MS;
        run(demo, (struct tidings_op){
                      .kind = TIDINGS_OP_PUBLISH,
                      .user_id = posts[i].author,
                      .now_ms = at_ms,
                      .u.publish = {posts[i].kind, text(posts[i].title), text(posts[i].body)}});
        uint64_t id = demo->answer.u.post.id;
        demo->post_id = id;
        if (i < 2)
            run(demo, (struct tidings_op){.kind = TIDINGS_OP_OPEN,
                                          .user_id = DEMO_READER,
                                          .now_ms = at_ms + MINUTE_MS,
                                          .u.post.post_id = id});
        fill_reactions(demo, i, at_ms + 5 * MINUTE_MS);
        fill_comments(demo, i, at_ms);
        if (posts[i].kind == TIDINGS_STORY)
            fill_scenes(demo, i, at_ms);
        if (i + 1 == n)
            run(demo, (struct tidings_op){.kind = TIDINGS_OP_DELETE,
                                          .user_id = posts[i].author,
                                          .u.post.post_id = id});
    }
}

/*
 * Servers of one log may start at the same time: only the writer fills. Waits until this server is the writer, or another one has
 * begun to fill. False: neither happened, since a writer that was started without --dev has no demo.
 */
static bool demo_wait_for_writer(struct demo *demo)
{
    for (unsigned i = 0; i < DEMO_PAUSES && !tidings_term(demo->tidings); i++) {
        if (demo->failed || is_known(demo))
            return false;
        usleep(DEMO_PAUSE_US);
    }
    return tidings_term(demo->tidings) != 0;
}

bool demo_fill(struct tidings *tidings)
{
    struct demo demo = {.tidings = tidings, .now_ms = (int64_t)time(NULL) * 1000};
    tidings_answer_init(&demo.answer);
    if (demo_wait_for_writer(&demo) && !is_known(&demo)) {
        fill_people(&demo, demo.now_ms - (int64_t)72 * 60 * MINUTE_MS);
        fill_posts(&demo);
    }
    if (demo.failed)
        log_message(LOG_ERROR, "the demo community could not be made: %s",
                    tidings_err_text(demo.answer.err));
    tidings_answer_release(&demo.answer);
    return !demo.failed;
}
