/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators. A communicator is a group and a context id. To make one needs no agreement: the id
 * is a function of (parent, number of the collective operation on it, colour), equal at all members
 * and never used again.
 */
#ifndef RZ_MPI_COMM_H
#define RZ_MPI_COMM_H

#include "mpi/comm/group.h"
#include "mpi/comm/participation.h"
#include "mpi/engine/hooks.h"
#include "mpi/engine/peer.h"

/* One context id carries separate context offsets that never match each other: the low bits of the
 * id on the wire. */
enum rz_context_offset {
    RZ_CONTEXT_OFFSET_POINT,      /* messages of the user */
    RZ_CONTEXT_OFFSET_COLLECTIVE, /* messages inside collective operations */
    RZ_CONTEXT_OFFSET_CREATE, /* MPI_Comm_create_group: collective over a part of the members, by
                                 the user's tag */
    RZ_CONTEXT_OFFSET_REPAIR, /* agreement and shrink: works on communicators that are revoked or
                                 have failed members */
    RZ_CONTEXT_OFFSET_PARTITION_SETUP, /* partitioned communication (p2p/partitioned.h) */
    RZ_CONTEXT_OFFSET_PARTITION_DATA,
    RZ_CONTEXT_OFFSET_WINDOW, /* long rows of one-sided operations (rma/rma_row.h) */
    RZ_CONTEXT_OFFSET_COUNT,
    RZ_CONTEXT_OFFSET_ROOM = 8 /* a power of two: these bits of an id are the offset's */
};

enum rz_oversubscribed {
    RZ_OVERSUBSCRIBED_UNKNOWN,
    RZ_OVERSUBSCRIBED_NONE, /* or not all members know where the others are */
    RZ_OVERSUBSCRIBED_NODE, /* all members are on one node */
    RZ_OVERSUBSCRIBED_NODES /* on several */
};

enum rz_grouping {
    RZ_GROUPING_UNKNOWN,
    RZ_GROUPING_NONE,  /* one node, or one member on each, or not all members know where */
    RZ_GROUPING_NODES, /* several nodes, and one of them has several members */
    RZ_GROUPING_BLOCKS /* and each node has a block of 2^k consecutive ranks, the last one perhaps
                        fewer: a range of the tree of collective operations */
};

struct rz_attribute;

/* Of coll/cells.h: cells that the members have agreed on. */
enum { RZ_CELLS_RANKS_MAX = 8 };

struct rz_comm_cells {
    uint64_t number;    /* of the agreement, greater than those of former users of the cells */
    uint64_t exchanges; /* so far */
    uint8_t state, pair;
    struct rz_peer_cells peer[RZ_CELLS_RANKS_MAX];
};

struct rz_comm {
    union {
        struct rz_object object; /* flags: RZ_COMM_INTER, RZ_COMM_ROUND */
        struct rz_comm_head head;
    };
    uint64_t context;        /* the id; a multiple of RZ_CONTEXT_OFFSET_ROOM */
    struct rz_group *group;  /* local */
    struct rz_group *remote; /* the group that ranks refer to: == group unless inter */
    struct rz_comm *local; /* of an inter-communicator: a hidden communicator of the local group */
    struct rz_comm *inter; /* of a hidden communicator: its inter-communicator; both end together */
    uint64_t operations;   /* number of blocking collective operations begun on it, including
                              creations */
    uint64_t nonblocking;  /* number of non-blocking and persistent ones, which match each other */
    const char *call;      /* the current collective operation, for reports of hanging calls */
    uint32_t hints;        /* comm_hints.h */
    struct rz_errhandler *errhandler;
    struct rz_file
        *file; /* the file whose hidden communicator this is, or NULL (io/file_object.h) */
    struct rz_attribute *attributes;
    bool revoked;
    bool contexts_to_close; /* p2p/p2p_hooks.c */
    bool unshared; /* no other process has it: the MPI_COMM_WORLD of a process that replaces a
                      failed one, revoked from the start */
    bool met; /* made by processes without a common communicator: spawn, connect, accept, join */
    enum rz_oversubscribed oversubscribed; /* places.h */
    enum rz_grouping grouping;
    struct rz_comm_cells cells;
    bool collectives_failed; /* a member is known to have failed: only collective operations that
                                had begun before continue */
    bool refusal_told;       /* the other members were told of the first operation that was refused
                                because of that */
    struct rz_participations participations; /* of this process; a hidden communicator has none */
    struct rz_participation making; /* in a call that makes a communicator out of this one */
    uint32_t acknowledged; /* how many of the failed processes (in the order of get_failed) the user
                              has acknowledged */
    struct rz_agreement_context
        *agreement_context; /* agreement_context.h; NULL: no agreement or revocation on it yet */
    struct rz_uniform_results *uniform_results; /* of comm_uniform.h, in a list; NULL: none yet */
    struct rz_comm *next, *prev;                /* list of all communicators */
    struct rz_comm *same_place;                 /* of rz_comm_by_context */
    char name[MPI_MAX_OBJECT_NAME];
    /* Parts that belong to other modules, freed when the communicator ends. */
    void *coll, *topology;
    struct rz_win *window; /* it is the communicator of a window (mpi/rma); NULL: of the user */
    void (*coll_free)(void *coll);
    void (*topology_free)(void *topology);
    void *(*topology_copy)(const void *topology); /* for MPI_Comm_dup; NULL result: no memory */
};

