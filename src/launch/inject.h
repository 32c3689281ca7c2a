/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults that the user orders: kind, target, time. */
#ifndef RZ_LAUNCH_INJECT_H
#define RZ_LAUNCH_INJECT_H

#include <rhizome/types.h>

enum rz_fault_deed {
    RZ_FAULT_KILL,
    RZ_FAULT_STOP,
    /* Of the network between the daemons: */
    RZ_FAULT_CUT,
    RZ_FAULT_DELAY,
    RZ_FAULT_LOSE,
    RZ_FAULT_HEAL
};
enum rz_fault_when { RZ_FAULT_AT_TIME, RZ_FAULT_AT_ITERATION, RZ_FAULT_EVERY };

#define RZ_FAULT_NODES_MAX 15 /* of a list in one argument */

struct rz_fault {
    enum rz_fault_deed deed;
    bool node;       /* a node, else a rank */
    bool random;     /* the target is drawn when the fault is carried out */
    uint32_t target; /* unless random */
    enum rz_fault_when when;
    rz_time at; /* AT_TIME, EVERY: counted from the moment all ranks are initialised */
    uint64_t
        iteration; /* AT_ITERATION: when the first rank marks this or a later one; once per job */
    /* STOP; for faults of the network 0: until healed. */
    rz_time duration;
    uint32_t nodes[RZ_FAULT_NODES_MAX], n_nodes; /* CUT, DELAY, LOSE: these nodes from all others */
    uint64_t amount;                             /* CUT: 1; DELAY: ns; LOSE: thousandths */
    bool done;
};

/*
 * Reads one of
 *   kill rank R|node N at T|iteration K
 *   stop rank R|node N at T|iteration K for D
 *   every T kill random rank|node
 *   cut node N,... at T|iteration K [for D]
 *   delay node N,... D at T|iteration K [for D]
 *   lose P% node N,... at T|iteration K [for D]
 *   heal at T|iteration K
 * False: *why says in one clause what is wrong.
 */
bool rz_fault_parse(const char *text, struct rz_fault *fault, const char **why);

#endif
