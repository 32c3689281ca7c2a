/* SPDX-License-Identifier: BSD-3-Clause */
/* The lateness of a periodic activity, as one number that grows at once and decays slowly: lateness
 * on a loaded machine is likely to recur. */
#ifndef RZ_BASE_LATENESS_H
#define RZ_BASE_LATENESS_H

#include <rhizome/types.h>

/* A measured value halves in each such period. */
#define RZ_LATENESS_HALVES (10 * RZ_SECOND)

/* Larger values, own or reported, are cut to this: such a machine was stopped. */
#define RZ_LATENESS_MAX (30 * RZ_SECOND)

/* An observer extends its timeout by this multiple of the reported lateness: it may have doubled
 * since. */
#define RZ_LATENESS_FACTOR 2

struct rz_lateness {
    rz_time value, measured_at;
};

static inline rz_time rz_lateness_at(const struct rz_lateness *lateness, rz_time now)
{
    rz_time elapsed = now - lateness->measured_at, halvings = elapsed / RZ_LATENESS_HALVES;
    if (halvings >= 63) {
        return 0;
    }
    rz_time left = lateness->value >> halvings, rest = elapsed % RZ_LATENESS_HALVES;
    return left - left / 2 * (rest / RZ_MILLISECOND) / (RZ_LATENESS_HALVES / RZ_MILLISECOND);
}

/* Whether this measurement exceeds the remainder of earlier ones; then it replaces it. */
static inline bool rz_lateness_raise(struct rz_lateness *lateness, rz_time now, rz_time late)
{
    if (late <= rz_lateness_at(lateness, now)) {
        return false;
    }
    *lateness = (struct rz_lateness){.value = late, .measured_at = now};
    return true;
}

#endif
