/* SPDX-License-Identifier: MIT */
/* Exporting and importing as a whole: see tidings_export and tidings_import. */
#ifndef FACTS_FACTS_H
#define FACTS_FACTS_H

#include "engine/engine.h"

enum tidings_err facts_export(struct engine *engine, struct tidings_export *out);
enum tidings_err facts_import(struct engine *engine, struct tidings_import *in,
                              const char **message);

#endif
