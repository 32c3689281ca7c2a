/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the state of slots and nodes, and tells the subscribers of each failure once. */
#include "daemon/state/membership.h"

#include "base/assert.h"

#include <stdlib.h>

rz_status_t rz_membership_open(struct rz_membership *m, uint32_t n_nodes, uint32_t n_slots)
{
    m->n_nodes = n_nodes;
    m->n_slots = n_slots;
    m->slots = calloc(n_slots, sizeof(*m->slots));
    m->nodes = calloc(n_nodes, sizeof(*m->nodes));
    if (!m->slots || !m->nodes) {
        return RZ_ERR_NO_MEMORY;
    }
    for (uint32_t slot = 0; slot < n_slots; slot++) {
        m->slots[slot].node = RZ_ID_NONE;
    }
    return RZ_OK;
}

void rz_membership_close(struct rz_membership *m)
{
    free(m->slots);
    free(m->nodes);
    *m = (struct rz_membership){.ending = m->ending, .told_to_end = m->told_to_end};
}

void rz_membership_on_node(struct rz_membership *m, rz_node_failed_fn call, void *arg)
{
    rz_assert(m->n_on_node < RZ_MEMBERSHIP_SUBSCRIBERS_MAX);
    m->on_node[m->n_on_node].call = call;
    m->on_node[m->n_on_node++].arg = arg;
}

void rz_membership_on_process(struct rz_membership *m, rz_process_failed_fn call, void *arg)
{
    rz_assert(m->n_on_process < RZ_MEMBERSHIP_SUBSCRIBERS_MAX);
    m->on_process[m->n_on_process].call = call;
    m->on_process[m->n_on_process++].arg = arg;
}

/* ---- failures ---- */

static void never_started(struct rz_membership_slot *member, uint32_t incarnation)
{
    if (member->never_started < incarnation) {
        member->never_started = incarnation;
    }
}

void rz_membership_observe_node(const struct rz_membership *m, rz_id node, bool proof)
{
    if (!m->ending && m->reporter.node) {
        m->reporter.node(m->reporter.arg, node, proof);
    }
}

void rz_membership_observe_process(struct rz_membership *m, uint32_t slot, uint32_t incarnation,
                                   enum rz_end end)
{
    if (end == RZ_END_NEVER) {
        /* At once: a replacement may be requested before the report comes back. */
        never_started(&m->slots[slot], incarnation);
    }
    if (!m->ending && m->reporter.process) {
        m->reporter.process(m->reporter.arg, slot, incarnation, end);
    }
}

void rz_membership_node_failed(struct rz_membership *m, rz_id node, bool proof)
{
    const uint8_t evidence = proof ? RZ_NODE_PROVED : RZ_NODE_SILENT;
    if (node >= m->n_nodes || m->nodes[node] & evidence) {
        return;
    }
    bool first = !(m->nodes[node] & (RZ_NODE_PROVED | RZ_NODE_SILENT));
    m->nodes[node] |= RZ_NODE_FAILED | evidence;
    for (uint32_t i = 0; i < m->n_on_node; i++) {
        m->on_node[i].call(m->on_node[i].arg, node, proof, first);
    }
}

void rz_membership_process_failed(struct rz_membership *m, uint32_t slot, uint32_t incarnation,
                                  enum rz_end end)
{
    if (slot >= m->n_slots) {
        return;
    }
    struct rz_membership_slot *member = &m->slots[slot];
    if (m->ending || member->failed >= incarnation || member->ended == incarnation) {
        return;
    }
    if (end == RZ_END_NEVER) {
        never_started(member, incarnation);
    }
    if (end == RZ_END_ORDER) {
        member->ended = incarnation;
    } else {
        member->failed = incarnation;
    }
    for (uint32_t i = 0; i < m->n_on_process; i++) {
        m->on_process[i].call(m->on_process[i].arg, slot, incarnation, end);
    }
}

void rz_membership_node_agreed_failed(struct rz_membership *m, rz_id node)
{
    m->nodes[node] |= RZ_NODE_FAILED;
}

bool rz_membership_has_failed(const struct rz_membership *m, uint32_t slot)
{
    const struct rz_membership_slot *member = &m->slots[slot];
    return member->failed >= member->incarnation || rz_membership_node_has_failed(m, member->node);
}

/* ---- what was agreed ---- */

void rz_membership_enter(struct rz_membership *m, uint32_t epoch)
{
    m->epoch = epoch;
    m->phase = RZ_PHASE_ENTER;
}

void rz_membership_phase(struct rz_membership *m, enum rz_recover_phase phase)
{
    m->phase = phase;
}

void rz_membership_place(struct rz_membership *m, uint32_t slot, rz_id node, uint32_t incarnation)
{
    m->slots[slot].node = node;
    m->slots[slot].incarnation = incarnation;
}

bool rz_membership_spawn(struct rz_membership *m, uint32_t slot, rz_id node, uint32_t incarnation,
                         bool replaces)
{
    struct rz_membership_slot *member = &m->slots[slot];
    if (incarnation <= member->incarnation) {
        return false;
    }
    if (replaces && member->failed < incarnation - 1) {
        member->failed = incarnation - 1;
    }
    rz_membership_place(m, slot, node, incarnation);
    member->spawned = incarnation;
    member->spawned_epoch = m->epoch;
    member->replaces = replaces;
    return true;
}

bool rz_membership_is_spawned(const struct rz_membership *m, uint32_t slot, uint32_t incarnation)
{
    const struct rz_membership_slot *member = &m->slots[slot];
    return member->spawned == incarnation && member->spawned_epoch == m->epoch;
}

bool rz_membership_replaces(const struct rz_membership *m, uint32_t slot, uint32_t incarnation)
{
    const struct rz_membership_slot *member = &m->slots[slot];
    return member->spawned == incarnation ? member->replaces : incarnation > 1;
}

void rz_membership_end(struct rz_membership *m)
{
    m->ending = true;
}
