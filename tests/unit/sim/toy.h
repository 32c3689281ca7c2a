/* SPDX-License-Identifier: BSD-3-Clause */
/* A protocol made to test the engine: member 0 sends to all others one by one; each other's host
 * counts its messages. */
#ifndef RZ_TEST_TOY_H
#define RZ_TEST_TOY_H

#include "sim/sim.h"

enum toy_kind {
    TOY_SOUND, /* no property: shows what the engine does */
    TOY_GAP, /* a "violation" that only a crash inside a multicast brings, and not a prefix of it */
    TOY_ORDER,          /* a violation when the second message overtakes the first */
    TOY_ORDER_FAILURES, /* a violation when two failures are learnt in different orders */
    TOY_ASSERT,         /* an assertion in the component at the second message */
    TOY_ENDLESS,        /* two members send to each other without end, in the same two states */
    TOY_LATE,           /* a violation when a message takes longer than latency_max says */
    TOY_KINDS
};

/* One scenario per kind; 4 members. */
extern const struct rz_sim_scenario toy_scenarios[TOY_KINDS];

#endif
