/*
 * Messages that have arrived: the door that drops what is not of this epoch and its living
 * incarnations, and what came before anybody asked for it.
 */
#ifndef RZ_MPI_MESSAGE_H
#define RZ_MPI_MESSAGE_H

#include "mpi/engine.h"
#include "wire/envelope.h"

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

/* Past the door: gives the message to the receive that waits for it, or keeps it. path and token:
 * NULL for own ones. */
void rz_message_take(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                     size_t bytes, rz_net_token_t token);

/* The kept message, already out of the matcher, meets request; it is freed. */
void rz_message_meet(struct rz_request *request, struct rz_early *message);

/* Nobody wants the message, already out of the matcher; it is freed. */
void rz_message_drop(struct rz_early *message);

/* Messages that a probe has taken and nobody received: they are dropped, and their handles stale
 * (probe.c). */
void rz_matched_close(void);

/* Drops what is kept for this context, and from now on what arrives for it. */
void rz_message_close_context(uint64_t context);

#endif
