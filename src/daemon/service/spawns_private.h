/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of spawns share; no other file includes this. */
#ifndef RZ_DAEMON_SPAWNS_PRIVATE_H
#define RZ_DAEMON_SPAWNS_PRIVATE_H

#include "daemon/service/spawns.h"

/*
 * The order of the cohort (node, serial): what its processes execute. It is made by whichever
 * arrives first, the order itself or the decision. Its users are counted: each slot whose process
 * it describes, the request of a process of this node, and one more until the cohort is spawned or,
 * if it is refused, both the decision and the order have arrived. It is dropped with the last user.
 */
struct rz_spawns_order {
    struct rz_spawns_order *next;
    rz_id node;
    uint32_t serial;
    bool has_come;
    bool refused;                /* refused by decision, before the order has arrived */
    struct rz_program *programs; /* [n_programs], one for each command */
    uint32_t n_programs;
    bool *reported;    /* [n_programs]: this node has said that it cannot execute the program */
    uint32_t *command; /* [n]: the command of each process */
    uint32_t n;
    uint8_t *parent;
    uint32_t parent_bytes;
    struct rz_link_process *processes; /* [n_spawned], as spawned; NULL: not decided yet */
    uint32_t n_spawned;
    uint32_t world; /* 0: not decided yet */
    bool served;    /* the server has its programs */
    uint32_t users;
};

/* A request of a process of this node that waits for its answer. */
struct rz_spawns_request {
    struct rz_spawns_request *next;
    uint32_t asker, incarnation;
    uint64_t question;
    struct rz_spawns_order *order; /* the requested cohort; NULL: single spawns are requested */
    bool early;                    /* the other daemons are told when the job runs */
    bool refused;                  /* the cohort was refused by decision */
    rz_status_t why;
    struct rz_link_process *spawns; /* [n] */
    bool *told;                     /* [n]: the other daemons were told */
    uint32_t n;
};

/* A process to be ended that was not started yet, or whose spawn is not known here yet. */
struct rz_spawns_end_wanted {
    struct rz_spawns_end_wanted *next;
    uint32_t slot, incarnation, code;
    char by[256];
};

struct rz_spawns_slot {
    /* The newest incarnation started here, or reported as start_failed. */
    uint32_t begun;
    struct rz_spawns_order *order; /* NULL: it executes the job's program */
    uint32_t index;                /* the number of the process in the order */
};

struct rz_spawns {
    struct rz_spawns_config config;
    const struct rz_own_node *own;  /* copied from config */
    struct rz_spawns_server server; /* no calls: processes of this MPI */
    struct rz_spawns_slot *slots;   /* [n_slots] */
    struct rz_spawns_order *orders;
    struct rz_spawns_request *requests;
    struct rz_spawns_end_wanted *ends;
    uint32_t serial;
    uint32_t n_worlds;   /* spawned so far */
    rz_status_t refused; /* why the last refused spawns were refused */
    bool refusal_told;
    uint8_t *cohort; /* room for the processes of a COHORT message */
};

/* ---- spawns_orders.c: what spawned processes execute ---- */

/* Returns the order; makes it if there is none, and then expects the rest of it. */
struct rz_spawns_order *rz_spawns_order_of(struct rz_spawns *spawns, rz_id node, uint32_t serial);

/* Whether what each of count spawned processes is told, or their gateway, fits into one message:
 * their numbers, and parent_bytes of those that spawned them. */
bool rz_spawns_cohort_fits(const struct rz_spawns *spawns, uint32_t count, uint32_t parent_bytes);

/* Fills in an order from its commands, for count processes. False: it is malformed. */
bool rz_spawns_order_fill(const struct rz_spawns *spawns, struct rz_spawns_order *order,
                          const uint8_t *commands, uint32_t bytes, uint32_t count);

/* If the programs of its processes are known, or never will be: tells the server, once. */
void rz_spawns_order_serve(const struct rz_spawns *spawns, struct rz_spawns_order *order);

/* Stores what the spawned processes are told about the processes that spawned them. */
void rz_spawns_order_parent(struct rz_spawns_order *order, const uint8_t *parent, uint32_t bytes);

/* Removes one user. */
void rz_spawns_order_release(struct rz_spawns *spawns, struct rz_spawns_order *order);

/* From now on the slot's process is described by order, or by none (NULL). */
void rz_spawns_slot_use(struct rz_spawns *spawns, struct rz_spawns_slot *slot,
                        struct rz_spawns_order *order, uint32_t index);

/* At the end of the daemon: drops all orders, whatever their users. */
void rz_spawns_orders_close(struct rz_spawns *spawns);

/* ---- spawns_asked.c: requests of processes of this node ---- */

void rz_spawns_handle_link(struct rz_spawns *spawns);

/* Reports a refusal in words, only once, because programs may ask again and again. */
void rz_spawns_tell_refusal(struct rz_spawns *spawns, const char *why);

/* A cohort requested by this node was refused by decision. */
void rz_spawns_ask_refused(struct rz_spawns *spawns, uint32_t serial, rz_status_t why);

/* At the end of the daemon: drops all requests. */
void rz_spawns_requests_close(struct rz_spawns *spawns);

#endif
