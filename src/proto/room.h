/*
 * A protocol room as a table of its functions, for whoever runs any room: host (production), sim
 * (proof) and timing (measurement). RZ_PROTO_ROOM(ring, RZ_ROOM_RING) defines rz_proto_room_ring in
 * the file where it stands. Not part of librzproto.a.
 */
#ifndef RZ_PROTO_ROOM_H
#define RZ_PROTO_ROOM_H

#include <rhizome/protocol.h>

struct rz_proto_room {
    const char *name;
    enum rz_room number;
    size_t (*size)(const void *config);
    void (*init)(void *state, const void *config, rz_id self, rz_time now, uint64_t seed);
    enum rz_more (*step)(void *state, const struct rz_event *event, struct rz_actions *out);
    rz_time (*deadline)(const void *state);
    uint64_t (*hash)(const void *state);
    void (*grow)(void *state, size_t bytes);
};

#define RZ_PROTO_ROOM(room, room_number)                                                           \
    static size_t room##_size(const void *config)                                                  \
    {                                                                                              \
        return rz_##room##_size(config);                                                           \
    }                                                                                              \
    static void room##_init(void *state, const void *config, rz_id self, rz_time now,              \
                            uint64_t seed)                                                         \
    {                                                                                              \
        rz_##room##_init(state, config, self, now, seed);                                          \
    }                                                                                              \
    static enum rz_more room##_step(void *state, const struct rz_event *event,                     \
                                    struct rz_actions *out)                                        \
    {                                                                                              \
        return rz_##room##_step(state, event, out);                                                \
    }                                                                                              \
    static rz_time room##_deadline(const void *state)                                              \
    {                                                                                              \
        return rz_##room##_deadline(state);                                                        \
    }                                                                                              \
    static uint64_t room##_hash(const void *state)                                                 \
    {                                                                                              \
        return rz_##room##_hash(state);                                                            \
    }                                                                                              \
    static void room##_grow(void *state, size_t bytes)                                             \
    {                                                                                              \
        rz_##room##_grow(state, bytes);                                                            \
    }                                                                                              \
    static const struct rz_proto_room rz_proto_room_##room = {                                     \
        #room,       room_number,     room##_size, room##_init,                                    \
        room##_step, room##_deadline, room##_hash, room##_grow}

#endif
