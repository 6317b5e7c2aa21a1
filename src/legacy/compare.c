/* SPDX-License-Identifier: MIT */
#include "legacy/compare.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "legacy/bridge.h"
#include "legacy/share.h"

enum { GROUP = 16, USERS_PAGE = 1000 };

/* A count that the old system has of an author. */
struct pair {
    uint64_t user, author;
};

struct compare {
    const struct compare_options *options;
    struct bundle bundle;
    struct id_set users;
    struct pair *pairs; /* sorted */
    size_t n_pairs, pairs_room;
    struct compare_result *result;
    struct id_set differing;
    uint64_t differences; /* of the user who is being compared */
    bool failed;          /* memory was short */
};

static bool in_share(const struct compare *compare, uint64_t user)
{
    return share_has(compare->options->share, user);
}

/* ---- Whom to ask about ------------------------------------------------------------------------ */

static void add_pair(struct compare *compare, uint64_t user, uint64_t author)
{
    if (compare->n_pairs == compare->pairs_room) {
        size_t room = compare->pairs_room ? 2 * compare->pairs_room : 256;
        struct pair *more = realloc(compare->pairs, room * sizeof *more);
        if (!more) {
            compare->failed = true;
            return;
        }
        compare->pairs = more;
        compare->pairs_room = room;
    }
    compare->pairs[compare->n_pairs++] = (struct pair){user, author};
}

static int by_user(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return (x->user > y->user) - (x->user < y->user);
}

static void note_key(void *ctx, const char *key, size_t n)
{
    static const enum legacy_key kinds[][6] = {
        {LEGACY_FEED, LEGACY_READ, LEGACY_TOTAL_UNREAD, LEGACY_AUTHOR_UNREAD, LEGACY_KEY_COUNT},
        {LEGACY_USER_READ, LEGACY_USER_UNREAD, LEGACY_UNREAD_COUNT, LEGACY_KEY_COUNT}};
    struct compare *compare = ctx;
    uint64_t user, author;
    for (size_t scheme = 0; scheme < 2; scheme++)
        for (const enum legacy_key *kind = kinds[scheme];
             compare->options->schemes >> scheme & 1 && *kind != LEGACY_KEY_COUNT; kind++) {
            const struct legacy_names *names = &compare->options->old->names;
            if (!legacy_key_read(names, *kind, key, n, &user, &author) || !in_share(compare, user))
                continue;
            id_set_add(&compare->users, user);
            if (author)
                add_pair(compare, user, author);
        }
}

static bool find_known(struct compare *compare, const char **message)
{
    uint64_t page[USERS_PAGE], after = 0;
    size_t n = 1;
    while (n && !compare->options->stopped()) {
        if (!ask_users(compare->options->ask, after, USERS_PAGE, page, &n)) {
            *message = compare->options->ask->trouble;
            return false;
        }
        for (size_t i = 0; i < n; i++)
            if (in_share(compare, page[i]))
                id_set_add(&compare->users, page[i]);
        after = n ? page[n - 1] : 0;
    }
    return true;
}

static bool find_users(struct compare *compare, const char **message)
{
    struct old *old = compare->options->old;
    struct walk walk = {0};
    *message = old->trouble;
    if (!old_look(old)) /* which also tells whether keys have hash tags */
        return false;
    if (compare->options->users->n) {
        for (size_t i = 0; i < compare->options->users->n; i++)
            id_set_add(&compare->users, compare->options->users->at[i]);
        return true;
    }
    if (!find_known(compare, message))
        return false;
    *message = old->trouble;
    while (!walk.done && !compare->options->stopped())
        if (!old_walk(old, &walk, note_key, compare))
            return false;
    id_set_sort(&compare->users);
    if (compare->n_pairs)
        qsort(compare->pairs, compare->n_pairs, sizeof *compare->pairs, by_user);
    return true;
}

