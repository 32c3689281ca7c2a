/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process asks for when it spawns others: the services fill it in, the daemon carries it
 * out. */
#ifndef RZ_GATEWAY_SPAWN_REQUEST_H
#define RZ_GATEWAY_SPAWN_REQUEST_H

#include "gateway/gateway.h"

/* All memory belongs to the request. */
struct rz_spawn_request_command {
    uint32_t maxprocs;
    char *directory;                 /* NULL: that of the job's processes */
    char **arguments, **environment; /* NULL-terminated: the program first; NAME=value */
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
/* Another text of an array of texts. */
void rz_spawn_request_add_text(char ***texts, const char *text);
void rz_spawn_request_set_text(char **text, const char *value);
void rz_spawn_request_clear(struct rz_spawn_request *request);

/* Sends it to the daemon. The answer comes to the service's `spawned`, also during the call. */
void rz_spawn_request_send(struct rz_gateway *gateway, const struct rz_spawn_request *request);

#endif
