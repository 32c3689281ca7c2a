/* SPDX-License-Identifier: BSD-3-Clause */
/* The user of a transport under test: its sends and fetches, each of which must end once, and the
 * announcements of payloads that are still in their senders' memory. */
#ifndef RZ_FUZZ_TRANSPORT_H
#define RZ_FUZZ_TRANSPORT_H

#include "fuzz.h"
#include "net/net.h"

#include <stdlib.h>
#include <string.h>

enum { RZ_FUZZ_OPS_MAX = 24 };

struct rz_fuzz_op {
    struct rz_net_op op;
    bool pending;
    uint8_t *data;
};

struct rz_fuzz_user {
    struct rz_fuzz_input *input;
    /* Of the transport: from how many bytes on a payload may stay with its sender, and up to how
     * many it may come whole. */
    size_t token_least, whole_max;
    size_t fetch_max; /* like a receiver with a short buffer */
    rz_status_t (*fetch)(struct rz_net *net, rz_net_token_t token, void *data, size_t bytes,
                         struct rz_net_op *op);
    void (*drop)(struct rz_net *net, rz_net_token_t token);
    struct rz_net *net;

    struct rz_fuzz_op ops[RZ_FUZZ_OPS_MAX];
    unsigned n_ops;
    rz_net_token_t tokens[RZ_FUZZ_OPS_MAX];
    size_t token_bytes[RZ_FUZZ_OPS_MAX];
    unsigned n_tokens;
    uint64_t sum; /* of all received bytes: they could be read */
};

static inline void rz_fuzz_op_end(struct rz_fuzz_op *op)
{
    rz_fuzz_holds(op->pending);
    op->pending = false;
    free(op->data);
    op->data = NULL;
}

static inline void rz_fuzz_op_done(struct rz_net_op *op, rz_status_t status)
{
    (void)status;
    rz_fuzz_op_end(op->user);
}

/* One more operation with this number of bytes; NULL: there were enough. */
static inline struct rz_fuzz_op *rz_fuzz_op_begin(struct rz_fuzz_user *user, size_t bytes)
{
    if (user->n_ops == RZ_FUZZ_OPS_MAX) {
        return NULL;
    }
    struct rz_fuzz_op *op = &user->ops[user->n_ops++];
    *op = (struct rz_fuzz_op){.op = {.done = rz_fuzz_op_done, .user = op, .header_bytes = 48},
                              .pending = true,
                              .data = malloc(bytes)};
    memset(op->data, 7, bytes);
    return op;
}

/* What the transport said of the operation: it may have nothing to wait for. */
static inline void rz_fuzz_op_began(struct rz_fuzz_op *op, rz_status_t status)
{
    if (status != RZ_IN_PROGRESS) {
        rz_fuzz_op_end(op);
    }
}

/* `arrived` of struct rz_net_host; arg: the user. */
static inline void rz_fuzz_arrived(void *arg, const void *header, uint32_t header_bytes,
                                   const void *data, size_t bytes, rz_net_token_t token)
{
    struct rz_fuzz_user *user = arg;
    rz_fuzz_holds(header_bytes <= RZ_NET_HEADER_MAX);
    for (uint32_t i = 0; i < header_bytes; i++) {
        user->sum += ((const uint8_t *)header)[i];
    }
    if (!token) {
        rz_fuzz_holds(bytes <= user->whole_max);
        for (size_t i = 0; i < bytes; i++) {
            user->sum += ((const uint8_t *)data)[i];
        }
        return;
    }
    rz_fuzz_holds(!data && bytes >= user->token_least);
    if (user->n_tokens == RZ_FUZZ_OPS_MAX) {
        user->drop(user->net, token);
        return;
    }
    user->token_bytes[user->n_tokens] = bytes;
    user->tokens[user->n_tokens++] = token;
}

/* Fetches or drops one of the payloads that still lie with their senders. */
static inline void rz_fuzz_use_token(struct rz_fuzz_user *user)
{
    if (user->n_tokens == 0 || user->n_ops == RZ_FUZZ_OPS_MAX) {
        return;
    }
    unsigned i = (unsigned)rz_fuzz_below(user->input, user->n_tokens);
    rz_net_token_t token = user->tokens[i];
    size_t bytes = user->token_bytes[i] < user->fetch_max ? user->token_bytes[i] : user->fetch_max;
    user->n_tokens--;
    user->tokens[i] = user->tokens[user->n_tokens];
    user->token_bytes[i] = user->token_bytes[user->n_tokens];
    if (rz_fuzz_below(user->input, 4) == 0) {
        user->drop(user->net, token);
        return;
    }
    struct rz_fuzz_op *op = rz_fuzz_op_begin(user, bytes);
    rz_fuzz_op_began(op, user->fetch(user->net, token, op->data, bytes, &op->op));
}

static inline void rz_fuzz_drop_tokens(struct rz_fuzz_user *user)
{
    while (user->n_tokens > 0) {
        user->drop(user->net, user->tokens[--user->n_tokens]);
    }
}

static inline void rz_fuzz_all_ended(const struct rz_fuzz_user *user)
{
    for (unsigned i = 0; i < user->n_ops; i++) {
        rz_fuzz_holds(!user->ops[i].pending);
    }
}

#endif
