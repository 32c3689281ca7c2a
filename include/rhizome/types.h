/* SPDX-License-Identifier: BSD-3-Clause */
/* Basic types: identities, time, components of the protocol core. Independent of the operating
 * system. */
#ifndef RHIZOME_TYPES_H
#define RHIZOME_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A dense index in an immutable view (daemons of a job, ranks of a communicator). */
typedef uint32_t rz_id;
#define RZ_ID_NONE UINT32_MAX

/** Nanoseconds of a monotonic clock, or of virtual time. */
typedef uint64_t rz_time;
#define RZ_TIME_NEVER UINT64_MAX
#define RZ_MICROSECOND UINT64_C(1000)
#define RZ_MILLISECOND UINT64_C(1000000)
#define RZ_SECOND UINT64_C(1000000000)

/** Identifies a process: (job, slot, incarnation). A new incarnation in a slot is a new identity.
 */
struct rz_identity {
    uint64_t job;
    uint32_t rank;
    uint32_t incarnation; /* counts from 1; 0 means none */
};

#endif
