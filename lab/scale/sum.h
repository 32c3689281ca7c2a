/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of algorithm 3 with one failed member: three words of mass and a few bytes per member.
 */
#ifndef RZ_SCALE_SUM_H
#define RZ_SCALE_SUM_H

#include "scale/model.h"

struct rz_scale_sum;

extern const struct rz_scale_model rz_scale_sum_model; /* its model: a struct rz_scale_sum */

/* 32 bytes: never across two cache lines. */
struct rz_scale_sum_member {
    uint64_t detected, consensus, weight; /* s1, s2, w; 2^32 are one member */
    uint16_t count;                       /* cycles in a row within tolerance */
    uint16_t since;                       /* cycle in which it heard of the failure */
    uint8_t phase; /* 0: does not know, 1 detected, 2 consensus, 3 committed */
    bool returned;
    uint16_t zero;
};
/* One member after the cycles done so far. Between cycles the halves of its next message are
 * already subtracted, as in the objects once the next cycle has begun. */
struct rz_scale_sum_member rz_scale_sum_member(const struct rz_scale_sum *sum, rz_id p);

#endif
