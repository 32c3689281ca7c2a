/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lease as the helper thread of a process sees it: pure, so that tests can set the clock.
 *
 * Silence counts only while this thread was running, since a process that does not run cannot see a
 * renewal. docs/detection.md, "Lease".
 */
#ifndef RZ_LINK_LEASE_H
#define RZ_LINK_LEASE_H

#include "link/board.h"

/* The lease is checked this many times while it runs. */
#define RZ_LEASE_LOOKS 3

struct rz_lease {
    rz_time looked_at; /* the last check, or when the first one became due */
    uint64_t renewed;  /* as that check saw it */
    rz_time silent;    /* for how long the daemon has been silent while this thread checked */
    uint64_t nudged;   /* the renewal after which the daemon was sent NUDGE */
};

enum rz_lease_state {
    RZ_LEASE_HELD,
    RZ_LEASE_DOUBTED,  /* silent for longer than the lease: check whether the daemon can run */
    RZ_LEASE_WITHDRAWN /* by the daemon itself */
};

/* The time from one check to the next; 0: the lease does not end this node's processes. */
rz_time rz_lease_period(const struct rz_board *board);

/* One check of the board's lease, now. */
enum rz_lease_state rz_lease_look(struct rz_lease *lease, const struct rz_board *board,
                                  rz_time now);

/*
 * Whether a daemon in this state (rz_process_state) waits only for a processor, or a device: it
 * will renew its lease, or withdraw it, as soon as it gets it.
 */
bool rz_lease_can_wait(char state);

/*
 * Whether a daemon in this state is to be sent a message, once after each renewal, before it is
 * blamed. One that sleeps may wait for a timer of a processor that does not run, because a host has
 * stopped it for a while; the message makes it run on another, or at least wait for a processor.
 */
bool rz_lease_nudges(struct rz_lease *lease, char state);

/* The daemon's state as text that follows "the daemon of its node". */
const char *rz_lease_words(char state);

#endif
