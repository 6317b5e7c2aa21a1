/* SPDX-License-Identifier: MIT */
#include "contract/webhooks.h"

const char webhook_url[] = "https://push.example.org/tidings";
const char webhook_secret[] = "0123456789abcdef";

struct tidings_op webhook_op(enum tidings_op_kind kind, const char *name)
{
    return (struct tidings_op){.kind = kind,
                               .user_id = ADMIN,
                               .role = TIDINGS_ROLE_ADMIN,
                               .u.webhook.name = text_of(name)};
}

struct tidings_op webhook_set_op(const char *name)
{
    struct tidings_op op = webhook_op(TIDINGS_OP_WEBHOOK_SET, name);
    op.u.webhook.url = text_of(webhook_url);
    op.u.webhook.secret = text_of(webhook_secret);
    return op;
}

struct tidings_webhook set_webhook(const char *name)
{
    must(webhook_set_op(name));
    return answer.u.webhook;
}

struct tidings_webhook look_at_webhook(const char *name)
{
    must(webhook_op(TIDINGS_OP_WEBHOOK, name));
    return answer.u.webhook;
}

struct tidings_op webhook_report_op(const char *name, uint64_t position)
{
    uint64_t generation = look_at_webhook(name).generation;
    return (struct tidings_op){.kind = TIDINGS_OP_WEBHOOK_REPORT,
                               .user_id = ADMIN,
                               .role = TIDINGS_ROLE_SERVICE,
                               .u.webhook_report = {.name = text_of(name),
                                                    .generation = generation,
                                                    .position = position}};
}
