/* SPDX-License-Identifier: MIT */
/* The name of this run of the machine: another one after it was started again. */
#ifndef BASE_BOOT_H
#define BASE_BOOT_H

enum { BOOT_BYTES = 64 };

#define NO_BOOT "-"

/* NO_BOOT if it cannot be known. */
void boot_name(char boot[BOOT_BYTES]);

#endif
