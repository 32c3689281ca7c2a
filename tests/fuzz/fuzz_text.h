/* SPDX-License-Identifier: BSD-3-Clause */
/* Inputs that are texts. */
#ifndef RZ_TESTS_FUZZ_TEXT_H
#define RZ_TESTS_FUZZ_TEXT_H

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

/* The input as a text in a block of just its length, of the caller's to free. */
static inline char *rz_fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) {
        abort();
    }
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = 0;
    return text;
}

#endif
