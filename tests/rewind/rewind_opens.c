/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long it takes to open a file for appending, for reading, and to empty it: for the first time,
 * and again. Under rzrun with and without --rewind (docs/decisions/0063-marks-of-files.md).
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
static void measure(const char *what, const char *name, int other, int flags)
{
    static double took[TIMES];
    char path[4096];
    for (int i = 0; i < TIMES; i++) {
        snprintf(path, sizeof(path), "%s/%s%d.%d", folder, name, other ? i : 0, rank);
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

/* Small ones, before any call is led. */
static void make_files(void)
{
    char path[4096];
    for (int i = 0; i < TIMES; i++) {
        snprintf(path, sizeof(path), "%s/there%d.%d", folder, i, rank);
        FILE *file = fopen(path, "w");
        if (!file || fprintf(file, "%100d\n", i) < 0 || fclose(file) != 0) {
            perror(path);
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : ".";
    rank = atoi(getenv("RZ_RANK") ? getenv("RZ_RANK") : "0");
    make_files();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    measure("a new file", "file", 1, O_WRONLY | O_APPEND | O_CREAT);
    measure("one file, again and again", "one", 0, O_WRONLY | O_APPEND | O_CREAT);
    measure("the same to read", "one", 0, O_RDONLY);
    measure("a small file, emptied", "there", 1, O_WRONLY | O_TRUNC);
    measure("the same again", "there", 1, O_WRONLY | O_TRUNC);
    measure("a new file, by \"w\"", "new", 1, O_WRONLY | O_TRUNC | O_CREAT);
    MPI_Finalize();
    return 0;
}
