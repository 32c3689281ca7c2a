/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Suspects of SWIM that share the machine with this daemon and get no processor. Such a suspect
 * cannot refute, so its suspicion is held as long as it mostly waits for a processor. The ring has
 * peer_lateness for the one node that it observes.
 */
#ifndef RZ_DAEMON_SUSPECTS_H
#define RZ_DAEMON_SUSPECTS_H

#include "daemon/state/core.h"
#include "daemon/state/job.h"

struct rz_suspects;

/* For the nodes of job; NULL: no memory. */
struct rz_suspects *rz_suspects_new(const struct rz_daemon_job *job);
void rz_suspects_free(struct rz_suspects *suspects);

/* Looks at each suspect of the detector, and holds the suspicion of those that waited for a
 * processor most of the time since the last look. To be called before the detector looks at its
 * timers. */
void rz_suspects_look(struct rz_suspects *suspects, struct rz_core *detector);

#endif
