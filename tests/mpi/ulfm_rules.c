/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules of ULFM, a scene per run; the last rank is killed in all but two (--on-failure continue).
 *
 *   range        mpi_error_range: which processes a failure concerns
 *   agree        what it says of failures acknowledged by all, by some, by none
 *   insulation   what does not involve the failed goes on; a revocation is of one communicator
 *   exchange     a send to the failed is no reason not to receive from one that waits for it
 *   derive       communicators made around a failure are made whole by agreement, or not at all
 *   early        a revocation that arrives before the communicator does
 *   completion   requests are made, and fail when they are waited for, of a failure or a revocation
 *   part         what makes communicators of groups tells of a known failure among them
 *   refused      ... and of a revocation by a member that does not enter; no process is killed
 *   plain        with --no-ft, and no process is killed: agreement is an allreduce
 */
#include "scenes.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, victim;

static MPI_Comm copy_of(MPI_Comm comm, const char *range)
{
    MPI_Comm copy;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_error_range", range);
    CHECK(MPI_Comm_dup_with_info(comm, info, &copy) == MPI_SUCCESS);
    MPI_Info_free(&info);
    return copy;
}

/* The last rank goes once all have come here; the others return when they know. */
static void lose_the_last(void)
{
    int flag = 1, value;
    MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
    if (rank == victim) {
        raise(SIGKILL);
    }
    CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, victim, 4711, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) ==
          MPI_ERR_PROC_FAILED);
}

static int is_revoked(MPI_Comm comm)
{
    int flag;
    MPIX_Comm_is_revoked(comm, &flag);
    return flag;
}

static void range(void)
{
    char value[16];
    int flag;
    MPI_Comm without, info_comm;
    MPI_Comm_split(MPI_COMM_WORLD, rank == victim, rank, &without);
    MPI_Comm local = copy_of(MPI_COMM_WORLD, "local"), group = copy_of(MPI_COMM_WORLD, "group");
    MPI_Comm far_local = copy_of(without, "local"), far_group = copy_of(without, "group");
    MPI_Comm universe = copy_of(without, "universe"), odd = copy_of(without, "nonsense");
    MPI_Info info;
    MPI_Comm_get_info(universe, &info);
    MPI_Info_get(info, "mpi_error_range", 15, value, &flag);
    CHECK(flag && strcmp(value, "universe") == 0);
    MPI_Info_free(&info);
    MPI_Comm_get_info(odd, &info);
    MPI_Info_get(info, "mpi_error_range", 15, value, &flag);
    CHECK(flag && strcmp(value, "local") == 0);
    MPI_Info_free(&info);
    lose_the_last();
    CHECK(!is_revoked(local) && !is_revoked(far_local) && !is_revoked(far_group));
    CHECK(is_revoked(group) && is_revoked(universe));
    CHECK(MPI_Barrier(far_group) == MPI_SUCCESS);
    CHECK(class_of(MPI_Barrier(universe)) == MPI_ERR_REVOKED);
    /* A process that asks for it after the failure gets it at once. */
    info_comm = copy_of(far_local, "universe");
    CHECK(is_revoked(info_comm));
}

static void agree(void)
{
    int flag = 5, acked, n;
    MPI_Group failed;
    lose_the_last();
    CHECK(class_of(MPIX_Comm_agree(MPI_COMM_WORLD, &flag)) == MPI_ERR_PROC_FAILED && flag == 5);
    MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed);
    MPI_Group_size(failed, &n);
    CHECK(n == 1);
    MPI_Group_free(&failed);
    if (rank == 0) {
        MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &acked);
    }
    flag =
        rank == 0 ? 6 : 7; /* one has acknowledged, the others have not: the same error for all */
    int error = MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
    CHECK(class_of(error) == (size > 2 ? MPI_ERR_PROC_FAILED : MPI_SUCCESS) && flag == 6);
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &acked);
    CHECK(acked == 1);
    flag = ~(1 << rank);
    CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag) == MPI_SUCCESS);
    CHECK(flag == ~((1 << victim) - 1));
    /* Several at a time, ended in another order. */
    int flags[3] = {8 + rank, 16, 32};
    MPI_Request requests[3];
    for (int i = 0; i < 3; i++) {
        CHECK(MPIX_Comm_iagree(MPI_COMM_WORLD, &flags[i], &requests[i]) == MPI_SUCCESS);
    }
    for (int i = 2; i >= 0; i--) {
        CHECK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(flags[1] == 16 && flags[2] == 32 && (flags[0] & 7) == 0);
    CHECK(MPIX_Comm_agree_failed(MPI_COMM_WORLD, &failed) == MPI_SUCCESS);
    MPI_Group_size(failed, &n);
    CHECK(n == 1);
    MPI_Group_free(&failed);
}

