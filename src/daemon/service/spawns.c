/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out the decisions about spawns, receives the orders of other daemons, and ends processes
 * that MPI_Abort names. */
#include "daemon/service/spawns.h"

#include "base/no_memory.h"
#include "daemon/service/spawns_private.h"
#include "port/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- decisions ---- */

static enum rz_spawns_server_state state_of_server(const struct rz_spawns *spawns,
                                                   const struct rz_spawns_slot *s)
{
    return s->order && spawns->server.state
               ? spawns->server.state(spawns->server.arg, s->order->world)
               : RZ_SERVER_READY;
}

static void begin_here(struct rz_spawns *spawns, uint32_t slot)
{
    const struct rz_own_node *own = spawns->own;
    const struct rz_membership_slot *member = &own->membership.slots[slot];
    struct rz_spawns_slot *s = &spawns->slots[slot];
    uint32_t spawned = member->spawned;
    if (own->membership.ending || member->node != own->job.node || spawned != member->incarnation ||
        s->begun >= spawned || member->failed >= spawned) {
        return;
    }
    bool known = slot < own->job.n_ranks || (s->order && s->order->has_come);
    if (!known && s->order && !rz_membership_node_has_failed(&own->membership, s->order->node)) {
        return; /* it is started when the order arrives */
    }
    enum rz_spawns_server_state server = state_of_server(spawns, s);
    if (known && server == RZ_SERVER_NOT_READY) {
        return;
    }
    s->begun = spawned;
    if (known && server == RZ_SERVER_FAILED) {
        rz_child_start_failed(spawns->config.life, slot, spawned, "its gateway has failed");
    } else if (known) {
        rz_child_start(spawns->config.life, slot, spawned);
    } else {
        rz_child_start_failed(spawns->config.life, slot, spawned,
                              "no live daemon knows its program");
    }
}

static void begin_all(struct rz_spawns *spawns, const struct rz_spawns_order *order)
{
    for (uint32_t i = 0; i < order->n_spawned; i++) {
        begin_here(spawns, order->processes[i].slot);
    }
}

static void record_spawn(const struct rz_own_node *own, uint32_t slot, bool spawned)
{
    const struct rz_launch_event event = {.kind = RZ_EVENT_RECORD_SPAWNED,
                                          .epoch = own->membership.epoch,
                                          .rank = slot,
                                          .node = own->membership.slots[slot].node,
                                          .incarnation = own->membership.slots[slot].incarnation,
                                          .value = spawned ? RZ_START_SPAWNED : RZ_START_REPLACES,
                                          .note = ""};
    rz_report_event(&own->report, &event);
}

static void place_spawn(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation, bool spawned)
{
    if (rz_placement_spawn(spawns->config.placement, slot, incarnation, !spawned)) {
        record_spawn(spawns->own, slot, spawned);
    }
}

/* Reads the spawns that follow a cohort item, and returns their number. */
static uint32_t cohort_spawns(const uint64_t *items, uint32_t n_items,
                              struct rz_link_process *processes)
{
    uint32_t n = 0;
    while (n < n_items &&
           rz_recover_unpack_spawn(items[n], &processes[n].slot, &processes[n].incarnation)) {
        n++;
    }
    return n;
}

static void cohort_refused(struct rz_spawns *spawns, rz_id node, uint32_t serial, rz_status_t why)
{
    struct rz_spawns_order *order = rz_spawns_order_of(spawns, node, serial);
    if (node == spawns->own->job.node) {
        rz_spawns_ask_refused(spawns, serial, why);
    }
    if (order->has_come) {
        rz_spawns_order_release(spawns, order);
    } else {
        order->refused = true; /* it may still arrive */
    }
}

/* items: those that follow the cohort's. Returns how many of them are its spawns. */
static uint32_t cohort_decided(struct rz_spawns *spawns, uint64_t cohort, const uint64_t *items,
                               uint32_t n_items, rz_status_t refused)
{
    rz_id node;
    uint32_t serial, count;
    rz_recover_unpack_cohort(cohort, &node, &serial, &count);
    struct rz_link_process *processes = calloc(n_items + 1, sizeof(*processes));
    rz_need_memory(processes, "for spawned processes");
    uint32_t n = refused == RZ_OK ? cohort_spawns(items, n_items, processes) : 0;
    if (n == 0) {
        free(processes);
        cohort_refused(spawns, node, serial, refused != RZ_OK ? refused : RZ_ERR_NO_MEMORY);
        return 0;
    }
    struct rz_spawns_order *order = rz_spawns_order_of(spawns, node, serial);
    order->processes = processes;
    order->n_spawned = n;
    order->world = ++spawns->n_worlds;
    for (uint32_t i = 0; i < n; i++) {
        rz_spawns_slot_use(spawns, &spawns->slots[processes[i].slot], order, i);
        place_spawn(spawns, processes[i].slot, processes[i].incarnation, true);
    }
    if (spawns->server.world) {
        spawns->server.world(spawns->server.arg, node, processes, n);
    }
    rz_spawns_order_serve(spawns, order);
    /* The order is no longer expected; its processes use it from now on. */
    rz_spawns_order_release(spawns, order);
    return n;
}

