/*
 * A council: what the members of one communicator settle among themselves although some of them
 * die: agreement (src/proto/agree) and revocation (src/proto/spread). It hosts those cores, brings
 * them letters and deaths, and outlives its communicator, for others may still ask what was agreed.
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
    void (*decided)(struct rz_motion *motion, struct rz_council *council);
    struct rz_motion *next;
};

/*
 * Proposes; all members must, in the same order. MPI_SUCCESS: motion->decided comes, from inside
 * the progress of the engine, or a roll-back. MPI_ERR_NO_MEM: nothing was proposed.
 */
int rz_council_propose(struct rz_comm *comm, struct rz_motion *motion);

/* Tells all members that comm is revoked, once; MPI_ERR_NO_MEM. */
int rz_council_revoke(struct rz_comm *comm);

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

/* A communicator is whole: letters for it may have come already. One ends: its council stays. */
void rz_councils_comm_begun(void);
void rz_council_comm_ends(struct rz_comm *comm);

/* All councils end: at a roll-back and in finalize. */
void rz_councils_close(void);

#endif