static void insulation(void)
{
    MPI_Comm a, b;
    int value = rank, got = -1, *fault_tolerant, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &fault_tolerant, &flag);
    CHECK(flag && *fault_tolerant == 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_split(MPI_COMM_WORLD, rank == victim, rank, &b);
    lose_the_last();
    int right = (rank + 1) % victim, left = (rank + victim - 1) % victim;
    for (int i = 0; i < 10; i++) {
        CHECK(MPI_Sendrecv(&value, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, a,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(got == left);
        CHECK(MPI_Barrier(b) == MPI_SUCCESS);
    }
    CHECK(class_of(MPI_Barrier(a)) == MPI_ERR_PROC_FAILED);
    MPI_Barrier(b);
    if (rank == 0) {
        MPIX_Comm_revoke(a);
    }
    CHECK(class_of(MPI_Recv(&got, 1, MPI_INT, rank, 9, a, MPI_STATUS_IGNORE)) == MPI_ERR_REVOKED);
    CHECK(!is_revoked(MPI_COMM_WORLD) && !is_revoked(b));
    CHECK(MPI_Barrier(b) == MPI_SUCCESS);
}

/* Around the ring of all. The messages are too large to leave without their receiver. */
static void exchange(void)
{
    enum { N = 1 << 20 };
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    char *out = malloc(N), *in = malloc(N);
    MPI_Request both;
    bool concerned = right == victim || left == victim;
    lose_the_last();
    for (int way = 0; way < 3; way++) {
        int error;
        memset(out, rank + 1, N);
        memset(in, 0, N);
        if (way == 0) {
            error = MPI_Sendrecv(out, N, MPI_CHAR, right, 1, in, N, MPI_CHAR, left, 1,
                                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (way == 1) {
            CHECK(MPI_Isendrecv(out, N, MPI_CHAR, right, 1, in, N, MPI_CHAR, left, 1,
                                MPI_COMM_WORLD, &both) == MPI_SUCCESS);
            error = MPI_Wait(&both, MPI_STATUS_IGNORE);
        } else {
            memcpy(in, out, N);
            error = MPI_Sendrecv_replace(in, N, MPI_CHAR, right, 1, left, 1, MPI_COMM_WORLD,
                                         MPI_STATUS_IGNORE);
        }
        CHECK(class_of(error) == (concerned ? MPI_ERR_PROC_FAILED : MPI_SUCCESS));
        CHECK(left == victim || (in[0] == left + 1 && in[N - 1] == left + 1));
    }
    free(in);
    free(out);
}

static void derive(void)
{
    MPI_Comm made = MPI_COMM_NULL, shrunk, inter, merged;
    int value, n;
    if (rank == victim) {
        raise(SIGKILL); /* perhaps before, perhaps during the creation below */
    }
    int error = MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &made);
    CHECK(error == MPI_SUCCESS || class_of(error) == MPI_ERR_PROC_FAILED);
    int good = error == MPI_SUCCESS;
    MPIX_Comm_agree(MPI_COMM_WORLD, &good);
    if (made != MPI_COMM_NULL) {
        if (!good) {
            MPIX_Comm_revoke(made);
        }
        MPI_Comm_free(&made);
    }
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk) == MPI_SUCCESS);
    MPI_Comm_size(shrunk, &n);
    while (n == size) { /* its failure was not known yet */
        MPI_Comm before = shrunk;
        CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, victim, 1, before, MPI_STATUS_IGNORE)) ==
              MPI_ERR_PROC_FAILED);
        CHECK(MPIX_Comm_shrink(before, &shrunk) == MPI_SUCCESS);
        MPI_Comm_free(&before);
        MPI_Comm_size(shrunk, &n);
    }
    CHECK(n == size - 1);
    if (n > 1) {
        int side = rank % 2, flag;
        MPI_Comm half;
        MPI_Comm_split(shrunk, side, rank, &half);
        CHECK(MPI_Intercomm_create(half, 0, shrunk, side ? 0 : 1, 5, &inter) == MPI_SUCCESS);
        flag = side ? 0xf0 : 0x0f;
        CHECK(MPIX_Comm_agree(inter, &flag) == MPI_SUCCESS);
        CHECK(flag == (side ? 0x0f : 0xf0)); /* the other group's */
        CHECK(MPIX_Comm_shrink(inter, &made) == MPI_SUCCESS);
        MPI_Comm_test_inter(made, &flag);
        CHECK(flag);
        CHECK(MPI_Intercomm_merge(made, side, &merged) == MPI_SUCCESS);
        MPI_Comm_size(merged, &flag);
        CHECK(flag == n);
        CHECK(MPI_Barrier(merged) == MPI_SUCCESS);
    }
}

