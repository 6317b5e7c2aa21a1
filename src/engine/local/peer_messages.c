/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "engine/local/peers.h"
#include "engine/local/storage/store.h"

enum { END_BYTES = 4 * 8 + CHAIN_BYTES, SEEN_BYTES = 2 * 8, KEY_DIGITS = 2 * WIRE_KEY_BYTES };

enum wire_result peer_send_end(struct wire *wire, enum peer_message type,
                               const struct peer_end *end)
{
    uint8_t bytes[END_BYTES];
    put_u64(bytes, end->position);
    memcpy(bytes + 8, end->chain.bytes, CHAIN_BYTES);
    put_u64(bytes + 8 + CHAIN_BYTES, end->era);
    put_u64(bytes + 16 + CHAIN_BYTES, end->stamp);
    put_u64(bytes + 24 + CHAIN_BYTES, end->age_ms);
    return wire_send(wire, (uint8_t)type, &(struct bytes){bytes, sizeof bytes}, 1);
}

bool peer_read_end(struct bytes message, struct peer_end *end)
{
    struct decoder r = decoder_of(message.p, message.n);
    if (message.n != END_BYTES)
        return false;
    end->position = read_u64(&r);
    memcpy(end->chain.bytes, read_bytes(&r, CHAIN_BYTES), CHAIN_BYTES);
    end->era = read_u64(&r);
    end->stamp = read_u64(&r);
    end->age_ms = read_u64(&r);
    return true;
}

enum wire_result peer_send_seen(struct wire *wire, const struct peer_seen *seen)
{
    uint8_t bytes[SEEN_BYTES];
    put_u64(bytes, seen->position);
    put_u64(bytes + 8, seen->stamp);
    return wire_send(wire, PEER_SEEN, &(struct bytes){bytes, sizeof bytes}, 1);
}

bool peer_read_seen(struct bytes message, struct peer_seen *seen)
{
    struct decoder r = decoder_of(message.p, message.n);
    *seen = (struct peer_seen){.position = read_u64(&r), .stamp = read_u64(&r)};
    return !r.bad && !decoder_left(&r);
}

enum wire_result peer_send_text(struct wire *wire, enum peer_message type, const char *text)
{
    uint8_t length[VARINT_MAX];
    struct bytes parts[] = {{length, put_varint(length, strlen(text))},
                            {(const uint8_t *)text, strlen(text)}};
    return wire_send(wire, (uint8_t)type, parts, 2);
}

enum wire_result peer_refuse(struct wire *wire, bool try_again, const char *why)
{
    uint8_t again = try_again, length[VARINT_MAX];
    struct bytes parts[] = {{&again, 1},
                            {length, put_varint(length, strlen(why))},
                            {(const uint8_t *)why, strlen(why)}};
    return wire_send(wire, PEER_REFUSED, parts, 3);
}

void peer_read_text(struct decoder *r, char *to, size_t n)
{
    size_t length = read_varint(r);
    const uint8_t *text = read_bytes(r, length);
    size_t used = text ? (length < n - 1 ? length : n - 1) : 0;
    if (used)
        memcpy(to, text, used);
    to[used] = '\0';
}

const char *peer_host(const char *address)
{
    static const char scheme[] = "tidings://";
    return strncmp(address, scheme, sizeof scheme - 1) ? address : address + sizeof scheme - 1;
}

enum tidings_err peer_ask(struct wire_context *context, const char *address,
                          enum peer_message question, struct bytes body, struct wire **wire,
                          uint8_t *type, struct buf *to, bool *again, const char **message)
{
    const char *why;
    char text[COMPLAINT_BYTES];
    *again = false;
    enum wire_result result =
        wire_connect(context, peer_host(address), PEER_TIMEOUT_MS, wire, &why);
    if (result)
        return store_fail(result == WIRE_REFUSED ? TIDINGS_INVALID : TIDINGS_UNREACHABLE, message,
                          why, false);
    result = wire_send(*wire, (uint8_t)question, &body, 1);
    if (!result)
        result = wire_receive(*wire, PEER_TIMEOUT_MS, type, to);
    if (result) {
        snprintf(text, sizeof text, "%.150s: it did not answer", address);
    } else if (*type == PEER_REFUSED) {
        struct decoder r = decoder_of(to->data, to->len);
        *again = read_u8(&r);
        peer_read_text(&r, text, sizeof text);
    } else {
        return TIDINGS_OK;
    }
    wire_free(*wire);
    *wire = NULL;
    return store_fail(result || *again ? TIDINGS_UNREACHABLE : TIDINGS_INVALID, message, text,
                      false);
}

/* ---- The key -------------------------------------------------------------------------------- */

static bool hex_read(const char *text, size_t n, uint8_t key[WIRE_KEY_BYTES])
{
    while (n && (text[n - 1] == '\n' || text[n - 1] == '\r' || text[n - 1] == ' '))
        n--;
    if (n != KEY_DIGITS)
        return false;
    for (size_t i = 0; i < WIRE_KEY_BYTES; i++) {
        char digits[3] = {text[2 * i], text[2 * i + 1]}, *end;
        key[i] = (uint8_t)strtoul(digits, &end, 16);
        if (end != digits + 2)
            return false;
    }
    return true;
}

static enum tidings_err make_key(const char *dir, uint8_t key[WIRE_KEY_BYTES], const char **message)
{
    char text[KEY_DIGITS + 2];
    if (getrandom(key, WIRE_KEY_BYTES, 0) != WIRE_KEY_BYTES)
        return store_fail(TIDINGS_IO, message, "no random numbers", true);
    for (size_t i = 0; i < WIRE_KEY_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", key[i]);
    text[KEY_DIGITS] = '\n';
    if (dir_make(dir) || file_replace(dir, "peer.key", text, KEY_DIGITS + 1))
        return store_fail(file_error(), message, "peer.key cannot be written", true);
    return TIDINGS_OK;
}

enum tidings_err peer_key_read(const char *dir, const char *file, bool may_make,
                               uint8_t key[WIRE_KEY_BYTES], const char **message)
{
    char path[PATH_BYTES], text[COMPLAINT_BYTES];
    uint8_t *bytes;
    size_t n;
    if (!file && !path_join(path, dir, "peer.key"))
        return store_fail(TIDINGS_INVALID, message, "the path of the data directory is too long",
                          false);
    enum tidings_err err = file_read(file ? file : path, 4 * KEY_DIGITS, &bytes, &n);
    if (err && errno == ENOENT && !file && may_make)
        return make_key(dir, key, message);
    if (err) {
        snprintf(text, sizeof text,
                 "%.120s cannot be read: it is the key of the server that is followed, peer.key in "
                 "its data directory",
                 file ? file : path);
        return store_fail(TIDINGS_INVALID, message, text, true);
    }
    bool sound = hex_read((const char *)bytes, n, key);
    free(bytes);
    return sound ? TIDINGS_OK
                 : store_fail(TIDINGS_INVALID, message, "peer.key is not 64 hexadecimal digits",
                              false);
}
