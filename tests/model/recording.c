/* SPDX-License-Identifier: MIT */
#include "recording.h"

#include "ops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *shared_room(size_t size)
{
    void *p =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

struct recording *recording_new(size_t steps)
{
    struct recording *recording = shared_room(sizeof *recording);

    if (recording == NULL)
        return NULL;
    recording->room = steps;
    recording->steps = shared_room(steps * sizeof *recording->steps);
    /* Only what is used takes memory: most steps need next to nothing, a few a whole body. */
    recording->bytes_room = ((size_t)64 << 20) + steps * 8192;
    recording->bytes = shared_room(recording->bytes_room);
    if (recording->steps == NULL || recording->bytes == NULL)
        return NULL;
    return recording;
}

void recording_free(struct recording *recording)
{
    munmap(recording->steps, recording->room * sizeof *recording->steps);
    munmap(recording->bytes, recording->bytes_room);
    munmap(recording, sizeof *recording);
}

void *recording_room(struct recording *recording, size_t size)
{
    size_t at = (recording->bytes_used + 15) / 16 * 16;

    if (size > recording->bytes_room - at) {
        fprintf(stderr, "the recording is full\n");
        abort();
    }
    recording->bytes_used = at + size;
    return recording->bytes + at;
}

const char *op_name(enum tidings_op_kind kind)
{
    switch (kind) {
#define X(name, lower, writes, args, answer) \
    case TIDINGS_OP_##name:                  \
        return #name;
        TIDINGS_OPS(X)
#undef X
    case TIDINGS_OP_COUNT:
        break;
    }
    return "(unknown operation)";
}

struct tidings_page *op_page(struct tidings_op *op)
{
    const struct op_row *row = op_row(op->kind);

    return row != NULL && row->page != 0 ? (void *)((char *)op + row->page) : NULL;
}

const struct tidings_page *op_page_of(const struct tidings_op *op)
{
    return op_page((struct tidings_op *)(uintptr_t)op);
}

void ref_report(struct report *report, const struct ref *ref)
{
    switch (ref->kind) {
    case REF_NUMBER:
        report_add(report, "%" PRIu64, ref->value);
        break;
    case REF_POST:
        report_add(report, "P%" PRIu64, ref->value);
        break;
    case REF_AS_OF:
        if (ref->value == 0)
            report_add(report, "a fresh as_of");
        else
            report_add(report, "as_of[%" PRIu64 "]", ref->value);
        break;
    case REF_BEYOND:
        report_add(report, "newest as_of");
        break;
    case REF_COMMENT:
        report_add(report, "C%" PRIu64, ref->value);
        break;
    case REF_EVENT:
        report_add(report, "E%" PRIu64, ref->value);
        break;
    case REF_SCENE:
        report_add(report, "S%" PRIu64, ref->value);
        break;
    case REF_MESSAGE:
        report_add(report, "S%" PRIu64 ".%" PRIu64, ref->value / MESSAGES_MOST,
                   ref->value % MESSAGES_MOST);
        break;
    }
    if (ref->delta != 0)
        report_add(report, "%+" PRId64, ref->delta);
}

void named_report(struct report *report, const char *name, const struct ref *ref)
{
    report_add(report, " %s=", name);
    ref_report(report, ref);
}

void page_report(struct report *report, const struct step *step)
{
    const struct tidings_page *page = op_page_of(&step->op);

    report_add(report, " limit=%" PRIu32, page->limit);
    if (step->list != 0)
        report_add(report, " list=%" PRIu32 "%s", step->list,
                   step->list_begins ? " (begins)" : " (goes on)");
    else if (page->after.a != 0 || page->after.b != 0)
        report_add(report, " after={%" PRIu64 ", %" PRIu64 "}%s", page->after.a, page->after.b,
                   step->wild_cursor ? " (made up)" : "");
}

void among_report(struct report *report, const struct step *step)
{
    report_add(report, " user_ids=[");
    for (size_t i = 0; i < step->op.u.among.n_user_ids; i++)
        report_add(report, "%s%" PRIu64, i > 0 ? " " : "", step->op.u.among.user_ids[i]);
    report_add(report, "]");
}

void two_texts_report(struct report *report, const char *a_name, struct tidings_text a,
                      const char *b_name, struct tidings_text b)
{
    report_add(report, " %s=", a_name);
    report_text(report, a);
    report_add(report, " %s=", b_name);
    report_text(report, b);
}

void extra_report(struct report *report, struct tidings_text extra)
{
    if (extra.p == NULL)
        return;
    report_add(report, " extra=");
    report_text(report, extra);
}

void target_report(struct report *report, const struct step *step, enum tidings_target target)
{
    report_add(report, " %s ",
               target == TIDINGS_TARGET_POST      ? "post"
               : target == TIDINGS_TARGET_COMMENT ? "comment"
                                                  : "(no target)");
    ref_report(report, &step->post);
}

static void rules_report(struct report *report, const struct tidings_settings *rules)
{
    report_add(report,
               " with fold_down=%" PRIu64 " fold_percent=%" PRIu64 " hot=%" PRIu64 ",%" PRIu64
               ",%" PRIu64 " hot_comment=%" PRIu64 ",%" PRIu64 ",%" PRIu64 " half_life=%" PRIu64,
               rules->fold_down, rules->fold_percent, rules->hot_like, rules->hot_fav,
               rules->hot_comment, rules->hot_comment_like, rules->hot_comment_reply,
               rules->hot_comment_down, rules->hot_half_life_hours);
}

void step_report(struct report *report, size_t number, const struct step *step)
{
    static const char *const roles[] = {"", " (service)", " (admin)"};

    report_add(report, "%6zu  at %" PRId64 "%s  ", number, step->now_ms,
               step->by_clock ? " by clock" : "");
    switch (step->kind) {
    case STEP_SWEEP:
        report_add(report, "compare everything, %" PRIu32 " rows a page", step->op.u.page.limit);
        return;
    case STEP_VERIFY:
        report_add(report, "verify");
        return;
    case STEP_REOPEN:
        report_add(report, "close and open again");
        if (step->rules != NULL)
            rules_report(report, step->rules);
        return;
    case STEP_OP:
        break;
    }
    report_add(report, "user %" PRIu64 "%s: %s", step->op.user_id,
               (unsigned)step->op.role < 3 ? roles[step->op.role] : " (unknown role)",
               op_name(step->op.kind));
    if (op_row(step->op.kind) != NULL && op_row(step->op.kind)->report != NULL)
        op_row(step->op.kind)->report(report, step);
    if (step->once != 0)
        report_add(report, " once: key %" PRIu32 " fingerprint %" PRIu32, step->once,
                   step->once_print);
    if (step->keep_as_of != 0)
        report_add(report,
                   op_row(step->op.kind)->as_of != 0 ? " -> as_of[%" PRIu32 "]"
                                                     : " behind as_of[%" PRIu32 "]",
                   step->keep_as_of);
}
