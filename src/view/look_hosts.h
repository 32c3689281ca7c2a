/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks at the daemons of other hosts: both ends. On each host an agent (ssh) runs `rzps serve`,
 * which stays, so that a look costs no new connection, and asks the daemons of its machine each
 * time it is asked.
 *
 *   a question, a line          {prefix, all}: as the arguments of rz_look; prefix may be null
 *   the answer, a line          RZ_LOOK_MARK, then the array of documents, or {error}
 *
 * Lines without the mark are of a login shell, or say what is wrong.
 *
 * A look begins with a question to all hosts; what they answer is gathered until all that are
 * waited for have answered, or the caller gives up. A host that was silent in the look before is
 * not waited for; its answer counts when it comes. An agent that has ended, or is silent for half a
 * minute, is started again.
 */
#ifndef RZ_VIEW_LOOK_HOSTS_H
#define RZ_VIEW_LOOK_HOSTS_H

#include <rhizome/types.h>

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define RZ_LOOK_MARK "rhizome-look "

/* ---- The end here ---- */

struct rz_look_hosts_config {
    const char *const *words; /* the agent: its program and first arguments, NULL at the end */
    const char *command;      /* its last argument: what runs `rzps serve` there */
    const char *const *names; /* [n]: of the hosts, the argument before */
    size_t n;
};

/* A host that has not answered in the last look. */
struct rz_look_silent {
    const char *name;
    int status;       /* of the end of its agent, as a shell has it; -1: it runs */
    const char *word; /* the last line that was said by it or of it; "": none */
};

struct rz_look_hosts;

/* What the configuration points to stays valid. */
void rz_look_hosts_open(struct rz_look_hosts **hosts, const struct rz_look_hosts_config *config);

/* Begins a look: for the jobs whose number begins with prefix (NULL: all). */
void rz_look_hosts_ask(struct rz_look_hosts *hosts, const char *prefix, bool all_users);

/* Gathers answers for within_ms at most, or until something can be read from fd (-1: none). May
 * return earlier. False: no answer is waited for any more. */
bool rz_look_hosts_hear(struct rz_look_hosts *hosts, int fd, int within_ms);

/* Ends the look: appends the documents of all daemons that have answered. */
void rz_look_hosts_take(struct rz_look_hosts *hosts, json_t *pages);

/* The i-th host, from 0, that was silent in the look that ended last. False: there are not so
 * many. */
bool rz_look_hosts_silent(const struct rz_look_hosts *hosts, size_t i,
                          struct rz_look_silent *silent);

/* Ends all agents; takes some seconds at most. NULL: nothing. */
void rz_look_hosts_close(struct rz_look_hosts *hosts);

/* ---- The end on each host ---- */

/* Answers questions from standard input until it ends, or none comes for a long time (the asker's
 * machine may have lost its power); an asker starts it again then. Returns the exit status. */
int rz_look_serve(void);

#endif
