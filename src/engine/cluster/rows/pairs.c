/* SPDX-License-Identifier: MIT */
/* Pairs, with the lists of an author's followers, and read maps. */
#include "engine/inbox/tie.h"

#include "engine/cluster/rows/desk.h"

static const struct {
    enum kind pair, follower, map;
} realms[] = {
    [REALM_POSTS] = {KIND_FOLLOWING, KIND_FOLLOWER, KIND_READ_MAP},
    [REALM_SCENES] = {KIND_SUBSCRIPTION, KIND_SUBSCRIBER, KIND_SCENE_READ_MAP},
};

/* ---- Pairs ---------------------------------------------------------------------------------- */

bool cluster_get_pair(struct view *view, struct tie *tie)
{
    const struct value *row = desk_get(view, realms[tie->realm].pair, tie->fan, tie->author, 0);
    if (!row || !row->exists)
        return false;
    tie->stored = row->numbers[PAIR_STATUS] == PAIR_OUTSIDE ? TIE_OUTSIDE : TIE_INSIDE;
    tie_unpack(view, row->texts[0], tie);
    return true;
}

static void list_follower(struct view *view, struct tie *tie)
{
    uint64_t rank = tie_rank(tie);
    enum kind followers = realms[tie->realm].follower;
    if (rank == tie->listed)
        return;
    if (tie->listed)
        desk_put(view, followers, tie->author, tie->listed, tie->fan, NULL);
    if (rank)
        desk_put(view, followers, tie->author, rank, tie->fan, &(struct value){.exists = true});
    tie->listed = rank;
}

void cluster_pair_columns(const struct tie *tie, uint64_t numbers[ROW_NUMBERS])
{
    numbers[PAIR_STATUS] = tie_belongs(tie) == TIE_OUTSIDE ? PAIR_OUTSIDE : PAIR_INSIDE;
    if (pair_stands(&tie->pair))
        numbers[PAIR_STATUS] = tie->pair.following ? PAIR_FOLLOWING : PAIR_PAUSED;
    numbers[PAIR_RANK] = tie_rank(tie);
}

void cluster_put_pair(struct view *view, struct tie *tie)
{
    enum tie_place place = tie_belongs(tie);
    struct value row = {.exists = true, .texts = {tie_pack(view, tie)}};
    if (!row.texts[0].p)
        return;
    cluster_pair_columns(tie, row.numbers);
    desk_put(view, realms[tie->realm].pair, tie->fan, tie->author, 0,
             place == TIE_NOWHERE ? NULL : &row);
    tie->stored = place;
    list_follower(view, tie);
}

static bool is_of(const struct row *row, enum kind kind, uint64_t fan)
{
    return row && row->kind == kind && row->key[0] == fan;
}

static bool is_inside(const struct row *row)
{
    return !row->is_range && row->value && row->value->exists &&
           row->value->numbers[PAIR_STATUS] != PAIR_OUTSIDE;
}

/* Out of the sheet; false if they are not at hand. */
static bool get_loaded(struct view *view, enum realm realm, uint64_t fan, struct tie_stored **out,
                       size_t *n)
{
    struct sheet *sheet = &desk_view(view)->desk->sheet;
    enum kind kind = realms[realm].pair;
    const uint64_t key[ROW_KEYS] = {fan};
    size_t room = 0;
    if (!sheet_has_range(sheet, kind, key)) {
        desk_view(view)->incomplete = true;
        return false;
    }
    const struct row *first = sheet_from(sheet, kind, key);
    for (const struct row *row = first; is_of(row, kind, fan); row = sheet_next(row))
        room += is_inside(row);
    struct tie_stored *pairs = view_array(view, view->scratch, room, sizeof *pairs);
    for (const struct row *row = first; pairs && is_of(row, kind, fan); row = sheet_next(row))
        if (is_inside(row))
            pairs[(*n)++] =
                (struct tie_stored){.author = row->key[1], .value = row->value->texts[0]};
    *out = pairs;
    return pairs != NULL;
}

static void get_heads(struct view *view, enum realm realm, struct tie_stored *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pairs[i].head = cluster_get_head(view, realm, pairs[i].author);
}

