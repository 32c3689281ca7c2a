/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of each component: its configurations, the calls that its host may make, and what must hold.
 * Components with a model of their own are in fuzz_proto_models.c.
 */
#include "fuzz_proto_cores.h"

#include "proto/agree/agree.h"
#include "proto/diagnose/diagnose.h"
#include "proto/gossip/gossip.h"
#include "proto/paxos/paxos.h"
#include "proto/recover/recover.h"
#include "proto/ring/ring.h"
#include "proto/rounds/rounds.h"
#include "proto/snapshot/snapshot.h"
#include "proto/swim/swim.h"
#include "proto/view_change/view_change.h"
#include "proto/twophase/twophase.h"

#include <stdlib.h>

RZ_PROTOCOL(ring, RZ_PROTOCOL_RING);
RZ_PROTOCOL(agree, RZ_PROTOCOL_AGREE);
RZ_PROTOCOL(recover, RZ_PROTOCOL_RECOVER);
RZ_PROTOCOL(gossip, RZ_PROTOCOL_GOSSIP);
RZ_PROTOCOL(swim, RZ_PROTOCOL_SWIM);
RZ_PROTOCOL(diagnose, RZ_PROTOCOL_DIAGNOSE);
RZ_PROTOCOL(paxos, RZ_PROTOCOL_PAXOS);
RZ_PROTOCOL(twophase, RZ_PROTOCOL_TWOPHASE);
RZ_PROTOCOL(rounds, RZ_PROTOCOL_ROUNDS);
RZ_PROTOCOL(view_change, RZ_PROTOCOL_VIEW_CHANGE);
RZ_PROTOCOL(snapshot, RZ_PROTOCOL_SNAPSHOT);

#define INSTANCES 4 /* of paxos */
#define GROUPS 4    /* of turn */
#define SLOTS 8

/* What a call or accessor lists is in order, each once, and of members that exist. */
static void ascending(const struct patient *patient, const uint64_t *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        rz_fuzz_holds(items[i] < patient->n && (i == 0 || items[i] > items[i - 1]));
    }
}

/* ---- ring ---- */

static void begin_ring(struct patient *patient)
{
    static struct rz_ring_config config;
    config = (struct rz_ring_config){.n_members = patient_any_n(patient, PATIENT_MEMBERS_MAX),
                                     .view = PATIENT_VIEW,
                                     .hb_period = 100,
                                     .hb_timeout = 300,
                                     .start_slack = 50};
    patient->config = &config;
    patient->n = config.n_members;
    patient->types = 3;
}

static bool call_ring(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    (void)items;
    event->call = RZ_RING_LEAVE;
    return patient_below(patient, 8) == 0;
}

static void holds_ring(struct patient *patient)
{
    uint32_t n;
    rz_id seen = rz_ring_observing(patient->state), by = rz_ring_observer(patient->state);
    const uint64_t *out = rz_ring_out(patient->state, &n);
    ascending(patient, out, n);
    rz_fuzz_holds(seen == RZ_ID_NONE || (seen < patient->n && seen != patient->self));
    rz_fuzz_holds(by == RZ_ID_NONE || (by < patient->n && by != patient->self));
    rz_fuzz_holds(n >= patient->memory[0]);
    patient->memory[0] = n;
    bool silent = rz_ring_silent(patient->state);
    rz_fuzz_holds(silent || !patient->memory[1]);
    patient->memory[1] = silent;
}

const struct patient_protocol fuzz_protocol_ring = PATIENT_PROTOCOL(ring);

/* ---- agree ---- */

static void begin_agree(struct patient *patient)
{
    static struct rz_agree_config config;
    config = (struct rz_agree_config){
        .n_members = patient_any_n(patient, PATIENT_MEMBERS_MAX),
        .view = PATIENT_VIEW,
        .in_flight_max = 1 + (uint32_t)patient_below(patient, 3),
        .items_max = (uint32_t)patient_below(patient, 3),
        .tree = (enum rz_agree_tree)patient_below(patient, RZ_AGREE_TREE_COUNT),
        .per_node = (uint32_t)patient_below(patient, 4)};
    patient->config = &config;
    patient->n = config.n_members;
    patient->types = 6;
    patient->memory[0] = config.in_flight_max;
}

