/* SPDX-License-Identifier: MIT */
/* Errors as application/problem+json (RFC 9457). Users see a fixed text; details of the inside stay
 * inside. */
#include <stdarg.h>
#include <string.h>

#include "api/internal.h"

/* Of what is wrong with a field, without its name. */
enum { INVALID_TEXT = 160 };

/* The engine's errors in HTTP's words. */
static const struct {
    int status;
    const char *detail;
} statuses[] = {
    [TIDINGS_OK] = {200, ""},
    [TIDINGS_INVALID] = {400, "missing, malformed or out of range"},
    [TIDINGS_NOT_FOUND] = {404, "There is no such thing."},
    [TIDINGS_DELETED] = {410, "It has been deleted."},
    [TIDINGS_FORBIDDEN] = {403, "You may not do this."},
    [TIDINGS_FOLLOWING_LIMIT] = {403, "You follow as many as one may."},
    [TIDINGS_SUBSCRIPTION_LIMIT] = {403, "You subscribe to as many stories as one may."},
    [TIDINGS_READING_LIMIT] = {403, "You keep as many reading positions as one may."},
    [TIDINGS_STORY_LIMIT] = {403, "The story has as many scenes as one may have."},
    [TIDINGS_WEBHOOK_LIMIT] = {403, "There are as many webhooks as there may be."},
    [TIDINGS_RATE_LIMITED] = {429, "Too fast. Try again later."},
    [TIDINGS_BUSY] = {503, "Too much to do at the moment. Try again later."},
    [TIDINGS_NO_SPACE] = {503, "Nothing can be written at the moment."},
    [TIDINGS_IO] = {503, "Nothing can be written at the moment."},
    [TIDINGS_CORRUPT] = {500, "Something is wrong on our side."},
    [TIDINGS_LOCKED] = {500, "Something is wrong on our side."},
    [TIDINGS_VERSION] = {500, "Something is wrong on our side."},
    [TIDINGS_NO_MEMORY] = {503, "Too much to do at the moment. Try again later."},
    [TIDINGS_KEY_REUSED] = {422, "This Idempotency-Key was used for another request."},
    [TIDINGS_UNCERTAIN] = {503, "Whether it was done is not known. Ask again with the same key."},
    [TIDINGS_CLOSED] = {503, "The server is stopping."},
    [TIDINGS_UNREACHABLE] = {503, "A part of the storage cannot be reached. Try again later."},
    [TIDINGS_CLOCK] = {503, "The server's clock is wrong. Nothing can be written at the moment."},
    [TIDINGS_TIMEOUT] = {503, "It took too long. Try again later."},
    [TIDINGS_UNSUPPORTED] = {501, "It cannot do that."},
    [TIDINGS_STANDBY] = {503, "This server follows another one. Changes are made there."},
};

/* What every problem has; the caller adds more and ends the object. */
static void begin_problem(struct json_out *out, int status, const char *code, const char *detail)
{
    json_out_object(out);
    json_out_key(out, "type");
    json_out_text(out, "about:blank");
    json_out_key(out, "title");
    json_out_text(out, http_status_phrase(status));
    json_out_key(out, "status");
    json_out_u64(out, (uint64_t)status);
    json_out_key(out, "code");
    json_out_text(out, code);
    json_out_key(out, "detail");
    json_out_text(out, detail);
}

static void send_problem(struct exchange *ex, struct json_out *out, int status)
{
    json_out_end(out);
    exchange_json(ex, status, "application/problem+json", out->buf);
}

static struct json_out start(struct exchange *ex)
{
    struct json_out out;
    struct buf *buf = &exchange_loop(ex)->out;
    buf_clear(buf);
    json_out_init(&out, buf);
    return out;
}

void exchange_problem(struct exchange *ex, int status, const char *code, const char *detail)
{
    struct json_out out = start(ex);
    begin_problem(&out, status, code, detail);
    send_problem(ex, &out, status);
}

/* "field: text". The field may be a name that the sender made up, of any length: without room for it, the text alone. */
static const char *detail_of(struct exchange *ex, const char *field, const char *text)
{
    size_t n = strlen(field) + 2 + strlen(text) + 1;
    char *detail = arena_alloc(http_request_arena(ex->req), n);
    if (!detail)
        return text;
    snprintf(detail, n, "%s: %s", field, text);
    return detail;
}