/* The process of a rank of comm (of the remote group if inter). */
static inline uint32_t rz_comm_process(const struct rz_comm *comm, int rank)
{
    return comm->remote->process[rank];
}

/* Whether this process is the only member of comm, and operations on it may begin. */
static inline bool rz_comm_is_alone(const struct rz_comm *comm)
{
    return comm->head.peers == 1 && comm->remote == comm->group && !comm->revoked &&
           !comm->collectives_failed;
}

/* The id on the wire of one context offset. */
static inline uint64_t rz_comm_context(const struct rz_comm *comm,
                                       enum rz_context_offset context_offset)
{
    return comm->context | (uint64_t)context_offset;
}

/* Operations of a hidden local communicator are those of its inter-communicator. */
static inline struct rz_comm *rz_comm_whole(const struct rz_comm *comm)
{
    return (struct rz_comm *)(uintptr_t)(comm->inter ? comm->inter : comm);
}

/* Whether this process takes part in the operation of comm whose messages have this tag: its
 * participation, or NULL. */
static inline struct rz_participation *rz_operation_find(const struct rz_comm *comm, int tag)
{
    return rz_participation_find(&rz_comm_whole(comm)->participations, tag);
}

/* This process takes part in the operation from now on, until rz_operation_end (p2p/inquiry.h). No
 * failed member of comm is known. */
static inline void rz_operation_begin(struct rz_comm *comm, struct rz_participation *one, int tag)
{
    rz_participation_begin(&rz_comm_whole(comm)->participations, one, tag);
}

/*
 * rz_engine_begin for an operation of all members, before it is counted. MPI_ERR_OTHER in a
 * restarted process between MPI_Init and MPIX_Reinit: the other processes have completed long ago
 * what it would do there. rz_comm_admit: that check alone.
 */
int rz_comm_enter(const struct rz_comm *comm);
int rz_comm_admit(const struct rz_comm *comm);

/* As rz_comm_begin, for a communicator that is no inter-communicator. */
static inline void rz_comm_count_operation(struct rz_comm *comm, const char *call)
{
    comm->call = call;
    comm->operations++;
}

/* Begins a collective operation: returns its number on this communicator, counted from 1, equal at
 * all members. call: for reports of hanging calls, e.g. "MPI_Allreduce" (a literal). */
static inline uint64_t rz_comm_begin(struct rz_comm *comm, const char *call)
{
    rz_comm_count_operation(comm, call);
    if (comm->local) {
        comm->local->call = call;
        comm->local->operations = comm->operations;
    }
    return comm->operations;
}

/*
 * The same for a non-blocking or persistent operation. They are numbered apart, in another range:
 * so members that begin blocking and non-blocking operations in different orders (an error of the
 * program) do not take one for the other.
 */
#define RZ_OPERATION_NONBLOCKING (UINT64_C(1) << 62)

static inline uint64_t rz_comm_begin_nonblocking(struct rz_comm *comm, const char *call)
{
    comm->call = call;
    if (comm->local) {
        comm->local->call = call;
    }
    return ++comm->nonblocking | RZ_OPERATION_NONBLOCKING;
}

/* The tag of messages of that operation on the collective context offset; operations with the same
 * tag are separated by the order of messages. rz_comm_blocking_tag: of a blocking one. */
#define RZ_TAG_NONBLOCKING ((RZ_TAG_UB + 1) / 2)

