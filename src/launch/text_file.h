/* SPDX-License-Identifier: BSD-3-Clause */
/* Text files that the user names: hostfiles and files of contexts. They are read whole and have a
 * bound, so that a device or a pipe without an end is an error instead of a job that never begins.
 */
#ifndef RZ_LAUNCH_TEXT_FILE_H
#define RZ_LAUNCH_TEXT_FILE_H

#include <stdio.h>

enum { RZ_TEXT_FILE_MAX = 16 << 20 }; /* bytes */

/* Opens `file` for reading lines. NULL: it cannot be read, or is larger than RZ_TEXT_FILE_MAX; *why
 * says which (static, until the next call). The caller ends with fclose and then frees *text. */
FILE *rz_text_file_open(const char *file, char **text, const char **why);

#endif