void exchange_invalid(struct exchange *ex, const char *field, const char *format, ...)
{
    char text[INVALID_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct json_out out = start(ex);
    begin_problem(&out, 400, tidings_err_code(TIDINGS_INVALID), detail_of(ex, field, text));
    json_out_key(&out, "field");
    json_out_text(&out, field);
    send_problem(ex, &out, 400);
}

/* Whether what is gone is a post, with a title to be told of; else it is a comment, or its post. */
static bool is_about_a_post(const struct tidings_op *op)
{
    switch (op->kind) {
    case TIDINGS_OP_REACT:
    case TIDINGS_OP_UNREACT:
    case TIDINGS_OP_STATS:
        return op->u.react.target == TIDINGS_TARGET_POST;
    case TIDINGS_OP_REACTORS:
        return op->u.reactors.target == TIDINGS_TARGET_POST;
    case TIDINGS_OP_COMMENT:
        return !op->u.comment.parent_id;
    case TIDINGS_OP_COMMENT_DELETE:
    case TIDINGS_OP_COMMENT_HIDE:
    case TIDINGS_OP_COMMENT_RESTORE:
        return false;
    default:
        return true;
    }
}

/* What the engine allows, by field; where operations differ the one of the request comes first. */
static const struct bound {
    const char *field;
    enum tidings_op_kind op; /* COUNT: any */
    const char *text;
    size_t setting, setting2; /* the numbers in the text */
} bounds[] = {
#define S(name) offsetof(struct tidings_settings, name)
    {"limit", TIDINGS_OP_COUNT, "1 to %llu", S(page_max), 0},
    {"title", TIDINGS_OP_COUNT, "1 to %llu characters", S(title_max), 0},
    {"body", TIDINGS_OP_COMMENT, "1 to %llu characters", S(comment_max), 0},
    {"body", TIDINGS_OP_COUNT, "at most %llu bytes", S(body_max), 0},
    {"name", TIDINGS_OP_PROFILE_SET, "at most %llu characters", S(name_max), 0},
    {"prefix", TIDINGS_OP_COUNT, "1 to 64 characters", 0, 0},
    {"avatar", TIDINGS_OP_COUNT, "a URL of http or https of at most %llu bytes, or empty",
     S(avatar_max), 0},
    {"extra", TIDINGS_OP_COUNT, "a JSON object of at most 4096 bytes, 32 levels deep", 0, 0},
    {"post_ids", TIDINGS_OP_COUNT, "1 to %llu ids", S(mark_max), 0},
    {"ids", TIDINGS_OP_COUNT, "1 to %llu ids", S(mark_max), 0},
    {"user_ids", TIDINGS_OP_COUNT, "1 to %llu ids", S(many_max), 0},
    {"messages", TIDINGS_OP_COUNT, "at most %llu, each of 1 to %llu characters", S(messages_max),
     S(message_max)},
    {"user_id", TIDINGS_OP_FOLLOW, "your own id: nobody follows oneself", 0, 0},
    {"user_id", TIDINGS_OP_UNFOLLOW, "your own id: nobody follows oneself", 0, 0},
    {"name", TIDINGS_OP_COUNT, "1 to 30 letters, digits, - and _", 0, 0}, /* of a webhook */
    {"url", TIDINGS_OP_WEBHOOK_SET, "a URL of http or https of at most 2048 bytes", 0, 0},
    {"secret", TIDINGS_OP_WEBHOOK_SET, "16 to 256 characters", 0, 0},
#undef S
};

static unsigned long long setting_at(const struct exchange *ex, size_t offset)
{
    const char *settings = (const char *)&ex->api->config.settings;
    uint64_t value;
    memcpy(&value, settings + offset, sizeof value);
    return value;
}

static void refuse_argument(struct exchange *ex)
{
    const char *field = ex->answer.field;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        const struct bound *bound = &bounds[i];
        if (strcmp(bound->field, field) ||
            (bound->op != TIDINGS_OP_COUNT && bound->op != ex->op.kind))
            continue;
        exchange_invalid(ex, field, bound->text, setting_at(ex, bound->setting),
                         setting_at(ex, bound->setting2));
        return;
    }
    exchange_invalid(ex, field, "%s", statuses[TIDINGS_INVALID].detail);
}

/* Who may, where that does not follow from the token alone. */
static const char *forbidden_detail(enum tidings_op_kind kind)
{
    switch (kind) {
    case TIDINGS_OP_EDIT:
        return "Only the post's author may edit it.";
    case TIDINGS_OP_DELETE:
        return "Only the post's author or an admin may delete it.";
    case TIDINGS_OP_COMMENT_DELETE:
        return "Only the comment's author or an admin may delete it.";
    case TIDINGS_OP_SCENE_PUBLISH:
        return "Only the story's author may add scenes to it.";
    case TIDINGS_OP_SCENE_EDIT:
        return "Only the story's author may edit its scenes.";
    case TIDINGS_OP_SCENE_DELETE:
        return "Only the story's author or an admin may delete its scenes.";
    default:
        return statuses[TIDINGS_FORBIDDEN].detail;
    }
}

void exchange_refuse(struct exchange *ex)
{
    enum tidings_err err = ex->answer.err;
    if (err == TIDINGS_INVALID) {
        refuse_argument(ex);
        return;
    }
    struct json_out out = start(ex);
    int status = (size_t)err < sizeof statuses / sizeof *statuses ? statuses[err].status : 500;
    const char *detail =
        err == TIDINGS_FORBIDDEN ? forbidden_detail(ex->op.kind) : statuses[err].detail;
    begin_problem(&out, status, tidings_err_code(err), detail);
    if (err == TIDINGS_DELETED && is_about_a_post(&ex->op)) {
        put_text(&out, "post_title", ex->answer.title);
        json_out_key(&out, "notice");
        json_out_text(&out, tidings_deleted_notice(ex->chinese));
    }
    send_problem(ex, &out, status);
}
