/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control messages: what modules of the library in different processes tell each other: protocol
 * messages of protocol cores (agree/protocol_message.h) and setup messages outside of communicators
 * (create/setup_message.h). A control message passes the epoch check like any message, but no
 * matcher. If its payload was not sent along, it is fetched.
 */
#ifndef RZ_MPI_NOTE_H
#define RZ_MPI_NOTE_H

#include "mpi/engine/engine.h"
#include "mpi/engine/send_desc.h"
#include "wire/envelope.h"

/* Reads control messages of one kind. The payload is complete, and valid only during the call,
 * which may come from inside a callback of a transport. */
typedef void (*rz_control_message_reader_t)(const struct rz_envelope *envelope, const void *data,
                                            size_t bytes);

/* One transfer: a control message that is sent, or one whose payload is fetched. */
struct rz_control_message {
    struct rz_send_desc send_desc;
    struct rz_envelope envelope;
    uint32_t process;                   /* the receiver, or the sender of one that is fetched */
    rz_control_message_reader_t reader; /* of a message that is fetched */
    bool is_long;                       /* its memory is kept for the next one */
    unsigned char bytes[];
};

/* Allocates a control message with space for so many bytes, to be filled and sent; NULL: no
 * memory. */
struct rz_control_message *rz_control_message_new(size_t bytes);

/* Frees one that was not sent. */
void rz_control_message_free(struct rz_control_message *note);

/* Sends a control message: kind, context, tag and serial of its envelope are set. The callee owns
 * it from here on. Nothing is sent to a process that has failed. */
void rz_control_message_send(uint32_t process, struct rz_control_message *note);

/* A kind of control message. One longer than bytes_max is a bug of its sender, and is dropped. */
struct rz_control_message_kind {
    size_t bytes_max;
    rz_control_message_reader_t reader;
};

/* A control message has passed the epoch check. */
void rz_control_message_arrived(struct rz_path *path, const struct rz_envelope *envelope,
                                const void *data, size_t bytes, rz_net_token_t token,
                                const struct rz_control_message_kind *kind);

/* Whether all control messages that were sent are on their way, and all payloads to be fetched are
 * here. */
bool rz_control_messages_quiet(void);

#endif