static void ends_carry_out(struct rz_spawns *spawns)
{
    struct rz_spawns_end_wanted *ends = spawns->ends;
    spawns->ends = NULL;
    while (ends) {
        struct rz_spawns_end_wanted *end = ends;
        ends = end->next;
        rz_spawns_end(spawns, end->slot, end->incarnation, end->code, end->by);
        free(end);
    }
}

/* Publishes the board for all spawns first; then does what takes time. */
static void publish_spawns(struct rz_spawns *spawns, const uint64_t *items, uint32_t n_items)
{
    uint32_t slot, incarnation;
    rz_board_writer_publish(spawns->config.board);
    rz_children_end_stale(spawns->config.children);
    for (uint32_t i = 0; i < n_items; i++) {
        if (rz_recover_unpack_spawn(items[i], &slot, &incarnation)) {
            begin_here(spawns, slot);
            rz_endpoints_spawned(spawns->config.endpoints, slot, incarnation);
        }
    }
    rz_names_look_at_failures(spawns->config.names);
    ends_carry_out(spawns);
    rz_children_recount(spawns->config.children);
}

static void no_slot(struct rz_spawns *spawns, uint32_t slot)
{
    char words[160];
    snprintf(words, sizeof(words),
             "no process is started in place of that of slot %u: %s (see --spares, --host "
             "HOST:SLOTS and --oversubscribe)",
             slot, rz_status_text(RZ_ERR_NO_SLOTS));
    spawns->refused = RZ_ERR_NO_SLOTS;
    rz_spawns_tell_refusal(spawns, words);
}

void rz_spawns_decided(struct rz_spawns *spawns, rz_status_t refused, const uint64_t *items,
                       uint32_t n_items)
{
    uint32_t slot, incarnation;
    if (spawns->own->membership.ending) {
        return;
    }
    if (refused != RZ_OK) {
        spawns->refused = refused;
        rz_spawns_tell_refusal(
            spawns, "no process can be started now: the job is at its start, at its end, "
                    "or repairs itself by MPIX_Reinit");
    }
    for (uint32_t i = 0; i < n_items; i++) {
        if (rz_recover_unpack_refused(items[i], &slot, &incarnation)) {
            no_slot(spawns, slot);
        } else if (!rz_recover_unpack_spawn(items[i], &slot, &incarnation)) {
            i += cohort_decided(spawns, items[i], items + i + 1, n_items - i - 1, refused);
        } else if (refused == RZ_OK) {
            place_spawn(spawns, slot, incarnation, false);
        }
    }
    if (refused == RZ_OK) {
        publish_spawns(spawns, items, n_items);
    }
}

/* ---- messages of other daemons ---- */

static void order_comes(struct rz_spawns *spawns, struct rz_spawns_order *order,
                        const struct rz_overlay_spawn_order *told)
{
    if (!rz_spawns_cohort_fits(spawns, told->count, told->parent_length) ||
        !rz_spawns_order_fill(spawns, order, told->commands, told->commands_length, told->count)) {
        rz_report_log(&spawns->own->report, 0, "node %u sent a malformed spawn request",
                      order->node);
        return; /* its processes here wait until that node has failed */
    }
    rz_spawns_order_parent(order, told->parent, told->parent_length);
    rz_spawns_order_serve(spawns, order);
    begin_all(spawns, order);
    ends_carry_out(spawns);
}

static void on_order(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    struct rz_spawns *spawns = arg;
    const struct rz_overlay_spawn_order *told = &message->spawn_order;
    if (spawns->own->membership.ending || told->count > spawns->own->job.n_slots) {
        return;
    }
    struct rz_spawns_order *order = rz_spawns_order_of(spawns, from, told->serial);
    if (order->refused) {
        rz_spawns_order_release(spawns, order);
    } else if (!order->has_come) {
        order_comes(spawns, order, told);
    }
}

static void on_end_process(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    const struct rz_overlay_end_process *told = &message->end_process;
    (void)from;
    rz_spawns_end(arg, told->rank, told->incarnation, told->code, told->by);
}

void rz_spawns_node_failed(void *arg, rz_id node, bool proof, bool first)
{
    struct rz_spawns *spawns = arg;
    (void)proof;
    if (!first || spawns->own->membership.ending) {
        return;
    }
    for (struct rz_spawns_order *order = spawns->orders; order; order = order->next) {
        if (order->node == node && !order->has_come) {
            rz_spawns_order_serve(spawns, order);
            begin_all(spawns, order);
        }
    }
}

