/* SPDX-License-Identifier: BSD-3-Clause */
/* Each set of participants has one fence in progress, and the result of the one before. All changes
 * end in `look`, which sends what is due and ends the fence if it can. */
#include "gateway/collective.h"

#include "base/no_memory.h"

#include <stdlib.h>
#include <string.h>

struct part {
    bool there, whole;
    uint8_t *data;
    size_t bytes;
};

/* A set of participants. Its fence in progress is number `ended` + 1. */
struct set {
    struct set *next;
    uint32_t kind, *slots, n_slots;
    uint32_t ended;     /* the number of fences that have ended here */
    struct part result; /* of fence `ended` */
    struct part *parts; /* [n_nodes]: of the fence in progress, as far as they have arrived */
    bool joined;
    void *waiter;
    uint32_t sent_to; /* the root that has this node's part; UINT32_MAX: none */
    uint32_t root;    /* the node that tells the others of set->result */
};

struct rz_collectives {
    struct rz_collectives_config config;
    struct set *sets;
};

/* ---- parts ---- */

static void part_drop(struct part *part)
{
    free(part->data);
    *part = (struct part){.there = false};
}

static void part_set(struct part *part, const uint8_t *data, size_t bytes, bool whole)
{
    uint8_t *copy = rz_need_copy(data, bytes, "for the data of a fence");
    part_drop(part);
    *part = (struct part){.there = true, .whole = whole, .data = copy, .bytes = bytes};
}

/* ---- sets ---- */

static void set_free(struct set *set, uint32_t n_nodes)
{
    for (uint32_t node = 0; node < n_nodes; node++) {
        part_drop(&set->parts[node]);
    }
    part_drop(&set->result);
    free(set->parts);
    free(set->slots);
    free(set);
}

static struct set *set_make(const struct rz_collectives *collectives, uint32_t kind,
                            const uint32_t *slots, uint32_t n_slots)
{
    struct set *set = calloc(1, sizeof(*set));
    rz_need_memory(set, "for a fence");
    set->slots = malloc((n_slots + 1) * sizeof(*slots));
    set->parts = calloc(collectives->config.n_nodes, sizeof(*set->parts));
    rz_need_memory(set->slots && set->parts, "for a fence");
    memcpy(set->slots, slots, n_slots * sizeof(*slots));
    set->kind = kind;
    set->n_slots = n_slots;
    set->sent_to = set->root = UINT32_MAX;
    return set;
}

/* The set of these participants, made if there is none. */
static struct set *set_of(struct rz_collectives *collectives, uint32_t kind, const uint32_t *slots,
                          uint32_t n_slots)
{
    struct set **at = &collectives->sets;
    while (*at && ((*at)->kind != kind || (*at)->n_slots != n_slots ||
                   memcmp((*at)->slots, slots, n_slots * sizeof(*slots)) != 0)) {
        at = &(*at)->next;
    }
    if (!*at) {
        *at = set_make(collectives, kind, slots, n_slots);
    }
    return *at;
}

/* Whether a live participant is on the node. */
static bool has_live(const struct rz_collectives *collectives, const struct set *set, uint32_t node)
{
    const struct rz_collectives_config *config = &collectives->config;
    for (uint32_t i = 0; i < set->n_slots; i++) {
        if (config->node_of(config->arg, set->slots[i]) == node &&
            config->live(config->arg, set->slots[i])) {
            return true;
        }
    }
    return false;
}

/* Whether a participant is on the node, live or not. */
static bool has_participant(const struct rz_collectives *collectives, const struct set *set,
                            uint32_t node)
{
    const struct rz_collectives_config *config = &collectives->config;
    uint32_t i = 0;
    while (i < set->n_slots && config->node_of(config->arg, set->slots[i]) != node) {
        i++;
    }
    return i < set->n_slots;
}

/* UINT32_MAX: no node of the participants is live. */
static uint32_t root_of(const struct rz_collectives *collectives, const struct set *set)
{
    const struct rz_collectives_config *config = &collectives->config;
    uint32_t root = UINT32_MAX;
    for (uint32_t i = 0; i < set->n_slots; i++) {
        uint32_t node = config->node_of(config->arg, set->slots[i]);
        if (node < root && config->node_is_live(config->arg, node)) {
            root = node;
        }
    }
    return root;
}

/* ---- sending ---- */

static void send_part(struct rz_collectives *collectives, const struct set *set, uint32_t to,
                      bool result, uint32_t number, const struct part *part)
{
    const struct rz_collective_message message = {.result = result,
                                                  .kind = set->kind,
                                                  .number = number,
                                                  .whole = part->whole,
                                                  .slots = set->slots,
                                                  .n_slots = set->n_slots,
                                                  .data = part->data,
                                                  .bytes = part->bytes};
    collectives->config.send(collectives->config.arg, to, &message);
}

/* ---- the end of a fence ---- */

/* As the root: tells the others how the last fence has ended, also those without a live
 * participant, one of which may be the next root. */
static void send_result(struct rz_collectives *collectives, const struct set *set)
{
    const struct rz_collectives_config *config = &collectives->config;
    for (uint32_t node = 0; node < config->n_nodes; node++) {
        if (node != config->self && config->node_is_live(config->arg, node) &&
            has_participant(collectives, set, node)) {
            send_part(collectives, set, node, true, set->ended, &set->result);
        }
    }
}

/* The root tells all; if it has failed, another node may have the result first, and tells the next
 * root. */
