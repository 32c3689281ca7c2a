/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of hints with their keys and values, and their storage in the bits of comm->hints.
 */
#include "mpi/comm/comm_hints.h"

#define VALUES_MAX 6

static const struct {
    const char *key, *values[VALUES_MAX + 1]; /* the first is the default; NULL: no more */
} known[RZ_HINT_COUNT] = {
    [RZ_HINT_NO_ANY_TAG] = {"mpi_assert_no_any_tag", {"false", "true"}},
    [RZ_HINT_NO_ANY_SOURCE] = {"mpi_assert_no_any_source", {"false", "true"}},
    [RZ_HINT_EXACT_LENGTH] = {"mpi_assert_exact_length", {"false", "true"}},
    [RZ_HINT_ALLOW_OVERTAKING] = {"mpi_assert_allow_overtaking", {"false", "true"}},
    [RZ_HINT_STRICT_ORDERING] = {"mpi_assert_strict_persistent_collective_ordering",
                                 {"false", "true"}},
    [RZ_HINT_ERROR_RANGE] = {"mpi_error_range", {"local", "group", "universe"}},
    [RZ_HINT_ERROR_UNIFORM] = {"mpi_error_uniform", {"local", "construct", "coll"}},
#if RZ_ENGINES
    [RZ_HINT_AGREE] = {"rz_agree", {"", "era", "twophase", "gossip1", "gossip2", "gossip3"}},
#else
    [RZ_HINT_AGREE] = {"rz_agree", {"", "era"}},
#endif
    [RZ_HINT_REVOKE] = {"rz_revoke", {"", "nodes", "flat"}},
    [RZ_HINT_REPRODUCIBLE] = {"rz_reproducible", {"true", "false"}},
};

const char *rz_hint_key(enum rz_hint hint)
{
    return known[hint].key;
}

const char *rz_hint_value(enum rz_hint hint, unsigned value)
{
    return value < VALUES_MAX ? known[hint].values[value] : NULL;
}

void rz_comm_set_hint(struct rz_comm *comm, enum rz_hint hint, unsigned value)
{
    comm->hints &= ~(((1u << RZ_HINT_BITS) - 1) << (RZ_HINT_BITS * hint));
    comm->hints |= value << (RZ_HINT_BITS * hint);
}

enum rz_error_range rz_comm_error_range(const struct rz_comm *comm)
{
    return (enum rz_error_range)rz_comm_hint(comm, RZ_HINT_ERROR_RANGE);
}

enum rz_error_uniform rz_comm_error_uniform(const struct rz_comm *comm)
{
    return (enum rz_error_uniform)rz_comm_hint(rz_comm_whole(comm), RZ_HINT_ERROR_UNIFORM);
}
