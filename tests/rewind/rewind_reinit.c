/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that repairs itself by MPIX_Reinit, as it stands, in a job that rewinds: the restart
 * point is called once in each process, and checkpoints are not needed. After the restart point all
 * ranks take some steps more.
 *
 *     rewind_reinit STEPS [told|async]
 */
#include <mpi-ext.h>
#include <mpi.h>
#include <rhizome/checkpoint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int steps, rank, size, cleaned;
static long sum;

static void check(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "rank %d: not so: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static void some_steps(int from, int to)
{
    for (int step = from; step < to; step++) {
        long own = step * (rank + 1), all;
        MPI_Allreduce(&own, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
        if (rank == 0 && step % 10 == 0) {
            printf("step %d: %ld\n", step, sum);
            fflush(stdout);
        }
    }
}

static void clean(MPIX_Reinit_state_t state, void *arg)
{
    (void)state;
    ++*(int *)arg;
}

static int point(int argc, char **argv, MPIX_Reinit_state_t how)
{
    int state;
    (void)argc, (void)argv;
    check(how == MPIX_REINIT_NEW, "the restart point is called in a new process");
    MPIX_Reinit_state(&state);
    check(state == MPIX_REINIT_NEW, "so says MPIX_Reinit_state");
    MPIX_Reinit_cleanup_push(clean, &cleaned);
    RZ_Checkpoint_protect(0, &sum, sizeof(sum));
    for (int part = 0; part < 4; part++) {
        some_steps(part * steps / 4, (part + 1) * steps / 4);
        check(MPIX_Reinit_test() == MPI_SUCCESS, "nothing interrupts it");
        MPIX_Reinit_mask();
        check(RZ_Checkpoint(NULL) == MPI_SUCCESS, "a checkpoint succeeds");
        MPIX_Reinit_unmask();
    }
    MPIX_Reinit_cleanup_pop(1);
    check(cleaned == 1, "the handler ran once");
    return 17;
}

static int point_told(int argc, char **argv, MPIX_Reinit_state_t how, int n, int *failed)
{
    (void)failed;
    check(n == 0, "no rank has failed");
    return point(argc, argv, how);
}

int main(int argc, char **argv)
{
    const char *way = argc > 2 ? argv[2] : "";
    steps = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    some_steps(0, steps / 4);
    int returned = strcmp(way, "told") == 0    ? RZ_Reinit_failed(argc, argv, point_told)
                   : strcmp(way, "async") == 0 ? MPIX_Reinit_async(argc, argv, point)
                                               : MPIX_Reinit(argc, argv, point);
    check(returned == 17, "it returns what the restart point returned");
    some_steps(steps, steps + steps / 4);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    check(MPIX_Reinit(argc, argv, point) == MPI_ERR_OTHER, "it cannot be called again");
    if (rank == 0) {
        printf("sum %ld\n", sum);
    }
    MPI_Finalize();
    return 0;
}
