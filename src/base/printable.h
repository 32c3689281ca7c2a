/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of other processes, as a terminal may show it. */
#ifndef RZ_BASE_PRINTABLE_H
#define RZ_BASE_PRINTABLE_H

#include <stddef.h>

/* Replaces what a terminal could take for a command by '?': control characters, also the second
 * kind of them as UTF-8 writes it (U+0080 to U+009F), but not those in `kept`. Other bytes stay, so
 * that text in any language is shown. The text may be a piece of a longer one: none is made of two
 * pieces. */
void rz_printable(char *text, size_t n, const char *kept);

#endif
