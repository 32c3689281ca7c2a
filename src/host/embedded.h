/*
 * A protocol core at work: its memory, which grows when the core asks, and its steps, each event to
 * its end. What the core wants done is the host's: a daemon (daemon/state/core.h), a communicator's
 * agreement context (mpi/agree/agreement_context.h), a process that watches others (mpi/flat).
 */
#ifndef RZ_HOST_EMBEDDED_H
#define RZ_HOST_EMBEDDED_H

#include "proto/protocol.h"

struct rz_embedded {
    const struct rz_protocol *protocol;
    void *state; /* NULL: not open */
    size_t bytes;
};

/* Makes the core and begins it, as room->init says. False: no memory; nothing was made. */
bool rz_embedded_open(struct rz_embedded *embedded, const struct rz_protocol *protocol,
                      const void *config, rz_id self, rz_time now, uint64_t seed);
void rz_embedded_close(struct rz_embedded *embedded);

/*
 * One event, to its end. carry_out is told what each step of the core gave out (perhaps nothing);
 * it must not step this core. False: no memory for what the core asked for; the rest of the event
 * was not dealt with.
 */
bool rz_embedded_step(struct rz_embedded *embedded, const struct rz_event *event,
                      void (*carry_out)(void *arg, const struct rz_actions *actions), void *arg);

#endif
