/* SPDX-License-Identifier: BSD-3-Clause */
/* The growing byte buffer: it doubles its memory. */
#include "launch/bytes.h"

#include "base/no_memory.h"

#include <stdlib.h>
#include <string.h>

#define PROTOCOL_FIRST 256

void rz_bytes_append(struct rz_bytes *bytes, const void *more, size_t n)
{
    if (n == 0) {
        return;
    }
    if (bytes->room - bytes->n < n) {
        size_t room = bytes->room ? bytes->room : PROTOCOL_FIRST;
        while (room - bytes->n < n) {
            room *= 2;
        }
        bytes->at = realloc(bytes->at, room);
        rz_need_memory(bytes->at, "for output of the job");
        bytes->room = room;
    }
    memcpy(bytes->at + bytes->n, more, n);
    bytes->n += n;
}
