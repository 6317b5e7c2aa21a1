/* SPDX-License-Identifier: MIT */
/* All tests of the replicated log, on one server of tests/support/with-mariadb. */
#include "log/log_support.h"

int main(void)
{
    return test_log_tables() + test_log_writer() + test_log_records() + test_log_images() +
                   test_log_failures()
               ? 1
               : 0;
}
