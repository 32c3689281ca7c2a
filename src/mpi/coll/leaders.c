/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the leaders: the nodes of a communicator are listed at the first operation that has
 * leaders, and kept with the communicator. Then the steps within a node.
 */
#include "mpi/coll/leaders.h"

#include "mpi/comm/places.h"

#include <stdlib.h>

/* The ranks of a communicator by node. */
struct nodes {
    int n;      /* nodes */
    int *node;  /* [size]: of each rank */
    int *ranks; /* [size]: by node, those of a node in order */
    int *begin; /* [n + 1]: where those of each node begin */
    int *first; /* [n]: the lowest rank of each node */
    int memory[];
};

static struct nodes *nodes_new(const struct rz_comm *comm)
{
    size_t size = (size_t)rz_comm_size(comm);
    struct nodes *nodes = malloc(sizeof(*nodes) + (4 * size + 1) * sizeof(int));
    if (!nodes) {
        return NULL;
    }
    nodes->node = nodes->memory;
    nodes->ranks = nodes->node + size;
    nodes->begin = nodes->ranks + size;
    nodes->first = nodes->begin + size + 1;
    nodes->n = rz_comm_number_nodes(comm, nodes->node);
    for (int i = 0; i <= nodes->n; i++) {
        nodes->begin[i] = 0;
    }
    for (size_t i = 0; i < size; i++) {
        nodes->begin[nodes->node[i] + 1]++;
    }
    for (int i = 0; i < nodes->n; i++) {
        nodes->begin[i + 1] += nodes->begin[i];
        nodes->first[i] = nodes->begin[i]; /* for now: where its next rank is put */
    }
    for (size_t i = 0; i < size; i++) {
        nodes->ranks[nodes->first[nodes->node[i]]++] = (int)i;
    }
    for (int i = 0; i < nodes->n; i++) {
        nodes->first[i] = nodes->ranks[nodes->begin[i]];
    }
    return nodes;
}

static const struct nodes *nodes_of(struct rz_schedule *schedule)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    if (!comm->coll && (comm->coll = nodes_new(comm)) != NULL) {
        comm->coll_free = free;
    }
    if (!comm->coll) {
        rz_schedule_refuse(schedule, MPI_ERR_NO_MEM);
    }
    return comm->coll;
}

static int place_of(const struct rz_team *team, int rank)
{
    int place = 0;
    while (rz_team_rank(team, place) != rank) {
        place++;
    }
    return place;
}

/* The root leads its node. False: no memory. */
static bool put_root(struct rz_schedule *schedule, int root, struct rz_leaders *leaders)
{
    const int *first = leaders->across.rank;
    int *leader = rz_schedule_bytes(schedule, leaders->across.n * (MPI_Count)sizeof(*leader));
    if (!leader) {
        return false;
    }
    for (int i = 0; i < leaders->across.n; i++) {
        leader[i] = i == leaders->root ? root : first[i];
    }
    leaders->across.rank = leader;
    if (leaders->across.place == leaders->root) {
        leaders->head = place_of(&leaders->here, root);
    }
    return true;
}

bool rz_leaders_find(struct rz_schedule *schedule, int root, struct rz_leaders *leaders)
{
    struct rz_comm *comm = rz_schedule_comm(schedule);
    const struct nodes *nodes = nodes_of(schedule);
    if (!nodes) {
        return false;
    }
    int rank = rz_comm_rank(comm), node = nodes->node[rank], begin = nodes->begin[node];
    *leaders = (struct rz_leaders){
        .here = {.n = nodes->begin[node + 1] - begin, .rank = nodes->ranks + begin},
        .across = {.n = nodes->n, .place = node, .rank = nodes->first},
        .root = nodes->node[root],
        .flat = rz_comm_oversubscribed(comm) != RZ_OVERSUBSCRIBED_NONE,
        .by_node = nodes->ranks,
        .begin = nodes->begin,
    };
    leaders->here.place = place_of(&leaders->here, rank);
    if (nodes->first[leaders->root] != root && !put_root(schedule, root, leaders)) {
        return false;
    }
    leaders->leads = leaders->here.place == leaders->head;
    return true;
}

void rz_leaders_bcast(struct rz_schedule *schedule, const struct rz_part *part,
                      const struct rz_leaders *leaders)
{
    if (leaders->flat) {
        rz_bcast_flat(schedule, part, &leaders->here, leaders->head);
    } else {
        rz_bcast_tree(schedule, part, &leaders->here, leaders->head);
    }
}

/* By measurement: longer values are reduced by more than one rank. */
#define FLAT_BYTES_MAX 8192

void rz_leaders_reduce(struct rz_schedule *schedule, const struct rz_reduction *reduction,
                       const struct rz_leaders *leaders)
{
    bool row = rz_reduction_traits(rz_schedule_comm(schedule), reduction) & RZ_COLL_ROW;
    if (leaders->flat && row && rz_reduction_bytes(reduction) <= FLAT_BYTES_MAX) {
        rz_reduce_flat(schedule, reduction, &leaders->here, leaders->head);
    } else {
        rz_reduce_tree(schedule, reduction, &leaders->here, leaders->head);
    }
}
