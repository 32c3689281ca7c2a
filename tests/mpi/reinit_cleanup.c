/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clean-up handlers of MPIX_Reinit: they run in reverse order before the restart point is entered
 * again, while its locals exist; popped ones do not; no handler is left afterwards; they may query
 * but not communicate. And handles of before the roll-back are refused with a message.
 *
 * Arguments: [DEATHS].
 */
#include "reinit.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 40, ITERATIONS = 20 };

static int failures_wanted, passes;
static int ran[DEPTH + 8], n_ran; /* what handlers ran, in their order */
static MPI_Comm old_comm;
static MPI_Request old_request, old_persistent;
static MPI_Group old_group;

struct handler {
    int number, sentinel;
};

static void note(MPIX_Reinit_state_t state, void *arg)
{
    const struct handler *handler = arg;
    CHECK(state == MPIX_REINIT_REINITED || handler->number == DEPTH);
    CHECK(handler->sentinel == 12345 + handler->number); /* a local of the restart point */
    ran[n_ran++] = handler->number;
}

static void ask(MPIX_Reinit_state_t state, void *arg)
{
    char text[MPI_MAX_ERROR_STRING];
    int rank = -1, length, told, buffer = 0, error;
    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(rank == *(int *)arg);
    CHECK(MPIX_Reinit_state(&told) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    error = MPI_Allreduce(MPI_IN_PLACE, &buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(class_of(error) == MPI_ERR_OTHER);
    MPI_Error_string(error, text, &length);
    CHECK(strstr(text, "clean-up handler") != NULL);
    CHECK(class_of(MPIX_Reinit_test()) == MPI_ERR_OTHER);
    CHECK(class_of(MPIX_Reinit_cleanup_push(note, NULL)) == MPI_ERR_OTHER);
    CHECK(class_of(MPIX_Reinit_mask()) == MPI_ERR_OTHER);
    ran[n_ran++] = -1;
}

/* What the handlers of the round before did. */
static void check_ran(void)
{
    if (passes == 1) {
        CHECK(n_ran == 0);
        return;
    }
    /* One was popped and run, one popped and not run, the others ran backwards, then the first. */
    CHECK(n_ran == 1 + DEPTH + 1);
    CHECK(ran[0] == DEPTH);
    for (int i = 0; i < DEPTH; i++) {
        CHECK(ran[1 + i] == DEPTH - 1 - i);
    }
    CHECK(ran[1 + DEPTH] == -1);
}

static int refused(int error, int class)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    return class_of(error) == class && strstr(text, "before the roll-back");
}

static void check_old_handles(int size)
{
    int value = 0, n;
    MPI_Comm comm;
    MPI_Group world;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    /* Others take the memory of the old ones, if they can. */
    MPI_Comm new_comm;
    MPI_Request new_request;
    MPI_Comm_dup(MPI_COMM_SELF, &new_comm); /* a spawned process is not here */
    MPI_Irecv(&value, 1, MPI_INT, 0, 77, new_comm, &new_request);
    CHECK(refused(MPI_Comm_size(old_comm, &n), MPI_ERR_COMM));
    CHECK(refused(MPI_Barrier(old_comm), MPI_ERR_COMM));
    CHECK(refused(MPI_Send(&value, 1, MPI_INT, 0, 0, old_comm), MPI_ERR_COMM));
    CHECK(refused(MPI_Comm_free(&old_comm), MPI_ERR_COMM));
    CHECK(refused(MPI_Wait(&old_request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST));
    CHECK(refused(MPI_Start(&old_persistent), MPI_ERR_REQUEST));
    CHECK(refused(MPI_Request_free(&old_persistent), MPI_ERR_REQUEST));
    MPI_Cancel(&new_request);
    MPI_Wait(&new_request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&new_comm);
    /* Groups are sets of processes, the failed among them: asking is fine, they make nothing. */
    MPI_Group_size(old_group, &n);
    CHECK(n == size);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(world, old_group, &n);
    CHECK(n == MPI_UNEQUAL);
    CHECK(class_of(MPI_Comm_create(MPI_COMM_WORLD, old_group, &comm)) == MPI_ERR_GROUP);
    MPI_Group_free(&world);
    MPI_Group_free(&old_group);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void make_handles(void)
{
    static int value;
    MPI_Comm_dup(MPI_COMM_WORLD, &old_comm);
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, old_comm, &old_request);
    MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, 6, old_comm, &old_persistent);
    MPI_Comm_group(MPI_COMM_WORLD, &old_group);
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    int rank, size;
    struct handler handlers[DEPTH + 2];
    (void)argc;
    (void)argv;
    passes++;
    check_ran();
    n_ran = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK((state == MPIX_REINIT_REINITED) == (passes > 1));
    if (passes > 1) {
        check_old_handles(size);
    }
    make_handles();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPIX_Reinit_cleanup_pop(0)) == MPI_ERR_OTHER); /* none is left of before */
    CHECK(class_of(MPIX_Reinit_cleanup_push(NULL, NULL)) == MPI_ERR_ARG);
    CHECK(class_of(MPIX_Reinit_unmask()) == MPI_ERR_OTHER);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPIX_Reinit_cleanup_push(ask, &rank);
    for (int i = 0; i < DEPTH + 2; i++) {
        handlers[i] = (struct handler){i, 12345 + i};
        MPIX_Reinit_cleanup_push(note, &handlers[i]);
    }
    MPIX_Reinit_cleanup_pop(0);
    MPIX_Reinit_cleanup_pop(1);
    CHECK(n_ran == 1);
    int failure = failures_so_far(passes);
    for (int i = 0; i < ITERATIONS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPIX_Reinit_test();
        if (failure < failures_wanted && rank == failure % size && i == 3) {
            raise(SIGKILL);
        }
    }
    MPI_Cancel(&old_request);
    MPI_Wait(&old_request, MPI_STATUS_IGNORE);
    return 0; /* with handlers that were not popped: they never run */
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    failures_wanted = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPIX_Reinit_cleanup_push(note, NULL)) == MPI_ERR_OTHER);
    CHECK(class_of(MPIX_Reinit_mask()) == MPI_ERR_OTHER);
    CHECK(MPIX_Reinit_test() == MPI_SUCCESS);
    int result = MPIX_Reinit(argc, argv, point);
    CHECK(result == 0);
    CHECK(n_ran == 1); /* the popped one of the last round alone */
    MPI_Finalize();
    return 0;
}
