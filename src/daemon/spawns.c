#include "daemon/spawns_private.h"

#include "base/assert.h"
#include "daemon/board_writer.h"
#include "daemon/link_service.h"
#include "daemon/names.h"
#include "daemon/news.h"
#include "port/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- decisions */

static void begin_here(struct rz_spawns *spawns, uint32_t slot)
{
    struct rz_daemon *daemon = spawns->daemon;
    const struct rz_daemon_place *place = &daemon->places[slot];
    struct rz_spawns_slot *s = &spawns->slots[slot];
    if (daemon->ending || place->node != daemon->job.node || s->spawned != place->incarnation ||
        s->begun >= s->spawned || daemon->failed[slot] >= s->spawned)
        return;
    bool known = slot < daemon->job.n_ranks || (s->order && s->order->has_come);
    if (!known && s->order && !rz_recovery_node_failed(daemon->recovery, s->order->node))
        return; /* it will be begun when the order comes */
    s->begun = s->spawned;
    if (known)
        rz_child_spawn(daemon, slot, s->spawned);
    else
        rz_child_start_failed(daemon, slot, s->spawned, "nobody lives who knows what it shall run");
}

static void record_spawn(struct rz_daemon *daemon, uint32_t slot, bool spawned)
{
    const struct rz_launch_event event = {.kind = RZ_EVENT_RECORD_SPAWNED,
                                          .epoch = daemon->epoch,
                                          .rank = slot,
                                          .node = daemon->places[slot].node,
                                          .incarnation = daemon->places[slot].incarnation,
                                          .value = spawned ? RZ_START_SPAWNED : RZ_START_REPLACES,
                                          .note = ""};
    rz_daemon_record(daemon, &event);
}

/* Where it is and what the board says of it. The process before it has failed: the spawn says so.
 */
static void place_spawn(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation, bool spawned)
{
    struct rz_daemon *daemon = spawns->daemon;
    struct rz_daemon_place *place = &daemon->places[slot];
    if (incarnation <= place->incarnation)
        return;
    if (!spawned && daemon->failed[slot] < incarnation - 1)
        daemon->failed[slot] = incarnation - 1;
    *place = (struct rz_daemon_place){.node = rz_recovery_daemon_of(daemon->recovery, slot),
                                      .incarnation = incarnation};
    spawns->slots[slot].spawned = incarnation;
    spawns->slots[slot].spawned_epoch = daemon->epoch;
    spawns->slots[slot].replaces = !spawned;
    rz_news_write_rank(daemon, slot);
    record_spawn(daemon, slot, spawned);
}

/* The spawns behind a cohort item; how many. */
static uint32_t cohort_spawns(const uint64_t *items, uint32_t n_items,
                              struct rz_link_process *processes)
{
    uint32_t n = 0;
    while (n < n_items &&
           rz_recover_unpack_spawn(items[n], &processes[n].slot, &processes[n].incarnation))
        n++;
    return n;
}

static void cohort_refused(struct rz_spawns *spawns, rz_id node, uint32_t serial, rz_status_t why)
{
    struct rz_spawns_order *order = rz_spawns_order_of(spawns, node, serial);
    if (node == spawns->daemon->job.node)
        rz_spawns_ask_refused(spawns, serial, why);
    if (order->has_come)
        rz_spawns_order_release(spawns, order);
    else
        order->refused = true; /* it may still come */
}

/* items: behind the cohort's; how many of them are its spawns. */
static uint32_t cohort_decided(struct rz_spawns *spawns, uint64_t cohort, const uint64_t *items,
                               uint32_t n_items, rz_status_t refused)
{
    rz_id node;
    uint32_t serial, count;
    rz_recover_unpack_cohort(cohort, &node, &serial, &count);
    struct rz_link_process *processes = calloc(n_items + 1, sizeof *processes);
    rz_assert(processes != NULL);
    uint32_t n = refused == RZ_OK ? cohort_spawns(items, n_items, processes) : 0;
    if (n == 0) {
        free(processes);
        cohort_refused(spawns, node, serial, refused != RZ_OK ? refused : RZ_ERR_NO_MEMORY);
        return 0;
    }
    struct rz_spawns_order *order = rz_spawns_order_of(spawns, node, serial);
    order->processes = processes;
    order->n_spawned = n;
    for (uint32_t i = 0; i < n; i++) {
        rz_spawns_slot_use(spawns, &spawns->slots[processes[i].slot], order, i);
        place_spawn(spawns, processes[i].slot, processes[i].incarnation, true);
    }
    rz_spawns_order_release(spawns, order); /* it is expected no more: its processes use it */
    return n;
}

