/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the places of processes into the membership and onto the board: at a new epoch, at a
 * spawn, and when a node or process has failed. */
#include "daemon/service/placement.h"

#include <stdlib.h>

struct rz_placement {
    struct rz_placement_config config;
    struct rz_own_node *own; /* copied from config */
};

static void write_word(const struct rz_placement *placement, uint32_t slot)
{
    const struct rz_membership_slot *member = &placement->own->membership.slots[slot];
    bool failed = rz_membership_has_failed(&placement->own->membership, slot);
    rz_board_writer_rank(placement->config.board, slot, member->incarnation, member->node,
                         failed ? RZ_PROCESS_FAILED : RZ_PROCESS_ALIVE);
}

/* Writes the word of a new process. If its node failed before the process was known to be there,
 * the subscribers were not told of its failure; the groups need to be. */
static void write_new_word(const struct rz_placement *placement, uint32_t slot)
{
    const struct rz_membership *membership = &placement->own->membership;
    write_word(placement, slot);
    if (rz_membership_has_failed(membership, slot)) {
        rz_groups_process_failed(placement->config.groups, slot,
                                 membership->slots[slot].incarnation, RZ_END_FAILURE);
    }
}

void rz_placement_take(struct rz_placement *placement, uint32_t slot)
{
    uint32_t incarnation = rz_recovery_incarnation_of(placement->config.recovery, slot);
    rz_membership_place(&placement->own->membership, slot,
                        rz_recovery_daemon_of(placement->config.recovery, slot), incarnation);
    if (incarnation > 0) {
        write_new_word(placement, slot);
    }
}

bool rz_placement_spawn(struct rz_placement *placement, uint32_t slot, uint32_t incarnation,
                        bool replaces)
{
    if (!rz_membership_spawn(&placement->own->membership, slot,
                             rz_recovery_daemon_of(placement->config.recovery, slot), incarnation,
                             replaces)) {
        return false;
    }
    write_new_word(placement, slot);
    return true;
}

void rz_placement_node_failed(void *arg, rz_id node, bool proof, bool first)
{
    const struct rz_placement *placement = arg;
    const struct rz_membership *membership = &placement->own->membership;
    (void)proof;
    if (!first || membership->ending) {
        return;
    }
    rz_board_writer_node_failed(placement->config.board);
    for (uint32_t slot = 0; membership->epoch > 0 && slot < membership->n_slots; slot++) {
        if (membership->slots[slot].node == node) {
            rz_board_writer_rank(placement->config.board, slot, membership->slots[slot].incarnation,
                                 node, RZ_PROCESS_FAILED);
        }
    }
    rz_board_writer_publish(placement->config.board);
}

/* The board of the process's own daemon has the word already, and the first one stays. */
void rz_placement_process_failed(void *arg, uint32_t slot, uint32_t incarnation, enum rz_end end)
{
    const struct rz_placement *placement = arg;
    const struct rz_membership *membership = &placement->own->membership;
    const struct rz_membership_slot *member = &membership->slots[slot];
    struct rz_board_writer *board = placement->config.board;
    if (membership->epoch == 0 || member->incarnation != incarnation) {
        return;
    }
    if (end == RZ_END_ORDER) {
        rz_board_writer_rank(board, slot, incarnation, member->node, RZ_PROCESS_ENDED);
    } else if (end == RZ_END_HUNG) {
        rz_board_writer_rank(board, slot, incarnation, member->node, RZ_PROCESS_HUNG);
    } else {
        write_word(placement, slot);
    }
    rz_board_writer_publish(board);
}

rz_status_t rz_placement_open(struct rz_placement **result,
                              const struct rz_placement_config *config)
{
    struct rz_placement *placement = calloc(1, sizeof(*placement));
    if (!placement) {
        return RZ_ERR_NO_MEMORY;
    }
    placement->config = *config;
    placement->own = config->own;
    *result = placement;
    return RZ_OK;
}

void rz_placement_close(struct rz_placement *placement)
{
    free(placement);
}
