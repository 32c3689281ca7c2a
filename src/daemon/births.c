#include "daemon/births_private.h"

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

static void begin_here(struct rz_births *births, uint32_t slot)
{
    struct rz_daemon *daemon = births->daemon;
    const struct rz_daemon_place *place = &daemon->places[slot];
    struct rz_births_slot *s = &births->slots[slot];
    if (daemon->ending || place->node != daemon->job.node || s->born != place->incarnation ||
        s->begun >= s->born || daemon->dead[slot] >= s->born)
        return;
    bool known = slot < daemon->job.n_ranks || (s->order && s->order->has_come);
    if (!known && s->order && !rz_recovery_node_dead(daemon->recovery, s->order->node))
        return; /* it will be begun when the order comes */
    s->begun = s->born;
    if (known)
        rz_child_spawn(daemon, slot, s->born);
    else
        rz_child_stillborn(daemon, slot, s->born, "nobody lives who knows what it shall run");
}

static void record_birth(struct rz_daemon *daemon, uint32_t slot, bool spawned)
{
    const struct rz_launch_event event = {.kind = RZ_EVENT_RECORD_BORN,
                                          .epoch = daemon->epoch,
                                          .rank = slot,
                                          .node = daemon->places[slot].node,
                                          .incarnation = daemon->places[slot].incarnation,
                                          .value = spawned ? RZ_BORN_SPAWNED : RZ_BORN_REPLACES,
                                          .note = ""};
    rz_daemon_record(daemon, &event);
}

/* Where it is and what the board says of it. The process before it is dead: the birth says so. */
static void place_birth(struct rz_births *births, uint32_t slot, uint32_t incarnation, bool spawned)
{
    struct rz_daemon *daemon = births->daemon;
    struct rz_daemon_place *place = &daemon->places[slot];
    if (incarnation <= place->incarnation)
        return;
    if (!spawned && daemon->dead[slot] < incarnation - 1)
        daemon->dead[slot] = incarnation - 1;
    *place = (struct rz_daemon_place){.node = rz_recovery_daemon_of(daemon->recovery, slot),
                                      .incarnation = incarnation};
    births->slots[slot].born = incarnation;
    births->slots[slot].born_epoch = daemon->epoch;
    births->slots[slot].replaces = !spawned;
    rz_news_write_rank(daemon, slot);
    record_birth(daemon, slot, spawned);
}

/* The births behind a cohort item; how many. */
static uint32_t cohort_births(const uint64_t *items, uint32_t n_items,
                              struct rz_link_process *processes)
{
    uint32_t n = 0;
    while (n < n_items &&
           rz_recover_unpack_birth(items[n], &processes[n].slot, &processes[n].incarnation))
        n++;
    return n;
}

static void cohort_refused(struct rz_births *births, rz_id node, uint32_t serial, rz_status_t why)
{
    struct rz_births_order *order = rz_births_order_of(births, node, serial);
    if (node == births->daemon->job.node)
        rz_births_wish_refused(births, serial, why);
    if (order->has_come)
        rz_births_order_release(births, order);
    else
        order->refused = true; /* it may still come */
}

/* items: behind the cohort's; how many of them are its births. */
static uint32_t cohort_decided(struct rz_births *births, uint64_t cohort, const uint64_t *items,
                               uint32_t n_items, rz_status_t refused)
{
    rz_id node;
    uint32_t serial, count;
    rz_recover_unpack_cohort(cohort, &node, &serial, &count);
    struct rz_link_process *processes = calloc(n_items + 1, sizeof *processes);
    rz_assert(processes != NULL);
    uint32_t n = refused == RZ_OK ? cohort_births(items, n_items, processes) : 0;
    if (n == 0) {
        free(processes);
        cohort_refused(births, node, serial, refused != RZ_OK ? refused : RZ_ERR_NO_MEMORY);
        return 0;
    }
    struct rz_births_order *order = rz_births_order_of(births, node, serial);
    order->processes = processes;
    order->n_born = n;
    for (uint32_t i = 0; i < n; i++) {
        rz_births_slot_use(births, &births->slots[processes[i].slot], order, i);
        place_birth(births, processes[i].slot, processes[i].incarnation, true);
    }
    rz_births_order_release(births, order); /* it is expected no more: its processes use it */
    return n;
}

