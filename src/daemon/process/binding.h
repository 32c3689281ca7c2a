/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the processes of this node may run: a core each while there are free ones (--bind-to core),
 * or anywhere. hwloc is asked once, when the job begins, and only if somebody wants to know.
 */
#ifndef RZ_DAEMON_BINDING_H
#define RZ_DAEMON_BINDING_H

#include "base/status.h"
#include "daemon/process/child.h"

struct rz_binding;

/* *binding NULL, RZ_OK: the job does not care. RZ_ERR_SYSTEM: the cores cannot be found out. */
rz_status_t rz_binding_open(struct rz_binding **binding, const struct rz_daemon_job *job);
void rz_binding_close(struct rz_binding *binding);

/* How many processors the processes of this node share; 0: they are not bound. */
uint32_t rz_binding_processors(const struct rz_binding *binding);

/*
 * Chooses for a process about to be forked: the index of a core of this node that no living process
 * of ours has, or RZ_ID_NONE, when it may run on all of them. rz_binding_apply goes by the last
 * choice.
 */
uint32_t rz_binding_choose(struct rz_binding *binding, const struct rz_children *children);

/* In the child, before exec: async-signal-safe. A core that was taken from this node meanwhile does
 * not keep the process from running elsewhere. */
void rz_binding_apply(const struct rz_binding *binding);

/* In words, where a process with this choice may run; "" when the job does not care. */
void rz_binding_tell(const struct rz_binding *binding, uint32_t core, char *text, size_t bytes);

#endif
