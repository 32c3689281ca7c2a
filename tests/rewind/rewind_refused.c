/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that cannot be saved, or that helps: WHAT it has it keeps until its end, apart from
 * `later`.
 *
 *   rewind_refused WHAT STEPS [FOLDER]
 *
 * It asks for snapshots itself, so that there is none before it has WHAT.
 *
 * WHAT: nothing, socket, pipe, child, shared, window, file, forbid; later (a pipe, in the first
 * half of the steps); exclude.
 */
#include "rhizome/rewind.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXCLUDED = 1 << 20 };

static int fds[2] = {-1, -1};
static pid_t child;
static MPI_Win window = MPI_WIN_NULL;
static MPI_File file = MPI_FILE_NULL;
static unsigned char *excluded;

static void take(const char *what, const char *folder)
{
    char path[300];
    if (strcmp(what, "socket") == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) {
        exit(2);
    } else if ((strcmp(what, "pipe") == 0 || strcmp(what, "later") == 0) && pipe(fds) != 0) {
        exit(2);
    } else if (strcmp(what, "child") == 0 && (child = fork()) == 0) {
        for (;;) {
            pause();
        }
    } else if (strcmp(what, "shared") == 0) {
        char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        at[0] = 1;
    } else if (strcmp(what, "window") == 0) {
        void *at;
        MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &window);
    } else if (strcmp(what, "file") == 0) {
        snprintf(path, sizeof(path), "%s/file", folder);
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file);
    } else if (strcmp(what, "forbid") == 0) {
        RZ_Rewind_forbid();
    } else if (strcmp(what, "exclude") == 0) {
        excluded = mmap(NULL, EXCLUDED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(excluded, 1, EXCLUDED);
        RZ_Rewind_exclude(excluded, EXCLUDED);
    }
}

static void give_back(void)
{
    if (fds[0] >= 0) {
        close(fds[0]);
        close(fds[1]);
        fds[0] = -1;
    }
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    if (window != MPI_WIN_NULL) {
        MPI_Win_free(&window);
    }
    if (file != MPI_FILE_NULL) {
        MPI_File_close(&file);
    }
}

int main(int argc, char **argv)
{
    int rank, zero = 0, n_zero;
    double sum = 0, total = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *what = argc > 1 ? argv[1] : "nothing";
    int steps = argc > 2 ? atoi(argv[2]) : 100;
    take(what, argc > 3 ? argv[3] : ".");
    for (int step = 0; step < steps; step++) {
        double mine = step * (rank + 1);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        if (strcmp(what, "later") == 0 && step == steps / 2) {
            give_back();
        }
        if (step % 10 == 0 && rank == 0) {
            RZ_Rewind_now();
        }
        if (excluded && excluded[EXCLUDED / 2] == 0) { /* it was restored: it computes them again */
            memset(excluded, 1, EXCLUDED);
            zero = 1;
        }
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
    }
    give_back();
    MPI_Reduce(&zero, &n_zero, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d steps: %.17g\n", steps, total);
        if (n_zero > 0) {
            printf("%d computed again\n", n_zero);
        }
    }
    MPI_Finalize();
    return 0;
}
