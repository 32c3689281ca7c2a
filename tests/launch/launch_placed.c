/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPI program that says where it runs and what it is told of fault tolerance:
 *
 *   placed rank=0 incarnation=1 processors=0,1
 *
 * then, by its argument:
 *   masks   it ends
 *   failure   all go round in MPIX_Reinit until a failure has taken them back to its start
 *   keep    one round in MPIX_Reinit with a checkpoint; rank 0 says
 *           `kept ft=1 first=0 generation=1 spins=yes`: MPI_T's rz_fault_tolerance, what
 *           RZ_Restore found, what RZ_Checkpoint returned, whether MPI_T's rz_spin_ns is not 0
 */
#include <mpi.h>
#include <mpi-ext.h>
#include <rhizome/checkpoint.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;

static void say_where(void)
{
    cpu_set_t mask;
    const char *incarnation = getenv("RZ_INCARNATION"), *comma = "";
    CPU_ZERO(&mask);
    sched_getaffinity(0, sizeof(mask), &mask);
    char line[4096];
    int n = snprintf(line, sizeof(line), "placed rank=%d incarnation=%s processors=", rank,
                     incarnation ? incarnation : "?");
    for (int i = 0; i < CPU_SETSIZE && n < (int)sizeof(line) - 16; i++) {
        if (CPU_ISSET(i, &mask)) {
            n += snprintf(line + n, sizeof(line) - (size_t)n, "%s%d", comma, i);
            comma = ",";
        }
    }
    puts(line);
    fflush(stdout);
}

static int go_round(int argc, char **argv, MPIX_Reinit_state_t state)
{
    (void)argc, (void)argv;
    for (uint64_t i = 1; state == MPIX_REINIT_NEW; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            RZ_Progress_mark(i);
        }
    }
    return 0;
}

static unsigned long long variable(const char *name)
{
    unsigned long long value = 99;
    int index, count;
    MPI_T_cvar_handle handle;
    MPI_T_cvar_get_index(name, &index);
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    MPI_T_cvar_read(handle, &value);
    MPI_T_cvar_handle_free(&handle);
    return value;
}

static int keep(int argc, char **argv, MPIX_Reinit_state_t state)
{
    (void)argc, (void)argv, (void)state;
    uint64_t first = 99, generation = 99;
    int word = rank, provided;
    RZ_Checkpoint_protect(0, &word, sizeof(word));
    RZ_Restore(&first);
    RZ_Checkpoint(&generation);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (rank == 0) {
        printf("kept ft=%llu first=%llu generation=%llu spins=%s\n", variable("rz_fault_tolerance"),
               (unsigned long long)first, (unsigned long long)generation,
               variable("rz_spin_ns") > 0 ? "yes" : "no");
    }
    MPI_T_finalize();
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "masks";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    say_where();
    int code = 0;
    if (strcmp(how, "masks") != 0) {
        code = MPIX_Reinit(argc, argv, strcmp(how, "keep") == 0 ? keep : go_round);
    }
    MPI_Finalize();
    return code;
}
