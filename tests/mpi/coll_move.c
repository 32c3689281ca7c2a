/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective operations that move data, with random roots, counts, datatypes and communicators,
 * blocking or not, in place or not: every element is where it belongs, and no gap of a datatype is
 * touched.
 *
 * Arguments: [SEED [ROUNDS]]; replay a failure with the seed it was run with.
 */
#include "check.h"
#include "coll_random.h"

#include <string.h>

/* Ways to lay out integers. A unit is 6 of them, so that every layout holds whole units. */
enum { LAYOUTS = 3, UNIT = 6, GAP = -7 };

static const struct {
    int extent, n, at[3];
} layouts[LAYOUTS] = {{1, 1, {0}}, {4, 2, {0, 2}}, {5, 3, {4, 0, 1}}};
static MPI_Datatype types[LAYOUTS];

static MPI_Comm comm;
static int rank, size;

static void make_types(void)
{
    int lengths[2] = {1, 2}, places[2] = {4, 0};
    MPI_Datatype base;
    types[0] = MPI_INT;
    MPI_Type_vector(2, 1, 2, MPI_INT, &base);
    MPI_Type_create_resized(base, 0, 4 * sizeof(int), &types[1]);
    MPI_Type_free(&base);
    MPI_Type_indexed(2, lengths, places, MPI_INT, &types[2]);
    MPI_Type_commit(&types[1]);
    MPI_Type_commit(&types[2]);
}

/* Elements of a layout in a number of units, and the integers they span. */
static int elements(int layout, int units)
{
    return units * UNIT / layouts[layout].n;
}

static int reach(int layout, int units)
{
    return elements(layout, units) * layouts[layout].extent;
}

static int *new_buffer(int n)
{
    int *buffer = malloc(((size_t)n + 1) * sizeof(int));
    for (int i = 0; i <= n; i++) {
        buffer[i] = GAP;
    }
    return buffer;
}

/* The integer k of what `from` sends to `to`. */
static int content(int from, int to, int k)
{
    return (int)(mix((uint64_t)from << 40 ^ (uint64_t)to << 20 ^ (uint64_t)k) & 0x7fffffff);
}

static int *slot(int *buffer, int layout, int k)
{
    return buffer + k / layouts[layout].n * layouts[layout].extent +
           layouts[layout].at[k % layouts[layout].n];
}

static void fill(int *buffer, int layout, int units, int from, int to)
{
    for (int k = 0; k < units * UNIT; k++) {
        *slot(buffer, layout, k) = content(from, to, k);
    }
}

/* The message is there; it is wiped, so that afterwards only gaps may be left. */
static void expect(int *buffer, int layout, int units, int from, int to)
{
    for (int k = 0; k < units * UNIT; k++) {
        CHECK(*slot(buffer, layout, k) == content(from, to, k));
        *slot(buffer, layout, k) = GAP;
    }
}

static void expect_gaps(const int *buffer, int n)
{
    for (int i = 0; i <= n; i++) {
        CHECK(buffer[i] == GAP);
    }
}

/* Of all ranks: units, and in elements where each part begins. */
struct list {
    int units[64], counts[64], displs[64], layout, reach;
};

static void list_draw(struct list *list, int layout, int units_max, int same)
{
    int next = 0, units = draw(units_max + 1);
    list->layout = layout;
    for (int i = 0; i < size; i++) {
        list->units[i] = same ? units : draw(units_max + 1);
        list->counts[i] = elements(layout, list->units[i]);
        next += same ? 0 : draw(3);
        list->displs[i] = next;
        next += list->counts[i];
    }
    list->reach = next * layouts[layout].extent;
}

static int *part(int *buffer, const struct list *list, int i)
{
    return buffer + list->displs[i] * layouts[list->layout].extent;
}

static void finish(MPI_Request *request)
{
    if (*request != MPI_REQUEST_NULL) {
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
}

/* ---- The operations ---- */

static void try_bcast(int root, int layout, int units, int later)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int n = reach(layout, units);
    int *buffer = new_buffer(n);
    if (rank == root) {
        fill(buffer, layout, units, root, 0);
    }
    int mine = rank % 2 == root % 2 ? layout : 0; /* another type of the same signature */
    if (mine != layout) {
        free(buffer);
        n = reach(mine, units);
        buffer = new_buffer(n);
    }
    if (later) {
        MPI_Ibcast(buffer, elements(mine, units), types[mine], root, comm, &request);
        finish(&request);
    } else {
        MPI_Bcast(buffer, elements(mine, units), types[mine], root, comm);
    }
    expect(buffer, mine, units, root, 0);
    expect_gaps(buffer, n);
    free(buffer);
}

