/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grids and graphs, and the collectives of neighbours. There may be several edges from one rank to
 * another: what is sent along the first of them, in the sender's order, arrives at the first of
 * them in the receiver's, and so on.
 */
#include "random_collective.h"

#include <stdlib.h>
#include <string.h>

enum { IN, OUT };

/* The neighbours of this process; nth: how many edges with the same neighbour come before. */
struct neighbours {
    int n[2], *rank[2], *nth[2];
};

int grid_neighbour(const struct slot *slot, int d, int by)
{
    int coordinates[3], rank = slot->me, result = 0;
    for (int i = slot->dims - 1; i >= 0; i--) {
        coordinates[i] = rank % slot->dim[i];
        rank /= slot->dim[i];
    }
    coordinates[d] += by;
    if (coordinates[d] < 0 || coordinates[d] >= slot->dim[d]) {
        if (!slot->periodic[d]) {
            return MPI_PROC_NULL;
        }
        coordinates[d] = (coordinates[d] % slot->dim[d] + slot->dim[d]) % slot->dim[d];
    }
    for (int i = 0; i < slot->dims; i++) {
        result = result * slot->dim[i] + coordinates[i];
    }
    return result;
}

/* ---- Graphs ---- */

struct graph *graph_new(int edges)
{
    struct graph *graph = calloc(1, sizeof(*graph));
    graph->from = malloc(2 * (size_t)edges * sizeof(int) + 1);
    graph->to = graph->from + edges;
    return graph;
}

struct graph *graph_copy(const struct graph *graph)
{
    struct graph *copy = graph_new(graph->n);
    int *from = copy->from, *to = copy->to;
    *copy = *graph;
    copy->from = from, copy->to = to;
    memcpy(from, graph->from, (size_t)graph->n * sizeof(int));
    memcpy(to, graph->to, (size_t)graph->n * sizeof(int));
    return copy;
}

void graph_free(struct graph *graph)
{
    if (graph) {
        free(graph->from);
        free(graph);
    }
}

static void add_edge(struct graph *graph, int from, int to)
{
    graph->from[graph->n] = from;
    graph->to[graph->n++] = to;
}

/* Any edges, among them the same one again, and those of a rank with itself. MPI_Graph_create has
 * neighbours that are each other's. */
static struct graph *draw_graph(struct dice *dice, int ranks)
{
    int edges = (int)below(dice, 3 * (uint32_t)ranks + 1);
    struct graph *graph = graph_new(2 * edges);
    graph->kind = (enum graph_kind)below(dice, GRAPH_KINDS);
    graph->weighted = graph->kind != GRAPH && chance(dice, 50);
    graph->seed = roll(dice);
    for (int i = 0; i < edges; i++) {
        int from = (int)below(dice, (uint32_t)ranks), to = (int)below(dice, (uint32_t)ranks);
        if (graph->n > 0 && chance(dice, 20)) {
            from = graph->from[graph->n - 1], to = graph->to[graph->n - 1];
        }
        add_edge(graph, from, to);
        if (graph->kind == GRAPH && from != to) {
            add_edge(graph, to, from);
        }
    }
    return graph;
}

static int weight(const struct graph *graph, int from, int to)
{
    return (int)(mix(graph->seed, (uint64_t)from * 100003 + (uint64_t)to) % 50) + 1;
}

/* The edges of one rank: its neighbours in the order of the edges. */
static int edges_of(const struct graph *graph, int way, int me, int *rank, int *weights)
{
    int n = 0;
    for (int i = 0; i < graph->n; i++) {
        if ((way == IN ? graph->to[i] : graph->from[i]) == me) {
            weights[n] = weight(graph, graph->from[i], graph->to[i]);
            rank[n++] = way == IN ? graph->from[i] : graph->to[i];
        }
    }
    return n;
}

