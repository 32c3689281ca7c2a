/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An embedded protocol core: its memory, which grows on request of the core, and its steps; each
 * event is processed to its end. The host carries out the actions: a daemon (daemon/state/core.h),
 * the agreement context of a communicator (mpi/agree/agreement_context.h), a process that observes
 * others (mpi/flat).
 */
#ifndef RZ_HOST_EMBEDDED_H
#define RZ_HOST_EMBEDDED_H

#include "proto/protocol.h"

struct rz_embedded {
    const struct rz_protocol *protocol;
    void *state; /* NULL: not open */
    size_t bytes;
};

/* Creates and initializes the core, as init of the component specifies. False: out of memory;
 * nothing was created. */
bool rz_embedded_open(struct rz_embedded *embedded, const struct rz_protocol *protocol,
                      const void *config, rz_id self, rz_time now, uint64_t seed);
void rz_embedded_close(struct rz_embedded *embedded);

/*
 * Processes one event to its end. carry_out gets the actions of each step of the core (perhaps
 * none); it must not step this core. False: out of memory for the core; the rest of the event was
 * not processed.
 */
bool rz_embedded_step(struct rz_embedded *embedded, const struct rz_event *event,
                      void (*carry_out)(void *arg, const struct rz_actions *actions), void *arg);

#endif