static bool call_agree(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    event->call = RZ_AGREE_PROPOSE;
    for (uint32_t i = 0; i < 3; i++) {
        event->arg[i] = rz_fuzz_take(patient->input, 4);
    }
    event->n_items = (uint32_t)patient_below(patient, 3);
    items[0] = patient_below(patient, 100);
    items[1] = items[0] + 1 + patient_below(patient, 100);
    return rz_agree_proposed(patient->state) - rz_agree_decided(patient->state) <
               patient->memory[0] &&
           !rz_agree_knows_failed(patient->state, patient->self);
}

static void holds_agree(struct patient *patient)
{
    uint32_t n;
    uint64_t decided = rz_agree_decided(patient->state);
    const rz_id *failed = rz_agree_failed(patient->state, &n);
    for (uint32_t i = 0; i < n; i++) {
        rz_fuzz_holds(failed[i] < patient->n && (i == 0 || failed[i] > failed[i - 1]));
    }
    rz_fuzz_holds(decided >= patient->memory[1] && n >= patient->memory[2]);
    /* A decision without us holds us for failed; it is the last one. */
    rz_fuzz_holds(decided <= rz_agree_proposed(patient->state) ||
                  rz_agree_knows_failed(patient->state, patient->self));
    patient->memory[1] = decided;
    patient->memory[2] = n;
}

const struct patient_protocol fuzz_protocol_agree = PATIENT_PROTOCOL(agree);

/* ---- recover ---- */

/* Behind the ranks, for spawns. */
#define FREE_SLOTS 3

static void begin_recover(struct patient *patient)
{
    static struct rz_recover_config config;
    static uint32_t placement[RANKS_PER_DAEMON * PATIENT_MEMBERS_MAX], slots[PATIENT_MEMBERS_MAX];
    uint32_t n = patient_any_n(patient, 16);
    for (uint32_t i = 0; i < RANKS_PER_DAEMON * n; i++) {
        placement[i] = i / RANKS_PER_DAEMON;
    }
    for (uint32_t i = 0; i < n; i++) {
        slots[i] = RANKS_PER_DAEMON;
    }
    config = (struct rz_recover_config){.n_daemons = n,
                                        .n_ranks = RANKS_PER_DAEMON * n,
                                        .n_slots = RANKS_PER_DAEMON * n + FREE_SLOTS,
                                        .view = PATIENT_VIEW,
                                        .tie_breaker = patient_below(patient, 2) ? 0 : RZ_ID_NONE,
                                        .placement = placement,
                                        .slots = slots,
                                        .restarts_max = (uint32_t)patient_below(patient, 3)};
    patient->config = &config;
    patient->n = n;
    patient->types = 6;
}

/* A spawn of the next incarnation of a slot, or a cohort; now and then one that cannot be. */
static uint64_t spawn_item(struct patient *patient)
{
    uint32_t slot = (uint32_t)patient_below(patient, RANKS_PER_DAEMON * patient->n + FREE_SLOTS);
    if (patient_below(patient, 2)) {
        return rz_recover_pack_spawn(slot, rz_recover_incarnation_of(patient->state, slot) +
                                               (uint32_t)patient_below(patient, 3));
    }
    rz_id node = (rz_id)patient_below(patient, patient->n + 1);
    uint32_t last = node < patient->n ? rz_recover_cohorts_decided(patient->state, node) : 0;
    return rz_recover_pack_cohort(node, last + 1 + (uint32_t)patient_below(patient, 3),
                                  1 + (uint32_t)patient_below(patient, FREE_SLOTS + 1));
}

