/* SPDX-License-Identifier: BSD-3-Clause */
/* Text files that the user names: hostfiles, rankfiles, files of contexts and that of PBS. They are
 * read whole and have a bound, so that a device or a pipe without an end is an error instead of a
 * job that never begins.
 */
#ifndef RZ_LAUNCH_TEXT_FILE_H
#define RZ_LAUNCH_TEXT_FILE_H

#include <stdbool.h>

enum { RZ_TEXT_FILE_MAX = 16 << 20 }; /* bytes */

/*
 * Calls take(arg, line, why) for each line, with its end, until it returns false and has set *why.
 * False: then *why begins with the number of the line; or there is a zero byte in a line, or the
 * file cannot be read, or is larger than RZ_TEXT_FILE_MAX. *why is static, until the next call.
 */
bool rz_text_file_lines(const char *file, bool (*take)(void *arg, char *line, const char **why),
                        void *arg, const char **why);

#endif
