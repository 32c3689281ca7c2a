/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums up the kernel's samples of the observed daemon's waiting time between two heartbeats. */
#include "daemon/recovery/peer_lateness.h"

rz_time rz_peer_lateness_look(struct rz_peer_lateness *peer, pid_t pid, rz_time now)
{
    const struct rz_peer_lateness before = *peer;
    *peer = (struct rz_peer_lateness){.pid = pid, .looked_at = now, .run = rz_run_delay_look(pid)};
    if (pid == before.pid && pid != 0) {
        peer->waited =
            before.waited + rz_run_delay_between(&before.run, &peer->run, now - before.looked_at);
    }
    return peer->waited;
}

void rz_peer_lateness_heard(struct rz_peer_lateness *peer)
{
    peer->waited = 0;
}
