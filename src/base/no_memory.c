/* SPDX-License-Identifier: BSD-3-Clause */
/* All of it stands in memory that is there already: the words, too. */
#include "base/no_memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STANDARD_ERROR = 2, SPEAKER_BYTES = 64, SENTENCE_BYTES = 400 };

static char speaker[SPEAKER_BYTES] = "rhizome";
static int status = EXIT_FAILURE;

void rz_no_memory_speaker(int exit_status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(speaker, sizeof(speaker), format, arguments);
    va_end(arguments);
    status = exit_status;
}

/* Not by stdio's stream, which a thread may have to write out. */
void rz_no_memory(const char *purpose, ...)
{
    char sentence[SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, purpose);
    vsnprintf(sentence, sizeof(sentence), purpose, arguments);
    va_end(arguments);
    dprintf(STANDARD_ERROR, "%s: no memory %s\n", speaker, sentence);
    _Exit(status);
}

void *rz_need_copy(const void *bytes, size_t n, const char *purpose)
{
    void *copy = malloc(n + 1);
    rz_need_memory(copy, "%s", purpose);
    return n > 0 ? memcpy(copy, bytes, n) : copy;
}
