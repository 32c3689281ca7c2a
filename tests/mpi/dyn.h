/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs with processes that come later ask again and again. */
#ifndef DYN_H
#define DYN_H

#include "ulfm.h"

#include <mpi-ext.h>
#include <string.h>

/* The parents of this process, or MPI_COMM_NULL. */
static inline MPI_Comm parents(void)
{
    MPI_Comm parent, again;
    CHECK(MPI_Comm_get_parent(&parent) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_parent(&again) == MPI_SUCCESS && again == parent);
    return parent;
}

static inline MPI_Comm spawn_with(const char *program, char **argv, int n, MPI_Info info, int root,
                                  MPI_Comm comm)
{
    int codes[64], size = 0, remote = 0;
    MPI_Comm inter = MPI_COMM_NULL;
    CHECK(n <= 64);
    for (int i = 0; i < n; i++) {
        codes[i] = -1;
    }
    CHECK(MPI_Comm_spawn(program, argv, n, info, root, comm, &inter, codes) == MPI_SUCCESS);
    for (int i = 0; i < n; i++) {
        CHECK(codes[i] == MPI_SUCCESS);
    }
    MPI_Comm_size(comm, &size);
    int local;
    MPI_Comm_size(inter, &local);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(local == size && remote == n);
    return inter;
}

static inline MPI_Comm spawn(const char *program, const char *word, int n, int root, MPI_Comm comm)
{
    char copy[32];
    snprintf(copy, sizeof(copy), "%s", word);
    char *argv[] = {copy, NULL};
    return spawn_with(program, argv, n, MPI_INFO_NULL, root, comm);
}

/* Both groups of an inter-communicator come together, each with all its members. */
static inline void inter_works(MPI_Comm inter)
{
    int rank, size, remote, sum = -1, flag = ~0;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter) == MPI_SUCCESS);
    CHECK(sum == remote * (remote - 1) / 2);
    CHECK(MPI_Barrier(inter) == MPI_SUCCESS);
    /* With the one of the same rank. */
    if (rank < remote) {
        int got = -1;
        CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, rank, 7, &got, 1, MPI_INT, rank, 7, inter,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(got == rank);
    }
    CHECK(MPIX_Comm_agree(inter, &flag) == MPI_SUCCESS && flag == ~0);
}

static inline void merged_works(MPI_Comm inter, int high)
{
    MPI_Comm merged;
    int size, local, remote;
    MPI_Comm_size(inter, &local);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(MPI_Intercomm_merge(inter, high, &merged) == MPI_SUCCESS);
    MPI_Comm_size(merged, &size);
    CHECK(size == local + remote);
    works(merged);
    CHECK(MPI_Comm_disconnect(&merged) == MPI_SUCCESS && merged == MPI_COMM_NULL);
}

static inline int attribute(int keyval)
{
    int *value = NULL, flag = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &flag);
    CHECK(flag && value);
    return *value;
}

#endif
