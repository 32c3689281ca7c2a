/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds where members are, once for each communicator. No member may lack the memory for that, or
 * it would choose otherwise than the others: so there is a count for each node from the start.
 */
#include "mpi/comm/places.h"

#include "mpi/engine/waiting.h"

#include <stdlib.h>

static int *of_node; /* [n_nodes]: used within one function at a time */

static uint32_t home_of_rank(const struct rz_comm *comm, int rank)
{
    return rz_member_of(comm->group->process[rank])->home;
}

static bool all_are_known(const struct rz_comm *comm)
{
    for (int i = 0; i < comm->group->size; i++) {
        const struct rz_member *member = rz_member_of(comm->group->process[i]);
        if (member->first != comm->group->process[i] || member->home >= rz_engine.info->n_nodes) {
            return false;
        }
    }
    return true;
}

static enum rz_oversubscribed look_for_oversubscription(const struct rz_comm *comm)
{
    if (!(rz_engine.board->flags & RZ_BOARD_OVERSUBSCRIBED) || !all_are_known(comm)) {
        return RZ_OVERSUBSCRIBED_NONE;
    }
    for (int i = 0; i < comm->group->size; i++) {
        if (home_of_rank(comm, i) != home_of_rank(comm, 0)) {
            return RZ_OVERSUBSCRIBED_NODES;
        }
    }
    return RZ_OVERSUBSCRIBED_NODE;
}

enum rz_oversubscribed rz_comm_look_for_oversubscription(struct rz_comm *comm)
{
    comm->oversubscribed = look_for_oversubscription(comm);
    return comm->oversubscribed;
}

/* Whether the nodes have blocks of 2^k consecutive ranks, the last one perhaps fewer. of_node: how
 * many members each node has. */
static bool has_blocks(const struct rz_comm *comm)
{
    int size = comm->group->size, length = of_node[home_of_rank(comm, 0)];
    bool blocks = (length & (length - 1)) == 0;
    for (int i = 0; i < size && blocks; i++) {
        int first = i - i % length, left = size - first;
        uint32_t home = home_of_rank(comm, i);
        blocks =
            home == home_of_rank(comm, first) && of_node[home] == (left < length ? left : length);
    }
    return blocks;
}

static enum rz_grouping look_for_grouping(const struct rz_comm *comm)
{
    int size = comm->group->size, nodes = 0;
    if (!all_are_known(comm)) {
        return RZ_GROUPING_NONE;
    }
    for (int i = 0; i < size; i++) {
        of_node[home_of_rank(comm, i)] = 0;
    }
    for (int i = 0; i < size; i++) {
        nodes += of_node[home_of_rank(comm, i)]++ == 0;
    }
    if (nodes == 1 || nodes == size) {
        return RZ_GROUPING_NONE;
    }
    return has_blocks(comm) ? RZ_GROUPING_BLOCKS : RZ_GROUPING_NODES;
}

enum rz_grouping rz_comm_look_for_grouping(struct rz_comm *comm)
{
    comm->grouping = look_for_grouping(comm);
    return comm->grouping;
}

int rz_comm_number_nodes(const struct rz_comm *comm, int node[])
{
    int nodes = 0;
    for (int i = 0; i < comm->group->size; i++) {
        of_node[home_of_rank(comm, i)] = -1;
    }
    for (int i = 0; i < comm->group->size; i++) {
        int *number = &of_node[home_of_rank(comm, i)];
        *number = *number < 0 ? nodes++ : *number;
        node[i] = *number;
    }
    return nodes;
}

static void places_close(void)
{
    free(of_node);
    of_node = NULL;
}

static int places_open(void)
{
    places_close();
    of_node = malloc(rz_engine.info->n_nodes * sizeof(*of_node));
    return of_node ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

const struct rz_hooks rz_places_hooks = {.open = places_open, .close = places_close};
