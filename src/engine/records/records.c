/* SPDX-License-Identifier: MIT */
#include "engine/records/records.h"

#include <assert.h>
#include <string.h>

#include "domain/events.h"
#include "engine/records/parts.h"

/* ---- A user --------------------------------------------------------------------------------- */

enum { USER_PUBLISHED = 1 };

size_t user_encode(const struct user_record *user, uint8_t to[USER_RECORD_MAX])
{
    size_t n = 0;
    to[n++] = VERSION_1 | (user->publish_full_at ? USER_PUBLISHED : 0);
#define X(field) n += put_varint(to + n, user->field);
    USER_FIELDS(X)
#undef X
    if (user->publish_full_at)
        n += put_varint(to + n, user->publish_full_at);
    return n;
}

bool user_decode(struct bytes from, struct user_record *user)
{
    struct decoder r = decoder_of(from.p, from.n);
    bool published = read_head(&r, USER_PUBLISHED);
#define X(field) user->field = read_varint(&r);
    USER_FIELDS(X)
#undef X
    user->publish_full_at = published ? read_varint(&r) : 0;
    return read_end(&r) && published == !!user->publish_full_at &&
           user->history_cleared <= TIDINGS_ID_MAX && user->follow_full_at <= TIDINGS_ID_MAX &&
           user->react_full_at <= TIDINGS_ID_MAX && user->comment_full_at <= TIDINGS_ID_MAX &&
           user->publish_full_at <= TIDINGS_ID_MAX;
}

/* ---- A profile ------------------------------------------------------------------------------ */

/* What one's own data is, behind everything else: rows of before have none, and no flag. */
static struct bytes read_extra(struct decoder *r, bool there)
{
    struct bytes extra = there ? read_block(r) : (struct bytes){NULL, 0};
    if (there && !extra.n)
        decoder_fail(r);
    return extra;
}

enum { PROFILE_EXTRA = 1 };

struct bytes profile_encode(const struct profile_record *profile, struct arena *arena)
{
    size_t texts = profile->name.n + profile->avatar.n + profile->extra.n;
    uint8_t *to = arena_alloc(arena, 1 + 3 * VARINT_MAX + texts);
    if (!to)
        return (struct bytes){NULL, 0};
    size_t n = 0;
    to[n++] = VERSION_1 | (profile->extra.n ? PROFILE_EXTRA : 0);
    n += put_block(to + n, profile->name);
    n += put_block(to + n, profile->avatar);
    if (profile->extra.n)
        n += put_block(to + n, profile->extra);
    return (struct bytes){to, n};
}

bool profile_decode(struct bytes from, struct profile_record *profile)
{
    struct decoder r = decoder_of(from.p, from.n);
    uint8_t flags = read_head(&r, PROFILE_EXTRA);
    profile->name = read_block(&r);
    profile->avatar = read_block(&r);
    profile->extra = read_extra(&r, flags & PROFILE_EXTRA);
    return read_end(&r);
}

/* ---- A pair --------------------------------------------------------------------------------- */

enum { PAIR_FOLLOWING = 1, PAIR_READS = 2, PAIR_PAUSED = 4 };
enum { PAIR_FLAGS = PAIR_FOLLOWING | PAIR_READS | PAIR_PAUSED };

/* Ranges as gap and length, each a varint; an open end is length 0. */
static bool read_spans(struct decoder *r, struct span *spans, size_t n)
{
    uint64_t end = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t start = end + read_varint32(r);
        uint64_t length = read_varint32(r);
        end = length ? start + length : SPAN_OPEN;
        bool overflows = length && end >= SPAN_OPEN;
        if (r->bad || overflows || start >= end || (i && start == spans[i - 1].end))
            return false;
        spans[i] = (struct span){(uint32_t)start, (uint32_t)end};
    }
    return true;
}

