/* SPDX-License-Identifier: MIT */
/* Records of reactions, comments, counts, and the rules they were made by. */
#include "domain/heat.h"
#include "engine/records/parts.h"
#include "engine/records/records.h"

static uint64_t read_count(struct decoder *r)
{
    uint64_t count = read_varint(r);
    if (count > HEAT_COUNT_MAX)
        decoder_fail(r);
    return count;
}

/* ---- A reaction ----------------------------------------------------------------------------- */

enum { REACTION_LIKE = 1, REACTION_FAV = 2, REACTION_DOWN = 4, REACTION_TO_COMMENT = 8 };

static const uint8_t reaction_flags[REACTIONS] = {
    [TIDINGS_LIKE] = REACTION_LIKE,
    [TIDINGS_FAV] = REACTION_FAV,
    [TIDINGS_DOWNVOTE] = REACTION_DOWN,
};

size_t reaction_encode(const struct reaction_record *reaction, uint8_t to[REACTION_RECORD_MAX])
{
    size_t n = 1;
    to[0] = VERSION_1 | (reaction->target == TIDINGS_TARGET_COMMENT ? REACTION_TO_COMMENT : 0);
    for (int i = TIDINGS_LIKE; i < REACTIONS; i++) {
        if (!reaction->stamp[i])
            continue;
        to[0] |= reaction_flags[i];
        put_id(to + n, reaction->stamp[i]);
        n += ID_BYTES;
    }
    return n;
}

/* Posts are liked and faved; comments are liked or voted down, not both. */
static bool flags_agree(uint8_t flags)
{
    switch (flags) {
    case REACTION_LIKE:
    case REACTION_FAV:
    case REACTION_LIKE | REACTION_FAV:
    case REACTION_TO_COMMENT | REACTION_LIKE:
    case REACTION_TO_COMMENT | REACTION_DOWN:
        return true;
    default:
        return false;
    }
}

bool reaction_decode(struct bytes from, struct reaction_record *reaction)
{
    struct decoder r = decoder_of(from.p, from.n);
    uint8_t flags = read_head(&r, FLAGS_MASK);
    *reaction = (struct reaction_record){
        .target = flags & REACTION_TO_COMMENT ? TIDINGS_TARGET_COMMENT : TIDINGS_TARGET_POST};
    for (int i = TIDINGS_LIKE; i < REACTIONS; i++) {
        if (!(flags & reaction_flags[i]))
            continue;
        reaction->stamp[i] = read_id(&r);
        if (!is_stamp(reaction->stamp[i]))
            decoder_fail(&r);
    }
    return read_end(&r) && flags_agree(flags);
}

/* ---- A post's counts ------------------------------------------------------------------------ */

size_t counts_encode(const struct counts_record *counts, uint8_t to[COUNTS_RECORD_MAX])
{
    size_t n = 0;
    to[n++] = VERSION_1;
    n += put_varint(to + n, counts->likes);
    n += put_varint(to + n, counts->favs);
    n += put_varint(to + n, counts->comments);
    return n;
}

bool counts_decode(struct bytes from, struct counts_record *counts)
{
    struct decoder r = decoder_of(from.p, from.n);
    read_head(&r, 0);
    counts->likes = read_count(&r);
    counts->favs = read_count(&r);
    counts->comments = read_count(&r);
    return read_end(&r);
}

/* ---- A comment ------------------------------------------------------------------------------ */

enum { COMMENT_HIDDEN = 1, COMMENT_DELETED = 2, COMMENT_MODERATED = 4, COMMENT_REPLY = 8 };

size_t comment_encode(const struct comment_record *comment, uint8_t to[COMMENT_RECORD_MAX])
{
    size_t n = 0;
    to[n++] =
        (uint8_t)(VERSION_1 | (comment->status == TIDINGS_COMMENT_HIDDEN ? COMMENT_HIDDEN : 0) |
                  (comment->status == TIDINGS_COMMENT_DELETED ? COMMENT_DELETED : 0) |
                  (comment->moderated ? COMMENT_MODERATED : 0) |
                  (comment->parent ? COMMENT_REPLY : 0));
    put_id(to + n, comment->post);
    n += ID_BYTES;
    if (comment->parent) {
        put_id(to + n, comment->parent);
        n += ID_BYTES;
    }
    put_id(to + n, comment->user);
    n += ID_BYTES;
    n += put_varint(to + n, comment->likes);
    n += put_varint(to + n, comment->downs);
    n += put_varint(to + n, comment->replies);
    n += put_varint(to + n, comment->listed);
    return n;
}

bool comment_decode(struct bytes from, struct comment_record *comment)
{
    struct decoder r = decoder_of(from.p, from.n);
    uint8_t flags = read_head(&r, FLAGS_MASK);
    comment->status = flags & COMMENT_DELETED  ? TIDINGS_COMMENT_DELETED
                      : flags & COMMENT_HIDDEN ? TIDINGS_COMMENT_HIDDEN
                                               : TIDINGS_COMMENT_VISIBLE;
    comment->moderated = flags & COMMENT_MODERATED;
    comment->post = read_id(&r);
    comment->parent = flags & COMMENT_REPLY ? read_id(&r) : 0;
    comment->user = read_id(&r);
    comment->likes = read_count(&r);
    comment->downs = read_count(&r);
    comment->replies = read_count(&r);
    comment->listed = read_count(&r);
    bool ids = is_stamp(comment->post) && is_stamp(comment->user) &&
               (is_stamp(comment->parent) || !(flags & COMMENT_REPLY));
    return read_end(&r) && ids && (flags & (COMMENT_HIDDEN | COMMENT_DELETED)) != 3;
}

/* ---- The rules in force --------------------------------------------------------------------- */

size_t rules_encode(const struct rules_record *rules, uint8_t to[RULES_RECORD_MAX])
{
    size_t n = 0;
    to[n++] = VERSION_1;
    for (int i = 0; i < RULES; i++)
        n += put_varint(to + n, rules->value[i]);
    to[n++] = rules->stage;
    n += put_varint(to + n, rules->place);
    return n;
}

bool rules_decode(struct bytes from, struct rules_record *rules)
{
    struct decoder r = decoder_of(from.p, from.n);
    read_head(&r, 0);
    for (int i = 0; i < RULES; i++)
        rules->value[i] = read_varint(&r);
    rules->stage = read_u8(&r);
    rules->place = read_varint(&r);
    return read_end(&r);
}
