/*
 * How late something runs, as one number that grows at once and fades slowly: what happened on a
 * loaded machine a moment ago is likely to happen again.
 */
#ifndef RZ_BASE_LATENESS_H
#define RZ_BASE_LATENESS_H

#include <rhizome/types.h>

/* What was measured halves in each such span. */
#define RZ_LATENESS_HALVES (10 * RZ_SECOND)

/* More is not believed, of oneself or of others: such a machine stood still. */
#define RZ_LATENESS_MAX (30 * RZ_SECOND)

/* An observer waits longer by so many times what the observed process said: it may have doubled
 * since. */
#define RZ_LATENESS_FACTOR 2

struct rz_lateness {
    rz_time value, measured_at;
};

static inline rz_time rz_lateness_at(const struct rz_lateness *lateness, rz_time now)
{
    rz_time elapsed = now - lateness->measured_at, halvings = elapsed / RZ_LATENESS_HALVES;
    if (halvings >= 63)
        return 0;
    rz_time left = lateness->value >> halvings, rest = elapsed % RZ_LATENESS_HALVES;
    return left - left / 2 * (rest / RZ_MILLISECOND) / (RZ_LATENESS_HALVES / RZ_MILLISECOND);
}

/* Whether this measurement is more than what is left of earlier ones; then it counts. */
static inline bool rz_lateness_raise(struct rz_lateness *lateness, rz_time now, rz_time late)
{
    if (late <= rz_lateness_at(lateness, now))
        return false;
    *lateness = (struct rz_lateness){.value = late, .measured_at = now};
    return true;
}

#endif
