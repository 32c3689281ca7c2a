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

/* Sends a core's message to a process; nothing is sent to one that has failed. */
void rz_protocol_message_send(uint32_t process, uint64_t context, const struct rz_message *message,
                              const uint64_t *items);

/* An envelope of kind RZ_ENVELOPE_PROTOCOL has passed the epoch check. path and token as in
 * rz_net_host.arrived. */
void rz_protocol_message_arrived(struct rz_path *path, const struct rz_envelope *envelope,
                                 const void *data, size_t bytes, rz_net_token_t token);

/* Queues a protocol message that came on another path, from a process without a known failure; the
 * callee owns it. */
void rz_protocol_message_put(struct rz_protocol_message *protocol_message);

/* Takes the oldest unread one, which the caller then owns; NULL: all were read. As long as there
 * are any, RZ_WORK_PROTOCOL_MESSAGES is due. */
struct rz_protocol_message *rz_protocol_message_take(void);

/* Drops the unread ones: at a roll-back and in finalize. */
void rz_protocol_messages_close(void);

#endif
