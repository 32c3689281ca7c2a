/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages between daemons, over TCP: each frame is its length (u32), then one message. Only
 * CHALLENGE, HELLO and WELCOME are parsed before the peer has proved that it holds the job key, and
 * until then no frame is longer than RZ_OVERLAY_HANDSHAKE_MAX; from then on each message is sealed
 * (net/proof). Heartbeats are authenticated UDP datagrams (net/datagram/datagram.h).
 */
#ifndef RZ_WIRE_OVERLAY_MESSAGES_H
#define RZ_WIRE_OVERLAY_MESSAGES_H

#include "wire/schema.h"

#define RZ_OVERLAY_VERSION 16

/* The largest message. */
#define RZ_OVERLAY_FRAME_MAX (4u << 20)
#define RZ_OVERLAY_HANDSHAKE_MAX 256u

/* clang-format off */
#define RZ_OVERLAY_TABLE(MESSAGE, U32, U64, BYTES, TEXT, END) \
    MESSAGE(CHALLENGE, challenge) U32(version) BYTES(nonce) END(CHALLENGE, challenge)  /* acceptor -> connector */ \
    MESSAGE(HELLO, hello) U32(version) U64(job) U32(from) BYTES(proof) BYTES(nonce) END(HELLO, hello) \
        /* net/proof: over both nonces, job, from, to; a nonce of its own */ \
    MESSAGE(WELCOME, welcome) BYTES(proof) END(WELCOME, welcome)   /* net/proof, of the acceptor */ \
    MESSAGE(PROTOCOL, protocol) BYTES(message) END(PROTOCOL, protocol)                  /* as protocol_message.h */ \
    MESSAGE(GET_EP_ADDRESS, get_ep_address) U32(rank) U32(incarnation) U32(asker) U32(asker_incarnation) U32(epoch) \
        END(GET_EP_ADDRESS, get_ep_address)                     /* of this incarnation or a newer one */ \
    MESSAGE(EP_ADDRESS, ep_address) U32(rank) U32(incarnation) U32(asker) U32(asker_incarnation) U32(epoch) BYTES(ep_address) END(EP_ADDRESS, ep_address) \
    MESSAGE(PIECE, piece) U32(epoch) U64(generation) U32(rank) U64(total) U64(offset) U64(hash) U32(answer) BYTES(data) \
        END(PIECE, piece)                           /* a chunk; answer: 1 a reply to GET_PIECE, 0 a copy to keep */ \
    MESSAGE(CHANGES, changes) U32(epoch) U64(generation) U32(rank) U64(total) U64(hash) U64(base) U64(base_hash) U32(part) U64(offset) BYTES(data) \
        END(CHANGES, changes) /* pages of a copy to keep that differ from the copy of generation base; part: \
           1 the first message, 2 the last, 3 both. If that base is missing, PIECE_GONE requests the whole \
           piece */ \
    MESSAGE(PIECE_KEPT, piece_kept) U32(epoch) U64(generation) U32(rank) END(PIECE_KEPT, piece_kept) \
    MESSAGE(GET_PIECE, get_piece) U32(epoch) U64(generation) U32(rank) END(GET_PIECE, get_piece) \
    MESSAGE(PIECE_GONE, piece_gone) U32(epoch) U64(generation) U32(rank) U32(no_memory) \
        END(PIECE_GONE, piece_gone)                 /* or it is damaged; no_memory: 1 its keeper has none */ \
    MESSAGE(SHARE, share) U32(epoch) U64(generation) U32(rank) U64(total) U64(hash) U32(chunk) U64(offset) BYTES(data) \
        END(SHARE, share) /* part of a chunk of a piece, for the receiver's parity (proto/commit/stripes.h); \
           KEPT when it is complete */ \
    MESSAGE(GET_BLOCK, get_block) U32(epoch) U64(generation) U32(rank) U32(chunk) U32(attempt) \
        END(GET_BLOCK, get_block)                   /* requests the receiver's column in the stripe of that chunk of rank's lost piece */ \
    MESSAGE(BLOCK, block) U32(epoch) U64(generation) U32(rank) U32(chunk) U32(attempt) U64(total) U64(hash) U64(bytes) U64(offset) BYTES(data) \
        END(BLOCK, block)                           /* part of it; total, hash: of rank's piece; bytes: of the block */ \
    MESSAGE(BLOCK_GONE, block_gone) U32(epoch) U64(generation) U32(rank) U32(chunk) U32(attempt) END(BLOCK_GONE, block_gone) \
    MESSAGE(PIECE_WRITTEN, piece_written) U32(epoch) U64(generation) U32(rank) U32(failed) \
        END(PIECE_WRITTEN, piece_written)           /* its file is durable, or could not be written: daemon/store/store_files.h */ \
    MESSAGE(NAME_PUT, name_put) U64(serial) U64(owner_serial) U32(rank) U32(incarnation) TEXT(service) TEXT(port) \
        END(NAME_PUT, name_put)                     /* a name was published (daemon/service/names.h) */ \
    MESSAGE(NAME_DROP, name_drop) U64(serial) U64(owner_serial) U32(rank) U32(incarnation) TEXT(service) \
        END(NAME_DROP, name_drop)                   /* serial 0: no answer is requested */ \
    MESSAGE(NAME_KEPT, name_kept) U64(serial) U32(status) END(NAME_KEPT, name_kept)     /* rz_status_t */ \
    MESSAGE(POINTER_ASK, pointer_ask) U64(serial) U32(what) U64(key) U64(generation) U64(initial) U64(value) \
        END(POINTER_ASK, pointer_ask)               /* as POINTER on the link; answered by POINTER_IS */ \
    MESSAGE(POINTER_IS, pointer_is) U64(serial) U32(status) U64(value) END(POINTER_IS, pointer_is) /* rz_status_t */ \
    MESSAGE(SNAPSHOT, snapshot) U32(epoch) U32(number) END(SNAPSHOT, snapshot) /* is wanted of all ranks */ \
    MESSAGE(FILE_MARK, file_mark) U64(serial) U64(oldest) U32(rank) U64(moment) U64(host) U64(device) U64(inode) U64(made_ns) U64(bytes) \
        U64(changed_ns) U32(mode) U32(flags) TEXT(path) BYTES(content) \
        END(FILE_MARK, file_mark)                   /* as on the link, of that rank; answered by FILE_MARK_KEPT. oldest: \
           no image of an earlier moment is needed any more */ \
    MESSAGE(FILE_MARK_KEPT, file_mark_kept) U64(serial) END(FILE_MARK_KEPT, file_mark_kept) \
    MESSAGE(MARK_KEEPER, mark_keeper) U64(serial) U64(oldest) U64(moment) U32(keeper) U32(old_owner) U32(old_keeper) \
        END(MARK_KEEPER, mark_keeper)               /* the sender has marks of that moment, and none of a later one, that this node has, too \
           (RZ_ID_NONE: all have); and all that the old pair had. Answered by FILE_MARK_KEPT, unless serial is 0 */ \
    MESSAGE(FILES_RESTORED, files_restored) U32(epoch) END(FILES_RESTORED, files_restored) /* by all processes of the sender's node; \
           to the lowest node with ranks, which answers (daemon/service/restored_files.h) */ \
    MESSAGE(ALL_FILES_RESTORED, all_files_restored) U32(epoch) END(ALL_FILES_RESTORED, all_files_restored) \
    MESSAGE(SPAWN_ORDER, spawn_order) U32(serial) U32(count) BYTES(commands) BYTES(parent) \
        END(SPAWN_ORDER, spawn_order)               /* the commands of the cohort (sender, serial): wire/spawn_order.h */ \
    MESSAGE(END_PROCESS, end_process) U32(rank) U32(incarnation) U32(code) TEXT(by) \
        END(END_PROCESS, end_process)               /* MPI_Abort of some processes, among them this one of the receiver */ \
    MESSAGE(FACT, fact) BYTES(message) END(FACT, fact)        /* of a detached job: as wire/launch_messages.h */ \
    MESSAGE(RING_PORT, ring_port) U32(rank) U32(incarnation) U32(port) END(RING_PORT, ring_port) /* with --detector flat, of the sender's node */ \
    MESSAGE(SILENT, silent) U32(epoch) U32(rank) U32(incarnation) END(SILENT, silent) /* to a process of the receiver; answered by PONG */ \
    MESSAGE(DECISION_ASK, decision_ask) U64(communicator) U64(number) U32(rank) U32(incarnation) U32(asker) U32(asker_incarnation) \
        END(DECISION_ASK, decision_ask)             /* as on the link; answered by DECISION if that process of the receiver has decided */ \
    MESSAGE(DECISION, decision) U64(communicator) U64(number) U32(rank) U32(incarnation) U32(asker) U32(asker_incarnation) BYTES(value) \
        END(DECISION, decision) \
    MESSAGE(GATEWAY, gateway) U32(more) BYTES(data) END(GATEWAY, gateway) /* between the gateways of two nodes: wire/gateway_messages.h, PEER */ \
    MESSAGE(PONG, pong) END(PONG, pong) \
    MESSAGE(LEAVING, leaving) END(LEAVING, leaving)           /* the end of this connection is no failure */ \
    MESSAGE(FENCED, fenced) TEXT(reason) END(FENCED, fenced)                            /* the receiver was declared failed */
