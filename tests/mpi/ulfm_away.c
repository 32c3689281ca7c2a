/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that have decided compute, and others have not received the decision yet, because its
 * sender failed (RZ_KILL_AT=protocol-message:N@RANK): they return nevertheless, long before the
 * others call MPI again. Arguments: a file, the ranks that wait for the decision of the failed one,
 * all others compute until the file is there; the number of agreements before.
 */
#include "../patience.h"
#include "check.h"

#include <mpi-ext.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COMMS = 70 }; /* more communicators than there are cached decisions */

static int rank, size;

static bool is_in(const char *list, int number)
{
    char *rest;
    for (const char *at = list; *at != '\0'; at = *rest == ',' ? rest + 1 : rest) {
        if (strtol(at, &rest, 10) == number) {
            return true;
        }
    }
    return false;
}

/* Without a call of MPI. */
static void compute_until(const char *file)
{
    time_t begun = time(NULL);
    while (access(file, F_OK) != 0 && time(NULL) - begun < TEST_HANG_S) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    CHECK(access(file, F_OK) == 0);
}

static void make(const char *file)
{
    FILE *made = fopen(file, "w");
    CHECK(made != NULL);
    fclose(made);
}

int main(int argc, char **argv)
{
    MPI_Comm comm, live, other[COMMS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(argc == 4);
    const char *file = argv[1], *waiting = argv[2];
    for (int i = 0; i < COMMS; i++) {
        int flag = 1;
        MPI_Comm_dup(MPI_COMM_SELF, &other[i]);
        MPIX_Comm_agree(other[i], &flag);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < atoi(argv[3]); i++) {
        int flag = 1 << i;
        CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == 1 << i);
    }
    int flag = ~(1 << rank);
    MPIX_Comm_agree(comm, &flag);
    if (is_in(waiting, rank)) {
        char name[4096];
        snprintf(name, sizeof(name), "%s.%d", file, rank);
        make(name);
    } else {
        char name[4096];
        for (int i = 0; i < size; i++) {
            if (is_in(waiting, i)) {
                snprintf(name, sizeof(name), "%s.%d", file, i);
                compute_until(name);
            }
        }
    }
    CHECK(MPIX_Comm_shrink(comm, &live) == MPI_SUCCESS);
    int least, most; /* flags: processes that returned early and that waited have the same */
    CHECK(MPI_Allreduce(&flag, &least, 1, MPI_INT, MPI_MIN, live) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&flag, &most, 1, MPI_INT, MPI_MAX, live) == MPI_SUCCESS);
    CHECK(least == most);
    if (is_in(waiting, rank)) {
        char name[4096];
        snprintf(name, sizeof(name), "%s.%d", file, rank);
        unlink(name);
    }
    MPI_Comm_rank(live, &rank);
    int left;
    MPI_Comm_size(live, &left);
    CHECK(left == size - 1); /* else no process was killed, and nothing was tested */
    if (rank == 0) {
        printf("away: correct\n");
    }
    MPI_Finalize();
    return 0;
}
