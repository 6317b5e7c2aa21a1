/* SPDX-License-Identifier: MIT */
/* A user's own settings, which the engine calls preferences: settings are the server's. */
#include "api/handlers.h"

bool prepare_preferences(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_PREFERENCES;
    return true;
}

bool prepare_preferences_set(struct exchange *ex)
{
    static const char *const members[] = {"story_updates", NULL};
    ex->op.kind = TIDINGS_OP_PREFERENCES_SET;
    return arg_body(ex, members) &&
           arg_bool(ex, "story_updates", &ex->op.u.preferences.story_updates, NULL);
}

void render_preferences(const struct exchange *ex, const struct tidings_answer *answer,
                        struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    put_bool(out, "story_updates", answer->u.preferences.story_updates);
    json_out_end(out);
}
