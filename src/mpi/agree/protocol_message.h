/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protocol messages: the messages that protocol cores inside the library exchange between
 * processes. A protocol message is a message of a core (rhizome/protocol.h) for one communicator.
 * It passes the epoch check like any message, but no matcher: it works on communicators that are
 * revoked or have failed members.
 *
 * Protocol messages are read outside transports' callbacks, one after the other, so that their
 * readers may send, end requests and learn of failures.
 */
#ifndef RZ_MPI_AGREEMENT_CONTEXT_PROTOCOL_MESSAGE_H
#define RZ_MPI_AGREEMENT_CONTEXT_PROTOCOL_MESSAGE_H

#include "mpi/engine/control_message.h"
#include "mpi/engine/hooks.h"
#include "mpi/engine/liveness.h"
#include "wire/envelope.h"

#include <rhizome/protocol.h>

struct rz_protocol_message {
    struct rz_protocol_message *next;
    uint64_t context; /* of the communicator it is for, without a context offset */
    uint32_t process; /* the sender */
    struct rz_message message;
    uint64_t items[];
};

/* Unread ones, in the order of their coming. work is due as long as there are any. */
struct rz_protocol_queue {
    struct rz_protocol_message *first, **last;
    enum rz_work work;
};

/* The queue becomes the owner of the message. */
void rz_protocol_queue_put(struct rz_protocol_queue *queue, struct rz_protocol_message *message);

/* The oldest one, which the caller then owns; NULL: all were read. */
struct rz_protocol_message *rz_protocol_queue_take(struct rz_protocol_queue *queue);

/* Drops all. */
void rz_protocol_queue_close(struct rz_protocol_queue *queue);

/* A core's message as a control message, whose kind and context the caller sets. */
struct rz_control_message *rz_protocol_message_pack(const struct rz_message *message,
                                                    const uint64_t *items);

/* What has arrived as a control message; the caller owns it. NULL: it is no message of a core,
 * which is counted as foreign. */
struct rz_protocol_message *rz_protocol_message_unpack(const struct rz_envelope *envelope,
                                                       const void *data, size_t bytes);

/* ---- Those of communicators ---- */

/* Closed at a roll-back and in finalize. */
extern struct rz_protocol_queue rz_agree_unread;

/* Sends a core's message to a process; nothing is sent to one that has failed. */
void rz_protocol_message_send(uint32_t process, uint64_t context, const struct rz_message *message,
                              const uint64_t *items);

/* An envelope of kind RZ_ENVELOPE_PROTOCOL has passed the epoch check. path and token as in
 * rz_net_host.arrived. */
void rz_protocol_message_arrived(struct rz_path *path, const struct rz_envelope *envelope,
                                 const void *data, size_t bytes, rz_net_token_t token);

#endif
