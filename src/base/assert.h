/* SPDX-License-Identifier: BSD-3-Clause */
/* Assertions for programming errors; enabled in release builds, too. */
#ifndef RZ_BASE_ASSERT_H
#define RZ_BASE_ASSERT_H

/* Called when an assertion fails; prints and aborts unless a host has set its own hook. */
_Noreturn void rz_assert_fail(const char *expression, const char *file, int line);

/* A host's hook, called before the abort (a simulator prints its replay command). NULL: print to
 * standard error. */
typedef void (*rz_assert_hook_t)(const char *expression, const char *file, int line);
extern rz_assert_hook_t rz_assert_hook;

#define rz_assert(condition)                                                                       \
    ((condition) ? (void)0 : rz_assert_fail(#condition, __FILE__, __LINE__))

#endif
