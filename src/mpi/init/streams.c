/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the numbers of the standard streams; sets line buffering on standard output, on request.
 */
#include "mpi/init/streams.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USUAL_BUFFER_BYTES 4096 /* the size of the C library's buffer for a pipe */

/* Each is the lowest number that is free. */
void rz_streams_fill(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            /* the other way round: EBADF, as before */
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

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
