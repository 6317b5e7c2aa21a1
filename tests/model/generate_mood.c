/* SPDX-License-Identifier: MIT */
/* How often what is done in which mood; see enum mood. */
#include "generate.h"

#define OP(name) [TIDINGS_OP_##name]

static const unsigned char weights[MOODS][TIDINGS_OP_COUNT] = {
    [MOOD_MIXED] = {OP(FANS_AMONG) = 2, OP(FOLLOW) = 12, OP(UNFOLLOW) = 5, OP(PROFILE_SET) = 3,
                    OP(PUBLISH) = 16, OP(EDIT) = 4, OP(DELETE) = 4, OP(OPEN) = 12,
                    OP(MARK_READ) = 10, OP(MARK_UNREAD) = 6, OP(HISTORY_DELETE) = 3,
                    OP(HISTORY_CLEAR) = 1, OP(STATUS) = 2, OP(FOLLOWING) = 3, OP(FOLLOWERS) = 3,
                    OP(COUNTERS) = 2, OP(PROFILE) = 2, OP(POST) = 3, OP(AUTHOR_PAGE) = 6,
                    OP(INBOX) = 10, OP(BADGE) = 3, OP(UNREAD) = 4, OP(HISTORY) = 5, OP(EVENTS) = 4,
                    OP(REACT) = 12, OP(UNREACT) = 4, OP(COMMENT) = 8, OP(COMMENT_DELETE) = 2,
                    OP(COMMENT_HIDE) = 1, OP(COMMENT_RESTORE) = 1, OP(REACTORS) = 3,
                    OP(REACTED) = 3, OP(COMMENTS) = 6, OP(STATS) = 2, OP(HOT) = 4,
                    /* stories */
                    OP(SCENE_PUBLISH) = 6, OP(SCENE_EDIT) = 2, OP(SCENE_DELETE) = 1, OP(SCENES) = 2,
                    OP(SCENE) = 1, OP(READING_SET) = 6, OP(READING_DELETE) = 2,
                    OP(READING_CLEAR) = 1, OP(READING) = 4, OP(SUBSCRIBE) = 5, OP(UNSUBSCRIBE) = 2,
                    OP(SUBSCRIPTIONS) = 1, OP(SUBSCRIBERS) = 1, OP(SUBSCRIBERS_AMONG) = 1,
                    OP(PREFERENCES) = 1, OP(PREFERENCES_SET) = 2, OP(NOTIFICATIONS) = 4,
                    OP(NOTIFICATIONS_MARK) = 3},
    [MOOD_PUBLISH] = {OP(FOLLOW) = 3, OP(UNFOLLOW) = 2, OP(PUBLISH) = 80, OP(EDIT) = 2,
                      OP(DELETE) = 4, OP(OPEN) = 3, OP(MARK_READ) = 4, OP(AUTHOR_PAGE) = 2,
                      OP(INBOX) = 4, OP(BADGE) = 2, OP(UNREAD) = 1},
    [MOOD_READ] = {OP(FOLLOW) = 1, OP(UNFOLLOW) = 1, OP(PUBLISH) = 6, OP(DELETE) = 1, OP(OPEN) = 45,
                   OP(MARK_READ) = 20, OP(MARK_UNREAD) = 8, OP(HISTORY_DELETE) = 3,
                   OP(HISTORY_CLEAR) = 1, OP(AUTHOR_PAGE) = 4, OP(INBOX) = 8, OP(UNREAD) = 2,
                   OP(HISTORY) = 5},
    [MOOD_RELATE] = {OP(FOLLOW) = 55, OP(UNFOLLOW) = 20, OP(PUBLISH) = 15, OP(STATUS) = 3,
                     OP(FOLLOWING) = 8, OP(FOLLOWERS) = 8, OP(COUNTERS) = 2, OP(INBOX) = 4,
                     OP(UNREAD) = 4},
    [MOOD_DELETE] = {OP(PUBLISH) = 20,       OP(EDIT) = 8,        OP(DELETE) = 25, OP(OPEN) = 12,
                     OP(MARK_READ) = 10,     OP(MARK_UNREAD) = 8, OP(HISTORY) = 4, OP(POST) = 4,
                     OP(AUTHOR_PAGE) = 6,    OP(INBOX) = 8,       OP(UNREAD) = 3,  OP(UNFOLLOW) = 3,
                     OP(FOLLOW) = 3,         OP(REACT) = 20,      OP(UNREACT) = 6, OP(COMMENT) = 8,
                     OP(COMMENT_DELETE) = 4, OP(COMMENTS) = 3,    OP(HOT) = 4,     OP(REACTED) = 3,
                     OP(COUNTERS) = 6},
    [MOOD_LOOK] = {OP(PUBLISH) = 8,      OP(FOLLOW) = 4,    OP(UNFOLLOW) = 4,   OP(OPEN) = 5,
                   OP(DELETE) = 2,       OP(MARK_READ) = 4, OP(FOLLOWING) = 10, OP(FOLLOWERS) = 10,
                   OP(AUTHOR_PAGE) = 18, OP(INBOX) = 25,    OP(HISTORY) = 12,   OP(EVENTS) = 8,
                   OP(REACT) = 12,       OP(UNREACT) = 3,   OP(COMMENT) = 5,    OP(REACTORS) = 8,
                   OP(REACTED) = 8,      OP(COMMENTS) = 18, OP(STATS) = 3,      OP(HOT) = 15},
    [MOOD_VOTE] = {OP(REACT) = 70, OP(UNREACT) = 20, OP(COMMENT) = 4, OP(COMMENT_DELETE) = 1,
                   OP(COMMENT_HIDE) = 1, OP(COMMENT_RESTORE) = 1, OP(DELETE) = 1, OP(REACTORS) = 4,
                   OP(COMMENTS) = 18, OP(STATS) = 4, OP(HOT) = 6, OP(EVENTS) = 3, OP(INBOX) = 3},
    [MOOD_TALK] = {OP(COMMENT) = 60, OP(COMMENT_DELETE) = 15, OP(COMMENT_HIDE) = 3,
                   OP(COMMENT_RESTORE) = 3, OP(REACT) = 15, OP(COMMENTS) = 20, OP(STATS) = 3,
                   OP(DELETE) = 1, OP(HOT) = 3, OP(PUBLISH) = 2, OP(OPEN) = 3, OP(POST) = 3},
    [MOOD_STORY] = {OP(PUBLISH) = 5, OP(DELETE) = 1, OP(SCENE_PUBLISH) = 30, OP(SCENE_EDIT) = 8,
                    OP(SCENE_DELETE) = 4, OP(SCENES) = 5, OP(SCENE) = 3, OP(SUBSCRIBE) = 18,
                    OP(UNSUBSCRIBE) = 8, OP(SUBSCRIPTIONS) = 4, OP(SUBSCRIBERS) = 4,
                    OP(SUBSCRIBERS_AMONG) = 3, OP(PREFERENCES) = 2, OP(PREFERENCES_SET) = 8,
                    OP(NOTIFICATIONS) = 14, OP(NOTIFICATIONS_MARK) = 12, OP(READING_SET) = 4,
                    OP(EVENTS) = 2},
    [MOOD_DEVICES] = {OP(PUBLISH) = 3, OP(DELETE) = 1, OP(SCENE_PUBLISH) = 10, OP(SCENE_EDIT) = 5,
                      OP(SCENE_DELETE) = 2, OP(READING_SET) = 60, OP(READING_DELETE) = 10,
                      OP(READING_CLEAR) = 4, OP(READING) = 30, OP(SUBSCRIBE) = 2,
                      OP(NOTIFICATIONS) = 2},
};

enum tidings_op_kind generate_kind(struct generator *g)
{
    unsigned sum = 0;
    unsigned at;

    for (int i = 0; i < TIDINGS_OP_COUNT; i++)
        sum += weights[g->mood][i];
    at = (unsigned)rng_below(&g->rng, sum);
    for (int i = 0; i < TIDINGS_OP_COUNT; i++) {
        if (at < weights[g->mood][i])
            return (enum tidings_op_kind)i;
        at -= weights[g->mood][i];
    }
    return TIDINGS_OP_BADGE;
}
