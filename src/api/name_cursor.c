/* SPDX-License-Identifier: MIT */
#include "api/name_cursor.h"

#include <assert.h>

#include "domain/name.h"

static_assert(VARINT_MAX + NAME_FOLDED_MAX <= SEAL_BYTES, "any place can be sealed");

size_t name_cursor_pack(uint64_t user, struct tidings_text name, uint8_t bytes[SEAL_BYTES])
{
    size_t n = put_varint(bytes, user);
    return n + name_fold((struct bytes){(const uint8_t *)name.p, name.n}, bytes + n);
}

bool name_cursor_unpack(const uint8_t *bytes, size_t n, uint64_t *user, struct tidings_text *name)
{
    struct decoder r = decoder_of(bytes, n);
    *user = read_varint(&r);
    *name = (struct tidings_text){(const char *)bytes + n - decoder_left(&r), decoder_left(&r)};
    return !r.bad;
}
