/* SPDX-License-Identifier: MIT */
#include "base/boot.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void boot_name(char boot[BOOT_BYTES])
{
    ssize_t n = -1;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, boot, BOOT_BYTES - 1);
        close(fd);
    }
    boot[n > 0 ? n : 0] = '\0';
    boot[strcspn(boot, "\n ")] = '\0';
    if (!boot[0])
        memcpy(boot, NO_BOOT, sizeof NO_BOOT);
}