static bool call_recover(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    uint32_t slots = RANKS_PER_DAEMON * patient->n + FREE_SLOTS;
    event->call = (uint32_t)patient_below(patient, 5);
    event->arg[0] = rz_recover_epoch(patient->state) - patient_below(patient, 2);
    event->arg[1] = patient_below(patient, 4);
    if (event->call == RZ_RECOVER_FAILED) {
        event->arg[0] = patient_below(patient, slots);
    }
    if (event->call == RZ_RECOVER_REACHED) {
        event->arg[1] %= 2;
        event->arg[2] = rz_recover_round(patient->state) - patient_below(patient, 2);
    }
    if (event->call == RZ_RECOVER_WANT) {
        event->n_items = (uint32_t)patient_below(patient, 3);
        for (uint32_t i = 0; i < event->n_items; i++) {
            items[i] = spawn_item(patient);
        }
    }
    if (event->call == RZ_RECOVER_COMMITTED) {
        event->arg[1] = event->arg[0];
        event->arg[0] = patient->memory[2] += patient_below(patient, 2);
    }
    return true;
}

static void holds_recover(struct patient *patient)
{
    uint32_t epoch = rz_recover_epoch(patient->state);
    bool stopped = rz_recover_stopped(patient->state);
    rz_fuzz_holds(epoch >= patient->memory[0] && stopped >= patient->memory[1]);
    rz_fuzz_holds(rz_recover_phase(patient->state) <= RZ_PHASE_LEFT);
    patient->memory[0] = epoch;
    patient->memory[1] = stopped;
    for (uint32_t rank = 0; rank < RANKS_PER_DAEMON * patient->n; rank++) {
        rz_fuzz_holds(rz_recover_daemon_of(patient->state, rank) < patient->n);
        rz_fuzz_holds(rz_recover_incarnation_of(patient->state, rank) > 0);
    }
    for (uint32_t slot = RANKS_PER_DAEMON * patient->n;
         slot < RANKS_PER_DAEMON * patient->n + FREE_SLOTS; slot++) {
        bool empty = rz_recover_incarnation_of(patient->state, slot) == 0;
        rz_fuzz_holds((rz_recover_daemon_of(patient->state, slot) == RZ_ID_NONE) == empty);
        rz_fuzz_holds(!empty || rz_recover_cohort_of(patient->state, slot) == 0);
    }
}

const struct patient_protocol fuzz_protocol_recover = PATIENT_PROTOCOL(recover);

/* ---- gossip ---- */

static void begin_gossip(struct patient *patient)
{
    static struct rz_gossip_config config;
    config = (struct rz_gossip_config){
        .n_members = patient_any_n(patient, PATIENT_MEMBERS_MAX),
        .view = PATIENT_VIEW,
        .kind = (enum rz_gossip_kind)patient_below(patient, RZ_GOSSIP_KIND_COUNT),
        .cycle = 200,
        .timeout = 150,
        .before_only = patient_below(patient, 2),
        .report = patient_below(patient, 2)};
    patient->config = &config;
    patient->n = config.n_members;
    patient->types = RZ_GOSSIP_MESSAGE_COUNT;
    if (config.kind == RZ_GOSSIP_MATRIX) {
        patient->items_usual = config.n_members * ((config.n_members + 63) / 64);
    } else if (config.kind == RZ_GOSSIP_SUM) {
        patient->items_usual = 3 * (uint32_t)patient_below(patient, 4);
    } else {
        patient->items_usual = 1;
    }
}

static bool call_gossip(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    (void)items;
    event->call = RZ_GOSSIP_BEGIN;
    return patient->memory[0]++ == 0;
}

static void holds_gossip(struct patient *patient)
{
    uint32_t n;
    const uint64_t *failed = rz_gossip_failed(patient->state, &n);
    ascending(patient, failed, n);
    rz_fuzz_holds(n >= patient->memory[1]);
    patient->memory[1] = n;
    for (uint32_t i = 0; i < n; i++) {
        rz_fuzz_holds(rz_gossip_phase(patient->state, (rz_id)failed[i]) >= 1);
    }
    bool returned = rz_gossip_returned(patient->state);
    rz_fuzz_holds(returned >= patient->memory[2]);
    patient->memory[2] = returned;
    rz_fuzz_holds(patient->notices[RZ_GOSSIP_RETURNED] <= 1);
}

