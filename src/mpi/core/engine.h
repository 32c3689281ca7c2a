/*
 * The engine of the library: one per process. It owns the link to the daemon, the transports, the
 * peers, the matcher and all living requests; it makes progress, waits, and notices failures,
 * roll-backs and the end of the job.
 *
 * One lock for all of it, taken by the entry points when several threads may call
 * (rz_engine_shared). Everything below is called with that lock held.
 */
#ifndef RZ_MPI_ENGINE_H
#define RZ_MPI_ENGINE_H

#include <stdbool.h>

#include "link/link.h"
#include "mpi/core/blocked.h"
#include "mpi/core/process_number.h"
#include "mpi/core/wait_rule.h"
#include "mpi/p2p/match.h"
#include "net/net.h"

/* tcp or ucx: which transport carries messages between nodes. */
#define RZ_NET_ENVIRONMENT "RZ_NET"

/* auto, or yield: never sleep. */
#define RZ_WAIT_ENVIRONMENT "RZ_WAIT"

struct rz_comm;
struct rz_peer;
struct rz_request;

/* Whether several threads may call MPI (MPI_THREAD_MULTIPLE). Set in MPI_Init; entry points skip
 * the lock when false. */
extern bool rz_engine_shared;

/* Take and give up the one engine lock of this process. Chapter code gives it up while it sleeps.
 */
void rz_engine_enter(void);
void rz_engine_leave(void);

/* For chapter code that calls a function of the user (attribute callbacks), which may call MPI. */
void rz_engine_unlock_for_user(void);
void rz_engine_lock_after_user(void);

/* The same with the lock held throughout: for functions that may only ask (reductions). While a
 * function of the user runs below the library, its thread is not carried away by a roll-back. */
void rz_engine_user_begins(void);
void rz_engine_user_ended(void);

/* A roll-back: waits until no other thread is inside a call. Their waits have ended already. */
void rz_engine_await_others(void);

/* The roll-back is over. The calling thread took part in it; each other one that has called MPI
 * before is told at its next call, by an error. */
void rz_engine_came_back(void);

/* A transport that was opened. */
struct rz_path {
    const struct rz_net_ops *ops;
    struct rz_net *net; /* NULL: not open */
    bool spoilt;        /* it has lost a connection to a process that lives */
};

enum rz_path_kind { RZ_PATH_SHM, RZ_PATH_NET, RZ_PATH_COUNT };

/* What this process knows of a slot: the board's word as last dealt with, and the peer if it ever
 * sent to the process that lives there. */
struct rz_member {
    uint64_t word;    /* rz_board_rank_word */
    uint32_t process; /* the number of the present process; of incarnation 0: nobody yet */
    bool failed;      /* it has failed or was never there, and what was pending with it has ended */
    struct rz_peer *peer;  /* of this process; NULL: nothing was sent yet */
    bool spoken_to;        /* in the last epoch; the connection went with it, or rests */
    uint32_t acknowledged; /* the latest process of this slot whose failure the daemon was told to
                              be known (ft/spawn_ask.h) */
    uint32_t awaits_bootstrap, invites_nobody; /* processes that said so (ft/bootstrap_peers.h) */
    /* Who was there when the epoch began, and on which node: all who were there see it alike. Of
     * incarnation 0: nobody, or this process was not there itself. */
    uint32_t first, home;
};

