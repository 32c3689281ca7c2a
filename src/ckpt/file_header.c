/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of a checkpoint file: bytes and struct. */
#include "ckpt/file_header.h"

#include "base/assert.h"
#include "ckpt/piece.h"
#include "wire/cursor.h"

#include <string.h>

#define FILE_MAGIC UINT64_C(0x313054504b435a52) /* "RZCKPT01" */
#define HASH_BYTES sizeof(uint64_t)

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

int rz_ckpt_generation_compare(const struct rz_ckpt_generation *a,
                               const struct rz_ckpt_generation *b)
{
    int order = compare(a->run, b->run);
    if (order == 0) {
        order = compare(a->epoch, b->epoch);
    }
    return order ? order : compare(a->number, b->number);
}

bool rz_ckpt_name_valid(const char *text)
{
    size_t n = strlen(text);
    return n > 0 && n < RZ_CKPT_NAME_MAX && text[0] != '.' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+") == n;
}

void rz_ckpt_header_encode(const struct rz_ckpt_header *header, uint8_t out[RZ_CKPT_HEADER_BYTES])
{
    struct rz_wire_writer w;
    rz_assert(rz_ckpt_name_valid(header->name));
    memset(out, 0, RZ_CKPT_HEADER_BYTES);
    rz_wire_writer_init(&w, out, RZ_CKPT_HEADER_BYTES - HASH_BYTES);
    rz_wire_put_u64(&w, FILE_MAGIC);
    rz_wire_put_u32(&w, RZ_CKPT_FILE_VERSION);
    rz_wire_put_u32(&w, header->kind);
    rz_wire_put_u32(&w, header->n_ranks);
    rz_wire_put_u32(&w, header->rank);
    rz_wire_put_u32(&w, header->generation.run);
    rz_wire_put_u32(&w, header->generation.epoch);
    rz_wire_put_u64(&w, header->generation.number);
    rz_wire_put_u64(&w, header->bytes);
    rz_wire_put_u64(&w, header->hash);
    rz_wire_put_text(&w, header->name);
    rz_assert(!w.overflow);
    rz_wire_writer_init(&w, out + RZ_CKPT_HEADER_BYTES - HASH_BYTES, HASH_BYTES);
    rz_wire_put_u64(&w, rz_piece_hash(out, RZ_CKPT_HEADER_BYTES - HASH_BYTES));
}

static bool head_intact(const uint8_t *at)
{
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, at + RZ_CKPT_HEADER_BYTES - HASH_BYTES, HASH_BYTES);
    return rz_wire_get_u64(&r) == rz_piece_hash(at, RZ_CKPT_HEADER_BYTES - HASH_BYTES);
}

static bool sensible(const struct rz_ckpt_header *h)
{
    bool mark = h->kind == RZ_CKPT_MARK;
    return h->kind < RZ_CKPT_KIND_COUNT && rz_ckpt_name_valid(h->name) && h->rank < h->n_ranks &&
           h->generation.run > 0 && h->generation.epoch > 0 && h->generation.number > 0 &&
           h->bytes <= INT64_MAX - RZ_CKPT_HEADER_BYTES &&
           (!mark || (h->rank == 0 && h->bytes == 0 && h->hash == 0));
}

/* A head has exactly one form: unused fields are zero. */
static bool same_again(const struct rz_ckpt_header *header, const void *at)
{
    uint8_t again[RZ_CKPT_HEADER_BYTES];
    rz_ckpt_header_encode(header, again);
    return memcmp(again, at, sizeof(again)) == 0;
}

rz_status_t rz_ckpt_header_decode(struct rz_ckpt_header *header, const void *at, size_t bytes)
{
    struct rz_wire_reader r;
    if (bytes < RZ_CKPT_HEADER_BYTES) {
        return RZ_ERR_TRUNCATE;
    }
    rz_wire_reader_init(&r, at, RZ_CKPT_HEADER_BYTES - HASH_BYTES);
    if (rz_wire_get_u64(&r) != FILE_MAGIC) {
        return RZ_ERR_MALFORMED;
    }
    if (rz_wire_get_u32(&r) != RZ_CKPT_FILE_VERSION) {
        return RZ_ERR_VERSION;
    }
    if (!head_intact(at)) {
        return RZ_ERR_MALFORMED;
    }
    struct rz_ckpt_header read = {.kind = (enum rz_ckpt_kind)rz_wire_get_u32(&r)};
    read.n_ranks = rz_wire_get_u32(&r);
    read.rank = rz_wire_get_u32(&r);
    read.generation.run = rz_wire_get_u32(&r);
    read.generation.epoch = rz_wire_get_u32(&r);
    read.generation.number = rz_wire_get_u64(&r);
    read.bytes = rz_wire_get_u64(&r);
    read.hash = rz_wire_get_u64(&r);
    const char *name = rz_wire_get_text(&r);
    if (r.malformed || strlen(name) >= sizeof(read.name)) {
        return RZ_ERR_MALFORMED;
    }
    memcpy(read.name, name, strlen(name) + 1);
    if (!sensible(&read) || !same_again(&read, at)) {
        return RZ_ERR_MALFORMED;
    }
    *header = read;
    return RZ_OK;
}
