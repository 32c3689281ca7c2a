/* SPDX-License-Identifier: BSD-3-Clause */
/* closed_streams FD...: without these of its descriptors 0 to 2 a program cannot write into a
 * connection of the library by a number that it thinks is its own. */
#include "check.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static const char text[] = "what nobody is to read\n";
    int rank, size, sum, mine;
    for (int i = 1; i < argc; i++) {
        close(atoi(argv[i]));
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    mine = rank;
    for (int round = 0; round < 200; round++) {
        for (int i = 1; i < argc; i++) {
            int fd = atoi(argv[i]);
            char byte;
            errno = 0;
            CHECK(fd == 0 ? read(fd, &byte, 1) < 0 : write(fd, text, strlen(text)) < 0);
            CHECK(errno == EBADF);
        }
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == size * (size - 1) / 2);
    }
    MPI_Finalize();
    return 0;
}
