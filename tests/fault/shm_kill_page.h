/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kill campaign's processes share: the page of the killer, and the members' parts. */
#ifndef RZ_TESTS_SHM_KILL_PAGE_H
#define RZ_TESTS_SHM_KILL_PAGE_H

#include "../patience.h"
#include "shm_rig.h"

#include "base/random.h"

enum { KILL_BYSTANDERS = 2, KILL_VICTIMS = 25, KILL_LANES = KILL_BYSTANDERS + KILL_VICTIMS };

#define KILL_HANG (TEST_HANG_S * RZ_SECOND)

struct kill_page {
    struct rz_doorbell bell; /* of the killer */
    _Atomic uint32_t stop;
    _Atomic uint32_t pid[KILL_LANES];
    bool reaped[KILL_LANES];
    _Atomic uint32_t flooded[KILL_LANES]; /* messages that a victim has sent */
    _Atomic uint32_t failed[KILL_LANES];  /* the failure report */
    _Atomic uint32_t settled[KILL_BYSTANDERS][KILL_LANES];
    _Atomic uint64_t exchanged[KILL_BYSTANDERS];
    uint64_t small[KILL_BYSTANDERS], large[KILL_BYSTANDERS], lost[KILL_BYSTANDERS];
    char complaint[200];
};

void kill_bystander_run(struct kill_page *page, const struct rig *rig, unsigned self,
                        uint64_t seed);
void kill_victim_run(struct kill_page *page, const struct rig *rig, unsigned self, uint64_t seed);

#endif
