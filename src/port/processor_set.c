/* SPDX-License-Identifier: BSD-3-Clause */
/* A processor set in the form of the kernel's cpu_set_t, allocated for its largest number. */
#include "port/processor_set.h"

#include <sched.h>
#include <stdlib.h>

struct rz_processor_set {
    size_t bytes;
    cpu_set_t mask[];
};

struct rz_processor_set *rz_processor_set_make(uint32_t highest)
{
    size_t bytes = CPU_ALLOC_SIZE(highest + 1);
    struct rz_processor_set *set = calloc(1, sizeof(*set) + bytes);
    if (set) {
        set->bytes = bytes;
    }
    return set;
}

void rz_processor_set_free(struct rz_processor_set *set)
{
    free(set);
}

void rz_processor_set_clear(struct rz_processor_set *set)
{
    CPU_ZERO_S(set->bytes, set->mask);
}

void rz_processor_set_add(struct rz_processor_set *set, uint32_t processor)
{
    CPU_SET_S(processor, set->bytes, set->mask);
}

void rz_processor_set_apply(const struct rz_processor_set *set)
{
    sched_setaffinity(0, set->bytes, set->mask);
}
