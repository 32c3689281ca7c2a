/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of each process of a node, and the list of all records. child_life.h starts and ends
 * processes, link_router.h exchanges messages with them.
 *
 *   SPAWNED -> JOINED -> LEFT          (HELLO; BYE or ABORT: what follows is no failure)
 *      any  -> FAILED                  (once per incarnation)
 */
#ifndef RZ_DAEMON_CHILD_H
#define RZ_DAEMON_CHILD_H

#include "daemon/process/link_peer.h"
#include "daemon/state/own_node.h"
#include "link/waits.h"
#include "port/doorbell.h"
#include "port/run_delay.h"

#include <sys/types.h>

enum rz_child_state { RZ_CHILD_SPAWNED, RZ_CHILD_JOINED, RZ_CHILD_LEFT, RZ_CHILD_FAILED };

/* What the gateway says of a process (service/gateway_link.h). */
enum rz_child_service { RZ_CHILD_UNSERVED, RZ_CHILD_CONNECTED, RZ_CHILD_FINALIZED };

#define RZ_CHILD_NO_SLOT UINT32_MAX

/* What a process was given when it joined. */
struct rz_child_share {
    pid_t pid; /* the process that sent HELLO: the child, or a descendant of it */
    /* pid belongs to the child's process group, and to no other pid namespace. */
    bool seen;
    uint32_t lane, slot;
    int inbox_fd, bell_fd, waits_fd;
    uint32_t trace_ring;      /* of the node's traces (state/node_trace.h); 0: none */
    struct rz_doorbell *bell; /* mapped */
    struct rz_waits *waits;   /* mapped: */
    size_t waits_bytes;       /* without traffic, unless the job counts it */
};

struct rz_child {
    struct rz_child *next;
    struct rz_children *all;
    struct rz_link_router *router; /* link_router.h */
    struct rz_child_life *life;    /* child_life.h */
    uint32_t rank, incarnation;
    pid_t pid;     /* of the child, and its process group; valid until the child is reaped */
    uint32_t core; /* the core of this node it is bound to, or RZ_ID_NONE (binding.h) */
    enum rz_child_state state;
    bool joined; /* it has said HELLO (and may have left or failed since) */
    enum rz_child_service service;
    bool entered;  /* it has entered MPIX_Reinit */
    bool given_up; /* it was killed for breaking the protocol: its messages are ignored */
    /* This daemon ordered its end (a newer incarnation, end of the job): no failure is reported. */
    bool ordered;
    bool hung; /* the watchdog found that it hangs */
    /* Its program could not be executed; a process of the job had requested it. */
    bool not_executed;
    uint32_t refusals;    /* how many of its messages were answered by REFUSED */
    bool store_refused;   /* it was told that its checkpoint pieces are not kept */
    uint64_t stored;      /* the greatest number of a checkpoint piece that it has sent */
    bool marked;          /* it has marked an iteration (RZ_Progress_mark) */
    uint64_t iteration;   /* the last one marked */
    uint32_t revocations; /* how many communicators it was the first to revoke */
    /* Whose failures it has acknowledged: pairs of slot and incarnation, sorted. Allocated. */
    uint64_t *acknowledged;
    uint32_t n_acknowledged;
    /* [n_ranks]: the newest incarnation of each that it has heard to be silent. Allocated. */
    uint32_t *heard;
    size_t unserved;     /* bytes that it has said, and its gateway has not read */
    uint64_t progress;   /* its progress counter, as the watchdog last saw it */
    rz_time progress_at; /* when the counter changed last */
    rz_time stuck;       /* since when it makes no progress, less its time without a processor */
    struct rz_run_look run;
    uint32_t reached_epoch;
    enum rz_recover_phase reached_phase;
    /* The last epochs of which it was recorded that it is at the start, and has its piece. */
    uint32_t start_recorded, restored_recorded;
    struct rz_child_share share;
    struct rz_link_peer link;
    uint8_t *ep_address;
    /* Each epoch has a new transport, and so another endpoint address. */
    uint32_t ep_address_bytes, ep_address_epoch;
    bool restoring;          /* it was given its image, and is not at the start of the epoch yet */
    uint32_t files_restored; /* the newest epoch in which it has restored all files
                                (service/restored_files.h) */
    uint32_t piece_source;   /* the node that sent the last PIECE passed to it */
    struct rz_output *output[2];
    uint64_t output_marked[2]; /* their places when the process last stood still for its image */
    int report_fd;
    struct event *report;   /* tells the outcome of exec */
    struct event *resume;   /* continues a process that INJECT has stopped */
    struct event *patience; /* for the end of a process that has closed its link */
};

struct rz_children {
    const struct rz_own_node *own;
    struct rz_child *first; /* all processes that are not reaped yet, linked by next */
    struct event *recount;
    bool held; /* processes may not start yet (child_life.h, may_start) */
};

rz_status_t rz_children_open(struct rz_children **children, const struct rz_own_node *own);
void rz_children_close(struct rz_children *children); /* NULL: nothing; there are none left */

/* The process of rank here that has not failed as far as this daemon knows (SPAWNED, JOINED or
 * LEFT), or NULL. */
struct rz_child *rz_child_of(const struct rz_children *children, uint32_t rank);

/* Whether it is the incarnation of its slot that was agreed on, not an older one. */
bool rz_child_is_current(const struct rz_child *process);

/* Whether that is not recorded yet for this epoch, which has begun; *recorded: the last one for
 * which it is, now this one. What a process says is recorded once: rzrun may not read, and what is
 * for it stays here. */
bool rz_child_record_once(const struct rz_child *process, uint32_t *recorded, uint32_t epoch);

/* For how long its calls have waited since it joined; RZ_WAITED_UNKNOWN: it has not, or its MPI is
 * another one. */
uint64_t rz_child_waited_ns(const struct rz_child *process);

/* Sends a signal to a process and its descendants, or to all processes of the node and theirs. */
void rz_child_signal(const struct rz_child *process, int number);
void rz_children_signal(const struct rz_children *children, int number);

/* Kills a process that breaks the protocol; why is for the user. Its failure is then detected like
 * any other. */
void rz_child_kill(struct rz_child *process, const char *why);

/* Rings the doorbells of all processes that have joined; reason: RZ_DOORBELL_LINK or
 * RZ_DOORBELL_BOARD. */
void rz_children_ring(const struct rz_children *children, uint32_t reason);
void rz_child_ring(const struct rz_child *process, uint32_t reason);

/* Something has changed: from the loop, and once for several calls, the module is called that
 * counts which processes have reached the end of the phase. */
void rz_children_recount(struct rz_children *children);
rz_status_t rz_children_on_recount(struct rz_children *children, event_callback_fn count,
                                   void *arg);

#endif
