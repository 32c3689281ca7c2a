/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the agreement context share; nobody else includes it. */
#ifndef RZ_MPI_AGREEMENT_CONTEXT_STATE_H
#define RZ_MPI_AGREEMENT_CONTEXT_STATE_H

#include "host/embedded.h"
#include "mpi/agree/agreement.h"
#include "mpi/agree/agreement_context.h"

/* A message that is of no core: the communicator was here and has ended. In the room of agreement:
 * everybody has decided all that was agreed. In that of revocation: who says so will tell nobody.
 */
#define RZ_AGREEMENT_CONTEXT_OVER 255

/* And: somebody waits in an agreement context beside this one, word[0]; items: its members, none:
 * all. */
#define RZ_AGREEMENT_CONTEXT_ANNOUNCED 254

struct rz_agreement_context {
    uint64_t context;
    uint64_t of;          /* beside that of a communicator: the context of that one; else 0 */
    bool part;            /* ... and not of all its members */
    struct rz_comm *comm; /* NULL: it has ended */
    struct rz_agreement_context *
        *owner;                      /* whose it is: comm's pointer, or another's; NULL: nobody's */
    struct rz_group *first, *second; /* retained; second: NULL or of an inter-communicator */
    rz_id self;
    uint32_t per_node;              /* this many members in a row are on one node; 0: no such row */
    struct rz_agreement *agreement; /* NULL: nothing was proposed here yet */
    struct rz_protocol_message *early; /* to the engine, before it was there; oldest first */
    bool timed;                        /* the engine has deadlines */
    struct rz_embedded spread;
    struct rz_proposal *proposals, **proposals_last; /* the first is being voted on */
    bool voting;
    bool owes; /* something was decided here, and another member may not know of it yet */
    struct rz_agreement_context_asking {
        rz_time at, wait; /* when the daemon is asked next, and how long after; at 0: not at all */
        bool hurry;       /* a failure has cut somebody off: whoever waits looks at the clock */
        uint32_t turn;
    } asking;
    uint32_t cached;             /* of its last decision: index + 1; 0: none yet */
    struct rz_proposal farewell; /* once the communicator has ended */
    struct rz_proposal own;      /* rz_agreement_context_own_proposal */
    bool over;                   /* nobody asks any more: it goes when none of its code runs */
    struct rz_agreement_context *next;
};

/* ---- agreement_context_cache.c ---- */

/* So many agreement contexts ask their daemon in a hurry. */
extern unsigned rz_agreement_contexts_hurrying;

/* The decision of that number was taken: lays it where the daemon finds it. */
void rz_agreement_context_cached(struct rz_agreement_context *agreement_context, uint64_t number);

/* A proposal is voted on: if that takes long, whoever is awaited may have decided and left with its
 * word unsent. A member has failed: the same, and likely. */
void rz_agreement_context_ask_later(struct rz_agreement_context *agreement_context, rz_time now);
void rz_agreement_context_ask_soon(struct rz_agreement_context *agreement_context, rz_time now);

/* Asks, if it is time. */
void rz_agreement_context_ask(struct rz_agreement_context *agreement_context, rz_time now);
void rz_agreement_context_ask_no_more(struct rz_agreement_context *agreement_context);

/* ---- agreement_context.c ---- */

struct rz_agreement_context *rz_agreement_contexts_first(void);

/* ---- agreement_context_members.c ---- */

uint32_t rz_agreement_context_size(const struct rz_agreement_context *agreement_context);

/* RZ_ID_NONE: no member. */
rz_id rz_agreement_context_find_member(const struct rz_agreement_context *agreement_context,
                                       uint32_t process);

/* The groups of comm in the order in which its members are numbered; the second may be NULL. */
void rz_agreement_context_order_groups(const struct rz_comm *comm, struct rz_group *groups[2]);

/*
 * How many members in a row share a node, if they stand in rows of one length. By the nodes where
 * the epoch began, which all processes see alike.
 */
uint32_t rz_agreement_context_rows_of_nodes(const struct rz_agreement_context *agreement_context);

/* The agreement context of that context, or NULL. A new one, of the members of groups, for comm;
 * NULL: no memory. */
struct rz_agreement_context *rz_agreement_context_at(uint64_t context);
struct rz_agreement_context *rz_agreement_context_new(struct rz_comm *comm,
                                                      struct rz_group *const groups[2],
                                                      uint64_t context,
                                                      struct rz_agreement_context **owner);

/* Its engine, at the latest with the first proposal of this process; false: no memory. */
bool rz_agreement_context_open_engine(struct rz_agreement_context *agreement_context,
                                      enum rz_agreement_engine wanted);
/* By attribute, for that is part of the type, which that of a host's function has, too. */
void rz_agreement_context_no_memory(void) __attribute__((noreturn));

/* Another proposal; on with the first one, if it can be voted on. Agreement contexts that are over
 * go. */
void rz_agreement_context_append(struct rz_agreement_context *agreement_context,
                                 struct rz_proposal *proposal);
void rz_agreement_context_continue(struct rz_agreement_context *agreement_context);
struct rz_proposal *rz_agreement_context_take_first(struct rz_agreement_context *agreement_context);

/* ---- agreement_context_beside.c ---- */

/* A protocol message RZ_AGREEMENT_CONTEXT_ANNOUNCED, to the agreement context of a communicator; to
 * nobody: who has ended the communicator will say nothing beside it. */
void rz_agreement_context_announced(struct rz_agreement_context *agreement_context,
                                    const struct rz_protocol_message *protocol_message);
void rz_agreement_context_announced_too_late(const struct rz_protocol_message *protocol_message);

#endif