const struct patient_protocol fuzz_protocol_gossip = PATIENT_PROTOCOL(gossip);

/* ---- rounds ---- */

static void begin_rounds(struct patient *patient)
{
    static struct rz_rounds_config config;
    config =
        (struct rz_rounds_config){.n_members = patient_any_n(patient, 16), .view = PATIENT_VIEW};
    patient->config = &config;
    patient->n = config.n_members;
    patient->types = 2;
}

static bool call_rounds(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    (void)items;
    event->call = RZ_ROUNDS_PROPOSE;
    event->arg[0] = rz_fuzz_take(patient->input, 8);
    return patient->memory[0]++ == 0;
}

static void holds_rounds(struct patient *patient)
{
    struct rz_rounds_decision decision = rz_rounds_decision(patient->state);
    if (!decision.made) {
        return;
    }
    if (patient->memory[1]++ > 0) {
        rz_fuzz_holds(patient->memory[2] == decision.and &&patient->memory[3] == decision.members);
    }
    patient->memory[2] = decision.and;
    patient->memory[3] = decision.members;
    rz_fuzz_holds(decision.members >> patient->n == 0);
}

const struct patient_protocol fuzz_protocol_rounds = PATIENT_PROTOCOL(rounds);

/* ---- twophase ---- */

static void begin_twophase(struct patient *patient)
{
    static struct rz_twophase_config config;
    config = (struct rz_twophase_config){.n_members = patient_any_n(patient, PATIENT_MEMBERS_MAX),
                                         .view = PATIENT_VIEW};
    patient->config = &config;
    patient->n = config.n_members;
    patient->types = 6;
}

static bool call_twophase(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    (void)items;
    event->call = RZ_TWOPHASE_PROPOSE;
    event->arg[0] = rz_fuzz_take(patient->input, 8);
    return rz_twophase_proposed(patient->state) == rz_twophase_decided(patient->state);
}

static void holds_twophase(struct patient *patient)
{
    uint64_t decided = rz_twophase_decided(patient->state);
    rz_fuzz_holds(decided >= patient->memory[0] && decided <= rz_twophase_proposed(patient->state));
    patient->memory[0] = decided;
}

const struct patient_protocol fuzz_protocol_twophase = PATIENT_PROTOCOL(twophase);

/* ---- paxos ---- */

static void begin_paxos(struct patient *patient)
{
    static struct rz_paxos_config config;
    config = (struct rz_paxos_config){.n_members = patient_any_n(patient, PATIENT_MEMBERS_MAX),
                                      .view = PATIENT_VIEW,
                                      .retry = 50,
                                      .votes = patient_below(patient, 2),
                                      .instances_max = 1};
    patient->config = &config;
    patient->n = config.n_members;
    patient->types = 7;
}

static bool call_paxos(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    static const uint32_t calls[] = {RZ_PAXOS_PROPOSE, RZ_PAXOS_VOTE, RZ_PAXOS_DOUBT};
    event->call = calls[patient_below(patient, 3)];
    event->arg[0] = patient_below(patient, INSTANCES);
    event->arg[1] = patient_below(patient, 2);
    items[0] = rz_fuzz_take(patient->input, 8);
    items[1] = rz_fuzz_take(patient->input, 8);
    event->n_items = event->call == RZ_PAXOS_DOUBT ? 2 : 0;
    return true;
}

static void holds_paxos(struct patient *patient)
{
    for (uint64_t i = 0; i < INSTANCES; i++) {
        uint64_t *seen = &patient->memory[4 * i], value = 0;
        uint64_t promised = rz_paxos_promised(patient->state, i);
        uint64_t accepted = rz_paxos_accepted(patient->state, i, &value);
        rz_fuzz_holds(promised >= seen[0] && accepted >= seen[1] && accepted <= promised);
        seen[0] = promised, seen[1] = accepted;
        bool decided = rz_paxos_decision(patient->state, i, &value);
        rz_fuzz_holds(seen[2] == 0 || (decided && value == seen[3]));
        seen[2] = decided, seen[3] = decided ? value : 0;
    }
}

