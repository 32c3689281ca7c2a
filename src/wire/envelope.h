/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The envelope: the header of every message between processes, ahead of its payload. 48 bytes,
 * little-endian. A receiver checks job_token, epoch and incarnation before anything else.
 */
#ifndef RZ_WIRE_ENVELOPE_H
#define RZ_WIRE_ENVELOPE_H

#include <rhizome/types.h>

#include <endian.h>
#include <string.h>

#define RZ_ENVELOPE_BYTES 48

enum rz_envelope_kind {
    RZ_ENVELOPE_MESSAGE,  /* complete for its sender when the payload was copied or fetched */
    RZ_ENVELOPE_SYNC,     /* the sender waits for an acknowledgement that names its serial */
    RZ_ENVELOPE_ACK,      /* the message `serial` was matched */
    RZ_ENVELOPE_PROTOCOL, /* of a protocol core: bypasses the matcher (mpi/agree/protocol_message.h)
                           */
    RZ_ENVELOPE_SETUP,  /* not of a communicator: bypasses the matcher (mpi/create/setup_message.h)
                         */
    RZ_ENVELOPE_CANCEL, /* the sender cancels the message `serial`, if it is not matched yet */
    RZ_ENVELOPE_CANCELLED, /* the answer to CANCEL: the message is cancelled */
    RZ_ENVELOPE_MET,     /* the other answer to CANCEL: the message was matched, or was not kept */
    RZ_ENVELOPE_INQUIRY, /* query whether a message of this context and tag will be sent; serial: a
                            failed process (mpi/p2p/inquiry.h) */
    RZ_ENVELOPE_ABSENT,  /* the answer: none will be sent; serial: as in INQUIRY, or 0: the
                            receiver knows of one */
    RZ_ENVELOPE_WINDOW,  /* of a window (wire/window_messages.h): bypasses the matcher */
    RZ_ENVELOPE_SNAPSHOT, /* of proto/snapshot: bypasses the matcher (mpi/rewind) */
    RZ_ENVELOPE_COUNT
};

struct rz_envelope {
    uint32_t job_token;
    uint32_t epoch;
    uint32_t incarnation; /* of the sender */
    uint32_t slot;        /* the sender in the table of processes */
    uint64_t context;     /* communicator and context offset */
    int32_t source;       /* the sender's rank in the communicator */
    int32_t tag;
    uint32_t kind; /* enum rz_envelope_kind */
    uint32_t zero; /* reserved; 0 */
    uint64_t serial;
};

_Static_assert(sizeof(struct rz_envelope) == RZ_ENVELOPE_BYTES,
               "no holes: the struct is the wire form");

/* Swaps between the host's byte order and the wire's; no effect on little-endian machines. */
static inline void rz_envelope_swap(struct rz_envelope *envelope)
{
    envelope->job_token = htole32(envelope->job_token);
    envelope->epoch = htole32(envelope->epoch);
    envelope->incarnation = htole32(envelope->incarnation);
    envelope->slot = htole32(envelope->slot);
    envelope->context = htole64(envelope->context);
    envelope->source = (int32_t)htole32((uint32_t)envelope->source);
    envelope->tag = (int32_t)htole32((uint32_t)envelope->tag);
    envelope->kind = htole32(envelope->kind);
    envelope->zero = htole32(envelope->zero);
    envelope->serial = htole64(envelope->serial);
}

static inline void rz_envelope_encode(const struct rz_envelope *envelope, void *bytes)
{
    struct rz_envelope wire = *envelope;
    rz_envelope_swap(&wire);
    memcpy(bytes, &wire, sizeof(wire));
}

/* Returns false if the bytes are no envelope: then *envelope must not be used. */
static inline bool rz_envelope_decode(struct rz_envelope *envelope, const void *bytes, size_t n)
{
    if (n != RZ_ENVELOPE_BYTES) {
        return false;
    }
    memcpy(envelope, bytes, sizeof(*envelope));
    rz_envelope_swap(envelope);
    return envelope->kind < RZ_ENVELOPE_COUNT && envelope->zero == 0;
}

#endif
