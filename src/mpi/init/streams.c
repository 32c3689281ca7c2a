/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets line buffering on standard output, on request.
 */
#include "mpi/init/streams.h"

#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USUAL_BUFFER_BYTES 4096 /* the size of the C library's buffer for a pipe */

void rz_streams_settle(void)
{
    const char *how = getenv("RZ_STDOUT");
    size_t bytes = __fbufsize(stdout);
    if (!how || strcmp(how, "line") != 0 || __flbf(stdout) ||
        (bytes != 0 && bytes != USUAL_BUFFER_BYTES) || lseek(STDOUT_FILENO, 0, SEEK_CUR) >= 0) {
        return;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
}
