/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the processes of this node, and at the lowest node with ranks the nodes. */
#include "daemon/service/restored_files.h"

#include <stdlib.h>

struct rz_restored_files {
    struct rz_restored_files_config config;
    const struct rz_own_node *own; /* copied from config */
    uint32_t *told; /* [n_nodes]: the newest epoch in which all processes of the node have */
    uint32_t here;  /* the newest in which those of this node have */
    uint32_t all;   /* and all */
};

/* All ranks have places in an epoch that has begun. */
static rz_id lowest_node(const struct rz_restored_files *restored)
{
    const struct rz_membership *membership = &restored->own->membership;
    rz_id lowest = RZ_ID_NONE;
    for (uint32_t rank = 0; rank < restored->own->job.n_ranks; rank++) {
        rz_id node = membership->slots[rank].node;
        lowest = node < lowest ? node : lowest;
    }
    return lowest;
}

static void answer_all(struct rz_restored_files *restored, uint32_t epoch)
{
    const struct rz_link_message all = {.type = RZ_LINK_ALL_FILES_RESTORED,
                                        .all_files_restored = {.epoch = epoch}};
    restored->all = epoch;
    for (struct rz_child *p = restored->config.children->first; p; p = p->next) {
        if (p->files_restored == epoch && p->state == RZ_CHILD_JOINED) {
            rz_link_router_send(p, &all);
        }
    }
}

/* Here, at the lowest node. */
static void look_at_nodes(struct rz_restored_files *restored, uint32_t epoch)
{
    const struct rz_own_node *own = restored->own;
    const struct rz_overlay_message all = {.type = RZ_OVERLAY_ALL_FILES_RESTORED,
                                           .all_files_restored = {.epoch = epoch}};
    if (own->membership.epoch != epoch || restored->all >= epoch) {
        return;
    }
    for (uint32_t rank = 0; rank < own->job.n_ranks; rank++) {
        if (restored->told[own->membership.slots[rank].node] < epoch) {
            return;
        }
    }
    for (rz_id node = 0; node < own->membership.n_nodes; node++) {
        if (node != own->job.node && restored->told[node] == epoch) {
            rz_overlay_send(restored->config.overlay, node, &all);
        }
    }
    answer_all(restored, epoch);
}

static bool all_here_have(const struct rz_restored_files *restored, uint32_t epoch)
{
    const struct rz_own_node *own = restored->own;
    for (uint32_t rank = 0; rank < own->job.n_ranks; rank++) {
        const struct rz_child *p = own->membership.slots[rank].node == own->job.node
                                       ? rz_child_of(restored->config.children, rank)
                                       : NULL;
        if (own->membership.slots[rank].node == own->job.node &&
            !(p && rz_child_is_current(p) && p->files_restored == epoch)) {
            return false;
        }
    }
    return true;
}

static bool on_files_restored(void *arg, struct rz_child *p, const struct rz_link_message *message,
                              int *fd)
{
    struct rz_restored_files *restored = arg;
    uint32_t epoch = message->files_restored.epoch;
    const struct rz_overlay_message told = {.type = RZ_OVERLAY_FILES_RESTORED,
                                            .files_restored = {.epoch = epoch}};
    (void)fd;
    if (epoch == 0 || epoch != restored->own->membership.epoch || restored->here >= epoch) {
        return true; /* it is ended with its epoch */
    }
    p->files_restored = epoch;
    if (!all_here_have(restored, epoch)) {
        return true;
    }
    restored->here = epoch;
    rz_id lowest = lowest_node(restored);
    if (lowest != restored->own->job.node) {
        rz_overlay_send(restored->config.overlay, lowest, &told);
        return true;
    }
    restored->told[lowest] = epoch;
    look_at_nodes(restored, epoch);
    return true;
}

/* Perhaps of an epoch that has not begun here. */
static void on_node_has(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    struct rz_restored_files *restored = arg;
    uint32_t epoch = message->files_restored.epoch;
    if (epoch > restored->told[from]) {
        restored->told[from] = epoch;
        look_at_nodes(restored, epoch);
    }
}

static void on_all_have(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    struct rz_restored_files *restored = arg;
    uint32_t epoch = message->all_files_restored.epoch;
    (void)from;
    if (epoch == restored->here && epoch > restored->all) {
        answer_all(restored, epoch);
    }
}

rz_status_t rz_restored_files_open(struct rz_restored_files **result,
                                   const struct rz_restored_files_config *config)
{
    *result = NULL;
    if (!(config->own->job.flags & RZ_JOB_REWIND)) {
        return RZ_OK;
    }
    struct rz_restored_files *restored = calloc(1, sizeof(*restored));
    uint32_t *told = calloc(config->own->job.n_nodes, sizeof(*told));
    if (!restored || !told) {
        free(restored);
        free(told);
        return RZ_ERR_NO_MEMORY;
    }
    restored->config = *config;
    restored->own = config->own;
    restored->told = told;
    rz_link_router_handle(config->router, RZ_LINK_FILES_RESTORED, on_files_restored, restored);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_FILES_RESTORED, on_node_has,
                             restored);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_ALL_FILES_RESTORED, on_all_have,
                             restored);
    *result = restored;
    return RZ_OK;
}

void rz_restored_files_close(struct rz_restored_files *restored)
{
    if (restored) {
        free(restored->told);
        free(restored);
    }
}