static void make_adjacent(const struct graph *graph, const struct slot *slot, MPI_Comm *comm)
{
    int *list = malloc(4 * (size_t)graph->n * sizeof(int) + 1);
    int *in = list, *out = in + graph->n, *in_weights = out + graph->n;
    int *out_weights = in_weights + graph->n;
    int n_in = edges_of(graph, IN, slot->me, in, in_weights);
    int n_out = edges_of(graph, OUT, slot->me, out, out_weights);
    MPI_Dist_graph_create_adjacent(
        slot->comm, n_in, in, graph->weighted ? in_weights : MPI_UNWEIGHTED, n_out, out,
        graph->weighted ? out_weights : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, comm);
    free(list);
}

/* Each edge is named by some process, which need not be at either end. */
static void make_anywhere(const struct graph *graph, const struct slot *slot, MPI_Comm *comm)
{
    int *list = malloc(4 * (size_t)graph->n * sizeof(int) + 1), n = 0, edges = 0;
    int *from = list, *degree = from + graph->n, *to = degree + graph->n, *weights = to + graph->n;
    for (int i = 0; i < graph->n; i++) {
        if ((int)(mix(graph->seed, (uint64_t)i) % (uint64_t)slot->n) != slot->me) {
            continue;
        }
        if (n == 0 || from[n - 1] != graph->from[i]) {
            from[n] = graph->from[i];
            degree[n++] = 0;
        }
        degree[n - 1]++;
        weights[edges] = weight(graph, graph->from[i], graph->to[i]);
        to[edges++] = graph->to[i];
    }
    MPI_Dist_graph_create(slot->comm, n, from, degree, to,
                          graph->weighted ? weights : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, comm);
    free(list);
}

static void make_graph(const struct graph *graph, const struct slot *slot, MPI_Comm *comm)
{
    int *index = malloc((size_t)(slot->n + 2 * graph->n) * sizeof(int));
    int *to = index + slot->n, *unused = to + graph->n, n = 0;
    for (int i = 0; i < slot->n; i++) {
        n += edges_of(graph, OUT, i, to + n, unused);
        index[i] = n;
    }
    MPI_Graph_create(slot->comm, slot->n, index, to, 0, comm);
    free(index);
}

void play_graph(struct player *player, struct dice *dice, struct slot *slot)
{
    struct slot *new = free_slot(player);
    struct graph *graph = draw_graph(dice, slot->n);
    MPI_Comm comm = MPI_COMM_NULL;
    if (!new) {
        graph_free(graph);
        return;
    }
    if (slot->me >= 0 && graph->kind == GRAPH) {
        make_graph(graph, slot, &comm);
    } else if (slot->me >= 0 && graph->kind == ADJACENT) {
        make_adjacent(graph, slot, &comm);
    } else if (slot->me >= 0) {
        make_anywhere(graph, slot, &comm);
    }
    fill_with_all(player, new, slot, comm);
    new->graph = graph;
}

/* ---- The neighbours that MPI names, and those that there are ---- */

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* What MPI says is kept: of some graphs the order is MPI's own. */
static void compare_neighbours(const struct player *player, const struct slot *slot, int way, int n,
                               const int *said, const int *weights)
{
    const struct graph *graph = slot->graph;
    int *list = malloc(3 * (size_t)(graph->n + n) * sizeof(int) + 1);
    int *rank = list, *sorted = rank + graph->n + n, *unused = sorted + graph->n + n;
    int edges = edges_of(graph, way, slot->me, rank, unused);
    memcpy(sorted, said, (size_t)n * sizeof(int));
    if (graph->kind == ANYWHERE) {
        qsort(rank, (size_t)edges, sizeof(int), by_number);
        qsort(sorted, (size_t)n, sizeof(int), by_number);
    }
    if (n != edges || memcmp(rank, sorted, (size_t)n * sizeof(int)) != 0) {
        wrong(player->op, "%d neighbours for %d, or other ones, %s", n, edges,
              way == IN ? "in" : "out");
    }
    for (int i = 0; i < n && graph->weighted; i++) {
        int right = weight(graph, way == IN ? said[i] : slot->me, way == IN ? slot->me : said[i]);
        if (weights[i] != right) {
            wrong(player->op, "the weight of edge %d is %d for %d, %s", i, weights[i], right,
                  way == IN ? "in" : "out");
        }
    }
    free(list);
}

