/* SPDX-License-Identifier: MIT */
/* Mistakes: arguments that no well-behaved host would give. Two in one operation show in which
 * order they are looked for. */
#include "generate.h"

#include "ops.h"

uint64_t generate_bad_id(struct generator *g)
{
    static const uint64_t bad[] = {0, TIDINGS_ID_MAX + 1, UINT64_MAX, UINT64_C(1) << 63};

    return bad[rng_below(&g->rng, sizeof bad / sizeof bad[0])];
}

uint64_t generate_too_great(struct generator *g)
{
    return rng_percent(&g->rng, 50) ? TIDINGS_ID_MAX + 1 : UINT64_MAX;
}

void generate_bad_page(struct generator *g, struct step *step)
{
    struct tidings_page *page = op_page(&step->op);
    uint32_t most = (uint32_t)g->recording->settings.page_max;

    if (rng_percent(&g->rng, 50)) {
        page->limit = rng_percent(&g->rng, 50) ? most + 1 : UINT32_MAX;
        return;
    }
    if (op_row(step->op.kind)->endless)
        step->post = (struct ref){0};
    if (rng_percent(&g->rng, 50))
        page->after.a = generate_too_great(g);
    else
        page->after = (struct tidings_cursor){1, generate_too_great(g)};
}

void generate_bad_texts(struct generator *g, struct tidings_text *a, uint64_t a_most,
                        struct tidings_text *b, uint64_t b_most)
{
    switch (rng_below(&g->rng, 5)) {
    case 0:
        *a = (struct tidings_text){NULL, 0};
        *b = (struct tidings_text){NULL, 0};
        break;
    case 1:
        *a = (struct tidings_text){"", 0};
        break;
    case 2:
        *a = generate_bad_text(g, a_most);
        break;
    case 3:
        *b = generate_bad_text(g, b_most);
        break;
    default:
        *a = generate_bad_text(g, a_most);
        *b = generate_bad_text(g, b_most);
        break;
    }
}

void generate_mistake(struct generator *g, struct step *step)
{
    if (step->wild_cursor)
        return;
    step->list = 0;
    step->once = 0;
    switch (rng_below(&g->rng, 12)) {
    case 0:
        step->op.user_id = generate_bad_id(g);
        break;
    case 1:
        step->op.role = (enum tidings_role)(rng_percent(&g->rng, 50) ? 3 : 77);
        break;
    case 2:
        if (rng_percent(&g->rng, 30)) {
            step->op.kind =
                (enum tidings_op_kind)(rng_percent(&g->rng, 50) ? TIDINGS_OP_COUNT : 9999);
            break;
        }
        /* fallthrough */
    default:
        if (op_row(step->op.kind) != NULL && op_row(step->op.kind)->mistake != NULL)
            op_row(step->op.kind)->mistake(g, step);
        break;
    }
}