static void ends_carry_out(struct rz_births *births)
{
    struct rz_births_end_wanted *ends = births->ends;
    births->ends = NULL;
    while (ends) {
        struct rz_births_end_wanted *end = ends;
        ends = end->next;
        rz_births_end(births->daemon, end->slot, end->incarnation, end->code, end->by);
        free(end);
    }
}

/* Board first, for all of them; then what takes time. */
static void publish(struct rz_births *births, const uint64_t *items, uint32_t n_items)
{
    struct rz_daemon *daemon = births->daemon;
    uint32_t slot, incarnation;
    rz_board_writer_publish(daemon->board);
    rz_news_end_stale(daemon);
    for (uint32_t i = 0; i < n_items; i++)
        if (rz_recover_unpack_birth(items[i], &slot, &incarnation)) {
            begin_here(births, slot);
            rz_link_service_born(daemon, slot, incarnation);
        }
    rz_names_look_at_deaths(daemon->names);
    ends_carry_out(births);
    rz_children_recount(daemon);
}

static void no_slot(struct rz_births *births, uint32_t slot)
{
    char words[160];
    snprintf(words, sizeof words,
             "no process is started in place of that of slot %u: %s (see --spares, --host "
             "HOST:SLOTS and --oversubscribe)",
             slot, rz_status_text(RZ_ERR_NO_SLOTS));
    births->refused = RZ_ERR_NO_SLOTS;
    rz_births_tell_refusal(births, words);
}

void rz_births_decided(struct rz_daemon *daemon, rz_status_t refused, const uint64_t *items,
                       uint32_t n_items)
{
    struct rz_births *births = daemon->births;
    uint32_t slot, incarnation;
    if (daemon->ending)
        return;
    if (refused != RZ_OK) {
        births->refused = refused;
        rz_births_tell_refusal(
            births, "no process can be started now: the job is at its start, at its end, "
                    "or repairs itself by MPIX_Reinit");
    }
    for (uint32_t i = 0; i < n_items; i++)
        if (rz_recover_unpack_refused(items[i], &slot, &incarnation))
            no_slot(births, slot);
        else if (!rz_recover_unpack_birth(items[i], &slot, &incarnation))
            i += cohort_decided(births, items[i], items + i + 1, n_items - i - 1, refused);
        else if (refused == RZ_OK)
            place_birth(births, slot, incarnation, false);
    if (refused == RZ_OK)
        publish(births, items, n_items);
}

/* ---- what other daemons tell */

static void order_comes(struct rz_births *births, struct rz_births_order *order,
                        const struct rz_overlay_spawn_order *told)
{
    if (!rz_births_order_fill(births, order, told->commands, told->commands_length, told->count)) {
        rz_daemon_log(births->daemon, 0, "node %u wants to spawn something malformed", order->node);
        return; /* what was born of it here waits, until that node is dead */
    }
    rz_births_order_parent(order, told->parent, told->parent_length);
    for (uint32_t i = 0; i < order->n_born; i++)
        begin_here(births, order->processes[i].slot);
    ends_carry_out(births);
}

void rz_births_message(struct rz_daemon *daemon, rz_id from,
                       const struct rz_overlay_spawn_order *told)
{
    struct rz_births *births = daemon->births;
    if (daemon->ending || told->count > daemon->job.n_slots)
        return;
    struct rz_births_order *order = rz_births_order_of(births, from, told->serial);
    if (order->refused)
        rz_births_order_release(births, order);
    else if (!order->has_come)
        order_comes(births, order, told);
}

