/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports the failures that the processes of this node have acknowledged; keeps what comes before
 * the failure is known here. */
#include "daemon/service/acknowledgements.h"

#include "base/idset.h"
#include "base/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* `by` has acknowledged the failure of `process`, which lived as far as this daemon knew. */
struct early {
    struct rz_link_process process, by;
};

struct rz_acknowledgements {
    const struct rz_own_node *own;
    const struct rz_board_writer *board; /* what it shows may be acknowledged */
    struct early *early;                 /* [n_early], of each process at most one for each slot */
    uint64_t *keys;                      /* theirs, sorted: a process may send any number of them */
    uint32_t n_early, early_max;
};

static void acknowledgements_report(const struct rz_own_node *own,
                                    const struct rz_link_process *process, uint32_t by)
{
    rz_report_event(&own->report, &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_ACKNOWLEDGED,
                                                            .epoch = own->membership.epoch,
                                                            .rank = process->slot,
                                                            .node = own->job.node,
                                                            .incarnation = process->incarnation,
                                                            .value = by,
                                                            .note = ""});
}

/* ---- before the failure is known ---- */

static void keep_early(struct rz_acknowledgements *a, const struct early *new)
{
    uint64_t key = (uint64_t) new->by.slot << 32 | new->process.slot;
    uint32_t at = rz_items_lower_bound(a->keys, a->n_early, key);
    if (at < a->n_early && a->keys[at] == key) {
        a->early[at] = *new;
        return;
    }
    if (a->n_early == a->early_max) {
        a->early_max = a->early_max ? 2 * a->early_max : 4;
        a->early = realloc(a->early, a->early_max * sizeof(*a->early));
        a->keys = realloc(a->keys, a->early_max * sizeof(*a->keys));
        rz_need_memory(a->early, "for acknowledged failures");
        rz_need_memory(a->keys, "for acknowledged failures");
    }
    rz_items_insert(a->keys, &(uint32_t){a->n_early}, a->early_max, key);
    memmove(a->early + at + 1, a->early + at, (a->n_early - at) * sizeof(*a->early));
    a->early[at] = *new;
    a->n_early++;
}

/* Something has failed: it is a failure that was acknowledged before, or a process that did so. */
static void settle(struct rz_acknowledgements *a)
{
    const struct rz_membership *membership = &a->own->membership;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < a->n_early; i++) {
        const struct early one = a->early[i];
        bool counts = membership->slots[one.by.slot].failed < one.by.incarnation;
        if (counts && rz_board_writer_gone(a->board, one.process.slot, one.process.incarnation)) {
            acknowledgements_report(a->own, &one.process, one.by.slot);
        } else if (counts) {
            a->keys[kept] = a->keys[i];
            a->early[kept++] = one;
        }
    }
    a->n_early = kept;
}

void rz_acknowledgements_node_failed(void *acknowledgements, rz_id node, bool proof, bool first)
{
    (void)node, (void)proof, (void)first;
    settle(acknowledgements);
}

void rz_acknowledgements_process_failed(void *acknowledgements, uint32_t slot, uint32_t incarnation,
                                        enum rz_end end)
{
    (void)slot, (void)incarnation, (void)end;
    settle(acknowledgements);
}

/* ---- messages ---- */

/* False: it is known that p has acknowledged it. */
static bool note_acknowledged(struct rz_child *p, const struct rz_link_process *process)
{
    uint64_t item = (uint64_t)process->slot << 32 | process->incarnation;
    uint32_t n = p->n_acknowledged;
    if (rz_items_contain(p->acknowledged, n, item)) {
        return false;
    }
    if ((n & (n - 1)) == 0) { /* the room is the next power of two */
        p->acknowledged = realloc(p->acknowledged, (n ? 2 * n : 1) * sizeof(*p->acknowledged));
        rz_need_memory(p->acknowledged, "for acknowledged failures");
    }
    return rz_items_insert(p->acknowledged, &p->n_acknowledged, n + 1, item);
}

/* The parents of a spawned process may end it, and acknowledge that before. */
static void take_acknowledged(struct rz_acknowledgements *a, struct rz_child *p,
                              const struct rz_link_process *process)
{
    const struct rz_membership *membership = &a->own->membership;
    if (rz_board_writer_gone(a->board, process->slot, process->incarnation) ||
        rz_membership_is_spawned(membership, process->slot, process->incarnation)) {
        if (note_acknowledged(p, process)) {
            acknowledgements_report(a->own, process, p->rank);
        }
    } else if (process->incarnation == membership->slots[process->slot].incarnation) {
        keep_early(a, &(struct early){*process, {p->rank, p->incarnation}});
    }
}

static bool on_acknowledged(void *arg, struct rz_child *p, const struct rz_link_message *message,
                            int *fd)
{
    struct rz_acknowledgements *a = arg;
    const struct rz_link_acknowledged *told = &message->acknowledged;
    (void)fd;
    for (uint32_t at = 0; at < told->processes_length; at += RZ_LINK_PAIR_BYTES) {
        struct rz_link_process process;
        if (told->processes_length - at < RZ_LINK_PAIR_BYTES) {
            return false;
        }
        rz_link_get_pairs(told->processes + at, RZ_LINK_PAIR_BYTES, &process, 1);
        if (process.slot >= a->own->job.n_slots || process.incarnation == 0) {
            return false;
        }
        take_acknowledged(a, p, &process);
    }
    return true;
}

/* ---- open and close ---- */

rz_status_t rz_acknowledgements_open(struct rz_acknowledgements **result,
                                     const struct rz_own_node *own, struct rz_link_router *router,
                                     const struct rz_board_writer *board)
{
    struct rz_acknowledgements *a = calloc(1, sizeof(*a));
    if (!a) {
        return RZ_ERR_NO_MEMORY;
    }
    a->own = own;
    a->board = board;
    rz_link_router_handle(router, RZ_LINK_ACKNOWLEDGED, on_acknowledged, a);
    *result = a;
    return RZ_OK;
}

void rz_acknowledgements_close(struct rz_acknowledgements *a)
{
    if (a) {
        free(a->early);
        free(a->keys);
    }
    free(a);
}
