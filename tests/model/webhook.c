/* SPDX-License-Identifier: MIT */
/* Webhooks, which the model does not know: nobody asks about them here. tests/contract does. */
#include "ops.h"

const struct op_row row_webhook_set = {0};
const struct op_row row_webhook_delete = {0};
const struct op_row row_webhook_retry = {0};
const struct op_row row_webhook_report = {0};
const struct op_row row_webhooks = {0};
const struct op_row row_webhook = {0};
