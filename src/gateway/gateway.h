/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all parts of a gateway know: the job, which of its processes and nodes have failed, the
 * stream to the daemon, and messages to other gateways. A service speaks a protocol with the node's
 * processes (pmix_service.c, pmi1_service.c); fences and published data are the same for all.
 */
#ifndef RZ_GATEWAY_GATEWAY_H
#define RZ_GATEWAY_GATEWAY_H

#include "gateway/collective.h"
#include "gateway/peer_messages.h"
#include "gateway/registry.h"
#include "wire/gateway_messages.h"

struct event;
struct event_base;
struct rz_frames;
struct rz_gateway;
struct rz_gateway_texts;

/* The job, as JOB says. */
#define RZ_GATEWAY_SECRET_BYTES 16

struct rz_served_job {
    uint32_t protocol; /* enum rz_gateway_protocol */
    uint64_t id;
    uint32_t node, n_nodes, n_ranks, n_slots, verbosity;
    bool tolerant;       /* the programs handle failures, as the user says */
    bool oversubscribed; /* the ranks outnumber the processors */
    char secret[2 * RZ_GATEWAY_SECRET_BYTES + 1]; /* in hexadecimal; its processes alone know it */
    char *folder;                                 /* exists; its contents end with the node */
};

/* A process of any node. All gateways identify it by its number in the job: a rank by its rank;
 * those of each spawn follow, in the order of the spawns. It is never replaced. */
struct rz_gateway_process {
    uint32_t world, slot, incarnation; /* incarnation 0: a rank that has not started here */
    uint32_t node, program;
    uint32_t pid;       /* 0: not known here */
    bool ended, failed; /* failed: it has ended, not in order */
};

/* Processes that begin together: the ranks (world 0), or those of a spawn. */
struct rz_gateway_world {
    uint32_t first, n; /* numbers of its processes */
    uint32_t home;     /* the node of the process that requested it */
    bool served;       /* the service here serves it */
    /* The answer to the request waits until all live gateways serve the world. */
    bool answered;
    uint64_t question;
    bool *served_at; /* [n_nodes]; at home only */
};

/* What waits for the end of a fence or of a change. status: RZ_ERR_PROC_FAILED if a participant of
 * the fence was missing. */
struct rz_gateway_waiter {
    void (*done)(struct rz_gateway_waiter *waiter, rz_status_t status, const uint8_t *data,
                 size_t bytes);
};

/* A protocol. NULL: there is nothing to do. */
struct rz_gateway_service {
    /* Serves from now on, and calls rz_gateway_ready. *why (static text) describes an error. */
    rz_status_t (*open)(struct rz_gateway *gateway, const char **why);
    void (*close)(struct rz_gateway *gateway);
    /* A process of any node has ended or failed. */
    void (*process_ended)(struct rz_gateway *gateway, uint32_t process, bool failed);
    /* All its processes were reported before. */
    void (*node_failed)(struct rz_gateway *gateway, uint32_t node);
    /* A process has written to its link. */
    void (*lines)(struct rz_gateway *gateway, uint32_t process, const uint8_t *data, size_t bytes);
    /* Another gateway has sent a message other than FENCE and CHANGE. */
    void (*peer)(struct rz_gateway *gateway, uint32_t node, const struct rz_peer_message *message);
    /* A process has published something. */
    void (*added)(struct rz_gateway *gateway);
    /* All is known of a spawned world: serves it, and calls rz_gateway_ready. parent: what the
     * service of the parent's node has said (spawn_request.h); empty if that node has failed. */
    void (*world)(struct rz_gateway *gateway, uint32_t world, const uint8_t *parent, size_t bytes);
    /* The answer to a request (spawn_request.h): the world is served at all live nodes. */
    void (*spawned)(struct rz_gateway *gateway, uint64_t question, rz_status_t status,
                    uint32_t world);
};

