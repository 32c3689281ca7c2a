/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that lies in no folder of the system, for preload_test.c. */
int preload_answer(void);

__attribute__((visibility("default"))) int preload_answer(void)
{
    return 42;
}
