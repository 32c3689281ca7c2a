/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An agreement context: what the members of one communicator agree on although some of them fail.
 * It hosts an engine for agreements (agreement.h) and a core for revocation (src/proto/spread),
 * passes them protocol messages, failures and time, and outlives its communicator, since other
 * members may still ask for a decision.
 *
 * Members are numbered through both groups of an inter-communicator, first the group that holds the
 * lower first rank of the job; so all members number them alike.
 */
#ifndef RZ_MPI_AGREEMENT_CONTEXT_H
#define RZ_MPI_AGREEMENT_CONTEXT_H

#include "mpi/comm/comm.h"
#include "mpi/engine/waiting.h"
#include "mpi/agree/agreement.h"
#include "mpi/agree/protocol_message.h"

#include <rhizome/types.h>

struct rz_agreement_context;

/* This process's part in one agreement. The caller's memory, from rz_agreement_context_propose
 * until `decided` is called or rz_agreement_context_forget. */
struct rz_proposal {
    uint64_t and, min, max; /* the proposal; later the decision */
    const rz_id *failed; /* decided: members agreed to have failed so far, sorted; valid during the
                            call only */
    uint32_t n_failed;
    uint64_t number; /* of the agreement in its context, counted from 1; equal at all members */
    bool reserved; /* it has a place in the order, and is proposed at rz_agreement_context_ready */
    void (*decided)(struct rz_proposal *proposal, struct rz_agreement_context *agreement_context);
    struct rz_proposal *next;
};

/* Proposes; all members must, in the same order. MPI_SUCCESS: proposal->decided will be called,
 * during a round of progress, unless the job rolls back. MPI_ERR_NO_MEM: nothing was proposed. */
int rz_agreement_context_propose(struct rz_comm *comm, struct rz_proposal *proposal);

/* Whether another member of comm may still wait for the last decision: as long as there is no later
 * one. All members that are alive have comm then, since all of them proposed. */
bool rz_agreement_context_owes(const struct rz_comm *comm);

/* The agreement context of a communicator with a goodbye (rz_comm_says_goodbye) that this process
 * has ended while others may still need its last decision; NULL: there is none. */
const struct rz_agreement_context *rz_agreement_context_in_debt(void);

/* For reports: sets in *blocked the number of the agreement that this process takes part in, and a
 * member that it waits for. agreement_context NULL: nothing is known. */
void rz_agreement_context_waits_for(const struct rz_agreement_context *agreement_context,
                                    struct rz_blocked *blocked);

/* Whether this process has made a proposal on comm; from then on its engine, an enum
 * rz_agreement_engine, does not change. */
bool rz_agreement_context_has_proposed(const struct rz_comm *comm);

/* The engine of comm's agreements, before the first one and afterwards. */
enum rz_agreement_engine rz_comm_agreement(const struct rz_comm *comm);

/* The value of rz_group.rows for a group in the same slots, after an agreement on this
 * communicator. */
uint32_t rz_agreement_context_rows(const struct rz_comm *comm);

/* Tells all members that comm is revoked, once; MPI_ERR_NO_MEM. */
int rz_agreement_context_revoke(struct rz_comm *comm);

/*
 * Another agreement context for comm's members, or for a part of them, whose agreements have an
 * order of their own; `word` distinguishes it from others of comm. *owner refers to it until it is
 * dismissed or all agreement contexts are closed (NULL then). It cannot revoke. MPI_ERR_NO_MEM.
 */
int rz_agreement_context_open_child(struct rz_comm *comm, struct rz_group *part, uint64_t word,
                                    struct rz_agreement_context **owner);

/* Whether a context with that word exists, or has existed. */
bool rz_agreement_context_was_child(const struct rz_comm *comm, uint64_t word);

/* Ends the context as that of a communicator that ends. It holds nothing of this process but its
 * own proposal. */
void rz_agreement_context_dismiss(struct rz_agreement_context **owner);
struct rz_agreement_context **rz_agreement_context_owner(
    const struct rz_agreement_context *agreement_context); /* NULL: it was dismissed */

/* As rz_agreement_context_propose, for proposals that may be reserved; without memory the process
 * ends. */
