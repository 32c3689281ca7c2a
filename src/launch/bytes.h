/* SPDX-License-Identifier: BSD-3-Clause */
/* A byte buffer that grows. */
#ifndef RZ_LAUNCH_BYTES_H
#define RZ_LAUNCH_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* All zero: empty, and no memory. The owner frees `at`. */
struct rz_bytes {
    uint8_t *at;
    size_t n, room;
};

/* Appends n bytes of `more`. Asserts that there is memory. */
void rz_bytes_append(struct rz_bytes *bytes, const void *more, size_t n);

#endif
