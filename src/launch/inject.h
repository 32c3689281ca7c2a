/* Faults that the user orders: what, whom, when. */
#ifndef RZ_LAUNCH_INJECT_H
#define RZ_LAUNCH_INJECT_H

#include <rhizome/types.h>

enum rz_fault_deed { RZ_FAULT_KILL, RZ_FAULT_STOP };
enum rz_fault_when { RZ_FAULT_AT_TIME, RZ_FAULT_AT_ITERATION, RZ_FAULT_EVERY };

struct rz_fault {
    enum rz_fault_deed deed;
    bool node;       /* a node, else a rank */
    bool random;     /* which one is drawn at the time */
    uint32_t target; /* unless random */
    enum rz_fault_when when;
    rz_time at; /* AT_TIME, EVERY: counted from the moment all ranks are initialised */
    uint64_t
        iteration; /* AT_ITERATION: when the first rank marks this or a later one; once per job */
    rz_time duration; /* STOP */
    bool done;
};

/*
 * Reads one of
 *   kill rank R|node N at T|iteration K
 *   stop rank R|node N at T|iteration K for D
 *   every T kill random rank|node
 * False: *why says in one clause what is wrong.
 */
bool rz_fault_parse(const char *text, struct rz_fault *fault, const char **why);

#endif
