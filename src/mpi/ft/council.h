/*
 * A council: what the members of one communicator settle among themselves although some of them
 * die: agreement (agreement.h) and revocation (src/proto/spread). It hosts them, brings them
 * letters, deaths and time, and outlives its communicator, for others may still ask what was
 * agreed.
 *
 * Members are numbered through both groups of an inter-communicator, the one that holds the lower
 * first rank of the job coming first; so all members number them alike.
 */
#ifndef RZ_MPI_COUNCIL_H
#define RZ_MPI_COUNCIL_H

#include "mpi/comm/comm.h"
#include "mpi/ft/council_letter.h"

#include <rhizome/types.h>

struct rz_council;

/*
 * One agreement, as this process takes part in it. Memory of the caller from rz_council_propose
 * until `decided` is called or rz_council_forget.
 */
struct rz_motion {
    uint64_t and, min, max; /* what is proposed; then, what was decided */
    const rz_id *dead; /* decided: members agreed dead so far, sorted; valid during the call only */
    uint32_t n_dead;
    uint64_t number; /* of the agreement in the council, from 1; the same at all members */
    bool reserved;   /* it keeps its place in the order, and is proposed with rz_council_ready */
    void (*decided)(struct rz_motion *motion, struct rz_council *council);
    struct rz_motion *next;
};

/*
 * Proposes; all members must, in the same order. MPI_SUCCESS: motion->decided comes, from inside
 * the progress of the engine, or a roll-back. MPI_ERR_NO_MEM: nothing was proposed.
 */
int rz_council_propose(struct rz_comm *comm, struct rz_motion *motion);

/*
 * Whether another member of comm may still wait for what was agreed last: as long as nothing was
 * agreed after it. All living members have comm then, for all of them proposed.
 */
bool rz_council_owes(const struct rz_comm *comm);

/* The council of a communicator with a farewell (rz_dynamic_says_farewell) that this process has
 * ended but owes the last agreement to others; NULL: there is none. */
const struct rz_council *rz_council_in_debt(void);

/* For reports: sets in *blocked the number of the agreement that this process takes part in and one
 * whose word it waits for. council: NULL, nothing is known. */
void rz_council_waits_for(const struct rz_council *council, struct rz_blocked *blocked);

/* Whether this process has proposed something on comm; then the engine is what it is, an
 * enum rz_agreement_engine. */
bool rz_council_has_proposed(const struct rz_comm *comm);
unsigned rz_council_engine(const struct rz_comm *comm);

/* rz_group.rows for a group in the same slots, after something was agreed on this communicator. */
uint32_t rz_council_rows(const struct rz_comm *comm);

/* Tells all members that comm is revoked, once; MPI_ERR_NO_MEM. */
int rz_council_revoke(struct rz_comm *comm);

/*
 * Another council of comm's members, or of a part of them, for agreements with an order of their
 * own; `word` tells it from comm's other ones. *owner is the council, until it is dismissed or all
 * councils are closed (NULL then). It cannot revoke. MPI_ERR_NO_MEM.
 */
int rz_council_beside(struct rz_comm *comm, struct rz_group *part, uint64_t word,
                      struct rz_council **owner);

/* Whether there is one with that word, or was one. */
bool rz_council_was_beside(const struct rz_comm *comm, uint64_t word);

/* It ends as that of a communicator that ends. Nothing of this process is in it but its own motion.
 */
void rz_council_dismiss(struct rz_council **owner);
struct rz_council **rz_council_owner(const struct rz_council *council); /* NULL: dismissed */

/* As rz_council_propose, of motions that may be reserved; without memory the process ends. */
void rz_council_put(struct rz_council *council, struct rz_motion *motion);
void rz_council_ready(struct rz_council *council, struct rz_motion *motion);

/* Tells the members of a council beside that of a communicator, which has this word: see
 * rz_rulings_announced. */
void rz_council_announce(const struct rz_council *council, uint64_t word);

/* This process says nothing in it any more; it goes once its motions were withdrawn. */
void rz_council_leave(struct rz_council *council);

/* Takes the first motion out of it; NULL: there is none. Not while one is voted on: from `decided`,
 * or when it was left. */
struct rz_motion *rz_council_withdraw(struct rz_council *council);
bool rz_council_is_idle(const struct rz_council *council); /* nothing of this process is in it */

/* One that lives as long as the council: for who may go before it was decided. */
struct rz_motion *rz_council_own_motion(struct rz_council *council);

/* Whether the group of this process comes second in that order. */
bool rz_council_second(const struct rz_comm *comm);

/* The rank in the job of a member, and back (RZ_ID_NONE: no member). */
uint32_t rz_council_process(const struct rz_council *council, rz_id member);
rz_id rz_council_member(const struct rz_comm *comm, uint32_t process);

/* ---- From the engine ---- */

/* A letter for some council; it belongs to the callee. One for a communicator that does not exist
 * here yet is kept for it. */
void rz_council_letter(struct rz_letter *letter);

/* A process of the job has died, or has left it (it will say nothing any more): before any later
 * letter is read. */
void rz_councils_death(uint32_t process);

/* When the engines of agreement want to be stepped although nothing has come: RZ_TIME_NEVER, or the
 * time from which on rz_councils_tick does something. That returns whether it did. */
extern rz_time rz_councils_deadline;
unsigned rz_councils_tick(void);

/* At once, to call rz_rulings_speak outside of all steps. */
void rz_councils_wake(void);

/* comm agrees from now on, if it did not yet, so that its end is a farewell that others can wait
 * for. Without memory it is none. */
void rz_council_open(struct rz_comm *comm);

/* When the engine opens: what daemons say of decisions; and what need not be looked at in each
 * round of progress: daemons are asked for them (council_deposits.c). */
void rz_council_deposits_open(void);
void rz_councils_ask_slowly(rz_time now);

/* A communicator is whole: letters for it may have come already. One ends, with a farewell
 * (rz_dynamic_says_farewell) or without: its council stays. */
void rz_councils_comm_begun(void);
void rz_council_comm_ends(struct rz_comm *comm, bool farewell);

/* All councils end: at a roll-back and in finalize. */
void rz_councils_close(void);

#endif
