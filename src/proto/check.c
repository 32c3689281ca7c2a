/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the reason of a violated property. */
#include "proto/check.h"

#include <stdarg.h>
#include <stdio.h>

bool rz_check_say(const struct rz_check_group *group, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(group->why, group->why_bytes, format, list);
    va_end(list);
    return false;
}
