/* SPDX-License-Identifier: MIT */
/*
 * Which addresses belong to the public internet. Everything else is somebody's inside: loopback,
 * private and shared networks, link-local (where clouds keep their metadata), multicast, what is
 * reserved or for documentation, and every IPv6 form that wraps an IPv4 address.
 */
#ifndef PUSH_ADDRESS_H
#define PUSH_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* `n` bytes of address. False also for families that are not of the internet. */
bool address_is_public(const struct sockaddr *address, size_t n);

/* The same for an address as text, without brackets; *is_address tells whether it is one at all. */
bool address_text_is_public(const char *text, bool *is_address);

#endif
