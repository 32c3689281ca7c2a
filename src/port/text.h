/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program's own code: the executable segments of the main program, in contrast to those of the
 * shared libraries it uses, above all the C library. A thread that is interrupted there holds no
 * lock of a library, and is inside a library's call only if that call calls back (a comparison for
 * qsort).
 */
#ifndef RZ_PORT_TEXT_H
#define RZ_PORT_TEXT_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Finds the segments. To be called once, before the other functions. RZ_ERR_UNSUPPORTED: not on
 * this kind of machine. */
rz_status_t rz_text_look(void);

/* Whether address is in the program's own code. Async-signal-safe. */
bool rz_text_holds(uintptr_t address);

/* Whether the program has its own definition of a function that libraries use (malloc). If it is
 * linked into the program, its code cannot be distinguished from the program's. */
bool rz_text_defines(const char *function);

/* The address of the instruction that a signal interrupted; context: the third argument of its
 * handler. */
uintptr_t rz_text_interrupted(const void *context);

#endif
