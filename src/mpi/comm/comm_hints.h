/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hints of communicators. Most are assertions of the user about how the communicator is used: they
 * can be queried, and have no effect. Hints with an effect: how far the error of a failure reaches,
 * and which calls return the same error at all members (mpi_error_range, mpi_error_uniform: ULFM),
 * the engine of agreements (rz_agree; docs/agreement-engines.md), how a revocation reaches the
 * members (rz_revoke), and whether reductions keep the order of operands (rz_reproducible).
 */
#ifndef RZ_MPI_COMM_HINTS_H
#define RZ_MPI_COMM_HINTS_H

#include "mpi/comm/comm.h"

enum rz_hint {
    RZ_HINT_NO_ANY_TAG,
    RZ_HINT_NO_ANY_SOURCE,
    RZ_HINT_EXACT_LENGTH,
    RZ_HINT_ALLOW_OVERTAKING,
    RZ_HINT_STRICT_ORDERING,
    RZ_HINT_ERROR_RANGE,
    RZ_HINT_ERROR_UNIFORM,
    RZ_HINT_AGREE,
    RZ_HINT_REVOKE,
    RZ_HINT_REPRODUCIBLE,
    RZ_HINT_COUNT
};

/* The info key of a hint, and its values by number; NULL: there is no such value. Value 0 is the
 * default. */
const char *rz_hint_key(enum rz_hint hint);
const char *rz_hint_value(enum rz_hint hint, unsigned value);

/* Bits of comm->hints per hint. */
#define RZ_HINT_BITS 3

/* The number of the value that a hint of comm has. */
static inline unsigned rz_comm_hint(const struct rz_comm *comm, enum rz_hint hint)
{
    return comm->hints >> (RZ_HINT_BITS * hint) & ((1u << RZ_HINT_BITS) - 1);
}

void rz_comm_set_hint(struct rz_comm *comm, enum rz_hint hint, unsigned value);

/* The processes whose failure revokes comm at once, without a call. */
enum rz_error_range { RZ_RANGE_LOCAL, RZ_RANGE_GROUP, RZ_RANGE_UNIVERSE };
enum rz_error_range rz_comm_error_range(const struct rz_comm *comm);

/* Which calls return the same error at all members (agree/comm_uniform.h). */
enum rz_error_uniform { RZ_UNIFORM_LOCAL, RZ_UNIFORM_CONSTRUCT, RZ_UNIFORM_COLL };
enum rz_error_uniform rz_comm_error_uniform(const struct rz_comm *comm);

#endif
