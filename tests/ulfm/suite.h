/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs of this suite share: how they say that something is wrong, how they fail, and
 * the three spellings in which programs for ULFM are written.
 *
 *   (nothing)    MPIX_ names of today: ack_failed, get_failed
 *   SPELL_OLD    MPIX_ names of the first generation: failure_ack, failure_get_acked
 *   SPELL_PLAIN  error classes without a prefix, from mpi.h alone; a program that needs no function
 *                of ULFM includes nothing else
 */
#ifndef SUITE_H
#define SUITE_H

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !defined(SPELL_PLAIN) || defined(SUITE_FUNCTIONS)
#include <mpi-ext.h>
#endif

#if defined(SPELL_PLAIN)
#define ERR_FAILED MPI_ERR_PROC_FAILED
#define ERR_PENDING MPI_ERR_PROC_FAILED_PENDING
#define ERR_REVOKED MPI_ERR_REVOKED
#else
/* As programs ask whether this MPI can do it. */
#if !defined(OMPI_HAVE_MPI_EXT) || !defined(OMPI_HAVE_MPI_EXT_FTMPI)
#error "mpi-ext.h does not say that it has ULFM"
#endif
#if !defined(MPIX_ERR_PROC_FAILED) || !defined(MPIX_ERR_PROC_FAILED_PENDING) ||                    \
    !defined(MPIX_ERR_REVOKED)
#error "an error class is no macro"
#endif
#define ERR_FAILED MPIX_ERR_PROC_FAILED
#define ERR_PENDING MPIX_ERR_PROC_FAILED_PENDING
#define ERR_REVOKED MPIX_ERR_REVOKED
#endif

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            wrong(__FILE__, __LINE__, #condition);                                                 \
        }                                                                                          \
    } while (0)

static inline void wrong(const char *file, int line, const char *what)
{
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "%s:%d: rank %d: not so: %s\n", file, line, rank, what);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 3);
    abort();
}

/* Each survivor says so once; the runner counts. */
static inline int survived(const char *program)
{
    printf("%s: correct\n", program);
    fflush(stdout);
    return MPI_Finalize() == MPI_SUCCESS ? 0 : 4;
}

static inline void crash(void)
{
    raise(SIGKILL);
}

/* The last act of the rank `victim`, once all the others have come here: what was done before was
 * done by all. */
static inline void lose(MPI_Comm comm, int victim)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == victim) {
        for (int i = 1; i < size; i++) {
            MPI_Recv(NULL, 0, MPI_CHAR, (rank + i) % size, 32000, comm, MPI_STATUS_IGNORE);
        }
        crash();
    }
    MPI_Send(NULL, 0, MPI_CHAR, victim, 32000, comm);
}

static inline int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

static inline int rank_in(MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

static inline int size_of(MPI_Comm comm)
{
    int size;
    MPI_Comm_size(comm, &size);
    return size;
}

/* All of comm are there and come to the same sum. */
static inline void works(MPI_Comm comm)
{
    int rank = rank_in(comm), size = size_of(comm), sum = -1;
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2);
}

/* A process that gets an error from it may continue as well. A process that fails after it has seen
 * all of comm arrive, so this failure is not reported in a call before it. */
static inline void gather(MPI_Comm comm)
{
    MPI_Barrier(comm);
}

/* Numbers that look random and are the same everywhere. */
static inline int draw(unsigned *seed, int below)
{
    *seed = *seed * 1103515245u + 12345u;
    return (int)((*seed >> 16) % (unsigned)below);
}

#ifdef SUITE_FUNCTIONS
/* Acknowledges every failure known here; the failed processes, as a group of the caller. A failure
 * that becomes known between the two calls is neither acknowledged nor returned. */
static inline MPI_Group acknowledge(MPI_Comm comm)
{
    MPI_Group failed;
#ifdef SPELL_OLD
    CHECK(MPIX_Comm_failure_ack(comm) == MPI_SUCCESS);
    CHECK(MPIX_Comm_failure_get_acked(comm, &failed) == MPI_SUCCESS);
#else
    int n, acked;
    CHECK(MPIX_Comm_get_failed(comm, &failed) == MPI_SUCCESS);
    MPI_Group_size(failed, &n);
    CHECK(MPIX_Comm_ack_failed(comm, n, &acked) == MPI_SUCCESS);
    CHECK(acked == n);
#endif
    return failed;
}

static inline int n_failed(MPI_Comm comm)
{
    int n;
    MPI_Group failed = acknowledge(comm);
    MPI_Group_size(failed, &n);
    MPI_Group_free(&failed);
    return n;
}

/* The ranks in comm of its failed, in their order; how many. */
static inline int failed_ranks(MPI_Comm comm, int *ranks, int max)
{
    int n, from[max];
    MPI_Group all, failed = acknowledge(comm);
    MPI_Comm_group(comm, &all);
    MPI_Group_size(failed, &n);
    CHECK(n <= max);
    for (int i = 0; i < n; i++) {
        from[i] = i;
    }
    MPI_Group_translate_ranks(failed, n, from, all, ranks);
    MPI_Group_free(&all);
    MPI_Group_free(&failed);
    return n;
}

static inline int is_revoked(MPI_Comm comm)
{
    int flag = -1;
    CHECK(MPIX_Comm_is_revoked(comm, &flag) == MPI_SUCCESS);
    return flag;
}

/* Whether all succeeded; the same answer at all survivors. The failures known here are acknowledged
 * until none is left to report. */
static inline int all_agree(MPI_Comm comm, int well)
{
    int error, flag;
    do {
        n_failed(comm);
        flag = well;
        error = MPIX_Comm_agree(comm, &flag);
        CHECK(error == MPI_SUCCESS || class_of(error) == ERR_FAILED);
    } while (error != MPI_SUCCESS);
    return flag;
}

/* comm, which is freed, without its failed. */
static inline MPI_Comm shrunk(MPI_Comm *comm)
{
    MPI_Comm living;
    CHECK(MPIX_Comm_shrink(*comm, &living) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(comm) == MPI_SUCCESS);
    return living;
}

/* The calls before have ended at all members: a later failure does not affect them. */
static inline void all_have_it(MPI_Comm comm)
{
    int flag = 1;
    CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS);
}

static inline MPI_Comm copy_of_the_world(void)
{
    MPI_Comm comm;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    all_have_it(comm);
    return comm;
}
#endif

#endif
