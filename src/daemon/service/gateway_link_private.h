/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of gateway_link share; no other file includes this. */
#ifndef RZ_DAEMON_GATEWAY_LINK_PRIVATE_H
#define RZ_DAEMON_GATEWAY_LINK_PRIVATE_H

#include "daemon/service/gateway_link.h"
#include "wire/gateway_messages.h"

/* What the environment of a world's processes gets, from READY. */
struct rz_gateway_given {
    char **texts, **defaults, *rank_variable; /* rank_variable NULL: the world is not ready */
};

struct rz_gateway_link {
    struct rz_gateway_link_config config;
    const struct rz_own_node *own; /* copied from config */
    struct rz_frames *stream;      /* NULL: the gateway has failed */
    struct event *readable, *writable;
    uint32_t *connected;            /* [n_slots]: the newest incarnation that has connected here */
    bool draining;                  /* its messages are being handled */
    bool tolerant;                  /* its processes have asked to be told of failures */
    struct rz_gateway_given *given; /* [n_given]: of each world */
    uint32_t n_given;
    uint8_t frame[RZ_GATEWAY_FRAME_MAX]; /* of a message to it */
};

/* To the gateway; one that does not read has failed. */
void rz_gateway_link_send(struct rz_gateway_link *link, const struct rz_gateway_message *message);

/* A process of any node has failed: tells the gateway, and rzrun what follows from it. */
void rz_gateway_link_failed(struct rz_gateway_link *link, uint32_t slot, uint32_t incarnation);

/* ---- gateway_link_worlds.c: the start of ranks and of spawned processes ---- */

bool rz_gateway_is_ready(const struct rz_gateway_link *link, uint32_t world);

/* Serves spawned processes from now on. */
void rz_gateway_serve_spawns(struct rz_gateway_link *link);

/* The gateway's messages; false: malformed. */
bool rz_gateway_on_ready(struct rz_gateway_link *link, const struct rz_gateway_message *told);
bool rz_gateway_on_spawn(struct rz_gateway_link *link, const struct rz_gateway_message *told);

void rz_gateway_given_close(struct rz_gateway_link *link);

#endif
