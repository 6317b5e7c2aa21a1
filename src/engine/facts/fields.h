/* SPDX-License-Identifier: MIT */
/* The tables of fact.h as data: for fact.c, which writes lines, and line.c, which reads them. */
#ifndef FACTS_FIELDS_H
#define FACTS_FIELDS_H

#include "engine/facts/fact.h"

enum field_kind {
    FIELD_KIND_ID,
    FIELD_KIND_NUMBER,
    FIELD_KIND_TEXT,
    FIELD_KIND_OBJECT, /* JSON as it is */
    FIELD_KIND_BOOL,
    FIELD_KIND_KIND,
    FIELD_KIND_STATUS,
    FIELD_KIND_REACTION,
    FIELD_KIND_RANGES,
    FIELD_KIND_IDS,
    FIELD_KIND_MESSAGES,
    FIELD_KIND_EVENTS,
};

struct field_row {
    const char *name;
    size_t n;
    enum field_kind kind;
    size_t offset;
};
extern const struct field_row fact_fields[FACT_FIELD_COUNT];

struct type_row {
    const char *name;
    uint64_t may, must, others;
};
extern const struct type_row fact_types[FACT_TYPE_COUNT];

/* Words, to the one without text. */
struct word {
    const char *text;
    int value;
};
extern const struct word fact_kinds[], fact_states[], fact_reactions[];

#endif
