/* SPDX-License-Identifier: MIT */
/*
 * Makes up the steps of a run, one at a time, from a seed alone: as long as engine and model agree,
 * the same seed gives the same steps.
 */
#ifndef TIDINGS_TESTS_GENERATE_H
#define TIDINGS_TESTS_GENERATE_H

#include "random.h"
#include "recording.h"
#include "run.h"

/*
 * Moods: an even mix seldom leads anywhere, so for a while one thing is done much more than others:
 * an author publishes hundreds of posts, a fan reads hundreds, everybody follows and unfollows, votes
 * on the same comments, has a long talk under the same post, reads stories on several devices, or tells webhooks of it
 * all.
 */
enum mood {
    MOOD_MIXED,
    MOOD_PUBLISH,
    MOOD_READ,
    MOOD_RELATE,
    MOOD_DELETE,
    MOOD_LOOK,
    MOOD_VOTE,
    MOOD_TALK,
    MOOD_STORY,
    MOOD_DEVICES,
    MOOD_PUSH,
    MOODS
};

/* A list that is being paged through: what its pages must have in common. */
struct generator_list {
    struct tidings_op op;
    struct ref post;
    struct ref parent;
    uint32_t number; /* 0 before the first */
};

/* A client that asks for what changed: see run.h. */
struct generator_client {
    uint64_t user_id;
    uint32_t number; /* 0 before the first */
};

struct generator {
    struct rng rng;
    struct recording *recording;
    unsigned large_body_every; /* of so many bodies one is as long as it may be */
    size_t n_authors;          /* the first of the users; they do most of the publishing */

    unsigned mood;
    unsigned mood_left; /* steps until it changes */
    uint64_t focus_fan; /* users who act more than others while the mood lasts */
    uint64_t focus_author;
    bool standstill; /* the clock hardly moves */
    bool has_focus_post;
    bool has_focus_comment;
    uint32_t focus_post;    /* number of its publish: what is talked about */
    uint32_t focus_comment; /* number of its COMMENT: what is voted on */

    int64_t now_ms;
    int64_t latest_ms;     /* the latest now_ms of any write */
    unsigned writes_in_ms; /* at latest_ms */
    unsigned until_sweep;
    uint32_t n_onces; /* keys used so far */
    bool
        no_webhooks; /* for who runs steps where others before them are missing: positions would mean something else */
    struct generator_list lists[LISTS];
    struct step last_reaction; /* with user_id 0 before the first */
    struct generator_client clients[CLIENTS];
};

/* Also chooses the recording's settings and users. */
void generator_init(struct generator *g, struct recording *recording, uint64_t seed, size_t users);

/* Writes the next step to the end of the recording and returns it. */
struct step *generator_next(struct generator *g, struct run *run);

/* The last step of a run: a sweep. */
struct step *generator_last(struct generator *g);

/* ---- Parts of the generator ---------------------------------------------------------------- */

/* generate_world.c: the recording's settings and users. */
void generate_settings(struct generator *g);
void generate_users(struct generator *g, size_t users);
/* Comments that fold at once or hardly ever, heat that counts this or that, and halves soon, late or
 * never. */
void generate_rules(struct generator *g, struct tidings_settings *settings);

/* A user, some more often than others; one of those who publish; anybody at random; somebody to follow, look at, ask
 * about, now and then one that nobody has ever heard of. */
uint64_t some_user(struct generator *g);
uint64_t some_author(struct generator *g);
uint64_t any_user(struct generator *g);
uint64_t some_target(struct generator *g, uint64_t viewer);
/* An `as_of`: a fresh one, or one that was kept; rather one of which is_edge says that what came right behind it matters to
 * the viewer. */
struct ref some_token(struct generator *g, struct run *run, uint64_t viewer,
                      bool (*is_edge)(struct run *run, uint64_t viewer,
                                      const struct model_moment *covers));
