/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures before every process has reached MPIX_Reinit: failed processes are restarted, the others
 * wait at the entry, and those that have not reached it continue: messages between them arrive.
 *
 * Arguments: WHERE RANK [WHERE RANK ...]: the first process of this rank fails
 *   before   MPI_Init
 *   after    MPI_Init, while the others are on the way or held
 *   late     the same, when all others are held for certain
 *   exit     before MPI_Init, by exit(3), which is no failure: the job ends
 * Ranks 0 and 1 communicate before MPIX_Reinit; a restarted process must not.
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int passes, restarted;

static int first_life(void)
{
    const char *incarnation = getenv("RZ_INCARNATION");
    return !incarnation || strcmp(incarnation, "1") == 0;
}

static void fail_perhaps(char **argv, const char *where, int rank)
{
    for (int i = 1; argv[i] && argv[i + 1]; i += 2) {
        if (first_life() && strcmp(argv[i], where) == 0 && rank == atoi(argv[i + 1])) {
            if (strcmp(where, "late") == 0) {
                usleep(200000);
            }
            if (strcmp(where, "exit") == 0) {
                exit(3);
            }
            raise(SIGKILL);
        }
    }
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    int rank, size, sum = 0;
    (void)argc;
    (void)argv;
    passes++;
    CHECK(passes > 1 ? state == MPIX_REINIT_REINITED
                     : state == (restarted ? MPIX_REINIT_RESTARTED : MPIX_REINIT_NEW));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 20; i++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == size * (size - 1) / 2);
    }
    return 0;
}

/* Long enough that the first is in MPIX_Reinit while the second still needs its message. */
static void speak(int rank)
{
    enum { WORDS = 200000 };
    static int words[WORDS];
    MPI_Request request;
    if (rank == 0) {
        for (int i = 0; i < WORDS; i++) {
            words[i] = i;
        }
        MPI_Isend(words, WORDS, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    } else if (rank == 1) {
        usleep(100000);
        MPI_Recv(words, WORDS, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(words[0] == 0 && words[WORDS - 1] == WORDS - 1);
    }
}

int main(int argc, char **argv)
{
    const char *mine = getenv("RZ_RANK");
    int rank, size;
    fail_perhaps(argv, "before", mine ? atoi(mine) : 0);
    fail_perhaps(argv, "exit", mine ? atoi(mine) : 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    restarted = !first_life();
    fail_perhaps(argv, "after", rank);
    if (restarted) {
        /* The others are past this: a clear word, and no wait. */
        int word = 0;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        int error = MPI_Bcast(&word, 1, MPI_INT, (rank + 1) % size, MPI_COMM_WORLD);
        CHECK(class_of(error) == MPI_ERR_OTHER);
        error = MPI_Send(&word, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
        CHECK(class_of(error) == MPI_ERR_OTHER);
        MPI_Barrier(MPI_COMM_SELF);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    } else {
        speak(rank);
    }
    fail_perhaps(argv, "late", rank);
    CHECK(MPIX_Reinit(argc, argv, point) == 0);
    MPI_Finalize();
    return 0;
}
