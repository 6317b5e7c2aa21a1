/* SPDX-License-Identifier: MIT */
/* The engine's answers and the model's, in the same words; see render.h. */
#include "render.h"

#include "ops.h"

#include <stdlib.h>
#include <string.h>

bool render_answer(const struct tidings_once *once, const struct tidings_answer *answer,
                   struct tidings_text *bytes)
{
    struct render *render = once->ctx;
    const struct op_row *row = op_row(render->kind);
    int n = row->line != NULL ? row->line(render->text, answer) : 0;

    *bytes = (struct tidings_text){render->text, (size_t)n};
    return true;
}

struct tidings_text model_render(const struct tidings_op *op, const struct model_answer *answer)
{
    char *line = model_room(NULL, RENDER_MAX, 1);
    const struct op_row *row = op_row(op->kind);
    int n = 0;

    line[0] = '\0';
    if (row->model_line != NULL)
        n = row->model_line(line, answer);
    return (struct tidings_text){line, (size_t)n};
}

uint64_t render_id(struct tidings_text bytes, const char *word)
{
    size_t n = strlen(word);

    if (bytes.p == NULL || bytes.n < n || memcmp(bytes.p, word, n) != 0)
        return 0;
    return strtoull(bytes.p + n, NULL, 10);
}
