/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Daemons that get no processor, as the kernel shows it: a daemon without one can neither answer
 * nor report its lateness, and its silence for this reason is no failure (base/lateness.h).
 */
#ifndef RZ_DAEMON_STARVED_H
#define RZ_DAEMON_STARVED_H

#include "base/lateness.h"
#include "daemon/state/core.h"
#include "daemon/state/job.h"
#include "port/run_delay.h"

/*
 * ---- This daemon ----
 *
 * Its lateness: the time for which it was ready to run and got no processor, as the kernel counts
 * it, or else the delay of its timers. The daemon tells the others in its heartbeats (proto/ring),
 * and waits longer for answers by it.
 */

struct rz_own_lateness {
    int fd; /* from rz_run_delay_open */
    rz_time waited;
    struct rz_lateness lateness;
};

void rz_own_lateness_open(struct rz_own_lateness *own);
void rz_own_lateness_close(struct rz_own_lateness *own);

/* Measures since the last call; `late` is the delay of the timer that has just expired. Returns the
 * measured lateness. */
rz_time rz_own_lateness_look(struct rz_own_lateness *own, rz_time late);

/* How much longer to wait for other daemons than on a quiet machine. */
rz_time rz_own_lateness_patience(const struct rz_own_lateness *own);

/*
 * ---- The daemon that this one observes, if it is on the same machine ----
 *
 * The time for which it has waited counts as lateness.
 */

struct rz_peer_lateness {
    pid_t pid;
    rz_time looked_at, waited;
    struct rz_run_look run;
};

/* Samples the daemon pid (0: it is on another machine). Returns for how many ns in all it has
 * waited for a processor since its last heartbeat, as far as samples show it; 0 at the first
 * sample. */
rz_time rz_peer_lateness_look(struct rz_peer_lateness *peer, pid_t pid, rz_time now);

/* A heartbeat of the observed daemon has arrived: its waiting time begins at 0 again. */
void rz_peer_lateness_heard(struct rz_peer_lateness *peer);

/*
 * ---- Suspects of SWIM that share the machine with this daemon ----
 *
 * Such a suspect cannot refute, so its suspicion is held as long as it mostly waits for a
 * processor.
 */

struct rz_suspects;

/* For the nodes of job; NULL: no memory. */
struct rz_suspects *rz_suspects_new(const struct rz_daemon_job *job);
void rz_suspects_free(struct rz_suspects *suspects);

/* Looks at each suspect of the detector, and holds the suspicion of those that waited for a
 * processor most of the time since the last look. To be called before the detector looks at its
 * timers. */
void rz_suspects_look(struct rz_suspects *suspects, struct rz_core *detector);

#endif
