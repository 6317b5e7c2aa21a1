/* SPDX-License-Identifier: MIT */
/*
 * All facts of one moment (engine/facts), held against the tables. Where they are filled, the place is set to that moment first,
 * whatever it was; where they are compared, events up to that moment are applied first. So both are of the same position when
 * rows are looked at, and nothing is applied meanwhile.
 *
 * Facts say who did what. The counts follow from them: recounted at the end, from the rows that are right by then.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "consume/tables_internal.h"
#include "engine/facts/fact.h"

enum { FACT_ARENA_MAX = 2 * FACT_LINE_MAX, ACTIVITIES_MAX = 1 << 27 };

struct tables_walk {
    struct tables *tables;
    struct consumer *consumer;
    bool fills;
    bool begun, posts_done, comments_done, ended;
    struct tidings_settings settings;
    char rules[TABLES_RULES_MAX + 1];
    uint64_t era;
    uint64_t last_event;
    struct arena arena;
    struct tables_merge merges[FORM_COUNT];
    uint64_t *activities; /* their ids, which ascend: what is no activity is a content */
    size_t n_activities, room;
};

static bool walk_add(struct tables_walk *walk, enum tables_form_id form, struct tables_row row)
{
    return tables_merge_add(walk->tables, &walk->merges[form], &row);
}

/* ---- Kinds of posts ------------------------------------------------------------------------------ */

static bool walk_note_activity(struct tables_walk *walk, uint64_t id)
{
    if (walk->n_activities == walk->room) {
        size_t room = walk->room ? 2 * walk->room : 1024;
        uint64_t *grown =
            room <= ACTIVITIES_MAX ? realloc(walk->activities, room * sizeof *grown) : NULL;
        if (!grown)
            return tables_fail(walk->tables, "there is no memory for the ids of activities");
        walk->activities = grown;
        walk->room = room;
    }
    walk->activities[walk->n_activities++] = id;
    return true;
}

