/* SPDX-License-Identifier: MIT */
/* What a row is called when it moves to another engine (engine/move/move.h), by its key. */
#include "engine/local/rows/moved.h"

#include "engine/local/rows/rows.h"

/* A table's rows of one letter, and what their keys have behind the first id. Those that follow from others are missing. */
static const struct form {
    enum table table;
    uint8_t row; /* the letter behind the first id; 0: there is none */
    enum moved_kind kind;
    enum more { ALONE, WITH_ID, WITH_ID_BACKWARDS, WITH_CHUNK, WITH_ID_CHUNK, WITH_KEY } more;
    bool follows; /* in a walk through all rows another one has the same name */
} forms[] = {
    {TABLE_USER, ROW_INBOX, MOVED_PAIR, WITH_ID, false},
    {TABLE_USER, ROW_OUTSIDE, MOVED_PAIR, WITH_ID, false},
    {TABLE_USER, ROW_READMAP, MOVED_READ_MAP, WITH_ID_CHUNK, false},
    {TABLE_USER, ROW_USER, MOVED_USER, ALONE, false},
    {TABLE_USER, ROW_VOTE, MOVED_REACTION, WITH_ID_BACKWARDS, false},
    {TABLE_USER, ROW_NOTIFICATION_MAP, MOVED_SCENE_READ_MAP, WITH_ID_CHUNK, false},
    {TABLE_USER, ROW_NOTIFICATIONS, MOVED_SUBSCRIPTION, WITH_ID, false},
    {TABLE_USER, ROW_POSITION, MOVED_POSITION, WITH_ID, false},
    {TABLE_USER, ROW_SHELF, MOVED_USER, ALONE, false},
    {TABLE_PROFILE, 0, MOVED_PROFILE, ALONE, false},
    {TABLE_AUTHOR, ROW_POSTS, MOVED_AUTHOR, WITH_CHUNK, false},
    {TABLE_AUTHOR, ROW_DELETED, MOVED_POST_DELETIONS, WITH_CHUNK, false},
    {TABLE_POST, 0, MOVED_POST, ALONE, false},
    {TABLE_BODY, 0, MOVED_BODY, ALONE, false},
    {TABLE_EVENT, 0, MOVED_EVENT, ALONE, false},
    {TABLE_ONCE, 0, MOVED_ONCE, WITH_KEY, false},
    {TABLE_TARGET, ROW_BODY, MOVED_COMMENT_BODY, ALONE, false},
    {TABLE_TARGET, ROW_COMMENT, MOVED_COMMENT, ALONE, false},
    {TABLE_TARGET, ROW_COUNTS, MOVED_POST, ALONE, true},
    {TABLE_STORY, ROW_POSTS, MOVED_STORY, WITH_CHUNK, false},
    {TABLE_STORY, ROW_DELETED, MOVED_SCENE_DELETIONS, WITH_CHUNK, false},
    {TABLE_SCENE, 0, MOVED_SCENE, ALONE, false},
    {TABLE_SCENE, ROW_MESSAGES, MOVED_MESSAGES, ALONE, false},
    {TABLE_SCENE, ROW_GIVEN, MOVED_GIVEN, WITH_ID, false},
    {TABLE_UNSWEPT, 0, MOVED_STORY, ALONE, false},
    {TABLE_KEY, 0, MOVED_POST_KEY, ALONE, false},
};
enum { FORMS = sizeof forms / sizeof *forms };

static size_t key_length(const struct form *form)
{
    static const size_t more[] = {
        [ALONE] = 0,      [WITH_ID] = ID_BYTES, [WITH_ID_BACKWARDS] = ID_BYTES,
        [WITH_CHUNK] = 4, [WITH_KEY] = 16,      [WITH_ID_CHUNK] = ID_BYTES + 4,
    };
    return ID_BYTES + (form->row ? 1 : 0) + more[form->more];
}

/* Other rows stand in the table of posts' keys, too: each begins with a letter, which no id does. */
static bool is_of(const struct form *form, enum table table, struct bytes key)
{
    return form->table == table && key.n == key_length(form) &&
           (!form->row || key.p[ID_BYTES] == form->row) &&
           (table != TABLE_KEY || key.p[0] < KEY_COMMENT);
}

static void take_numbers(const struct form *form, struct bytes key, struct moved *moved)
{
    const uint8_t *rest = key.p + ID_BYTES + (form->row ? 1 : 0);
    struct decoder r = decoder_of(rest, key.n - (size_t)(rest - key.p));
    moved->a = get_id(key.p);
    switch (form->more) {
    case ALONE:
        break;
    case WITH_ID:
        moved->b = get_id(rest);
        break;
    case WITH_ID_BACKWARDS:
        moved->b = get_id_descending(rest);
        break;
    case WITH_CHUNK:
        moved->b = (uint64_t)get_u32(rest) * READMAP_POSTS;
        moved->c = READMAP_POSTS;
        break;
    case WITH_ID_CHUNK:
        moved->b = get_id(rest);
        moved->c = get_u32(rest + ID_BYTES);
        break;
    case WITH_KEY:
        moved->b = read_u64(&r);
        moved->c = read_u64(&r);
        break;
    }
}

bool moved_name(enum table table, struct bytes key, struct bytes value, bool walking,
                struct moved *moved)
{
    static const char rules[] = "rules";
    *moved = (struct moved){.kind = MOVED_WEBHOOKS, .bytes = (uint32_t)value.n};
    if (table == TABLE_WEBHOOK)
        return true;
    if (table == TABLE_META &&
        bytes_same(key, (struct bytes){(const uint8_t *)rules, sizeof rules - 1})) {
        moved->kind = MOVED_RULES;
        return true;
    }
    const struct form *form = forms;
    while (form < forms + FORMS && !is_of(form, table, key))
        form++;
    if (form == forms + FORMS || (walking && form->follows))
        return false;
    moved->kind = form->kind;
    take_numbers(form, key, moved);
    if (moved->kind == MOVED_AUTHOR || moved->kind == MOVED_STORY)
        moved->b = moved->c = 0;
    if (moved->kind == MOVED_GIVEN)
        moved->c = value.n == 4 ? get_u32(value.p) : 0;
    return true;
}

bool moved_has(enum table table)
{
    const struct form *form = forms;
    while (form < forms + FORMS && (form->table != table || form->follows))
        form++;
    return form < forms + FORMS || table == TABLE_WEBHOOK;
}
