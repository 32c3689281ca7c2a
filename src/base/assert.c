/* SPDX-License-Identifier: BSD-3-Clause */
/* Assertions that stay enabled, with a hook for the host. */
#include "base/assert.h"
#include "base/trace.h"

#include <stdio.h>
#include <stdlib.h>

rz_assert_hook_t rz_assert_hook;

_Noreturn void rz_assert_fail(const char *expression, const char *file, int line)
{
    RZ_TRACE(ASSERTION_FAILED, line, 0, 0);
    if (rz_assert_hook) {
        rz_assert_hook(expression, file, line);
    } else {
        fprintf(stderr, "rhizome: %s:%d: assertion failed: %s\n", file, line, expression);
    }
    abort();
}
