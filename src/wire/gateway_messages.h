/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages between a daemon and its gateway (gateway/README.md), over a stream: each frame is
 * its length (u32), then one message. A process is (slot, incarnation); fields named `rank` mean
 * the slot. A world is the set of processes that begin together: world 0 are the ranks, the k-th
 * spawn of the job is world k.
 */
#ifndef RZ_WIRE_GATEWAY_MESSAGES_H
#define RZ_WIRE_GATEWAY_MESSAGES_H

#include "wire/schema.h"

#define RZ_GATEWAY_VERSION 4

/* The largest message, and the largest part of a PEER message, which travels on in one overlay
 * message (wire/overlay_messages.h). */
#define RZ_GATEWAY_FRAME_MAX (4u << 20)
#define RZ_GATEWAY_PART_MAX (1u << 20)

/* To PEER's node: all other live nodes. */
#define RZ_GATEWAY_ALL UINT32_MAX

/* The protocol that the job's programs speak. */
enum rz_gateway_protocol { RZ_GATEWAY_PMIX, RZ_GATEWAY_PMI1, RZ_GATEWAY_PROTOCOL_COUNT };

/* What a process has done, in CLIENT. */
enum rz_client_state { RZ_CLIENT_CONNECTED, RZ_CLIENT_FINALIZED, RZ_CLIENT_STATE_COUNT };

/* clang-format off */
#define RZ_GATEWAY_TABLE(MESSAGE, U32, U64, BYTES, TEXT, END) \
    /* daemon -> gateway */ \
    MESSAGE(JOB, job) U32(version) U32(protocol) U64(job) U32(node) U32(n_nodes) U32(n_ranks) U32(n_slots) U32(verbosity) \
        U32(tolerant) U32(oversubscribed) BYTES(secret) TEXT(folder) BYTES(placement) BYTES(programs) \
        END(JOB, job) /* first; oversubscribed: more ranks than processors; secret: of the job, which its processes alone \
           may know; folder: scratch; placement, \
           programs: of each rank, u32 */ \
    MESSAGE(PROCESS_STARTED, process_started) U32(rank) U32(incarnation) U32(pid) END(PROCESS_STARTED, process_started) \
    MESSAGE(PROCESS_ENDED, process_ended) U32(rank) U32(incarnation) U32(failed) \
        END(PROCESS_ENDED, process_ended)           /* of any node; failed 0: in order, only of this node */ \
    MESSAGE(NODE_FAILED, node_failed) U32(node) U32(gateway_alone) END(NODE_FAILED, node_failed) /* with all its processes */ \
    MESSAGE(NEW_WORLD, new_world) U32(home) BYTES(processes) \
        END(NEW_WORLD, new_world)                           /* the next world is spawned, by a process of node home; of each process: slot, incarnation, \
           node, u32 */ \
    MESSAGE(PROGRAMS, programs) U32(world) BYTES(programs) BYTES(parent) \
        END(PROGRAMS, programs)                     /* programs: of each process of the world, u32; parent: as in SPAWN. Both are \
           empty if the node that knows them has failed. Answered by READY */ \
    MESSAGE(SPAWNED, spawned) U64(question) U32(status) U32(world) END(SPAWNED, spawned) /* after its PROGRAMS; status: rz_status_t */ \
    /* both ways */ \
    MESSAGE(PEER, peer) U32(node) U32(more) BYTES(data) \
        END(PEER, peer)                             /* to, or from, the gateway of node; more: another part follows */ \
    MESSAGE(LINES, lines) U32(rank) U32(incarnation) BYTES(data) END(LINES, lines) /* of, or for, a process that speaks PMI-1 over its link */ \
    /* gateway -> daemon */ \
    MESSAGE(TAKEN, taken) U32(rank) U32(incarnation) U32(bytes) END(TAKEN, taken) /* so many bytes of LINES of the process are answered, or \
        wait for others: the daemon reads on */ \
    MESSAGE(READY, ready) U32(world) BYTES(environment) BYTES(defaults) TEXT(rank_variable) \
        END(READY, ready)                           /* processes of the world may start; texts NAME=value for all; defaults: unless the user sets \
           them; the variable that holds the rank in the world */ \
    MESSAGE(SPAWN, spawn) U32(rank) U32(incarnation) U64(question) U32(count) BYTES(commands) BYTES(parent) \
        END(SPAWN, spawn)                           /* commands: wire/spawn_order.h; parent: for the gateways; answered by SPAWNED */ \
    MESSAGE(CLIENT, client) U32(rank) U32(incarnation) U32(state) END(CLIENT, client) /* enum rz_client_state */ \
    MESSAGE(TOLERANT, tolerant) END(TOLERANT, tolerant) /* the programs here have asked to be told of failures */ \
    MESSAGE(ABORT, abort) U32(rank) U32(incarnation) U32(code) TEXT(reason) BYTES(processes) \
        END(ABORT, abort)                           /* processes: slot, incarnation (0: the present one), u32; none: the whole job */ \
    MESSAGE(LOG, log) U32(level) TEXT(line) END(LOG, log) \
    MESSAGE(GIVES_UP, gives_up) TEXT(reason) END(GIVES_UP, gives_up) /* the last message */
/* clang-format on */

#define RZ_GATEWAY_NAME(NAME, name) RZ_GATEWAY_##NAME,
enum rz_gateway_type {
    RZ_GATEWAY_TABLE(RZ_GATEWAY_NAME, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING,
                     RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING) RZ_GATEWAY_TYPE_COUNT
};
#undef RZ_GATEWAY_NAME

/* One struct for all messages: type selects the member of the union. */
#define RZ_GATEWAY_OPEN(NAME, name)                                                                \
    struct rz_gateway_##name {                                                                     \
        char empty_;
#define RZ_GATEWAY_CLOSE(NAME, name)                                                               \
    }                                                                                              \
    name;
struct rz_gateway_message {
    enum rz_gateway_type type;
    union {
        RZ_GATEWAY_TABLE(RZ_GATEWAY_OPEN, RZ_SCHEMA_STRUCT_U32, RZ_SCHEMA_STRUCT_U64,
                         RZ_SCHEMA_STRUCT_BYTES, RZ_SCHEMA_STRUCT_TEXT, RZ_GATEWAY_CLOSE)
    };
};
#undef RZ_GATEWAY_OPEN
#undef RZ_GATEWAY_CLOSE

/* Writes message into buffer; returns the number of bytes, or 0 if they do not fit. TEXT fields
 * must not be NULL. */
size_t rz_gateway_encode(const struct rz_gateway_message *message, void *buffer, size_t bytes);

/* Reads one message that fills buffer; pointers in it refer to buffer. RZ_ERR_MALFORMED: *message
 * must not be used. */
rz_status_t rz_gateway_decode(struct rz_gateway_message *message, const void *buffer, size_t bytes);

/* The name of a type, for logs; never NULL. */
const char *rz_gateway_type_name(enum rz_gateway_type type);

#endif
