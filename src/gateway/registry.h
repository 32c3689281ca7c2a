/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What processes publish under a key. Each gateway has all entries, so that a look-up needs no
 * message and every entry survives the failure of any node but its owner's. A pure state machine.
 *
 * The live node of the lowest number, the home, orders the changes: a gateway asks it, and it tells
 * all. A change has been made when all live gateways have it. When the home fails, what it has not
 * answered is asked again of the next one. That one first tells all which entries it has: a change
 * that some nodes have and it has not is undone, for no process was told of it. What still arrives
 * from the home before is ignored then. The entries of a failed process are dropped.
 */
#ifndef RZ_GATEWAY_REGISTRY_H
#define RZ_GATEWAY_REGISTRY_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rz_registry;

enum rz_registry_step {
    RZ_REGISTRY_ASK,   /* to the home: a change */
    RZ_REGISTRY_BEGIN, /* from a new home to the others: changes follow that make all its entries */
    RZ_REGISTRY_END,   /* entries that were not among them end */
    RZ_REGISTRY_CHANGE, /* from the home to the others */
    RZ_REGISTRY_HAVE,   /* to the node that asked: the change is made here; status */
    RZ_REGISTRY_STEP_COUNT
};

/* What is sent between gateways. A change is (asker, serial). Pointers are valid during the call.
 */
struct rz_registry_message {
    enum rz_registry_step step;
    uint32_t asker;
    uint64_t serial;
    uint32_t home; /* of HAVE: the home by whose order the change is made */
    rz_status_t status;
    bool again; /* asked before, of a home that has failed: the change may have been made */
    bool drop;  /* an entry ends, else it begins */
    const char *key;
    uint32_t owner; /* the slot that published it */
    bool once;      /* it ends when it is looked up */
    const uint8_t *value;
    size_t bytes;
};

struct rz_registry_entry {
    struct rz_registry_entry *next;
    char *key;
    uint32_t owner, asker;
    uint64_t serial;
    bool once;
    bool doubtful; /* a new home has not named it yet */
    uint8_t *value;
    size_t bytes;
};

/* Of one process: keys and values, and how many there may be, or changes that it waits for. */
#define RZ_REGISTRY_BYTES_EACH ((size_t)4 << 20)
#define RZ_REGISTRY_KEYS_EACH 1024u

struct rz_registry_config {
    uint32_t n_nodes, self;
    void *arg;
    void (*send)(void *arg, uint32_t node, const struct rz_registry_message *message);
    /* The change of `waiter` has been made everywhere, or was refused: RZ_ERR_EXISTS (another
     * process has the key), RZ_ERR_NOT_FOUND, RZ_ERR_NO_MEMORY (more than one process may have). */
    void (*answered)(void *arg, void *waiter, rz_status_t status);
    /* There is a new entry. */
    void (*added)(void *arg);
    bool (*node_is_live)(void *arg, uint32_t node);
    bool (*live)(void *arg, uint32_t slot); /* the process has not failed */
};

struct rz_registry *rz_registry_open(const struct rz_registry_config *config); /* NULL: no memory */
void rz_registry_close(struct rz_registry *registry);

/* What a process publishes. */
struct rz_registry_value {
    const char *key;
    uint32_t owner; /* its slot */
    bool once;      /* it ends when it is looked up */
    const uint8_t *data;
    size_t bytes;
};

/* A process of this node publishes, or takes back what it has published; all is copied. waiter
 * NULL: no answer is needed. answered may be called during the call. */
void rz_registry_put(struct rz_registry *registry, const struct rz_registry_value *value,
                     void *waiter);
void rz_registry_drop(struct rz_registry *registry, const char *key, uint32_t owner, void *waiter);

/* The entry of a key, or NULL. */
const struct rz_registry_entry *rz_registry_find(const struct rz_registry *registry,
                                                 const char *key);

void rz_registry_message(struct rz_registry *registry, uint32_t from,
                         const struct rz_registry_message *message);

/* node_is_live says so already. */
void rz_registry_node_failed(struct rz_registry *registry, uint32_t node);
/* The process has ended, or has failed, also with its node. */
void rz_registry_process_ended(struct rz_registry *registry, uint32_t slot);

#endif