struct rz_gateway {
    struct event_base *base;
    struct rz_served_job job;
    struct rz_gateway_process *processes; /* [n_processes] */
    uint32_t n_processes;
    struct rz_gateway_world *worlds; /* [n_worlds] */
    uint32_t n_worlds;
    uint32_t *process_of; /* [n_slots]: the newest of each slot */
    bool *node_failed;    /* [n_nodes]: with its gateway, or this alone */
    bool *node_told;      /* [n_nodes]: its failure was told to the service */
    struct rz_collectives *collectives;
    struct rz_registry *registry;
    const struct rz_gateway_service *const *services;
    const struct rz_gateway_service *service; /* of the job's protocol; NULL before JOB */
    void *state;                              /* of the service */
    /* The rest belongs to gateway.c. */
    struct rz_frames *stream;
    struct event *readable, *writable;
    uint8_t *buffer; /* for messages to be sent; grows */
    size_t buffer_bytes;
    struct rz_gateway_parts *parts; /* [n_nodes]: of a message that comes in parts */
    struct rz_gateway_early *early; /* messages about worlds that are not known here yet */
    int exit_status;
};

extern const struct rz_gateway_service rz_pmix_service; /* as Open MPI's; only with libpmix */
extern const struct rz_gateway_service rz_pmi1_service; /* as MPICH's */

/* Serves the daemon at fd until it closes the stream, or the gateway gives up. services: of each
 * protocol; NULL: this build does not have it. Returns the exit status. */
int rz_gateway_run(int fd,
                   const struct rz_gateway_service *const services[RZ_GATEWAY_PROTOCOL_COUNT]);

/* ---- to the daemon ---- */

void rz_gateway_send(struct rz_gateway *gateway, const struct rz_gateway_message *message);

/* Returns when the daemon can read all that was sent. */
void rz_gateway_flush(struct rz_gateway *gateway);

/* A line for the user, if the job's verbosity is at least level. */
void rz_gateway_log(struct rz_gateway *gateway, uint32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The gateway cannot serve any more: the daemon says why and ends the node's processes. */
void rz_gateway_give_up(struct rz_gateway *gateway, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void rz_gateway_client(struct rz_gateway *gateway, uint32_t process, enum rz_client_state state);

/* The service serves a world: its processes may start. The texts are NAME=value, one after another;
 * a user's own settings override defaults. rank_variable will hold the rank in the world. */
void rz_gateway_ready(struct rz_gateway *gateway, uint32_t world,
                      const struct rz_gateway_texts *texts, const struct rz_gateway_texts *defaults,
                      const char *rank_variable);

/* ---- to other gateways; node RZ_GATEWAY_ALL: all live ones ---- */

void rz_gateway_peer(struct rz_gateway *gateway, uint32_t node,
                     const struct rz_peer_message *message);

/* ---- worlds.c ---- */

/* Adds the next world, requested by a process of node home; of each process slot, incarnation, node
 * and program count. */
void rz_gateway_add_world(struct rz_gateway *gateway, uint32_t home,
                          const struct rz_gateway_process *processes, uint32_t n);

/* The number of worlds that are served here, from world 0 on without a gap. */
uint32_t rz_gateway_n_served(const struct rz_gateway *gateway);

/* The number of a process, or UINT32_MAX. */
uint32_t rz_gateway_find(const struct rz_gateway *gateway, uint32_t slot, uint32_t incarnation);

/* The rank of a process in its world. */
static inline uint32_t rz_gateway_rank(const struct rz_gateway *gateway, uint32_t process)
{
    return process - gateway->worlds[gateway->processes[process].world].first;
}

static inline bool rz_gateway_is_here(const struct rz_gateway *gateway, uint32_t process)
{
    return process < gateway->n_processes && gateway->processes[process].node == gateway->job.node;
}

/* ---- texts one after another, each with its NUL ---- */

struct rz_gateway_texts {
    uint8_t *at;
    size_t bytes;
};

void rz_gateway_add_text(struct rz_gateway_texts *texts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
