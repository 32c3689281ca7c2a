/*
 * Letters: how the protocol cores inside the library talk, process to process. A letter is a
 * message of a core (rhizome/protocol.h) for one communicator. It passes the door like any message,
 * but no matcher: it works on communicators that are broken or revoked.
 *
 * Letters are read outside transports' callbacks, one after the other, so that what they lead to
 * may send, end requests and learn of deaths.
 */
#ifndef RZ_MPI_COUNCIL_LETTER_H
#define RZ_MPI_COUNCIL_LETTER_H

#include "mpi/core/engine.h"
#include "wire/envelope.h"

#include <rhizome/protocol.h>

struct rz_letter {
    struct rz_letter *next;
    uint64_t context; /* of the communicator it is for, without a plane */
    uint32_t process; /* the sender */
    struct rz_message message;
    uint64_t items[];
};

/* Sends a core's message to a process; one that is dead gets nothing. */
void rz_letter_send(uint32_t process, uint64_t context, const struct rz_message *message,
                    const uint64_t *items);

/* An envelope of kind RZ_ENVELOPE_LETTER has passed the door. path and token as in
 * rz_net_host.arrived. */
void rz_letter_arrived(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                       size_t bytes, rz_net_token_t token);

/* A letter that came another way, from a process of which this one knows no death; it belongs to
 * the callee. */
void rz_letter_put(struct rz_letter *letter);

/* Whether letters lie unread; read by rz_letters_read. */
extern struct rz_letter *rz_letters_unread;

/* Hands each unread letter, oldest first, to rz_council_letter; how many. */
unsigned rz_letters_read(void);

/* Throws the unread ones away: at a roll-back and in finalize. */
void rz_letters_close(void);

#endif
