/*
 * Communicators. A communicator is a group and a context id; nothing is agreed to make one: the id
 * is a function of (parent, number of the collective operation on it, colour), the same at all
 * members and never used again.
 */
#ifndef RZ_MPI_COMM_H
#define RZ_MPI_COMM_H

#include "mpi/comm/group.h"
#include "mpi/comm/participation.h"
#include "mpi/ft/agreement.h"
#include "mpi/ft/revoke_nodes.h"

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
    uint32_t hints;        /* comm_info.c */
    struct rz_errhandler *errhandler;
    struct rz_attribute *attributes;
    bool revoked;
    bool unshut;   /* comm_revoke.h */
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
    if (comm->local != NULL) {
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

/*
 * Every member gives `bytes` bytes at mine and gets all of them in order of rank at all (size *
 * bytes). For the making of communicators; MPI_SUCCESS, an error class or RZM_ROLLBACK.
 */
int rz_comm_exchange(struct rz_comm *comm, uint64_t operation, const void *mine, size_t bytes,
                     void *all);

/* The same number of bytes from root to all. */
int rz_comm_spread(struct rz_comm *comm, uint64_t operation, int root, void *data, size_t bytes);

/*
 * A creation that all of comm take part in: its number, from 1. RZM_ROLLBACK, MPI_ERR_REVOKED: it
 * does not count. Messages of it may be sent until rz_comm_create_end (ft/inquiry.h), which the
 * entry points call.
 */
int rz_comm_create_begin(struct rz_comm *comm, const char *call, uint64_t *operation);
void rz_comm_create_end(struct rz_comm *comm);

/*
 * Returns when all members have entered the creation with this number. MPI_ERR_PROC_FAILED: one of
 * them has failed, or another member tells so.
 */
int rz_comm_synchronise(struct rz_comm *comm, uint64_t operation);

/* The last thing of a call that made a communicator without its members having met: nobody leaves
 * before all have entered, so that a failed member is told of. Releases it at an error. */
int rz_comm_settle(struct rz_comm *made, const char *call);

/* The living communicator with this id, whatever the context offset; NULL: none. */
struct rz_comm *rz_comm_by_context(uint64_t context);

/* A member is known to have failed, here or elsewhere. */
void rz_comm_stop_collectives(struct rz_comm *comm);

/* The value of the info key mpi_memory_alloc_kinds, of sessions and communicators. */
#define RZ_MEMORY_KINDS "mpi,system"

/* Takes over the hints of info (NULL: none) that are known; others are left alone (comm_info.c). */
void rz_comm_take_hints(struct rz_comm *comm, struct rz_info *info);

/* Whose failure revokes comm at once, without a call (comm_info.c). */
enum rz_error_range { RZ_RANGE_LOCAL, RZ_RANGE_GROUP, RZ_RANGE_UNIVERSE };
enum rz_error_range rz_comm_error_range(const struct rz_comm *comm);

/* Which calls return the same verdict at all members (comm_info.c; ft/comm_uniform.h). */
enum rz_error_uniform { RZ_UNIFORM_LOCAL, RZ_UNIFORM_CONSTRUCT, RZ_UNIFORM_COLL };
enum rz_error_uniform rz_comm_error_uniform(const struct rz_comm *comm);

/* What comm's members agree by, before the first time and ever after (comm_info.c). */
enum rz_agreement_engine rz_comm_agreement(const struct rz_comm *comm);

/* How a process that revokes comm tells the others. */
enum rz_revoke_way rz_comm_revoke_way(const struct rz_comm *comm);

/* Revokes comm if somebody within its error range is known to be failed; not from inside a callback
 * of a transport. */
void rz_comm_look_at_range(struct rz_comm *comm);

/* MPI_Comm_create_from_group numbers creations that look alike: forget them (comm_from_group.c). */
void rz_comm_from_group_close(void);

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

/* A process failed: note where collectives cannot go on any more. From the engine. */
void rz_comms_failure(uint32_t process);

/* Whether comm, or some living communicator, holds that process. */
bool rz_comm_holds(const struct rz_comm *comm, uint32_t process);
bool rz_comms_hold(uint32_t process);

#endif
