/*
 * The transports of the engine: opening and closing them, and the conversation with the daemon
 * about how a process is reached. What comes out of a transport goes from here to the epoch check
 * (p2p) or to the peers.
 */
#ifndef RZ_MPI_PATHS_H
#define RZ_MPI_PATHS_H

#include "mpi/core/engine.h"

/* Registers for the daemon's answers and opens shared memory (nothing to open when alone). */
rz_status_t rz_paths_open(void);

/* Opens the transport between nodes, if it is not open, and tells the daemon how it is reached.
 * RZ_IN_PROGRESS: this node is cut off; it is tried again for a while, and the peers hear of it
 * (rz_peers_network). Never waits. */
rz_status_t rz_paths_open_net(void);

/* Tries again where that is due; from time to time, not from inside a callback. */
void rz_paths_overdue(void);

/* The same, if somebody off this node wants our endpoint address of this epoch: when an epoch
 * begins. */
void rz_paths_open_wanted(void);

/* Asks the daemon how the process in that slot is reached; the answer ends in rz_peer_introduce. */
void rz_paths_ask(uint32_t slot, enum rz_path_kind kind);

/* A process of this node to which we were never connected has failed: what it left in shared memory
 * is void. */
void rz_paths_forget(uint32_t slot, uint32_t incarnation);

/*
 * After the peers were rolled back: progresses until the transports have let go of everything, two
 * seconds at most. One that has lost a connection to a process that lives is closed then, and
 * opened again at its next use, with a new endpoint address (a name is connected once).
 */
void rz_paths_quiet(void);

/* One round of progress; the number of events. */
static inline unsigned rz_paths_progress(void)
{
    unsigned events = 0;
    for (int i = 0; i < RZ_PATH_COUNT; i++) {
        const struct rz_path *path = &rz_engine.paths[i];
        if (path->net != NULL) {
            events += path->ops->progress(path->net);
        }
    }
    return events;
}

void rz_paths_close(void);

#endif
