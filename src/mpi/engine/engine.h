/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine of the library: one per process. Its state is here, read by all layers: the link to
 * the daemon and the board, the epoch, the open transports, the requests that have not ended. Which
 * processes are alive: liveness.h; rounds of progress: progress.h; the lock, and waiting:
 * waiting.h.
 *
 * One lock protects all of it. The entry points take it when several threads may call
 * (rz_engine_shared). Everything in this folder is called with that lock held.
 */
#ifndef RZ_MPI_ENGINE_H
#define RZ_MPI_ENGINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "link/link.h"
#include "mpi/core/process_number.h"
#include "mpi/core/wait_rule.h"
#include "net/net.h"

/* tcp or ucx: which transport carries messages between nodes. */
#define RZ_NET_ENVIRONMENT "RZ_NET"

/* auto, or yield: never sleep. */
#define RZ_WAIT_ENVIRONMENT "RZ_WAIT"

struct rz_request;

/* A transport that was opened. */
struct rz_path {
    const struct rz_net_ops *ops;
    struct rz_net *net; /* NULL: not open */
    bool incomplete;    /* it has lost a connection to a process that is alive */
};

enum rz_path_kind { RZ_PATH_SHM, RZ_PATH_NET, RZ_PATH_COUNT };

struct rz_engine {
    struct rz_link *link;
    const struct rz_link_info *info;
    const struct rz_board *board;
    uint32_t self;      /* the number of this process */
    pid_t process_id;   /* whose library this is: in a child that it forked getpid() is another. A
                           restored process has an id of its own */
    uint32_t epoch;     /* messages of other epochs are dropped (epoch_check.h) */
    uint64_t news_seen; /* the value of the board's news counter at the last look */
    bool rewinds; /* the ranks of the job are restored from images of their memory, all at once
                     (mpi/rewind) */
    bool stops;   /* a safe point of a call is wanted (rz_hooks.safe_point), or no call may
                     communicate now, as reductions says */
    uint16_t reductions; /* of functions of the user that run now, below a call */
    unsigned within; /* parts of operations that run now: none is entered again, so no safe point */
    bool rollback;   /* the job has moved on: every call returns RZM_ROLLBACK until the next epoch
                        begins (epoch.h) */
    bool going_back; /* a roll-back inside MPIX_Reinit is under way: other threads are refused */
    bool reinit_entered; /* MPIX_Reinit was called */
    bool reinit_open;    /* inside MPIX_Reinit: a failure ends no operation; the job rolls back */
    bool late;           /* this process was spawned into an epoch that ran already */
    bool comes_again;    /* this process was started by a roll-back, and has not reached MPIX_Reinit
                            yet */
    bool waits;          /* the call that makes progress does nothing else until an event */
    uint32_t quick;      /* calls that have begun by rz_engine_begin_quick */
    bool counts_traffic; /* messages are counted by their receivers, too (count_traffic.h) */
    bool
        kills_here; /* rz_kill_plan is set: short messages go the way of others, which has points */
    struct rz_wait_rule waiting; /* when waiting calls spin, yield and sleep */
    rz_time wake_at; /* sleeping calls wake up at this time at the latest; RZ_TIME_NEVER: no such
                        time */
    struct rz_path paths[RZ_PATH_COUNT];
    struct rz_request *active; /* all requests that are not complete, newest first */
    struct rz_request *polled; /* those whose class has a poll function */
    struct rz_request *woken;  /* a part of them has completed: to be polled once */
    struct rz_request *asking; /* messages about which the peer is to be asked (p2p/inquiry.h) */
    uint64_t completions; /* grows with each completed request, and with each other event that a
                             call may wait for */
    uint64_t troubles;    /* grows with each request that gets an error */
    struct rz_engine_counters {
        uint64_t foreign, old_epoch, future_epoch,
            old_incarnation; /* messages dropped by the epoch check, by reason */
        uint64_t sends, receives, unexpected, bytes_sent, bytes_received;
        uint64_t protocol_messages; /* sent: messages of the protocol cores inside the library */
    } counters;
};

/* Of this library alone: reached without a look into the table of global symbols. */
extern struct rz_engine rz_engine __attribute__((visibility("hidden")));

/* False: the first failure ends the job (rzrun --no-ft). What serves only to survive a failure can
 * then be left out: an agreement may be a plain reduction, a checkpoint need not be kept. */
static inline bool rz_engine_fault_tolerant(void)
{
    return !rz_engine.board || rz_board_fault_tolerant(rz_engine.board);
}

/*
 * The number of a process. In a job that rewinds an epoch begins all processes anew, and their
 * memory holds the numbers that they had in another epoch: the incarnation is left out, and
 * messages of other epochs are kept out by the epoch alone.
 */
static inline uint32_t rz_engine_number(uint32_t slot, uint32_t incarnation)
{
    return rz_process(slot, __builtin_expect(rz_engine.rewinds, 0) ? incarnation > 0 : incarnation);
}

/* Ends the process at once: the daemon is gone, the lease has expired, or the stop word is set.
 * Prints the cause if the user can act on it. */
_Noreturn void rz_engine_exit(rz_status_t why);

/* The job goes on in a new epoch with other processes, and the daemon ends this one. */
_Noreturn void rz_engine_await_end(void);

/* Sets rz_kill_plan from text, as rz_kill_arm. */
bool rz_engine_arm_kill(const char *text);

/* Sends a message to the daemon of this node. Does not return when the daemon is gone: the process
 * ends then. */
void rz_engine_tell_daemon(const struct rz_link_message *message);

/* Closes the file descriptors that came with a message of the daemon. */
void rz_engine_close_fds(const int *fds, unsigned n_fds);

#endif