static size_t put_spans(uint8_t *to, const struct span *spans, size_t n)
{
    size_t used = 0;
    uint32_t end = 0;
    for (size_t i = 0; i < n; i++) {
        bool open = spans[i].end == SPAN_OPEN;
        used += put_varint(to + used, spans[i].start - end);
        used += put_varint(to + used, open ? 0 : spans[i].end - spans[i].start);
        end = spans[i].end;
    }
    return used;
}

static void read_pair_counts(struct decoder *r, struct pair *pair)
{
    pair->settled = read_varint32(r);
    pair->reads_in = read_varint32(r);
    pair->dead_in = read_varint32(r);
    pair->reads_out = read_varint32(r);
    pair->dead_out = read_varint32(r);
    if (pair->dead_in > pair->reads_in || pair->dead_out > pair->reads_out)
        decoder_fail(r);
}

static void read_pair_head(struct decoder *r, struct pair *pair, uint8_t flags)
{
    pair->following = flags & PAIR_FOLLOWING;
    pair->paused = flags & PAIR_PAUSED;
    pair->rank = flags & (PAIR_FOLLOWING | PAIR_PAUSED) ? read_id(r) : 0;
    pair->settled = pair->reads_in = pair->dead_in = pair->reads_out = pair->dead_out = 0;
    if (flags & PAIR_READS)
        read_pair_counts(r, pair);
}

/* In the pair itself if they fit there with `room` more, as nearly always. */
static bool read_pair_spans(struct decoder *r, struct arena *arena, struct pair *pair,
                            uint32_t room)
{
    pair->n_spans = read_varint32(r);
    /* A span takes two bytes at least: no count can make us allocate more than we were given. */
    if (r->bad || pair->n_spans > decoder_left(r) / 2)
        return false;
    pair->spans = pair->inline_spans;
    if ((uint64_t)pair->n_spans + room > PAIR_INLINE_SPANS)
        pair->spans = arena_array(arena, (size_t)pair->n_spans + room, sizeof *pair->spans);
    return pair->spans && read_spans(r, pair->spans, pair->n_spans);
}

/* Whether the parts agree with each other. */
static bool is_sound_pair(const struct pair *pair, uint8_t flags)
{
    bool ranked = pair->following || pair->paused, has_reads = pair_has_reads(pair);
    bool open = pair->n_spans && pair->spans[pair->n_spans - 1].end == SPAN_OPEN;
    return open == pair->following && !(pair->following && pair->paused) &&
           (!ranked || is_stamp(pair->rank)) && has_reads == !!(flags & PAIR_READS) &&
           (has_reads || !pair->skips.n);
}

bool pair_decode(struct bytes from, struct arena *arena, struct pair *pair, uint32_t room)
{
    struct decoder r = decoder_of(from.p, from.n);
    uint8_t flags = read_head(&r, PAIR_FLAGS);
    read_pair_head(&r, pair, flags);
    if (!read_pair_spans(&r, arena, pair, room))
        return false;
    pair->skips = (struct bytes){r.at, decoder_left(&r)};
    return is_sound_pair(pair, flags);
}

bool pair_rank(struct bytes from, uint64_t *rank)
{
    struct decoder r = decoder_of(from.p, from.n);
    uint8_t flags = read_head(&r, PAIR_FLAGS);
    *rank = flags & (PAIR_FOLLOWING | PAIR_PAUSED) ? read_id(&r) : 0;
    return !r.bad;
}

/* By far the most pairs: followed once, still so, and nothing read. */
static bool sum_simple(struct bytes from, struct pair_sum *sum)
{
    enum { SPANS = 1 + ID_BYTES, START = SPANS + 1, LEAST = START + 2, MOST = START + 5 };
    int64_t start = 0;
    if (from.n < LEAST || from.n > MOST || from.p[0] != (VERSION_1 | PAIR_FOLLOWING) ||
        from.p[SPANS] != 1 || from.p[from.n - 1] != 0)
        return false;
    size_t last = from.n - 2; /* of the start; behind it the 0 of an open end */
    if (from.p[last] & 0x80)
        return false;
    for (size_t i = last; i > START; i--)
        if (!(from.p[i - 1] & 0x80))
            return false;
    for (size_t i = last + 1; i-- > START;)
        start = start << 7 | (from.p[i] & 0x7f);
    *sum = (struct pair_sum){.following = true, .unread = -start};
    return true;
}

