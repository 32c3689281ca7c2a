/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory and texts of this component: allocation that ends the program when memory runs out. */
#include "chart/chart_state.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void *rz_chart_memory(void *old, size_t n, size_t bytes)
{
    void *memory = reallocarray(old, n > 0 ? n : 1, bytes);
    if (!memory) {
        fprintf(stderr, "out of memory for %zu objects of %zu bytes\n", n, bytes);
        exit(1);
    }
    return memory;
}

char *rz_chart_copy(const char *text)
{
    size_t bytes = strlen(text ? text : "") + 1;
    return memcpy(rz_chart_memory(NULL, bytes, 1), text ? text : "", bytes);
}

bool rz_chart_say(const char **why, const char *format, ...)
{
    static _Thread_local char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    *why = text;
    return false;
}