static void pass_on(struct rz_collectives *collectives, struct set *set)
{
    uint32_t root = root_of(collectives, set), self = collectives->config.self;
    if (root == self) {
        send_result(collectives, set);
    } else if (root != UINT32_MAX && root != set->root) {
        send_part(collectives, set, root, true, set->ended, &set->result);
    }
    set->root = root;
}

/* The fence in progress has ended with set->result, which node `from` has found; the next one
 * begins. */
static void end_fence(struct rz_collectives *collectives, struct set *set, uint32_t from)
{
    const struct rz_collectives_config *config = &collectives->config;
    void *waiter = set->joined ? set->waiter : NULL;
    for (uint32_t node = 0; node < config->n_nodes; node++) {
        part_drop(&set->parts[node]);
    }
    set->ended++;
    set->joined = false;
    set->waiter = NULL;
    set->sent_to = UINT32_MAX;
    set->root = from;
    pass_on(collectives, set);
    if (waiter) {
        config->done(config->arg, waiter, set->result.whole, set->result.data, set->result.bytes);
    }
}

/* All live nodes have sent their parts: together they are the result. */
static void make_result(const struct rz_collectives *collectives, struct set *set)
{
    uint32_t n_nodes = collectives->config.n_nodes;
    const struct rz_collectives_config *config = &collectives->config;
    size_t bytes = 0;
    bool whole = true;
    for (uint32_t node = 0; node < n_nodes; node++) {
        bytes += set->parts[node].bytes;
        whole &= !set->parts[node].there || set->parts[node].whole;
    }
    for (uint32_t i = 0; i < set->n_slots; i++) {
        whole &= set->parts[config->node_of(config->arg, set->slots[i])].there;
    }
    uint8_t *data = malloc(bytes + 1), *at = data;
    rz_need_memory(data, "for the data of a fence");
    for (uint32_t node = 0; node < n_nodes; node++) {
        if (set->parts[node].bytes > 0) {
            memcpy(at, set->parts[node].data, set->parts[node].bytes);
        }
        at += set->parts[node].bytes;
    }
    part_drop(&set->result);
    set->result = (struct part){.there = true, .whole = whole, .data = data, .bytes = bytes};
}

/* As the root: ends the fence if every node with a live participant has sent its part. */
static void look_as_root(struct rz_collectives *collectives, struct set *set)
{
    const struct rz_collectives_config *config = &collectives->config;
    bool any = false;
    for (uint32_t node = 0; node < config->n_nodes; node++) {
        any |= set->parts[node].there;
        if (!set->parts[node].there && has_live(collectives, set, node)) {
            return;
        }
    }
    if (!any) {
        return;
    }
    make_result(collectives, set);
    end_fence(collectives, set, config->self);
}

static void look(struct rz_collectives *collectives, struct set *set)
{
    uint32_t self = collectives->config.self, root = root_of(collectives, set);
    if (root == self) {
        look_as_root(collectives, set);
    } else if (root != UINT32_MAX && set->joined && set->sent_to != root) {
        set->sent_to = root;
        send_part(collectives, set, root, false, set->ended + 1, &set->parts[self]);
    }
}

/* ---- what happens ---- */

bool rz_collectives_join(struct rz_collectives *collectives,
                         const struct rz_collective_message *fence, void *waiter)
{
    struct set *set = set_of(collectives, fence->kind, fence->slots, fence->n_slots);
    if (set->joined) {
        return false;
    }
    part_set(&set->parts[collectives->config.self], fence->data, fence->bytes, fence->whole);
    set->joined = true;
    set->waiter = waiter;
    look(collectives, set);
    return true;
}

static void take_result(struct rz_collectives *collectives, struct set *set, uint32_t from,
                        const struct rz_collective_message *message)
{
    if (message->number <= set->ended) {
        return; /* it is known already */
    }
    set->ended = message->number - 1;
    part_set(&set->result, message->data, message->bytes, message->whole);
    end_fence(collectives, set, from);
    look(collectives, set);
}

static void take_part(struct rz_collectives *collectives, struct set *set, uint32_t from,
                      const struct rz_collective_message *message)
{
    if (message->number == set->ended + 1) {
        part_set(&set->parts[from], message->data, message->bytes, message->whole);
        look(collectives, set);
    } else if (message->number == set->ended && set->result.there) {
        send_part(collectives, set, from, true, set->ended, &set->result);
    }
}

void rz_collectives_message(struct rz_collectives *collectives, uint32_t from,
                            const struct rz_collective_message *message)
{
    struct set *set = set_of(collectives, message->kind, message->slots, message->n_slots);
    if (message->result) {
        take_result(collectives, set, from, message);
    } else {
        take_part(collectives, set, from, message);
    }
}

void rz_collectives_failure(struct rz_collectives *collectives)
{
    for (struct set *set = collectives->sets; set; set = set->next) {
        if (set->result.there && set->root != root_of(collectives, set)) {
            pass_on(collectives, set);
        }
        look(collectives, set);
    }
}

/* ---- open and close ---- */

struct rz_collectives *rz_collectives_open(const struct rz_collectives_config *config)
{
    struct rz_collectives *collectives = calloc(1, sizeof(*collectives));
    if (collectives) {
        collectives->config = *config;
    }
    return collectives;
}

void rz_collectives_close(struct rz_collectives *collectives)
{
    while (collectives && collectives->sets) {
        struct set *set = collectives->sets;
        collectives->sets = set->next;
        set_free(set, collectives->config.n_nodes);
    }
    free(collectives);
}
