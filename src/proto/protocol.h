/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A protocol component as a table of its functions, for the programs that run any component: host
 * (production), sim (verification) and timing (measurement). RZ_PROTOCOL(ring, RZ_PROTOCOL_RING)
 * defines rz_protocol_ring in the file that contains it; RZ_PROTOCOL_CALLED gives it another name
 * than that of its functions. Not part of librzproto.a.
 */
#ifndef RZ_PROTO_PROTOCOL_H
#define RZ_PROTO_PROTOCOL_H

#include <rhizome/protocol.h>

struct rz_protocol {
    const char *name;
    enum rz_protocol_number number;
    size_t (*size)(const void *config);
    void (*init)(void *state, const void *config, rz_id self, rz_time now, uint64_t seed);
    enum rz_more (*step)(void *state, const struct rz_event *event, struct rz_actions *out);
    rz_time (*deadline)(const void *state);
    uint64_t (*hash)(const void *state);
    void (*grow)(void *state, size_t bytes);
};

#define RZ_PROTOCOL(protocol, protocol_number)                                                     \
    RZ_PROTOCOL_CALLED(protocol, protocol_number, #protocol)

#define RZ_PROTOCOL_CALLED(protocol, protocol_number, called)                                      \
    RZ_PROTOCOL_BY(RZ_PROTOCOL_OF, protocol, protocol_number, called)

#define RZ_PROTOCOL_OF(protocol, function, ...) rz_##protocol##_##function(__VA_ARGS__)

/* of(protocol, function, arguments): the call, where it is not that of the function itself. */
#define RZ_PROTOCOL_BY(of, protocol, protocol_number, called)                                      \
    static size_t protocol##_size(const void *config)                                              \
    {                                                                                              \
        return of(protocol, size, config);                                                         \
    }                                                                                              \
    static void protocol##_init(void *state, const void *config, rz_id self, rz_time now,          \
                                uint64_t seed)                                                     \
    {                                                                                              \
        of(protocol, init, state, config, self, now, seed);                                        \
    }                                                                                              \
    static enum rz_more protocol##_step(void *state, const struct rz_event *event,                 \
                                        struct rz_actions *out)                                    \
    {                                                                                              \
        return of(protocol, step, state, event, out);                                              \
    }                                                                                              \
    static rz_time protocol##_deadline(const void *state)                                          \
    {                                                                                              \
        return of(protocol, deadline, state);                                                      \
    }                                                                                              \
    static uint64_t protocol##_hash(const void *state)                                             \
    {                                                                                              \
        return of(protocol, hash, state);                                                          \
    }                                                                                              \
    static void protocol##_grow(void *state, size_t bytes)                                         \
    {                                                                                              \
        of(protocol, grow, state, bytes);                                                          \
    }                                                                                              \
    static const struct rz_protocol rz_protocol_##protocol = {                                     \
        called,          protocol_number,     protocol##_size, protocol##_init,                    \
        protocol##_step, protocol##_deadline, protocol##_hash, protocol##_grow}

#endif
