/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of the node's processes: finds, signals and kills them, and rings their doorbells. */
#include "daemon/process/child.h"

#include "daemon/state/loop.h"
#include "port/child_process.h"
#include "port/clock.h"
#include "port/signals.h"

#include <stdlib.h>

struct rz_child *rz_child_of(const struct rz_children *children, uint32_t rank)
{
    for (struct rz_child *p = children->first; p; p = p->next) {
        if (p->rank == rank && p->state != RZ_CHILD_FAILED) {
            return p;
        }
    }
    return NULL;
}

bool rz_child_is_current(const struct rz_child *p)
{
    const struct rz_own_node *own = p->all->own;
    const struct rz_membership_slot *member = &own->membership.slots[p->rank];
    return member->node == own->job.node && member->incarnation == p->incarnation;
}

bool rz_child_record_once(const struct rz_child *p, uint32_t *recorded, uint32_t epoch)
{
    if (epoch <= *recorded || epoch > p->all->own->membership.epoch) {
        return false;
    }
    *recorded = epoch;
    return true;
}

uint64_t rz_child_waited_ns(const struct rz_child *p)
{
    return p->share.waits ? rz_waits_waited_ns(p->share.waits, rz_clock_now()) : RZ_WAITED_UNKNOWN;
}

void rz_child_signal(const struct rz_child *p, int number)
{
    rz_child_process_signal_group(p->pid, number);
}

void rz_children_signal(const struct rz_children *children, int number)
{
    for (struct rz_child *p = children->first; p; p = p->next) {
        rz_child_signal(p, number);
    }
}

void rz_child_kill(struct rz_child *p, const char *why)
{
    if (p->state == RZ_CHILD_FAILED || p->given_up) {
        return;
    }
    p->given_up = true;
    rz_report_log(&p->all->own->report, 0, "rank %u is killed: %s", p->rank, why);
    rz_child_signal(p, SIGKILL);
    rz_link_peer_close(&p->link);
}

void rz_child_ring(const struct rz_child *p, uint32_t reason)
{
    if (!p->share.bell) {
        return;
    }
    atomic_fetch_or_explicit(&p->share.bell->reasons, reason, memory_order_release);
    rz_doorbell_ring(p->share.bell, p->share.bell_fd);
}

void rz_children_ring(const struct rz_children *children, uint32_t reason)
{
    for (struct rz_child *p = children->first; p; p = p->next) {
        rz_child_ring(p, reason);
    }
}

void rz_children_recount(struct rz_children *children)
{
    if (children->recount) {
        rz_loop_soon(children->recount);
    }
}

rz_status_t rz_children_on_recount(struct rz_children *children, event_callback_fn count, void *arg)
{
    return rz_loop_timer(children->own->base, &children->recount, count, arg);
}

rz_status_t rz_children_open(struct rz_children **result, const struct rz_own_node *own)
{
    struct rz_children *children = calloc(1, sizeof(*children));
    if (!children) {
        return RZ_ERR_NO_MEMORY;
    }
    children->own = own;
    *result = children;
    return RZ_OK;
}

void rz_children_close(struct rz_children *children)
{
    if (!children) {
        return;
    }
    rz_loop_free(children->recount);
    free(children);
}
