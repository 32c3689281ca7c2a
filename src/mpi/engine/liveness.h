/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which processes are alive in this process's knowledge, and the only list of failed processes. The
 * module follows the daemon's board and the results of agreements, and tells the other modules of
 * each process once, in the order of their list (hooks.h).
 */
#ifndef RZ_MPI_LIVENESS_H
#define RZ_MPI_LIVENESS_H

#include "mpi/engine/engine.h"

struct rz_peer;

/* What this process knows of a slot. What follows `home` belongs to the modules named there. */
struct rz_member {
    uint64_t word;    /* rz_board_rank_word at the last look */
    uint32_t process; /* the number of the present process; of incarnation 0: none yet */
    bool failed;      /* it has failed, has ended or never existed, and all modules were told */
    /* The process of this slot when the epoch began, and its node (in a job that rewinds: when the
     * program began): equal at all processes that existed then, too. Of incarnation 0: none, or
     * this process did not exist itself. */
    uint32_t first, home;
    /* Messages handed to transports for `process` in this epoch; messages of it that have
     * arrived. */
    uint64_t handed, taken;
    struct rz_peer *peer; /* of `process`; NULL: nothing was sent to it (peer.h) */
    bool spoken_to; /* in the last epoch; the connection was closed with that epoch, or is dormant
                       (peer.h) */
    uint32_t acknowledged; /* the latest process of this slot whose failure this process has
                              acknowledged to the daemon */
    uint32_t awaits_bootstrap, invites_none; /* processes that said so (ft/bootstrap.h) */
};

struct rz_liveness {
    struct rz_member *members; /* [info->n_slots] */
    /* The failed processes, in the order in which this process learnt of them, as long as a
     * communicator that has not ended holds them. */
    uint32_t *failed; /* [n_failed] */
    uint32_t n_failed, failed_max;
    bool failures;         /* a process that a group may hold is gone */
    uint64_t news_settled; /* the value of the board's news counter when all states of processes
                              were last dealt with */
};

extern struct rz_liveness rz_liveness __attribute__((visibility("hidden")));

/* The entry of that process's slot; the slot may have another process by now. */
static inline struct rz_member *rz_member_of(uint32_t process)
{
    return &rz_liveness.members[rz_process_slot(process)];
}

/* Whether that process is gone: its slot has another process now, it failed there, or it ended in
 * order. */
static inline bool rz_process_failed(uint32_t process)
{
    const struct rz_member *member = rz_member_of(process);
    return member->process != process || member->failed;
}

/* Whether our board shows that process or has shown it; otherwise it is yet to appear (a number in
 * a message of another process may be ahead of our board). */
static inline bool rz_process_known(uint32_t process)
{
    return !rz_process_newer(process, rz_member_of(process)->process);
}

/* All bits of the incarnation, of which the process's number has only the low ones: the value
 * nearest to the incarnation of the present process of its slot. */
uint32_t rz_process_incarnation(uint32_t process);

/* The messages of this epoch that were handed over for all present processes, and that have arrived
 * from them. */
void rz_liveness_messages(uint64_t *handed, uint64_t *taken);

/* When the library opens, and when it ends. False: no memory. */
bool rz_liveness_open(void);
void rz_liveness_close(void);

/* An epoch begins: no process has failed in it so far, and the slots are to be refreshed. */
void rz_liveness_begin(void);

/* Sets the entry of a slot to what the board shows at the begin of an epoch. */
void rz_liveness_refresh(uint32_t slot);

/* Reads the states of all processes on the board, unless none has changed since the last look.
 * ours: the board is of our epoch. Not called from inside a callback of a transport. */
void rz_liveness_look(bool ours);

/* All ranks of the job are in MPI_Finalize and need no other process any more. How each of them
 * ends is not told to the modules, and spawned processes may outlive them. */
void rz_liveness_ranks_left(void);

/* Other processes agreed that this process has failed, which our daemon has not told us yet. Not
 * called from inside a callback of a transport. */
void rz_liveness_learn_failure(uint32_t process);

/* Puts a process on the list of failed processes if it is not there: a communicator that was made
 * after its failure holds it. */
void rz_liveness_list_failed(uint32_t process);

/* The program was told of these failures and continues, so that they do not make the job fail:
 * reports that to the daemon, once per failure. Processes that are alive or have ended in order are
 * skipped. */
void rz_failures_acknowledge(const uint32_t *process, uint32_t n);

/* Counts processes and processors: with more processes than processors, a waiting process that
 * spins keeps the awaited one from running. */
void rz_liveness_count_ranks_here(void);

#endif