/* clang-format on */

#define RZ_OVERLAY_NAME(NAME, name) RZ_OVERLAY_##NAME,
enum rz_overlay_type {
    RZ_OVERLAY_TABLE(RZ_OVERLAY_NAME, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING,
                     RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING) RZ_OVERLAY_TYPE_COUNT
};
#undef RZ_OVERLAY_NAME

/* One struct for all messages: type selects the member of the union. */
#define RZ_OVERLAY_OPEN(NAME, name)                                                                \
    struct rz_overlay_##name {                                                                     \
        char empty_;
#define RZ_OVERLAY_CLOSE(NAME, name)                                                               \
    }                                                                                              \
    name;
struct rz_overlay_message {
    enum rz_overlay_type type;
    union {
        RZ_OVERLAY_TABLE(RZ_OVERLAY_OPEN, RZ_SCHEMA_STRUCT_U32, RZ_SCHEMA_STRUCT_U64,
                         RZ_SCHEMA_STRUCT_BYTES, RZ_SCHEMA_STRUCT_TEXT, RZ_OVERLAY_CLOSE)
    };
};
#undef RZ_OVERLAY_OPEN
#undef RZ_OVERLAY_CLOSE

/* Writes message into buffer; returns the number of bytes, or 0 if they do not fit. TEXT fields
 * must not be NULL. */
size_t rz_overlay_encode(const struct rz_overlay_message *message, void *buffer, size_t bytes);

/* Reads one message that fills buffer; pointers in it refer to buffer. RZ_ERR_MALFORMED: *message
 * must not be used. */
rz_status_t rz_overlay_decode(struct rz_overlay_message *message, const void *buffer, size_t bytes);

/* The name of a type, for logs; never NULL. */
const char *rz_overlay_type_name(enum rz_overlay_type type);

#endif
