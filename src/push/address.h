/* SPDX-License-Identifier: MIT */
/*
 * Which addresses belong to the public internet. Everything else is somebody's inside: loopback,
 * private and shared networks, link-local (where clouds keep their metadata), multicast, what is
 * reserved or for documentation, and every IPv6 form that wraps an IPv4 address.
 */
#ifndef PUSH_ADDRESS_H
#define PUSH_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct address {
    int family;        /* AF_INET or AF_INET6 */
    uint8_t bytes[16]; /* the first 4 of them for AF_INET */
};

/* From text, without brackets. */
bool address_parse(const char *text, struct address *address);

/* From `n` bytes of what a socket connects to, with its port. False for families that are not of the
 * internet. */
bool address_of(const struct sockaddr *from, size_t n, struct address *address, uint16_t *port);

/* How many bits it has. */
unsigned address_bits(const struct address *address);

/* Whether both are of one family and begin with the same bits. */
bool address_same_bits(const struct address *a, const struct address *b, unsigned bits);

/* `n` bytes of address. False also for families that are not of the internet. */
bool address_is_public(const struct sockaddr *address, size_t n);

/* The same for an address as text, without brackets; *is_address tells whether it is one at all. */
bool address_text_is_public(const char *text, bool *is_address);

#endif
