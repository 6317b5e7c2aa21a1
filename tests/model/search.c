/* SPDX-License-Identifier: MIT */
/* Looking for people by their names: the model folds every name anew and sorts. */
#include "ops.h"

#include <stdlib.h>
#include <string.h>

enum { PREFIX_CHARACTERS = 64, FOLDED_BYTES = 240, NAME_CHARACTERS = 256 };

/* ---- The model ----------------------------------------------------------------------------------- */

/* What the names of this test have in capitals besides A to Z: see generate_text.c. */
static const char *const letters[][2] = {{"É", "é"}, {"Я", "я"}, {"Н", "н"},
                                         {"А", "а"}, {"Σ", "σ"}, {"ς", "σ"}};

struct folded {
    char bytes[FOLDED_BYTES];
    size_t n;
    const struct model_user *user;
};

static size_t bytes_of_character(const char *p)
{
    size_t n = 1;

    while (((unsigned char)p[n] & 0xc0) == 0x80)
        n++;
    return n;
}

static struct folded fold(struct tidings_text name)
{
    struct folded folded = {.n = 0};

    for (size_t i = 0; i < name.n;) {
        size_t n = bytes_of_character(name.p + i);
        char small[5] = {0};

        memcpy(small, name.p + i, n);
        if (small[0] >= 'A' && small[0] <= 'Z')
            small[0] = (char)(small[0] - 'A' + 'a');
        for (size_t j = 0; j < sizeof letters / sizeof letters[0]; j++) {
            if (strcmp(small, letters[j][0]) == 0)
                memcpy(small, letters[j][1], strlen(letters[j][1]) + 1);
        }
        if (folded.n + n > FOLDED_BYTES)
            break;
        memcpy(folded.bytes + folded.n, small, n);
        folded.n += n;
        i += n;
    }
    return folded;
}

static int by_folded(const void *a, const void *b)
{
    const struct folded *x = a;
    const struct folded *y = b;
    int order = memcmp(x->bytes, y->bytes, x->n < y->n ? x->n : y->n);

    if (order == 0 && x->n != y->n)
        order = x->n < y->n ? -1 : 1;
    return order != 0 ? order : x->user->id < y->user->id ? -1 : x->user->id > y->user->id;
}

static void add_found(struct model_answer *answer, const struct model_user *user)
{
    struct model_answer *row = &answer->many[answer->n++];

    model_answer_init(row);
    row->profile_id = user->id;
    row->name = user->name;
    row->avatar = user->avatar;
    row->extra = user->extra;
}

static void read_search(struct model *model, const struct model_call *call,
                        struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    size_t limit = model_page_limit(model, &op->u.search.page);
    struct model_user place = {.id = op->u.search.page.after.a};
    struct folded prefix = fold(op->u.search.prefix);
    struct folded after = fold(op->u.search.after_name);
    struct folded *all = model_room(NULL, model->n_users, sizeof *all);

    after.user = &place;
    for (size_t i = 0; i < model->n_users; i++) {
        all[i] = fold(model->users[i]->name);
        all[i].user = model->users[i];
    }
    if (model->n_users > 0)
        qsort(all, model->n_users, sizeof *all, by_folded);
    answer->many = model_room(NULL, limit, sizeof *answer->many);
    for (size_t i = 0; i < model->n_users; i++) {
        if (all[i].n < prefix.n || memcmp(all[i].bytes, prefix.bytes, prefix.n) != 0)
            continue;
        if (place.id != 0 && by_folded(&all[i], &after) <= 0)
            continue;
        if (answer->n == limit) {
            answer->next.a = 1;
            break;
        }
        add_found(answer, all[i].user);
    }
    free(all);
}

static const char *check_search(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    struct tidings_text after = op->u.search.after_name;
    long prefix = op->u.search.prefix.p == NULL ? 0 : model_characters(op->u.search.prefix);
    const char *field;

    if (prefix < 1 || prefix > PREFIX_CHARACTERS)
        return "prefix";
    field = model_check_page(model, &op->u.search.page);
    if (field != NULL)
        return field;
    if ((after.n == 0) != (op->u.search.page.after.a == 0) || op->u.search.page.after.b != 0)
        return "cursor";
    if (after.n > 0 && (model_characters(after) < 0 || model_characters(after) > NAME_CHARACTERS))
        return "cursor";
    return NULL;
}

/* ---- Arguments ----------------------------------------------------------------------------------- */

/* The beginning of somebody's name, or of one that anybody might have. */
static struct tidings_text some_prefix(struct generator *g, const struct run *run)
{
    struct tidings_text name = generate_name(g);
    size_t n = 0;

