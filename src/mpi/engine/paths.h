/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transports of the engine: opening and closing them, and the exchange with the daemon about
 * how a process is reached. What a transport delivers goes from here to the epoch check or to the
 * peers.
 */
#ifndef RZ_MPI_PATHS_H
#define RZ_MPI_PATHS_H

#include "mpi/engine/engine.h"

/* The events of the transports; functions as in rz_net_host (arg: the path) and rz_shm_config. */
struct rz_path_events {
    void (*arrived)(void *path, const void *header, uint32_t header_bytes, const void *data,
                    size_t bytes, rz_net_token_t token);
    void (*broken)(void *path, rz_peer_t number);
    void (*stranger)(void *arg, struct rz_identity identity);
};

/* Registers for the daemon's messages and opens shared memory. events must stay valid. */
rz_status_t rz_paths_open(const struct rz_path_events *events);

/*
 * Opens the transport between nodes, if it is not open, and gives the daemon its endpoint address.
 * RZ_IN_PROGRESS: this node is cut off; it is tried again for a while (rz_paths_retry). Never
 * waits.
 */
rz_status_t rz_paths_open_net(void);

/* Tries again where that is due. Called from time to time, not from inside a callback.
 * RZ_IN_PROGRESS: nothing is due, or a later try will follow. */
rz_status_t rz_paths_retry(void);

/* Opens the transport between nodes if a process of another node wants our endpoint address of this
 * epoch: when an epoch begins. */
void rz_paths_open_wanted(void);

/* Asks the daemon how the process in that slot is reached. The answer goes to the peers
 * (peer.h). */
void rz_paths_ask(uint32_t slot, enum rz_path_kind kind);

/* A process of this node to which we were never connected has failed: what it left in shared memory
 * is invalid. */
void rz_paths_forget(uint32_t slot, uint32_t incarnation);

/*
 * After the peers were rolled back: progresses until the transports have released all memory, for
 * two seconds at most. A transport that has lost a connection to a process that is alive is then
 * closed, and opened again at its next use, with a new endpoint address (an address is connected to
 * once).
 */
void rz_paths_quiet(void);

/* Gives up a payload that a message over path offered; token NULL: it had none. */
static inline void rz_path_drop(struct rz_path *path, rz_net_token_t token)
{
    if (token) {
        path->ops->drop(path->net, token);
    }
}

/* One round of progress; the number of events. */
static inline unsigned rz_paths_progress(void)
{
    unsigned events = 0;
    for (int i = 0; i < RZ_PATH_COUNT; i++) {
        const struct rz_path *path = &rz_engine.paths[i];
        if (path->net) {
            events += path->ops->progress(path->net);
        }
    }
    return events;
}

/* Whether messages of that process, which has ended, may still arrive (net/net.h). */
bool rz_paths_hear(uint32_t slot, uint32_t incarnation);

/* Whether a process of this node may be writing to a buffer of this one (rz_shm_shares). */
bool rz_paths_shared(void);

void rz_paths_close(void);

/* Calls visit(arg, fd) for each descriptor of the transports that can be found. */
void rz_paths_descriptors(void (*visit)(void *arg, int fd), void *arg);

/* This process has become what an image of its memory says: the transports that were open there are
 * those of another process. Forgets them; rz_paths_open opens new ones. */
void rz_paths_abandon(void);

#endif
