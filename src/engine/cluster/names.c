/* SPDX-License-Identifier: MIT */
#include "engine/cluster/names.h"

#include "domain/name.h"

enum { PAGE = 500 };

/* Unless the name has become another meanwhile: whoever changed it has seen to the row, or comes later. */
static void put_fill(struct buf *text, uint64_t user, struct bytes name, struct bytes folded)
{
    if (text->len)
        buf_char(text, ';');
    buf_literal(text, "INSERT INTO profile_name (user_id, folded) SELECT user_id, ");
    sql_put_bytes(text, folded);
    buf_printf(text, " FROM profile WHERE user_id = %llu AND CAST(name AS BINARY) = ",
               (unsigned long long)user);
    sql_put_bytes(text, name);
    buf_literal(text, " ON DUPLICATE KEY UPDATE folded = VALUES(folded)");
}

/* Looks at the next users behind *after, moves that on, and puts statements for those whose row is missing or wrong. *more is whether
 * there are further ones. */
static enum sql_outcome look(struct sql *sql, uint64_t *after, bool *more, struct buf *fills)
{
    struct buf text;
    size_t n = 0;
    buf_init(&text, 1 << 10);
    buf_printf(
        &text,
        "SELECT p.user_id, p.name, n.folded FROM profile p LEFT JOIN profile_name n ON n.user_id = "
        "p.user_id WHERE p.user_id > %llu AND LENGTH(p.name) > 0 ORDER BY p.user_id LIMIT %d",
        (unsigned long long)*after, PAGE);
    enum sql_outcome outcome = sql_send(sql, &text);
    for (; !outcome && sql_row(sql); n++) {
        uint8_t folded[NAME_FOLDED_MAX];
        struct bytes name = sql_bytes(sql, 1), right = {folded, name_fold(name, folded)};
        *after = sql_u64(sql, 0);
        if (sql_is_null(sql, 2) || !bytes_same(sql_bytes(sql, 2), right))
            put_fill(fills, *after, name, right);
    }
    *more = n == PAGE;
    buf_release(&text);
    return outcome;
}

static enum sql_outcome remove_strangers(struct sql *sql)
{
    return sql_run_text(sql,
                        "DELETE profile_name FROM profile_name LEFT JOIN profile p ON p.user_id = "
                        "profile_name.user_id AND LENGTH(p.name) > 0 WHERE p.user_id IS NULL");
}

enum sql_outcome names_fill(struct sql *sql)
{
    enum { STATEMENT_MAX = 4096 };
    enum sql_outcome outcome;
    uint64_t after = 0;
    bool more;
    do {
        struct buf text;
        buf_init(&text, PAGE * STATEMENT_MAX);
        outcome = look(sql, &after, &more, &text);
        if (!outcome && text.len)
            outcome = text.failed ? SQL_REFUSED : sql_run(sql, &text);
        buf_release(&text);
    } while (!outcome && more);
    return outcome ? outcome : remove_strangers(sql);
}
