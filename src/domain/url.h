/* SPDX-License-Identifier: MIT */
/* Addresses that others will show or call: of the web, or none. */
#ifndef DOMAIN_URL_H
#define DOMAIN_URL_H

#include <stdbool.h>

#include "tidings.h"

/*
 * Whether it is an absolute URL of http or https: a host, no user or password, a port from 1 to 65535 if any, and no character
 * that ends an attribute or a tag where it is shown. Characters beyond ASCII are fine. The text must be UTF-8.
 */
bool url_is_web(struct tidings_text url);

/* Whether it is a path on the site that shows it, /pictures/1.png: one slash, then not another. */
bool url_is_path(struct tidings_text url);

#endif
