/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank's image becomes one from which no process can continue: the file that it has open is
 * removed. Then another rank fails, once.
 *
 *   rewind_gone WHAT STEPS FOLDER     WHAT: nothing; newer: the file is open in the second image;
 *                                     both: in the first one, too; high: in the second one, under
 *                                     number 100, and it is not removed;
 *                                     held: so all the time, and no rank fails
 */
#include <mpi.h>
#include <rhizome/rewind.h>

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HOLDER = 2, FAILS = 1, NUMBER = 100, PARTS = 5 };

static const char *what, *folder;
static int rank, held = -1;

static const char *path_of(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static bool is(const char *this)
{
    return strcmp(what, this) == 0;
}

static void hold_file(void)
{
    held = open(path_of("held"), O_RDWR | O_CREAT, 0600);
    if (held >= 0 && (is("high") || is("held"))) {
        int low = held;
        held = dup2(low, NUMBER);
        close(low);
    }
    if (held < 0) {
        perror("rewind_gone");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void lose_file(void)
{
    if (!is("high")) {
        unlink(path_of("held"));
    }
    close(held);
}

/* The parts of a run: an image at the end of the first and of the third. */
static void begin_part(int part)
{
    bool both = is("both") || is("held");
    if (rank == 0 && (part == 1 || part == 3)) {
        RZ_Rewind_now();
    }
    if (!is("nothing") && rank == HOLDER && part == (both ? 0 : 2)) {
        hold_file();
    }
    bool fails = !is("nothing") && !is("held");
    if (fails && rank == HOLDER && part == 4) {
        lose_file();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (fails && rank == FAILS && part == 4 && mkdir(path_of("failed"), 0700) == 0) {
        raise(SIGKILL);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 4) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    what = argv[1];
    folder = argv[3];
    int steps = atoi(argv[2]);
    long sum = rank;
    for (int step = 0; step < steps; step++) {
        if (step % (steps / PARTS) == 0) {
            begin_part(step / (steps / PARTS));
        }
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        sum = sum % 1000003 + rank;
        printf("rank %d step %d sum %ld\n", rank, step, sum);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    MPI_Finalize();
    return 0;
}