static void try_gather(int root, int layout, const struct list *list, int in_place, int same,
                       int later)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int units = list->units[rank], count = elements(layout, units), n = reach(layout, units);
    int *out = new_buffer(n), *in = new_buffer(list->reach);
    const void *from = in_place && rank == root ? MPI_IN_PLACE : (const void *)out;
    fill(out, layout, units, rank, root);
    if (rank == root && in_place) {
        fill(part(in, list, rank), list->layout, units, rank, root);
    }
    MPI_Datatype type = types[layout], all = types[list->layout];
    if (same && later) {
        MPI_Igather(from, count, type, in, list->counts[0], all, root, comm, &request);
    } else if (same) {
        MPI_Gather(from, count, type, in, list->counts[0], all, root, comm);
    } else if (later) {
        MPI_Igatherv(from, count, type, in, list->counts, list->displs, all, root, comm, &request);
    } else {
        MPI_Gatherv(from, count, type, in, list->counts, list->displs, all, root, comm);
    }
    finish(&request);
    for (int i = 0; i < size && rank == root; i++) {
        expect(part(in, list, i), list->layout, list->units[i], i, root);
    }
    expect_gaps(in, list->reach);
    free(out);
    free(in);
}

static void try_scatter(int root, int layout, const struct list *list, int in_place, int same,
                        int later)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int units = list->units[rank], count = elements(layout, units), n = reach(layout, units);
    int *out = new_buffer(list->reach), *in = new_buffer(n);
    for (int i = 0; i < size; i++) {
        fill(part(out, list, i), list->layout, list->units[i], root, i);
    }
    in_place = in_place && rank == root;
    void *to = in_place ? MPI_IN_PLACE : (void *)in;
    MPI_Datatype type = types[layout], all = types[list->layout];
    if (same && later) {
        MPI_Iscatter(out, list->counts[0], all, to, count, type, root, comm, &request);
    } else if (same) {
        MPI_Scatter(out, list->counts[0], all, to, count, type, root, comm);
    } else if (later) {
        MPI_Iscatterv(out, list->counts, list->displs, all, to, count, type, root, comm, &request);
    } else {
        MPI_Scatterv(out, list->counts, list->displs, all, to, count, type, root, comm);
    }
    finish(&request);
    if (!in_place) {
        expect(in, layout, units, root, rank);
    }
    expect_gaps(in, n);
    free(out);
    free(in);
}

static void try_allgather(int layout, const struct list *list, int in_place, int same, int later)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int units = list->units[rank], count = elements(layout, units), n = reach(layout, units);
    int *out = new_buffer(n), *in = new_buffer(list->reach);
    const void *from = in_place ? MPI_IN_PLACE : (const void *)out;
    fill(out, layout, units, rank, 0);
    if (in_place) {
        fill(part(in, list, rank), list->layout, units, rank, 0);
    }
    MPI_Datatype type = types[layout], all = types[list->layout];
    if (same && later) {
        MPI_Iallgather(from, count, type, in, list->counts[0], all, comm, &request);
    } else if (same) {
        MPI_Allgather(from, count, type, in, list->counts[0], all, comm);
    } else if (later) {
        MPI_Iallgatherv(from, count, type, in, list->counts, list->displs, all, comm, &request);
    } else {
        MPI_Allgatherv(from, count, type, in, list->counts, list->displs, all, comm);
    }
    finish(&request);
    for (int i = 0; i < size; i++) {
        expect(part(in, list, i), list->layout, list->units[i], i, 0);
    }
    expect_gaps(in, list->reach);
    free(out);
    free(in);
}

/* What rank i sends to rank j has units[(i + j) % size]: both sides know it, and it is the same
 * both ways. */
static void turn(struct list *list)
{
    struct list old = *list;
    int next = 0;
    for (int i = 0; i < size; i++) {
        list->units[i] = old.units[(i + rank) % size];
        list->counts[i] = elements(list->layout, list->units[i]);
        list->displs[i] = next;
        next += list->counts[i] + i % 2;
    }
    list->reach = next * layouts[list->layout].extent;
}

