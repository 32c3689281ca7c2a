/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the hook, and draws by seed and name. */
#include "port/bounds.h"

#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t bound_drawn(uint64_t seed, const char *name, uint64_t usual, uint64_t least)
{
    uint64_t low = usual < least ? usual : least, high = usual < least ? least : usual;
    for (const char *c = name; *c; c++) {
        seed = rz_mix(seed, (unsigned char)*c);
    }
    return low + seed % (high - low + 1);
}

uint64_t rz_bound(const char *name, uint64_t usual, uint64_t least)
{
    const char *text = getenv(RZ_BOUNDS_ENVIRONMENT);
    if (!text || !*text) {
        return usual;
    }
    if (strcmp(text, "least") == 0) {
        return least;
    }
    char *end = NULL;
    if (strcmp(text, "odd") == 0) {
        return bound_drawn(1, name, usual, least);
    }
    uint64_t seed = strncmp(text, "odd:", 4) == 0 ? strtoull(text + 4, &end, 10) : 0;
    if (!end || end == text + 4 || *end) {
        fprintf(stderr, RZ_BOUNDS_ENVIRONMENT "=%s is neither least nor odd:SEED\n", text);
        exit(EXIT_FAILURE);
    }
    return bound_drawn(seed, name, usual, least);
}
