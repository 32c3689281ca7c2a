/* SPDX-License-Identifier: BSD-3-Clause */
/* The orders, which say what spawned processes execute: each exists from the first message about it
 * until its last process. */
#include "daemon/service/spawns_private.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "wire/gateway_messages.h"
#include "wire/spawn_order.h"

#include <stdlib.h>
#include <string.h>

static void texts_free(char **texts)
{
    for (char **text = texts; text && *text; text++) {
        free(*text);
    }
    free(texts);
}

static void order_clear(struct rz_spawns_order *order)
{
    for (uint32_t i = 0; i < order->n_programs; i++) {
        texts_free(order->programs[i].arguments);
        texts_free(order->programs[i].environment);
        free((char *)order->programs[i].directory);
    }
    free(order->programs);
    free(order->reported);
    free(order->command);
    free(order->parent);
    free(order->processes);
}

struct rz_spawns_order *rz_spawns_order_of(struct rz_spawns *spawns, rz_id node, uint32_t serial)
{
    for (struct rz_spawns_order *order = spawns->orders; order; order = order->next) {
        if (order->node == node && order->serial == serial) {
            return order;
        }
    }
    struct rz_spawns_order *order = calloc(1, sizeof(*order));
    rz_need_memory(order, "for a spawn request");
    *order = (struct rz_spawns_order){
        .next = spawns->orders, .node = node, .serial = serial, .users = 1};
    spawns->orders = order;
    return order;
}

static void order_remove(struct rz_spawns *spawns, struct rz_spawns_order *order)
{
    struct rz_spawns_order **at = &spawns->orders;
    while (*at != order) {
        at = &(*at)->next;
    }
    *at = order->next;
    order_clear(order);
    free(order);
}

void rz_spawns_order_release(struct rz_spawns *spawns, struct rz_spawns_order *order)
{
    rz_assert(order->users > 0);
    if (--order->users == 0) {
        order_remove(spawns, order);
    }
}

void rz_spawns_orders_close(struct rz_spawns *spawns)
{
    while (spawns->orders) {
        order_remove(spawns, spawns->orders);
    }
}

static char **copy_texts(const char *texts, uint32_t n)
{
    char **copy = calloc(n + 1, sizeof(*copy));
    rz_need_memory(copy, "for a spawn request");
    for (uint32_t i = 0; i < n; i++, texts = rz_spawn_text_next(texts)) {
        copy[i] = strdup(texts);
        rz_need_memory(copy[i], "for a spawn request");
    }
    return copy;
}

/* The directory of a command is relative to the one in which the job's processes start. */
static char *copy_directory(const struct rz_spawns *spawns, const char *directory)
{
    char *copy = strdup(*directory ? directory : spawns->own->job.directory);
    rz_need_memory(copy, "for a spawn request");
    return copy;
}

bool rz_spawns_cohort_fits(const struct rz_spawns *spawns, uint32_t count, uint32_t parent_bytes)
{
    /* COHORT; SPAWNED and PROGRAMS are no longer. */
    uint64_t bytes = 20 + (uint64_t)count * RZ_LINK_PAIR_BYTES + parent_bytes;
    return bytes <= (spawns->server.programs ? RZ_GATEWAY_FRAME_MAX : RZ_LINK_MESSAGE_MAX);
}

bool rz_spawns_order_fill(const struct rz_spawns *spawns, struct rz_spawns_order *order,
                          const uint8_t *commands, uint32_t bytes, uint32_t count)
{
    uint32_t n_commands, n;
    if (rz_spawn_order_look(commands, bytes, &n_commands, &n) != RZ_OK || n != count) {
        return false;
    }
    order->programs = calloc(n_commands, sizeof(*order->programs));
    order->reported = calloc(n_commands, sizeof(*order->reported));
    order->command = calloc(n, sizeof(*order->command));
    rz_need_memory(order->programs && order->reported && order->command, "for a spawn request");
    order->n_programs = n_commands;
    for (uint32_t i = 0; i < n_commands; i++) {
        struct rz_spawn_command_read read = rz_spawn_order_command(commands, bytes, i);
        order->programs[i] =
            (struct rz_program){.arguments = copy_texts(read.arguments, read.n_arguments),
                                .environment = copy_texts(read.environment, read.n_environment),
                                .directory = copy_directory(spawns, read.directory),
                                .maxprocs = read.maxprocs};
        for (uint32_t k = 0; k < read.maxprocs; k++) {
            order->command[order->n++] = i;
        }
    }
    order->has_come = true;
    return true;
}