bool pair_sum(struct bytes from, struct pair_sum *sum)
{
    if (sum_simple(from, sum))
        return true;
    struct decoder r = decoder_of(from.p, from.n);
    uint8_t flags = read_head(&r, PAIR_FLAGS);
    int64_t delivered = 0, end = 0;
    bool open = false;
    struct pair pair = {.reads_in = 0};
    if (flags & (PAIR_FOLLOWING | PAIR_PAUSED))
        read_bytes(&r, ID_BYTES);
    if (flags & PAIR_READS)
        read_pair_counts(&r, &pair);
    for (uint32_t n = read_varint32(&r); n && !r.bad; n--) {
        int64_t start = end + read_varint32(&r), length = read_varint32(&r);
        if (open)
            decoder_fail(&r); /* nothing comes behind an open end */
        open = !length;
        end = start + length;
        delivered += open ? -start : length;
    }
    sum->following = flags & PAIR_FOLLOWING;
    sum->unread = delivered - pair.reads_in;
    return !r.bad && open == sum->following;
}

struct bytes pair_encode(const struct pair *pair, struct arena *arena)
{
    size_t most = 1 + ID_BYTES + 6 * VARINT_MAX + (size_t)pair->n_spans * 10 + pair->skips.n;
    uint8_t *to = arena_alloc(arena, most);
    size_t n = 0;
    if (!to)
        return (struct bytes){NULL, 0};

    to[n++] = (uint8_t)(VERSION_1 | (pair->following ? PAIR_FOLLOWING : 0) |
                        (pair_has_reads(pair) ? PAIR_READS : 0) | (pair->paused ? PAIR_PAUSED : 0));
    if (pair->following || pair->paused) {
        put_id(to + n, pair->rank);
        n += ID_BYTES;
    }
    if (pair_has_reads(pair)) {
        n += put_varint(to + n, pair->settled);
        n += put_varint(to + n, pair->reads_in);
        n += put_varint(to + n, pair->dead_in);
        n += put_varint(to + n, pair->reads_out);
        n += put_varint(to + n, pair->dead_out);
    }
    n += put_varint(to + n, pair->n_spans);
    n += put_spans(to + n, pair->spans, pair->n_spans);
    if (pair_has_reads(pair) && pair->skips.n) {
        memcpy(to + n, pair->skips.p, pair->skips.n);
        n += pair->skips.n;
    }
    return (struct bytes){to, n};
}

bool pair_skips(const struct pair *pair, struct skips *skips)
{
    struct decoder r = decoder_of(pair->skips.p, pair->skips.n);
    skips->n = 0;
    if (!pair->skips.n)
        return true;
    size_t n = read_u8(&r);
    if (n > PAIR_SKIPS_MAX || !read_spans(&r, skips->at, n) || !read_end(&r))
        return false;
    skips->n = n;
    return true;
}

void pair_set_skips(struct pair *pair, const struct skips *skips, uint8_t to[SKIPS_BYTES_MAX])
{
    assert(skips->n <= PAIR_SKIPS_MAX);
    pair->skips = (struct bytes){to, 0};
    if (!skips->n)
        return;
    to[0] = (uint8_t)skips->n;
    pair->skips.n = 1 + put_spans(to + 1, skips->at, skips->n);
}

/* ---- 64 posts' read state ------------------------------------------------------------------- */

/* In the history: none of the read ones without either flag, all of them with READMAP_ALL. */
enum { READMAP_ALL = 1, READMAP_SOME = 2, READMAP_LATE = 4 };

