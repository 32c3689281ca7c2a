/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of other processes, as a terminal may show it. */
#ifndef RZ_BASE_PRINTABLE_H
#define RZ_BASE_PRINTABLE_H

#include <stddef.h>

/* Replaces what a terminal could take for a command, and what makes a text look like another one,
 * by '?' for each byte: control characters, also the second kind of them as UTF-8 writes it (U+0080
 * to U+009F), but not those in `kept`; separators of lines and paragraphs (U+2028, U+2029) and what
 * turns the direction of writing (U+202A to U+202E, U+2066 to U+2069). Other bytes stay, so that
 * text in any language is shown. The text may be a piece of a longer one: none is made of two
 * pieces. */
void rz_printable(char *text, size_t n, const char *kept);

/* Copies at most bytes - 1 characters of a text for a screen that has ASCII only, and ends them:
 * each other character is one '?'. They may be the same memory. */
void rz_printable_ascii(char *to, size_t bytes, const char *from);

#endif
