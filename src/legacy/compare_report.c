/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "base/json_out.h"
#include "legacy/compare.h"

#define JSON_MAX ((size_t)1 << 20)

static const struct {
    const char *name, *about, *question;
} kinds[] = {
#define X(kind, name, about, question) {name, about, question},
    COMPARE_KINDS(X)
#undef X
};

static double agreement(uint64_t asked, uint64_t differ)
{
    return asked ? 100.0 * (double)(asked - differ) / (double)asked : 100.0;
}

static void print_example(const struct compare_example *example, const char *about, FILE *to)
{
    fprintf(to, "    user %" PRIu64, example->user);
    if (about)
        fprintf(to, ", %s %" PRIu64, about, example->about);
    fprintf(to, ": %" PRId64 " in the old keys, %" PRId64 " in Tidings\n", example->old,
            example->new);
}

void compare_print(const struct compare_result *result, FILE *to)
{
    fprintf(
        to, "%" PRIu64 " users, %.4f %% agree; %" PRIu64 " differ, %" PRIu64 " were only late\n",
        result->users, agreement(result->users, result->differ), result->differ, result->settled);
    for (size_t i = 0; i < COMPARE_KIND_COUNT; i++) {
        uint64_t asked = result->kinds[i].asked, differ = result->kinds[i].differ;
        fprintf(to, "%-8s %12" PRIu64 " asked, %12" PRIu64 " differ, %8.4f %% agree  (%s)\n",
                kinds[i].name, asked, differ, agreement(asked, differ), kinds[i].question);
        for (size_t k = 0; k < differ && k < COMPARE_EXAMPLES; k++)
            print_example(&result->kinds[i].examples[k], kinds[i].about, to);
    }
    fflush(to);
}

static void put_number(struct json_out *out, const char *key, uint64_t value)
{
    json_out_key(out, key);
    json_out_u64(out, value);
}

static void put_example(struct json_out *out, const struct compare_example *example,
                        const char *about)
{
    json_out_object(out);
    put_number(out, "user_id", example->user);
    if (about)
        put_number(out, about, example->about);
    json_out_key(out, "old");
    json_out_i64(out, example->old);
    json_out_key(out, "new");
    json_out_i64(out, example->new);
    json_out_end(out);
}

static void put_kind(struct json_out *out, const struct compare_result *result, size_t i)
{
    json_out_key(out, kinds[i].name);
    json_out_object(out);
    put_number(out, "asked", result->kinds[i].asked);
    put_number(out, "differ", result->kinds[i].differ);
    json_out_key(out, "examples");
    json_out_array(out);
    for (size_t k = 0; k < result->kinds[i].differ && k < COMPARE_EXAMPLES; k++)
        put_example(out, &result->kinds[i].examples[k], kinds[i].about);
    json_out_end(out);
    json_out_end(out);
}

void compare_print_json(const struct compare_result *result, FILE *to)
{
    struct buf text;
    struct json_out out;
    buf_init(&text, JSON_MAX);
    json_out_init(&out, &text);
    json_out_object(&out);
    put_number(&out, "users", result->users);
    put_number(&out, "differ", result->differ);
    put_number(&out, "settled", result->settled);
    json_out_key(&out, "kinds");
    json_out_object(&out);
    for (size_t i = 0; i < COMPARE_KIND_COUNT; i++)
        put_kind(&out, result, i);
    json_out_end(&out);
    json_out_end(&out);
    buf_char(&text, '\n');
    fwrite(text.data, 1, text.len, to);
    fflush(to);
    buf_release(&text);
}
