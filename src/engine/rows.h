/* SPDX-License-Identifier: MIT */
/*
 * The typed rows that operations are written over (engine/ops), a get and a put a kind, and the lists that are read page by
 * page. Each engine provides them in one table: how rows are stored and found, which indexes stand beside them, and
 * how lists are paged is the engine's own. What the rows mean, and what an operation does with them, is not.
 *
 * Errors are sticky in the view (view_fail): after the first one a get finds nothing and a put does nothing. Texts and other
 * memory that a get hands out live until the operation's first put. A put may be undone as a whole with all others
 * of its operation; an operation that is refused has put nothing.
 */
#ifndef ENGINE_ROWS_H
#define ENGINE_ROWS_H

#include "engine/records/records.h"
#include "engine/records/stories.h"

struct view;
struct tie;
struct tie_stored;

/*
 * Who publishes what to whom. Authors publish posts to fans, which makes inboxes; stories publish scenes to subscribers,
 * which makes notifications. Both are the same arithmetic on the same records. Words are those of the first: an author may
 * be a story, a post a scene.
 */
enum realm { REALM_POSTS, REALM_SCENES };

/* A user's counters, in the order of struct user_record. */
enum counter {
    COUNTER_FOLLOWING,
    COUNTER_FOLLOWERS,
    COUNTER_POSTS,
    COUNTER_LIKED_POSTS,
    COUNTER_FAVED_POSTS,
    COUNTER_LIKES_RECEIVED,
    COUNTER_FAVS_RECEIVED,
};

/* ---- Lists ---------------------------------------------------------------------------------- */

/* kind, of what, and what a place is: {a, b} and id */
enum list_kind {
    LIST_FOLLOWERS,       /* of an author, newest first: {rank, 0}, the fan */
    LIST_SUBSCRIBERS,     /* of a story, newest first: {rank, 0}, the user */
    LIST_REACTORS,        /* of a post or comment, newest first: {stamp, 0}, the user */
    LIST_REACTED,         /* of a user, newest first: {stamp, 0}, the post or comment */
    LIST_COMMENTS_HOT,    /* on a post or comment: {heat, comment}, the comment */
    LIST_COMMENTS_NEW,    /* the same, newest first: {comment, 0}, the comment */
    LIST_COMMENTS_OLD,    /* the same, oldest first */
    LIST_HOT,             /* of a kind of posts: {heat, post}, the post */
    LIST_HISTORY,         /* of a reader, latest first: {stamp, post}, the post */
    LIST_READING,         /* of a reader, latest first: {time, story}, the story */
    LIST_READING_CHANGES, /* of a reader, oldest first: {version, story}, the story */
};

struct list {
    enum list_kind kind;
    uint64_t of;                    /* LIST_HOT: enum tidings_post_kind */
    enum tidings_reaction reaction; /* LIST_REACTORS, LIST_REACTED */
    enum tidings_target target;     /* LIST_REACTED */
    uint64_t beyond;                /* LIST_HISTORY: only stamps greater than that */
};

struct place {
    struct tidings_cursor at;
    uint64_t id;
};

/* A place among the names; with the user 0 it is their beginning. */
struct name_place {
    struct bytes folded;
    uint64_t user;
};

/* What was named by those who imported it. Keys of comments are forgotten when the import has ended. */
enum key_kind { KEY_POST = 'p', KEY_COMMENT = 'c' };

/* ---- The table ------------------------------------------------------------------------------ */

/* What an engine knows of a fan's unread posts without looking at every pair. */
struct unread_sum {
    uint64_t unread;
    struct tie_stored *rest; /* the pairs that are not in it, with their heads */
    size_t n_rest;
};

struct letter_row {
    uint64_t event;
    struct letter_record record;
};

struct webhook_row {
    struct bytes name;
    struct webhook_record record;
};

struct rows {
    /* Users. A get answers zeros where there is nothing. */
    struct user_record (*get_user)(struct view *view, uint64_t user);
    void (*put_user)(struct view *view, uint64_t user, const struct user_record *record);
    /* Moves a counter of a user whose row the operation does not have in hand. */
    void (*count)(struct view *view, uint64_t user, enum counter counter, int64_t delta);
    struct profile_record (*get_profile)(struct view *view, uint64_t user);
    /* And with it the list of names. */
    void (*put_profile)(struct view *view, uint64_t user, const struct profile_record *profile);
    /* Users whose folded name (domain/name.h) begins with the prefix, by name and then id, behind a place among them, `most` at
     * most; how many. A user without a name is none of them. */
    size_t (*find_names)(struct view *view, struct bytes prefix, const struct name_place *after,
                         size_t most, uint64_t *users);

