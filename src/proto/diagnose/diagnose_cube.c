/* SPDX-License-Identifier: BSD-3-Clause */
/* VCube clusters: the j-th of c(i, s) is i XOR 2^(s-1) XOR j, j = 0, 1, ... 2^(s-1)-1. */
#include "proto/diagnose/diagnose_private.h"

#include "proto/mutation.h"

uint32_t rz_diagnose_dimensions(uint32_t n)
{
    uint32_t d = 0;
    while (d < 32 && UINT64_C(1) << d < n) {
        d++;
    }
    return d;
}

uint32_t rz_diagnose_cluster(rz_id i, uint32_t s, rz_id *cluster)
{
    uint32_t size = UINT32_C(1) << (s - 1);
    for (uint32_t j = 0; j < size; j++) {
        cluster[j] = i ^ size ^ j;
    }
    return size;
}

static bool view_has(const uint64_t *view, uint32_t n, rz_id id)
{
    return id < n && view[id / 64] >> (id % 64) & 1;
}

/* This member is in one of the clusters of k, at the position given by the lower bits of their
 * difference: those before it in that cluster must be non-recommended. */
bool rz_diagnose_tests(const struct rz_diagnose *diagnose, rz_id k)
{
    if (k == diagnose->self) {
        return false;
    }
    if (diagnose->config.assignment == RZ_DIAGNOSE_FULL || !rz_diagnose_has(diagnose, k)) {
        return true;
    }
    uint32_t difference = diagnose->self ^ k, size = UINT32_C(1) << 31;
    while (!(difference & size)) {
        size >>= 1;
    }
    if (RZ_MUTATED(diagnose->config.mutations, RZ_DIAGNOSE_FIRST_ONLY)) {
        return difference == size;
    }
    for (uint32_t j = 0; j < (difference ^ size); j++) {
        rz_id before = k ^ size ^ j;
        if (before < diagnose->config.n_members && rz_diagnose_has(diagnose, before)) {
            return false;
        }
    }
    return true;
}

rz_id rz_diagnose_partner(const uint64_t *view, uint32_t n, rz_id i, uint32_t s)
{
    uint32_t size = UINT32_C(1) << (s - 1);
    for (uint32_t j = 0; j < size; j++) {
        if (view_has(view, n, i ^ size ^ j)) {
            return i ^ size ^ j;
        }
    }
    return RZ_ID_NONE;
}

rz_id rz_diagnose_owner(const uint64_t *view, uint32_t n, rz_id v)
{
    if (view_has(view, n, v)) {
        return v;
    }
    for (uint32_t s = 1; s <= rz_diagnose_dimensions(n); s++) {
        rz_id owner = rz_diagnose_partner(view, n, v, s);
        if (owner != RZ_ID_NONE) {
            return owner;
        }
    }
    return RZ_ID_NONE;
}