static void early(void)
{
    int value = 0, flag = 1;
    MPI_Comm copy;
    MPI_Request made;
    lose_the_last();
    for (int i = 0; i < 100; i++) {
        int first = i % victim;
        if (rank == first) {
            /* It is there at once; the others come later. */
            CHECK(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &made) == MPI_SUCCESS);
            MPIX_Comm_revoke(copy);
        }
        if (rank == first && victim > 1) {
            MPI_Ssend(&value, 1, MPI_INT, (rank + 1) % victim, 3, MPI_COMM_WORLD);
        } else if (rank == (first + 1) % victim) {
            MPI_Recv(&value, 1, MPI_INT, first, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (rank != first) {
            CHECK(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &made) == MPI_SUCCESS);
        }
        CHECK(class_of(MPI_Wait(&made, MPI_STATUS_IGNORE)) == MPI_ERR_PROC_FAILED);
        CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, rank, 9, copy, MPI_STATUS_IGNORE)) ==
              MPI_ERR_REVOKED);
        MPIX_Comm_agree(copy, &flag);
        MPI_Comm_free(&copy);
    }
}

/* The call succeeds; the result is returned at the end of the request. */
static void ends_with(int error, int made, MPI_Request *request)
{
    CHECK(made == MPI_SUCCESS);
    CHECK(*request != MPI_REQUEST_NULL);
    CHECK(class_of(MPI_Wait(request, MPI_STATUS_IGNORE)) == error);
    CHECK(*request == MPI_REQUEST_NULL);
}

static void run_ends_with(int error, int made, MPI_Request *request)
{
    CHECK(made == MPI_SUCCESS);
    for (int i = 0; i < 2; i++) {
        CHECK(MPI_Start(request) == MPI_SUCCESS);
        CHECK(class_of(MPI_Wait(request, MPI_STATUS_IGNORE)) == error);
    }
    CHECK(MPI_Request_free(request) == MPI_SUCCESS);
}

static void all_end_with(int error, MPI_Comm comm, MPI_Comm ring)
{
    enum { N = 64 };
    int from[N] = {0}, to[N];
    MPI_Request one;
    MPI_Comm made;
    ends_with(error, MPI_Ibarrier(comm, &one), &one);
    ends_with(error, MPI_Ibcast(to, 1, MPI_INT, 0, comm, &one), &one);
    ends_with(error, MPI_Ireduce(from, to, 1, MPI_INT, MPI_SUM, 0, comm, &one), &one);
    ends_with(error, MPI_Iallreduce(from, to, 1, MPI_INT, MPI_SUM, comm, &one), &one);
    ends_with(error, MPI_Iscan(from, to, 1, MPI_INT, MPI_SUM, comm, &one), &one);
    ends_with(error, MPI_Igather(from, 1, MPI_INT, to, 1, MPI_INT, 0, comm, &one), &one);
    ends_with(error, MPI_Iscatter(from, 1, MPI_INT, to, 1, MPI_INT, 0, comm, &one), &one);
    ends_with(error, MPI_Iallgather(from, 1, MPI_INT, to, 1, MPI_INT, comm, &one), &one);
    ends_with(error, MPI_Ialltoall(from, 1, MPI_INT, to, 1, MPI_INT, comm, &one), &one);
    ends_with(error, MPI_Ineighbor_alltoall(from, 1, MPI_INT, to, 1, MPI_INT, ring, &one), &one);
    ends_with(error, MPI_Isend(from, 1, MPI_INT, victim, 3, comm, &one), &one);
    ends_with(error, MPI_Issend(from, 1, MPI_INT, victim, 3, comm, &one), &one);
    ends_with(error, MPI_Irecv(to, 1, MPI_INT, victim, 3, comm, &one), &one);
    ends_with(error, MPI_Comm_idup(comm, &made, &one), &one);
    CHECK(MPI_Comm_free(&made) == MPI_SUCCESS);
    run_ends_with(error, MPI_Barrier_init(comm, MPI_INFO_NULL, &one), &one);
    run_ends_with(error, MPI_Bcast_init(to, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &one), &one);
    run_ends_with(error, MPI_Recv_init(to, 1, MPI_INT, victim, 3, comm, &one), &one);
    run_ends_with(error, MPI_Send_init(from, 1, MPI_INT, victim, 3, comm, &one), &one);
}