    /* Posts. A put keeps no list: that is add_number's, put_counts's and so on. */
    bool (*get_post)(struct view *view, uint64_t id, struct post_record *post);
    void (*put_post)(struct view *view, uint64_t id, const struct post_record *post);
    struct bytes (*get_body)(struct view *view, uint64_t id);
    void (*put_body)(struct view *view, uint64_t id, struct bytes body); /* empty: removed */

    /* The post of a key, or the comment; 0 if there is none. */
    uint64_t (*get_key)(struct view *view, enum key_kind kind, struct bytes key);
    void (*put_key)(struct view *view, enum key_kind kind, struct bytes key, uint64_t id);
    /* The key of a post; empty if it has none. */
    struct bytes (*get_post_key)(struct view *view, uint64_t post);

    /* The stored time of an id below ID_EARLY_END; false if there is none. NULL, both: the engine stores none. */
    bool (*get_time)(struct view *view, uint64_t id, int64_t *ms);
    void (*put_time)(struct view *view, uint64_t id, int64_t ms);

    /* Heads: never NULL; an empty one where nothing was published. */
    const struct head *(*get_head)(struct view *view, enum realm realm, uint64_t author);
    void (*add_number)(struct view *view, enum realm realm, uint64_t author, uint64_t id);
    void (*add_deletion)(struct view *view, enum realm realm, uint64_t author, uint32_t number);
    /* The story is deleted and its scenes with it; what is left of these may be removed in time. */
    void (*close_story)(struct view *view, uint64_t story);

    /* Pairs. get_pair fills in pair and place of a tie whose realm, fan and author are set; false if there is none. */
    bool (*get_pair)(struct view *view, struct tie *tie);
    /* Stores the pair, or removes it if it says nothing any more, and keeps the author's list of followers. */
    void (*put_pair)(struct view *view, struct tie *tie);
    /* All pairs of the fan with posts delivered or a standing follow, by author id, in the scratch arena; with the
     * heads, if these are wanted. */
    size_t (*get_pairs)(struct view *view, enum realm realm, uint64_t fan, bool heads,
                        struct tie_stored **stored);
    /* False if the engine knows no more than get_pairs. REALM_POSTS. */
    bool (*sum_unread)(struct view *view, uint64_t fan, struct unread_sum *sum);

    /* Read maps: 64 posts from chunk * 64 on. put_readmap removes what has no post read. */
    bool (*get_readmap)(struct view *view, const struct tie *tie, uint32_t chunk,
                        struct readmap *map);
    uint64_t (*get_read_bits)(struct view *view, const struct tie *tie, uint32_t chunk);
    void (*put_readmap)(struct view *view, const struct tie *tie, uint32_t chunk,
                        const struct readmap *map);
    /* The last chunk below that one in which anything is read; false if there is none. */
    bool (*last_read_bits)(struct view *view, const struct tie *tie, uint32_t *chunk,
                           uint64_t *bits);

    /* The reading history: an index on the read maps. Entries added are newer than all there are; both sort them. */
    void (*add_history)(struct view *view, uint64_t reader, struct history_entry *entries,
                        size_t n);
    void (*remove_history)(struct view *view, uint64_t reader, struct history_entry *entries,
                           size_t n);
    /* Entries up to the reader's mark (history_cleared) are nobody's any more: they may be removed in time. */
    void (*forget_history)(struct view *view, uint64_t reader);

    /* Reactions, and with them the lists LIST_REACTORS and LIST_REACTED. */
    struct reaction_record (*get_reaction)(struct view *view, uint64_t user, uint64_t target);
    void (*put_reaction)(struct view *view, uint64_t user, uint64_t target,
                         const struct reaction_record *old, const struct reaction_record *now);

    /* A post's counts, and with them LIST_HOT. old NULL: the post is new, and enters the list; now NULL: it leaves the
     * list, and the counts stay. */
    struct counts_record (*get_counts)(struct view *view, uint64_t post);
    void (*put_counts)(struct view *view, uint64_t id, const struct post_record *post,
                       const struct counts_record *old, const struct counts_record *now);

    /* Comments, and with them the LIST_COMMENTS of their parent. old NULL: the comment is new. */
    bool (*get_comment)(struct view *view, uint64_t id, struct comment_record *comment);
    void (*put_comment)(struct view *view, uint64_t id, const struct comment_record *old,
                        const struct comment_record *now);
    bool (*get_comment_body)(struct view *view, uint64_t id, struct bytes *body);
    void (*put_comment_body)(struct view *view, uint64_t id, struct bytes body);