/* In the last bits of a run's first number. */
enum { RUN_LONG = 1, RUN_DOWN = 2 };

/* Stamps of the bits set, as runs of equal ones: a bulk mark takes one run, however many posts. Each as what it is more
 * or less than the one before: what is read of an author is often read together. */
static size_t put_stamps(uint8_t *to, uint64_t bits, const uint64_t *stamps)
{
    size_t n = 0;
    uint64_t before = 0;
    while (bits) {
        uint64_t stamp = stamps[__builtin_ctzll(bits)];
        uint8_t run = 0;
        for (; bits && stamps[__builtin_ctzll(bits)] == stamp; bits &= bits - 1)
            run++;
        bool down = stamp < before;
        uint64_t gap = down ? before - stamp : stamp - before;
        n += put_varint(to + n,
                        gap_encode(gap) << 2 | (down ? RUN_DOWN : 0) | (run > 1 ? RUN_LONG : 0));
        if (run > 1)
            to[n++] = run;
        before = stamp;
    }
    return n;
}

static void read_stamps(struct decoder *r, uint64_t bits, uint64_t *stamps)
{
    uint64_t stamp = 0;
    while (bits && !r->bad) {
        uint64_t code = read_varint(r), gap = gap_decode(code >> 2);
        uint8_t run = code & RUN_LONG ? read_u8(r) : 1;
        stamp = code & RUN_DOWN ? stamp - gap : stamp + gap;
        if (!run || run > __builtin_popcountll(bits) || !is_stamp(stamp)) {
            decoder_fail(r);
            return;
        }
        for (; run; run--, bits &= bits - 1)
            stamps[__builtin_ctzll(bits)] = stamp;
    }
}

size_t readmap_encode(const struct readmap *map, uint8_t to[READMAP_RECORD_MAX])
{
    uint8_t flags = 0;
    if (map->history)
        flags = map->history == map->read ? READMAP_ALL : READMAP_SOME;
    if (map->late)
        flags |= READMAP_LATE;

    size_t n = 0;
    to[n++] = VERSION_1 | flags;
    put_u64(to + n, map->read);
    n += 8;
    if (flags & READMAP_SOME) {
        put_u64(to + n, map->history);
        n += 8;
    }
    if (flags & READMAP_LATE) {
        put_u64(to + n, map->late);
        n += 8;
    }
    n += put_stamps(to + n, map->read, map->read_stamp);
    n += put_stamps(to + n, map->late, map->late_stamp);
    return n;
}

bool readmap_decode(struct bytes from, struct readmap *map)
{
    struct decoder r = decoder_of(from.p, from.n);
    uint8_t flags = read_head(&r, READMAP_ALL | READMAP_SOME | READMAP_LATE);
    map->read = read_u64(&r);
    map->history = flags & READMAP_ALL ? map->read : 0;
    if (flags & READMAP_SOME)
        map->history = read_u64(&r);
    map->late = flags & READMAP_LATE ? read_u64(&r) : 0;
    if (!map->read || (map->history & ~map->read) || (map->late & ~map->history))
        return false;
    read_stamps(&r, map->read, map->read_stamp);
    read_stamps(&r, map->late, map->late_stamp);
    return read_end(&r);
}

bool readmap_decode_bits(struct bytes from, uint64_t *read)
{
    struct decoder r = decoder_of(from.p, from.n);
    read_head(&r, READMAP_ALL | READMAP_SOME | READMAP_LATE);
    *read = read_u64(&r);
    return !r.bad;
}

/* ---- A block of the reading history --------------------------------------------------------- */

/* In the last bits of an entry's first number. Of one operation's entries, only the first needs a stamp. */
enum { HISTORY_STAMP = 1, HISTORY_DOWN = 2 };