/* Before the user's version is known: a copy will most likely do, and then its authors are needed. */
static void want_pairs(struct view *view, enum realm realm, uint64_t fan, bool heads)
{
    struct desk *desk = desk_view(view)->desk;
    struct tie_stored *pairs;
    size_t n;
    if (!copies_get(desk->copies, realm, fan, 0, view->scratch, &pairs, &n))
        sheet_has_range(&desk->sheet, realms[realm].pair, (const uint64_t[ROW_KEYS]){fan});
    else if (heads)
        get_heads(view, realm, pairs, n);
}

/* Of the user's version, which is not 0. */
static bool get_copied(struct view *view, enum realm realm, uint64_t fan, uint64_t version,
                       struct tie_stored **out, size_t *n)
{
    struct copies *copies = desk_view(view)->desk->copies;
    if (copies_get(copies, realm, fan, version, view->scratch, out, n))
        return true;
    if (!get_loaded(view, realm, fan, out, n))
        return false;
    copies_put(copies, realm, fan, version, *out, *n);
    return true;
}

/* A lane has locked its user, and changes what it reads: copies are for those who answer. */
size_t cluster_get_pairs(struct view *view, enum realm realm, uint64_t fan, bool heads,
                         struct tie_stored **out)
{
    bool reads = desk_view(view)->desk->reads, here;
    const struct value *user = reads ? desk_get(view, KIND_USER, fan, 0, 0) : NULL;
    size_t n = 0;
    *out = NULL;
    if (reads && !user) {
        want_pairs(view, realm, fan, heads);
        return 0;
    }
    if (user && user->numbers[USER_VERSION])
        here = get_copied(view, realm, fan, user->numbers[USER_VERSION], out, &n);
    else
        here = get_loaded(view, realm, fan, out, &n);
    if (here && heads)
        get_heads(view, realm, *out, n);
    return n;
}

/* ---- Counting from memory ------------------------------------------------------------------- */

/* With the author's head: of the row that is remembered, if it is. */
static void find_head(struct view *view, struct tie_stored *pair)
{
    struct desk *desk = desk_view(view)->desk;
    const uint64_t key[ROW_KEYS] = {pair->author};
    struct value row;
    if (!sheet_peek(&desk->sheet, KIND_AUTHOR, key) &&
        current_get(desk->current, pair->author, desk->recalls_at, &row))
        sheet_loaded(&desk->sheet, KIND_AUTHOR, key, &row);
    pair->head = cluster_get_head(view, REALM_POSTS, pair->author);
}

/* Most authors have deleted nothing: then their number of posts is all it takes. */
bool cluster_sum_unread(struct view *view, uint64_t fan, struct unread_sum *sum)
{
    struct desk *desk = desk_view(view)->desk;
    const struct value *user = desk->recalls_at ? desk_get(view, KIND_USER, fan, 0, 0) : NULL;
    struct tie_stored *pairs;
    size_t n;
    if (!user || !user->numbers[USER_VERSION] ||
        !copies_get(desk->copies, REALM_POSTS, fan, user->numbers[USER_VERSION], view->scratch,
                    &pairs, &n))
        return false;
    uint32_t *posts = view_array(view, view->scratch, n, sizeof *posts);
    if (!posts)
        return false;
    current_posts(desk->current, desk->recalls_at, pairs, n, posts);
    *sum = (struct unread_sum){.rest = pairs};
    for (size_t i = 0; i < n; i++) {
        struct pair_sum own;
        bool known = posts[i] != CURRENT_UNKNOWN && pair_sum(pairs[i].value, &own);
        int64_t unread = known ? pair_sum_unread(own, posts[i]) : -1;
        if (unread >= 0)
            sum->unread += (uint64_t)unread;
        else
            pairs[sum->n_rest++] = pairs[i];
    }
    for (size_t i = 0; i < sum->n_rest; i++)
        find_head(view, &pairs[i]);
    return true;
}

/* ---- What a batch has changed --------------------------------------------------------------- */

static void put_copies(struct desk *desk, enum realm realm, const struct row *user)
{
    enum kind kind = realms[realm].pair;
    const struct row *first = sheet_from(&desk->sheet, kind, user->key);
    size_t room = 0, n = 0;
    for (const struct row *row = first; is_of(row, kind, user->key[0]); row = sheet_next(row))
        room += row->is_changed && row->value;
    struct copies_change *changes = arena_array(&desk->scratch, room + 1, sizeof *changes);
    if (!changes)
        return; /* the copy is of another version from now on */
    for (const struct row *row = first; is_of(row, kind, user->key[0]); row = sheet_next(row))
        if (row->is_changed && row->value)
            changes[n++] = (struct copies_change){
                row->key[1], is_inside(row) ? row->value->texts[0] : (struct bytes){NULL, 0}};
    copies_change(desk->copies, realm, user->key[0], user->loaded->numbers[USER_VERSION],
                  user->value->numbers[USER_VERSION], changes, n);
}

