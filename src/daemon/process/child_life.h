/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of the processes of a node: from fork to the last trace.
 *
 * A failure is noticed first by the watch (the robust mutex that a joined process holds), else by
 * its exit. An exit without HELLO is plain: a program that does not use MPI ended; but to be killed
 * by a signal is a failure at any time before LEFT. Whatever the end, the process group is killed,
 * and only waitpid lets go of what the process used: record, watch slot, inbox. Its lane serves
 * another once all have closed what it had of it (lanes.h). Exits are reaped at once: a reader that
 * copies from a process by pid compares the identity token it reads beside the data, so that a pid
 * which came to another process cannot deceive it.
 */
#ifndef RZ_DAEMON_CHILD_LIFE_H
#define RZ_DAEMON_CHILD_LIFE_H

#include "daemon/process/child.h"
#include "port/inherited.h"

struct rz_binding;
struct rz_board_writer;
struct rz_child_life;
struct rz_input;
struct rz_link_router;
struct rz_outputs;

struct rz_child_life_config {
    struct rz_own_node *own;
    struct rz_children *children;
    struct rz_link_router *router;
    struct rz_board_writer *board;
    struct rz_binding *binding; /* NULL: processes are not bound */
    struct rz_input *input;
    struct rz_outputs *outputs;
    const struct rz_inherited *inherited; /* what processes find as the daemon found it */
    void *arg;
    /* What the process of slot runs; false: the job's program. */
    bool (*program)(void *arg, uint32_t slot, struct rz_program *program);
    /* A program could not be run: whether this process is the one to say so for all that run it. */
    bool (*speaks)(void *arg, uint32_t slot, uint32_t incarnation);
    /* A process has begun its program, or could not. */
    void (*executed)(void *arg);
    /* It has failed, or was ended, or is reaped: nothing it asked for is answered any more. May be
     * called more than once. */
    void (*gone)(void *arg, uint32_t slot, uint32_t incarnation);
    /* It has ended in order, whether it ever joined or not. */
    void (*ended)(void *arg, struct rz_child *process);
    /* Processes were reaped. */
    void (*reaped)(void *arg);
};

rz_status_t rz_child_life_open(struct rz_child_life **life,
                               const struct rz_child_life_config *config);
/* Frees what is left; the processes must have ended already (ending.h sees to it). */
void rz_child_life_close(struct rz_child_life *life); /* NULL: nothing */

/* Forks (rank, incarnation), unless it was already. An error is told to rzrun in words and ends the
 * job; of a process that was spawned while the job runs it is a failure. */
void rz_child_start(struct rz_child_life *life, uint32_t rank, uint32_t incarnation);

/* Whether the current incarnation of rank ran here and has ended, or left MPI, without a failure.
 */
bool rz_child_has_ended(const struct rz_child_life *life, uint32_t rank);

/* HELLO was accepted: gives slot, lane, inbox, doorbell, waits. *why (static text) where there is
 * an error. */
rz_status_t rz_child_join(struct rz_child *process, pid_t pid, const char **why);
int rz_child_life_watch_fd(const struct rz_child_life *life);

/* The process has closed what it had of a lane (LANE_CLOSED); false: nobody has asked it. */
bool rz_child_closed_lane(struct rz_child *process, uint32_t lane, uint32_t rank,
                          uint32_t incarnation);

/* It has said BYE or ABORT: from here on its exit is no failure. */
void rz_child_leave(struct rz_child *process);

/* It has failed. how and at for the record. Messages that came before count. */
void rz_child_failed(struct rz_child *process, const char *how, rz_time at);

/* A process that was spawned by decision cannot even be forked: a failure like any other. */
void rz_child_start_failed(struct rz_child_life *life, uint32_t rank, uint32_t incarnation,
                           const char *how);

/* It is not needed any more, by decision or at the end of the job: killed, and no failure to
 * tell. */
void rz_child_order_end(struct rz_child *process);

/* Ends processes whose place is taken by a newer incarnation, here or elsewhere. */
void rz_children_end_stale(struct rz_children *children);

/* SIGSTOP now, SIGCONT after for_ns. */
void rz_child_stop_for(struct rz_child *process, rz_time for_ns);

/* Subscriber of the membership: one that all others were told has failed does not live on. */
void rz_child_life_process_failed(void *life, uint32_t slot, uint32_t incarnation, enum rz_end end);

#endif