static size_t put_entry(uint8_t *to, struct history_entry before, struct history_entry entry)
{
    if (entry.stamp == before.stamp)
        return put_varint(to, gap_encode(entry.post - before.post) << 1);
    bool down = entry.post < before.post;
    uint64_t gap = down ? before.post - entry.post : entry.post - before.post;
    size_t n = put_varint(to, gap_encode(gap) << 2 | (down ? HISTORY_DOWN : 0) | HISTORY_STAMP);
    return n + put_varint(to + n, gap_encode(entry.stamp - before.stamp));
}

static struct history_entry read_entry(struct decoder *r, struct history_entry before)
{
    uint64_t code = read_varint(r);
    struct history_entry entry = before;
    if (code & HISTORY_STAMP) {
        uint64_t gap = gap_decode(code >> 2);
        entry.post = code & HISTORY_DOWN ? before.post - gap : before.post + gap;
        entry.stamp += gap_decode(read_varint(r));
    } else {
        entry.post += gap_decode(code >> 1);
    }
    bool ascends = code & HISTORY_STAMP ? entry.stamp > before.stamp : entry.post > before.post;
    if (!ascends || !is_stamp(entry.stamp) || !is_stamp(entry.post))
        decoder_fail(r);
    return entry;
}

size_t history_append(uint8_t to[HISTORY_RECORD_MAX], size_t *bytes, struct history_entry last,
                      const struct history_entry *entries, size_t n)
{
    size_t taken = 0;
    for (; taken < n && *bytes < HISTORY_FULL; taken++) {
        *bytes += put_entry(to + *bytes, last, entries[taken]);
        last = entries[taken];
    }
    to[1] = (uint8_t)(to[1] + taken);
    return taken;
}

size_t history_encode(const struct history_entry *entries, size_t n, uint8_t to[HISTORY_RECORD_MAX],
                      size_t *bytes)
{
    assert(n);
    to[0] = VERSION_1;
    to[1] = 1;
    *bytes = 2;
    return 1 + history_append(to, bytes, entries[0], entries + 1, n - 1);
}

bool history_decode(struct bytes from, struct history_entry oldest, struct history_block *block)
{
    struct decoder r = decoder_of(from.p, from.n);
    read_head(&r, 0);
    block->n = read_u8(&r);
    block->at[0] = oldest;
    if (!block->n || block->n > HISTORY_ENTRIES_MAX || !is_stamp(oldest.stamp) ||
        !is_stamp(oldest.post))
        return false;
    for (size_t i = 1; i < block->n && !r.bad; i++)
        block->at[i] = read_entry(&r, block->at[i - 1]);
    return read_end(&r);
}

/* ---- A post --------------------------------------------------------------------------------- */

enum { POST_DELETED = 1, POST_EXTRA = 2 };

struct bytes post_encode(const struct post_record *post, struct arena *arena)
{
    size_t texts = post->title.n + post->excerpt.n + post->extra.n;
    size_t most = 2 + ID_BYTES + 6 * VARINT_MAX + texts;
    uint8_t *to = arena_alloc(arena, most);
    size_t n = 0;
    if (!to)
        return (struct bytes){NULL, 0};
    to[n++] = (uint8_t)(VERSION_1 | (post->deleted ? POST_DELETED : 0) |
                        (post->extra.n ? POST_EXTRA : 0));
    to[n++] = (uint8_t)post->kind;
    put_id(to + n, post->author);
    n += ID_BYTES;
    n += put_varint(to + n, post->seq);
    n += put_varint(to + n, post->edited);
    n += put_varint(to + n, post->removed);
    n += put_block(to + n, post->title);
    n += put_block(to + n, post->excerpt);
    if (post->extra.n)
        n += put_block(to + n, post->extra);
    return (struct bytes){to, n};
}

