/*
 * A protocol core at work: its memory, which grows when the core asks, and its steps, each event to
 * its end. What the core wants done is the host's: a daemon (daemon/core.h), a communicator's
 * council (mpi/ft/council.h), a process that watches others (mpi/flat).
 */
#ifndef RZ_HOST_HOSTED_H
#define RZ_HOST_HOSTED_H

#include "proto/room.h"

struct rz_hosted {
    const struct rz_proto_room *room;
    void *state; /* NULL: not open */
    size_t bytes;
};

/* Makes the core and begins it, as room->init says. False: no memory; nothing was made. */
bool rz_hosted_open(struct rz_hosted *hosted, const struct rz_proto_room *room, const void *config,
                    rz_id self, rz_time now, uint64_t seed);
void rz_hosted_close(struct rz_hosted *hosted);

/*
 * One event, to its end. carry_out is told what each step of the core gave out (perhaps nothing);
 * it must not step this core. False: no memory for what the core asked for; the rest of the event
 * was not dealt with.
 */
bool rz_hosted_step(struct rz_hosted *hosted, const struct rz_event *event,
                    void (*carry_out)(void *arg, const struct rz_actions *actions), void *arg);

#endif
