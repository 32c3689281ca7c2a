/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process asks for when it spawns others: the services fill it in, the daemon carries it
 * out. */
#ifndef RZ_GATEWAY_SPAWN_REQUEST_H
#define RZ_GATEWAY_SPAWN_REQUEST_H

#include "gateway/gateway.h"

/* NULL-terminated. Those above RZ_SPAWN_TEXTS_MAX are not kept, and the request is refused: then n
 * is greater. */
struct rz_spawn_request_texts {
    char **at;
    uint32_t n, room;
};

/* All memory belongs to the request. */
struct rz_spawn_request_command {
    uint32_t maxprocs;
    char *directory;                                      /* NULL: that of the job's processes */
    struct rz_spawn_request_texts arguments, environment; /* the program first; NAME=value */
};

struct rz_spawn_request {
    uint32_t process;  /* that spawns */
    uint64_t question; /* for the answer */
    struct rz_spawn_request_command *commands;
    uint32_t n;
    /* What the services of all nodes learn with the world. */
    struct rz_gateway_texts parent;
};

/* Another command; valid until the next call. */
struct rz_spawn_request_command *rz_spawn_request_add(struct rz_spawn_request *request);
void rz_spawn_request_add_text(struct rz_spawn_request_texts *texts, const char *text);
void rz_spawn_request_set_text(char **text, const char *value);
void rz_spawn_request_clear(struct rz_spawn_request *request);

/* Sends it to the daemon. The answer comes to the service's `spawned`, also during the call. */
void rz_spawn_request_send(struct rz_gateway *gateway, const struct rz_spawn_request *request);

#endif
