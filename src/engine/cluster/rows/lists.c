/* SPDX-License-Identifier: MIT */
/* Lists, page by page, and events: questions that are asked in SQL. */
#include "domain/events.h"
#include "domain/ids.h"
#include "domain/name.h"
#include "engine/cluster/rows/desk.h"
#include "engine/ops/ops.h"

/* A list: where it is, by what it is ordered, and what stands there. b NULL: the place is one number. */
struct list_form {
    const char *table, *a, *b, *id;
    bool ascending;
};

static const struct list_form forms[] = {
    [LIST_FOLLOWERS] = {"follower", "rank_id", NULL, "from_user_id", false},
    [LIST_SUBSCRIBERS] = {"subscriber", "rank_id", NULL, "user_id", false},
    [LIST_REACTORS] = {"reaction", "stamp", NULL, "user_id", false},
    [LIST_REACTED] = {"reaction", "stamp", NULL, "target_id", false},
    [LIST_COMMENTS_HOT] = {"comment", "heat", "comment_id", "comment_id", false},
    [LIST_COMMENTS_NEW] = {"comment", "comment_id", NULL, "comment_id", false},
    [LIST_COMMENTS_OLD] = {"comment", "comment_id", NULL, "comment_id", true},
    [LIST_HOT] = {"content_stats", "heat", "post_id", "post_id", false},
    [LIST_HISTORY] = {"history", "stamp", "post_id", "post_id", false},
    [LIST_READING] = {"reading_position", "shown_at", "story_id", "story_id", false},
    [LIST_READING_CHANGES] = {"reading_position", "changed_version", "story_id", "story_id", true},
};

/* ---- Statements ----------------------------------------------------------------------------- */

static void put_condition(struct buf *text, const char *column, const char *relation,
                          uint64_t value)
{
    buf_printf(text, " AND %s %s %llu", column, relation, (unsigned long long)value);
}

/* Which rows are the list's. */
static void put_scope(struct buf *text, const struct list *list)
{
    static const char *const of[] = {
        [LIST_FOLLOWERS] = "to_user_id",    [LIST_SUBSCRIBERS] = "story_id",
        [LIST_REACTORS] = "target_id",      [LIST_REACTED] = "user_id",
        [LIST_COMMENTS_HOT] = "list_id",    [LIST_COMMENTS_NEW] = "list_id",
        [LIST_COMMENTS_OLD] = "list_id",    [LIST_HOT] = "kind",
        [LIST_HISTORY] = "user_id",         [LIST_READING] = "user_id",
        [LIST_READING_CHANGES] = "user_id",
    };
    buf_printf(text, "%s = %llu", of[list->kind], (unsigned long long)list->of);
    if (list->kind == LIST_REACTED)
        put_condition(text, "target_kind", "=", list->target);
    if (list->kind == LIST_REACTED || list->kind == LIST_REACTORS)
        put_condition(text, "reaction", "=", list->reaction);
    if (list->kind == LIST_HISTORY)
        put_condition(text, "stamp", ">", list->beyond);
    if (list->kind == LIST_READING || list->kind == LIST_READING_CHANGES)
        put_condition(text, forms[list->kind].a, ">", 0);
}

static void put_place(struct buf *text, const struct list_form *form, struct tidings_cursor after)
{
    const char *relation = form->ascending ? ">" : "<";
    if (!after.a && !after.b)
        return;
    if (!form->b) {
        put_condition(text, form->a, relation, after.a);
        return;
    }
    buf_printf(text, " AND (%s %s %llu OR %s = %llu AND %s %s %llu)", form->a, relation,
               (unsigned long long)after.a, form->a, (unsigned long long)after.a, form->b, relation,
               (unsigned long long)after.b);
}

static void put_list(struct buf *text, const struct question *question)
{
    const struct list_form *form = &forms[question->list.kind];
    const char *order = form->ascending ? "" : " DESC";
    buf_printf(text, "SELECT %s, %s, %s FROM %s WHERE ", form->a, form->b ? form->b : "0", form->id,
               form->table);
    put_scope(text, &question->list);
    put_place(text, form, question->after);
    buf_printf(text, " ORDER BY %s%s", form->a, order);
    if (form->b)
        buf_printf(text, ", %s%s", form->b, order);
    buf_printf(text, " LIMIT %zu", question->most);
}

