/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is alive in this process's knowledge: the one place where the failed processes are kept. It
 * follows the board of the daemon and what agreements say, and tells the other modules of each
 * process once, in the order of their list (hooks.h).
 */
#ifndef RZ_MPI_LIVENESS_H
#define RZ_MPI_LIVENESS_H

#include "mpi/engine/engine.h"

struct rz_peer;

/* What this process knows of a slot. The last four lines belong to the modules that they name. */
struct rz_member {
    uint64_t word;    /* rz_board_rank_word, as last dealt with */
    uint32_t process; /* the number of the present process; of incarnation 0: none yet */
    bool failed;      /* it has failed, has ended or was never there, and all modules were told */
    /* The process that was there when the epoch began, and its node: the same at all processes that
     * were there, too. Of incarnation 0: none, or this process was not there itself. */
    uint32_t first, home;
    struct rz_peer *peer;  /* of `process`; NULL: nothing was sent to it (peer.h) */
    bool spoken_to;        /* in the last epoch; the connection went with it, or rests (peer.h) */
    uint32_t acknowledged; /* the latest process of this slot whose failure the daemon was told to
                              be known (agree/acknowledge.h) */
    uint32_t awaits_bootstrap, invites_nobody; /* processes that said so (ft/bootstrap_peers.h) */
};

struct rz_liveness {
    struct rz_member *members; /* [info->n_slots] */
    /* The failed processes, in the order in which this process learnt of them, as far as a living
     * communicator holds them. */
    uint32_t *failed; /* [n_failed] */
    uint32_t n_failed, failed_max;
    bool failures;         /* some process that a group may hold is gone */
    uint64_t news_settled; /* of the board, when all states of processes were last dealt with */
};

extern struct rz_liveness rz_liveness;

/* The entry of that process's slot; it may be of another one by now. */
static inline struct rz_member *rz_member_of(uint32_t process)
{
    return &rz_liveness.members[rz_process_slot(process)];
}

/* Whether it is gone: its slot has another process now, or it failed there, or it ended in order.
 */
static inline bool rz_process_failed(uint32_t process)
{
    const struct rz_member *member = rz_member_of(process);
    return member->process != process || member->failed;
}

/* Whether it stands on our board already, or was there; else it is yet to come (a number that comes
 * from another process may be ahead of our board). */
static inline bool rz_process_known(uint32_t process)
{
    return !rz_process_newer(process, rz_member_of(process)->process);
}

/* All bits of its incarnation, of which its number has the low ones: near to that of the present
 * process of its slot. */
uint32_t rz_process_incarnation(uint32_t process);

/* When the library opens, and when it ends. False: no memory. */
bool rz_liveness_open(void);
void rz_liveness_close(void);

/* An epoch begins: nobody has failed in it so far, and slots are to be refreshed. */
void rz_liveness_begin(void);

/* The entry of a slot as the board shows it at the begin of an epoch. */
void rz_liveness_refresh(uint32_t slot);

/* The states of all processes on the board, unless none has changed since the last look. ours: the
 * board is of our epoch. Not from inside a callback of a transport. */
void rz_liveness_look(bool ours);

/* All ranks of the job are in MPI_Finalize and need no other process any more. How each of them
 * ends is told to nobody, and spawned processes may outlive them. */
void rz_liveness_ranks_left(void);

/* Others agreed that this process has failed, which our daemon has not told us yet. Not from inside
 * a callback of a transport. */
void rz_liveness_learn_failure(uint32_t process);

/* Puts a process on the list of failed processes, if it is not there: a communicator holds it that
 * was made after its failure. */
void rz_liveness_list_failed(uint32_t process);

/* With more processes than processors a waiting process that spins keeps the awaited one from
 * running: counts both. */
void rz_liveness_count_crowd(void);

#endif
