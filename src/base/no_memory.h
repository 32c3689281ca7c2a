/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a process that has no memory for what it cannot do without: a sentence on standard
 * error and an exit status other than 0. The others see a failed process or node, or a launcher
 * that is gone. What a caller can be refused is an error instead: RZ_ERR_NO_MEMORY.
 */
#ifndef RZ_BASE_NO_MEMORY_H
#define RZ_BASE_NO_MEMORY_H

#include <stddef.h>

/* How the sentence begins ("rzd[3]", "rhizome: rank 5"; it is cut after some 60 characters), and
 * the exit status; at first "rhizome" and 1. */
void rz_no_memory_speaker(int exit_status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "rzd[3]: no memory for what": the purpose begins with "for" or "to". */
_Noreturn void rz_no_memory(const char *purpose, ...) __attribute__((format(printf, 1, 2)));

/* Ends the process if memory is NULL. */
#define rz_need_memory(memory, ...) ((memory) ? (void)0 : rz_no_memory(__VA_ARGS__))

/* A copy of n bytes in memory of its own, also of none; where there is no memory the process ends.
 */
void *rz_need_copy(const void *bytes, size_t n, const char *purpose);

#endif
