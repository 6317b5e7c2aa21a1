/* SPDX-License-Identifier: MIT */
#include "api/parcel.h"

#include <stdlib.h>

enum { TEXT_MAX = 256 << 20 };

struct parcel *parcel_new(size_t room)
{
    struct parcel *parcel = calloc(1, sizeof *parcel);
    if (!parcel)
        return NULL;
    buf_init(&parcel->text, TEXT_MAX);
    parcel->room = room;
    parcel->told = calloc(room, sizeof *parcel->told);
    if (parcel->told)
        return parcel;
    free(parcel);
    return NULL;
}

void parcel_drop(struct parcel *parcel)
{
    if (atomic_fetch_sub(&parcel->holders, 1) > 1)
        return;
    buf_release(&parcel->text);
    free(parcel->told);
    free(parcel);
}