const struct patient_protocol fuzz_protocol_paxos = PATIENT_PROTOCOL(paxos);

/* ---- diagnose ---- */

static void begin_diagnose(struct patient *patient)
{
    static struct rz_diagnose_config config;
    config = (struct rz_diagnose_config){.n_members = patient_any_n(patient, PATIENT_MEMBERS_MAX),
                                         .view = PATIENT_VIEW,
                                         .interval = 300,
                                         .threshold_first = 200,
                                         .threshold_max = 1000,
                                         .zeta = 2,
                                         .health_max = (uint32_t)patient_below(patient, 3),
                                         .assignment = patient_below(patient, 2),
                                         .by_host = patient_below(patient, 2),
                                         .report = true};
    patient->config = &config;
    patient->n = config.n_members;
    patient->types = 3;
}

static bool call_diagnose(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    event->call = (uint32_t)patient_below(patient, 3);
    event->arg[0] = patient_below(patient, patient->n);
    event->arg[1] = patient_below(patient, 4);
    if (event->call == RZ_DIAGNOSE_READMIT) {
        event->arg[1] |= 1;
    }
    if (event->call == RZ_DIAGNOSE_VIEW) {
        event->n_items = patient->n > 1 ? 2 : 1;
    }
    items[0] = RZ_DIAGNOSE_ITEM(0, patient_below(patient, 4));
    items[1] = RZ_DIAGNOSE_ITEM(patient->n - 1, patient_below(patient, 4));
    return event->call != RZ_DIAGNOSE_ANSWER || event->arg[0] != patient->self;
}

/* Counters never fall, but at a member that is or was out. */
static void holds_diagnose(struct patient *patient)
{
    uint32_t in = 0;
    bool was_out = patient->memory[patient->self] % 2 == 1;
    bool out = was_out || !rz_diagnose_has(patient->state, patient->self);
    for (rz_id k = 0; k < patient->n; k++) {
        uint64_t counter = rz_diagnose_counter(patient->state, k);
        rz_fuzz_holds(out || counter >= patient->memory[k]);
        patient->memory[k] = counter;
        in += counter % 2 == 0;
        rz_fuzz_holds(k != patient->self || !rz_diagnose_tests(patient->state, k));
    }
    rz_fuzz_holds(rz_diagnose_health(patient->state) <= 2);
    rz_fuzz_holds(in == rz_diagnose_group_size(patient->state));
}

const struct patient_protocol fuzz_protocol_diagnose = PATIENT_PROTOCOL(diagnose);

/* ---- swim ---- */

static void begin_swim(struct patient *patient)
{
    static struct rz_swim_config config;
    config = rz_swim_config_scaled(1000, patient_any_n(patient, PATIENT_MEMBERS_MAX));
    config.view = PATIENT_VIEW;
    config.records_max = 1;
    config.final = patient_below(patient, 2);
    patient->config = &config;
    patient->n = config.n_members;
    patient->types = 7;
}

static bool call_swim(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    (void)items;
    event->call = patient_below(patient, 2) == 0 ? RZ_SWIM_LEAVE : RZ_SWIM_HOLD;
    event->arg[0] = patient_below(patient, 8);
    event->arg[1] = patient_below(patient, 1000) * RZ_MILLISECOND;
    return event->call == RZ_SWIM_HOLD || patient_below(patient, 20) == 0;
}

