/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of recover objects, brought to a phase that a test starts from. */
#include "recover_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static enum rz_more step(void *state, const struct rz_event *event, struct rz_actions *out)
{
    return rz_recover_step(state, event, out);
}

static void grow(void *state, size_t bytes)
{
    rz_recover_grow(state, bytes);
}

void open_with(struct rig *rig, uint32_t n, struct rz_recover_config config)
{
    uint32_t placement[2 * RIG_MEMBERS_MAX], slots[RIG_MEMBERS_MAX];
    *rig = (struct rig){.n = n, .step = step, .grow = grow};
    for (rz_id d = 0; d < n; d++) {
        placement[2 * d] = placement[2 * d + 1] = d;
        slots[d] = 4;
    }
    config.n_daemons = n;
    config.n_ranks = 2 * n;
    config.view = 3;
    config.placement = placement;
    config.slots = slots;
    for (rz_id d = 0; d < n; d++) {
        rig->state[d] = malloc(rz_recover_size(&config));
        assert_non_null(rig->state[d]);
        rz_recover_init(rig->state[d], &config, d, 0, 17);
    }
}

struct rig *rig_open(uint32_t n)
{
    static struct rig rig;
    open_with(&rig, n, (struct rz_recover_config){.tie_breaker = RZ_ID_NONE});
    return &rig;
}

void all_reach(struct rig *rig, uint32_t epoch, enum rz_recover_phase phase)
{
    ALL(rig, d)
    rig_call(rig, d, RZ_RECOVER_REACHED, epoch, phase, rz_recover_round(rig->state[d]));
    rig_run(rig);
}

void assert_all(struct rig *rig, uint32_t epoch, enum rz_recover_phase phase)
{
    ALL(rig, d)
    {
        assert_int_equal(rz_recover_epoch(rig->state[d]), epoch);
        assert_int_equal(rz_recover_phase(rig->state[d]), phase);
    }
}

struct rig *rig_running(uint32_t n)
{
    struct rig *rig = rig_open(n);
    all_reach(rig, 1, RZ_PHASE_ENTER);
    assert_all(rig, 1, RZ_PHASE_RUN);
    ALL(rig, d)
    rig_call(rig, d, RZ_RECOVER_REPAIRING, 0, 0, 0);
    rig->seen = rig->n_notices;
    return rig;
}

void all_hear_of(struct rig *rig, uint32_t rank, uint32_t incarnation)
{
    ALL(rig, d)
    rig_call(rig, d, RZ_RECOVER_FAILED, rank, incarnation, 0);
    rig_run(rig);
}
