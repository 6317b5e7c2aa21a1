/* SPDX-License-Identifier: MIT */
/* The records of dead letters. */
#include "engine/records/parts.h"
#include "engine/records/records.h"

enum { LETTER_AGAIN = 1, LETTERS_RECONCILES = 1 };

struct bytes letter_encode(const struct letter_record *letter, struct arena *arena)
{
    uint8_t *to = arena_alloc(arena, 1 + ID_BYTES + VARINT_MAX + letter->reason.n);
    if (!to)
        return (struct bytes){NULL, 0};
    to[0] = (uint8_t)(VERSION_1 | (letter->again ? LETTER_AGAIN : 0));
    put_id(to + 1, letter->noted);
    return (struct bytes){to, 1 + ID_BYTES + put_block(to + 1 + ID_BYTES, letter->reason)};
}

bool letter_decode(struct bytes from, struct letter_record *letter)
{
    struct decoder r = decoder_of(from.p, from.n);
    uint8_t flags = read_head(&r, LETTER_AGAIN);
    *letter = (struct letter_record){.again = flags & LETTER_AGAIN};
    letter->noted = read_id(&r);
    letter->reason = read_block(&r);
    return read_end(&r) && is_stamp(letter->noted);
}

struct bytes letters_encode(const struct letters_record *letters, struct arena *arena)
{
    uint8_t *to = arena_alloc(arena, 1 + 4 * VARINT_MAX);
    size_t n = 1;
    if (!to)
        return (struct bytes){NULL, 0};
    to[0] = (uint8_t)(VERSION_1 | (letters->reconciles ? LETTERS_RECONCILES : 0));
    n += put_varint(to + n, letters->kept);
    n += put_varint(to + n, letters->again);
    n += put_varint(to + n, letters->lost);
    n += put_varint(to + n, letters->reconcile);
    return (struct bytes){to, n};
}

bool letters_decode(struct bytes from, struct letters_record *letters)
{
    struct decoder r = decoder_of(from.p, from.n);
    uint8_t flags = read_head(&r, LETTERS_RECONCILES);
    *letters = (struct letters_record){.reconciles = flags & LETTERS_RECONCILES};
    letters->kept = read_varint(&r);
    letters->again = read_varint(&r);
    letters->lost = read_varint(&r);
    letters->reconcile = read_varint(&r);
    return read_end(&r) && letters->kept <= TIDINGS_LETTERS_MAX &&
           letters->again <= letters->kept &&
           (!letters->reconcile || (letters->reconciles && is_stamp(letters->reconcile)));
}
