/*
 * Messages that have arrived: the epoch check that drops what is not of this epoch and its living
 * incarnations, and what came before anybody asked for it.
 */
#ifndef RZ_MPI_MESSAGE_H
#define RZ_MPI_MESSAGE_H

#include "mpi/comm/comm.h"
#include "mpi/core/engine.h"
#include "wire/envelope.h"

/* The number of the process that has sent it. */
static inline uint32_t rz_message_from(const struct rz_envelope *envelope)
{
    return rz_process(envelope->slot, envelope->incarnation);
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

/* Past the epoch check: gives the message to the receive that waits for it, or keeps it. path and
 * token: NULL for own ones. */
void rz_message_take(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                     size_t bytes, rz_net_token_t token);

/* A message has passed the epoch check: to where its kind belongs. As rz_net_host.arrived. */
void rz_message_enter(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                      size_t bytes, rz_net_token_t token);

/* The kept message, already out of the matcher, meets request; it is freed. */
void rz_message_meet(struct rz_request *request, struct rz_early *message);

/* Nobody wants the message, already out of the matcher; it is freed. */
void rz_message_drop(struct rz_early *message);

/* Messages that a probe has taken and nobody received: they are dropped, and their handles stale
 * (probe.c). */
void rz_matched_close(void);

/* comm was revoked: what is still with its sender stays there, who need not wait for it (probe.c).
 */
void rz_matched_revoked(const struct rz_comm *comm);

/* The communicator ends: drops what nobody received, and forgets the context. What still comes for
 * it is dropped, too (rz_comm_has_ended): its sender may be one who waits in spite of a failure. */
void rz_message_forget_context(uint64_t context);

/* From now on messages that meet no receive are dropped, with what is kept: the process is about to
 * finalize and will receive nothing more, but who sends must end. */
void rz_message_last_call(void);

/* Drops what is kept for this context, and from now on what arrives for it. */
void rz_message_close_context(uint64_t context);

#endif