/* Two ranges of the index on the name and the user: those of the same name behind the place, and the names behind that one. */
static void put_names(struct buf *text, const struct question *question)
{
    uint8_t end[NAME_FOLDED_MAX];
    struct bytes prefix = question->prefix;
    memcpy(end, prefix.p, prefix.n);
    end[prefix.n - 1]++; /* no byte of UTF-8 is the greatest there is */
    buf_literal(text, "SELECT 0, 0, user_id FROM profile_name WHERE ");
    if (question->behind.user) {
        buf_literal(text, "folded = ");
        sql_put_bytes(text, question->behind.folded);
        put_condition(text, "user_id", ">", question->behind.user);
        buf_literal(text, " OR folded > ");
        sql_put_bytes(text, question->behind.folded);
    } else {
        buf_literal(text, "folded >= ");
        sql_put_bytes(text, prefix);
    }
    buf_literal(text, " AND folded < ");
    sql_put_bytes(text, (struct bytes){end, prefix.n});
    buf_printf(text, " ORDER BY folded, user_id LIMIT %zu", question->most);
}

static void put_events(struct buf *text, const struct question *question)
{
    bool counts = question->what == ASKS_OLD_EVENTS;
    buf_printf(text, "SELECT %s FROM %s WHERE position > %llu",
               counts ? "event_type, COUNT(*)"
                      : "position, event_type, happened_at, actor_id, target_id, author_id, delta, "
                        "post_id, reaction",
               question->what == ASKS_DEAD ? "dead_letter" : "outbox_event",
               (unsigned long long)question->after.a);
    if (question->what == ASKS_NEWS) {
        put_condition(text, "slot", "<>", question->up_to);
        put_condition(text, "position", "<=", question->after.b);
    } else if (question->what == ASKS_DEAD) {
        put_condition(text, "again", "=", 1);
    } else { /* what cannot be read is nobody's, and holds nobody up */
        put_condition(text, "happened_at", counts ? "<" : ">=", question->after.b);
        put_condition(text, "event_type", "<=", EVENT_TYPES);
        put_condition(text, "event_type", ">", 0);
        put_condition(text, "reaction", "<=", TIDINGS_DOWNVOTE);
    }
    if (counts) {
        put_condition(text, "position", "<=", question->up_to);
        buf_literal(text, " GROUP BY event_type");
    } else {
        buf_printf(text, " ORDER BY position LIMIT %zu", question->most);
    }
}

void question_put(struct desk *desk, const struct question *question)
{
    static void (*const put[])(struct buf * text, const struct question *question) = {
        [ASKS_LIST] = put_list,         [ASKS_NAMES] = put_names, [ASKS_EVENTS] = put_events,
        [ASKS_OLD_EVENTS] = put_events, [ASKS_NEWS] = put_events, [ASKS_DEAD] = put_events,
    };
    put[question->what](&desk->text, question);
}

/* ---- Answers -------------------------------------------------------------------------------- */

static void take_place(struct sql *sql, struct question *question)
{
    question->places[question->n++] =
        (struct place){{sql_u64(sql, 0), sql_u64(sql, 1)}, sql_u64(sql, 2)};
}

static void take_event(struct sql *sql, struct question *question)
{
    question->events[question->n++] = (struct tidings_event){
        .event_id = sql_u64(sql, 0),
        .type = (enum tidings_event_type)sql_u64(sql, 1),
        .happened_at = (int64_t)sql_u64(sql, 2),
        .actor_user_id = sql_u64(sql, 3),
        .target_id = sql_u64(sql, 4),
        .author_id = sql_u64(sql, 5),
        .delta = (int64_t)sql_u64(sql, 6),
        .post_id = sql_u64(sql, 7),
        .reaction = (enum tidings_reaction)sql_u64(sql, 8),
    };
}

/* Whether a webhook wants an event follows from its type. */
static void take_count(struct sql *sql, struct question *question)
{
    struct tidings_event event = {.type = (enum tidings_event_type)sql_u64(sql, 0), .post_id = 1};
    if (tidings_webhook_wants(question->wanted, &event))
        question->n += sql_u64(sql, 1);
}