/* ---- What the old keys say -------------------------------------------------------------------- */

/* The questions about one user, in the order in which they are put. */
struct questions {
    unsigned scheme;
    struct id_set authors;
    size_t first; /* call of the bundle */
};

static void put_call(struct compare *compare, const char *command, enum legacy_key key,
                     uint64_t user, uint64_t author)
{
    bundle_command(&compare->bundle, command);
    bundle_key(&compare->bundle, compare->options->old, key, user, author);
}

static void put_range(struct compare *compare, enum legacy_key key, uint64_t user)
{
    put_call(compare, "ZRANGE", key, user, 0);
    bundle_text(&compare->bundle, "0");
    bundle_text(&compare->bundle, "-1");
}

static void put_first(struct compare *compare, uint64_t user, const struct id_set *authors)
{
    put_call(compare, "GET", LEGACY_TOTAL_UNREAD, user, 0);
    put_range(compare, LEGACY_READ, user);
    put_range(compare, LEGACY_FEED, user);
    for (size_t i = 0; i < authors->n; i++)
        put_call(compare, "GET", LEGACY_AUTHOR_UNREAD, user, authors->at[i]);
}

static void put_second(struct compare *compare, uint64_t user, const struct id_set *authors)
{
    put_call(compare, "HVALS", LEGACY_UNREAD_COUNT, user, 0);
    put_call(compare, "SMEMBERS", LEGACY_USER_READ, user, 0);
    for (size_t i = 0; i < authors->n; i++)
        put_call(compare, "SMEMBERS", LEGACY_USER_UNREAD, user, authors->at[i]);
    for (size_t i = 0; i < authors->n; i++) {
        put_call(compare, "HGET", LEGACY_UNREAD_COUNT, user, 0);
        bundle_u64(&compare->bundle, authors->at[i]);
    }
}

static void put_deleted(struct compare *compare, const struct legacy_inbox *inbox)
{
    for (size_t i = 0; i < inbox->n && inbox->items[i].delivered; i++) {
        put_call(compare, "SISMEMBER", LEGACY_DELETED, 0, 0);
        bundle_u64(&compare->bundle, inbox->items[i].member);
    }
}

static void put_questions(struct compare *compare, const struct legacy_inbox *inbox,
                          struct questions *questions)
{
    struct pair wanted = {.user = inbox->user};
    struct pair *found = compare->n_pairs ? bsearch(&wanted, compare->pairs, compare->n_pairs,
                                                    sizeof *compare->pairs, by_user)
                                          : NULL;
    while (found && found > compare->pairs && found[-1].user == inbox->user)
        found--;
    for (; found && found < compare->pairs + compare->n_pairs && found->user == inbox->user;
         found++)
        id_set_add(&questions->authors, found->author);
    for (size_t i = 0; i < inbox->n; i++)
        id_set_add(&questions->authors, inbox->items[i].author);
    for (size_t i = 0; i < inbox->n_counts; i++)
        id_set_add(&questions->authors, inbox->counts[i].author);
    id_set_sort(&questions->authors);
    compare->failed |= questions->authors.failed;
    questions->first = compare->bundle.n;
    if (questions->scheme == SCHEME_1) {
        put_first(compare, inbox->user, &questions->authors);
        put_deleted(compare, inbox);
    } else {
        put_second(compare, inbox->user, &questions->authors);
    }
}

/* ---- Comparing -------------------------------------------------------------------------------- */

static void hold(struct compare *compare, enum compare_kind kind, uint64_t user, uint64_t about,
                 int64_t old, int64_t new)
{
    uint64_t n = compare->result->kinds[kind].differ;
    compare->result->kinds[kind].asked++;
    if (old == new)
        return;
    if (n < COMPARE_EXAMPLES)
        compare->result->kinds[kind].examples[n] = (struct compare_example){user, about, old, new};
    compare->result->kinds[kind].differ++;
    compare->differences++;
}

