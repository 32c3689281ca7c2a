/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators. A communicator is a group and a context id; nothing is agreed to make one: the id
 * is a function of (parent, number of the collective operation on it, colour), the same at all
 * members and never used again.
 */
#ifndef RZ_MPI_COMM_H
#define RZ_MPI_COMM_H

#include "mpi/comm/group.h"
#include "mpi/comm/participation.h"
#include "mpi/engine/hooks.h"

/* One context id carries separate context offsets that never match each other: the low bits of the
 * id on the wire. */
enum rz_context_offset {
    RZ_CONTEXT_OFFSET_POINT,      /* what the user sends */
    RZ_CONTEXT_OFFSET_COLLECTIVE, /* messages inside collective operations */
    RZ_CONTEXT_OFFSET_CREATE, /* MPI_Comm_create_group: collective over a part only, by user tag */
    RZ_CONTEXT_OFFSET_REPAIR, /* agreement and shrink: works on broken and revoked communicators */
    RZ_CONTEXT_OFFSET_COUNT
};

struct rz_attribute;

struct rz_comm {
    struct rz_object object; /* flags: RZ_COMM_INTER, RZ_COMM_ROUND */
    uint64_t context;        /* the id; low two bits 0, where the context offset goes */
    struct rz_group *group;  /* local */
    struct rz_group *remote; /* what ranks refer to: == group unless inter */
    struct rz_comm *local; /* of an inter-communicator: one of the local group, that no user sees */
    struct rz_comm *inter; /* of such a hidden one: whose; what ends the one ends the other */
    uint64_t operations;   /* collective operations begun on it, creations included */
    const char *call;      /* the collective operation going on, for the hang report */
    uint32_t hints;        /* comm_hints.h */
    struct rz_errhandler *errhandler;
    struct rz_attribute *attributes;
    bool revoked;
    bool contexts_to_close; /* p2p/p2p_hooks.c */
    bool unshared; /* nobody else has it: the MPI_COMM_WORLD of a process that replaces a failed
                      one, revoked from spawn */
    bool met; /* made by processes that had no communicator in common: spawn, connect, accept, join
               */
    bool collectives_failed; /* a member is known to have failed: only collective operations that
                              had begun before go on, and those whose messages are all here */
    bool refusal_told;       /* the others were told of the first one that did not begin for that */
    struct rz_participations participations; /* of this process; a hidden one has none */
    struct rz_participation making;          /* a call that makes a communicator out of this one */
    uint32_t acknowledged; /* how many of the failed (as found by get_failed, in order) the user has
                              acknowledged */
    struct rz_agreement_context
        *agreement_context; /* agreement_context.h; NULL: nothing was agreed or revoked on it yet */
    struct rz_comm *next, *prev; /* all living communicators */
    char name[MPI_MAX_OBJECT_NAME];
    /* Parts of other chapters, given back when the communicator ends. */
    void *coll, *topology;
    void (*coll_free)(void *coll);
    void (*topology_free)(void *topology);
    void *(*topology_copy)(const void *topology); /* for MPI_Comm_dup; NULL result: no memory */
};