void rz_agreement_context_put(struct rz_agreement_context *agreement_context,
                              struct rz_proposal *proposal);
void rz_agreement_context_ready(struct rz_agreement_context *agreement_context,
                                struct rz_proposal *proposal);

/* Tells the members of a child context that it exists, with this word: see
 * rz_uniform_results_announced. */
void rz_agreement_context_announce(const struct rz_agreement_context *agreement_context,
                                   uint64_t word);

/* This process sends nothing in the context any more; it is freed once its proposals were
 * withdrawn. */
void rz_agreement_context_leave(struct rz_agreement_context *agreement_context);

/* Takes out the first proposal; NULL: there is none. Not while its agreement is under way: called
 * from `decided`, or after rz_agreement_context_leave. */
struct rz_proposal *rz_agreement_context_withdraw(struct rz_agreement_context *agreement_context);
/* Whether no proposal of this process is in it. */
bool rz_agreement_context_is_idle(const struct rz_agreement_context *agreement_context);

/* A proposal object that lives as long as the agreement context, for callers that may end before
 * the decision. */
struct rz_proposal *
rz_agreement_context_own_proposal(struct rz_agreement_context *agreement_context);

/* Whether the group of this process comes second in that order. */
bool rz_agreement_context_second(const struct rz_comm *comm);

/* The process of a member, and the member that is a process (RZ_ID_NONE: none). */
uint32_t rz_agreement_context_process(const struct rz_agreement_context *agreement_context,
                                      rz_id member);
rz_id rz_agreement_context_member(const struct rz_comm *comm, uint32_t process);

/* ---- From the engine ---- */

/* A protocol message for some agreement context; the callee owns it. A message for a communicator
 * that does not exist here yet is kept until it does. */
void rz_agreement_context_message(struct rz_protocol_message *protocol_message);

/* A process of the job has failed, or has left it and sends nothing more. Called before any later
 * protocol message is read. */
void rz_agreement_contexts_failure(uint32_t process);

/* Reads all protocol messages; returns their number. The work RZ_WORK_PROTOCOL_MESSAGES. */
unsigned rz_agreement_contexts_read(void);

/* Steps the engines whose deadline has come, without a message, at rz_engine.wake_at: returns
 * whether there were any. The work RZ_WORK_DEADLINE. */
unsigned rz_agreement_contexts_tick(void);

/* Requests a call of `woken` in the next round, outside of all steps. */
void rz_agreement_contexts_wake(void);

/*
 * Events for the owner of child contexts (comm_uniform.h). announced:
 * another member reports that there is a context with this word, of `part` (NULL: all), in comm,
 * which is revoked. given_up: a member will never send anything in the context of `owner`. woken:
 * after rz_agreement_contexts_wake.
 */
struct rz_child_context_events {
    void (*announced)(struct rz_comm *comm, struct rz_group *part, uint64_t word, uint32_t by);
    void (*given_up)(struct rz_agreement_context **owner);
    void (*woken)(void);
};
extern const struct rz_child_context_events
    *rz_child_context_events; /* set before the first context is made */

/* Makes comm's agreement context, if there is none yet, so that its end is a goodbye that others
 * can wait for. Without memory there is none. */
void rz_agreement_context_open(struct rz_comm *comm);

/*
 * rz_decision_requests_open: when the engine opens, registers for the daemon's answers about
 * decisions. rz_agreement_contexts_ask_slowly: asks daemons for decisions, less often than each
 * round of progress (agreement_context_cache.c).
 */
void rz_decision_requests_open(void);
void rz_agreement_contexts_ask_slowly(rz_time now);

/* A communicator has begun: protocol messages for it may have arrived already. A communicator ends,
 * with a goodbye (rz_comm_says_goodbye) or without: its agreement context stays. */
void rz_agreement_contexts_comm_begun(void);
void rz_agreement_context_comm_ends(struct rz_comm *comm, bool goodbye);

/* Ends all agreement contexts: at a roll-back and in finalize. */
void rz_agreement_contexts_close(void);

/* Of the layer agree; agree_hooks.c. */
extern const struct rz_hooks rz_agree_hooks;

#endif