static void ask_graph(const struct player *player, const struct slot *slot, struct neighbours *near)
{
    const struct graph *graph = slot->graph;
    int room = graph->n, topology, weighted = 0, *weights = malloc(2 * (size_t)room * 4 + 1);
    MPI_Topo_test(slot->comm, &topology);
    if (graph->kind == GRAPH) {
        MPI_Graph_neighbors_count(slot->comm, slot->me, &near->n[OUT]);
        if (near->n[OUT] <= room) {
            MPI_Graph_neighbors(slot->comm, slot->me, near->n[OUT], near->rank[OUT]);
        }
        near->n[IN] = near->n[OUT];
        memcpy(near->rank[IN], near->rank[OUT], (size_t)room * sizeof(int));
    } else {
        MPI_Dist_graph_neighbors_count(slot->comm, &near->n[IN], &near->n[OUT], &weighted);
        MPI_Dist_graph_neighbors(slot->comm, room, near->rank[IN], weights, room, near->rank[OUT],
                                 weights + room);
    }
    if (topology != (graph->kind == GRAPH ? MPI_GRAPH : MPI_DIST_GRAPH) ||
        (weighted != 0) != graph->weighted || near->n[IN] > room || near->n[OUT] > room) {
        wrong(player->op, "topology %d, weighted %d for %d, %d neighbours in and %d out", topology,
              weighted, graph->weighted, near->n[IN], near->n[OUT]);
    }
    for (int way = IN; way <= OUT; way++) {
        compare_neighbours(player, slot, way, near->n[way], near->rank[way], weights + way * room);
    }
    free(weights);
}

static void find_neighbours(const struct player *player, const struct slot *slot,
                            struct neighbours *near)
{
    int room = slot->graph ? slot->graph->n : 2 * slot->dims;
    near->rank[IN] = calloc(4 * (size_t)room + 1, sizeof(int));
    near->rank[OUT] = near->rank[IN] + room;
    near->nth[IN] = near->rank[OUT] + room;
    near->nth[OUT] = near->nth[IN] + room;
    if (slot->graph) {
        ask_graph(player, slot, near);
    }
    for (int i = 0; i < 2 * slot->dims; i++) {
        int rank = grid_neighbour(slot, i / 2, i % 2 == 0 ? -1 : 1);
        near->n[IN] = near->n[OUT] = room;
        near->rank[IN][i] = near->rank[OUT][i] = rank;
    }
    for (int way = IN; way <= OUT; way++) {
        for (int i = 0; i < near->n[way]; i++) {
            for (int k = 0; k < i; k++) {
                near->nth[way][i] += near->rank[way][k] == near->rank[way][i];
            }
        }
    }
}

/* ---- Collectives of neighbours ---- */

enum { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, KINDS };

/* What lies in a buffer, by neighbours; all of it is kept until the collective is over. */
struct layout {
    int *count, *where, all;
    MPI_Aint *bytes;
    MPI_Datatype *types;
};

static uint64_t seed_of_edge(const struct collective *c, const struct neighbours *near, int kind,
                             int way, int i)
{
    int other = near->rank[way][i];
    int from = way == IN ? other : c->me, to = way == IN ? c->me : other;
    return kind < ALLTOALL ? seed_of(c, from)
                           : mix(seed_between(c, from, to), (uint64_t)near->nth[way][i]);
}

static struct layout lay_out(struct collective *c, const struct neighbours *near, int kind, int way,
                             void **kept)
{
    int n = near->n[way];
    size_t each = sizeof(MPI_Aint) + sizeof(MPI_Datatype) + 2 * sizeof(int);
    struct layout l = {.bytes = malloc((size_t)n * each + 1)};
    l.types = (MPI_Datatype *)(l.bytes + n);
    l.count = (int *)(l.types + n);
    l.where = l.count + n;
    for (int i = 0; i < n; i++) {
        bool same = kind == ALLGATHER || kind == ALLTOALL;
        uint64_t drawn = mix(seed_of_edge(c, near, kind, way, i), 1) % (c->elements + 1);
        l.count[i] = same ? (int)c->elements : (int)drawn;
        l.where[i] = l.all;
        l.types[i] = leaf_type(c->leaf);
        l.all += l.count[i] + (same ? 0 : i % 2);
    }
    *kept = l.bytes;
    return l;
}

