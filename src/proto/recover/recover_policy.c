/* The pure functions behind a decision: deaths as items, quorum, placement. */
#include "base/assert.h"
#include "proto/recover/recover.h"

#include <string.h>

#define DAEMON_BIT (UINT64_C(1) << 63)

uint64_t rz_recover_pack_process(uint32_t rank, uint32_t incarnation)
{
    rz_assert(rank < UINT32_C(1) << 31);
    return (uint64_t)rank << 32 | incarnation;
}

uint64_t rz_recover_pack_daemon(rz_id daemon, bool proof)
{
    return DAEMON_BIT | (uint64_t)daemon << 1 | (proof ? 1 : 0);
}

bool rz_recover_unpack_process(uint64_t item, uint32_t *rank, uint32_t *incarnation)
{
    if (item & DAEMON_BIT)
        return false;
    *rank = (uint32_t)(item >> 32);
    *incarnation = (uint32_t)item;
    return true;
}

bool rz_recover_unpack_daemon(uint64_t item, rz_id *daemon, bool *proof)
{
    if (!(item & DAEMON_BIT))
        return false;
    *daemon = (rz_id)(item >> 1);
    *proof = item & 1;
    return true;
}

bool rz_recover_has_quorum(const uint8_t *votes, uint32_t n_daemons, rz_id tie_breaker)
{
    uint32_t live = 0, electorate = 0;
    rz_id lowest = RZ_ID_NONE;
    for (rz_id d = 0; d < n_daemons; d++) {
        if (votes[d] == RZ_VOTE_GONE)
            continue;
        if (lowest == RZ_ID_NONE)
            lowest = d;
        electorate++;
        live += votes[d] == RZ_VOTE_LIVE;
    }
    if (2 * live != electorate)
        return 2 * live > electorate;
    if (live == 0)
        return false;
    if (tie_breaker >= n_daemons || votes[tie_breaker] == RZ_VOTE_GONE)
        tie_breaker = lowest;
    return votes[tie_breaker] == RZ_VOTE_LIVE;
}

/* A daemon with a free slot comes before one without; then the less loaded, then the lower id. */
static bool better_place(const uint32_t *slots, const uint32_t *load, rz_id a, rz_id b)
{
    bool free_a = load[a] < slots[a], free_b = load[b] < slots[b];
    return free_a != free_b ? free_a : load[a] < load[b];
}

void rz_recover_place(uint32_t *placement, uint32_t n_ranks, const uint32_t *slots,
                      const bool *dead, uint32_t n_daemons, uint32_t *load)
{
    memset(load, 0, n_daemons * sizeof *load);
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        if (!dead[placement[rank]])
            load[placement[rank]]++;
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        if (!dead[placement[rank]])
            continue;
        rz_id best = RZ_ID_NONE;
        for (rz_id d = 0; d < n_daemons; d++)
            if (!dead[d] && (best == RZ_ID_NONE || better_place(slots, load, d, best)))
                best = d;
        rz_assert(best != RZ_ID_NONE);
        placement[rank] = best;
        load[best]++;
    }
}
