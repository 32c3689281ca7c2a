/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notes: what parts of the library tell each other, process to process: protocol messages of
 * protocol cores (agree/protocol_message.h), words outside of communicators
 * (create/setup_message.h). A note passes the epoch check like any message, but no matcher, and its
 * payload is fetched where it was not sent along.
 */
#ifndef RZ_MPI_NOTE_H
#define RZ_MPI_NOTE_H

#include "mpi/engine/engine.h"
#include "mpi/engine/send_desc.h"
#include "wire/envelope.h"

/* Whoever understands notes of a kind: the payload is whole, and valid during the call only, which
 * may come from inside a callback of a transport. */
typedef void (*rz_control_message_reader_t)(const struct rz_envelope *envelope, const void *data,
                                            size_t bytes);

/* What moves: a note that is sent, or one that is being fetched. */
struct rz_control_message {
    struct rz_send_desc send_desc;
    struct rz_envelope envelope;
    uint32_t process;                   /* to whom it goes, or who wrote it */
    rz_control_message_reader_t reader; /* of one that is fetched */
    unsigned char bytes[];
};

/* A note with room for so many bytes, to be filled and sent; NULL: no memory. */
struct rz_control_message *rz_control_message_new(size_t bytes);

/*
 * Sends it: kind, context, tag and serial of its envelope are set. The note is the callee's from
 * here on. A process that has failed gets nothing.
 */
void rz_control_message_send(uint32_t process, struct rz_control_message *note);

/* A note has passed the epoch check; a longer one than bytes_max is somebody's bug, and dropped. */
void rz_control_message_arrived(struct rz_path *path, const struct rz_envelope *envelope,
                                const void *data, size_t bytes, rz_net_token_t token,
                                size_t bytes_max, rz_control_message_reader_t reader);

/* Whether all that were sent are on their way, and all that are fetched are here. */
bool rz_control_messages_quiet(void);

#endif
