/* SPDX-License-Identifier: BSD-3-Clause */
/* What every entry point promises: checks that name the argument, handlers after unlocking, nulled
 * handles. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <mpi-ext.h>

#include "fake_impl.h"

static int set_up(void **state)
{
    (void)state;
    fake_reset();
    return 0;
}

/* The call returned this class, and the error text contains this. */
static void assert_told(int result, int error_class, const char *words)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    assert_int_equal(result, error_class);
    assert_int_equal(MPI_Error_string(result, text, &length), MPI_SUCCESS);
    assert_int_equal(length, (int)strlen(text));
    if (!strstr(text, words)) {
        fail_msg("\"%s\" does not say \"%s\"", text, words);
    }
    assert_int_equal(fake.lock_depth, 0);
}

/* And no implementation function was called. */
static void assert_refused(int result, int error_class, const char *words)
{
    assert_told(result, error_class, words);
    assert_int_equal(fake.calls, 0);
}

static void test_wrong_arguments_are_named(void **state)
{
    (void)state;
    int x = 0;
    MPI_Request request;
    assert_refused(MPI_Send(&x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "count is -1");
    assert_refused(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE,
                   "datatype is the null handle");
    assert_refused(MPI_Send(&x, 1, MPI_INT, 4, 0, MPI_COMM_WORLD), MPI_ERR_RANK,
                   "dest is 4, not in 0..3");
    assert_refused(MPI_Send(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK,
                   "dest is -1");
    assert_refused(MPI_Send(&x, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG,
                   "tag is -2");
    assert_refused(MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER,
                   "buf is a null pointer while count is 1");
    assert_refused(MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM,
                   "comm is the null handle");
    assert_refused(MPI_Send(&x, 1, MPI_INT, 0, 0, (MPI_Comm)MPI_INT), MPI_ERR_COMM,
                   "comm is not a communicator");
    assert_refused(MPI_Isend(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG,
                   "request is a null pointer");
    request = (MPI_Request)MPI_COMM_WORLD;
    assert_refused(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST,
                   "request is not a request");
    assert_refused(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "rank is a null pointer");
    assert_refused(MPI_Allreduce(&x, &x, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP,
                   "op is the null handle");
    assert_refused(MPI_Allreduce(&x, &x, 1, MPI_INT, MPI_REPLACE, MPI_COMM_WORLD), MPI_ERR_OP,
                   "op is for one-sided");
    assert_refused(MPI_Allreduce(&x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
                   MPI_ERR_BUFFER, "recvbuf may not be MPI_IN_PLACE");
    assert_refused(MPI_Gather(&x, 1, MPI_INT, &x, 1, MPI_INT, 9, MPI_COMM_WORLD), MPI_ERR_ROOT,
                   "root is 9, not in 0..3");
}

/* Buffers that are one: where both have something at their beginning. */
static void test_sent_and_received_are_apart(void **state)
{
    (void)state;
    int x[8] = {0}, none[4] = {0}, ones[4] = {1, 1, 1, 1}, apart[4] = {4, 5, 6, 7};
    const char *words = "recvbuf is sendbuf, too";
    assert_refused(MPI_Gather(x, 1, MPI_INT, x, 1, MPI_INT, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER,
                   words);
    fake.calls = 0;
    /* Rank 1 is not the root, sends nothing, or says MPI_IN_PLACE. */
    assert_int_equal(MPI_Gather(x, 1, MPI_INT, x, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    assert_int_equal(MPI_Gather(x, 0, MPI_INT, x, 1, MPI_INT, 1, MPI_COMM_WORLD), MPI_SUCCESS);
    assert_int_equal(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, x, 1, MPI_INT, 1, MPI_COMM_WORLD),
                     MPI_SUCCESS);
    fake.calls = 0;
    assert_refused(MPI_Alltoallv(x, ones, none, MPI_INT, x, ones, none, MPI_INT, MPI_COMM_WORLD),
                   MPI_ERR_BUFFER, words);
    assert_int_equal(MPI_Alltoallv(x, ones, none, MPI_INT, x, ones, apart, MPI_INT, MPI_COMM_WORLD),
                     MPI_SUCCESS);
}

/* Displacements from MPI_BOTTOM are addresses; 0 is none. */
static void test_absolute_displacements_are_taken(void **state)
{
    (void)state;
    int x[4] = {0};
    MPI_Count ones[4] = {1, 0, 1, 1};
    MPI_Aint at[4] = {(MPI_Aint)&x[0], 0, (MPI_Aint)&x[2], (MPI_Aint)&x[3]};
    assert_int_equal(MPI_Alltoallv_c(MPI_BOTTOM, ones, at, MPI_BYTE, MPI_BOTTOM, ones, at, MPI_BYTE,
                                     MPI_COMM_WORLD),
                     MPI_SUCCESS);
    fake.calls = 0;
    at[2] = 0;
    assert_refused(
        MPI_Alltoallv_c(MPI_BOTTOM, ones, at, MPI_BYTE, x, ones, at, MPI_BYTE, MPI_COMM_WORLD),
        MPI_ERR_BUFFER, "sendbuf is a null pointer");
}

static void test_wildcards_and_null_process_are_taken(void **state)
{
    (void)state;
    int x = 0;
    assert_int_equal(
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        MPI_SUCCESS);
    assert_int_equal(MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    assert_int_equal(MPI_Send(NULL, 0, MPI_INT, 0, RZ_TAG_UB, MPI_COMM_WORLD), MPI_SUCCESS);
    assert_int_equal(fake.calls, 3);
    assert_int_equal(fake.lock_takings, 3);
    assert_int_equal(fake.lock_depth, 0);
}

static void test_arguments_of_others_are_not_looked_at(void **state)
{
    (void)state;
    int x = 0;
    /* Rank 1 is not the root: the receive side may be anything. */
    assert_int_equal(MPI_Gather(&x, 1, MPI_INT, NULL, -7, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD),
                     MPI_SUCCESS);
    assert_int_equal(fake.count, 1);
    assert_int_equal(fake.count2, 0);
    assert_null(fake.datatype2);
    /* Rank 1 is the root and gathers in place: the send side may be anything. */
    assert_int_equal(
        MPI_Gather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, &x, 1, MPI_INT, 1, MPI_COMM_WORLD),
        MPI_SUCCESS);
    assert_int_equal(fake.count, 0);
    assert_null(fake.datatype);
    assert_int_equal(fake.count2, 1);
    fake.calls = 0;
    assert_refused(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, &x, 1, MPI_INT, 0, MPI_COMM_WORLD),
                   MPI_ERR_BUFFER, "sendbuf may not be MPI_IN_PLACE");
}

static void test_count_arrays_are_viewed_and_checked(void **state)
{
    (void)state;
    int x[8] = {0}, y[8];
    int narrow[4] = {1, 2, 3, 4};
    const MPI_Count wide[4] = {1, 2, INT64_C(1) << 40, 5};
    const MPI_Aint wide_displs[4] = {0};
    assert_int_equal(
        MPI_Alltoallv(x, narrow, narrow, MPI_INT, y, narrow, narrow, MPI_INT, MPI_COMM_WORLD),
        MPI_SUCCESS);
    assert_int_equal(fake.count, 3);
    assert_int_equal(fake.count2, 4);
    assert_int_equal(MPI_Alltoallv_c(x, wide, wide_displs, MPI_INT, y, wide, wide_displs, MPI_INT,
                                     MPI_COMM_WORLD),
                     MPI_SUCCESS);
    assert_true(fake.count == INT64_C(1) << 40);
    fake.calls = 0;
    narrow[2] = -3;
    assert_refused(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, x, narrow, narrow,
                                 MPI_INT, MPI_COMM_WORLD),
                   MPI_ERR_COUNT, "recvcounts[2] is -3");
}

static void test_uncommitted_datatype_is_refused(void **state)
{
    (void)state;
    int x[4] = {0};
    MPI_Datatype four;
    assert_int_equal(MPI_Type_contiguous(4, MPI_INT, &four), MPI_SUCCESS);
    assert_true((uintptr_t)four >= 0x1000);
    assert_refused(MPI_Send(x, 1, four, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE,
                   "datatype was not committed");
    assert_int_equal(MPI_Type_commit(&four), MPI_SUCCESS);
    assert_int_equal(MPI_Send(x, 1, four, 0, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    assert_int_equal(MPI_Type_free(&four), MPI_SUCCESS);
    assert_ptr_equal(four, MPI_DATATYPE_NULL);
    MPI_Datatype predefined = MPI_INT;
    fake.calls = 0;
    assert_refused(MPI_Type_free(&predefined), MPI_ERR_TYPE, "datatype is predefined");
    assert_ptr_equal(predefined, MPI_INT);
}

static void test_large_results_are_undefined_to_int_callers(void **state)
{
    (void)state;
    int size;
    MPI_Count wide;
    fake.value = INT64_C(1) << 33;
    assert_int_equal(MPI_Type_size(MPI_INT, &size), MPI_SUCCESS);
    assert_int_equal(size, MPI_UNDEFINED);
    assert_int_equal(MPI_Type_size_c(MPI_INT, &wide), MPI_SUCCESS);
    assert_true(wide == fake.value);
}

static void test_predefined_objects_come_back_as_their_handles(void **state)
{
    (void)state;
    MPI_Errhandler handler;
    MPI_Group group = MPI_GROUP_EMPTY;
    assert_int_equal(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler), MPI_SUCCESS);
    assert_ptr_equal(handler, MPI_ERRORS_RETURN);
    assert_int_equal(MPI_Errhandler_free(&handler), MPI_SUCCESS);
    assert_ptr_equal(handler, MPI_ERRHANDLER_NULL);
    assert_int_equal(MPI_Group_free(&group), MPI_SUCCESS);
    assert_ptr_equal(group, MPI_GROUP_NULL);
}

static int handled_code;
static MPI_Comm handled_comm;
static int handled_times;

static void handle(MPI_Comm *comm, int *code, ...)
{
    assert_int_equal(fake.lock_depth, 0);
    handled_comm = *comm;
    handled_code = *code;
    handled_times++;
    int rank;
    assert_int_equal(MPI_Comm_rank(*comm, &rank), MPI_SUCCESS);
}

static void test_users_handler_runs_unlocked_on_the_communicator_concerned(void **state)
{
    (void)state;
    int x = 0;
    MPI_Errhandler handler;
    MPI_Comm mine;
    MPI_Request requests[2];
    handled_times = 0;
    assert_int_equal(MPI_Comm_create_errhandler(handle, &handler), MPI_SUCCESS);
    assert_int_equal(MPI_Comm_dup(MPI_COMM_WORLD, &mine), MPI_SUCCESS);
    assert_int_equal(MPI_Comm_set_errhandler(mine, handler), MPI_SUCCESS);
    assert_int_equal(MPI_Send(&x, 1, MPI_INT, 7, 0, mine), MPI_ERR_RANK);
    assert_int_equal(handled_times, 1);
    assert_int_equal(handled_code, MPI_ERR_RANK);
    assert_ptr_equal(handled_comm, mine);

    /* The communicator is freed before its request ends in error: it must live until the handler
     * has run. */
    assert_int_equal(MPI_Isend(&x, 1, MPI_INT, 0, 0, mine, &requests[0]), MPI_SUCCESS);
    fake.next_error = MPI_ERR_TRUNCATE;
    assert_int_equal(MPI_Isend(&x, 1, MPI_INT, 0, 0, mine, &requests[1]), MPI_SUCCESS);
    MPI_Comm freed = mine;
    assert_int_equal(MPI_Comm_free(&mine), MPI_SUCCESS);
    assert_ptr_equal(mine, MPI_COMM_NULL);
    assert_int_equal(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
    assert_int_equal(handled_times, 2);
    assert_ptr_equal(handled_comm, freed);
    assert_ptr_equal(requests[1], MPI_REQUEST_NULL);
    assert_int_equal(fake.lock_depth, 0);
    assert_int_equal(MPI_Errhandler_free(&handler), MPI_SUCCESS);
}

static void test_call_errhandler_runs_the_handler(void **state)
{
    (void)state;
    MPI_Errhandler handler;
    handled_times = 0;
    assert_int_equal(MPI_Comm_create_errhandler(handle, &handler), MPI_SUCCESS);
    assert_int_equal(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler), MPI_SUCCESS);
    assert_int_equal(MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_OTHER), MPI_SUCCESS);
    assert_int_equal(handled_times, 1);
    assert_ptr_equal(handled_comm, MPI_COMM_SELF);
    /* Errors that concern no communicator are MPI_COMM_SELF's. */
    MPI_Datatype null = MPI_DATATYPE_NULL;
    assert_int_equal(MPI_Type_free(&null), MPI_ERR_TYPE);
    assert_int_equal(handled_times, 2);
    assert_int_equal(MPI_Errhandler_free(&handler), MPI_SUCCESS);
}

static void test_what_is_missing_says_so(void **state)
{
    (void)state;
    MPI_Win win;
    int provided;
    assert_refused(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win),
                   MPI_ERR_UNSUPPORTED_OPERATION, "not supported by this build of Rhizome");
    assert_refused(MPIX_Comm_revoke(MPI_COMM_WORLD), MPI_ERR_UNSUPPORTED_OPERATION,
                   "not supported");
    assert_int_equal(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_T_ERR_CANNOT_INIT);
    assert_int_equal(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
}

static void test_handles_convert_to_integers_and_back(void **state)
{
    (void)state;
    MPI_Comm mine;
    assert_int_equal(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
    assert_ptr_equal(MPI_Comm_fromint(0x101), MPI_COMM_WORLD);
    assert_int_equal(MPI_Type_toint(MPI_INT), 0x209);
    assert_int_equal(MPI_Comm_dup(MPI_COMM_WORLD, &mine), MPI_SUCCESS);
    int number = MPI_Comm_toint(mine);
    assert_true(number >= 0x1000);
    assert_int_equal(MPI_Comm_toint(mine), number);
    assert_ptr_equal(MPI_Comm_fromint(number), mine);
    assert_ptr_equal(MPI_Type_fromint(number), MPI_DATATYPE_NULL);
    assert_int_equal(MPI_Comm_free(&mine), MPI_SUCCESS);
    assert_ptr_equal(MPI_Comm_fromint(number), MPI_COMM_NULL);
}

/* Run body in a child; what it wrote to standard error is in text, its exit status is returned. */
static int run_child(void (*body)(void), char *text, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while ((got = read(ends[0], text + length, size - 1 - length)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void send_too_far(void)
{
    int x = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Send(&x, 1, MPI_INT, 9, 0, MPI_COMM_WORLD);
}

static void barrier_before_init(void)
{
    rz_phase = rz_world = RZ_PHASE_BEFORE;
    rz_world_rank = -1;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void init_twice(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Init(NULL, NULL);
}

static void test_fatal_errors_say_all_in_one_line(void **state)
{
    (void)state;
    char text[1024];
    assert_int_equal(run_child(send_too_far, text, sizeof(text)), 42);
    assert_string_equal(text,
                        "rhizome: MPI_Send at rank 1: dest is 9, not in 0..3 (MPI_ERR_RANK on "
                        "MPI_COMM_WORLD; MPI_ERRORS_ARE_FATAL)\n");
    assert_int_equal(run_child(barrier_before_init, text, sizeof(text)), 1);
    assert_non_null(strstr(text, "MPI_Barrier: called before MPI_Init"));
    assert_int_equal(run_child(init_twice, text, sizeof(text)), 42);
    assert_non_null(strstr(text, "MPI is initialised already"));
}

static void test_life(void **state)
{
    (void)state;
    int flag;
    rz_phase = rz_world = RZ_PHASE_BEFORE;
    rz_engine_shared = false;
    assert_int_equal(MPI_Initialized(&flag), MPI_SUCCESS);
    assert_false(flag);
    assert_int_equal(MPI_Init(NULL, NULL), MPI_SUCCESS);
    assert_int_equal(MPI_Initialized(&flag), MPI_SUCCESS);
    assert_true(flag);
    assert_int_equal(MPI_Finalize(), MPI_SUCCESS);
    assert_int_equal(MPI_Finalized(&flag), MPI_SUCCESS);
    assert_true(flag);
}

static int point(int argc, char **argv, MPIX_Reinit_state_t reinit_state)
{
    (void)argv;
    assert_int_equal(reinit_state,
                     fake.reinit_rounds == 1 ? MPIX_REINIT_NEW : MPIX_REINIT_REINITED);
    assert_told(MPI_Finalize(), MPI_ERR_OTHER, "must return first");
    assert_int_equal(fake.lock_depth, 0);
    for (int i = 0; i < argc; i++) {
        assert_int_equal(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    }
    return 100 + fake.reinit_rounds;
}

static void test_rollbacks_enter_the_restart_point_again(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        fake_reset();
        rz_engine_shared = i == 1;
        assert_int_equal(MPIX_Reinit(3, NULL, point), 101);
        /* The first two rounds end in a barrier each, the third inside the agreement to leave. */
        fake_reset();
        rz_engine_shared = i == 1;
        fake.rollbacks = 2;
        assert_int_equal(OMPI_Reinit(3, NULL, point), 103);
        fake_reset();
        fake.rollbacks = 5;
        assert_int_equal(MPIX_Reinit(0, NULL, point), 106);
        assert_int_equal(fake.lock_depth, 0);
    }
    assert_refused((fake_reset(), MPIX_Reinit(0, NULL, NULL)), MPI_ERR_ARG,
                   "point is a null pointer");
}

static char order[8];

static void handler(MPIX_Reinit_state_t reinit_state, void *arg)
{
    assert_int_equal(fake.lock_depth, 0);
    strncat(order, arg, 1);
    if (reinit_state == MPIX_REINIT_REINITED && *(char *)arg == '1') {
        fake.rollbacks++;
        assert_told(MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_OTHER, "clean-up handler");
        assert_told(MPIX_Reinit_cleanup_pop(1), MPI_ERR_OTHER, "clean-up handler");
    }
}

static int point_with_handlers(int argc, char **argv, MPIX_Reinit_state_t reinit_state)
{
    (void)argv;
    assert_told(MPIX_Reinit_cleanup_pop(0), MPI_ERR_OTHER, "no clean-up handler is left");
    assert_told(MPIX_Reinit_unmask(), MPI_ERR_OTHER, "not masked");
    char names[] = "1234567890abcdefghij";
    for (int i = 0; i < 4; i++) {
        assert_int_equal(MPIX_Reinit_cleanup_push(handler, &names[i]), MPI_SUCCESS);
    }
    assert_int_equal(MPIX_Reinit_cleanup_pop(1), MPI_SUCCESS);
    assert_int_equal(MPIX_Reinit_cleanup_pop(0), MPI_SUCCESS);
    assert_int_equal(MPIX_Reinit_mask(), MPI_SUCCESS);
    if (reinit_state == MPIX_REINIT_NEW) {
        fake.runs_user = true; /* below it is a call that has not ended */
        fake.rollbacks = 1;
        assert_int_equal(MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_PROC_FAILED);
        fake.runs_user = false;
        fake.rollbacks = 1;
        assert_int_equal(argc, 1);
    }
    assert_string_equal(order, fake.reinit_rounds == 1 ? "4" : "4214");
    MPIX_Reinit_unmask(); /* is a test */
    assert_int_equal(fake.reinit_rounds, 2);
    return 5; /* forgets the others */
}

static void test_clean_up_handlers_run_before_the_jump(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        fake_reset();
        order[0] = '\0';
        rz_engine_shared = i == 1;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        assert_told(MPIX_Reinit_cleanup_push(handler, NULL), MPI_ERR_OTHER, "outside");
        assert_told(MPIX_Reinit_mask(), MPI_ERR_OTHER, "outside");
        if (i == 0) {
            assert_int_equal(MPIX_Reinit(1, NULL, point_with_handlers), 5);
        } else {
            assert_int_equal(MPIX_Reinit_async(1, NULL, point_with_handlers), 5);
        }
        assert_string_equal(order, "4214");
        assert_null(fake.go_back);
        assert_int_equal(fake.lock_depth, 0);
    }
}

static int point_that_computes(int argc, char **argv, MPIX_Reinit_state_t reinit_state)
{
    (void)argc;
    (void)argv;
    fake.rollbacks = reinit_state == MPIX_REINIT_NEW;
    fake.go_back(); /* as the signal does; nothing is due the second time */
    assert_int_equal(reinit_state, MPIX_REINIT_REINITED);
    return 6;
}

static void test_a_computation_goes_back(void **state)
{
    (void)state;
    assert_int_equal(MPIX_Reinit_async(0, NULL, point_that_computes), 6);
    assert_int_equal(fake.lock_depth, 0);
}

static void *call_from_elsewhere(void *result)
{
    *(int *)result = MPI_Barrier(MPI_COMM_WORLD);
    return NULL;
}

static int point_with_thread(int argc, char **argv, MPIX_Reinit_state_t reinit_state)
{
    (void)argc;
    (void)argv;
    (void)reinit_state;
    pthread_t thread;
    int result;
    fake.rollbacks = 1;
    assert_int_equal(pthread_create(&thread, NULL, call_from_elsewhere, &result), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(result, MPI_ERR_PROC_FAILED);
    return 0;
}

static void test_a_rollback_in_another_thread_is_an_error_there(void **state)
{
    (void)state;
    assert_int_equal(MPIX_Reinit(0, NULL, point_with_thread), 0);
    assert_int_equal(fake.reinit_rounds, 1);
    assert_int_equal(fake.lock_depth, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_wrong_arguments_are_named, set_up),
        cmocka_unit_test_setup(test_sent_and_received_are_apart, set_up),
        cmocka_unit_test_setup(test_absolute_displacements_are_taken, set_up),
        cmocka_unit_test_setup(test_wildcards_and_null_process_are_taken, set_up),
        cmocka_unit_test_setup(test_arguments_of_others_are_not_looked_at, set_up),
        cmocka_unit_test_setup(test_count_arrays_are_viewed_and_checked, set_up),
        cmocka_unit_test_setup(test_uncommitted_datatype_is_refused, set_up),
        cmocka_unit_test_setup(test_large_results_are_undefined_to_int_callers, set_up),
        cmocka_unit_test_setup(test_predefined_objects_come_back_as_their_handles, set_up),
        cmocka_unit_test_setup(test_users_handler_runs_unlocked_on_the_communicator_concerned,
                               set_up),
        cmocka_unit_test_setup(test_call_errhandler_runs_the_handler, set_up),
        cmocka_unit_test_setup(test_what_is_missing_says_so, set_up),
        cmocka_unit_test_setup(test_handles_convert_to_integers_and_back, set_up),
        cmocka_unit_test_setup(test_fatal_errors_say_all_in_one_line, set_up),
        cmocka_unit_test_setup(test_life, set_up),
        cmocka_unit_test_setup(test_rollbacks_enter_the_restart_point_again, set_up),
        cmocka_unit_test_setup(test_clean_up_handlers_run_before_the_jump, set_up),
        cmocka_unit_test_setup(test_a_computation_goes_back, set_up),
        cmocka_unit_test_setup(test_a_rollback_in_another_thread_is_an_error_there, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
