/* SPDX-License-Identifier: BSD-3-Clause */
/* Cells: a few bytes with a stamp for each peer, in the lane that this process writes. */
#include "net/shm/shm_state.h"

#include "base/assert.h"
#include "port/kill_point.h"

#include <string.h>

void shm_cell_put(struct rz_net *net, rz_peer_t peer, unsigned cell, uint64_t stamp,
                  const void *data, size_t bytes)
{
    const struct shm *shm = (const struct shm *)net;
    const struct shm_pair *pair = peer < shm->n_peers ? shm->peers[peer].pair : NULL;
    rz_assert(cell < RZ_NET_CELLS);
    if (!pair) {
        return;
    }
    struct shm_cell *at = &pair->out.page->cells[cell];
    at->bytes = bytes;
    if (bytes > 0 && bytes <= RZ_NET_CELL_BYTES) {
        memcpy(at->data, data, bytes);
    }
    rz_kill_here(RZ_KILL_CELL_WRITE);
    atomic_store_explicit(&at->stamp, stamp, memory_order_release);
    rz_kill_here(RZ_KILL_CELL_TOLD);
}

const void *shm_cell_see(const struct rz_net *net, rz_peer_t peer, unsigned cell, uint64_t stamp,
                         size_t *bytes)
{
    const struct shm *shm = (const struct shm *)net;
    if (peer >= shm->n_peers) {
        return NULL;
    }
    const struct shm_peer *known = &shm->peers[peer];
    const struct shm_pair *pair = known->pair ? known->pair : known->former;
    if (!pair || !pair->in.page) {
        return NULL;
    }
    const struct shm_cell *at = &pair->in.page->cells[cell];
    if (atomic_load_explicit(&at->stamp, memory_order_acquire) != stamp) {
        return NULL;
    }
    *bytes = at->bytes;
    return at->data;
}

void shm_cell_ring(struct rz_net *net, rz_peer_t peer)
{
    const struct shm *shm = (const struct shm *)net;
    const struct shm_pair *pair = peer < shm->n_peers ? shm->peers[peer].pair : NULL;
    if (pair) {
        rz_doorbell_ring_near(pair->out.doorbell, pair->out.event_fd);
    }
}
