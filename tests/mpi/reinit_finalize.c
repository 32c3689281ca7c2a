/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Finalize inside the restart point of MPIX_Reinit is an error with a message, in any thread
 * and in a clean-up handler, and changes nothing: the round continues, the end of MPIX_Reinit is
 * agreed on, and MPI_Finalize after it does its work.
 *
 * Arguments: [fails | fatal]   rank 1 fails in the first round | errors are fatal, as by default
 */
#include "check.h"

#include <mpi-ext.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

static int fails, fatal, handler_ran;

static void refused(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, finalized;
    int error = MPI_Finalize();
    SO(class_of(error) == MPI_ERR_OTHER);
    MPI_Error_string(error, text, &length);
    SO(strstr(text, "MPI_Finalize") && strstr(text, "inside the restart point of MPIX_Reinit"));
    MPI_Finalized(&finalized);
    SO(!finalized);
}

static void *in_a_thread(void *arg)
{
    refused();
    return arg;
}

static void in_a_handler(MPIX_Reinit_state_t state, void *arg)
{
    (void)state, (void)arg;
    refused();
    handler_ran = 1;
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    int rank, sum = 1, size;
    pthread_t thread;
    (void)argc, (void)argv;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (fatal) {
        MPI_Finalize();
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(handler_ran == (state == MPIX_REINIT_REINITED));
    MPIX_Reinit_cleanup_push(in_a_handler, NULL);
    refused();
    SO(pthread_create(&thread, NULL, in_a_thread, NULL) == 0);
    pthread_join(thread, NULL);
    if (fails && rank == 1 && state == MPIX_REINIT_NEW) {
        raise(SIGKILL);
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size);
    return 5;
}

int main(int argc, char **argv)
{
    int provided;
    fails = argc > 1 && strcmp(argv[1], "fails") == 0;
    fatal = argc > 1 && strcmp(argv[1], "fatal") == 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(MPIX_Reinit(argc, argv, point) == 5);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