static void ends_carry_out(struct rz_spawns *spawns)
{
    struct rz_spawns_end_wanted *ends = spawns->ends;
    spawns->ends = NULL;
    while (ends) {
        struct rz_spawns_end_wanted *end = ends;
        ends = end->next;
        rz_spawns_end(spawns->daemon, end->slot, end->incarnation, end->code, end->by);
        free(end);
    }
}

/* Board first, for all of them; then what takes time. */
static void publish(struct rz_spawns *spawns, const uint64_t *items, uint32_t n_items)
{
    struct rz_daemon *daemon = spawns->daemon;
    uint32_t slot, incarnation;
    rz_board_writer_publish(daemon->board);
    rz_news_end_stale(daemon);
    for (uint32_t i = 0; i < n_items; i++)
        if (rz_recover_unpack_spawn(items[i], &slot, &incarnation)) {
            begin_here(spawns, slot);
            rz_link_service_spawned(daemon, slot, incarnation);
        }
    rz_names_look_at_failures(daemon->names);
    ends_carry_out(spawns);
    rz_children_recount(daemon);
}

static void no_slot(struct rz_spawns *spawns, uint32_t slot)
{
    char words[160];
    snprintf(words, sizeof words,
             "no process is started in place of that of slot %u: %s (see --spares, --host "
             "HOST:SLOTS and --oversubscribe)",
             slot, rz_status_text(RZ_ERR_NO_SLOTS));
    spawns->refused = RZ_ERR_NO_SLOTS;
    rz_spawns_tell_refusal(spawns, words);
}

void rz_spawns_decided(struct rz_daemon *daemon, rz_status_t refused, const uint64_t *items,
                       uint32_t n_items)
{
    struct rz_spawns *spawns = daemon->spawns;
    uint32_t slot, incarnation;
    if (daemon->ending)
        return;
    if (refused != RZ_OK) {
        spawns->refused = refused;
        rz_spawns_tell_refusal(
            spawns, "no process can be started now: the job is at its start, at its end, "
                    "or repairs itself by MPIX_Reinit");
    }
    for (uint32_t i = 0; i < n_items; i++)
        if (rz_recover_unpack_refused(items[i], &slot, &incarnation))
            no_slot(spawns, slot);
        else if (!rz_recover_unpack_spawn(items[i], &slot, &incarnation))
            i += cohort_decided(spawns, items[i], items + i + 1, n_items - i - 1, refused);
        else if (refused == RZ_OK)
            place_spawn(spawns, slot, incarnation, false);
    if (refused == RZ_OK)
        publish(spawns, items, n_items);
}

/* ---- what other daemons tell */

static void order_comes(struct rz_spawns *spawns, struct rz_spawns_order *order,
                        const struct rz_overlay_spawn_order *told)
{
    if (!rz_spawns_order_fill(spawns, order, told->commands, told->commands_length, told->count)) {
        rz_daemon_log(spawns->daemon, 0, "node %u wants to spawn something malformed", order->node);
        return; /* what was spawned of it here waits, until that node has failed */
    }
    rz_spawns_order_parent(order, told->parent, told->parent_length);
    for (uint32_t i = 0; i < order->n_spawned; i++)
        begin_here(spawns, order->processes[i].slot);
    ends_carry_out(spawns);
}

void rz_spawns_message(struct rz_daemon *daemon, rz_id from,
                       const struct rz_overlay_spawn_order *told)
{
    struct rz_spawns *spawns = daemon->spawns;
    if (daemon->ending || told->count > daemon->job.n_slots)
        return;
    struct rz_spawns_order *order = rz_spawns_order_of(spawns, from, told->serial);
    if (order->refused)
        rz_spawns_order_release(spawns, order);
    else if (!order->has_come)
        order_comes(spawns, order, told);
}

