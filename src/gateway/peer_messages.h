/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages between the gateways of a job, which their daemons carry (wire/gateway_messages.h,
 * PEER). */
#ifndef RZ_GATEWAY_PEER_MESSAGES_H
#define RZ_GATEWAY_PEER_MESSAGES_H

#include "wire/schema.h"

/* clang-format off */
#define RZ_PEER_TABLE(MESSAGE, U32, U64, BYTES, TEXT, END) \
    MESSAGE(FENCE, fence) U32(result) U32(kind) U32(number) U32(whole) BYTES(slots) BYTES(data) END(FENCE, fence) \
        /* collective.h; slots: u32 each */ \
    MESSAGE(CHANGE, change) U32(step) U32(asker) U64(serial) U32(home) U32(status) U32(again) U32(drop) TEXT(key) U32(owner) U32(once) BYTES(value) \
        END(CHANGE, change)                         /* registry.h */ \
    MESSAGE(SERVED, served) U32(world) END(SERVED, served)                          /* to the world's home: the sender serves it */ \
    MESSAGE(DATA_ASK, data_ask) U64(serial) U32(process) END(DATA_ASK, data_ask)       /* what a process of the receiver has committed (direct modex) */ \
    MESSAGE(DATA, data) U64(serial) U32(status) BYTES(data) END(DATA, data)         /* its answer; status: of PMIx */ \
    MESSAGE(ENDED, ended) U32(process) END(ENDED, ended)                            /* in order, a process of the sender */ \
    MESSAGE(EVENT, event) U32(code) U32(process) U32(range) BYTES(info) END(EVENT, event) /* of a process for processes of other nodes */
/* clang-format on */

#define RZ_PEER_NAME(NAME, name) RZ_PEER_##NAME,
enum rz_peer_type {
    RZ_PEER_TABLE(RZ_PEER_NAME, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING,
                  RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING) RZ_PEER_TYPE_COUNT
};
#undef RZ_PEER_NAME

/* One struct for all messages: type selects the member of the union. */
#define RZ_PEER_OPEN(NAME, name)                                                                   \
    struct rz_peer_##name {                                                                        \
        char empty_;
#define RZ_PEER_CLOSE(NAME, name)                                                                  \
    }                                                                                              \
    name;
struct rz_peer_message {
    enum rz_peer_type type;
    union {
        RZ_PEER_TABLE(RZ_PEER_OPEN, RZ_SCHEMA_STRUCT_U32, RZ_SCHEMA_STRUCT_U64,
                      RZ_SCHEMA_STRUCT_BYTES, RZ_SCHEMA_STRUCT_TEXT, RZ_PEER_CLOSE)
    };
};
#undef RZ_PEER_OPEN
#undef RZ_PEER_CLOSE

/* As rz_gateway_encode and rz_gateway_decode. */
size_t rz_peer_encode(const struct rz_peer_message *message, void *buffer, size_t bytes);
rz_status_t rz_peer_decode(struct rz_peer_message *message, const void *buffer, size_t bytes);

/* The name of a type, for logs; never NULL. */
const char *rz_peer_type_name(enum rz_peer_type type);

#endif