void question_take(struct desk *desk, struct question *question)
{
    static void (*const take[])(struct sql * sql, struct question * question) = {
        [ASKS_LIST] = take_place,       [ASKS_NAMES] = take_place, [ASKS_EVENTS] = take_event,
        [ASKS_OLD_EVENTS] = take_count, [ASKS_NEWS] = take_event,  [ASKS_DEAD] = take_event,
    };
    bool counts = question->what == ASKS_OLD_EVENTS;
    while (sql_row(desk->sql))
        if (counts || question->n < question->most)
            take[question->what](desk->sql, question);
    question->answered = true;
}

/* ---- Asking --------------------------------------------------------------------------------- */

static bool same(const struct question *a, const struct question *b)
{
    return a->call == b->call && a->what == b->what && a->after.a == b->after.a &&
           a->after.b == b->after.b && a->up_to == b->up_to && a->wanted == b->wanted &&
           a->most == b->most && a->list.kind == b->list.kind && a->list.of == b->list.of &&
           a->list.reaction == b->list.reaction && a->list.target == b->list.target &&
           a->list.beyond == b->list.beyond && bytes_same(a->prefix, b->prefix) &&
           a->behind.user == b->behind.user && bytes_same(a->behind.folded, b->behind.folded);
}

/* A question outlives the operation that asks. */
static struct bytes keep(struct view *view, struct bytes bytes)
{
    return bytes_of(view_text(view, &desk_view(view)->desk->sheet.arena, bytes));
}

/* The question, with its answer; NULL if that is not at hand: then it is asked. */
static const struct question *ask(struct view *view, struct question wanted)
{
    struct desk_view *own = desk_view(view);
    struct desk *desk = own->desk;
    wanted.call = own->call;
    for (struct question *question = desk->questions; question; question = question->next)
        if (same(question, &wanted))
            return question->answered ? question : NULL;
    if (view_failed(view)) /* nothing more will come of it */
        return NULL;
    own->incomplete = true;
    struct question *asked = view_array(view, &desk->sheet.arena, 1, sizeof *asked);
    if (!asked)
        return NULL;
    *asked = wanted;
    asked->prefix = keep(view, wanted.prefix);
    asked->behind.folded = keep(view, wanted.behind.folded);
    if (wanted.what == ASKS_LIST || wanted.what == ASKS_NAMES)
        asked->places = view_array(view, &desk->sheet.arena, wanted.most, sizeof *asked->places);
    if (wanted.what == ASKS_EVENTS)
        asked->events = view_array(view, &desk->sheet.arena, wanted.most, sizeof *asked->events);
    if (view_failed(view))
        return NULL;
    asked->next = desk->questions;
    desk->questions = asked;
    return NULL;
}

size_t cluster_get_list(struct view *view, const struct list *list, struct tidings_cursor after,
                        size_t most, struct place *places)
{
    if (!list->of)
        return 0;
    const struct question *answer = ask(
        view, (struct question){.what = ASKS_LIST, .list = *list, .after = after, .most = most});
    for (size_t i = 0; answer && i < answer->n; i++)
        places[i] = answer->places[i];
    return answer ? answer->n : 0;
}

size_t cluster_find_names(struct view *view, struct bytes prefix, const struct name_place *after,
                          size_t most, uint64_t *users)
{
    struct question wanted = {.what = ASKS_NAMES, .prefix = prefix, .most = most};
    if (after->user)
        wanted.behind = *after;
    const struct question *answer = ask(view, wanted);
    for (size_t i = 0; answer && i < answer->n; i++)
        users[i] = answer->places[i].id;
    return answer ? answer->n : 0;
}

static uint64_t oldest_kept_ms(const struct view *view)
{
    return (uint64_t)id_time_ms(event_oldest_kept(view));
}

size_t cluster_get_events(struct view *view, uint64_t after, size_t most,
                          struct tidings_event *events)
{
    const struct question *answer =
        ask(view, (struct question){
                      .what = ASKS_EVENTS, .after = {after, oldest_kept_ms(view)}, .most = most});
    for (size_t i = 0; answer && i < answer->n; i++)
        events[i] = answer->events[i];
    return answer ? answer->n : 0;
}

uint64_t cluster_count_old_events(struct view *view, uint64_t after, uint64_t up_to,
                                  uint64_t wanted)
{
    const struct question *answer =
        ask(view, (struct question){.what = ASKS_OLD_EVENTS,
                                    .after = {after, oldest_kept_ms(view)},
                                    .up_to = up_to,
                                    .wanted = wanted});
    return answer ? answer->n : 0;
}
