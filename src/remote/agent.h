/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An agent: a process of this host that starts a daemon on another one, as `ssh HOST COMMAND` does.
 * It carries what the daemon reads from standard input when it starts, and what the daemon reports
 * before it has reached rzrun. Once all agents are up, hosts need them no more: a daemon survives
 * the end of its agent.
 *
 * On the other host each line of standard output that begins with RZ_AGENT_MARK is a report of a
 * host below it; all other lines, and those of standard error, are what the agent says of its own
 * host.
 */
#ifndef RZ_REMOTE_AGENT_H
#define RZ_REMOTE_AGENT_H

#include "base/status.h"
#include "wire/remote_messages.h"

#include <event2/event.h>

#include <sys/types.h>

#define RZ_AGENT_MARK "rhizome-report "
#define RZ_AGENT_LINE_MAX 512 /* longer lines are cut */
#define RZ_AGENT_WORDS_MAX 56 /* of the agent; more are an error of the caller */
/* The exit status of an agent whose program cannot be started. */
#define RZ_AGENT_NOT_STARTED 125

struct rz_remote_host {
    uint32_t node;
    const char *name;
};

struct rz_agents_config {
    struct event_base *base;
    const char *const *words; /* the agent: its program and first arguments, NULL at the end */
    const char *command;      /* the last argument: for the shell of the other host */
    /* Common to all hosts; node, host and children are set for each. Its pointers stay valid. */
    struct rz_remote_begin begin;
    void (*restore)(void); /* called in the child before it becomes the agent; or NULL */
    void *arg;
    /* What was said of the host of node, or by its agent. A terminal may show the line. */
    void (*said)(void *arg, uint32_t node, const char *line);
    /* The agent of node has ended with this status (as a shell has it): by an agent of this process
     * or of a host below. */
    void (*ended)(void *arg, uint32_t node, int status);
};

struct rz_agents;

void rz_agents_open(struct rz_agents **agents, const struct rz_agents_config *config);

/*
 * Starts n hosts by one agent (srun), which runs the command on each host of a list: its words are
 * followed by --nodelist=LIST, --nodes=N, --ntasks=N and the command. All hosts read the same
 * BEGIN, whose node is RZ_ID_NONE and whose children are all hosts: each finds itself by its name.
 * What is said, and the end, are reported for RZ_ID_NONE.
 */
void rz_agents_start_together(struct rz_agents *agents, const struct rz_remote_host *hosts,
                              uint32_t n);

/* Starts n hosts in a tree. An agent that cannot be started is reported by `said` and `ended`,
 * before this returns. */
void rz_agents_start(struct rz_agents *agents, const struct rz_remote_host *hosts, uint32_t n);

/* The number of agents of this process that have not ended. */
uint32_t rz_agents_running(const struct rz_agents *agents);

/* Sends a signal to all agents of this process. */
void rz_agents_signal(const struct rz_agents *agents, int number);

/* The same to the agents of one node. */
void rz_agents_signal_node(const struct rz_agents *agents, uint32_t node, int number);

/* Waits at most bound_ms until all agents have ended; tells the others to end (SIGTERM), and kills
 * them after bound_ms more. Frees all. */
void rz_agents_close(struct rz_agents *agents, unsigned bound_ms);

/* ---- The process of an agent alone: a child that becomes `ssh`, or what takes its place ---- */

/*
 * Forks, and executes words, followed by more (each with NULL at the end; more may be NULL), in a
 * session of its own, with fds as standard input, output and error. It ends with this process
 * (SIGTERM), so that none is left. restore, if not NULL, is called before the program begins. One
 * that cannot be started says so on standard error, after `speaker`, and ends with
 * RZ_AGENT_NOT_STARTED. Returns -1 if there is no process (errno).
 */
pid_t rz_agent_process_start(const char *const *words, const char *const *more, const int fds[3],
                             void (*restore)(void), const char *speaker);

#endif
