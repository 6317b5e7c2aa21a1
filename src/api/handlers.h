/* SPDX-License-Identifier: MIT */
/* The halves of every route, one file a capability; the table in routes.c puts them together. */
#ifndef API_HANDLERS_H
#define API_HANDLERS_H

#include "api/exchange.h"

typedef bool prepare_fn(struct exchange *ex);
typedef void render_fn(const struct exchange *ex, const struct tidings_answer *answer,
                       struct json_out *out);
typedef void run_fn(struct exchange *ex);

/* relation.c */
prepare_fn prepare_follow, prepare_unfollow, prepare_status, prepare_following, prepare_followers,
    prepare_counters;
render_fn render_follow, render_unfollow, render_status, render_following, render_followers,
    render_counters;

/* user.c */
prepare_fn prepare_profile_set, prepare_profile, prepare_author_page;
render_fn render_profile, render_author_page;

/* post.c */
prepare_fn prepare_publish, prepare_post, prepare_edit, prepare_delete, prepare_open;
render_fn render_post, render_open;

/* inbox.c */
prepare_fn prepare_inbox, prepare_badge, prepare_unread, prepare_mark_read, prepare_mark_unread;
render_fn render_inbox, render_badge, render_unread, render_mark;

/* What the inbox and an author's page have in common: the filter, and the posts. */
bool query_filter(struct exchange *ex, const char *name);
render_fn render_items;

/* history.c */
prepare_fn prepare_history, prepare_history_delete, prepare_history_clear;
render_fn render_history;

/* event.c */
prepare_fn prepare_events;
render_fn render_events;

/* system.c */
run_fn run_healthz, run_readyz, run_metrics, run_openapi, run_docs, run_status, run_verify,
    run_backup;

#endif
