/* SPDX-License-Identifier: MIT */
/* What operators want to know of the tables; changes nothing. */
#include <string.h>

#include "engine/log/mysql_internal.h"
#include "engine/log/mysql_server.h"

static enum log_outcome survey_server(struct log_mysql *log, struct log_survey *survey)
{
    struct log_server server;
    enum log_outcome outcome = log_server_read(log, &server);
    if (outcome)
        return outcome;
    survey->server_id = server.server_id;
    survey->packet = server.packet;
    survey->has_binary_log = server.has_binary_log;
    survey->refusal = log_server_refusal(&server);
    buf_literal(log_mysql_text(log), "SELECT VERSION()");
    outcome = log_ask(log);
    if (outcome || !sql_row(log->sql))
        return outcome;
    struct bytes version = sql_bytes(log->sql, 0);
    size_t n = version.n < LOG_VERSION_BYTES ? version.n : LOG_VERSION_BYTES - 1;
    memcpy(survey->version, version.p, n);
    survey->version[n] = '\0';
    return LOG_DONE;
}

static enum log_outcome survey_times(struct log_mysql *log, struct log_survey *survey)
{
    buf_literal(log_mysql_text(log),
                "SELECT (SELECT at FROM tidings_log ORDER BY position LIMIT 1),"
                "(SELECT at FROM tidings_log ORDER BY position DESC LIMIT 1),"
                "(SELECT COUNT(*) FROM tidings_image_head)");
    enum log_outcome outcome = log_ask(log);
    if (outcome || !sql_row(log->sql))
        return outcome;
    survey->first_ms = sql_is_null(log->sql, 0) ? 0 : sql_i64(log->sql, 0);
    survey->last_ms = sql_is_null(log->sql, 1) ? 0 : sql_i64(log->sql, 1);
    survey->images = sql_u64(log->sql, 2);
    return LOG_DONE;
}

enum log_outcome log_mysql_survey(struct log_mysql *log, struct log_survey *survey)
{
    struct log_survey found = {0};
    enum log_outcome outcome = log_tables_judge(log);
    if (!outcome)
        outcome = survey_server(log, &found);
    if (!outcome)
        outcome = survey_times(log, &found);
    if (!outcome)
        outcome = log_mysql_kept(log, &found.kept);
    if (outcome)
        return outcome;
    outcome = log_mysql_image_newest(log, &found.image);
    if (outcome && outcome != LOG_EMPTY)
        return outcome;
    found.has_image = outcome == LOG_DONE;
    *survey = found;
    return LOG_DONE;
}
