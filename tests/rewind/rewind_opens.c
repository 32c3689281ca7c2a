/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long it takes to open a file for appending, and to close it: for the first time, again, and
 * for reading. Under rzrun with and without --rewind (docs/decisions/0063-marks-of-files.md).
 *
 *   rewind_opens FOLDER
 */
#include <mpi.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TIMES = 500 };

static int rank;
static const char *folder;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Each time another file, or the same one. */
static void measure(const char *what, int other, int flags)
{
    static double took[TIMES];
    char path[4096];
    for (int i = 0; i < TIMES; i++) {
        snprintf(path, sizeof(path), "%s/%s%d.%d", folder, other ? "file" : "one", other ? i : 0,
                 rank);
        double begun = MPI_Wtime();
        int fd = open(path, flags, 0600);
        took[i] = MPI_Wtime() - begun;
        if (fd < 0) {
            perror(path);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        close(fd);
    }
    qsort(took, TIMES, sizeof(*took), compare);
    if (rank == 0) {
        printf("%-28s median %7.1f us, half between %.1f and %.1f\n", what, took[TIMES / 2] * 1e6,
               took[TIMES / 4] * 1e6, took[3 * TIMES / 4] * 1e6);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    folder = argc > 1 ? argv[1] : ".";
    measure("a new file", 1, O_WRONLY | O_APPEND | O_CREAT);
    measure("one file, again and again", 0, O_WRONLY | O_APPEND | O_CREAT);
    measure("the same to read", 0, O_RDONLY);
    MPI_Finalize();
    return 0;
}
