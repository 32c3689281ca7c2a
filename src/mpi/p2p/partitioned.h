/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitioned communication (chapter 4 of MPI 5.0).
 *
 * MPI_Psend_init sends one setup message: how many partitions it has, how long each is, and the
 * first of the tags of their messages. Setup messages meet MPI_Precv_init in an offset of the
 * communicator's context that nothing else uses, by source and tag in the order of the calls. From
 * then on each partition of the sender is a message of its own, sent by MPI_Pready, with its own
 * tag in another such offset. The receiver posts a receive for each at MPI_Start. Rounds need no
 * number, since messages of one tag arrive in the order sent.
 *
 * Partitions of both sides are compared by bytes: a partition of the receiver has arrived when all
 * messages have that hold a byte of it.
 *
 * Failures. A send that has not ended ends with MPI_ERR_PROC_FAILED when its receiver has failed,
 * even if partitions are not ready yet, and with MPI_ERR_REVOKED when the communicator is revoked.
 * MPI_Pready after that, until the next MPI_Start, has no effect and is no error: other threads
 * cannot know of the end. A receive ends as its messages do. MPI_Parrived returns the error of a
 * partition that will not arrive, so that a loop around it ends.
 */
#ifndef RZ_MPI_PARTITIONED_H
#define RZ_MPI_PARTITIONED_H

#include "mpi/p2p/p2p.h"

/* The arguments of both kinds of MPI_P*_init. */
struct rz_partitioned_args {
    void *buffer;
    int partitions;
    MPI_Count count; /* of each partition */
    struct rz_datatype *datatype;
    int peer, tag;
    struct rz_comm *comm;
};

/* An inactive receive. MPI_ERR_COUNT: too long; MPI_ERR_NO_MEM; RZM_ROLLBACK. */
int rz_partitioned_receive_new(const struct rz_partitioned_args *args, struct rz_request **request);

/* The class of such receives; NULL state never occurs. */
extern const struct rz_request_class rz_partitioned_receive_class;

/* Whether the partition (of the receiver) has arrived; its data are in the user's buffer then.
 * Returns the error because of which it will not arrive. */
int rz_partitioned_arrived(struct rz_request *request, int partition, bool *arrived);

/* Frees what freed receives have left behind and has ended. At a roll-back and in finalize, once
 * all requests have ended: everything. */
void rz_partitioned_sweep(void);

/* The setup message, in the order of its bytes on the wire. */
struct rz_partitioned_setup {
    uint64_t partitions, bytes; /* of each partition */
    uint64_t first_tag;
};

/* The setup message from or to args->peer. */
struct rz_p2p_message rz_partitioned_setup_message(const struct rz_partitioned_args *args,
                                                   struct rz_partitioned_setup *setup);

/* The bytes of one partition; MPI_ERR_COUNT: all together are more than 2^63 - 1. */
int rz_partitioned_bytes(const struct rz_partitioned_args *args, size_t *bytes);

#endif
