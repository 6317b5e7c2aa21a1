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
 * on the same comments, has a long talk under the same post, or reads stories on several devices.
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
    MOODS
};

/* A list that is being paged through: what its pages must have in common. */
struct generator_list {
    struct tidings_op op;
    struct ref post;
    struct ref parent;
    uint32_t number; /* 0 before the first */
};

/* A client that asks for what changed: see run_story.h. */
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

/* generate_mood.c: the next operation, by the mood. */
enum tidings_op_kind generate_kind(struct generator *g);

/* generate_world.c: the recording's settings and users. */
void generate_settings(struct generator *g);
void generate_users(struct generator *g, size_t users);
/* Comments that fold at once or hardly ever, heat that counts this or that, and halves soon, late or
 * never. */
void generate_rules(struct generator *g, struct tidings_settings *settings);

/* generate.c: a user, some more often than others. */
uint64_t some_user(struct generator *g);
/* A post as the viewer might meet it: mostly a late one; any at all, or one in their inbox. */
struct ref some_post(struct generator *g, struct run *run, uint64_t viewer, bool any);
/* An `as_of`: one that was kept, or a fresh one. */
struct ref some_token(struct generator *g);
/* A page: of a list under way, whose arguments it then takes, or the first of a new one. */
void page_arguments(struct generator *g, struct step *step);

/* generate_interact.c: the arguments of what reacts, comments, and lists that. */
void generate_interaction(struct generator *g, struct run *run, struct step *step);
/* Closing and opening; now and then with other rules. */
void generate_reopening(struct generator *g, const struct run *run, struct step *step);

/* generate_text.c: texts of so many characters, and of at most so many bytes. */
struct tidings_text generate_characters(struct generator *g, uint64_t characters);
struct tidings_text generate_body(struct generator *g, uint64_t bytes);
/* A title, name, avatar, body or comment; now and then just within its limit. */
struct tidings_text generate_title(struct generator *g);
struct tidings_text generate_name(struct generator *g);
struct tidings_text generate_avatar(struct generator *g);
struct tidings_text generate_any_body(struct generator *g);
struct tidings_text generate_comment(struct generator *g);
/* One that is over its limit (`most` characters or bytes), or no UTF-8, or holds a NUL. */
struct tidings_text generate_bad_text(struct generator *g, uint64_t most);

/* generate.c: which page of a list; and users in order, for u.among. */
void page_arguments(struct generator *g, struct step *step);
void among_arguments(struct generator *g, struct step *step);

/* generate_story.c: the arguments of operations on stories, and one of them made wrong. */
void generate_story(struct generator *g, struct run *run, struct step *step);
void generate_story_mistake(struct generator *g, struct step *step);

/* generate_bad.c: makes an argument of the step wrong. */
void generate_mistake(struct generator *g, struct step *step);
uint64_t generate_bad_id(struct generator *g);
uint64_t generate_too_great(struct generator *g);
void generate_bad_page(struct generator *g, struct step *step);
void generate_bad_mark(struct generator *g, struct step *step);

#endif
