/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the processes of this node may run: each on a core of its own while cores are free
 * (--bind-to core), or anywhere. hwloc is asked once, when the job begins, and only if the job
 * binds processes or reports bindings.
 */
#ifndef RZ_DAEMON_BINDING_H
#define RZ_DAEMON_BINDING_H

#include "base/status.h"
#include "daemon/process/child.h"

struct rz_binding;

/* *binding stays NULL, with RZ_OK, if the job needs no bindings. RZ_ERR_SYSTEM: the cores cannot be
 * determined. */
rz_status_t rz_binding_open(struct rz_binding **binding, const struct rz_daemon_job *job);
void rz_binding_close(struct rz_binding *binding);

/* The number of processors that the processes of this node share; 0: they are not bound. */
uint32_t rz_binding_processors(const struct rz_binding *binding);

/*
 * Chooses for a process about to be forked: returns the index of a core of this node that no live
 * process of ours has, or RZ_ID_NONE if the process may run on all of them. rz_binding_apply uses
 * the last choice.
 */
uint32_t rz_binding_choose(struct rz_binding *binding, const struct rz_children *children);

/* To be called in the child, before exec: async-signal-safe. If the core was taken from this node
 * meanwhile, the process runs elsewhere. */
void rz_binding_apply(const struct rz_binding *binding);

/* Describes in words where a process with this choice may run; "" if the job needs no bindings. */
void rz_binding_tell(const struct rz_binding *binding, uint32_t core, char *text, size_t bytes);

#endif
