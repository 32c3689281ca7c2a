/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms of collective operations, and which one an operation uses. All members choose
 * alike, since they choose by what is equal at all: the operation, its length, the communicator and
 * the job's environment.
 *
 * The rules of an operation are a row; the last one that applies counts. Those of the environment
 * variable RZ_COLL come behind the built-in ones (docs/collectives.md):
 *
 *     OPERATION=ALGORITHM[@BYTES[:RANKS]]
 *
 * Such a rule applies from that length and that number of ranks on, where the algorithm can be
 * used. Rules are separated by commas, or are in a file: @FILE. All processes must have the same
 * ones: those of the job's environment, with which each process starts, or those that all have
 * written since. A roll-back returns to the rules with which a process entered MPIX_Reinit.
 */
#ifndef RZ_MPI_ALGORITHM_H
#define RZ_MPI_ALGORITHM_H

#include "mpi/comm/comm.h"

#define RZ_COLL_ENVIRONMENT "RZ_COLL"

enum rz_coll_operation {
    RZ_COLL_BARRIER,
    RZ_COLL_BCAST,
    RZ_COLL_ALLGATHER,
    RZ_COLL_ALLTOALL,
    RZ_COLL_REDUCE,
    RZ_COLL_ALLREDUCE,
    RZ_COLL_REDUCE_SCATTER,
    RZ_COLL_OPERATIONS
};

/* Each is described where its plan is: coll_barrier.c, coll_bcast.c, ... */
enum rz_coll_algorithm {
    RZ_COLL_TREE,
    RZ_COLL_FLAT,
    RZ_COLL_DISSEMINATION,
    RZ_COLL_DOUBLING,
    RZ_COLL_DIRECT,
    RZ_COLL_HALVING,
    RZ_COLL_RING,
    RZ_COLL_BRUCK,
    RZ_COLL_CHAIN,
    RZ_COLL_SCATTER,
    RZ_COLL_CELLS,
    RZ_COLL_LEADERS,
    RZ_COLL_ALGORITHMS
};

/* What an algorithm may need, as bits. */
enum rz_coll_trait {
    /* Of the operation: */
    RZ_COLL_ELEMENTS = 1 << 0, /* the vector has an element for each rank */
    RZ_COLL_ROW = 1 << 1,      /* values laid one behind the other do not overlap */
    RZ_COLL_REGULAR = 1 << 2,  /* the parts of all pairs of ranks have the same length */
    RZ_COLL_COMMUTES = 1 << 3, /* operands may change places */
    RZ_COLL_CELLED = 1 << 8,   /* the parts of all ranks fit into cells (cells.h) */
    /* Of the communicator: */
    RZ_COLL_POWER = 1 << 4,          /* the number of ranks is a power of two */
    RZ_COLL_LOOSE = 1 << 5,          /* the hint rz_reproducible is false: results may depend on the
                                        algorithm */
    RZ_COLL_OVERSUBSCRIBED = 1 << 6, /* ranks outnumber processors */
    RZ_COLL_OVERSUBSCRIBED_NODE = 1 << 7, /* and all are on one node */
    RZ_COLL_NODES = 1 << 9,               /* several nodes, and one of them has several ranks */
    RZ_COLL_BLOCKS = 1 << 10,             /* and each node has a block of ranks (leaders.h) */
    /* Of both: each node may reduce its values first, because it has a block of ranks, or operands
     * may change places and results may depend on the algorithm. */
    RZ_COLL_NODE_VALUES = 1 << 11
};

#define RZ_COLL_ELEMENTS_IF(condition) ((condition) ? (unsigned)RZ_COLL_ELEMENTS : 0U)

/*
 * The algorithm for an operation of comm. bytes: of the message or vector, or of the parts of all
 * ranks together; of one part for an alltoall. traits: those of the operation.
 */
enum rz_coll_algorithm rz_coll_choose(struct rz_comm *comm, enum rz_coll_operation operation,
                                      MPI_Count bytes, unsigned traits);

/* The last choice for each operation: the same call is often made many times in a row. */
struct rz_coll_choice {
    uint64_t context; /* of the communicator, plus 1; 0: none yet */
    MPI_Count bytes;
    uint32_t hints; /* of the communicator */
    unsigned traits;
    enum rz_coll_algorithm algorithm;
};
extern struct rz_coll_choice rz_coll_last[RZ_COLL_OPERATIONS] RZ_OWN;

/* As rz_coll_choose, without counting the choice. _anew: it is not the last one. */
enum rz_coll_algorithm rz_coll_choose_anew(struct rz_comm *comm, enum rz_coll_operation operation,
                                           MPI_Count bytes, unsigned traits);
static inline enum rz_coll_algorithm rz_coll_would_choose(struct rz_comm *comm,
                                                          enum rz_coll_operation operation,
                                                          MPI_Count bytes, unsigned traits)
{
    const struct rz_coll_choice *last = &rz_coll_last[operation];
    bool same = last->context == comm->context + 1 && last->bytes == bytes &&
                last->hints == rz_comm_whole(comm)->hints && last->traits == traits;
    return same ? last->algorithm : rz_coll_choose_anew(comm, operation, bytes, traits);
}

/* How often each algorithm was chosen by this process. */
extern uint64_t rz_coll_chosen[RZ_COLL_ALGORITHMS];

/* The words of RZ_COLL; NULL: no such operation, or not an algorithm of that operation. */
const char *rz_coll_operation_name(enum rz_coll_operation operation);
const char *rz_coll_algorithm_name(enum rz_coll_operation operation,
                                   enum rz_coll_algorithm algorithm);

/* Reads the rules of RZ_COLL when the library starts. MPI_ERR_OTHER with what is wrong there. */
extern const struct rz_hooks rz_coll_hooks;

/* Sets the rules that come behind the built-in ones. As above, with an error for what is wrong with
 * `text`, which names its source; then the rules stay as they were. */
int rz_coll_set_rules(const char *text);

/* MPIX_Reinit is entered: a roll-back returns to the rules that are in force now. A process that
 * replaces a failed one has written the same ones by then. */
void rz_coll_keep_rules(void);

/* The text of the rules in force; of those of the job until the library has started. */
const char *rz_coll_rules(void);

#endif
