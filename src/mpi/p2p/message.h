/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that have arrived before a receive was posted for them.
 */
#ifndef RZ_MPI_MESSAGE_H
#define RZ_MPI_MESSAGE_H

#include "mpi/comm/comm.h"
#include "mpi/engine/epoch_check.h"
#include "mpi/p2p/match.h"

/* The matcher of all transports. */
extern struct rz_matcher rz_matcher;

/*
 * Which communicator a message is of is known only when it meets a receive. Its source is then
 * looked up there; one that is no member, or another than has sent it, is a bug of its sender.
 */
static inline bool rz_message_fits(const struct rz_comm *comm, const struct rz_envelope *envelope)
{
    return envelope->source >= 0 && envelope->source < comm->remote->size &&
           comm->remote->process[envelope->source] == rz_message_from(envelope);
}

/* A message without a receive. */
struct rz_early {
    struct rz_match_entry match;
    struct rz_envelope envelope;
    struct rz_path *path; /* where the token is of use */
    rz_net_token_t token; /* not NULL: the payload is still with its sender */
    size_t bytes;
    unsigned char data[]; /* the payload, when token is NULL */
};

#define RZ_EARLY_OF(entry)                                                                         \
    ((struct rz_early *)(void *)((char *)(entry)-offsetof(struct rz_early, match)))

/*
 * The first kept message that a receive with this key on comm meets, taken out when `take`; NULL:
 * none. What cannot be of comm (message.c) is dropped on the way.
 */
struct rz_early *rz_message_find(const struct rz_comm *comm, enum rz_context_offset context_offset,
                                 int source, int tag, bool take);

/* A message has met no receive: keeps it, or drops it where it is of no use. path and token: NULL
 * for own ones. */
void rz_message_unexpected(struct rz_path *path, const struct rz_envelope *envelope,
                           const void *data, size_t bytes, rz_net_token_t token);

/* Drops the payload of a message that has passed the epoch check, so that its sender hears of it.
 * token NULL: it has none. */
void rz_message_drop_payload(struct rz_path *path, const struct rz_envelope *envelope,
                             rz_net_token_t token);

/* Nobody wants the message, already out of the matcher; it is freed. */
void rz_message_drop(struct rz_early *message);

/* Takes the message of this envelope out of those that met no receive, dropped ones included;
 * false: it has met one. */
bool rz_message_take_back(const struct rz_envelope *envelope);

/* No send that was dropped will be cancelled any more: at a roll-back and in finalize. */
void rz_messages_forget_dropped(void);

/* The communicator ends: drops what nobody received, and forgets the context. What still comes for
 * it is dropped, too (rz_comm_has_ended): its sender may be one who waits in spite of a failure. */
void rz_message_forget_context(uint64_t context);

/* An epoch begins: messages of it may come. False: no memory. */
bool rz_messages_begin(void);

/* From now on messages that meet no receive are dropped, with what is kept: the process is about to
 * finalize and will receive nothing more, but who sends must end. */
void rz_message_last_call(void);

/* Throws away all messages that were not received: at a roll-back and in finalize. */
void rz_messages_forget(void);

/* Drops what is kept for this context, and from now on what arrives for it. */
void rz_message_close_context(uint64_t context);

#endif
