/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the kernel's counts of the time for which daemons were ready to run and waited. */
#include "daemon/recovery/starved.h"

#include "daemon/recovery/detector.h"
#include "port/clock.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- This daemon ---- */

void rz_own_lateness_open(struct rz_own_lateness *own)
{
    *own = (struct rz_own_lateness){.fd = rz_run_delay_open()};
    own->waited = rz_run_delay(own->fd);
}

void rz_own_lateness_close(struct rz_own_lateness *own)
{
    if (own->fd >= 0) {
        close(own->fd);
    }
    own->fd = -1;
}

rz_time rz_own_lateness_look(struct rz_own_lateness *own, rz_time late)
{
    rz_time waited = rz_run_delay(own->fd);
    if (waited > 0) { /* 0: the kernel does not count it */
        late = waited - own->waited;
        own->waited = waited;
    }
    late = late < RZ_LATENESS_MAX ? late : RZ_LATENESS_MAX;
    rz_lateness_raise(&own->lateness, rz_clock_now(), late);
    return late;
}

rz_time rz_own_lateness_patience(const struct rz_own_lateness *own)
{
    return RZ_LATENESS_FACTOR * rz_lateness_at(&own->lateness, rz_clock_now());
}

/* ---- The observed daemon ---- */

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

/* ---- Suspects ---- */

/* No suspicion is held for longer: such a process does not come back. */
#define HELD_MAX (4 * RZ_LATENESS_MAX)

struct rz_suspects {
    const struct rz_daemon_job *job;
    uint64_t looks;
    struct {
        uint64_t look; /* the number of the last look at it, 0: none */
        rz_time since, looked_at;
        struct rz_run_look run;
    } node[]; /* [n_nodes] */
};

struct rz_suspects *rz_suspects_new(const struct rz_daemon_job *job)
{
    struct rz_suspects *suspects =
        calloc(1, sizeof(*suspects) + job->n_nodes * sizeof(suspects->node[0]));
    if (suspects) {
        suspects->job = job;
    }
    return suspects;
}

void rz_suspects_free(struct rz_suspects *suspects)
{
    free(suspects);
}

static void look_at(struct rz_suspects *suspects, struct rz_core *detector, rz_id node, rz_time now)
{
    struct rz_run_look run = rz_run_delay_look(suspects->job->peers[node].pid);
    rz_time elapsed = now - suspects->node[node].looked_at;
    if (suspects->node[node].look + 1 != suspects->looks) {
        suspects->node[node].since = now; /* it was no suspect at the last look */
    } else if (run.ran > 0 && now - suspects->node[node].since < HELD_MAX &&
               rz_run_delay_between(&suspects->node[node].run, &run, elapsed) > elapsed / 2) {
        rz_detector_hold(detector, node, suspects->job->hb_timeout_ns);
    }
    suspects->node[node].look = suspects->looks;
    suspects->node[node].looked_at = now;
    suspects->node[node].run = run;
}

void rz_suspects_look(struct rz_suspects *suspects, struct rz_core *detector)
{
    rz_time now = rz_clock_now();
    suspects->looks++;
    rz_id node;
    for (uint32_t i = 0; (node = rz_detector_suspect(detector, i)) != RZ_ID_NONE; i++) {
        look_at(suspects, detector, node, now);
    }
}
