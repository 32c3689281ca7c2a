/* SPDX-License-Identifier: BSD-3-Clause */
/* How a component lays out its state: one flat block, in which arrays stand at offsets. */
#ifndef RZ_PROTO_BLOCK_H
#define RZ_PROTO_BLOCK_H

#include <stddef.h>

/* The offset of an array of `count` elements; *end, where the next one may start, moves behind it,
 * to a multiple of 8. */
static inline size_t rz_block_place(size_t *end, size_t count, size_t element)
{
    size_t at = *end;
    *end = (at + count * element + 7) & ~(size_t)7;
    return at;
}

#endif
