/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds the suspicions of daemons of this machine that get no processor. */
#include "daemon/recovery/suspects.h"

#include "base/lateness.h"
#include "daemon/recovery/detector.h"
#include "port/clock.h"
#include "port/run_delay.h"

#include <stdlib.h>

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
