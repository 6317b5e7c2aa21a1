/* SPDX-License-Identifier: MIT */
/* Webhooks as plain calls by an admin, as in harness.h. */
#ifndef TESTS_CONTRACT_WEBHOOKS_H
#define TESTS_CONTRACT_WEBHOOKS_H

#include "contract/harness.h"

enum { ADMIN = 9 };
#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)

extern const char webhook_url[];
extern const char webhook_secret[];

struct tidings_op webhook_op(enum tidings_op_kind kind, const char *name);
/* With that address and secret. */
struct tidings_op webhook_set_op(const char *name);
struct tidings_webhook set_webhook(const char *name);
struct tidings_webhook look_at_webhook(const char *name);
/* By whoever delivers; about the webhook as it is now. */
struct tidings_op webhook_report_op(const char *name, uint64_t position);

#endif
