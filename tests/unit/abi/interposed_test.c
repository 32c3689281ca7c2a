/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool's MPI_Send takes the place of ours, in the program and over the shared library, and
 * reaches the work by PMPI_Send. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <mpi.h>

static int intercepted;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    intercepted++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

static void test_a_tool_stands_between_program_and_library(void **state)
{
    (void)state;
    int x = 0;
    assert_int_equal(MPI_Init(NULL, NULL), MPI_SUCCESS);
    assert_int_equal(MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    assert_int_equal(MPI_Send(&x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    assert_int_equal(intercepted, 2);
    assert_int_equal(MPI_Finalize(), MPI_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tool_stands_between_program_and_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
