/* SPDX-License-Identifier: MIT */
/* From a failing run to a short one: find where it first goes wrong, then leave out what it can do
 * without: everything that only reads, all of one user's doing, big pieces, and single steps. */
#include "model.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct shrinker {
    struct replay *replay;
    size_t *kept;
    size_t n;
    size_t *trial;
    time_t end;
};

static time_t seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static bool time_left(const struct shrinker *s)
{
    return seconds_now() < s->end;
}

/* A wrong answer late in the run may come from a wrong change much earlier, which a sweep after
 * every step would have shown. */
static bool find_first_difference(struct shrinker *s)
{
    const size_t sweeps = 16; /* in one replay: they take long */
    size_t stride = s->n;
    size_t from = 0;
    bool failed = false;

    do {
        stride = stride / sweeps > 0 ? stride / sweeps : 1;
        if (!replay_fails(s->replay, s->kept, s->n, from, stride))
            return failed;
        failed = true;
        s->n = s->replay->recording->outcome.failed_step + 1;
        from = s->n > stride ? s->n - 1 - stride : 0;
    } while (stride > 1 && time_left(s));
    return true;
}

/* Only the n steps in `trial`; if that fails as well, those are the ones to keep. */
static bool try_trial(struct shrinker *s, size_t n)
{
    if (!replay_fails(s->replay, s->trial, n, SIZE_MAX, 1))
        return false;
    s->n = n;
    if (s->replay->recording->outcome.failed_step < s->n)
        s->n = s->replay->recording->outcome.failed_step + 1;
    memcpy(s->kept, s->trial, s->n * sizeof *s->kept);
    return true;
}

/* Without the steps at ... at+count-1. */
static bool leave_out(struct shrinker *s, size_t at, size_t count)
{
    size_t rest = s->n - at - count;

    memcpy(s->trial, s->kept, at * sizeof *s->trial);
    memcpy(s->trial + at, s->kept + at + count, rest * sizeof *s->trial);
    return try_trial(s, at + rest);
}

static bool is_write(const struct step *step)
{
    return step->kind == STEP_OP && model_op_writes(step->op.kind);
}

/* Without what changes nothing, but for the last step. */
static void leave_out_reads(struct shrinker *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (i + 1 == s->n || is_write(&s->replay->recording->steps[s->kept[i]]))
            s->trial[n++] = s->kept[i];
    }
    try_trial(s, n);
}

/* Without all that one user did, for every user: most have nothing to do with it. */
static void leave_out_users(struct shrinker *s)
{
    const struct recording *recording = s->replay->recording;

    for (size_t u = 0; u < recording->n_users && time_left(s); u++) {
        size_t n = 0;

        for (size_t i = 0; i < s->n; i++) {
            const struct step *step = &recording->steps[s->kept[i]];

            if (i + 1 == s->n || step->op.user_id != recording->user_ids[u])
                s->trial[n++] = s->kept[i];
        }
        if (n < s->n)
            try_trial(s, n);
    }
}

static void leave_out_all_it_can(struct shrinker *s)
{
    size_t count = s->n / 2;
    bool shorter = true;

    while (count >= 1 && time_left(s) && (shorter || count > 1)) {
        shorter = false;
        for (size_t at = 0; at < s->n && time_left(s);) {
            size_t n = s->n - at < count ? s->n - at : count;

            if (n < s->n && leave_out(s, at, n))
                shorter = true;
            else
                at += n;
        }
        if (count > 1)
            count /= 2;
    }
}

/* Long lists of ids, one id less at a time. */
static void shorten_marks(struct shrinker *s)
{
    for (size_t i = 0; i < s->n; i++) {
        struct step *step = &s->replay->recording->steps[s->kept[i]];

        if (step->kind != STEP_OP || step->posts == NULL)
            continue;
        for (size_t j = 0; j < step->op.u.mark.n_post_ids && time_left(s);) {
            struct ref gone = step->posts[j];
            size_t n = --step->op.u.mark.n_post_ids;

            memmove(step->posts + j, step->posts + j + 1, (n - j) * sizeof gone);
            if (n > 0 && replay_fails(s->replay, s->kept, s->n, SIZE_MAX, 1))
                continue;
            memmove(step->posts + j + 1, step->posts + j, (n - j) * sizeof gone);
            step->posts[j++] = gone;
            step->op.u.mark.n_post_ids++;
        }
    }
}

/* Short texts and the simplest circumstances, if that makes no difference. */
static void simplify(struct shrinker *s)
{
    for (size_t i = 0; i < s->n && time_left(s); i++) {
        struct step *step = &s->replay->recording->steps[s->kept[i]];
        struct step before = *step;

        if (step->kind != STEP_OP)
            continue;
        step->by_clock = false;
        if (step->op.kind == TIDINGS_OP_PUBLISH) {
            step->op.role = TIDINGS_ROLE_USER;
            step->op.u.publish.title = (struct tidings_text){"t", 1};
            step->op.u.publish.body = (struct tidings_text){NULL, 0};
        } else if (step->op.kind == TIDINGS_OP_EDIT && step->op.u.edit.body.n > 1) {
            step->op.u.edit.body = (struct tidings_text){"b", 1};
        } else if (step->op.kind == TIDINGS_OP_COMMENT && step->op.u.comment.body.n > 1) {
            step->op.u.comment.body = (struct tidings_text){"c", 1};
        } else if (step->op.kind == TIDINGS_OP_SCENE_PUBLISH && step->op.u.scene.n_messages > 0) {
            step->op.u.scene.title = (struct tidings_text){"s", 1};
            step->op.u.scene.messages = NULL;
            step->op.u.scene.n_messages = 0;
        } else if (!before.by_clock) {
            continue;
        }
        if (!replay_fails(s->replay, s->kept, s->n, SIZE_MAX, 1))
            *step = before;
    }
}

static void print_steps(const struct shrinker *s)
{
    static struct report report;

    const size_t most = 200;

    printf("\n%zu steps that fail:\n", s->n);
    if (s->n > most)
        printf("   ...  (and %zu before)\n", s->n - most);
    for (size_t i = s->n > most ? s->n - most : 0; i < s->n; i++) {
        report.n = 0;
        step_report(&report, i, &s->replay->recording->steps[s->kept[i]]);
        printf("%s\n", report.text);
    }
    if (replay_fails(s->replay, s->kept, s->n, SIZE_MAX, 1))
        printf("%s", s->replay->recording->outcome.report.text);
    else
        printf("(this time they passed)\n");
}

void shrink(struct replay *replay, unsigned seconds)
{
    struct shrinker s = {.replay = replay, .end = seconds_now() + seconds};

    s.n = replay->recording->outcome.failed_step + 1;
    if (s.n > replay->recording->n)
        s.n = replay->recording->n;
    s.kept = calloc(s.n, sizeof *s.kept);
    s.trial = calloc(s.n, sizeof *s.trial);
    for (size_t i = 0; i < s.n; i++)
        s.kept[i] = i;
    replay->keep = false;
    printf("looking for fewer steps that fail, for %u s at most\n", seconds);
    if (s.n == 0 || !find_first_difference(&s)) {
        printf("the same steps passed when run again\n");
    } else {
        leave_out_reads(&s);
        leave_out_users(&s);
        leave_out_all_it_can(&s);
        shorten_marks(&s);
        leave_out_all_it_can(&s);
        simplify(&s);
        print_steps(&s);
    }
    free(s.kept);
    free(s.trial);
}