static void take_members(const struct redisReply *reply, struct id_set *members)
{
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
        id_set_add(members, (uint64_t)reply_number(reply->element[i], 0));
}

static int64_t take_total(const struct redisReply *reply)
{
    int64_t total = 0;
    if (reply->type != REDIS_REPLY_ARRAY)
        return reply_number(reply, 0);
    for (size_t i = 0; i < reply->elements; i++)
        total += reply_number(reply->element[i], 0);
    return total;
}

static int64_t count_of(const struct legacy_inbox *inbox, uint64_t author)
{
    for (size_t i = 0; i < inbox->n_counts; i++)
        if (inbox->counts[i].author == author)
            return (int64_t)inbox->counts[i].unread;
    return 0;
}

/* The first scheme lists what came, the second what of it is unread. */
static bool is_listed(const struct legacy_item *item, unsigned scheme)
{
    return item->delivered && (scheme == SCHEME_1 || (!item->read_at && !item->is_deleted));
}

static void hold_lists(struct compare *compare, const struct legacy_inbox *inbox, unsigned scheme,
                       const struct id_set *listed, const struct id_set *read)
{
    struct id_set known = {0};
    for (size_t i = 0; i < inbox->n; i++) {
        const struct legacy_item *item = &inbox->items[i];
        if (is_listed(item, scheme)) {
            id_set_add(&known, item->member);
            hold(compare, COMPARE_LIST, inbox->user, item->member,
                 id_set_find(listed, item->member) < listed->n, 1);
        }
        if (item->delivered && !item->is_deleted)
            hold(compare, COMPARE_IS_READ, inbox->user, item->member,
                 id_set_find(read, item->member) < read->n, item->read_at != 0);
    }
    id_set_sort(&known);
    for (size_t i = 0; i < listed->n; i++)
        if (id_set_find(&known, listed->at[i]) == known.n)
            hold(compare, COMPARE_LIST, inbox->user, listed->at[i], 1, 0);
    compare->failed |= known.failed;
    id_set_release(&known);
}

static void hold_user(struct compare *compare, const struct legacy_inbox *inbox,
                      const struct questions *questions)
{
    const struct redis_call *call = &compare->bundle.calls[questions->first];
    const struct id_set *authors = &questions->authors;
    struct id_set listed = {0}, read = {0};
    hold(compare, COMPARE_TOTAL, inbox->user, 0, take_total(call++->reply), (int64_t)inbox->total);
    take_members(call++->reply, &read);
    for (size_t i = 0; i < (questions->scheme == SCHEME_1 ? 1 : authors->n); i++)
        take_members(call++->reply, &listed);
    id_set_sort(&listed);
    id_set_sort(&read);
    for (size_t i = 0; i < authors->n; i++)
        hold(compare, COMPARE_AUTHOR, inbox->user, authors->at[i], reply_number(call++->reply, 0),
             count_of(inbox, authors->at[i]));
    hold_lists(compare, inbox, questions->scheme, &listed, &read);
    for (size_t i = 0; questions->scheme == SCHEME_1 && i < inbox->n && inbox->items[i].delivered;
         i++)
        hold(compare, COMPARE_DELETED, inbox->user, inbox->items[i].member,
             reply_number(call++->reply, 0), inbox->items[i].is_deleted);
    compare->failed |= listed.failed || read.failed;
    id_set_release(&listed);
    id_set_release(&read);
}

/* ---- Some users ------------------------------------------------------------------------------- */