/* The process of a rank of comm (of the remote group if inter). */
static inline uint32_t rz_comm_process(const struct rz_comm *comm, int rank)
{
    return comm->remote->process[rank];
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

/* Whether this process takes part in the operation of comm whose messages have this tag; NULL: it
 * does not. */
static inline struct rz_participation *rz_operation_find(const struct rz_comm *comm, int tag)
{
    return rz_participation_find(&rz_comm_whole(comm)->participations, tag);
}

/* It does from now on, until rz_operation_end (p2p/inquiry.h); no failed member of comm is known.
 */
static inline void rz_operation_begin(struct rz_comm *comm, struct rz_participation *one, int tag)
{
    rz_participation_begin(&rz_comm_whole(comm)->participations, one, tag);
}

/*
 * rz_engine_begin for an operation of all members, before it is counted. MPI_ERR_OTHER in a process
 * that was started again, as long as it is on the way from MPI_Init to MPIX_Reinit: what it would
 * say there the others have long said, and heard. rz_comm_admit: that alone.
 */
int rz_comm_enter(const struct rz_comm *comm);
int rz_comm_admit(const struct rz_comm *comm);

/*
 * Begins a collective operation: its number on this communicator, from 1, the same at all members.
 * call: for the hang report, e.g. "MPI_Allreduce" (a literal).
 */
static inline uint64_t rz_comm_begin(struct rz_comm *comm, const char *call)
{
    comm->call = call;
    comm->operations++;
    if (comm->local) {
        comm->local->call = call;
        comm->local->operations = comm->operations;
    }
    return comm->operations;
}

/* The tag for messages of that operation on the collective context offset; order of messages
 * settles the rest. */
static inline int rz_comm_operation_tag(uint64_t operation)
{
    return (int)(operation & RZ_TAG_UB);
}

/*
 * A new communicator of `group` (retained) out of operation number `operation` of parent; processes
 * whose group is the same one give the same colour, others another. Local: no message. Error
 * handler of the parent; attributes are not copied. MPI_ERR_NO_MEM, MPI_ERR_INTERN (context ids
 * collide; 2^-62).
 */
int rz_comm_derive(struct rz_comm *parent, struct rz_group *group, uint64_t operation,
                   uint64_t colour, struct rz_comm **newcomm);

/*
 * The same out of nothing but three words that are the same at all members and never come again.
 * remote NULL: an intra-communicator; else (retained, too) an inter-communicator between the
 * disjoint `group` and `remote`, and its hidden one of the local group. The error handler is
 * retained. Errors as above.
 */
int rz_comm_make(const uint64_t words[3], struct rz_group *group, struct rz_group *remote,
                 struct rz_errhandler *errhandler, struct rz_comm **newcomm);

/*
 * A new communicator for a part of parent whose other members take no part. *context 0: this
 * process invents the id and tells it in *context; else it is what that process invented.
 */
int rz_comm_derive_alone(struct rz_comm *parent, struct rz_group *group, uint64_t *context,
                         struct rz_comm **newcomm);

/* The living communicator with this id, whatever the context offset; NULL: none. */
struct rz_comm *rz_comm_by_context(uint64_t context);

/* A member is known to have failed, here or elsewhere. */
void rz_comm_stop_collectives(struct rz_comm *comm);

void rz_comm_retain(struct rz_comm *comm);

/* Make MPI_COMM_WORLD and MPI_COMM_SELF of the engine's epoch; MPI_ERR_NO_MEM. */
int rz_comms_open(void);

/* Ends all communicators, world and self too: at a roll-back and in finalize. Handles of them are
 * stale from then on. */
void rz_comms_close(void);

/* All living communicators. */
struct rz_comm *rz_comms_first(void);

/*
 * Whether the communicator with this id was here, in this epoch, and has ended: what still comes
 * for it is of no use to anybody, while what comes for an id never heard of waits for its
 * communicator to be made. False, too, of one that ended long ago: some thousands are remembered.
 */
bool rz_comm_has_ended(uint64_t context);

/* The agreement context with this id has; that of a communicator has the same one. */
void rz_comm_note_end(uint64_t context);

/* How many processes of comm (of both groups if inter) are known to be failed. */
int rz_comm_failed(const struct rz_comm *comm);

/* Whether comm, or some living communicator, holds that process. */
bool rz_comm_holds(const struct rz_comm *comm, uint32_t process);
bool rz_comms_hold(uint32_t process);

/* The number of a communicator in the whole job, for ever; first: the lower of the first members of
 * its groups. */
uint64_t rz_comm_number(uint64_t context, uint32_t first);

/* comm is revoked, whoever said so: everything that is pending on it ends here. Once; harmless
 * again. */
void rz_comm_revoked(struct rz_comm *comm);

/*
 * Whether members of comm part in an orderly way, because nothing else brings them together at the
 * end: it was made by spawn, connect, accept or join, or reaches beyond the world of this process.
 * To end such a one is a part in an agreement of all its members. So a process that waits for the
 * others, in MPI_Comm_disconnect, MPI_Finalize or MPIX_Comm_agree, waits for none that has ended
 * it.
 */
bool rz_comm_says_farewell(const struct rz_comm *comm);

extern const struct rz_hooks rz_comm_hooks;

#endif