void rz_spawns_process_failed(void *arg, uint32_t slot, uint32_t incarnation, enum rz_end end)
{
    struct rz_spawns *spawns = arg;
    if (end == RZ_END_ORDER && spawns->own->membership.slots[slot].spawned == incarnation) {
        rz_spawns_slot_use(spawns, &spawns->slots[slot], NULL, 0);
    }
}

/* ---- ends that a process requested ---- */

static void end_later(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation, uint32_t code,
                      const char *by)
{
    struct rz_spawns_end_wanted *end = calloc(1, sizeof(*end));
    rz_need_memory(end, "for the end of a process");
    *end = (struct rz_spawns_end_wanted){
        .next = spawns->ends, .slot = slot, .incarnation = incarnation, .code = code};
    snprintf(end->by, sizeof(end->by), "%s", by);
    spawns->ends = end;
}

static void end_here(const struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation,
                     uint32_t code, const char *by)
{
    struct rz_child *p = rz_child_of(spawns->config.children, slot);
    if (!p || p->incarnation != incarnation || p->state == RZ_CHILD_LEFT) {
        return;
    }
    rz_report_event(&spawns->own->report,
                    &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_ENDED_BY,
                                              .epoch = spawns->own->membership.epoch,
                                              .rank = slot,
                                              .node = spawns->own->job.node,
                                              .incarnation = incarnation,
                                              .value = code,
                                              .note = by});
    rz_child_failed(p, "MPI_Abort", rz_clock_now());
}

/* Whether the process was not started here: its spawn is not known yet, or its order has not
 * arrived. */
static bool unstarted(const struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation)
{
    const struct rz_membership_slot *place = &spawns->own->membership.slots[slot];
    const struct rz_spawns_slot *s = &spawns->slots[slot];
    return place->incarnation < incarnation ||
           (place->node == spawns->own->job.node && place->spawned == incarnation &&
            s->begun < incarnation);
}

void rz_spawns_end(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation, uint32_t code,
                   const char *by)
{
    if (slot >= spawns->own->job.n_slots || spawns->own->membership.ending) {
        return;
    }
    const struct rz_membership_slot *place = &spawns->own->membership.slots[slot];
    if (unstarted(spawns, slot, incarnation)) {
        end_later(spawns, slot, incarnation, code, by);
    } else if (place->incarnation == incarnation && place->node == spawns->own->job.node) {
        end_here(spawns, slot, incarnation, code, by);
    } else if (place->incarnation == incarnation &&
               !rz_membership_node_has_failed(&spawns->own->membership, place->node)) {
        const struct rz_overlay_message message = {
            .type = RZ_OVERLAY_END_PROCESS,
            .end_process = {.rank = slot, .incarnation = incarnation, .code = code, .by = by}};
        rz_overlay_send(spawns->config.overlay, place->node, &message);
    }
}

/* ---- a server ---- */

void rz_spawns_serve(struct rz_spawns *spawns, const struct rz_spawns_server *server)
{
    spawns->server = *server;
}

uint32_t rz_spawns_worlds(const struct rz_spawns *spawns)
{
    return spawns->n_worlds;
}

void rz_spawns_look_at_server(struct rz_spawns *spawns)
{
    for (const struct rz_spawns_order *order = spawns->orders; order; order = order->next) {
        begin_all(spawns, order);
    }
    ends_carry_out(spawns);
}

/* ---- open and close ---- */

rz_status_t rz_spawns_open(struct rz_spawns **result, const struct rz_spawns_config *config)
{
    struct rz_spawns *spawns = calloc(1, sizeof(*spawns));
    if (spawns) {
        spawns->slots = calloc(config->own->job.n_slots, sizeof(*spawns->slots));
    }
    if (!spawns || !spawns->slots) {
        free(spawns);
        return RZ_ERR_NO_MEMORY;
    }
    spawns->config = *config;
    spawns->own = config->own;
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_SPAWN_ORDER, on_order, spawns);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_END_PROCESS, on_end_process,
                             spawns);
    rz_spawns_handle_link(spawns);
    *result = spawns;
    return RZ_OK;
}

void rz_spawns_close(struct rz_spawns *spawns)
{
    if (!spawns) {
        return;
    }
    rz_spawns_requests_close(spawns);
    rz_spawns_orders_close(spawns);
    while (spawns->ends) {
        struct rz_spawns_end_wanted *end = spawns->ends;
        spawns->ends = end->next;
        free(end);
    }
    free(spawns->cohort);
    free(spawns->slots);
    free(spawns);
}