    if (run->model.n_users > 0 && rng_percent(&g->rng, 50))
        name = run->model.users[rng_below(&g->rng, run->model.n_users)]->name;
    if (name.n == 0 || model_characters(name) > PREFIX_CHARACTERS)
        name = (struct tidings_text){"A", 1};
    uint64_t left = rng_percent(&g->rng, 90) ? rng_between(&g->rng, 1, 6) : PREFIX_CHARACTERS;
    for (; left > 0 && n < name.n; left--)
        n += bytes_of_character(name.p + n);
    char *p = recording_room(g->recording, n + 1);
    memcpy(p, name.p, n);
    p[n] = '\0';
    return (struct tidings_text){p, n};
}

static void search_arguments(struct generator *g, struct run *run, struct step *step)
{
    step->op.u.search.prefix = some_prefix(g, run);
    page_arguments(g, run, step);
    if (step->wild_cursor && rng_percent(&g->rng, 80)) {
        step->op.u.search.page.after.b = 0;
        step->op.u.search.after_name = some_prefix(g, run);
    }
}

static void bad_search(struct generator *g, struct step *step)
{
    if (rng_percent(&g->rng, 30))
        generate_bad_page(g, step);
    else if (rng_percent(&g->rng, 30))
        step->op.u.search.after_name = generate_bad_text(g, NAME_CHARACTERS);
    else if (rng_percent(&g->rng, 70))
        step->op.u.search.prefix = generate_bad_text(g, PREFIX_CHARACTERS);
    else
        step->op.u.search.prefix = (struct tidings_text){NULL, 0};
}

static void search_report(struct report *report, const struct step *step)
{
    two_texts_report(report, "prefix", step->op.u.search.prefix, "after_name",
                     step->op.u.search.after_name);
    page_report(report, step);
}

/* ---- A list's place is the last row's name, too ---------------------------------------------------- */

static bool resolve_search(struct run *run, const struct step *step, struct tidings_op *op)
{
    size_t slot = step->list % LISTS;
    bool goes_on = step->list != 0 && !step->list_begins && run->places[slot].list == step->list &&
                   run->places[slot].engine.a != 0;

    if (goes_on)
        op->u.search.after_name = run->found_names[slot];
    return true;
}

static bool remember_search(struct run *run, const struct step *step, const struct tidings_op *op)
{
    size_t n = run->answer.u.profile_search.n;

    (void)op;
    if (step->list != 0 && n > 0)
        model_set_text(&run->found_names[step->list % LISTS],
                       run->answer.u.profile_search.rows[n - 1].name);
    return true;
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void same_search(struct diff *diff, const struct model_answer *want,
                        const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.profile_search.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        struct tidings_answer one = {.u.profile = got->u.profile_search.rows[diff->row]};

        op_row(TIDINGS_OP_PROFILE)->compare(diff, &want->many[diff->row], &one);
    }
    diff->list = NULL;
    same_end(diff, want->next, got->u.profile_search.next);
}

static void hold_search(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_profile *rows = answer->u.profile_search.rows;

    require_page(check, op_page_of(check->op), answer->u.profile_search.n,
                 answer->u.profile_search.next);
    for (size_t i = 0; i < answer->u.profile_search.n; i++) {
        require(check, rows[i].name.n > 0, "who is found has a name", i);
        for (size_t j = 0; j < i; j++)
            require(check, rows[j].user_id != rows[i].user_id, "no user twice", i);
    }
}

static bool sweep_prefix(struct sweep *sweep, const char *prefix)
{
    struct tidings_op op = admin_question(sweep, TIDINGS_OP_PROFILE_SEARCH);
    struct tidings_text last = model_copy((struct tidings_text){"", 0});
    bool ok, more;

    op.u.search.prefix = (struct tidings_text){prefix, strlen(prefix)};
    op.u.search.page.limit = sweep->limit;
    do {
        op.u.search.after_name = last;
        ok = sweep_ask(sweep, &op);
        more = ok && sweep->run->answer.u.profile_search.next.a != 0;
        if (more) {
            model_set_text(&last, sweep->run->answer.u.profile_search
                                      .rows[sweep->run->answer.u.profile_search.n - 1]
                                      .name);
            op.u.search.page.after = sweep->run->answer.u.profile_search.next;
        }
    } while (more);
    model_drop(last);
    return ok;
}

static bool sweep_names(struct sweep *sweep)
{
    static const char *const prefixes[] = {"a", "AN", "B", "é", "Я", "σ", "小", "z", " "};

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (!sweep_prefix(sweep, prefixes[i]))
            return false;
    }
    return true;
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

const struct op_row row_profile_search = {
    .weights = {[MOOD_MIXED] = 3, [MOOD_RELATE] = 2, [MOOD_LOOK] = 4},
    .page = offsetof(struct tidings_op, u.search.page),
    .next = offsetof(struct tidings_answer, u.profile_search.next),
    .arguments = search_arguments,
    .mistake = bad_search,
    .report = search_report,
    .resolve = resolve_search,
    .remember = remember_search,
    .check = check_search,
    .read = read_search,
    .compare = same_search,
    .hold = hold_search,
    .sweep = sweep_names,
};
