/* SPDX-License-Identifier: MIT */
#include "legacy/drift.h"

#include <assert.h>
#include <inttypes.h>

#include "base/json_out.h"

static const struct {
    const char *name, *what;
    enum drift_class class;
} kinds[] = {
#define X(name, class, what) {#name, what, DRIFT_##class},
    DRIFT_KINDS(X)
#undef X
};

static const char *const class_names[DRIFT_CLASSES] = {"contradictions", "left_out", "changed"};
static const char *const class_titles[DRIFT_CLASSES] = {"contradicts itself", "left out",
                                                        "taken in another form"};

void drift_add(struct drift *drift, enum drift_kind kind, const struct drift_example *example)
{
    uint64_t n = drift->found[kind]++;
    if (n < DRIFT_EXAMPLES)
        drift->examples[kind][n] = *example;
}

/* ---- How much ------------------------------------------------------------------------------- */

static void add_to(struct drift_part *parts, size_t *n_parts, const char *name, uint64_t n)
{
    size_t i = 0;
    while (i < *n_parts && strcmp(parts[i].name, name) != 0)
        i++;
    assert(i < DRIFT_PARTS);
    if (i == *n_parts)
        parts[(*n_parts)++] = (struct drift_part){.name = name};
    parts[i].n += n;
}

void drift_read(struct drift *drift, const char *name, uint64_t n)
{
    add_to(drift->read, &drift->n_read, name, n);
}

void drift_wrote(struct drift *drift, const char *name, uint64_t n)
{
    add_to(drift->written, &drift->n_written, name, n);
}

uint64_t drift_total(const struct drift *drift, enum drift_class class)
{
    uint64_t total = 0;
    for (size_t i = 0; i < DRIFT_KIND_COUNT; i++)
        total += kinds[i].class == class ? drift->found[i] : 0;
    return total;
}

/* ---- For people ----------------------------------------------------------------------------- */

static size_t examples_of(const struct drift *drift, size_t kind)
{
    uint64_t n = drift->found[kind];
    return n < DRIFT_EXAMPLES ? (size_t)n : DRIFT_EXAMPLES;
}

static void print_example(const struct drift_example *example, FILE *to)
{
    const struct {
        const char *name;
        uint64_t id;
    } ids[] = {{"user", example->user_id},
               {"author", example->author_id},
               {"blog", example->post},
               {"comment", example->comment},
               {"row", example->row}};
    const char *comma = "";
    fputs("      ", to);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i].id) {
            fprintf(to, "%s%s %" PRIu64, comma, ids[i].name, ids[i].id);
            comma = ", ";
        }
    if (example->where)
        fprintf(to, "%s%s", comma, example->where);
    if (example->counted)
        fprintf(to, ": says %" PRId64 ", is %" PRId64, example->says, example->is);
    fputc('\n', to);
}

static void print_class(const struct drift *drift, enum drift_class class, FILE *to)
{
    uint64_t total = drift_total(drift, class);
    if (total)
        fprintf(to, "%s: %" PRIu64 "\n", class_titles[class], total);
    for (size_t i = 0; i < DRIFT_KIND_COUNT; i++) {
        if (kinds[i].class != class || !drift->found[i])
            continue;
        fprintf(to, "  %-20s %8" PRIu64 "  %s\n", kinds[i].name, drift->found[i], kinds[i].what);
        for (size_t k = 0; k < examples_of(drift, i); k++)
            print_example(&drift->examples[i][k], to);
    }
}

static void print_parts(const char *title, const struct drift_part *parts, size_t n, FILE *to)
{
    fprintf(to, "%s:", title);
    for (size_t i = 0; i < n; i++)
        fprintf(to, "%s %s %" PRIu64, i ? "," : "", parts[i].name, parts[i].n);
    fputs(n ? "\n" : " nothing\n", to);
}

void drift_print(const struct drift *drift, FILE *to)
{
    print_parts("read", drift->read, drift->n_read, to);
    for (int class = 0; class < DRIFT_CLASSES; class ++)
        print_class(drift, (enum drift_class) class, to);
    print_parts("facts", drift->written, drift->n_written, to);
}

/* ---- For programs --------------------------------------------------------------------------- */

static void json_example(const struct drift_example *example, struct json_out *out)
{
    const struct {
        const char *key;
        uint64_t id;
    } ids[] = {{"user_id", example->user_id},
               {"author_id", example->author_id},
               {"blog_id", example->post},
               {"comment_id", example->comment},
               {"row_id", example->row}};
    json_out_object(out);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i].id) {
            json_out_key(out, ids[i].key);
            json_out_u64(out, ids[i].id);
        }
    if (example->where) {
        json_out_key(out, "where");
        json_out_text(out, example->where);
    }
    if (example->counted) {
        json_out_key(out, "says");
        json_out_i64(out, example->says);
        json_out_key(out, "is");
        json_out_i64(out, example->is);
    }
    json_out_end(out);
}

static void json_class(const struct drift *drift, enum drift_class class, struct json_out *out)
{
    json_out_key(out, class_names[class]);
    json_out_array(out);
    for (size_t i = 0; i < DRIFT_KIND_COUNT; i++) {
        if (kinds[i].class != class || !drift->found[i])
            continue;
        json_out_object(out);
        json_out_key(out, "kind");
        json_out_text(out, kinds[i].name);
        json_out_key(out, "what");
        json_out_text(out, kinds[i].what);
        json_out_key(out, "found");
        json_out_u64(out, drift->found[i]);
        json_out_key(out, "examples");
        json_out_array(out);
        for (size_t k = 0; k < examples_of(drift, i); k++)
            json_example(&drift->examples[i][k], out);
        json_out_end(out);
        json_out_end(out);
    }
    json_out_end(out);
}

static void json_parts(const char *key, const struct drift_part *parts, size_t n,
                       struct json_out *out)
{
    json_out_key(out, key);
    json_out_object(out);
    for (size_t i = 0; i < n; i++) {
        json_out_key(out, parts[i].name);
        json_out_u64(out, parts[i].n);
    }
    json_out_end(out);
}

void drift_json(const struct drift *drift, struct buf *to)
{
    struct json_out out;
    json_out_init(&out, to);
    json_out_object(&out);
    json_out_key(&out, "system");
    json_out_text(&out, drift->system);
    json_parts("read", drift->read, drift->n_read, &out);
    for (int class = 0; class < DRIFT_CLASSES; class ++)
        json_class(drift, (enum drift_class) class, &out);
    json_parts("facts", drift->written, drift->n_written, &out);
    json_out_end(&out);
    buf_char(to, '\n');
}