    /* Scenes. put_messages of none removes them. */
    bool (*get_scene)(struct view *view, uint64_t id, struct scene_record *scene);
    void (*put_scene)(struct view *view, uint64_t id, const struct scene_record *scene);
    bool (*get_messages)(struct view *view, uint64_t scene, struct tidings_message **messages,
                         size_t *n);
    void (*put_messages)(struct view *view, uint64_t scene, const struct tidings_message *messages,
                         size_t n);
    /* These ids were given to messages of the scene, for ever; and whether that one was. */
    void (*give_ids)(struct view *view, uint64_t scene, const uint64_t *ids, size_t n);
    bool (*was_given)(struct view *view, uint64_t scene, uint64_t message);

    /* What a user has to do with stories. */
    struct shelf_record (*get_shelf)(struct view *view, uint64_t user);
    void (*put_shelf)(struct view *view, uint64_t user, const struct shelf_record *shelf);
    struct position_record (*get_position)(struct view *view, uint64_t reader, uint64_t story);
    /* And with it LIST_READING and LIST_READING_CHANGES: what was shown before, of that version, and what is now. */
    void (*put_position)(struct view *view, uint64_t reader, uint64_t story,
                         const struct position_record *position, uint64_t version_before,
                         const struct reading_shown *before, const struct reading_shown *now);

    bool (*get_webhook)(struct view *view, struct tidings_text name, struct webhook_record *record);
    void (*put_webhook)(struct view *view, struct tidings_text name,
                        const struct webhook_record *record);
    /* A damaged one, too. Whether there was one; *created is the stamp of its making, 0 if it is damaged. */
    bool (*remove_webhook)(struct view *view, struct tidings_text name, uint64_t *created);
    /* All of them, by name, in the scratch arena; how many. */
    size_t (*get_webhooks)(struct view *view, struct webhook_row **rows);

    /* Dead letters by the stamp of their target's row and by event, 0: what they have in common. The bytes are the scratch
     * memory's. A put of nothing removes the row. */
    bool (*get_letter)(struct view *view, uint64_t target, uint64_t event, struct bytes *letter);
    void (*put_letter)(struct view *view, uint64_t target, uint64_t event, struct bytes letter);
    /* Those behind an event, so many at most; how many. */
    size_t (*get_letters)(struct view *view, uint64_t target, uint64_t after, size_t most,
                          struct letter_row *rows);

    bool (*get_once)(struct view *view, uint64_t user, const uint8_t key[ONCE_BYTES],
                     struct once_record *once);
    void (*put_once)(struct view *view, uint64_t user, const uint8_t key[ONCE_BYTES],
                     const struct once_record *once);

    /* A page of a list: the places behind `after` ({0, 0}: from its beginning), `most` at most; how many. */
    size_t (*get_list)(struct view *view, const struct list *list, struct tidings_cursor after,
                       size_t most, struct place *places);

    /*
     * For facts, whose ids others have given: whether the list has a place of that stamp, so that another would take its place; and the
     * newest entry of a history, if one that is older cannot be added (zeros: it can). An engine that tells such places apart need not
     * look.
     */
    bool (*has_stamp)(struct view *view, const struct list *list, uint64_t stamp);
    struct history_entry (*newest_history)(struct view *view, uint64_t reader);

    /* Events behind a position, that are young enough to be read, in order; how many. */
    size_t (*get_events)(struct view *view, uint64_t after, size_t most,
                         struct tidings_event *events);
    /* Of those behind a position, up to another, that are too old to be read: how many a webhook with these events wants. */
    uint64_t (*count_old_events)(struct view *view, uint64_t after, uint64_t up_to,
                                 uint64_t wanted);
    /* Gives the event its position and time, and keeps it. */
    void (*add_event)(struct view *view, struct tidings_event *event);
    /* One that is not kept: hands it to those who follow from elsewhere. NULL: there is nobody. */
    void (*tell_event)(struct view *view, const struct tidings_event *event);
    /* A position that no event of an operation behind this one comes before. */
    uint64_t (*newest_position)(struct view *view);
    /* The newest event; 0: there is none. */
    uint64_t (*newest_event)(struct view *view);
    /* Whether an event has, or may have had, that position. */
    bool (*has_position)(struct view *view, uint64_t position);

    /* A further id of this operation's; 0 after a failure. */
    uint64_t (*next_id)(struct view *view);

    /* The version of what the view shows, for LIST_READING_CHANGES: no change that it does not show has a smaller one. */
    uint64_t (*version)(struct view *view);

    /* The least id that is younger than that age, at the view's time: by the time that has elapsed, not by the clock. */
    uint64_t (*oldest_id)(const struct view *view, int64_t age_ms);

    /* What the view shows, as a moment; whether that moment has been; how many of an author's posts were there then. */
    struct tidings_moment (*moment)(struct view *view);
    bool (*has_been)(struct view *view, const struct tidings_moment *moment);
    uint32_t (*posts_by)(struct view *view, const struct head *head,
                         const struct tidings_moment *moment);
};

#endif
