/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of algorithm 2: bit planes, one bit per member and failure. */
#ifndef RZ_SCALE_LIST_H
#define RZ_SCALE_LIST_H

#include "scale/model.h"

struct rz_scale_list;

extern const struct rz_scale_model rz_scale_list_model; /* its model: a struct rz_scale_list */

/* One member after the cycles done so far; bit i: failed[i] of the configuration. */
struct rz_scale_list_member {
    uint32_t known, settled;             /* detected; consensus */
    uint32_t count[RZ_SCALE_FAILED_MAX]; /* consecutive messages; at most 255 is reported */
    bool returned;
};
struct rz_scale_list_member rz_scale_list_member(const struct rz_scale_list *list, rz_id p);

#endif
