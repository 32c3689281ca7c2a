/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of spawns share; nobody else includes this. */
#ifndef RZ_DAEMON_SPAWNS_PRIVATE_H
#define RZ_DAEMON_SPAWNS_PRIVATE_H

#include "daemon/service/spawns.h"

/*
 * What the cohort (node, serial) runs. It exists from whatever of it comes first: the order itself,
 * or the decision. Its users: each slot whose process it describes, the wish of a process of this
 * node, and, until both have come or the cohort is spawned, that something is still expected. With
 * the last one it is forgotten.
 */
struct rz_spawns_order {
    struct rz_spawns_order *next;
    rz_id node;
    uint32_t serial;
    bool has_come;
    bool refused;                /* by decision, before it has come */
    struct rz_program *programs; /* [n_programs], of the commands */
    uint32_t n_programs;
    uint32_t *command; /* [n]: of each process */
    uint32_t n;
    uint8_t *parent;
    uint32_t parent_bytes;
    struct rz_link_process
        *processes; /* [n_spawned], as they were spawned; NULL: not decided yet */
    uint32_t n_spawned;
    uint32_t users;
};

/* What a process of this node waits for. */
struct rz_spawns_ask {
    struct rz_spawns_ask *next;
    uint32_t asker, incarnation;
    uint64_t question;
    struct rz_spawns_order *order; /* of the cohort wanted; NULL: spawns are */
    bool refused;                  /* the cohort is, by decision */
    rz_status_t why;
    struct rz_link_process *spawns; /* [n] */
    bool *told;                     /* [n]: to the other daemons */
    uint32_t n;
};

/* A process to be ended that is not begun yet, or whose spawn we have not heard of. */
struct rz_spawns_end_wanted {
    struct rz_spawns_end_wanted *next;
    uint32_t slot, incarnation, code;
    char by[256];
};

struct rz_spawns_slot {
    uint32_t begun;                /* the newest that was begun here, or told as start_failed */
    struct rz_spawns_order *order; /* NULL: the job's program */
    uint32_t index;                /* in the order */
};

struct rz_spawns {
    struct rz_spawns_config config;
    const struct rz_own_node *own; /* of config */
    struct rz_spawns_slot *slots;  /* [n_slots] */
    struct rz_spawns_order *orders;
    struct rz_spawns_ask *wishes;
    struct rz_spawns_end_wanted *ends;
    uint32_t serial;
    rz_status_t refused; /* why the last spawns were that were */
    bool refusal_told;
    uint8_t *cohort; /* the processes of the last COHORT */
};

/* ---- spawns_orders.c: what spawned processes run ---- */

/* Made when there is none; then something of it is expected. */
struct rz_spawns_order *rz_spawns_order_of(struct rz_spawns *spawns, rz_id node, uint32_t serial);

/* From the order's commands, of count processes. False: it is malformed. */
bool rz_spawns_order_fill(const struct rz_spawns *spawns, struct rz_spawns_order *order,
                          const uint8_t *commands, uint32_t bytes, uint32_t count);

/* What is told to the spawned processes of who spawned them. */
void rz_spawns_order_parent(struct rz_spawns_order *order, const uint8_t *parent, uint32_t bytes);

/* One user less. */
void rz_spawns_order_release(struct rz_spawns *spawns, struct rz_spawns_order *order);

/* The slot's process is described by order from now on, or by none. */
void rz_spawns_slot_use(struct rz_spawns *spawns, struct rz_spawns_slot *slot,
                        struct rz_spawns_order *order, uint32_t index);

/* At the end of the daemon, whoever uses them. */
void rz_spawns_orders_close(struct rz_spawns *spawns);

/* ---- spawns_asked.c: what processes of this node ask for ---- */

void rz_spawns_handle_link(struct rz_spawns *spawns);

/* In words once: programs may ask again and again. */
void rz_spawns_tell_refusal(struct rz_spawns *spawns, const char *why);

/* A cohort of this node is refused by decision. */
void rz_spawns_ask_refused(struct rz_spawns *spawns, uint32_t serial, rz_status_t why);

/* At the end of the daemon. */
void rz_spawns_askes_close(struct rz_spawns *spawns);

#endif