static void holds_swim(struct patient *patient)
{
    if (rz_swim_silent(patient->state)) {
        return;
    }
    for (rz_id id = 0; id < patient->n; id++) {
        struct rz_swim_view view = rz_swim_look(patient->state, id);
        rz_fuzz_holds(view.timers == (view.state == RZ_SWIM_SUSPECT));
        rz_fuzz_holds(!view.queued || view.sent < rz_swim_limit(patient->state));
        rz_fuzz_holds(id != patient->self || view.state == RZ_SWIM_ALIVE ||
                      rz_swim_leaving(patient->state));
    }
    rz_fuzz_holds(rz_swim_records(patient->state) <= patient->n);
}

const struct patient_protocol fuzz_protocol_swim = PATIENT_PROTOCOL(swim);

/* ---- turn ---- */

static void begin_view_change(struct patient *patient)
{
    static struct rz_view_change_config config;
    config =
        (struct rz_view_change_config){.n_members = patient_any_n(patient, PATIENT_MEMBERS_MAX),
                                       .view = PATIENT_VIEW,
                                       .n_slots = SLOTS,
                                       .groups_max = GROUPS - 1};
    patient->config = &config;
    patient->n = config.n_members;
    patient->types = 4;
    patient->calls = 16;
}

/* n processes, each in a slot of its own. */
static void turn_processes(struct patient *patient, uint64_t *items, uint32_t n)
{
    uint64_t incarnation = 1 + patient_below(patient, 2);
    for (uint32_t i = 0; i < n; i++) {
        items[i] = RZ_VIEW_CHANGE_PROCESS(i, incarnation);
    }
}

/* Chance never says which processes a group has: messages that could be true are made here. */
static void message_of_view_change(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    static struct rz_message message;
    uint32_t n = 1 + (uint32_t)patient_below(patient, SLOTS);
    bool decides = patient_below(patient, 2);
    message = (struct rz_message){.protocol = RZ_PROTOCOL_VIEW_CHANGE,
                                  .type = decides ? RZ_VIEW_CHANGE_DECIDED : RZ_VIEW_CHANGE_ARRIVED,
                                  .flags = !decides && patient_below(patient, 4) == 0,
                                  .view = PATIENT_VIEW,
                                  .from = (rz_id)patient_below(patient, patient->n),
                                  .seq = patient_below(patient, GROUPS),
                                  .word = {patient_below(patient, 4), patient_below(patient, 4)},
                                  .n_items = n + (decides ? 2 : 1)};
    items[0] = decides ? n : patient_below(patient, n) << 32 | n;
    turn_processes(patient, items + 1, n);
    items[n + 1] = 1 + patient_below(patient, (UINT64_C(1) << n) - 1);
    event->kind = RZ_EVENT_RECEIVE;
    event->message = &message;
}

static bool call_view_change(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    uint32_t n = 1 + (uint32_t)patient_below(patient, SLOTS);
    event->call = (uint32_t)patient_below(patient, 6);
    event->arg[0] = patient_below(patient, GROUPS);
    event->arg[1] = patient_below(patient, 4);
    if (event->call > RZ_VIEW_CHANGE_PROCESS_FAILED) {
        message_of_view_change(patient, event, items);
        return true;
    }
    turn_processes(patient, items, n);
    event->n_items = event->call == RZ_VIEW_CHANGE_LEAVE ? 0 : n;
    if (event->call == RZ_VIEW_CHANGE_ARRIVE) {
        event->arg[2] = patient_below(patient, n) << 32 | n;
        event->arg[3] = patient_below(patient, 4);
        items[event->n_items] = patient_below(patient, SLOTS) << 32 | patient_below(patient, 4);
        event->n_items += (uint32_t)patient_below(patient, 2);
    } else if (event->call == RZ_VIEW_CHANGE_PROCESS_FAILED) {
        items[0] = items[n - 1];
        event->n_items = 1;
    }
    return true;
}

