/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the name that is most similar to a mistyped word. */
#include "cli/cli.h"

#include <string.h>

#define NAME_MAX_BYTES 63

static size_t least_of(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* The number of letters that must be inserted, removed or replaced to make b from a
 * (Levenshtein). */
static size_t distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_BYTES + 1], n = strlen(b);
    if (n > NAME_MAX_BYTES) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (size_t i = 1; *a; i++, a++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t above = row[j];
            row[j] = least_of(above + 1, row[j - 1] + 1, corner + (*a != b[j - 1]));
            corner = above;
        }
    }
    return row[n];
}

const char *rz_cli_nearest(const char *word, const char *const *names)
{
    const char *nearest = NULL;
    size_t least = strlen(word) / 4 + 1; /* a larger distance would be a guess */
    for (; *names; names++) {
        size_t away = distance(word, *names);
        if (away < least || (away == least && !nearest)) {
            least = away;
            nearest = *names;
        }
    }
    return nearest;
}
