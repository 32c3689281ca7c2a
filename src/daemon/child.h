/*
 * The processes of a node: from fork to the last trace.
 *
 *   SPAWNED -> JOINED -> LEFT          (HELLO; BYE or ABORT: what follows is no failure)
 *      any  -> DEAD                    (verdict, once per incarnation)
 *
 * A failure is noticed first by the watch (the robust mutex that a joined process holds), else by
 * its exit. An exit without HELLO is plain: a program that does not use MPI ended; but to be killed
 * by a signal is a failure at any time before LEFT. Whatever the end, the process group is killed,
 * and only waitpid lets go of what the process used: record, watch slot, inbox. Its lane serves
 * another once all have closed what it had of it (lanes.h). Exits are reaped at once: a reader that
 * copies from a process by pid compares the identity token it reads beside the data, so that a pid
 * which came to another process cannot deceive it.
 */
#ifndef RZ_DAEMON_CHILD_H
#define RZ_DAEMON_CHILD_H

#include "daemon/daemon.h"
#include "daemon/link_peer.h"
#include "link/waits.h"
#include "port/doorbell.h"
#include "port/run_delay.h"
#include "port/watch.h"

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
    struct rz_daemon *daemon;
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

struct rz_child_table;

rz_status_t rz_child_table_open(struct rz_child_table **table, struct rz_daemon *daemon);
/* Frees what is left; the processes must be failed already (ending.h sees to it). */
void rz_child_table_close(struct rz_child_table *table);

/* Forks (rank, incarnation), unless it was already. An error is told to rzrun in words and ends the
 * job; of a spawned process (spawns.h) it is a failure. */
void rz_child_spawn(struct rz_daemon *daemon, uint32_t rank, uint32_t incarnation);

/* The process of rank here that is alive as far as we know (SPAWNED, JOINED or LEFT), or NULL. */
struct rz_child *rz_child_of(const struct rz_daemon *daemon, uint32_t rank);

/* Whether the current incarnation of rank ran here and has ended, or left MPI, without a failure.
 */
bool rz_child_has_ended(const struct rz_daemon *daemon, uint32_t rank);

/* All that are not reaped yet, linked by next. */
struct rz_child *rz_children(const struct rz_daemon *daemon);

/* HELLO was accepted: gives slot, lane, inbox, doorbell, waits. *why (static text) where there is
 * an error. */
rz_status_t rz_child_join(struct rz_child *process, pid_t pid, const char **why);
int rz_child_watch_fd(const struct rz_daemon *daemon);

/* The process has closed what it had of a lane (LANE_CLOSED); false: nobody has asked it. */
bool rz_child_closed_lane(struct rz_child *process, uint32_t lane, uint32_t rank,
                          uint32_t incarnation);

/* It has said BYE or ABORT: from here on its exit is no failure. */
void rz_child_leave(struct rz_child *process);

/* The verdict. how and at for the record. Messages that came before it count. */
void rz_child_failed(struct rz_child *process, const char *how, rz_time at);

/* A process that was spawned by decision cannot even be forked: a failure like any other. */
void rz_child_start_failed(struct rz_daemon *daemon, uint32_t rank, uint32_t incarnation,
                           const char *how);

/* Kills a process that misbehaves (text for the user); its failure is then noticed as any other. */
void rz_child_kill(struct rz_child *process, const char *why);

/* The agreement or the end of the job has done with it: killed, and no failure to tell. */
void rz_child_order_end(struct rz_child *process);

/* Its link has ended: without BYE it has a little time to end by itself, then it has failed. */
void rz_child_link_closed(struct rz_child *process);

/* A signal to a process and what it started; to all of them. */
void rz_child_signal(const struct rz_child *process, int number);
void rz_children_signal(const struct rz_daemon *daemon, int number);

/* SIGSTOP now, SIGCONT after for_ns. */
void rz_child_stop_for(struct rz_child *process, rz_time for_ns);

/* Rings the doorbells of all joined processes; reason: RZ_DOORBELL_LINK or RZ_DOORBELL_BOARD. */
void rz_children_ring(const struct rz_daemon *daemon, uint32_t reason);
void rz_child_ring(const struct rz_child *process, uint32_t reason);

/* Something has changed: soon, looks whether all live processes of the epoch have reached the end
 * of its phase. */
void rz_children_recount(struct rz_daemon *daemon);

#endif
