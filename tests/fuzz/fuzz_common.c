/* SPDX-License-Identifier: BSD-3-Clause */
/* What targets use, under the driver and under libFuzzer. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void rz_fuzz_fail(const char *property, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, property);
    abort();
}

void *rz_fuzz_copy(const void *bytes, size_t n)
{
    void *copy = malloc(n);
    if (!copy && n > 0) {
        abort();
    }
    if (n > 0) {
        memcpy(copy, bytes, n);
    }
    return copy;
}

size_t rz_fuzz_seed_noise(uint32_t number, size_t n, uint8_t *bytes, size_t max)
{
    uint64_t word = number + 1;
    for (size_t i = 0; i < n && i < max; i++) {
        word = word * UINT64_C(6364136223846793005) + 1442695040888963407;
        bytes[i] = (uint8_t)(word >> 40);
    }
    return n;
}

size_t rz_fuzz_seed_text(const char *const *texts, uint32_t number, uint8_t *bytes, size_t max)
{
    for (uint32_t i = 0; i <= number; i++) {
        if (!texts[i]) {
            return 0;
        }
    }
    size_t n = strlen(texts[number]);
    if (n > max) {
        return 0;
    }
    memcpy(bytes, texts[number], n);
    return n;
}
