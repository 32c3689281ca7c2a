/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The members of an agreement context: their numbers, processes and nodes.
 */
#include "mpi/agree/agreement_context_state.h"

uint32_t rz_agreement_context_size(const struct rz_agreement_context *agreement_context)
{
    return (uint32_t)(agreement_context->first->size +
                      (agreement_context->second ? agreement_context->second->size : 0));
}

uint32_t rz_agreement_context_process(const struct rz_agreement_context *agreement_context,
                                      rz_id member)
{
    uint32_t n_first = (uint32_t)agreement_context->first->size;
    return member < n_first ? agreement_context->first->process[member]
                            : agreement_context->second->process[member - n_first];
}

bool rz_agreement_context_second(const struct rz_comm *comm)
{
    return comm->remote != comm->group && comm->remote->process[0] < comm->group->process[0];
}

void rz_agreement_context_order_groups(const struct rz_comm *comm, struct rz_group *groups[2])
{
    bool inter = comm->remote != comm->group, swap = rz_agreement_context_second(comm);
    groups[0] = swap ? comm->remote : comm->group;
    groups[1] = !inter ? NULL : swap ? comm->group : comm->remote;
}

static rz_id member_of(struct rz_group *const groups[2], uint32_t process)
{
    int rank = rz_group_find(groups[0], process);
    if (rank != MPI_UNDEFINED) {
        return (rz_id)rank;
    }
    rank = groups[1] ? rz_group_find(groups[1], process) : MPI_UNDEFINED;
    return rank != MPI_UNDEFINED ? (rz_id)(groups[0]->size + rank) : RZ_ID_NONE;
}

rz_id rz_agreement_context_member(const struct rz_comm *comm, uint32_t process)
{
    struct rz_group *groups[2];
    rz_agreement_context_order_groups(comm, groups);
    return member_of(groups, process);
}

rz_id rz_agreement_context_find_member(const struct rz_agreement_context *agreement_context,
                                       uint32_t process)
{
    struct rz_group *groups[2] = {agreement_context->first, agreement_context->second};
    return member_of(groups, process);
}

/* The node of a member when the epoch began. False: the member or this process was spawned
 * later. */
static bool home_of(const struct rz_agreement_context *agreement_context, rz_id member,
                    uint32_t *node)
{
    uint32_t process = rz_agreement_context_process(agreement_context, member);
    const struct rz_member *entry = rz_member_of(process);
    *node = entry->home;
    return process == entry->first;
}

uint32_t rz_agreement_context_rows(const struct rz_comm *comm)
{
    return comm->agreement_context ? comm->agreement_context->per_node + 1 : 0;
}

uint32_t rz_agreement_context_rows_of_nodes(const struct rz_agreement_context *agreement_context)
{
    uint32_t n = rz_agreement_context_size(agreement_context), length = 0, node, next = 0;
    if (!agreement_context->second && agreement_context->first->rows != 0) {
        return agreement_context->first->rows - 1;
    }
    for (rz_id i = 0, begin = 0; i < n; i++) {
        if (!home_of(agreement_context, i, &node) ||
            (i + 1 < n && !home_of(agreement_context, i + 1, &next))) {
            return 0;
        }
        if (i + 1 < n && next == node) {
            continue;
        }
        uint32_t row = i + 1 - begin;
        if ((length != 0 && row > length) || (length != 0 && row < length && i + 1 < n)) {
            return 0;
        }
        length = length != 0 ? length : row;
        begin = i + 1;
    }
    return length;
}
