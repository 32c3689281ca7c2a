/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long puts and gets in memory of the user of the last rank, which is inside MPI, and copies pieces
 * of them, or computes. Each other rank writes to a part of that memory of its own, knows what it
 * holds, and reads it back. The argument says which rank fails on the way (RZ_KILL_AT names the
 * place), or "none". Run with --on-failure continue.
 */
#include "ulfm.h"

#include <mpi-ext.h>
#include <string.h>

enum { PART = 3 * 1000 * 1000 + 17, ROUNDS = 60, BOUND_S = 300, END_TAG = 1 };

static int rank, size, owner;
static MPI_Win win;
static unsigned char *model, *buffer;
static unsigned long long dice;

static int draw(int below)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (int)((dice >> 33) % (unsigned)below);
}

/* Some bytes from some place on; seldom few. */
static int some(int *at)
{
    *at = draw(PART);
    int most = PART - *at;
    return 1 + (draw(8) ? draw(most) : draw(most < 5000 ? most : 5000));
}

static int first(int error, int other)
{
    return error != MPI_SUCCESS ? error : other;
}

static int put_some(void)
{
    int at, n = some(&at);
    for (int i = 0; i < n; i += 1 + draw(100)) {
        model[at + i] = (unsigned char)draw(256);
    }
    memcpy(buffer, model + at, (size_t)n);
    int error = MPI_Put(buffer, n, MPI_BYTE, owner, (MPI_Aint)rank * PART + at, n, MPI_BYTE, win);
    return first(error, MPI_Win_flush(owner, win));
}

static int get_some(void)
{
    int at, n = some(&at);
    memset(buffer, 0x77, (size_t)n);
    int error = MPI_Get(buffer, n, MPI_BYTE, owner, (MPI_Aint)rank * PART + at, n, MPI_BYTE, win);
    error = first(error, MPI_Win_flush(owner, win));
    CHECK(error != MPI_SUCCESS || memcmp(buffer, model + at, (size_t)n) == 0);
    return error;
}

static int ask(int fails)
{
    double end = MPI_Wtime() + BOUND_S;
    int error = MPI_SUCCESS;
    for (int i = 0; error == MPI_SUCCESS && (fails == 0 || i < ROUNDS) && MPI_Wtime() < end; i++) {
        error = first(put_some(), get_some());
    }
    return error;
}

/* Until the ranks that live have sent their last word. Returns how many have failed. */
static int be_owner(void)
{
    MPI_Group failed;
    int lost = 0;
    for (int ended = 0, round = 0; ended + lost < owner; round++) {
        int there = 0;
        for (int i = 0; i < 200 && !there; i++) {
            MPI_Iprobe(MPI_ANY_SOURCE, END_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        }
        if (there) {
            MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, END_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            ended++;
        }
        for (volatile int i = 0; i < 200000 && round % 4 == 0; i++) {
        }
        MPIX_Win_get_failed(win, &failed);
        MPI_Group_size(failed, &lost);
        MPI_Group_free(&failed);
        if (lost > 0) {
            MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &there);
        }
    }
    return lost;
}

int main(int argc, char **argv)
{
    int fails = argc > 1 && strcmp(argv[1], "none") != 0 ? atoi(argv[1]) : -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    owner = size - 1;
    dice = (unsigned long long)rank + 1;
    size_t bytes = (size_t)PART * (size_t)owner;
    char *memory = calloc(1, bytes);
    model = calloc(1, PART);
    buffer = malloc(PART);
    CHECK(memory && model && buffer);
    MPI_Win_create(memory, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    int error = MPI_SUCCESS;
    if (rank == owner) {
        CHECK(be_owner() == (fails >= 0));
    } else {
        MPI_Win_lock_all(0, win);
        /* Where no rank is to fail the others end by themselves, else with the owner. */
        error = ask(fails == owner ? 0 : 1);
        MPI_Win_unlock_all(win);
        MPI_Send(NULL, 0, MPI_BYTE, owner, END_TAG, MPI_COMM_WORLD);
    }
    CHECK(error == MPI_SUCCESS || (fails == owner && class_of(error) == MPIX_ERR_PROC_FAILED));
    CHECK(fails != owner || error != MPI_SUCCESS);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    free(memory);
    free(model);
    free(buffer);
    if (rank == (fails == 0)) {
        printf("shares: correct\n");
    }
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &rank);
    MPI_Finalize();
    return 0;
}