static void alltoallw(const void *from, const struct list *out, void *to, const struct list *in,
                      int later, MPI_Request *request)
{
    int sdispls[64], rdispls[64];
    MPI_Datatype stypes[64], rtypes[64];
    for (int i = 0; i < size; i++) {
        sdispls[i] = out->displs[i] * layouts[out->layout].extent * (int)sizeof(int);
        rdispls[i] = in->displs[i] * layouts[in->layout].extent * (int)sizeof(int);
        stypes[i] = types[out->layout];
        rtypes[i] = types[in->layout];
    }
    if (later) {
        MPI_Ialltoallw(from, out->counts, sdispls, stypes, to, in->counts, rdispls, rtypes, comm,
                       request);
        finish(request);
    } else {
        MPI_Alltoallw(from, out->counts, sdispls, stypes, to, in->counts, rdispls, rtypes, comm);
    }
}

static void try_alltoall(int layout, const struct list *drawn, int in_place, int kind, int later)
{
    MPI_Request request = MPI_REQUEST_NULL;
    struct list in = *drawn, out = *drawn;
    out.layout = layout;
    if (kind > 0) {
        turn(&in);
        turn(&out);
    } else {
        list_draw(&in, drawn->layout, 0, 1);
        for (int i = 0, next = 0; i < size; i++) {
            in.units[i] = out.units[i] = drawn->units[0];
            in.counts[i] = elements(in.layout, in.units[i]);
            out.counts[i] = elements(layout, in.units[i]);
            in.displs[i] = i * in.counts[i];
            out.displs[i] = i * out.counts[i];
            next += in.counts[i];
            in.reach = next * layouts[in.layout].extent;
            out.reach = (i + 1) * out.counts[i] * layouts[layout].extent;
        }
    }
    int *from = new_buffer(out.reach), *to = new_buffer(in.reach);
    const void *sent = in_place ? MPI_IN_PLACE : (const void *)from;
    for (int i = 0; i < size; i++) {
        fill(part(from, &out, i), layout, out.units[i], rank, i);
        if (in_place) {
            fill(part(to, &in, i), in.layout, in.units[i], rank, i);
        }
    }
    MPI_Datatype st = types[layout], rt = types[in.layout];
    if (kind == 0 && later) {
        MPI_Ialltoall(sent, out.counts[0], st, to, in.counts[0], rt, comm, &request);
    } else if (kind == 0) {
        MPI_Alltoall(sent, out.counts[0], st, to, in.counts[0], rt, comm);
    } else if (kind == 1 && later) {
        MPI_Ialltoallv(sent, out.counts, out.displs, st, to, in.counts, in.displs, rt, comm,
                       &request);
    } else if (kind == 1) {
        MPI_Alltoallv(sent, out.counts, out.displs, st, to, in.counts, in.displs, rt, comm);
    } else {
        alltoallw(sent, &out, to, &in, later, &request);
    }
    finish(&request);
    for (int i = 0; i < size; i++) {
        expect(part(to, &in, i), in.layout, in.units[i], i, rank);
    }
    expect_gaps(to, in.reach);
    free(from);
    free(to);
}

static void round_of_all(void)
{
    static const int units_max[] = {1, 4, 4, 300, 3000};
    struct list list;
    int most = units_max[draw(5)], layout = draw(LAYOUTS), root = draw(64) % size;
    int same = draw(2), in_place = draw(2), later = draw(2);
    int kind = draw(6), which = draw(3);
    list_draw(&list, draw(LAYOUTS), most, same);
    switch (kind) {
    case 0:
        try_bcast(root, layout, list.units[0], later);
        break;
    case 1:
        try_gather(root, layout, &list, in_place, same, later);
        break;
    case 2:
        try_scatter(root, layout, &list, in_place, same, later);
        break;
    case 3:
        try_allgather(layout, &list, in_place, same, later);
        break;
    case 4:
        try_alltoall(layout, &list, in_place, which, later);
        break;
    default:
        MPI_Barrier(comm);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rounds = arguments(argc, argv, 20);
    make_types();
    for (int i = 0; i < rounds; i++) {
        uint64_t before = random_state;
        comm = draw_comm();
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        for (int k = 0; k < 25; k++) {
            round_of_all();
        }
        MPI_Comm_free(&comm);
        random_state =
            before +
            UINT64_C(0x5851f42d4c957f2d); /* parts of unequal size drew differently often */
    }
    MPI_Type_free(&types[1]);
    MPI_Type_free(&types[2]);
    MPI_Finalize();
    return 0;
}
