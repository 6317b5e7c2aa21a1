/* SPDX-License-Identifier: MIT */
/* The public header is C++, too. */
#include <tidings.h>

int main()
{
    struct tidings_options options;
    struct tidings_answer answer;
    tidings_options_init(&options);
    tidings_answer_init(&answer);
    struct tidings_op op = {};
    op.kind = TIDINGS_OP_BADGE;
    op.user_id = TIDINGS_ID_MAX;
    bool fine = options.settings.follow_burst == 100 && !options.dir && !answer.err &&
                op.kind == TIDINGS_OP_BADGE && tidings_err_code(TIDINGS_OK)[0] == 'o';
    tidings_answer_release(&answer);
    tidings_close(nullptr);
    return fine ? 0 : 1;
}
