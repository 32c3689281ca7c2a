/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes of a node: what is kept of each, and the list of all. Who starts and ends them is
 * child_life.h, who talks with them link_router.h.
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

#define RZ_CHILD_NO_SLOT UINT32_MAX

/* What a process was given when it joined. */
struct rz_child_share {
    pid_t pid; /* of who said HELLO: the child, or a descendant of it */
    bool
        seen; /* that pid is a process of the child's group, and not one of another pid namespace */
    uint32_t lane, slot;
    int inbox_fd, bell_fd, waits_fd;
    struct rz_doorbell *bell; /* mapped */
    struct rz_waits *waits;   /* mapped */
};

struct rz_child {
    struct rz_child *next;
    struct rz_children *all;
    struct rz_link_router *router; /* link_router.h */
    struct rz_child_life *life;    /* child_life.h */
    uint32_t rank, incarnation;
    pid_t pid;     /* of the child, and its process group; ours until it is reaped */
    uint32_t core; /* of this node, that it is bound to, or RZ_ID_NONE (binding.h) */
    enum rz_child_state state;
    bool joined;   /* has said HELLO (and may have left or failed since) */
    bool entered;  /* MPIX_Reinit */
    bool given_up; /* killed for what it did: it is not listened to any more */
    bool ordered; /* its end was ordered by us (superseded, end of the job): nobody is to be told of
                     a failure */
    bool hung;    /* the watchdog's verdict */
    bool not_executed;   /* exec refused its program, which a process of the job wanted to have */
    bool store_refused;  /* it was told that its checkpoint pieces are not kept */
    bool marked;         /* an iteration (RZ_Progress_mark) */
    uint64_t iteration;  /* the last one that it marked */
    uint64_t progress;   /* its counter, as the watchdog saw it change */
    rz_time progress_at; /* and when */
    rz_time stuck;       /* since then, without what it waited for a processor */
    struct rz_run_look run;
    uint32_t reached_epoch;
    enum rz_recover_phase reached_phase;
    struct rz_child_share share;
    struct rz_link_peer link;
    uint8_t *ep_address;
    uint32_t ep_address_bytes,
        ep_address_epoch;  /* each epoch has an endpoint address of its own: its transport is new */
    uint32_t piece_source; /* node that the last PIECE sent to it came from */
    struct rz_output *output[2];
    int report_fd;
    struct event *report;   /* the exec's outcome */
    struct event *resume;   /* of a process stopped by INJECT */
    struct event *patience; /* for the end of one that closed its link */
};

struct rz_children {
    const struct rz_own_node *own;
    struct rz_child *first; /* all that are not reaped yet, linked by next */
    struct event *recount;
};

rz_status_t rz_children_open(struct rz_children **children, const struct rz_own_node *own);
void rz_children_close(struct rz_children *children); /* NULL: nothing; there are none left */

/* The process of rank here that is alive as far as we know (SPAWNED, JOINED or LEFT), or NULL. */
struct rz_child *rz_child_of(const struct rz_children *children, uint32_t rank);

/* It is the incarnation of its slot that was agreed on, and not an older one. */
bool rz_child_is_current(const struct rz_child *process);

/* A signal to a process and what it started; to all of them. */
void rz_child_signal(const struct rz_child *process, int number);
void rz_children_signal(const struct rz_children *children, int number);

/* Kills a process that misbehaves (text for the user); its failure is then noticed as any other. */
void rz_child_kill(struct rz_child *process, const char *why);

/* Rings the doorbells of all joined processes; reason: RZ_DOORBELL_LINK or RZ_DOORBELL_BOARD. */
void rz_children_ring(const struct rz_children *children, uint32_t reason);
void rz_child_ring(const struct rz_child *process, uint32_t reason);

/* Something has changed: soon, and once however often this is called until then, the one who counts
 * which processes have reached the end of the phase is called. */
void rz_children_recount(struct rz_children *children);
rz_status_t rz_children_on_recount(struct rz_children *children, event_callback_fn count,
                                   void *arg);

#endif
