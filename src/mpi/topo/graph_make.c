/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators with graph topologies. Only MPI_Dist_graph_create exchanges edges by messages.
 */
#include "mpi/coll/coll_arguments.h"
#include "mpi/agree/comm_info.h"
#include "mpi/create/comm_creation.h"
#include "mpi/engine/waiting.h"
#include "mpi/topo/graph.h"

#include <stdlib.h>

static int begin_graph(struct rz_comm *comm, const char *call, uint64_t *operation)
{
    int error = rz_comm_create_begin(comm, call, operation);
    error = error != MPI_SUCCESS ? error : rz_comm_synchronise(comm, *operation);
    if (error == MPI_SUCCESS && comm->object.flags & RZ_COMM_INTER) {
        error =
            rzm_error(MPI_ERR_COMM, "comm is an inter-communicator, which has no graph topology");
    }
    return error;
}

/* ---- MPI_Graph_create, MPI_Graph_map ---- */

/* Checks that the arrays describe a graph of at most `size` nodes. */
static int check_graph(int nnodes, const int indx[], const int edges[], int size)
{
    if (nnodes < 0) {
        return rzm_error(MPI_ERR_ARG, "nnodes is %d, less than 0", nnodes);
    }
    if (nnodes > size) {
        return rzm_error(MPI_ERR_TOPOLOGY, "nnodes is %d, the group has %d processes", nnodes,
                         size);
    }
    for (int i = 0, before = 0; i < nnodes; before = indx[i++]) {
        if (indx[i] < before) {
            return rzm_error(MPI_ERR_ARG, "indx[%d] is %d, less than %d before it", i, indx[i],
                             before);
        }
    }
    int nedges = nnodes > 0 ? indx[nnodes - 1] : 0;
    if (nedges > 0 && !edges) {
        return rzm_error(MPI_ERR_ARG, "edges is a null pointer");
    }
    for (int i = 0; i < nedges; i++) {
        if (edges[i] < 0 || edges[i] >= nnodes) {
            return rzm_error(MPI_ERR_ARG, "edges[%d] is %d, not in 0..%d", i, edges[i], nnodes - 1);
        }
    }
    return MPI_SUCCESS;
}

/* Makes a communicator of the first n processes of comm. */
static int derive_first(struct rz_comm *comm, uint64_t operation, int n, struct rz_comm **made)
{
    struct rz_group *group = rz_group_new(n, comm->group->process);
    if (!group) {
        return MPI_ERR_NO_MEM;
    }
    int error = rz_comm_derive(comm, group, operation, 0, made);
    rz_group_release(group);
    return error;
}

int rzm_graph_create(struct rz_comm *comm_old, int nnodes, const int indx[], const int edges[],
                     int reorder, struct rz_comm **comm_graph)
{
    (void)reorder; /* ranks are not changed: reductions and checkpoints depend on them */
    uint64_t operation;
    int error = begin_graph(comm_old, "MPI_Graph_create", &operation);
    if (error == MPI_SUCCESS) {
        error = check_graph(nnodes, indx, edges, rz_comm_size(comm_old));
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (rz_comm_rank(comm_old) >= nnodes) {
        *comm_graph = NULL;
        return MPI_SUCCESS;
    }
    struct rz_graph *graph = rz_graph_new(nnodes, indx[nnodes - 1]);
    if (!graph) {
        return MPI_ERR_NO_MEM;
    }
    memcpy(graph->index, indx, (size_t)nnodes * sizeof(int));
    for (int i = 0; i < graph->nedges; i++) {
        graph->edges[i] = edges[i];
    }
    error = derive_first(comm_old, operation, nnodes, comm_graph);
    if (error != MPI_SUCCESS) {
        free(graph);
        return error;
    }
    rz_graph_attach(*comm_graph, graph);
    return MPI_SUCCESS;
}

int rzm_graph_map(struct rz_comm *comm, int nnodes, const int indx[], const int edges[],
                  int *newrank)
{
    int error = check_graph(nnodes, indx, edges, rz_comm_size(comm));
    if (error == MPI_SUCCESS) {
        *newrank = rz_comm_rank(comm) < nnodes ? rz_comm_rank(comm) : MPI_UNDEFINED;
    }
    return error;
}

/* ---- MPI_Dist_graph_create_adjacent ---- */

static int check_edges(const char *name, const char *weights_name, int n, const int *ranks,
                       const int *weights, int size)
{
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= size) {
            return rzm_error(MPI_ERR_RANK, "%s[%d] is %d, not in 0..%d", name, i, ranks[i],
                             size - 1);
        }
        if (weights != MPI_UNWEIGHTED && weights[i] < 0) {
            return rzm_error(MPI_ERR_ARG, "%s[%d] is %d, less than 0", weights_name, i, weights[i]);
        }
    }
    return MPI_SUCCESS;
}