static void completion(void)
{
    MPI_Comm comm, ring;
    int round = 1, flag = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Cart_create(comm, 1, &size, &round, 0, &ring);
    lose_the_last();
    all_end_with(MPI_ERR_PROC_FAILED, comm, ring);
    MPIX_Comm_agree(MPI_COMM_WORLD, &flag); /* all are through */
    MPIX_Comm_revoke(comm);
    MPIX_Comm_revoke(ring);
    all_end_with(MPI_ERR_REVOKED, comm, ring);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&comm);
}

static void part(void)
{
    MPI_Group all, some;
    MPI_Comm made;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_excl(all, 1, &victim, &some);
    lose_the_last();
    for (int i = 0; i < 3; i++) {
        int error = MPI_Comm_create_group(MPI_COMM_WORLD, all, 5, &made);
        CHECK(class_of(error) == MPI_ERR_PROC_FAILED);
        error = MPI_Comm_create_from_group(all, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
        CHECK(class_of(error) == MPI_ERR_PROC_FAILED);
    }
    CHECK(MPI_Comm_create_from_group(some, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) ==
          MPI_SUCCESS);
    MPI_Comm_free(&made);
    CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &made) == MPI_SUCCESS);
    CHECK(MPI_Barrier(made) == MPI_SUCCESS);
    MPI_Comm_free(&made);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
}

/* Rank 1 revokes instead of entering: no other may wait for it on what would have been made. */
static void refused(void)
{
    MPI_Comm copy, half, made;
    MPI_Group all, mine;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &rank, &mine);
    for (int i = 0; i < 20; i++) {
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &copy) == MPI_SUCCESS);
        if (rank == 1) {
            CHECK(MPIX_Comm_revoke(copy) == MPI_SUCCESS);
        } else {
            int error = MPI_Comm_create_group(copy, all, 5, &made);
            CHECK(class_of(error) == MPI_ERR_REVOKED);
        }
        /* A group of one process, which needs no message. */
        CHECK(class_of(MPI_Comm_create_group(copy, mine, 5, &made)) == MPI_ERR_REVOKED);
        CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);

        CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half) == MPI_SUCCESS);
        if (rank == 1) {
            CHECK(MPIX_Comm_revoke(half) == MPI_SUCCESS);
        }
        /* The leader meets that of the other side although nothing comes of it. */
        int error = MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 5, &made);
        CHECK(class_of(error) == MPI_ERR_REVOKED);
        CHECK(MPI_Comm_free(&half) == MPI_SUCCESS);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    MPI_Group_free(&mine);
    MPI_Group_free(&all);
}

static void plain(void)
{
    int flag = ~(1 << rank), *fault_tolerant, there;
    MPI_Comm copy;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &fault_tolerant, &there);
    CHECK(there && *fault_tolerant == 0);
    CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag) == MPI_SUCCESS);
    CHECK(flag == ~((1 << size) - 1));
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPIX_Comm_revoke(copy);
    CHECK(class_of(MPIX_Comm_agree(copy, &flag)) == MPI_ERR_REVOKED);
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"range", range},       {"agree", agree},           {"insulation", insulation},
        {"derive", derive},     {"plain", plain},           {"early", early},
        {"exchange", exchange}, {"completion", completion}, {"part", part},
        {"refused", refused}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    victim = size - 1;
    SCENE_PLAY(scenes, argc > 1 ? argv[1] : "");
    MPI_Finalize();
    return 0;
}
