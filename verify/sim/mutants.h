/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which objects run: those that are shipped, or the same with mutations (proto/mutation.h), which
 * are linked under names of their own: rz_ring_mutant_step beside rz_ring_step.
 */
#ifndef RZ_SIM_MUTANTS_H
#define RZ_SIM_MUTANTS_H

#include <rhizome/protocol.h>

#include "proto/protocol.h"

/* For the whole of a run; of the world that was created last. */
extern bool rz_sim_mutants;

/* Declares the functions of the mutant. */
#define RZ_SIM_MUTANT(protocol)                                                                    \
    size_t rz_##protocol##_mutant_size(const void *config);                                        \
    void rz_##protocol##_mutant_init(void *state, const void *config, rz_id self, rz_time now,     \
                                     uint64_t seed);                                               \
    enum rz_more rz_##protocol##_mutant_step(void *state, const struct rz_event *event,            \
                                             struct rz_actions *out);                              \
    rz_time rz_##protocol##_mutant_deadline(const void *state);                                    \
    uint64_t rz_##protocol##_mutant_hash(const void *state);                                       \
    void rz_##protocol##_mutant_grow(void *state, size_t bytes)

/* A function of the protocol, or that of its mutant. */
#define RZ_SIM_OF(protocol, function, ...)                                                         \
    (rz_sim_mutants ? rz_##protocol##_mutant_##function(__VA_ARGS__)                               \
                    : rz_##protocol##_##function(__VA_ARGS__))

/* As RZ_PROTOCOL (proto/protocol.h): rz_protocol_ring, of the objects that run. */
#define RZ_SIM_PROTOCOL(protocol, protocol_number)                                                 \
    RZ_SIM_MUTANT(protocol);                                                                       \
    RZ_PROTOCOL_BY(RZ_SIM_OF, protocol, protocol_number, #protocol)

#endif
