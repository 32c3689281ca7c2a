#include "ckpt/piece.h"

#include "base/assert.h"
#include "wire/cursor.h"

#include <string.h>
#include <xxhash.h>

#define MAGIC UINT32_C(0x315a5243) /* "CRZ1" */
#define ALIGNMENT 64

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t table_bytes(uint32_t n)
{
    return aligned(8 + (size_t)n * 8);
}

size_t rz_piece_bytes(const struct rz_region *regions, uint32_t n)
{
    size_t bytes = table_bytes(n);
    for (uint32_t i = 0; i < n; i++)
        bytes += aligned(regions[i].bytes);
    return bytes;
}

void rz_piece_write(void *at, const struct rz_region *regions, uint32_t n)
{
    struct rz_wire_writer w;
    uint8_t *data = (uint8_t *)at + table_bytes(n);
    rz_wire_writer_init(&w, at, table_bytes(n));
    rz_wire_put_u32(&w, MAGIC);
    rz_wire_put_u32(&w, n);
    for (uint32_t i = 0; i < n; i++) {
        rz_wire_put_u64(&w, regions[i].bytes);
        if (regions[i].bytes > 0)
            memcpy(data, regions[i].memory, regions[i].bytes);
        data += aligned(regions[i].bytes);
    }
    rz_assert(!w.overflow);
}

rz_status_t rz_piece_read(const void *at, size_t bytes, const struct rz_region *regions, uint32_t n,
                          uint32_t *id)
{
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, at, bytes);
    if (rz_wire_get_u32(&r) != MAGIC)
        return RZ_ERR_MALFORMED;
    uint32_t stored = rz_wire_get_u32(&r);
    *id = 0;
    if (stored != n)
        return RZ_ERR_INVALID;
    for (uint32_t i = 0; i < n; i++) {
        *id = i;
        if (rz_wire_get_u64(&r) != regions[i].bytes)
            return r.malformed ? RZ_ERR_MALFORMED : RZ_ERR_INVALID;
    }
    if (bytes != rz_piece_bytes(regions, n))
        return RZ_ERR_MALFORMED;
    const uint8_t *data = (const uint8_t *)at + table_bytes(n);
    for (uint32_t i = 0; i < n; i++) {
        if (regions[i].bytes > 0)
            memcpy(regions[i].memory, data, regions[i].bytes);
        data += aligned(regions[i].bytes);
    }
    return RZ_OK;
}

uint64_t rz_piece_hash(const void *at, size_t bytes)
{
    return XXH3_64bits(at, bytes);
}