/* A buffer with what is to be sent or received there. */
static struct side *side_of(struct collective *c, const struct neighbours *near, int kind, int way,
                            struct layout *l)
{
    bool same = kind == ALLGATHER || kind == ALLTOALL;
    struct side *side =
        same ? collective_side(c, near->n[way], c->elements) : plain_side(c, l->all);
    for (int i = 0; i < near->n[way]; i++) {
        if (near->rank[way][i] != MPI_PROC_NULL) {
            side_expect(side, (uint64_t)l->where[i], (uint64_t)l->count[i],
                        seed_of_edge(c, near, kind, way, i), 0);
        }
        l->bytes[i] = (MPI_Aint)l->where[i] * side->leaf_bytes;
    }
    return side;
}

/* The one block that all neighbours get. */
static struct side *block_for_all(struct collective *c, int kind)
{
    uint64_t seed = seed_of(c, c->me);
    uint64_t n = kind == ALLGATHER ? c->elements : mix(seed, 1) % (c->elements + 1);
    struct side *side = kind == ALLGATHER ? collective_side(c, 1, n) : plain_side(c, (int)n);
    side_expect(side, 0, n, seed, 0);
    return side;
}

static void call(struct collective *c, int kind, const struct layout *out, const struct layout *in,
                 MPI_Comm comm)
{
    struct side *put = c->pending->side[0], *get = c->pending->side[1];
    int n_put = units_of(put, c->elements), n_get = units_of(get, c->elements);
    switch (kind) {
    case ALLGATHER:
        PLAY(c, Neighbor_allgather, neighbor_allgather, put->at, n_put, put->type, get->at, n_get,
             get->type, comm);
        break;
    case ALLGATHERV:
        PLAY(c, Neighbor_allgatherv, neighbor_allgatherv, put->at, (int)put->units, put->type,
             get->at, in->count, in->where, get->type, comm);
        break;
    case ALLTOALL:
        PLAY(c, Neighbor_alltoall, neighbor_alltoall, put->at, n_put, put->type, get->at, n_get,
             get->type, comm);
        break;
    case ALLTOALLV:
        PLAY(c, Neighbor_alltoallv, neighbor_alltoallv, put->at, out->count, out->where, put->type,
             get->at, in->count, in->where, get->type, comm);
        break;
    default:
        PLAY(c, Neighbor_alltoallw, neighbor_alltoallw, put->at, out->count, out->bytes, out->types,
             get->at, in->count, in->bytes, in->types, comm);
        break;
    }
}

/* In the drawn communicator, or else in any that has neighbours. */
void play_neighbours(struct player *player, struct dice *dice, struct slot *slot)
{
    struct collective c;
    struct neighbours near = {0};
    int kind = (int)below(dice, KINDS);
    for (int i = 0; i < SLOTS && slot->dims == 0 && !slot->graph; i++) {
        struct slot *other = &player->slot[i];
        slot = other->there && (other->dims > 0 || other->graph) ? other : slot;
    }
    if (slot->dims == 0 && !slot->graph) {
        play_barrier(player, dice, slot);
        return;
    }
    if (!enter_collective(&c, player, dice, slot, 1000)) {
        return;
    }
    find_neighbours(player, slot, &near);
    struct layout in = lay_out(&c, &near, kind, IN, &c.pending->more);
    struct layout out = lay_out(&c, &near, kind, OUT, &c.pending->list);
    c.pending->side[0] =
        kind < ALLTOALL ? block_for_all(&c, kind) : side_of(&c, &near, kind, OUT, &out);
    c.pending->side[1] = side_of(&c, &near, kind, IN, &in);
    side_send(c.pending->side[0]);
    call(&c, kind, &out, &in, slot->comm);
    free(near.rank[IN]);
}
