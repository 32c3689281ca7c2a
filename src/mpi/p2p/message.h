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

/* The communicator of a message is known only when it meets a receive. Then its source is looked up
 * there. A source that is no member, or is not the sender, is a bug of the sender. */
static inline bool rz_message_fits(const struct rz_comm *comm, const struct rz_envelope *envelope)
{
    return envelope->source >= 0 && envelope->source < comm->remote->size &&
           comm->remote->process[envelope->source] == rz_message_from(envelope);
}

struct rz_request;

/* A message without a receive. */
struct rz_early {
    struct rz_match_entry match;
    struct rz_envelope envelope;
    struct rz_path *path;          /* the path on which the token is valid */
    rz_net_token_t token;          /* not NULL: the sender still holds the payload */
    struct rz_early **fetched_for; /* not NULL: the payload is being fetched (early_fetch.h), and
                                      there the fetch names this message; or it is lost */
    struct rz_request *receive;    /* that has met the message since, and ends with the fetch */
    void *fetched;                 /* not NULL: it was fetched; the message owns it */
    size_t bytes;
    bool small;           /* its memory is used again (message.c) */
    unsigned char data[]; /* the payload, unless one of the last three says otherwise */
};

/* Named by messages whose payloads were to be fetched, and cannot be had any more. */
extern struct rz_early *rz_early_lost;

static inline bool rz_early_is_lost(const struct rz_early *message)
{
    return message->fetched_for == &rz_early_lost;
}

/* The payload, if it is here. */
static inline const void *rz_early_payload(const struct rz_early *message)
{
    return message->fetched ? message->fetched : message->data;
}

#define RZ_EARLY_OF(entry)                                                                         \
    ((struct rz_early *)(void *)((char *)(entry)-offsetof(struct rz_early, match)))

/* Returns the first kept message that a receive with this key on comm meets, and takes it out if
 * `take`; NULL: none. Drops messages whose source does not fit comm (rz_message_fits). */
struct rz_early *rz_message_look_up(const struct rz_comm *comm,
                                    enum rz_context_offset context_offset, int source, int tag,
                                    bool take);

/* The same; mostly no message is kept at all. */
static inline struct rz_early *rz_message_find(const struct rz_comm *comm,
                                               enum rz_context_offset context_offset, int source,
                                               int tag, bool take)
{
    return rz_match_none_kept(&rz_matcher)
               ? NULL
               : rz_message_look_up(comm, context_offset, source, tag, take);
}

/* A message has met no receive: keeps it, or drops it where none can come. path and token: NULL for
 * messages of this process to itself. */
void rz_message_unexpected(struct rz_path *path, const struct rz_envelope *envelope,
                           const void *data, size_t bytes, rz_net_token_t token);

/* Drops the payload of a message that has passed the epoch check, so that its sender is released.
 * token NULL: it has none. */
void rz_message_drop_payload(struct rz_path *path, const struct rz_envelope *envelope,
                             rz_net_token_t token);

/* Gives back the memory of freed messages that is kept for others. */
void rz_messages_release_memory(void);

/* Frees a message without a token, or whose token was passed on. */
void rz_message_free(struct rz_early *message);

/* Calls visit(message, arg) for each message that is kept. */
void rz_messages_each(void (*visit)(struct rz_early *message, void *arg), void *arg);

/* The envelope of a message from an earlier epoch becomes one of this epoch, from the present
 * process of its slot. The other: of all messages that were dropped. */
void rz_message_renew(struct rz_envelope *envelope);
void rz_messages_renew_dropped(void);

/* Drops and frees a message, already out of the matcher, that no receive wants. */
void rz_message_drop(struct rz_early *message);

/* Takes the message of this envelope out of those that met no receive, including dropped ones.
 * False: it has met a receive. */
bool rz_message_take_back(const struct rz_envelope *envelope);

/* Dropped sends can no longer be cancelled: at a roll-back and in finalize. */
void rz_messages_forget_dropped(void);

/*
 * The communicator ends: drops its messages that were not received, and forgets the context. Later
 * messages for it are dropped, too (rz_comm_has_ended), since their senders may wait for an answer
 * in spite of a failure.
 */
void rz_message_forget_context(uint64_t context);

/* An epoch begins: messages of it may arrive. False: no memory. */
bool rz_messages_begin(void);

/* From now on messages that meet no receive are dropped, and those kept so far as well: the process
 * is about to finalize and will receive nothing more, but the calls of their senders must end. */
void rz_message_last_call(void);

/* Drops all messages that were not received: at a roll-back and in finalize. */
void rz_messages_forget(void);

/* Drops the messages kept for this context, and from now on those that arrive for it. */
void rz_message_close_context(uint64_t context);

#endif