static int compare_ids(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static int64_t walk_word_of(const struct tables_walk *walk, uint64_t post)
{
    bool activity = walk->n_activities &&
                    bsearch(&post, walk->activities, walk->n_activities, sizeof post, compare_ids);
    return activity ? WORD_ACTIVITY : WORD_CONTENT;
}

/* ---- Facts --------------------------------------------------------------------------------------- */

/* Filling: nobody has gone beyond that moment yet, or it is of another history. */
static bool walk_begin(struct tables_walk *walk, uint64_t newest)
{
    struct tables *tables = walk->tables;
    struct tables_place now = {.position = newest,
                               .era = walk->era,
                               .state = TABLES_FILLING,
                               .compared_s_ago = UINT64_MAX};
    walk->begun = true;
    if (!walk->fills) {
        if (tables->place.position > newest)
            return tables_fail(tables, "the tables are ahead of the server");
        if (!tables_advance(tables, walk->consumer, newest))
            return false;
        walk->last_event = tables->place.event_id;
        return true;
    }
    memcpy(now.rules, walk->rules, sizeof now.rules);
    return tables_move(tables, &now) &&
           tables_outbox_fill(tables, walk->consumer, newest, &walk->last_event);
}

static bool walk_post(struct tables_walk *walk, const struct fact *fact)
{
    bool activity = fact_has(fact, HAS(kind)) && fact->kind == TIDINGS_ACTIVITY;
    if (activity && !walk_note_activity(walk, fact->id))
        return false;
    return walk_add(walk, activity ? FORM_ACTIVITY_STATS : FORM_CONTENT_STATS,
                    (struct tables_row){{(int64_t)fact->id}});
}

static bool walk_comment(struct tables_walk *walk, const struct fact *fact)
{
    enum tidings_comment_status status = fact_has(fact, HAS(status))
                                             ? (enum tidings_comment_status)fact->status
                                             : TIDINGS_COMMENT_VISIBLE;
    struct tables_row row = {{(int64_t)fact->id, walk_word_of(walk, fact->post_id),
                              (int64_t)fact->post_id, (int64_t)fact->parent_id,
                              (int64_t)fact->user_id, (int64_t)tables_word_status(status),
                              (int64_t)fact->at}};
    return walk_add(walk, FORM_COMMENT, row) &&
           walk_add(walk, FORM_COMMENT_STATS, (struct tables_row){{(int64_t)fact->id}});
}

static bool walk_follow(struct tables_walk *walk, const struct fact *fact)
{
    struct tables_row row = {{(int64_t)fact->user_id, (int64_t)fact->author_id, (int64_t)fact->id,
                              1, (int64_t)fact->at}};
    if (!fact_has(fact, HAS(id)))
        return true; /* no more, or not yet */
    return walk_add(walk, FORM_FOLLOWING, row) && walk_add(walk, FORM_FOLLOWER, row);
}

static bool walk_reaction(struct tables_walk *walk, const struct fact *fact)
{
    bool on_comment = fact_has(fact, HAS(comment_id));
    uint64_t target = on_comment ? fact->comment_id : fact->post_id;
    struct tables_row row = {
        {(int64_t)fact->user_id, on_comment ? WORD_COMMENT : walk_word_of(walk, target),
         (int64_t)target, (int64_t)tables_word_reaction((enum tidings_reaction)fact->reaction),
         (int64_t)fact->at}};
    return walk_add(walk, FORM_REACTION, row);
}

static bool walk_flush(struct tables_walk *walk, enum tables_form_id form)
{
    return tables_merge_flush(walk->tables, &walk->merges[form], INT64_MAX);
}

/* Kinds of facts follow each other, so what comes before that one is complete. */
static bool walk_complete(struct tables_walk *walk, enum fact_type type)
{
    bool fine = true;
    if (type > FACT_POST && !walk->posts_done) {
        walk->posts_done = true;
        fine = walk_flush(walk, FORM_CONTENT_STATS) && walk_flush(walk, FORM_ACTIVITY_STATS);
    }
    if (fine && type > FACT_COMMENT && !walk->comments_done) {
        walk->comments_done = true;
        fine = walk_flush(walk, FORM_COMMENT) && walk_flush(walk, FORM_COMMENT_STATS);
    }
    if (fine && type == FACT_END) {
        walk->ended = true;
        fine = walk_flush(walk, FORM_FOLLOWING) && walk_flush(walk, FORM_FOLLOWER) &&
               walk_flush(walk, FORM_REACTION);
    }
    return fine;
}

static bool walk_fact(struct tables_walk *walk, const struct fact *fact)
{
    if (!walk_complete(walk, fact->type))
        return false;
    switch (fact->type) {
    case FACT_TIDINGS:
        return walk_begin(walk, fact_has(fact, HAS(newest)) ? fact->newest : 0);
    case FACT_POST:
        return walk_post(walk, fact);
    case FACT_COMMENT:
        return walk_comment(walk, fact);
    case FACT_FOLLOW:
        return walk_follow(walk, fact);
    case FACT_REACTION:
        return walk_reaction(walk, fact);
    default:
        return true;
    }
}

/* ---- Lines --------------------------------------------------------------------------------------- */

/* Reading changes the line, so it is a copy. */
static bool walk_line(struct tables_walk *walk, const char *line, size_t n)
{
    struct fact fact;
    struct refusal refusal;
    arena_clear(&walk->arena);
    char *copy = arena_text(&walk->arena, line, n);
    if (!copy)
        return tables_fail(walk->tables, "there is no memory for a fact");
    if (!fact_read(copy, n, true, &walk->arena, &fact, &refusal))
        return tables_fail(walk->tables, "a fact cannot be read: %s", refusal.reason);
    return walk_fact(walk, &fact);
}

static bool walk_lines(void *ctx, const char *lines, size_t n)
{
    struct tables_walk *walk = ctx;
    if (!consume_goes_on(walk->consumer))
        return false;
    for (const char *end = lines + n; lines < end;) {
        const char *next = memchr(lines, '\n', (size_t)(end - lines));
        size_t length = next ? (size_t)(next - lines) : (size_t)(end - lines);
        if (length && !walk_line(walk, lines, length))
            return false;
        lines += length + 1;
    }
    return true;
}

/* ---- All of it ------------------------------------------------------------------------------------ */

/* Words that are none stand nowhere in the order in which rows are compared. */
static bool walk_clean(struct tables_walk *walk)
{
    buf_literal(tables_text(walk->tables),
                "DELETE FROM yl_reaction WHERE target_type NOT IN ('ACTIVITY','COMMENT','CONTENT') "
                "OR type NOT IN ('DOWNVOTE','FAV','LIKE')");
    uint64_t rows = 0;
    if (!tables_connect(walk->tables))
        return false;
    enum sql_outcome outcome = sql_run_counted(walk->tables->sql, &walk->tables->text, &rows);
    walk->merges[FORM_REACTION].differences += rows;
    return !outcome || tables_fail(walk->tables, "%s", sql_message(walk->tables->sql));
}

static bool walk_export(struct tables_walk *walk)
{
    struct tidings_export out = {.write = walk_lines, .ctx = walk};
    *walk->tables->trouble = '\0';
    enum tidings_err err = tidings_export(walk->tables->tidings, &out);
    if (!err && walk->ended)
        return true;
    if (*walk->tables->trouble || !consume_goes_on(walk->consumer))
        return false;
    return tables_fail(walk->tables, "the facts cannot be read: %s", tidings_err_text(err));
}

static bool walk_end(struct tables_walk *walk, uint64_t *counts)
{
    struct tables_place now = walk->tables->place;
    now.state = TABLES_READY;
    now.event_id = walk->last_event;
    now.compared_s_ago = 0;
    memcpy(now.rules, walk->rules, sizeof now.rules);
    return tables_recount(walk->tables, walk->consumer, &walk->settings, counts) &&
           tables_move(walk->tables, &now);
}

static void walk_log(const struct tables_walk *walk, uint64_t counts)
{
    struct log_line line;
    uint64_t all = counts;
    for (int i = 0; i < FORM_COUNT; i++)
        all += walk->merges[i].differences;
    bool differs = all && !walk->fills;
    log_begin(&line, differs ? LOG_WARN : LOG_INFO,
              walk->fills ? "the tables are filled"
              : differs   ? "the tables differed and are mended"
                          : "the tables are as the server has it");
    log_text(&line, "consumer", tables_target.name + 1);
    log_u64(&line, "position", walk->tables->place.position);
    for (int i = 0; i < FORM_COUNT; i++)
        if (walk->merges[i].differences)
            log_u64(&line, tables_forms[i].table, walk->merges[i].differences);
    if (counts)
        log_u64(&line, "counts", counts);
    log_end(&line);
}

/* For whoever looks at the tables alone. */
static bool walk_note_differences(struct tables_walk *walk, uint64_t counts)
{
    for (int i = 0; i < FORM_COUNT; i++)
        counts += walk->merges[i].differences;
    struct buf *text = tables_text(walk->tables);
    tables_put(text, "UPDATE tidings_tables SET differences=", walk->fills ? 0 : counts);
    buf_literal(text, " WHERE id=1");
    return tables_run(walk->tables);
}

static bool walk_run(struct tables_walk *walk)
{
    uint64_t counts = 0;
    if (!walk_clean(walk) || !walk_export(walk) || !walk_end(walk, &counts) ||
        !walk_note_differences(walk, counts))
        return false;
    walk_log(walk, counts);
    return true;
}

static bool tables_walk(struct tables *tables, struct consumer *consumer, uint64_t era, bool fills,
                        uint64_t *looked_at)
{
    struct tables_walk *walk = calloc(1, sizeof *walk);
    if (!walk)
        return tables_fail(tables, "out of memory");
    walk->tables = tables;
    walk->consumer = consumer;
    walk->fills = fills;
    walk->era = era;
    arena_init(&walk->arena, FACT_ARENA_MAX);
    for (int i = 0; i < FORM_COUNT; i++)
        tables_merge_init(&walk->merges[i], &tables_forms[i], i >= FORM_CONTENT_STATS);
    bool fine = tables_rules(tables, &walk->settings, walk->rules) && walk_run(walk);
    for (int i = 0; i < FORM_COUNT; i++) {
        *looked_at += walk->merges[i].found;
        tables_merge_release(&walk->merges[i]);
    }
    arena_release(&walk->arena);
    free(walk->activities);
    free(walk);
    return fine;
}

bool tables_fill(struct tables *tables, struct consumer *consumer, uint64_t era)
{
    uint64_t looked_at = 0;
    return tables_walk(tables, consumer, era, true, &looked_at);
}

bool tables_compare(struct tables *tables, struct consumer *consumer, uint64_t *looked_at)
{
    uint64_t found = 0;
    bool fine = tables_walk(tables, consumer, tables->place.era, false, &found);
    if (looked_at)
        *looked_at = found;
    return fine;
}
