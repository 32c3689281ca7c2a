/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rogue_bye inter | merged | freed
 *
 * Two processes, on two nodes, spawn two more, which end while the parents still have a
 * communicator with them. No parent waits for ever, and none gets an error without need.
 *
 *   inter   the spawned ones tell their daemons that they have finalized (BYE). A parent that has
 *           no message with them learns from the other that an operation has failed
 *   merged  the same on an intra-communicator; the operation has succeeded at one parent when it
 *           fails at the other, which begins none of the next ones
 *   freed   they end as they may: they have sent their part of a collective operation, and have
 *           freed the communicator. The operation succeeds at a parent that begins it afterwards
 */
#include "wire/link_messages.h"

#include <mpi.h>

#include <mpi-ext.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHILDREN = 2, LARGE = 1 << 18 };

static int link_fd; /* the library closes its own */

static void leave(void)
{
    static uint8_t bytes[64];
    const struct rz_link_message bye = {.type = RZ_LINK_BYE};
    size_t n = rz_link_encode(&bye, bytes, sizeof(bytes));
    _exit(send(link_fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n ? 0 : 3);
}

static int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

static int rank_of(MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

/* ---- inter ---- */

static int told_inter(MPI_Comm between, int child)
{
    MPI_Barrier(between); /* all have the communicator */
    if (child) {
        leave();
    }
    int one = 1, sum;
    return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, between);
}

/* ---- merged ---- */

static int told_merged(MPI_Comm between, int child)
{
    MPI_Comm all;
    MPI_Intercomm_merge(between, child, &all);
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    MPI_Barrier(all);
    if (child) {
        leave();
    }
    int mine = 0, sums[2 + CHILDREN] = {0};
    int error = MPI_Gather(&mine, 1, MPI_INT, sums, 1, MPI_INT, 0, all);
    if (rank_of(all) == 1 && error == MPI_SUCCESS) {
        error = MPI_Bcast(&mine, 1, MPI_INT, 0, all); /* the root does not begin it */
    }
    MPI_Comm_free(&all);
    return error;
}

/* ---- freed ---- */

/* The spawned processes may have ended when their small parts are received. */
static int told_freed(MPI_Comm *between, int child)
{
    static int large[LARGE], all[CHILDREN * LARGE];
    MPI_Comm comm = *between;
    int pid = (int)getpid(), pids[CHILDREN];
    int root = child ? 0 : rank_of(comm) == 0 ? MPI_ROOT : MPI_PROC_NULL;
    int error = MPI_Gather(large, LARGE, MPI_INT, all, LARGE, MPI_INT, root, comm);
    if (child) {
        MPI_Send(&pid, 1, MPI_INT, 0, 0, comm);
    }
    for (int i = 0; root == MPI_ROOT && i < CHILDREN; i++) {
        MPI_Recv(&pids[i], 1, MPI_INT, i, 0, comm, MPI_STATUS_IGNORE);
    }
    int last = MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, root, comm);
    MPI_Comm_free(between);
    return error != MPI_SUCCESS ? error : last;
}

int main(int argc, char **argv)
{
    const char *fd = getenv("RZ_LINK_FD");
    const char *kind = argc > 1 ? argv[1] : "";
    link_fd = fd ? dup(atoi(fd)) : -1;
    MPI_Comm parent, between;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    int child = parent != MPI_COMM_NULL;
    if (child) {
        between = parent;
    } else {
        MPI_Comm_spawn(argv[0], &argv[1], CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                       MPI_ERRCODES_IGNORE);
    }
    MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
    int error = strcmp(kind, "freed") == 0    ? told_freed(&between, child)
                : strcmp(kind, "merged") == 0 ? told_merged(between, child)
                                              : told_inter(between, child);
    if (!child) {
        MPI_Barrier(MPI_COMM_WORLD);
        printf("%s\n", class_of(error) == MPIX_ERR_PROC_FAILED ? "told"
                       : error == MPI_SUCCESS                  ? "right"
                                                               : "other");
    }
    if (between != MPI_COMM_NULL) {
        MPI_Comm_disconnect(&between);
    }
    MPI_Finalize();
    return 0;
}
