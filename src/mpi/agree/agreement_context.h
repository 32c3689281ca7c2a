/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An agreement context: what the members of one communicator settle among themselves although some
 * of them fail: agreement (agreement.h) and revocation (src/proto/spread). It hosts them, brings
 * them protocol messages, failures and time, and outlives its communicator, for others may still
 * ask what was agreed.
 *
 * Members are numbered through both groups of an inter-communicator, the one that holds the lower
 * first rank of the job coming first; so all members number them alike.
 */
#ifndef RZ_MPI_AGREEMENT_CONTEXT_H
#define RZ_MPI_AGREEMENT_CONTEXT_H

#include "mpi/comm/comm.h"
#include "mpi/engine/waiting.h"
#include "mpi/agree/agreement.h"
#include "mpi/agree/protocol_message.h"

#include <rhizome/types.h>

struct rz_agreement_context;

/*
 * One agreement, as this process takes part in it. Memory of the caller from
 * rz_agreement_context_propose until `decided` is called or rz_agreement_context_forget.
 */
struct rz_proposal {
    uint64_t and, min, max; /* what is proposed; then, what was decided */
    const rz_id
        *failed; /* decided: members agreed failed so far, sorted; valid during the call only */
    uint32_t n_failed;
    uint64_t
        number;    /* of the agreement in the agreement context, from 1; the same at all members */
    bool reserved; /* it keeps its place in the order, and is proposed with
                      rz_agreement_context_ready */
    void (*decided)(struct rz_proposal *proposal, struct rz_agreement_context *agreement_context);
    struct rz_proposal *next;
};

/*
 * Proposes; all members must, in the same order. MPI_SUCCESS: proposal->decided comes, from inside
 * the progress of the engine, or a roll-back. MPI_ERR_NO_MEM: nothing was proposed.
 */
int rz_agreement_context_propose(struct rz_comm *comm, struct rz_proposal *proposal);

/*
 * Whether another member of comm may still wait for what was agreed last: as long as nothing was
 * agreed after it. All living members have comm then, for all of them proposed.
 */
bool rz_agreement_context_owes(const struct rz_comm *comm);

/* The agreement context of a communicator with a farewell (rz_comm_says_farewell) that this process
 * has ended but owes the last agreement to others; NULL: there is none. */
const struct rz_agreement_context *rz_agreement_context_in_debt(void);

/* For reports: sets in *blocked the number of the agreement that this process takes part in and one
 * whose word it waits for. agreement context: NULL, nothing is known. */
void rz_agreement_context_waits_for(const struct rz_agreement_context *agreement_context,
                                    struct rz_blocked *blocked);

/* Whether this process has proposed something on comm; then the engine is what it is, an
 * enum rz_agreement_engine. */
bool rz_agreement_context_has_proposed(const struct rz_comm *comm);

/* What comm's members agree by, before the first time and ever after. */
enum rz_agreement_engine rz_comm_agreement(const struct rz_comm *comm);

/* rz_group.rows for a group in the same slots, after something was agreed on this communicator. */
uint32_t rz_agreement_context_rows(const struct rz_comm *comm);

/* Tells all members that comm is revoked, once; MPI_ERR_NO_MEM. */
int rz_agreement_context_revoke(struct rz_comm *comm);

/*
 * Another agreement context of comm's members, or of a part of them, for agreements with an order
 * of their own; `word` tells it from comm's other ones. *owner is the agreement context, until it
 * is dismissed or all agreement contexts are closed (NULL then). It cannot revoke. MPI_ERR_NO_MEM.
 */
int rz_agreement_context_beside(struct rz_comm *comm, struct rz_group *part, uint64_t word,
                                struct rz_agreement_context **owner);

/* Whether there is one with that word, or was one. */
bool rz_agreement_context_was_beside(const struct rz_comm *comm, uint64_t word);

/* It ends as that of a communicator that ends. Nothing of this process is in it but its own
 * proposal.
 */