bool post_decode(struct bytes from, struct post_record *post)
{
    struct decoder r = decoder_of(from.p, from.n);
    uint8_t flags = read_head(&r, POST_DELETED | POST_EXTRA);
    post->deleted = flags & POST_DELETED;
    uint8_t kind = read_u8(&r);
    post->kind = (enum tidings_post_kind)kind;
    post->author = read_id(&r);
    post->seq = read_varint32(&r);
    post->edited = read_varint(&r);
    post->removed = read_varint(&r);
    post->title = read_block(&r);
    post->excerpt = read_block(&r);
    post->extra = read_extra(&r, flags & POST_EXTRA);
    bool stamps = post->edited <= TIDINGS_ID_MAX && post->removed <= TIDINGS_ID_MAX;
    return stamps && read_end(&r) && kind >= TIDINGS_NOTE && kind <= TIDINGS_STORY &&
           is_stamp(post->author) && post->deleted == (post->removed != 0);
}

/* ---- What happened once --------------------------------------------------------------------- */

struct bytes once_encode(const struct once_record *once, struct arena *arena)
{
    uint8_t *to = arena_alloc(arena, 1 + ID_BYTES + ONCE_BYTES + once->answer.n);
    size_t n = 0;
    if (!to)
        return (struct bytes){NULL, 0};
    to[n++] = VERSION_1;
    put_id(to + n, once->stamp);
    n += ID_BYTES;
    memcpy(to + n, once->fingerprint, ONCE_BYTES);
    n += ONCE_BYTES;
    if (once->answer.n)
        memcpy(to + n, once->answer.p, once->answer.n);
    return (struct bytes){to, n + once->answer.n};
}

bool once_decode(struct bytes from, struct once_record *once)
{
    struct decoder r = decoder_of(from.p, from.n);
    read_head(&r, 0);
    once->stamp = read_id(&r);
    once->fingerprint = read_bytes(&r, ONCE_BYTES);
    once->answer = (struct bytes){r.at, decoder_left(&r)};
    return !r.bad && is_stamp(once->stamp);
}

/* ---- An event ------------------------------------------------------------------------------- */

static uint64_t zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static int64_t unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

enum { EVENT_POST = 1, EVENT_REACTION = 2 };

size_t event_encode(const struct tidings_event *event, uint8_t to[EVENT_RECORD_MAX])
{
    size_t n = 0;
    to[n++] = (uint8_t)(VERSION_1 | (event->post_id ? EVENT_POST : 0) |
                        (event->reaction ? EVENT_REACTION : 0));
    to[n++] = (uint8_t)event->type;
    n += put_varint(to + n, event->actor_user_id);
    n += put_varint(to + n, event->target_id);
    n += put_varint(to + n, event->author_id);
    n += put_varint(to + n, zigzag(event->delta));
    if (event->post_id)
        n += put_varint(to + n, event->post_id);
    if (event->reaction)
        to[n++] = (uint8_t)event->reaction;
    return n;
}

bool event_decode_any(struct bytes from, struct tidings_event *event)
{
    struct decoder r = decoder_of(from.p, from.n);
    uint8_t flags = read_head(&r, EVENT_POST | EVENT_REACTION);
    event->type = (enum tidings_event_type)read_u8(&r);
    event->actor_user_id = read_varint(&r);
    event->target_id = read_varint(&r);
    event->author_id = read_varint(&r);
    event->delta = unzigzag(read_varint(&r));
    event->post_id = flags & EVENT_POST ? read_varint(&r) : 0;
    uint8_t reaction = flags & EVENT_REACTION ? read_u8(&r) : 0;
    event->reaction = (enum tidings_reaction)reaction;
    event->post_kind = 0;
    event->parent_id = 0;
    bool known = event->type >= 1 && event->type <= TIDINGS_EVENT_WEBHOOK_CHANGED;
    return read_end(&r) && known && !(flags & EVENT_POST) == !event->post_id &&
           !(flags & EVENT_REACTION) == !reaction && reaction <= TIDINGS_DOWNVOTE &&
           event->post_id <= TIDINGS_ID_MAX;
}

bool event_decode(struct bytes from, struct tidings_event *event)
{
    return event_decode_any(from, event) && (int)event->type <= EVENT_TYPES;
}
