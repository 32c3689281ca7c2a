/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of the processes of a node, from fork until everything they used is released.
 *
 * A failure is noticed first by the watch (the robust mutex that a joined process holds), else by
 * the exit. An exit without HELLO is plain: a program that does not use MPI has ended. A death by a
 * signal is a failure at any time before LEFT.
 *
 * After each end the process group is killed, and only waitpid releases what the process used:
 * record, watch slot, inbox. Its lane is used again when all processes have closed their part of it
 * (lanes.h). Exits are reaped at once. A process that reads another one's memory by pid compares an
 * identity token that it reads with the data, so that a pid which was given to another process is
 * noticed.
 */
#ifndef RZ_DAEMON_CHILD_LIFE_H
#define RZ_DAEMON_CHILD_LIFE_H

#include "daemon/process/child.h"
#include "port/inherited.h"

struct rz_binding;
struct rz_board_writer;
struct rz_child_life;
struct rz_environment_given;
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
    const struct rz_inherited *inherited; /* what processes inherit unchanged */
    void *arg;
    /* The program of the process of slot; false: the job's program. */
    bool (*program)(void *arg, uint32_t slot, struct rz_program *program);
    /* A program could not be executed: whether that is reported for this process, or was for
     * another of its command. */
    bool (*reports)(void *arg, uint32_t slot, uint32_t incarnation);
    /* Whether the process of slot may start yet; if not, rz_child_start is called again. *given:
     * for its environment; unchanged: nothing. */
    bool (*may_start)(void *arg, uint32_t slot, struct rz_environment_given *given);
    /* A process was forked. */
    void (*started)(void *arg, const struct rz_child *process);
    /* A process has begun its program, or could not. */
    void (*executed)(void *arg);
    /* A process has exited: what others know of it is to be read before its end is judged. */
    void (*exiting)(void *arg);
    /* The process has failed, was ended, or was reaped: none of its requests is answered any more.
     * May be called more than once. */
    void (*gone)(void *arg, uint32_t slot, uint32_t incarnation);
    /* The process has ended in order, whether or not it had joined. */
    void (*ended)(void *arg, struct rz_child *process);
    /* The process has ended by itself, with this status, while it was to become what its image
     * says. Its failure is reported behind this. */
    void (*unrestored)(void *arg, struct rz_child *process, int status);
    /* Processes were reaped. */
    void (*reaped)(void *arg);
};

rz_status_t rz_child_life_open(struct rz_child_life **life,
                               const struct rz_child_life_config *config);
/* Frees what is left. The processes must have ended already (ending.h). */
void rz_child_life_close(struct rz_child_life *life); /* NULL: nothing */

/* Forks (rank, incarnation), unless it was forked before or may not start yet. An error is reported
 * to rzrun in words and ends the job; for a process that was spawned during the job it is a
 * failure. */
void rz_child_start(struct rz_child_life *life, uint32_t rank, uint32_t incarnation);

/* Whether the current incarnation of rank ran here and has ended, or left MPI, without a
 * failure. */
bool rz_child_has_ended(const struct rz_child_life *life, uint32_t rank);

/* HELLO was accepted: gives the process slot, lane, inbox, doorbell and wait objects. *why (static
 * text) describes an error. */
rz_status_t rz_child_join(struct rz_child *process, pid_t pid, const char **why);
/* Reports that the process has initialized its MPI. */
void rz_child_tell_joined(const struct rz_child *process);

int rz_child_life_watch_fd(const struct rz_child_life *life);

/* The process has closed its part of a lane (LANE_CLOSED). False: it was not asked to. */
bool rz_child_closed_lane(struct rz_child *process, uint32_t lane, uint32_t rank,
                          uint32_t incarnation);

/* The process has said BYE or ABORT: from here on its exit is no failure. */
void rz_child_leave(struct rz_child *process);

/* The process has failed. how and at are for the record. Messages that arrived before still
 * count. */
void rz_child_failed(struct rz_child *process, const char *how, rz_time at);

/* A process that was spawned by decision cannot even be forked: a failure like any other. */
void rz_child_start_failed(struct rz_child_life *life, uint32_t rank, uint32_t incarnation,
                           const char *how);

/* The process is not needed any more, by decision or at the end of the job: it is killed, and no
 * failure is reported. */
void rz_child_order_end(struct rz_child *process);

/* Ends processes that were replaced by a newer incarnation, here or elsewhere. */
void rz_children_end_stale(struct rz_children *children);

/* Stops the process (SIGSTOP) and continues it (SIGCONT) after for_ns. */
void rz_child_stop_for(struct rz_child *process, rz_time for_ns);

/* Subscriber of the membership: a process whose failure was reported to all is killed. */
void rz_child_life_process_failed(void *life, uint32_t slot, uint32_t incarnation, enum rz_end end);

#endif
