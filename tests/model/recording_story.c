/* SPDX-License-Identifier: MIT */
/* The arguments of operations on stories in a step's line; see recording.h. */
#include "recording.h"

#include <inttypes.h>

static void named_report(struct report *report, const char *name, const struct ref *ref)
{
    report_add(report, " %s=", name);
    ref_report(report, ref);
}

static void scene_report(struct report *report, const struct step *step)
{
    const struct tidings_op *op = &step->op;

    if (op->kind == TIDINGS_OP_SCENE_PUBLISH)
        named_report(report, "story_id", &step->post);
    else
        named_report(report, "scene_id", &step->scene);
    report_add(report, " S%" PRIu32 " title=", step->maker);
    report_text(report, op->u.scene.title);
    if (op->u.scene.messages == NULL)
        return;
    report_add(report, " messages=[");
    for (size_t i = 0; i < op->u.scene.n_messages; i++) {
        report_add(report, "%s", i > 0 ? " " : "");
        if (step->messages != NULL)
            ref_report(report, &step->messages[i]);
        report_text(report, op->u.scene.messages[i].text);
    }
    report_add(report, "]");
}

static void reading_report(struct report *report, const struct step *step)
{
    if (step->op.kind != TIDINGS_OP_READING_CLEAR)
        named_report(report, "story_id", &step->post);
    if (step->op.kind == TIDINGS_OP_READING_SET) {
        named_report(report, "scene_id", &step->scene);
        named_report(report, "message_id", &step->message);
    }
    report_add(report, " modified_at=%" PRId64, step->op.u.reading.modified_at);
}

void story_report(struct report *report, const struct step *step)
{
    const struct tidings_op *op = &step->op;

    switch (op->kind) {
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
        scene_report(report, step);
        break;
    case TIDINGS_OP_SCENE_DELETE:
    case TIDINGS_OP_SCENE:
        named_report(report, "scene_id", &step->scene);
        break;
    case TIDINGS_OP_SCENES:
    case TIDINGS_OP_SUBSCRIBERS:
        named_report(report, "story_id", &step->post);
        page_report(report, step, &op->u.scenes.page);
        break;
    case TIDINGS_OP_READING_SET:
    case TIDINGS_OP_READING_DELETE:
    case TIDINGS_OP_READING_CLEAR:
        reading_report(report, step);
        break;
    case TIDINGS_OP_READING:
        if (op->u.readings.delta)
            report_add(report, " delta, client %" PRIu32, step->client);
        page_report(report, step, &op->u.readings.page);
        break;
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
        named_report(report, "story_id", &step->post);
        break;
    case TIDINGS_OP_SUBSCRIBERS_AMONG:
        named_report(report, "story_id", &step->post);
        report_add(report, " user_ids=[");
        for (size_t i = 0; i < op->u.among.n_user_ids; i++)
            report_add(report, "%s%" PRIu64, i > 0 ? " " : "", op->u.among.user_ids[i]);
        report_add(report, "]");
        break;
    case TIDINGS_OP_PREFERENCES_SET:
        report_add(report, " story_updates=%d", op->u.preferences.story_updates);
        break;
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        mark_report(report, step);
        break;
    case TIDINGS_OP_SUBSCRIPTIONS:
    case TIDINGS_OP_NOTIFICATIONS:
        page_report(report, step, &op->u.page);
        break;
    default:
        break;
    }
}