void rz_births_node_died(struct rz_daemon *daemon, rz_id node)
{
    struct rz_births *births = daemon->births;
    for (struct rz_births_order *order = births->orders; order; order = order->next)
        for (uint32_t i = 0; order->node == node && !order->has_come && i < order->n_born; i++)
            begin_here(births, order->processes[i].slot);
}

void rz_births_ended(struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation)
{
    struct rz_births_slot *s = &daemon->births->slots[slot];
    if (s->born == incarnation)
        rz_births_slot_use(daemon->births, s, NULL, 0);
}

void rz_births_never(struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation)
{
    struct rz_births_slot *s = &daemon->births->slots[slot];
    if (s->never < incarnation)
        s->never = incarnation;
}

/* ---- what others ask */

bool rz_births_is_newcomer(const struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation)
{
    const struct rz_births_slot *s = &daemon->births->slots[slot];
    return s->born == incarnation && s->born_epoch == daemon->epoch;
}

bool rz_births_replaces(const struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation)
{
    const struct rz_births_slot *s = &daemon->births->slots[slot];
    return s->born == incarnation ? s->replaces : incarnation > 1;
}

/* ---- ends that a process wanted */

static void end_later(struct rz_births *births, uint32_t slot, uint32_t incarnation, uint32_t code,
                      const char *by)
{
    struct rz_births_end_wanted *end = calloc(1, sizeof *end);
    rz_assert(end != NULL);
    *end = (struct rz_births_end_wanted){
        .next = births->ends, .slot = slot, .incarnation = incarnation, .code = code};
    snprintf(end->by, sizeof end->by, "%s", by);
    births->ends = end;
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
    rz_child_died(p, "MPI_Abort", rz_clock_now());
}

/* Its birth has not been heard of here, or it is not begun: its order has not come. */
static bool unborn(const struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation)
{
    const struct rz_daemon_place *place = &daemon->places[slot];
    const struct rz_births_slot *s = &daemon->births->slots[slot];
    return place->incarnation < incarnation ||
           (place->node == daemon->job.node && s->born == incarnation && s->begun < incarnation);
}

void rz_births_end(struct rz_daemon *daemon, uint32_t slot, uint32_t incarnation, uint32_t code,
                   const char *by)
{
    if (slot >= daemon->job.n_slots || daemon->ending)
        return;
    const struct rz_daemon_place *place = &daemon->places[slot];
    if (unborn(daemon, slot, incarnation)) {
        end_later(daemon->births, slot, incarnation, code, by);
    } else if (place->incarnation == incarnation && place->node == daemon->job.node) {
        end_here(daemon, slot, incarnation, code, by);
    } else if (place->incarnation == incarnation &&
               !rz_recovery_node_dead(daemon->recovery, place->node)) {
        const struct rz_overlay_message message = {
            .type = RZ_OVERLAY_END_PROCESS,
            .end_process = {.rank = slot, .incarnation = incarnation, .code = code, .by = by}};
        rz_overlay_send(daemon->overlay, place->node, &message);
    }
}

/* ---- life */

rz_status_t rz_births_open(struct rz_births **result, struct rz_daemon *daemon)
{
    struct rz_births *births = calloc(1, sizeof *births);
    if (births)
        births->slots = calloc(daemon->job.n_slots, sizeof *births->slots);
    if (!births || !births->slots) {
        free(births);
        return RZ_ERR_NO_MEMORY;
    }
    births->daemon = daemon;
    *result = births;
    return RZ_OK;
}

void rz_births_close(struct rz_births *births)
{
    if (!births)
        return;
    rz_births_wishes_close(births);
    rz_births_orders_close(births);
    while (births->ends) {
        struct rz_births_end_wanted *end = births->ends;
        births->ends = end->next;
        free(end);
    }
    free(births->cohort);
    free(births->slots);
    free(births);
}
