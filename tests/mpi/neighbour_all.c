/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbourhood collectives on random topologies (grids of 0 to 4 dimensions with extents 1 and 2
 * among them, graphs, distributed graphs, with edges to oneself and several between two) against
 * messages sent one by one: blocking, non-blocking and, where MPI has them, persistent ones that
 * are started three times.
 *
 * Arguments: [SEED [ROUNDS]]; replay a failure with the seed it was run with.
 */
#include "check.h"
#include "coll_random.h"

#include <string.h>

enum { EDGES_MAX = 64, DIMS_MAX = 4, GAP = -7, STARTS = 3 };
enum { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, KINDS };
#if MPI_VERSION >= 4
enum { BLOCKING, LATER, PERSISTENT, MODES };
#else
enum { BLOCKING, LATER, MODES, PERSISTENT };
#endif

/* Pairs of integers: side by side, or with a gap after each. */
static MPI_Datatype types[2];
static const int elements[2] = {2, 1}, extent[2] = {1, 4};

/* The edges of this process in one direction. The label distinguishes those between the same two
 * processes, alike at both ends. */
struct edges {
    int n, peer[EDGES_MAX], label[EDGES_MAX];
    int type[EDGES_MAX], count[EDGES_MAX], displ[EDGES_MAX], bytes[EDGES_MAX], reach;
    MPI_Aint place[EDGES_MAX];
    MPI_Datatype handle[EDGES_MAX];
    int *buffer;
};

static MPI_Comm comm;
static struct edges in, out;
static int rank, size, kind;
static uint64_t salt;

/* MPI_UNWEIGHTED and the other where the compiler does not see that they are no arrays. */
static int *volatile unweighted;
static int *volatile weights_empty;

/* ---- Topologies ---- */

static void draw_grid(MPI_Comm base)
{
    int dims[DIMS_MAX], periods[DIMS_MAX], ndims = draw(DIMS_MAX + 1), n;
    MPI_Comm_size(base, &n);
    for (int i = 0; i < ndims; i++) {
        int most = n < 3 ? n : 3;
        dims[i] = 1 + draw(draw(4) == 0 ? n : most);
        periods[i] = draw(2);
        n /= dims[i];
    }
    MPI_Cart_create(base, ndims, dims, periods, draw(2), &comm);
    if (comm == MPI_COMM_NULL) {
        return;
    }
    in.n = 2 * ndims;
    for (int k = 0; k < in.n; k += 2) {
        MPI_Cart_shift(comm, k / 2, 1, &in.peer[k], &in.peer[k + 1]);
    }
    for (int k = 0; k < in.n; k++) {
        in.label[k] = k;
    }
    out = in;
    for (int k = 0; k < out.n; k++) {
        out.label[k] = k ^ 1; /* what goes up comes from below */
    }
}

/* Labels by how many edges to the same process stand before. */
static void label(struct edges *edges)
{
    for (int k = 0; k < edges->n; k++) {
        edges->label[k] = 0;
        for (int j = 0; j < k; j++) {
            edges->label[k] += edges->peer[j] == edges->peer[k];
        }
    }
}

