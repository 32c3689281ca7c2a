/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the silence of the daemon in checks that were in time, and tells from the daemon's state
 * whether it can continue.
 */
#include "link/lease.h"

rz_time rz_lease_period(const struct rz_board *board)
{
    return board->lease_ns >= RZ_BOARD_LEASE_FOREVER ? 0 : board->lease_ns / RZ_LEASE_LOOKS;
}

/* No process could continue without this node, so that ending its processes gains nothing. */
static bool is_last_node(const struct rz_board *board)
{
    uint64_t failed = atomic_load_explicit(&board->nodes_failed, memory_order_acquire);
    return board->n_nodes > 0 && failed + 1 >= board->n_nodes;
}

enum rz_lease_state rz_lease_look(struct rz_lease *lease, const struct rz_board *board, rz_time now)
{
    uint64_t renewed = atomic_load_explicit(&board->lease_renewed_ns, memory_order_acquire);
    rz_time period = rz_lease_period(board), gap = now - lease->looked_at;
    lease->looked_at = now;
    if (renewed == 0) {
        return RZ_LEASE_WITHDRAWN;
    }
    if (renewed != lease->renewed) {
        lease->renewed = renewed;
        lease->silent = 0;
    }
    rz_time since = now > renewed ? now - renewed : 0;
    gap = since < gap ? since : gap;
    /* A check that is late counts as one in time, since this process did not run either. */
    lease->silent += gap < period ? gap : period;
    bool over = lease->silent >= board->lease_ns && since >= board->lease_ns;
    return over && !is_last_node(board) ? RZ_LEASE_DOUBTED : RZ_LEASE_HELD;
}

bool rz_lease_can_wait(char state)
{
    return state == 'R' || state == 'D';
}

bool rz_lease_nudges(struct rz_lease *lease, char state)
{
    bool nudges = state == 'S' && lease->nudged != lease->renewed;
    if (nudges) {
        lease->nudged = lease->renewed;
    }
    return nudges;
}

const char *rz_lease_words(char state)
{
    switch (state) {
    case 'T':
        return "is stopped";
    case 't':
        return "is stopped by a debugger";
    case 'S':
        return "sleeps and does not answer";
    default:
        return "is gone";
    }
}