void rz_spawns_order_serve(const struct rz_spawns *spawns, struct rz_spawns_order *order)
{
    const struct rz_spawns_server *server = &spawns->server;
    bool lost = rz_membership_node_has_failed(&spawns->own->membership, order->node);
    if (server->programs && order->world > 0 && !order->served && (order->has_come || lost)) {
        order->served = true;
        server->programs(server->arg, order->world, order->command, order->n, order->parent,
                         order->parent_bytes);
    }
}

void rz_spawns_order_parent(struct rz_spawns_order *order, const uint8_t *parent, uint32_t bytes)
{
    order->parent = malloc(bytes + 1);
    rz_need_memory(order->parent, "for a spawn request");
    memcpy(order->parent, parent, bytes);
    order->parent_bytes = bytes;
}

void rz_spawns_slot_use(struct rz_spawns *spawns, struct rz_spawns_slot *slot,
                        struct rz_spawns_order *order, uint32_t index)
{
    struct rz_spawns_order *before = slot->order;
    slot->order = order;
    slot->index = index;
    if (order) {
        order->users++;
    }
    if (before) {
        rz_spawns_order_release(spawns, before);
    }
}

/* ---- requests of other daemons ---- */

bool rz_spawns_program(const struct rz_spawns *spawns, uint32_t slot, struct rz_program *program)
{
    const struct rz_spawns_slot *s = &spawns->slots[slot];
    if (!s->order || !s->order->has_come || s->index >= s->order->n) {
        return false;
    }
    *program = s->order->programs[s->order->command[s->index]];
    return true;
}

uint32_t rz_spawns_world(const struct rz_spawns *spawns, uint32_t slot, uint32_t *world)
{
    const struct rz_spawns_slot *s = &spawns->slots[slot];
    *world = s->order ? s->order->world : 0;
    return s->order ? s->index : slot;
}

bool rz_spawns_reports(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation)
{
    const struct rz_spawns_slot *s = &spawns->slots[slot];
    struct rz_spawns_order *order = s->order;
    if (!order || spawns->own->membership.slots[slot].spawned != incarnation || !order->has_come ||
        s->index >= order->n) {
        return true;
    }
    bool *reported = &order->reported[order->command[s->index]];
    bool first = !*reported;
    *reported = true;
    return first;
}

bool rz_spawns_cohort(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation,
                      struct rz_link_message *message)
{
    const struct rz_spawns_slot *s = &spawns->slots[slot];
    const struct rz_spawns_order *order = s->order;
    if (spawns->own->membership.slots[slot].spawned != incarnation || !order || !order->processes ||
        !order->has_come) {
        return false;
    }
    free(spawns->cohort);
    spawns->cohort = malloc((size_t)order->n_spawned * RZ_LINK_PAIR_BYTES);
    rz_need_memory(spawns->cohort, "for spawned processes");
    struct rz_link_process self = {.slot = slot, .incarnation = incarnation};
    rz_link_put_pairs(spawns->cohort, order->processes, order->n_spawned);
    rz_link_put_pairs(spawns->cohort + (size_t)s->index * RZ_LINK_PAIR_BYTES, &self, 1);
    *message = (struct rz_link_message){
        .type = RZ_LINK_COHORT,
        .cohort = {.processes = spawns->cohort,
                   .processes_length = order->n_spawned * RZ_LINK_PAIR_BYTES,
                   .index = s->index,
                   .command = order->command[s->index],
                   .parent = order->parent,
                   .parent_length = order->parent_bytes}};
    return true;
}