struct rz_engine {
    struct rz_link *link;
    const struct rz_link_info *info;
    const struct rz_board *board;
    uint32_t self;              /* the number of this process */
    uint32_t epoch;             /* the epoch check: messages of other epochs are dropped */
    uint64_t news_seen;         /* of the board */
    uint64_t rank_news_settled; /* of the board, when all its words were last dealt with */
    bool rollback; /* the job has moved on; every call returns RZM_ROLLBACK until rz_ft_reinit_wait
                    */
    bool going_back;  /* a roll-back inside MPIX_Reinit is under way: other threads are refused */
    bool reinit_open; /* inside MPIX_Reinit: failures are nobody's error */
    bool late;        /* this process was spawned into an epoch that ran already */
    bool comes_again; /* it was started by a roll-back, and is on the way to MPIX_Reinit */
    /* Who failed, in the order in which it was learnt, as far as a living communicator holds it. */
    uint32_t *failed; /* [n_failed] */
    uint32_t n_failed, failed_max;
    bool failures;               /* some process that a group may hold is gone */
    struct rz_wait_rule waiting; /* when waiting calls spin, yield and sleep */
    struct rz_path paths[RZ_PATH_COUNT];
    struct rz_member *members; /* [info->n_slots] */
    struct rz_matcher matcher;
    struct rz_request *active; /* all requests that are not complete, newest first */
    struct rz_request *polled; /* those whose class has a poll function */
    uint64_t completions;      /* grows with each completed request */
    uint64_t last_call;        /* message.h: in epoch last_call - 1; 0: not yet */
    struct rz_engine_counters {
        uint64_t foreign, old_epoch, future_epoch,
            old_incarnation; /* messages dropped at the epoch check, by reason */
        uint64_t sends, receives, unexpected, bytes_sent, bytes_received;
        uint64_t protocol_messages; /* sent: messages of the protocol cores inside the library */
    } counters;
};

extern struct rz_engine rz_engine;

/* The entry of that process's slot; it may be of another one by now. */
static inline struct rz_member *rz_member_of(uint32_t process)
{
    return &rz_engine.members[rz_process_slot(process)];
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

/*
 * At the start of every chapter function that communicates, one load in the common case:
 * MPI_SUCCESS, or RZM_ROLLBACK when the job goes back to its restart point (everything pending has
 * then ended and names no memory any more).
 */
int rz_engine_begin(void);

/* With more processes than processors whoever spins keeps the one it waits for from running: counts
 * both, when an epoch begins. */
void rz_engine_look_at_crowd(void);

/* False: the first failure ends the job (rzrun --no-ft). Then nobody will ever ask for what exists
 * only to outlive one: an agreement may be a plain reduction, a checkpoint need not be kept. */
static inline bool rz_engine_fault_tolerant(void)
{
    return rz_engine.board == NULL || rz_board_fault_tolerant(rz_engine.board);
}

/* Looks at transports, link and board once; the number of events. Never from inside a callback of a
 * transport. */
unsigned rz_engine_progress(void);

/* What need not be looked at in each round of progress: stop word, lease, broken connections,
 * messages of the daemon. Also before each sleep. */
void rz_engine_check(void);

/*
 * Makes progress until done(arg). Sleeps when nothing moves (wait_rule.h). MPI_SUCCESS or
 * RZM_ROLLBACK (as rz_engine_begin). What can end it besides done: news of a failure completes
 * requests; a roll-back; stop word or lease end the process.
 */
int rz_engine_wait(const struct rz_blocked *blocked, bool (*done)(void *arg), void *arg);

/* Gives the processor and the lock away once. */
void rz_engine_yield(void);

/* Whether a test that found nothing (MPI_Test) gives the processor away: whoever is awaited may
 * want this very one. */
static inline bool rz_engine_yields(void)
{
    const struct rz_wait_rule *rule = &rz_engine.waiting;
    return rule->crowded || (rule->shared && rz_wait_yields_cheaply(rule));
}

/* Others agreed that this process has failed, which our daemon has not told us yet. Not from inside
 * a callback of a transport. */
void rz_engine_learn_failure(uint32_t process);

/* Puts a process on the list of the failed processes, if it is not there: a communicator holds it
 * that came after its failure. */
void rz_engine_list_failed(uint32_t process);

/*
 * Waits until our board knows all of these: before communicators of processes are made that others
 * told us of. Ends at the latest with the daemons' verdict on them. MPI_SUCCESS, MPI_ERR_OTHER:
 * such slots are not in this job; RZM_ROLLBACK.
 */
int rz_engine_await(const uint32_t *process, int n, const char *call);

/* Failures that were nobody's error are errors from now on: look at all of the board again. */
void rz_engine_look_again(void);

/* Ends the process at once: the daemon gone, the lease expired, the stop word set. Prints why, if
 * the user can act. */
_Noreturn void rz_engine_exit(rz_status_t why);

/* Sends it to the daemon of this node. It does not return when that is gone: then so is this
 * process. */
void rz_engine_tell_daemon(const struct rz_link_message *message);

#endif
