/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A checkpoint in memory: each rank keeps a copy of its left neighbour's state. After a failure all
 * go back to the last checkpoint that all have. Argument: shrink (the neighbour continues with the
 * failed one's state, too) or spawn (a new process gets it).
 */
#include "repair.h"

enum { STEPS = 60, EVERY = 10, CELLS = 256, MAX = 64 };

/* What a rank works on: cells that depend on all steps before, and on the neighbours' cells. */
struct part {
    int owner, step; /* owner -1: none */
    long cell[CELLS];
};

static struct part mine, kept[2],
    of_buddy[2];                 /* the newest checkpoint is that of the smaller step */
static struct part adopted[MAX]; /* of failed ranks, whose work is done here */
static int n_parts;              /* of all, failed or alive */

static void begin_part(struct part *part, int owner)
{
    part->owner = owner;
    part->step = 0;
    for (int i = 0; i < CELLS; i++) {
        part->cell[i] = owner * 1000 + i;
    }
}

static void advance(struct part *part)
{
    for (int i = 0; i < CELLS; i++) {
        part->cell[i] = part->cell[i] * 31 % 1000003 + part->step + part->owner;
    }
    part->step++;
}

static long sum_of(const struct part *part)
{
    long sum = 0;
    for (int i = 0; i < CELLS; i++) {
        sum += part->cell[i];
    }
    return sum;
}

static long expected(int step)
{
    long sum = 0;
    for (int owner = 0; owner < n_parts; owner++) {
        static struct part part;
        begin_part(&part, owner);
        while (part.step < step) {
            advance(&part);
        }
        sum += sum_of(&part);
    }
    return sum;
}

/* In one of two places, so that a failure in the middle leaves the one before. */
static int checkpoint(MPI_Comm comm)
{
    int size = size_of(comm), rank = rank_in(comm), place = mine.step / EVERY % 2;
    kept[place] = mine;
    return MPI_Sendrecv(&mine, sizeof(mine), MPI_BYTE, (rank + 1) % size, 1, &of_buddy[place],
                        sizeof(mine), MPI_BYTE, (rank + size - 1) % size, 1, comm,
                        MPI_STATUS_IGNORE);
}

static int run(MPI_Comm comm, int victim, int failure)
{
    int error = MPI_SUCCESS;
    long sum, all;
    while (error == MPI_SUCCESS && mine.step < STEPS) {
        if (mine.step % EVERY == 0) {
            error = checkpoint(comm);
        }
        if (mine.owner == victim && mine.step == failure) {
            crash();
        }
        advance(&mine);
        sum = sum_of(&mine);
        for (int i = 0; i < MAX; i++) {
            if (adopted[i].owner != -1) {
                advance(&adopted[i]);
                sum += sum_of(&adopted[i]);
            }
        }
        if (error == MPI_SUCCESS) {
            error = MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, comm);
        }
        CHECK(error != MPI_SUCCESS || all == expected(mine.step));
    }
    return error;
}

/* The newest step of which all have a checkpoint: the newest of each, or the one before. */
static int step_to_go_back_to(MPI_Comm comm)
{
    int newest = kept[0].step > kept[1].step ? kept[0].step : kept[1].step, oldest;
    if (mine.owner == -1) {
        newest = STEPS; /* a spawned process has no say */
    }
    CHECK(MPI_Allreduce(&newest, &oldest, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS);
    return oldest;
}

static const struct part *at(const struct part copies[2], int step)
{
    const struct part *part = &copies[step / EVERY % 2];
    CHECK(part->step == step);
    return part;
}

/* The neighbour of the failed process continues for both. */
static void adopt(int step, int left)
{
    const struct part *part = at(of_buddy, step);
    CHECK(part->owner == left);
    adopted[left] = *part;
}

static int step_of_failure;

static MPI_Comm recover(MPI_Comm comm, char **argv, int spawning, int victim)
{
    int rank = mine.owner, step;
    if (spawning) {
        comm = repaired(&comm, argv);
    } else {
        MPIX_Comm_revoke(comm);
        comm = shrunk(&comm);
    }
    step = step_to_go_back_to(comm);
    CHECK(step <= step_of_failure && step_of_failure - step <= EVERY);
    mine = *at(kept, step);
    if (rank == (victim + 1) % n_parts) {
        if (spawning) {
            CHECK(MPI_Send(at(of_buddy, step), sizeof(mine), MPI_BYTE, victim, 2, comm) ==
                  MPI_SUCCESS);
        } else {
            adopt(step, victim);
        }
    }
    return comm;
}

int main(int argc, char **argv)
{
    MPI_Comm comm, parent;
    MPI_Init(&argc, &argv);
    CHECK(argc == 2);
    int spawning = strcmp(argv[1], "spawn") == 0, victim = 2, failure = 3 * EVERY + 4;
    for (int i = 0; i < MAX; i++) {
        adopted[i].owner = -1;
    }
    mine.owner = -1;
    step_of_failure = failure;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        comm = copy_of_the_world();
        n_parts = size_of(comm);
        begin_part(&mine, rank_in(comm));
        int error = run(comm, victim, failure);
        CHECK(class_of(error) == ERR_FAILED || class_of(error) == ERR_REVOKED);
        comm = recover(comm, argv, spawning, victim);
    } else {
        comm = joined(parent);
        n_parts = size_of(comm);
        step_to_go_back_to(comm);
        CHECK(MPI_Recv(&mine, sizeof(mine), MPI_BYTE, (victim + 1) % n_parts, 2, comm,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(run(comm, -1, 0) == MPI_SUCCESS && mine.step == STEPS);
    MPI_Comm_free(&comm);
    return survived("buddy");
}