/* Takes over graph. */
static int derive_dist_graph(struct rz_comm *comm, uint64_t operation, struct rz_dist_graph *graph,
                             struct rz_info *info, struct rz_comm **newcomm)
{
    int error = graph ? rz_comm_derive(comm, comm->group, operation, 0, newcomm) : MPI_ERR_NO_MEM;
    if (error != MPI_SUCCESS) {
        free(graph);
        return error;
    }
    rz_dist_graph_attach(*newcomm, graph);
    rz_comm_take_hints(*newcomm, info);
    return MPI_SUCCESS;
}

static void fill(int degree, int *ranks, int *weights, const int *from, const int *weights_from,
                 bool weighted)
{
    for (int i = 0; i < degree; i++) {
        ranks[i] = from[i];
        weights[i] = weighted ? weights_from[i] : 1;
    }
}

int rzm_dist_graph_create_adjacent(struct rz_comm *comm_old, int indegree, const int sources[],
                                   const int sourceweights[], int outdegree,
                                   const int destinations[], const int destweights[],
                                   struct rz_info *info, int reorder,
                                   struct rz_comm **comm_dist_graph)
{
    (void)reorder;
    uint64_t operation;
    int size = rz_comm_size(comm_old);
    int error = begin_graph(comm_old, "MPI_Dist_graph_create_adjacent", &operation);
    if (error == MPI_SUCCESS) {
        error = check_edges("sources", "sourceweights", indegree, sources, sourceweights, size);
    }
    if (error == MPI_SUCCESS) {
        error =
            check_edges("destinations", "destweights", outdegree, destinations, destweights, size);
    }
    bool bare_in = sourceweights == MPI_UNWEIGHTED, bare_out = destweights == MPI_UNWEIGHTED;
    if (error == MPI_SUCCESS && bare_in != bare_out && (bare_in ? indegree : outdegree) > 0) {
        error = rzm_error(MPI_ERR_ARG, "one of sourceweights and destweights is MPI_UNWEIGHTED, "
                                       "the other is not");
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    bool weighted = !bare_in || !bare_out;
    struct rz_dist_graph *graph = rz_dist_graph_new(indegree, outdegree, weighted);
    if (graph) {
        fill(indegree, graph->sources, graph->sourceweights, sources, sourceweights, weighted);
        fill(outdegree, graph->destinations, graph->destweights, destinations, destweights,
             weighted);
    }
    return derive_dist_graph(comm_old, operation, graph, info, comm_dist_graph);
}

/* ---- MPI_Dist_graph_create: every edge is sent to both of its ends ---- */

struct edge {
    int source, destination, weight;
};

/* Sent by each process to every other one before the edges. */
struct notice {
    int edges;
    int weighted;
};

/* The edges in rows, one row per destination rank, in order. */
struct rows {
    int size;
    struct notice *notices; /* [size] */
    MPI_Count *counts;      /* [size], in bytes */
    MPI_Count *places;      /* [size + 1], in bytes: the start of each row */
    struct edge *edges;
};

static void rows_end(struct rows *rows)
{
    free(rows->notices);
    free(rows->counts);
    free(rows->places);
    free(rows->edges);
}

static bool rows_new(struct rows *rows, int size)
{
    *rows = (struct rows){.size = size};
    rows->notices = calloc((size_t)size, sizeof(*rows->notices));
    rows->counts = calloc((size_t)size, sizeof(*rows->counts));
    rows->places = calloc((size_t)size + 1, sizeof(*rows->places));
    return rows->notices && rows->counts && rows->places;
}

/* Lays out the rows after the notices are set. False: no memory. */
static bool rows_lay_out(struct rows *rows)
{
    for (int i = 0; i < rows->size; i++) {
        rows->counts[i] = (MPI_Count)rows->notices[i].edges * (MPI_Count)sizeof(struct edge);
        rows->places[i + 1] = rows->places[i] + rows->counts[i];
    }
    rows->edges = malloc((size_t)rows->places[rows->size] + 1);
    return rows->edges != NULL;
}

/* The arguments of the call. */
struct stars {
    int n;
    const int *sources, *degrees, *destinations, *weights;
};

static int check_stars(const struct stars *stars, int size)
{
    int64_t total = 0;
    for (int i = 0; i < stars->n; i++) {
        if (stars->sources[i] < 0 || stars->sources[i] >= size) {
            return rzm_error(MPI_ERR_RANK, "sources[%d] is %d, not in 0..%d", i, stars->sources[i],
                             size - 1);
        }
        if (stars->degrees[i] < 0) {
            return rzm_error(MPI_ERR_ARG, "degrees[%d] is %d, less than 0", i, stars->degrees[i]);
        }
        total += stars->degrees[i];
    }
    if (total > INT_MAX / 2) {
        return rzm_error(MPI_ERR_ARG, "degrees give %lld edges in all, too many", (long long)total);
    }
    if (total > 0 && (!stars->destinations || !stars->weights)) {
        return rzm_error(MPI_ERR_ARG, "%s is a null pointer",
                         !stars->destinations ? "destinations" : "weights");
    }
    return check_edges("destinations", "weights", (int)total, stars->destinations, stars->weights,
                       size);
}

/* Counts the edges for each rank, or (when the rows are laid out) writes them: for both ends, once
 * if the ends are one process. */
static void deal(struct rows *rows, const struct stars *stars, MPI_Count *next)
{
    for (int i = 0, k = 0; i < stars->n; i++) {
        for (int end = k + stars->degrees[i]; k < end; k++) {
            struct edge edge = {stars->sources[i], stars->destinations[k],
                                stars->weights != MPI_UNWEIGHTED ? stars->weights[k] : 1};
            int ends[2] = {edge.source, edge.destination};
            for (int e = 0; e < (ends[0] == ends[1] ? 1 : 2); e++) {
                if (!next) {
                    rows->notices[ends[e]].edges++;
                } else {
                    memcpy((char *)rows->edges + next[ends[e]], &edge, sizeof(edge));
                    next[ends[e]] += (MPI_Count)sizeof(edge);
                }
            }
        }
    }
}

/* The rows of this process. MPI_ERR_NO_MEM. */
static int write_rows(struct rows *out, const struct stars *stars)
{
    MPI_Count *next = malloc((size_t)out->size * sizeof(*next));
    deal(out, stars, NULL);
    if (!next || !rows_lay_out(out)) {
        free(next);
        return MPI_ERR_NO_MEM;
    }
    memcpy(next, out->places, (size_t)out->size * sizeof(*next));
    deal(out, stars, next);
    for (int i = 0; i < out->size; i++) {
        out->notices[i].weighted = stars->weights != MPI_UNWEIGHTED;
    }
    free(next);
    return MPI_SUCCESS;
}

static int exchange(struct rz_comm *comm, const struct rz_parts *out, const struct rz_parts *in)
{
    struct rz_schedule *schedule;
    int error = rz_schedule_begin_now(comm, "MPI_Dist_graph_create", &schedule);
    return error != MPI_SUCCESS ? error : rz_schedule_run(rz_plan_alltoall(schedule, out, in));
}

/* All processes get this far, with an error or without, so that no process waits for messages of
 * one that does not continue. Returns the own error, or one that names a rank with an error. */
static int agree(struct rz_comm *comm, int error)
{
    struct rz_schedule *schedule;
    int mine = error != MPI_SUCCESS ? rz_comm_rank(comm) : INT_MAX, first = INT_MAX;
    struct rz_reduction lowest =
        rz_reduction_of(&mine, &first, 1, rz_datatype_of(MPI_INT), rz_op_predefined(0x22));
    int failed = rz_schedule_begin_now(comm, "MPI_Dist_graph_create", &schedule);
    if (failed == MPI_SUCCESS) {
        failed = rz_schedule_run(rz_plan_allreduce(schedule, &lowest));
    }
    if (failed == RZM_ROLLBACK || error != MPI_SUCCESS) {
        return failed == RZM_ROLLBACK ? failed : error;
    }
    if (failed == MPI_SUCCESS && first != INT_MAX) {
        failed = rzm_error(MPI_ERR_TOPOLOGY,
                           "rank %d gave arguments that describe no graph, or has no memory left",
                           first);
    }
    return failed;
}

static int check_notices(const struct rows *in, int weighted)
{
    for (int i = 0; i < in->size; i++) {
        if (in->notices[i].weighted != weighted) {
            return rzm_error(MPI_ERR_TOPOLOGY,
                             "weights is MPI_UNWEIGHTED at one of the ranks %d "
                             "and here, but not at both",
                             i);
        }
    }
    return MPI_SUCCESS;
}

/* Sends the rows `out` and receives `in`. */
static int tell_rows(struct rz_comm *comm, const struct rows *out, struct rows *in)
{
    struct rz_datatype *byte = rz_datatype_of(MPI_BYTE);
    struct rz_parts told = rz_parts_regular(out->notices, (MPI_Count)sizeof(struct notice), byte);
    struct rz_parts heard = rz_parts_regular(in->notices, (MPI_Count)sizeof(struct notice), byte);
    int error = exchange(comm, &told, &heard);
    if (error == MPI_SUCCESS) {
        error = check_notices(in, out->notices[0].weighted);
    }
    /* equal at all processes, since all have the notices about weights */
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = agree(comm, rows_lay_out(in) ? MPI_SUCCESS : MPI_ERR_NO_MEM);
    if (error != MPI_SUCCESS) {
        return error;
    }
    told = rz_parts_listed(out->edges, (struct rz_counts){.wide = out->counts},
                           (struct rz_counts){.wide = out->places}, byte);
    heard = rz_parts_listed(in->edges, (struct rz_counts){.wide = in->counts},
                            (struct rz_counts){.wide = in->places}, byte);
    return exchange(comm, &told, &heard);
}

/* The edges of rank, in the order of the processes that specified them, and for each process in its
 * order: the same order at both ends of an edge. */
static struct rz_dist_graph *collect(const struct rows *in, int rank)
{
    size_t n = (size_t)in->places[in->size] / sizeof(struct edge);
    int indegree = 0, outdegree = 0;
    for (size_t i = 0; i < n; i++) {
        indegree += in->edges[i].destination == rank;
        outdegree += in->edges[i].source == rank;
    }
    struct rz_dist_graph *graph = rz_dist_graph_new(indegree, outdegree, in->notices[0].weighted);
    for (size_t i = 0, to = 0, from = 0; i < n && graph; i++) {
        const struct edge *edge = &in->edges[i];
        if (edge->destination == rank) {
            graph->sources[to] = edge->source;
            graph->sourceweights[to++] = edge->weight;
        }
        if (edge->source == rank) {
            graph->destinations[from] = edge->destination;
            graph->destweights[from++] = edge->weight;
        }
    }
    return graph;
}

int rzm_dist_graph_create(struct rz_comm *comm_old, int n, const int sources[], const int degrees[],
                          const int destinations[], const int weights[], struct rz_info *info,
                          int reorder, struct rz_comm **comm_dist_graph)
{
    (void)reorder;
    uint64_t operation;
    struct stars stars = {n, sources, degrees, destinations, weights};
    struct rows out, in = {0};
    int size = rz_comm_size(comm_old);
    int error = begin_graph(comm_old, "MPI_Dist_graph_create", &operation);
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = check_stars(&stars, size);
    bool room = rows_new(&out, size);
    if (!rows_new(&in, size) || !room) {
        error = MPI_ERR_NO_MEM;
    }
    error = agree(comm_old, error != MPI_SUCCESS ? error : write_rows(&out, &stars));
    if (error == MPI_SUCCESS) {
        error = tell_rows(comm_old, &out, &in);
    }
    struct rz_dist_graph *graph =
        error == MPI_SUCCESS ? collect(&in, rz_comm_rank(comm_old)) : NULL;
    rows_end(&out);
    rows_end(&in);
    return error != MPI_SUCCESS
               ? error
               : derive_dist_graph(comm_old, operation, graph, info, comm_dist_graph);
}
