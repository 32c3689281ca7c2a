/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of recover objects, for hand-written sequences of events. */
#ifndef RZ_TEST_RECOVER_RIG_H
#define RZ_TEST_RECOVER_RIG_H

#include "group_rig.h"
#include "proto/recover/recover.h"

#define ALL(rig, d)                                                                                \
    for (rz_id d = 0; d < (rig)->n; d++)                                                           \
        if ((rig)->state[d])

/* n daemons, two ranks on each, two slots more on each. */
void open_with(struct rig *rig, uint32_t n, struct rz_recover_config config);
struct rig *rig_open(uint32_t n);

/* A job in phase RUN of epoch 1 that repairs itself. */
struct rig *rig_running(uint32_t n);

/* At all daemons alive; after the newest spawns. */
void all_reach(struct rig *rig, uint32_t epoch, enum rz_recover_phase phase);
void all_hear_of(struct rig *rig, uint32_t slot, uint32_t incarnation);
void assert_all(struct rig *rig, uint32_t epoch, enum rz_recover_phase phase);

#endif