static void draw_graph(MPI_Comm base)
{
    int n, index[64], edges[64 * EDGES_MAX], tos[64][EDGES_MAX], degrees[64] = {0};
    MPI_Comm_size(base, &n);
    n -= n > 2 ? draw(2) : 0;
    for (int k = draw(2 * n + 1); k > 0; k--) {
        int a = draw(n), b = draw(n);
        tos[a][degrees[a]++] = b;
        if (a != b) {
            tos[b][degrees[b]++] = a;
        }
    }
    for (int i = 0, next = 0; i < n; i++) {
        memcpy(edges + next, tos[i], (size_t)degrees[i] * sizeof(int));
        next += degrees[i];
        index[i] = next;
    }
    MPI_Graph_create(base, n, index, edges, draw(2), &comm);
    if (comm == MPI_COMM_NULL) {
        return;
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Graph_neighbors_count(comm, rank, &in.n);
    CHECK(in.n == degrees[rank]);
    MPI_Graph_neighbors(comm, rank, EDGES_MAX, in.peer);
    CHECK(memcmp(in.peer, tos[rank], (size_t)in.n * sizeof(int)) == 0);
    label(&in);
    out = in;
}

/* All edges of a distributed graph, and what each rank has of them in the order drawn. */
struct picture {
    int n, from[2 * EDGES_MAX], to[2 * EDGES_MAX];
};

static void draw_picture(struct picture *picture, int n)
{
    picture->n = draw(2 * n + 1);
    for (int k = 0; k < picture->n; k++) {
        picture->from[k] = draw(n);
        picture->to[k] = draw(n);
    }
}

static void sort(int *numbers, int n)
{
    for (int i = 1; i < n; i++) {
        for (int j = i; j > 0 && numbers[j - 1] > numbers[j]; j--) {
            int other = numbers[j];
            numbers[j] = numbers[j - 1];
            numbers[j - 1] = other;
        }
    }
}

static void expect_same_set(const int *numbers, const int *expected, int n)
{
    int a[EDGES_MAX], b[EDGES_MAX];
    memcpy(a, numbers, (size_t)n * sizeof(int));
    memcpy(b, expected, (size_t)n * sizeof(int));
    sort(a, n);
    sort(b, n);
    CHECK(memcmp(a, b, (size_t)n * sizeof(int)) == 0);
}

/* Of the ranks that know an edge, one at random gives it; each weight identifies its edge. */
static void create_by_any_rank(MPI_Comm base, const struct picture *picture, int n, int weighted)
{
    int sources[2 * EDGES_MAX], degrees[2 * EDGES_MAX], destinations[2 * EDGES_MAX];
    int weights[2 * EDGES_MAX], stars = 0, rows = 0;
    for (int k = 0; k < picture->n; k++) {
        int append = draw(2);
        if (draw(n) != rank) {
            continue;
        }
        if (append && stars > 0 && sources[stars - 1] == picture->from[k]) {
            degrees[stars - 1]++;
        } else {
            sources[stars] = picture->from[k];
            degrees[stars++] = 1;
        }
        weights[rows] = k;
        destinations[rows++] = picture->to[k];
    }
    MPI_Dist_graph_create(base, stars, sources, degrees, destinations,
                          !weighted  ? unweighted
                          : rows > 0 ? weights
                                     : weights_empty,
                          MPI_INFO_NULL, draw(2), &comm);
}

static void draw_dist_graph(MPI_Comm base, int by_any_rank)
{
    struct picture picture;
    int n, has_weights, weights_in[EDGES_MAX], weights_out[EDGES_MAX], weighted = draw(2);
    MPI_Comm_size(base, &n);
    MPI_Comm_rank(base, &rank);
    draw_picture(&picture, n);
    in.n = out.n = 0;
    for (int k = 0; k < picture.n; k++) {
        if (picture.from[k] == rank) {
            weights_out[out.n] = k;
            out.peer[out.n++] = picture.to[k];
        }
        if (picture.to[k] == rank) {
            weights_in[in.n] = k;
            in.peer[in.n++] = picture.from[k];
        }
    }
    if (by_any_rank) {
        create_by_any_rank(base, &picture, n, weighted);
    } else {
        MPI_Dist_graph_create_adjacent(base, in.n, in.peer, weighted ? weights_in : unweighted,
                                       out.n, out.peer, weighted ? weights_out : unweighted,
                                       MPI_INFO_NULL, draw(2), &comm);
    }
    struct edges told_in = in, told_out = out;
    int numbers_in[EDGES_MAX], numbers_out[EDGES_MAX];
    MPI_Dist_graph_neighbors_count(comm, &told_in.n, &told_out.n, &has_weights);
    CHECK(told_in.n == in.n && told_out.n == out.n && !has_weights == !weighted);
    MPI_Dist_graph_neighbors(comm, in.n, told_in.peer, weighted ? numbers_in : unweighted, out.n,
                             told_out.peer, weighted ? numbers_out : unweighted);
    expect_same_set(told_in.peer, in.peer, in.n);
    expect_same_set(told_out.peer, out.peer, out.n);
    if (weighted) {
        expect_same_set(numbers_in, weights_in, in.n);
        expect_same_set(numbers_out, weights_out, out.n);
        for (int k = 0; k < in.n; k++) {
            CHECK(picture.from[numbers_in[k]] == told_in.peer[k]);
        }
        for (int k = 0; k < out.n; k++) {
            CHECK(picture.to[numbers_out[k]] == told_out.peer[k]);
        }
    }
    in = told_in;
    out = told_out;
    label(&in);
    label(&out);
}

/* ---- Messages ---- */

static uint64_t hash(int a, int b, int c)
{
    return mix(salt ^ mix((uint64_t)a << 42 ^ (uint64_t)b << 21 ^ (uint64_t)(c + 1)));
}

/* How many pairs the message from a process over an edge has. */
static int pairs(int from, int to, int name, int most)
{
    uint64_t drawn = kind == ALLGATHER || kind == ALLTOALL ? hash(0, 0, 0)
                     : kind == ALLGATHERV                  ? hash(from, 0, 0)
                                                           : hash(from, to, name);
    return (int)(drawn % (uint64_t)(most + 1));
}

/* Counts, types and places; regular ones are as the calls without arrays expect them. */
static void lay_out(struct edges *edges, int sent, int most)
{
    int next = 0, regular = kind == ALLGATHER || kind == ALLTOALL;
    int one = draw(2), alike = kind <= ALLGATHERV && sent;
    for (int k = 0; k < edges->n; k++) {
        int peer = edges->peer[k], other = peer == MPI_PROC_NULL ? rank : peer;
        int n = pairs(sent ? rank : other, sent ? other : rank, edges->label[k], most);
        int t = kind == ALLTOALLW ? (int)(hash(rank, k, sent + 5) % 2) : one;
        edges->type[k] = t;
        edges->handle[k] = types[t];
        edges->count[k] = n * elements[t];
        next += regular || alike ? 0 : (int)(hash(rank, k, sent + 7) % 3);
        edges->displ[k] = alike ? 0 : next;
        next += alike ? 0 : edges->count[k] * (kind == ALLTOALLW ? extent[t] : 1);
        edges->place[k] = (MPI_Aint)edges->displ[k] * (MPI_Aint)sizeof(int);
        if (kind != ALLTOALLW) {
            edges->place[k] *= extent[t];
        }
    }
    next = alike && edges->n > 0 ? edges->count[0] : next;
    edges->reach = next * (kind == ALLTOALLW ? 1 : extent[one]) + 1;
    edges->buffer = malloc((size_t)edges->reach * sizeof(int));
    /* Those without edges say the same as the others. */
    edges->type[edges->n] = one;
    edges->handle[edges->n] = types[one];
    edges->count[edges->n] = regular ? pairs(0, 0, 0, most) * elements[one] : 0;
}

static void fill(struct edges *edges, int start)
{
    for (int i = 0; i < edges->reach; i++) {
        edges->buffer[i] = (int)(hash(rank, i, start) & 0x7fffffff);
    }
}

/* What must come: each message by itself. */
static int *reference(void)
{
    int *room = malloc((size_t)in.reach * sizeof(int)), n = 0;
    MPI_Request requests[2 * EDGES_MAX];
    for (int i = 0; i < in.reach; i++) {
        room[i] = GAP;
    }
    for (int k = 0; k < in.n; k++) {
        MPI_Irecv((char *)room + in.place[k], in.count[k], in.handle[k], in.peer[k], in.label[k],
                  comm, &requests[n++]);
    }
    for (int k = 0; k < out.n; k++) {
        MPI_Isend((char *)out.buffer + out.place[k], out.count[k], out.handle[k], out.peer[k],
                  out.label[k], comm, &requests[n++]);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    return room;
}

/* ---- The calls ---- */

static void call_now(void)
{
    MPI_Datatype st = out.handle[0], rt = in.handle[0];
    if (kind == ALLGATHER) {
        MPI_Neighbor_allgather(out.buffer, out.count[0], st, in.buffer, in.count[0], rt, comm);
    } else if (kind == ALLGATHERV) {
        MPI_Neighbor_allgatherv(out.buffer, out.count[0], st, in.buffer, in.count, in.displ, rt,
                                comm);
    } else if (kind == ALLTOALL) {
        MPI_Neighbor_alltoall(out.buffer, out.count[0], st, in.buffer, in.count[0], rt, comm);
    } else if (kind == ALLTOALLV) {
        MPI_Neighbor_alltoallv(out.buffer, out.count, out.displ, st, in.buffer, in.count, in.displ,
                               rt, comm);
    } else {
        MPI_Neighbor_alltoallw(out.buffer, out.count, out.place, out.handle, in.buffer, in.count,
                               in.place, in.handle, comm);
    }
}

static void call_later(MPI_Request *request)
{
    MPI_Datatype st = out.handle[0], rt = in.handle[0];
    if (kind == ALLGATHER) {
        MPI_Ineighbor_allgather(out.buffer, out.count[0], st, in.buffer, in.count[0], rt, comm,
                                request);
    } else if (kind == ALLGATHERV) {
        MPI_Ineighbor_allgatherv(out.buffer, out.count[0], st, in.buffer, in.count, in.displ, rt,
                                 comm, request);
    } else if (kind == ALLTOALL) {
        MPI_Ineighbor_alltoall(out.buffer, out.count[0], st, in.buffer, in.count[0], rt, comm,
                               request);
    } else if (kind == ALLTOALLV) {
        MPI_Ineighbor_alltoallv(out.buffer, out.count, out.displ, st, in.buffer, in.count, in.displ,
                                rt, comm, request);
    } else {
        MPI_Ineighbor_alltoallw(out.buffer, out.count, out.place, out.handle, in.buffer, in.count,
                                in.place, in.handle, comm, request);
    }
}

static void call_kept(MPI_Request *request)
{
#if MPI_VERSION >= 4
    MPI_Datatype st = out.handle[0], rt = in.handle[0];
    MPI_Info none = MPI_INFO_NULL;
    if (kind == ALLGATHER) {
        MPI_Neighbor_allgather_init(out.buffer, out.count[0], st, in.buffer, in.count[0], rt, comm,
                                    none, request);
    } else if (kind == ALLGATHERV) {
        MPI_Neighbor_allgatherv_init(out.buffer, out.count[0], st, in.buffer, in.count, in.displ,
                                     rt, comm, none, request);
    } else if (kind == ALLTOALL) {
        MPI_Neighbor_alltoall_init(out.buffer, out.count[0], st, in.buffer, in.count[0], rt, comm,
                                   none, request);
    } else if (kind == ALLTOALLV) {
        MPI_Neighbor_alltoallv_init(out.buffer, out.count, out.displ, st, in.buffer, in.count,
                                    in.displ, rt, comm, none, request);
    } else {
        MPI_Neighbor_alltoallw_init(out.buffer, out.count, out.place, out.handle, in.buffer,
                                    in.count, in.place, in.handle, comm, none, request);
    }
#else
    *request = MPI_REQUEST_NULL;
#endif
}

static void try_one(int mode, int most)
{
    MPI_Request request = MPI_REQUEST_NULL;
    lay_out(&out, 1, most);
    lay_out(&in, 0, most);
    if (mode == PERSISTENT) {
        call_kept(&request);
    }
    for (int start = 0; start < (mode == PERSISTENT ? STARTS : 1); start++) {
        fill(&out, start);
        int *expected = reference();
        for (int i = 0; i < in.reach; i++) {
            in.buffer[i] = GAP;
        }
        if (mode == BLOCKING) {
            call_now();
        } else if (mode == LATER) {
            call_later(&request);
        } else {
            MPI_Start(&request);
        }
        if (mode != BLOCKING) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        CHECK(memcmp(in.buffer, expected, (size_t)in.reach * sizeof(int)) == 0);
        free(expected);
    }
    if (mode == PERSISTENT) {
        MPI_Request_free(&request);
    }
    CHECK(request == MPI_REQUEST_NULL);
    free(in.buffer);
    free(out.buffer);
}

/* ---- Rounds ---- */

static void one_topology(void)
{
    static const int most[] = {1, 4, 40, 4000};
    MPI_Comm base = draw_comm(), copy;
    int topology = draw(5);
    if (topology <= 1) {
        draw_grid(base);
    } else if (topology == 2) {
        draw_graph(base);
    } else {
        draw_dist_graph(base, topology == 4);
    }
    MPI_Comm_free(&base);
    if (comm == MPI_COMM_NULL) {
        return;
    }
    if (draw(2)) {
        MPI_Comm_dup(comm, &copy);
        MPI_Comm_free(&comm);
        comm = copy;
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int k = 0; k < 12; k++) {
        salt = mix(random_state);
        kind = draw(KINDS);
        int mode = draw(MODES);
        try_one(mode, most[draw(4)]);
    }
    MPI_Comm_free(&comm);
}

/* Displacements of MPI_Neighbor_alltoallw may be addresses: both buffers are MPI_BOTTOM then. */
static void addresses_are_displacements(void)
{
    int rank, size, out[2], in[2] = {-1, -1}, ones[2] = {1, 1}, yes = 1;
    MPI_Comm ring;
    MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
    MPI_Aint from[2] = {(MPI_Aint)&out[0], (MPI_Aint)&out[1]};
    MPI_Aint to[2] = {(MPI_Aint)&in[0], (MPI_Aint)&in[1]};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &yes, 0, &ring);
    out[0] = 2 * rank;
    out[1] = 2 * rank + 1;
    CHECK(MPI_Neighbor_alltoallw(MPI_BOTTOM, ones, from, ints, MPI_BOTTOM, ones, to, ints, ring) ==
          MPI_SUCCESS);
    if (size > 2) {
        CHECK(in[0] == 2 * ((rank + size - 1) % size) + 1 && in[1] == 2 * ((rank + 1) % size));
    }
    from[1] = 0; /* no address */
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    CHECK(MPI_Neighbor_alltoallw(MPI_BOTTOM, ones, from, ints, MPI_BOTTOM, ones, to, ints, ring) ==
          MPI_ERR_BUFFER);
    MPI_Comm_free(&ring);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rounds = arguments(argc, argv, 40);
    unweighted = MPI_UNWEIGHTED;
    weights_empty = MPI_WEIGHTS_EMPTY;
    types[0] = MPI_INT;
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 4 * sizeof(int), &types[1]);
    MPI_Type_free(&pair);
    MPI_Type_commit(&types[1]);
    addresses_are_displacements();
    for (int i = 0; i < rounds; i++) {
        uint64_t before = random_state;
        one_topology();
        /* Parts of a communicator drew differently often. */
        random_state = before + UINT64_C(0x5851f42d4c957f2d);
    }
    MPI_Type_free(&types[1]);
    MPI_Finalize();
    return 0;
}
