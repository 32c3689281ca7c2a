/*
 * The lease as the helper thread of a process sees it: pure, so that tests can play the clock.
 *
 * Silence counts only as far as this thread was there to look: a process that was not running has
 * not heard anything, however fresh the board was. docs/detection.md, "Lease".
 */
#ifndef RZ_LINK_LEASE_H
#define RZ_LINK_LEASE_H

#include "link/board.h"

/* The lease is looked at so often while it runs. */
#define RZ_LEASE_LOOKS 3

struct rz_lease {
    rz_time looked_at; /* the last look, or when the first one became due */
    uint64_t renewed;  /* as that look saw it */
    rz_time silent;    /* how long the daemon has been silent while we were looking */
};

enum rz_lease_state {
    RZ_LEASE_HELD,
    RZ_LEASE_DOUBTED,  /* silent for longer than the lease: ask whether the daemon can run */
    RZ_LEASE_WITHDRAWN /* by the daemon itself */
};

/* How long from one look to the next; 0: this node's processes end by no lease. */
rz_time rz_lease_period(const struct rz_board *board);

/* One look at the board's lease, now. */
enum rz_lease_state rz_lease_look(struct rz_lease *lease, const struct rz_board *board,
                                  rz_time now);

/*
 * Whether a daemon in this state (rz_process_state) has nothing but a processor, or a device, to
 * wait for: it will renew its lease, or withdraw it, as soon as it gets that.
 */
bool rz_lease_can_wait(char state);

/* The daemon's state in words that follow "the daemon of its node". */
const char *rz_lease_words(char state);

#endif
