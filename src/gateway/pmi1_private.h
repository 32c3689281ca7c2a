/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the PMI-1 service share. */
#ifndef RZ_GATEWAY_PMI1_PRIVATE_H
#define RZ_GATEWAY_PMI1_PRIVATE_H

#include "gateway/gateway.h"

/* Names, keys and values with the NUL at their end. MPICH reads a line of at most 1,023 bytes at
 * once, and the rest of a longer datagram would be lost. */
enum { RZ_PMI1_NAME_MAX = 256, RZ_PMI1_KEY_MAX = 64, RZ_PMI1_VALUE_MAX = 900 };
#define RZ_PMI1_LINE_MAX 4096 /* of a request */
/* What one process may put before a barrier: all of a job travel in one message. */
#define RZ_PMI1_PUT_MAX ((size_t)1 << 20)

struct rz_pmi1_spawn; /* a spawn that is being read (pmi1_spawn.c) */

/* A process of this node. */
struct rz_pmi1_client {
    char line[RZ_PMI1_LINE_MAX]; /* what has arrived of its request */
    size_t n;
    bool cut; /* its line is longer than there is room for */
    bool in_barrier;
    size_t put; /* bytes since the last barrier */
    struct rz_pmi1_spawn *spawn;
};

/* The key space of a world. */
struct rz_pmi1_space {
    struct rz_gateway_waiter barrier; /* of this node; first, so that it is the space itself */
    struct rz_gateway *gateway;
    uint32_t world;
    void *pairs; /* a tree (tsearch) of pairs by key */
    /* What processes here have put since the last barrier: key, value. */
    struct rz_gateway_texts put;
    bool joined; /* this node is in a barrier */
};

struct rz_pmi1 {
    struct rz_pmi1_space **spaces; /* [n_spaces]: of each world */
    uint32_t n_spaces;
    struct rz_pmi1_client **clients; /* [n_clients]: by number; NULL: it has said nothing */
    uint32_t n_clients;
};

static inline struct rz_pmi1 *rz_pmi1_of(const struct rz_gateway *gateway)
{
    return gateway->state;
}

struct rz_pmi1_client *rz_pmi1_client_of(const struct rz_gateway *gateway, uint32_t process);

void rz_pmi1_answer(struct rz_gateway *gateway, uint32_t process, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- pmi1_spawn.c ---- */

/* A line of a request that has several, of which there is one: to spawn. False: it is none. */
bool rz_pmi1_spawn_line(struct rz_gateway *gateway, uint32_t process, const char *line);
/* A line of it was cut: it will be refused. False: there is none. */
bool rz_pmi1_spawn_cut(struct rz_pmi1_client *client);
void rz_pmi1_spawned(struct rz_gateway *gateway, uint64_t question, rz_status_t status,
                     uint32_t world);
void rz_pmi1_spawn_free(struct rz_pmi1_spawn *spawn); /* NULL: nothing */

#endif