void rz_agreement_context_dismiss(struct rz_agreement_context **owner);
struct rz_agreement_context **rz_agreement_context_owner(
    const struct rz_agreement_context *agreement_context); /* NULL: dismissed */

/* As rz_agreement_context_propose, of proposals that may be reserved; without memory the process
 * ends. */
void rz_agreement_context_put(struct rz_agreement_context *agreement_context,
                              struct rz_proposal *proposal);
void rz_agreement_context_ready(struct rz_agreement_context *agreement_context,
                                struct rz_proposal *proposal);

/* Tells the members of an agreement context beside that of a communicator, which has this word: see
 * rz_uniform_results_announced. */
void rz_agreement_context_announce(const struct rz_agreement_context *agreement_context,
                                   uint64_t word);

/* This process says nothing in it any more; it goes once its proposals were withdrawn. */
void rz_agreement_context_leave(struct rz_agreement_context *agreement_context);

/* Takes the first proposal out of it; NULL: there is none. Not while one is voted on: from
 * `decided`, or when it was left. */
struct rz_proposal *rz_agreement_context_withdraw(struct rz_agreement_context *agreement_context);
bool rz_agreement_context_is_idle(
    const struct rz_agreement_context *agreement_context); /* nothing of this process is in it */

/* One that lives as long as the agreement context: for who may go before it was decided. */
struct rz_proposal *
rz_agreement_context_own_proposal(struct rz_agreement_context *agreement_context);

/* Whether the group of this process comes second in that order. */
bool rz_agreement_context_second(const struct rz_comm *comm);

/* The rank in the job of a member, and back (RZ_ID_NONE: no member). */
uint32_t rz_agreement_context_process(const struct rz_agreement_context *agreement_context,
                                      rz_id member);
rz_id rz_agreement_context_member(const struct rz_comm *comm, uint32_t process);

/* ---- From the engine ---- */

/* A protocol message for some agreement context; it belongs to the callee. One for a communicator
 * that does not exist here yet is kept for it. */
void rz_agreement_context_message(struct rz_protocol_message *protocol_message);

/* A process of the job has failed, or has left it (it will say nothing any more): before any later
 * protocol message is read. */
void rz_agreement_contexts_failure(uint32_t process);

/* Reads all protocol messages; how many. The work RZ_WORK_PROTOCOL_MESSAGES. */
unsigned rz_agreement_contexts_read(void);

/* The engines of agreement want to be stepped although nothing has come, at rz_engine.wake_at:
 * returns whether it did. The work RZ_WORK_DEADLINE. */
unsigned rz_agreement_contexts_tick(void);

/* At once, to call `woken` outside of all steps. */
void rz_agreement_contexts_wake(void);

/*
 * What the owner of contexts beside those of communicators (comm_uniform.h) wants to know. Another
 * member says that there is a context with this word, of `part` (NULL: all), in comm, which is
 * revoked. A member will never say anything in the context of `owner`. It was woken.
 */
struct rz_beside_events {
    void (*announced)(struct rz_comm *comm, struct rz_group *part, uint64_t word, uint32_t by);
    void (*given_up)(struct rz_agreement_context **owner);
    void (*woken)(void);
};
extern const struct rz_beside_events *rz_beside_events; /* set before the first context is made */

/* comm agrees from now on, if it did not yet, so that its end is a farewell that others can wait
 * for. Without memory it is none. */
void rz_agreement_context_open(struct rz_comm *comm);

/* When the engine opens: what daemons say of decisions; and what need not be looked at in each
 * round of progress: daemons are asked for them (agreement_context_cache.c). */
void rz_decision_requests_open(void);
void rz_agreement_contexts_ask_slowly(rz_time now);

/* A communicator is whole: protocol messages for it may have come already. One ends, with a
 * farewell (rz_comm_says_farewell) or without: its agreement context stays. */
void rz_agreement_contexts_comm_begun(void);
void rz_agreement_context_comm_ends(struct rz_comm *comm, bool farewell);

/* All agreement contexts end: at a roll-back and in finalize. */
void rz_agreement_contexts_close(void);

#endif