/* A key of another kind than it should be is an answer, too: none. */
static bool hold_group(struct compare *compare, const struct legacy_inbox *inboxes, size_t n,
                       unsigned scheme)
{
    static const struct redisReply nothing = {.type = REDIS_REPLY_NIL};
    struct questions questions[GROUP] = {{0}};
    bundle_clear(&compare->bundle);
    for (size_t i = 0; i < n; i++) {
        questions[i].scheme = scheme;
        put_questions(compare, &inboxes[i], &questions[i]);
    }
    bool fine = !compare->failed && old_run(compare->options->old, &compare->bundle, OLD_KIND);
    for (size_t i = 0; fine && i < compare->bundle.n; i++)
        if (compare->bundle.calls[i].outcome != REDIS_DONE)
            compare->bundle.calls[i].reply = &nothing;
    for (size_t i = 0; i < n; i++) {
        compare->differences = 0;
        if (fine)
            hold_user(compare, &inboxes[i], &questions[i]);
        if (compare->differences)
            id_set_add(&compare->differing, inboxes[i].user);
        id_set_release(&questions[i].authors);
    }
    return fine;
}

static bool compare_group(struct compare *compare, const uint64_t *users, size_t n,
                          const char **message)
{
    struct legacy_inbox inboxes[GROUP];
    *message = compare->options->ask->trouble;
    bool fine = ask_inboxes(compare->options->ask, users, n, inboxes);
    for (unsigned scheme = SCHEME_1; fine && scheme <= SCHEME_2; scheme++)
        if (compare->options->schemes & scheme) {
            *message = compare->options->old->trouble;
            fine = hold_group(compare, inboxes, n, scheme);
        }
    for (size_t i = 0; i < n; i++)
        legacy_inbox_release(&inboxes[i]);
    return fine;
}

static bool compare_all(struct compare *compare, const struct id_set *users, const char **message)
{
    const struct tidings_progress *progress = &compare->options->progress;
    for (size_t i = 0; i < users->n && !compare->options->stopped(); i += GROUP) {
        if (progress->tell)
            progress->tell(progress->ctx, "users", i, users->n);
        if (!compare_group(compare, users->at + i, users->n - i < GROUP ? users->n - i : GROUP,
                           message))
            return false;
    }
    if (progress->tell)
        progress->tell(progress->ctx, "users", users->n, users->n);
    id_set_sort(&compare->differing);
    return true;
}

/* ---- All of it -------------------------------------------------------------------------------- */

/* What was asked is counted once; what differs, by what was seen last. */
static bool ask_again(struct compare *compare, const char **message)
{
    struct compare_result seen;
    struct compare_result *result = compare->result;
    struct id_set users = compare->differing;
    bool fine;
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    memset(&seen, 0, sizeof seen);
    compare->differing = (struct id_set){0};
    compare->result = &seen;
    fine = compare_all(compare, &users, message);
    compare->result = result;
    for (size_t i = 0; fine && i < COMPARE_KIND_COUNT; i++) {
        seen.kinds[i].asked = result->kinds[i].asked;
        result->kinds[i] = seen.kinds[i];
    }
    id_set_release(&users);
    return fine;
}

static bool look(struct compare *compare, const char **message)
{
    struct compare_result *result = compare->result;
    if (!find_users(compare, message) || !compare_all(compare, &compare->users, message))
        return false;
    uint64_t at_first = compare->differing.n;
    for (unsigned i = 0; i < compare->options->patience_s && compare->differing.n; i++)
        if (compare->options->stopped() || !ask_again(compare, message))
            return false;
    result->users = compare->users.n;
    result->differ = compare->differing.n;
    result->settled = at_first - result->differ;
    return true;
}

bool compare_run(const struct compare_options *options, struct compare_result *result,
                 const char **message)
{
    struct compare compare = {.options = options, .result = result};
    memset(result, 0, sizeof *result);
    bundle_init(&compare.bundle);
    *message = "stopped";
    bool fine = look(&compare, message) && !options->stopped();
    if (compare.failed || compare.users.failed || compare.differing.failed) {
        *message = "memory is short";
        fine = false;
    }
    bundle_release(&compare.bundle);
    id_set_release(&compare.users);
    id_set_release(&compare.differing);
    free(compare.pairs);
    return fine;
}
