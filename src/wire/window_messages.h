/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages about windows (mpi/rma), the payload of envelopes of kind RZ_ENVELOPE_WINDOW: the head
 * below as 64-bit words, then, by kind, shapes (mpi/type/datatype_shape.h) and data.
 */
#ifndef RZ_WIRE_WINDOW_MESSAGES_H
#define RZ_WIRE_WINDOW_MESSAGES_H

#include "wire/cursor.h"

enum rz_rma_kind {
    RZ_RMA_OPERATE,  /* an operation at the receiver's memory: shape, basic shape, data */
    RZ_RMA_ROW,      /* a put or a get of `count` bytes that follow or are to be sent: rma_row.h */
    RZ_RMA_ANSWER,   /* operation `number` is done, or has failed with `error`: its result */
    RZ_RMA_LOCK,     /* the sender wants the receiver's lock: mode */
    RZ_RMA_GRANT,    /* the sender's lock is the receiver's now */
    RZ_RMA_UNLOCK,   /* the sender gives it up */
    RZ_RMA_POST,     /* the sender's memory is open to the receiver (MPI_Win_post) */
    RZ_RMA_COMPLETE, /* the sender needs the receiver's memory no more (MPI_Win_complete) */
    RZ_RMA_WAKE,     /* a word that the receiver waits for may be free */
    RZ_RMA_LEFT,     /* the sender could not make the window, or has ended it */
    RZ_RMA_KIND_COUNT
};

struct rz_window_message {
    uint32_t kind;
    uint32_t what; /* OPERATE, ROW: enum rz_rma_what; LOCK: 1 if exclusive */
    uint32_t op, basic;
    uint32_t wants_result, error;
    uint64_t number; /* of the operation at its origin */
    uint64_t at;     /* an address at the receiver */
    uint64_t count;
    uint64_t bytes; /* of data, at the end */
};

#define RZ_WINDOW_HEAD_BYTES 56

static inline void rz_window_head_put(struct rz_wire_writer *writer,
                                      const struct rz_window_message *message)
{
    rz_wire_put_u32(writer, message->kind);
    rz_wire_put_u32(writer, message->what);
    rz_wire_put_u32(writer, message->op);
    rz_wire_put_u32(writer, message->basic);
    rz_wire_put_u32(writer, message->wants_result);
    rz_wire_put_u32(writer, message->error);
    rz_wire_put_u64(writer, message->number);
    rz_wire_put_u64(writer, message->at);
    rz_wire_put_u64(writer, message->count);
    rz_wire_put_u64(writer, message->bytes);
}

static inline void rz_window_head_get(struct rz_wire_reader *reader,
                                      struct rz_window_message *message)
{
    message->kind = rz_wire_get_u32(reader);
    message->what = rz_wire_get_u32(reader);
    message->op = rz_wire_get_u32(reader);
    message->basic = rz_wire_get_u32(reader);
    message->wants_result = rz_wire_get_u32(reader);
    message->error = rz_wire_get_u32(reader);
    message->number = rz_wire_get_u64(reader);
    message->at = rz_wire_get_u64(reader);
    message->count = rz_wire_get_u64(reader);
    message->bytes = rz_wire_get_u64(reader);
}

#endif
