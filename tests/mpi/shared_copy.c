/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large messages of two ranks of one node, which both copy. Arguments: the number of rounds, and
 *
 *   whole     every byte is right
 *   fails     one rank fails on the way (RZ_KILL_AT), or is stopped and declared failed; the other
 *             one continues. A rank 0 that has not failed by the end, since neither had the time
 *             to help, fails then
 *   reinit    inside MPIX_Reinit no sender helps: one that did would fail (RZ_KILL_AT)
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

enum { WORDS_MAX = 256 * 1024, WINDOW = 3 };

static int rank, rounds;
static uint64_t *out, *in[WINDOW];

static int words_of(int round)
{
    return round % 3 == 0 ? WORDS_MAX : WORDS_MAX / 8 + round * 977 % (WORDS_MAX / 2);
}

static void fill(uint64_t seed, int words)
{
    for (int i = 0; i < words; i++) {
        out[i] = seed + (uint64_t)i * UINT64_C(0x9E3779B97F4A7C15);
    }
}

static void check(const uint64_t *data, uint64_t seed, int words)
{
    int wrong = 0;
    for (int i = 0; i < words; i++) {
        wrong += data[i] != seed + (uint64_t)i * UINT64_C(0x9E3779B97F4A7C15);
    }
    CHECK(wrong == 0);
}

/* From rank `from` to the other: one message alone, then several in progress. */
static int one_way(MPI_Comm comm, int from, int round)
{
    MPI_Request requests[WINDOW];
    int words = words_of(round), error;
    uint64_t seed = (uint64_t)round * 2 + (uint64_t)from;
    if (rank == from) {
        fill(seed, words);
        error = MPI_Send(out, words, MPI_UINT64_T, 1 - from, 1, comm);
    } else {
        error = MPI_Recv(in[0], words, MPI_UINT64_T, from, 1, comm, MPI_STATUS_IGNORE);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (rank != from) {
        check(in[0], seed, words);
    }
    for (int i = 0; i < WINDOW; i++) {
        if (rank == from) {
            MPI_Isend(out, words, MPI_UINT64_T, 1 - from, 2, comm, &requests[i]);
        } else {
            memset(in[i], 0, (size_t)words * sizeof(uint64_t));
            MPI_Irecv(in[i], words, MPI_UINT64_T, from, 2, comm, &requests[i]);
        }
    }
    error = MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < WINDOW && error == MPI_SUCCESS && rank != from; i++) {
        check(in[i], seed, words);
    }
    return error;
}

static int use(MPI_Comm comm)
{
    int error = MPI_SUCCESS;
    for (int round = 0; round < rounds && error == MPI_SUCCESS; round++) {
        error = one_way(comm, 0, round);
        error = error == MPI_SUCCESS ? one_way(comm, 1, round) : error;
        int words = words_of(round);
        if (error == MPI_SUCCESS && rank == round % 2) {
            fill((uint64_t)round, words);
        }
        error = error == MPI_SUCCESS ? MPI_Bcast(out, words, MPI_UINT64_T, round % 2, comm) : error;
        if (error == MPI_SUCCESS) {
            check(out, (uint64_t)round, words);
        }
    }
    return error;
}

static void survive(void)
{
    MPI_Comm rest;
    int size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int error = use(MPI_COMM_WORLD);
    if (error == MPI_SUCCESS && rank == 0) {
        raise(SIGKILL);
    }
    error = error == MPI_SUCCESS ? MPI_Barrier(MPI_COMM_WORLD) : error;
    CHECK(error != MPI_SUCCESS && class_of(error) != MPI_ERR_OTHER);
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &rest) == MPI_SUCCESS);
    MPI_Comm_size(rest, &size);
    CHECK(size == 1);
    MPI_Comm_free(&rest);
    puts("shared copy: the other rank has continued");
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    (void)argc, (void)argv;
    CHECK(state == MPIX_REINIT_NEW);
    CHECK(use(MPI_COMM_WORLD) == MPI_SUCCESS);
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    CHECK(argc == 3);
    rounds = atoi(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    out = malloc(WORDS_MAX * sizeof(*out));
    for (int i = 0; i < WINDOW; i++) {
        in[i] = malloc(WORDS_MAX * sizeof(*in[i]));
    }
    if (strcmp(argv[2], "fails") == 0) {
        survive();
    } else if (strcmp(argv[2], "reinit") == 0) {
        CHECK(MPIX_Reinit(argc, argv, point) == 0);
    } else {
        CHECK(use(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    MPI_Finalize();
    return 0;
}
