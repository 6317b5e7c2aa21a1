/* SPDX-License-Identifier: MIT */
/* Verify, the part about reactions: the lists on both sides against the votes, and what users have
 * given and received. */
#include <inttypes.h>

#include "engine/local/verify/verify.h"
#include "engine/ops/target.h"

enum { LIST_KEY = ID_BYTES + 1 + 1 + ID_BYTES };

static struct key copy_key(struct bytes key)
{
    struct key copy = {.n = (uint8_t)key.n};
    memcpy(copy.bytes, key.p, key.n);
    return copy;
}

static bool holds_id(struct check *check, enum table table, const struct key *key, uint64_t id)
{
    struct bytes value;
    return kv_get(txn_of(check->view), table, key, &value) && value.n == ID_BYTES &&
           get_id(value.p) == id;
}

/* A row of one of the two lists that a reaction must have. */
static void want_row(struct check *check, enum table table, const struct key *key, uint64_t id,
                     const char *what, uint64_t user, uint64_t target)
{
    uint8_t value[ID_BYTES];
    if (holds_id(check, table, key, id) || view_failed(check->view))
        return;
    verify_differ(check, "user %" PRIu64 " reacted to %" PRIu64 ", which the list of %s lacks",
                  user, target, what);
    put_id(value, id);
    verify_mend(check, table, key, (struct bytes){value, sizeof value});
}

void verify_vote(struct check *check, uint64_t user, struct bytes key, struct bytes value)
{
    struct reaction_record vote;
    struct target target;
    if (key.n != 2 * ID_BYTES + 1 || !reaction_decode(value, &vote)) {
        verify_differ(check, "user %" PRIu64 ": a reaction cannot be decoded", user);
        return;
    }
    uint64_t id = get_id_descending(key.p + ID_BYTES + 1);
    if (!target_find(check->view, vote.target, id, &target)) {
        if (!view_failed(check->view))
            verify_differ(check, "user %" PRIu64 " reacted to %" PRIu64 ", which is not there",
                          user, id);
        return;
    }
    for (int i = TIDINGS_LIKE; i < REACTIONS; i++) {
        enum tidings_reaction reaction = (enum tidings_reaction)i;
        uint64_t stamp = vote.stamp[i];
        if (!stamp)
            continue;
        if (stamp > local_of(check->view)->last_id)
            verify_differ(check, "user %" PRIu64 ": a reaction is newer than the newest id", user);
        struct key reactor = key_reactor(id, reaction, stamp);
        struct key reacted = key_reacted(user, vote.target, reaction, stamp);
        want_row(check, TABLE_TARGET, &reactor, user, "those who did", user, id);
        if (reaction != TIDINGS_DOWNVOTE)
            want_row(check, TABLE_USER, &reacted, id, "what they reacted to", user, id);
    }
}

void verify_reacted(struct check *check, uint64_t user, struct bytes key, struct bytes value)
{
    if (key.n != LIST_KEY || value.n != ID_BYTES) {
        verify_differ(check, "user %" PRIu64 ": a row of %zu and %zu bytes", user, key.n, value.n);
        return;
    }
    uint8_t list = key.p[ID_BYTES + 1], reaction = list & 0x0f;
    uint64_t stamp = get_id_descending(key.p + ID_BYTES + 2), id = get_id(value.p);
    struct reaction_record vote = local_get_reaction(check->view, user, id);
    bool listed = reaction == TIDINGS_LIKE || reaction == TIDINGS_FAV;
    if (view_failed(check->view) ||
        (listed && vote.stamp[reaction] == stamp && list >> 4 == vote.target))
        return;
    struct key row = copy_key(key);
    verify_differ(check, "user %" PRIu64 ": a list has %" PRIu64 ", without such a reaction", user,
                  id);
    verify_mend_delete(check, TABLE_USER, &row);
}

void verify_reactor(struct check *check, uint64_t target, struct bytes key, struct bytes value)
{
    if (key.n != LIST_KEY || value.n != ID_BYTES) {
        verify_differ(check, "%" PRIu64 ": a row of %zu and %zu bytes", target, key.n, value.n);
        return;
    }
    uint8_t reaction = key.p[ID_BYTES + 1];
    uint64_t stamp = get_id_descending(key.p + ID_BYTES + 2), user = get_id(value.p);
    struct reaction_record vote = local_get_reaction(check->view, user, target);
    bool known = reaction >= TIDINGS_LIKE && reaction < REACTIONS;
    if (view_failed(check->view) || (known && vote.stamp[reaction] == stamp))
        return;
    struct key row = copy_key(key);
    verify_differ(check, "%" PRIu64 ": a list has user %" PRIu64 ", without such a reaction",
                  target, user);
    verify_mend_delete(check, TABLE_TARGET, &row);
}

void verify_tally_reactors(struct check *check)
{
    for (const struct mend *mend = check->mends; mend; mend = mend->next) {
        const uint8_t *key = mend->key.p;
        if (mend->table != TABLE_TARGET || mend->key.n != LIST_KEY || key[ID_BYTES] != ROW_REACTOR)
            continue;
        uint8_t reaction = key[ID_BYTES + 1];
        if (reaction >= TIDINGS_LIKE && reaction < REACTIONS)
            verify_tally_add(check, (enum tally_kind)reaction, get_id(key),
                             mend->value.p ? +1 : -1);
    }
}

/* Rows that begin so. */
static uint64_t count_rows(struct view *view, enum table table, const struct key *prefix)
{
    struct bytes key, value;
    uint64_t n = 0;
    bool found = kv_seek(txn_of(view), table, prefix, &key, &value);
    for (; found && key_has_prefix(key, prefix); found = kv_next(txn_of(view), table, &key, &value))
        n++;
    return n;
}

uint64_t verify_count_reactors(struct check *check, uint64_t target, enum tidings_reaction reaction)
{
    struct key prefix = key_reactor_list(target, reaction);
    uint64_t n = count_rows(check->view, TABLE_TARGET, &prefix);
    return n + (uint64_t)verify_tally_of(check, (enum tally_kind)reaction, target);
}

/* What the user gave, from the votes themselves. */
static void count_given(struct view *view, uint64_t user, struct user_record *counted)
{
    struct key prefix = key_row(user, ROW_VOTE);
    struct reaction_record vote;
    struct bytes key, value;
    bool found = kv_seek(txn_of(view), TABLE_USER, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(txn_of(view), TABLE_USER, &key, &value)) {
        if (!reaction_decode(value, &vote)) {
            view_corrupt(view);
            return;
        }
        bool on_post = vote.target == TIDINGS_TARGET_POST;
        counted->liked_posts += on_post && vote.stamp[TIDINGS_LIKE];
        counted->faved_posts += on_post && vote.stamp[TIDINGS_FAV];
    }
}

void verify_count_reactions(struct check *check, uint64_t user, const struct head *head,
                            struct user_record *counted)
{
    count_given(check->view, user, counted);
    for (uint32_t i = 0; i < head->n_posts && !view_failed(check->view); i++) {
        if (head_is_deleted(head, i))
            continue;
        struct counts_record counts = local_get_counts(check->view, head->ids[i]);
        counted->likes_received += counts.likes;
        counted->favs_received += counts.favs;
    }
    counted->likes_received += (uint64_t)verify_tally_of(check, TALLY_LIKES_RECEIVED, user);
    counted->favs_received += (uint64_t)verify_tally_of(check, TALLY_FAVS_RECEIVED, user);
}
