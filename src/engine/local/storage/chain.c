/* SPDX-License-Identifier: MIT */
#include "engine/local/storage/chain.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "engine/local/storage/redo.h"

/* Looking the algorithm up takes longer than a small record's digest: it is done once. */
struct chainer {
    EVP_MD *md;
    EVP_MD_CTX *ctx;
};

struct chainer *chainer_new(void)
{
    struct chainer *chainer = calloc(1, sizeof *chainer);
    if (!chainer)
        return NULL;
    chainer->md = EVP_MD_fetch(NULL, "SHA256", NULL);
    chainer->ctx = EVP_MD_CTX_new();
    if (chainer->md && chainer->ctx)
        return chainer;
    chainer_free(chainer);
    return NULL;
}

void chainer_free(struct chainer *chainer)
{
    if (!chainer)
        return;
    EVP_MD_CTX_free(chainer->ctx);
    EVP_MD_free(chainer->md);
    free(chainer);
}

bool chain_next(struct chainer *chainer, const struct chain *before,
                const struct redo_record *record, struct chain *next)
{
    uint8_t head[CHAIN_BYTES + 2 * 8], digest[EVP_MAX_MD_SIZE];
    memcpy(head, before->bytes, CHAIN_BYTES);
    put_u64(head + CHAIN_BYTES, record->number);
    put_u64(head + CHAIN_BYTES + 8, (uint64_t)record->time_ms);
    if (!EVP_DigestInit_ex2(chainer->ctx, chainer->md, NULL) ||
        !EVP_DigestUpdate(chainer->ctx, head, sizeof head) ||
        !EVP_DigestUpdate(chainer->ctx, record->changes.p, record->changes.n) ||
        !EVP_DigestFinal_ex(chainer->ctx, digest, NULL))
        return false;
    memcpy(next->bytes, digest, CHAIN_BYTES);
    return true;
}

bool digest_sha256(struct bytes bytes, uint8_t to[DIGEST_BYTES])
{
    unsigned n = 0;
    return EVP_Digest(bytes.p, bytes.n, to, &n, EVP_sha256(), NULL) && n == DIGEST_BYTES;
}
