/* SPDX-License-Identifier: MIT */
/* Mistakes in operations on stories; see generate_bad.c. */
#include "generate.h"

#include <string.h>

static struct ref bad_ref(struct generator *g)
{
    return (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
}

static void bad_messages(struct generator *g, struct step *step)
{
    struct tidings_op *op = &step->op;
    size_t most = (size_t)g->recording->settings.messages_max;
    size_t n = rng_percent(&g->rng, 30) && most < 60 ? most + 1 : 1;
    struct tidings_message *messages = recording_room(g->recording, n * sizeof *messages);

    memset(messages, 0, n * sizeof *messages);
    for (size_t i = 0; i < n; i++)
        messages[i].text = (struct tidings_text){"m", 1};
    step->messages = NULL;
    op->u.scene.messages = messages;
    op->u.scene.n_messages = n;
    switch (rng_below(&g->rng, 5)) {
    case 0:
        messages[n - 1].text = generate_bad_text(g, g->recording->settings.message_max);
        break;
    case 1:
        messages[n - 1].text = (struct tidings_text){rng_percent(&g->rng, 50) ? "" : NULL, 0};
        break;
    case 2: /* none, but so many */
        op->u.scene.messages = NULL;
        break;
    case 3: /* a new scene's messages have no ids; and no id is as great as that */
        messages[n - 1].id = op->kind == TIDINGS_OP_SCENE_PUBLISH ? 5 : generate_too_great(g);
        break;
    default:
        break;
    }
}

static void bad_scene(struct generator *g, struct step *step)
{
    struct tidings_op *op = &step->op;

    switch (rng_below(&g->rng, 4)) {
    case 0:
        if (op->kind == TIDINGS_OP_SCENE_PUBLISH)
            step->post = bad_ref(g);
        else
            step->scene = bad_ref(g);
        break;
    case 1:
        op->u.scene.title = generate_bad_text(g, g->recording->settings.title_max);
        break;
    case 2:
        op->u.scene.title = (struct tidings_text){rng_percent(&g->rng, 50) ? "" : NULL, 0};
        if (rng_percent(&g->rng, 50)) {
            op->u.scene.messages = NULL;
            op->u.scene.n_messages = 0;
        }
        break;
    default:
        bad_messages(g, step);
        break;
    }
}

static void bad_reading(struct generator *g, struct step *step)
{
    switch (rng_below(&g->rng, 5)) {
    case 0:
        step->post = bad_ref(g);
        break;
    case 1:
        step->op.u.reading.modified_at = rng_percent(&g->rng, 50) ? -1 : INT64_MIN;
        break;
    case 2:
        step->scene = (struct ref){REF_NUMBER, 0, generate_too_great(g)};
        break;
    case 3:
        step->message = (struct ref){REF_NUMBER, 0, generate_too_great(g)};
        break;
    default: /* a message without its scene */
        step->scene = (struct ref){0};
        step->message = (struct ref){REF_NUMBER, 0, 7};
        break;
    }
}

static void bad_among(struct generator *g, struct step *step)
{
    uint64_t *ids = recording_room(g->recording, 2 * sizeof *ids);

    if (rng_percent(&g->rng, 40)) {
        step->post = bad_ref(g);
        return;
    }
    /* Not ascending, or no id. */
    ids[0] = rng_percent(&g->rng, 50) ? 9 : 0;
    ids[1] = rng_percent(&g->rng, 50) ? 9 : TIDINGS_ID_MAX + 1;
    step->op.u.among.user_ids = ids;
    step->op.u.among.n_user_ids = 2;
}

void generate_story_mistake(struct generator *g, struct step *step)
{
    switch (step->op.kind) {
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
        bad_scene(g, step);
        break;
    case TIDINGS_OP_SCENE_DELETE:
    case TIDINGS_OP_SCENE:
        step->scene = bad_ref(g);
        break;
    case TIDINGS_OP_SCENES:
    case TIDINGS_OP_SUBSCRIBERS:
        if (rng_percent(&g->rng, 40))
            step->post = bad_ref(g);
        else
            generate_bad_page(g, step);
        break;
    case TIDINGS_OP_READING_SET:
    case TIDINGS_OP_READING_DELETE:
    case TIDINGS_OP_READING_CLEAR:
        bad_reading(g, step);
        break;
    case TIDINGS_OP_READING:
        step->client = 0;
        if (rng_percent(&g->rng, 50)) {
            step->op.u.readings.delta = rng_percent(&g->rng, 50);
            step->op.u.readings.since = step->op.u.readings.delta ? generate_too_great(g) : 1;
        } else {
            generate_bad_page(g, step);
        }
        break;
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
        step->post = bad_ref(g);
        break;
    case TIDINGS_OP_SUBSCRIBERS_AMONG:
        bad_among(g, step);
        break;
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        generate_bad_mark(g, step);
        break;
    case TIDINGS_OP_SUBSCRIPTIONS:
    case TIDINGS_OP_NOTIFICATIONS:
        generate_bad_page(g, step);
        break;
    default:
        break;
    }
}
