/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls without libc, and what else is needed without it: while other threads stand still
 * they may hold libc's locks, and during a restore libc is not there. The only file with the
 * instruction `syscall`, besides registers.c, where a thread begins or returns from a signal.
 */
#ifndef RZ_IMAGE_RAW_CALL_H
#define RZ_IMAGE_RAW_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/* The result is that of the kernel: an error is -errno. */
static inline long rz_raw(long number, const long *argument)
{
    register long fourth __asm__("r10") = argument[3];
    register long fifth __asm__("r8") = argument[4];
    register long sixth __asm__("r9") = argument[5];
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(argument[0]), "S"(argument[1]), "d"(argument[2]),
                       "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

#define RZ_LONG(x) (long)(x)
#define RZ_RAW0(name) rz_raw(SYS_##name, (long[6]){0})
#define RZ_RAW1(name, a) rz_raw(SYS_##name, (long[6]){RZ_LONG(a)})
#define RZ_RAW2(name, a, b) rz_raw(SYS_##name, (long[6]){RZ_LONG(a), RZ_LONG(b)})
#define RZ_RAW3(name, a, b, c) rz_raw(SYS_##name, (long[6]){RZ_LONG(a), RZ_LONG(b), RZ_LONG(c)})
#define RZ_RAW4(name, a, b, c, d)                                                                  \
    rz_raw(SYS_##name, (long[6]){RZ_LONG(a), RZ_LONG(b), RZ_LONG(c), RZ_LONG(d)})
#define RZ_RAW5(name, a, b, c, d, e)                                                               \
    rz_raw(SYS_##name, (long[6]){RZ_LONG(a), RZ_LONG(b), RZ_LONG(c), RZ_LONG(d), RZ_LONG(e)})
#define RZ_RAW6(name, a, b, c, d, e, f)                                                            \
    rz_raw(SYS_##name,                                                                             \
           (long[6]){RZ_LONG(a), RZ_LONG(b), RZ_LONG(c), RZ_LONG(d), RZ_LONG(e), RZ_LONG(f)})

/* Whether a call that returns an address or a number has failed. */
static inline bool rz_raw_failed(long result)
{
    return result < 0 && result >= -4095;
}

/* Whether the page can be read. Behind the end of a mapped file the kernel refuses, where an
 * instruction would end the process. All signals are blocked already, and stay so. */
static inline bool rz_raw_readable(uint64_t at)
{
    return RZ_RAW4(rt_sigprocmask, 0 /* SIG_BLOCK */, at, 0, 8) == 0;
}

/* ---- Bytes and text ---- */

static inline void rz_raw_copy(void *to, const void *from, size_t bytes)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static inline void rz_raw_zero(void *to, size_t bytes)
{
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(0) : "memory");
}

static inline size_t rz_raw_length(const char *text)
{
    size_t n = 0;
    while (text[n]) {
        n++;
    }
    return n;
}

static inline bool rz_raw_begins(const char *text, const char *with)
{
    while (*with && *text == *with) {
        text++, with++;
    }
    return *with == '\0';
}

static inline bool rz_raw_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++, b++;
    }
    return *a == *b;
}

static inline bool rz_raw_ends(const char *text, const char *with)
{
    size_t n = rz_raw_length(text), m = rz_raw_length(with);
    return n >= m && rz_raw_same(text + n - m, with);
}

#endif