void rz_spawns_node_failed(struct rz_daemon *daemon, rz_id node)
{
    struct rz_spawns *spawns = daemon->spawns;
    for (struct rz_spawns_order *order = spawns->orders; order; order = order->next)
        for (uint32_t i = 0; order->node == node && !order->has_come && i < order->n_spawned; i++)
            begin_here(spawns, order->processes[i].slot);
}

void rz_spawns_ended(struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation)
{
    struct rz_spawns_slot *s = &daemon->spawns->slots[slot];
    if (s->spawned == incarnation)
        rz_spawns_slot_use(daemon->spawns, s, NULL, 0);
}

void rz_spawns_never(struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation)
{
    struct rz_spawns_slot *s = &daemon->spawns->slots[slot];
    if (s->never < incarnation)
        s->never = incarnation;
}

/* ---- what others ask */

bool rz_spawns_is_spawned_process(const struct rz_daemon *daemon, uint32_t slot,
                                  uint32_t incarnation)
{
    const struct rz_spawns_slot *s = &daemon->spawns->slots[slot];
    return s->spawned == incarnation && s->spawned_epoch == daemon->epoch;
}

bool rz_spawns_replaces(const struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation)
{
    const struct rz_spawns_slot *s = &daemon->spawns->slots[slot];
    return s->spawned == incarnation ? s->replaces : incarnation > 1;
}

/* ---- ends that a process wanted */

static void end_later(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation, uint32_t code,
                      const char *by)
{
    struct rz_spawns_end_wanted *end = calloc(1, sizeof *end);
    rz_assert(end != NULL);
    *end = (struct rz_spawns_end_wanted){
        .next = spawns->ends, .slot = slot, .incarnation = incarnation, .code = code};
    snprintf(end->by, sizeof end->by, "%s", by);
    spawns->ends = end;
}

static void end_here(struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation, uint32_t code,
                     const char *by)
{
    struct rz_child *p = rz_child_of(daemon, slot);
    if (!p || p->incarnation != incarnation || p->state == RZ_CHILD_LEFT)
        return;
    rz_daemon_record(daemon, &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_ENDED_BY,
                                                       .epoch = daemon->epoch,
                                                       .rank = slot,
                                                       .node = daemon->job.node,
                                                       .incarnation = incarnation,
                                                       .value = code,
                                                       .note = by});
    rz_child_failed(p, "MPI_Abort", rz_clock_now());
}

/* Its spawn has not been heard of here, or it is not begun: its order has not come. */
static bool unstarted(const struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation)
{
    const struct rz_daemon_place *place = &daemon->places[slot];
    const struct rz_spawns_slot *s = &daemon->spawns->slots[slot];
    return place->incarnation < incarnation ||
           (place->node == daemon->job.node && s->spawned == incarnation && s->begun < incarnation);
}

void rz_spawns_end(struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation, uint32_t code,
                   const char *by)
{
    if (slot >= daemon->job.n_slots || daemon->ending)
        return;
    const struct rz_daemon_place *place = &daemon->places[slot];
    if (unstarted(daemon, slot, incarnation)) {
        end_later(daemon->spawns, slot, incarnation, code, by);
    } else if (place->incarnation == incarnation && place->node == daemon->job.node) {
        end_here(daemon, slot, incarnation, code, by);
    } else if (place->incarnation == incarnation &&
               !rz_recovery_node_failed(daemon->recovery, place->node)) {
        const struct rz_overlay_message message = {
            .type = RZ_OVERLAY_END_PROCESS,
            .end_process = {.rank = slot, .incarnation = incarnation, .code = code, .by = by}};
        rz_overlay_send(daemon->overlay, place->node, &message);
    }
}

/* ---- life */

rz_status_t rz_spawns_open(struct rz_spawns **result, struct rz_daemon *daemon)
{
    struct rz_spawns *spawns = calloc(1, sizeof *spawns);
    if (spawns)
        spawns->slots = calloc(daemon->job.n_slots, sizeof *spawns->slots);
    if (!spawns || !spawns->slots) {
        free(spawns);
        return RZ_ERR_NO_MEMORY;
    }
    spawns->daemon = daemon;
    *result = spawns;
    return RZ_OK;
}

void rz_spawns_close(struct rz_spawns *spawns)
{
    if (!spawns)
        return;
    rz_spawns_askes_close(spawns);
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