void desk_put_copies(struct desk *desk)
{
    for (const struct row *row = desk->sheet.changed; row; row = row->next_changed) {
        if (row->kind != KIND_USER || !row->loaded || !row->value)
            continue;
        put_copies(desk, REALM_POSTS, row);
        put_copies(desk, REALM_SCENES, row);
        arena_clear(&desk->scratch);
    }
}

/* ---- Read maps ------------------------------------------------------------------------------ */

bool cluster_get_readmap(struct view *view, const struct tie *tie, uint32_t chunk,
                         struct readmap *map)
{
    const struct value *row = desk_get(view, realms[tie->realm].map, tie->fan, tie->author, chunk);
    if (!row || !row->exists)
        return false;
    if (!readmap_decode(row->texts[0], map))
        view_corrupt(view);
    return true;
}

/* All maps of the tie: whoever looks at one looks at its neighbours next. */
static bool has_maps(struct view *view, const struct tie *tie)
{
    const uint64_t key[ROW_KEYS] = {tie->fan, tie->author};
    struct desk_view *own = desk_view(view);
    bool here = sheet_has_range(&own->desk->sheet, realms[tie->realm].map, key);
    own->incomplete |= !here;
    return here;
}

/* What they are called in memory; false: by no name. A lane changes what it reads. */
static bool name_bits(struct view *view, const struct tie *tie, uint32_t chunk,
                      struct bits_name *name)
{
    struct desk *desk = desk_view(view)->desk;
    const uint64_t key[ROW_KEYS] = {tie->fan};
    const struct value *user = sheet_peek(&desk->sheet, KIND_USER, key);
    if (!desk->reads || tie->realm != REALM_POSTS || !user || !user->numbers[USER_VERSION])
        return false;
    *name = (struct bits_name){tie->fan, user->numbers[USER_VERSION], tie->author, chunk};
    return true;
}

uint64_t cluster_get_read_bits(struct view *view, const struct tie *tie, uint32_t chunk)
{
    struct desk *desk = desk_view(view)->desk;
    struct bits_name name;
    uint64_t bits = 0;
    bool named = name_bits(view, tie, chunk, &name);
    if (named && desk->recalls_at && bits_get(desk->bits, name, &bits))
        return bits;
    const struct value *row =
        has_maps(view, tie) ? desk_get(view, realms[tie->realm].map, tie->fan, tie->author, chunk)
                            : NULL;
    if (row && row->exists && !readmap_decode_bits(row->texts[0], &bits))
        view_corrupt(view);
    if (row && named && !view_failed(view))
        bits_put(desk->bits, name, bits);
    return bits;
}

void cluster_put_readmap(struct view *view, const struct tie *tie, uint32_t chunk,
                         const struct readmap *map)
{
    uint8_t bytes[READMAP_RECORD_MAX];
    struct value row = {.exists = true, .texts = {{bytes, readmap_encode(map, bytes)}}};
    desk_put(view, realms[tie->realm].map, tie->fan, tie->author, chunk, map->read ? &row : NULL);
}

bool cluster_last_read_bits(struct view *view, const struct tie *tie, uint32_t *chunk,
                            uint64_t *bits)
{
    const uint64_t key[ROW_KEYS] = {tie->fan, tie->author};
    enum kind kind = realms[tie->realm].map;
    const struct row *last = NULL;
    if (!has_maps(view, tie))
        return false;
    const struct row *row = sheet_from(&desk_view(view)->desk->sheet, kind, key);
    for (; is_of(row, kind, tie->fan) && row->key[1] == tie->author && row->key[2] < *chunk;
         row = sheet_next(row))
        if (!row->is_range && row->value && row->value->exists)
            last = row;
    if (!last)
        return false;
    if (!readmap_decode_bits(last->value->texts[0], bits)) {
        view_corrupt(view);
        return false;
    }
    *chunk = (uint32_t)last->key[2];
    return true;
}
