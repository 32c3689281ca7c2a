#include "launch/show_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void write_all(int fd, const uint8_t *data, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, data, n);
        if (written < 0 && errno != EINTR)
            return; /* nobody reads our output any more; the job goes on */
        if (written > 0) {
            data += written;
            n -= (size_t)written;
        }
    }
}

static void write_labelled(struct rz_show_output *show, int fd, uint32_t rank, const uint8_t *data,
                           size_t n)
{
    char label[16];
    int length = snprintf(label, sizeof label, "[%u] ", rank);
    bool *inside = &show->in_a_line[fd - 1];
    while (n > 0) {
        const uint8_t *newline = memchr(data, '\n', n);
        size_t line = newline ? (size_t)(newline - data) + 1 : n;
        if (!*inside)
            write_all(fd, (const uint8_t *)label, (size_t)length);
        write_all(fd, data, line);
        *inside = newline == NULL;
        data += line;
        n -= line;
    }
}

void rz_show_output(struct rz_show_output *show, const struct rz_launch_output *output)
{
    int fd = output->stream == 2 ? STDERR_FILENO : STDOUT_FILENO;
    if (show->label && output->rank != RZ_ID_NONE)
        write_labelled(show, fd, output->rank, output->data, output->data_length);
    else
        write_all(fd, output->data, output->data_length);
}
