/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the agreement context share; no other file includes it.
 */
#ifndef RZ_MPI_AGREEMENT_CONTEXT_STATE_H
#define RZ_MPI_AGREEMENT_CONTEXT_STATE_H

#include "host/embedded.h"
#include "mpi/agree/agreement.h"
#include "mpi/agree/agreement_context.h"

/* A message of no core: its sender has ended the communicator. With the component of agreement: all
 * members have all decisions. With that of revocation: the sender will pass on no revocation. */
#define RZ_AGREEMENT_CONTEXT_OVER 255

/* Likewise: the sender waits in a child of this agreement context, whose word is word[0]; items:
 * its members; none: all. */
#define RZ_AGREEMENT_CONTEXT_ANNOUNCED 254

struct rz_agreement_context {
    uint64_t context;
    /* of a child: the context of its communicator; otherwise 0 */
    uint64_t of;
    bool part;            /* a child, and not for all members */
    struct rz_comm *comm; /* NULL: it has ended */
    struct rz_agreement_context *
        *owner; /* the pointer that refers to it, comm's or another one; NULL: none */
    struct rz_group *first, *second; /* retained; second: NULL unless of an inter-communicator */
    rz_id self;
    /* so many consecutive members are on one node; 0: they are not grouped alike */
    uint32_t per_node;
    struct rz_agreement *agreement;    /* NULL: this process has made no proposal yet */
    struct rz_protocol_message *early; /* for the engine, until it is opened; oldest first */
    bool timed;                        /* the engine has deadlines */
    struct rz_embedded spread;
    /* the agreement on the first one is under way */
    struct rz_proposal *proposals, **proposals_last;
    bool voting;
    bool owes; /* there is a decision that another member may not have yet */
    struct rz_agreement_context_asking {
        rz_time at, wait; /* when the daemon is asked next, and the interval after that; at 0: it is
                             not asked */
        bool hurry; /* a failure has cut off a member: waiting calls look at the time in each round
                     */
        uint32_t turn;
    } asking;
    uint32_t cached;            /* index + 1 of its last decision; 0: none yet */
    struct rz_proposal goodbye; /* used after the end of the communicator */
    struct rz_proposal own;     /* rz_agreement_context_own_proposal */
    bool over;                  /* no member needs it any more: freed when none of its code runs */
    struct rz_agreement_context *next, **back, *over_next;
    struct rz_agreement_context *same_place; /* of rz_agreement_context_at */
};

/* ---- agreement_context_cache.c ---- */

/* How many agreement contexts ask their daemon soon. */
extern unsigned rz_agreement_contexts_hurrying;

/* The decision with that number was taken: stores it where the daemon finds it. */
void rz_agreement_context_cached(struct rz_agreement_context *agreement_context, uint64_t number);

/* Called when a proposal is made: if the agreement takes long, the awaited member may have decided
 * and left with its message unsent. Called when a member has failed: the same is likely. */
void rz_agreement_context_ask_later(struct rz_agreement_context *agreement_context, rz_time now);
void rz_agreement_context_ask_soon(struct rz_agreement_context *agreement_context, rz_time now);

/* Asks, if it is time to. */
void rz_agreement_context_ask(struct rz_agreement_context *agreement_context, rz_time now);
void rz_agreement_context_ask_no_more(struct rz_agreement_context *agreement_context);

/* ---- agreement_context.c ---- */

struct rz_agreement_context *rz_agreement_contexts_first(void);

/* ---- agreement_context_members.c ---- */

uint32_t rz_agreement_context_size(const struct rz_agreement_context *agreement_context);

/* RZ_ID_NONE: no member. */
rz_id rz_agreement_context_find_member(const struct rz_agreement_context *agreement_context,
                                       uint32_t process);

/* The groups of comm in the order of the member numbers; the second may be NULL. */
void rz_agreement_context_order_groups(const struct rz_comm *comm, struct rz_group *groups[2]);

/* How many consecutive members share a node, if that number is the same for all nodes. By the nodes
 * at the begin of the epoch, which all processes know alike. */
uint32_t rz_agreement_context_rows_of_nodes(const struct rz_agreement_context *agreement_context);

/* rz_agreement_context_at: the agreement context with that id, or NULL. rz_agreement_context_new: a
 * new one, of the members of groups, for comm; NULL: no memory. */
struct rz_agreement_context *rz_agreement_context_at(uint64_t context);

/* Sets `over`. */
void rz_agreement_context_end(struct rz_agreement_context *agreement_context);
struct rz_agreement_context *rz_agreement_context_new(struct rz_comm *comm,
                                                      struct rz_group *const groups[2],
                                                      uint64_t context,
                                                      struct rz_agreement_context **owner);

/* Opens its engine, at the latest with the first proposal of this process; false: no memory. */
bool rz_agreement_context_open_engine(struct rz_agreement_context *agreement_context,
                                      enum rz_agreement_engine wanted);
/* An attribute, since that belongs to the type, which the host's function pointer shares. */
void rz_agreement_context_no_memory(void) __attribute__((noreturn));

/* rz_agreement_context_append adds a proposal; rz_agreement_context_continue starts the first one,
 * if it is ready, and frees agreement contexts that are over. */
void rz_agreement_context_append(struct rz_agreement_context *agreement_context,
                                 struct rz_proposal *proposal);
void rz_agreement_context_continue(struct rz_agreement_context *agreement_context);
struct rz_proposal *rz_agreement_context_take_first(struct rz_agreement_context *agreement_context);

/* ---- agreement_context_child.c ---- */

/*
 * Handles a protocol message RZ_AGREEMENT_CONTEXT_ANNOUNCED for the agreement context of a
 * communicator. _too_late: the communicator has ended here, so this process answers that it will
 * send nothing beside it.
 */
void rz_agreement_context_announced(struct rz_agreement_context *agreement_context,
                                    const struct rz_protocol_message *protocol_message);
void rz_agreement_context_announced_too_late(const struct rz_protocol_message *protocol_message);

#endif