static void holds_view_change(struct patient *patient)
{
    struct rz_view_change_look look;
    for (uint64_t group = 0; group < GROUPS; group++) {
        uint64_t *round = &patient->memory[group];
        if (!rz_view_change_look_for(patient->state, group, &look)) {
            *round = 0;
            continue;
        }
        rz_fuzz_holds(look.n > 0 && look.n <= SLOTS && look.counts.round >= *round);
        rz_fuzz_holds(look.kept.round >= look.counts.round);
        rz_fuzz_holds(look.counts.view[0] != 0 && look.counts.view[0] >> look.n == 0);
        rz_fuzz_holds(look.kept.view[0] != 0 && look.kept.view[0] >> look.n == 0);
        *round = look.counts.round;
    }
}

const struct patient_protocol fuzz_protocol_view_change = PATIENT_PROTOCOL(view_change);

/* ---- snapshot ---- */

static void begin_snapshot(struct patient *patient)
{
    static struct rz_snapshot_config config;
    config = (struct rz_snapshot_config){.n_members = patient_any_n(patient, PATIENT_MEMBERS_MAX),
                                         .view = PATIENT_VIEW};
    patient->config = &config;
    patient->n = config.n_members;
    patient->types = 6;
    patient->calls = 12;
}

/* What a message must say to be heard: the attempt and wave at hand, or the next wave. */
static void message_of_snapshot(struct patient *patient, struct rz_event *event)
{
    static struct rz_message message;
    uint64_t wave = rz_snapshot_wave(patient->state) + patient_below(patient, 2);
    message = (struct rz_message){
        .protocol = RZ_PROTOCOL_SNAPSHOT,
        .type = (uint8_t)patient_below(patient, 6),
        .flags = (uint16_t)patient_below(patient, 4),
        .view = PATIENT_VIEW,
        .from = (rz_id)patient_below(patient, patient->n),
        .seq = (uint64_t)rz_snapshot_attempt(patient->state) << 32 | wave,
        .word = {patient_below(patient, patient->n + 1), patient_below(patient, 3)}};
    event->kind = RZ_EVENT_RECEIVE;
    event->message = &message;
}

static bool call_snapshot(struct patient *patient, struct rz_event *event, uint64_t *items)
{
    enum rz_snapshot_phase phase = rz_snapshot_phase(patient->state);
    uint64_t *sent = &patient->memory[0], *delivered = &patient->memory[1];
    uint64_t reason = patient_below(patient, 8) == 0 ? patient_below(patient, 4) : 0;
    (void)items;
    if (patient_below(patient, 2) == 0) {
        message_of_snapshot(patient, event);
    } else if (phase == RZ_SNAPSHOT_RUNNING) {
        event->call = RZ_SNAPSHOT_START;
        event->arg[0] = rz_snapshot_attempt(patient->state);
        event->arg[1] = reason;
    } else if (phase == RZ_SNAPSHOT_SAVING) {
        event->call = RZ_SNAPSHOT_SAVED;
        event->arg[0] = reason;
    } else {
        event->call = RZ_SNAPSHOT_LOCAL;
        event->arg[0] = *sent += patient_below(patient, 2);
        event->arg[1] = *delivered += patient_below(patient, 2);
        event->arg[2] = patient_below(patient, 4) == 0;
        event->arg[3] = reason;
    }
    return true;
}

/* The wave of an attempt never falls, and ends are told once each. */
static void holds_snapshot(struct patient *patient)
{
    enum rz_snapshot_phase phase = rz_snapshot_phase(patient->state);
    struct rz_snapshot_end end = rz_snapshot_end(patient->state);
    uint64_t attempt = rz_snapshot_attempt(patient->state);
    uint64_t at = attempt << 32 | rz_snapshot_wave(patient->state);
    rz_fuzz_holds(at >= patient->memory[2] && phase <= RZ_SNAPSHOT_BROKEN);
    patient->memory[2] = at;
    rz_fuzz_holds(patient->notices[RZ_SNAPSHOT_ENDED] == attempt - 1);
    rz_fuzz_holds(patient->notices[RZ_SNAPSHOT_QUIET] <= attempt);
    rz_fuzz_holds((end.member < patient->n) == (end.reason != 0));
}

const struct patient_protocol fuzz_protocol_snapshot = PATIENT_PROTOCOL(snapshot);
