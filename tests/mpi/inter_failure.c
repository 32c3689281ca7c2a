/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A member of one of two groups is killed between or inside collective operations of their
 * inter-communicator: every survivor in both groups gets MPI_ERR_PROC_FAILED from one of them and
 * from all later ones; the making of communicators ends, too; messages between survivors are not
 * affected, and the survivors synchronise again. Run with --on-failure continue.
 *
 * Arguments: [OPERATION [VICTIM]]. Even ranks of the world are one group, odd ones the other.
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdlib.h>

enum { LARGE = 60000, WORLD_MAX = 16, KINDS = 11 };

static double out[LARGE], in[LARGE];
static int world_rank, world_size, victim, side, rank;
static MPI_Comm local, inter;

static int drop(int error, MPI_Comm *made)
{
    if (error == MPI_SUCCESS && *made != MPI_COMM_NULL) {
        MPI_Comm_free(made);
    }
    return error;
}

static int operation(int kind, MPI_Request *request)
{
    MPI_Comm made = MPI_COMM_NULL;
    int root = side == 0 ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    switch (kind) {
    case 0:
        return MPI_Barrier(inter);
    case 1:
        return MPI_Bcast(out, LARGE, MPI_DOUBLE, root, inter);
    case 2:
        return MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, inter);
    case 3:
        return MPI_Allreduce(out, in, LARGE, MPI_DOUBLE, MPI_SUM, inter);
    case 4:
        return MPI_Allgather(out, LARGE / 64, MPI_DOUBLE, in, LARGE / 64, MPI_DOUBLE, inter);
    case 5:
        return MPI_Alltoall(out, LARGE / 64, MPI_DOUBLE, in, LARGE / 64, MPI_DOUBLE, inter);
    case 6:
        return MPI_Reduce(out, in, 10, MPI_DOUBLE, MPI_SUM, root, inter);
    case 7:
        return MPI_Ibarrier(inter, request);
    case 8:
        return MPI_Iallreduce(out, in, LARGE, MPI_DOUBLE, MPI_SUM, inter, request);
    case 9:
        return drop(MPI_Intercomm_merge(inter, side, &made), &made);
    default:
        return drop(MPI_Comm_split(inter, 0, 0, &made), &made);
    }
}

/* The class of the error of one whole operation. */
static int one(int kind)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int error = operation(kind, &request);
    if (error == MPI_SUCCESS && request != MPI_REQUEST_NULL) {
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(request == MPI_REQUEST_NULL);
    return class_of(error);
}

/* The victim leaves in the middle: it takes part as far as it gets without waiting; not before all
 * others have completed, because its failure would be too early for them. */
static void fail_inside(int kind)
{
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 1, other; i < world_size; i++) {
        MPI_Recv(&other, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (kind == 7 || kind == 8) {
        operation(kind, &request);
    }
    raise(SIGKILL);
}

/* The first of the other group that lives. */
static int living_peer(void)
{
    return victim == 1 - side ? 1 : 0;
}

static void messages_go_on(void)
{
    int got = -1, failed = victim / 2, peer = living_peer();
    if (rank == (victim == side)) { /* the first survivor of each group */
        CHECK(MPI_Sendrecv(&world_rank, 1, MPI_INT, peer, 4, &got, 1, MPI_INT, peer, 4, inter,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(got == 2 * peer + 1 - side);
    }
    if (victim % 2 != side) {
        CHECK(class_of(MPI_Recv(&got, 1, MPI_INT, failed, 4, inter, MPI_STATUS_IGNORE)) ==
              MPI_ERR_PROC_FAILED);
    }
}

/* With failed processes in the local group of one side: it ends, with an error at the processes
 * that need them. */
static void create_ends(void)
{
    MPI_Comm second = MPI_COMM_NULL;
    int error = class_of(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - side, 8, &second));
    CHECK(error == MPI_SUCCESS || error == MPI_ERR_PROC_FAILED);
    if (victim % 2 == side || victim < 2) {
        CHECK(error == MPI_ERR_PROC_FAILED);
    }
    CHECK((second != MPI_COMM_NULL) == (error == MPI_SUCCESS));
    if (second != MPI_COMM_NULL) {
        CHECK(class_of(MPI_Barrier(second)) == MPI_ERR_PROC_FAILED);
        MPI_Comm_free(&second);
    }
}

static void meet_anew(void)
{
    int ranks[WORLD_MAX], n = 0, total, peers;
    for (int i = side; i < world_size; i += 2) {
        if (i != victim) {
            ranks[n++] = i;
        }
    }
    MPI_Group all, living;
    MPI_Comm here, both;
    int other = victim == 1 - side ? 3 - side : 1 - side;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, n, ranks, &living);
    MPI_Comm_create_group(MPI_COMM_WORLD, living, 6 + side, &here);
    CHECK(MPI_Intercomm_create(here, 0, MPI_COMM_WORLD, other, 9, &both) == MPI_SUCCESS);
    MPI_Comm_remote_size(both, &peers);
    MPI_Allreduce(&n, &total, 1, MPI_INT, MPI_SUM, both);
    CHECK(n + peers == world_size - 1 && total == peers * peers);
    MPI_Comm_free(&both);
    MPI_Comm_free(&here);
    MPI_Group_free(&all);
    MPI_Group_free(&living);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    int kind = argc > 1 ? atoi(argv[1]) : 0, class;
    victim = argc > 2 ? atoi(argv[2]) : 0;
    side = world_rank % 2;
    CHECK(world_size >= 4 && world_size <= WORLD_MAX && victim < world_size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_split(MPI_COMM_WORLD, side, world_rank, &local);
    MPI_Comm_rank(local, &rank);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - side, 7, &inter);
    for (int i = 0; i < 20; i++) {
        CHECK(one(kind) == MPI_SUCCESS);
    }
    if (world_rank == victim) {
        fail_inside(kind);
    }
    MPI_Send(&world_rank, 1, MPI_INT, victim, 3, MPI_COMM_WORLD);
    do {
        class = one(kind); /* not all need the victim, until the news has come */
    } while (class == MPI_SUCCESS);
    CHECK(class == MPI_ERR_PROC_FAILED);
    for (int other = 0; other < KINDS; other++) {
        CHECK(one(other) == MPI_ERR_PROC_FAILED);
    }
    messages_go_on();
    create_ends();
    meet_anew();
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
    MPI_Finalize();
    return 0;
}