/* A post as the viewer might meet it: mostly a late one; any at all, or one in their inbox. */
struct ref some_post(struct generator *g, struct run *run, uint64_t viewer, bool any);
/* The post or the comment that is talked about, or another. */
struct ref some_topic(struct generator *g, struct run *run, uint64_t viewer);
struct ref some_comment(struct generator *g, const struct run *run);
/* What to react to: the target, and in step->post its name. */
void aim_target(struct generator *g, struct run *run, struct step *step,
                enum tidings_target *target);
/* A story's index among the posts, n_posts if there is none; a scene's index, n_scenes if there is none, of any story or
 * of this one. And their names, now and then those of what is none. */
size_t some_story(struct generator *g, const struct model *model);
size_t some_scene(struct generator *g, const struct model *model);
size_t scene_of(struct generator *g, const struct model *model, uint64_t story_id);
struct ref story_ref(struct generator *g, const struct run *run, size_t story);
struct ref scene_ref(struct generator *g, const struct run *run, size_t scene);

/* Arguments: a page of a list under way, whose arguments it then takes, or the first of a new one; users in order, for
 * u.among; a user; a post. */
void page_arguments(struct generator *g, struct run *run, struct step *step);
void among_arguments(struct generator *g, struct run *run, struct step *step);
void user_arguments(struct generator *g, struct run *run, struct step *step);
void post_arguments(struct generator *g, struct run *run, struct step *step);
/* scene_steps.c: those of scenes, and mistakes in them. */
void scene_publish_arguments(struct generator *g, struct run *run, struct step *step);
void scene_edit_arguments(struct generator *g, struct run *run, struct step *step);
void scene_arguments(struct generator *g, struct run *run, struct step *step);
void scenes_arguments(struct generator *g, struct run *run, struct step *step);
void bad_scene(struct generator *g, struct step *step);
void bad_scene_id(struct generator *g, struct step *step);

/* To a moment when something is just about to change, or just has, if that is soon; or to when a token comes back. */
void aim_clock(struct generator *g, int64_t moment_ms);
void aim_at_token(struct generator *g, int64_t full_at, uint64_t burst, uint64_t refill_ms);

/* generate_text.c: texts of so many characters, and of at most so many bytes. */
struct tidings_text generate_characters(struct generator *g, uint64_t characters);
struct tidings_text generate_body(struct generator *g, uint64_t bytes);
/* A title, name, avatar, body or comment; now and then just within its limit. */
struct tidings_text generate_title(struct generator *g);
struct tidings_text generate_name(struct generator *g);
struct tidings_text generate_avatar(struct generator *g);
/* An address that is none of the web. */
struct tidings_text generate_bad_url(struct generator *g);
struct tidings_text generate_any_body(struct generator *g);
/* Own data; mostly none, then p is NULL. */
struct tidings_text generate_extra(struct generator *g);
struct tidings_text generate_bad_extra(struct generator *g);
struct tidings_text generate_comment(struct generator *g);
/* One that is over its limit (`most` characters or bytes), or no UTF-8, or holds a NUL. */
struct tidings_text generate_bad_text(struct generator *g, uint64_t most);

/* generate_bad.c: makes an argument of the step wrong. */
void generate_mistake(struct generator *g, struct step *step);
uint64_t generate_bad_id(struct generator *g);
uint64_t generate_too_great(struct generator *g);
void generate_bad_texts(struct generator *g, struct tidings_text *a, uint64_t a_most,
                        struct tidings_text *b, uint64_t b_most);
/* Mistakes that several operations share: in a page, a user, what step->post names, a page of a story's list, what to
 * mark, what to react to. */
void generate_bad_page(struct generator *g, struct step *step);
void generate_bad_user(struct generator *g, struct step *step);
void generate_bad_post(struct generator *g, struct step *step);
void generate_bad_story_page(struct generator *g, struct step *step);
void generate_bad_mark(struct generator *g, struct step *step);
void generate_bad_reaction(struct generator *g, struct step *step);

#endif