static inline int rz_comm_blocking_tag(uint64_t operation)
{
    return (int)(operation & (RZ_TAG_NONBLOCKING - 1));
}

static inline int rz_comm_operation_tag(uint64_t operation)
{
    return rz_comm_blocking_tag(operation) |
           (operation & RZ_OPERATION_NONBLOCKING ? RZ_TAG_NONBLOCKING : 0);
}

/*
 * Makes a new communicator of `group` (retained) out of operation number `operation` of parent.
 * Processes whose group is the same give the same colour, different groups different colours.
 * Local: no message. It gets the error handler of the parent; attributes are not copied.
 * MPI_ERR_NO_MEM, MPI_ERR_INTERN (context ids collide; probability 2^-62).
 */
int rz_comm_derive(struct rz_comm *parent, struct rz_group *group, uint64_t operation,
                   uint64_t colour, struct rz_comm **newcomm);

/*
 * Makes a communicator without a parent, from three words that are equal at all members and are
 * never used again. remote NULL: an intra-communicator; otherwise (retained, too) an
 * inter-communicator between the disjoint `group` and `remote`, with its hidden communicator of the
 * local group. The error handler is retained. Errors as for rz_comm_derive.
 */
int rz_comm_make(const uint64_t words[3], struct rz_group *group, struct rz_group *remote,
                 struct rz_errhandler *errhandler, struct rz_comm **newcomm);

/*
 * Makes a new communicator for some members of parent; the others take no part. *context 0: this
 * process chooses the id and returns it in *context; otherwise *context is the id that another
 * process has chosen.
 */
int rz_comm_derive_alone(struct rz_comm *parent, struct rz_group *group, uint64_t *context,
                         struct rz_comm **newcomm);

/* The communicator with this id that has not ended, whatever the context offset; NULL: none. */
struct rz_comm *rz_comm_by_context(uint64_t context);

/* A member is known to have failed, here or at another process: no further collective operation
 * begins. */
void rz_comm_stop_collectives(struct rz_comm *comm);

static inline void rz_comm_retain(struct rz_comm *comm)
{
    rz_object_retain(&comm->object);
}

/* Makes MPI_COMM_WORLD and MPI_COMM_SELF of the engine's epoch; MPI_ERR_NO_MEM. */
int rz_comms_open(void);

/* Ends all communicators, including the predefined ones: at a roll-back and in finalize. Their
 * handles are stale from then on. */
void rz_comms_close(void);

/* The first in the list of all communicators. */
struct rz_comm *rz_comms_first(void);

/*
 * Whether a communicator with this id existed here in this epoch and has ended. Messages for it are
 * dropped then, while messages for an unknown id wait until its communicator is made. False as well
 * for a communicator that ended long ago: some thousands of ids are kept.
 */
bool rz_comm_has_ended(uint64_t context);

/* The agreement context with this id has ended; it has the id of its communicator. */
void rz_comm_note_end(uint64_t context);

/* How many processes of comm (of both groups if inter) are known to have failed. */
int rz_comm_failed(const struct rz_comm *comm);

/* Whether comm, or any communicator that has not ended, holds that process. */
bool rz_comm_holds(const struct rz_comm *comm, uint32_t process);
bool rz_comms_hold(uint32_t process);

/* The number of a communicator, unique in the job for all time; first: the lower one of the first
 * members of its groups. */
uint64_t rz_comm_number(uint64_t context, uint32_t first);

/* comm is revoked, by any process: all operations pending on it end here. A second call has no
 * effect. */
void rz_comm_revoked(struct rz_comm *comm);

/*
 * Whether members of comm part in an orderly way, because nothing else brings them together at the
 * end: it was made by spawn, connect, accept or join, or has members outside of this process's
 * world. A process that ends such a communicator contributes to an agreement of all its members. So
 * a process that waits for the others, in MPI_Comm_disconnect, MPI_Finalize or MPIX_Comm_agree,
 * waits for none that has ended it.
 */
bool rz_comm_says_goodbye(const struct rz_comm *comm);

/* ---- The process sets that the standard defines: those of the predefined communicators ---- */

enum { RZ_PROCESS_SETS = 2 };

/* Their names, by number. */
extern const char *const rz_process_sets[RZ_PROCESS_SETS];

/* The predefined communicator with the processes of that process set (0x101 WORLD, 0x102 SELF); 0:
 * none. Names are not case-sensitive. */
unsigned rz_process_set_comm(const char *name);

extern const struct rz_hooks rz_comm_hooks;

#endif
