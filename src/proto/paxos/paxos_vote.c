/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rule that maps votes to a value: a majority of the view, not of the answers.
 */
#include "proto/paxos/paxos.h"

#include "base/assert.h"

enum rz_paxos_vote rz_paxos_count(uint32_t view_size, uint32_t yes, uint32_t voted, bool over)
{
    uint32_t majority = view_size / 2 + 1;
    if (yes >= majority) {
        return RZ_PAXOS_YES;
    }
    rz_assert(yes <= voted);
    uint32_t open = voted < view_size ? view_size - voted : 0;
    if (over || yes + open < majority) {
        return RZ_PAXOS_NO;
    }
    return RZ_PAXOS_UNKNOWN;
}
