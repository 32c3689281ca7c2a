/*
 * The program's own code: the executable segments of the main program, as against those of the
 * shared libraries it uses, the C library above all. Who is interrupted there holds no lock of a
 * library and is in the midst of none of their calls but those that call back (a comparison for
 * qsort).
 */
#ifndef RZ_PORT_TEXT_H
#define RZ_PORT_TEXT_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Finds it; once, before the others are asked. RZ_ERR_UNSUPPORTED: not on this kind of machine. */
rz_status_t rz_text_look(void);

/* Whether that address lies in it. Async-signal-safe. */
bool rz_text_holds(uintptr_t address);

/* Whether the program brings its own definition of a function that libraries use (malloc): linked
 * into it, its code cannot be told from the program's. */
bool rz_text_defines(const char *function);

/* The instruction that a signal interrupted; context: the third argument of its handler. */
uintptr_t rz_text_interrupted(const void *context);

#endif
