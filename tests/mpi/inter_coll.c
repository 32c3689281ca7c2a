/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective operations between random groups, blocking or not, compared with the expected results.
 * Prints a sum over all that was received, which is the same with every MPI.
 *
 * Arguments: [SEED [ROUNDS [BLOCKING]]]; replay a failure with the seed it was run with. BLOCKING
 * 1: blocking calls only (Open MPI 4.1.4 leaves MPI_Ibarrier between groups too early, MPICH 4.0
 * mixes up non-blocking operations between groups).
 */
#include "inter_random.h"

#include <string.h>

enum { GAP = -7, LARGE = 30000 };

static MPI_Comm inter;
static MPI_Datatype types[3]; /* [step]: an integer every `step` integers */
static MPI_Request request;
static uint64_t sum;
static uint64_t salt; /* of the operation */
static int blocking;  /* only */

static int content(int from, int to, int k)
{
    return (int)(mix(salt ^ (uint64_t)from << 48 ^ (uint64_t)to << 32 ^ (uint64_t)k) & 0x7fffffff);
}

static int count_of(int from, int to, int most)
{
    return (int)(mix(salt ^ (uint64_t)from << 48 ^ (uint64_t)to << 32 ^ 99) % (unsigned)(most + 1));
}

static int draw_most(void)
{
    int kind = draw(12), small = draw(20);
    salt = (uint64_t)draw(1 << 30) << 8;
    return kind == 0 ? LARGE : small;
}

static int *new_buffer(int n)
{
    int *buffer = malloc(((size_t)n + 1) * sizeof(int));
    for (int i = 0; i <= n; i++) {
        buffer[i] = GAP;
    }
    return buffer;
}

static void fill(int *buffer, int step, int n, int from, int to)
{
    for (int k = 0; k < n; k++) {
        buffer[k * step] = content(from, to, k);
    }
}

/* It is there; it is wiped, so that only gaps may be left. */
static void expect(int *buffer, int step, int n, int from, int to)
{
    for (int k = 0; k < n; k++) {
        CHECK(buffer[k * step] == content(from, to, k));
        sum += mix((uint64_t)buffer[k * step] + (uint64_t)world_rank + (uint64_t)k);
        buffer[k * step] = GAP;
    }
}

static void expect_gaps(int *buffer, int n)
{
    for (int i = 0; i <= n; i++) {
        CHECK(buffer[i] == GAP);
    }
    free(buffer);
}

static void finish(void)
{
    if (request != MPI_REQUEST_NULL) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

#define CALL(later, name, iname, ...)                                                              \
    do {                                                                                           \
        if (later) {                                                                               \
            iname(__VA_ARGS__, &request);                                                          \
        } else {                                                                                   \
            name(__VA_ARGS__);                                                                     \
        }                                                                                          \
        finish();                                                                                  \
    } while (0)

/* The other group in order of rank. */
static const int *others(void)
{
    return members[1 - side];
}

struct root {
    int side, rank;
};

static struct root draw_root(void)
{
    struct root root = {.side = draw(2)};
    root.rank = draw(n_members[root.side]);
    return root;
}

static int is_root(struct root root)
{
    return side == root.side && rank == root.rank;
}

/* The argument `root`. */
static int root_of(struct root root)
{
    return side != root.side ? root.rank : rank == root.rank ? MPI_ROOT : MPI_PROC_NULL;
}

/* ---- Moving data ---- */

/* One of the group that enters last has received nothing from a process that left. */
static void try_barrier(int later)
{
    struct root last = draw_root();
    int there, got;
    if (side < 0) {
        return;
    }
    for (int i = 0; i < 200 && is_root(last); i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 5, inter, &there, MPI_STATUS_IGNORE);
        CHECK(!there);
    }
    if (later) {
        MPI_Ibarrier(inter, &request);
        finish();
    } else {
        MPI_Barrier(inter);
    }
    if (side != last.side) {
        MPI_Send(&rank, 1, MPI_INT, last.rank, 5, inter);
    }
    for (int i = 0; i < peers && is_root(last); i++) {
        MPI_Recv(&got, 1, MPI_INT, i, 5, inter, MPI_STATUS_IGNORE);
        CHECK(got == i);
    }
}

static void try_bcast(int later)
{
    struct root root = draw_root();
    int n = draw_most(), step = 1 + draw(2);
    if (side < 0) {
        return;
    }
    int from = members[root.side][root.rank];
    int *buffer = new_buffer(n * step);
    if (is_root(root)) {
        fill(buffer, step, n, from, 0);
    }
    CALL(later, MPI_Bcast, MPI_Ibcast, buffer, n, types[step], root_of(root), inter);
    if (is_root(root) || side != root.side) {
        expect(buffer, step, n, from, 0);
    }
    expect_gaps(buffer, n * step);
}

/* Where the parts of all others lie, in elements. */
struct list {
    int counts[GROUP_MAX], displs[GROUP_MAX], reach;
};

/* to: 1: what goes to each, 0: what comes from each; same: all are `most` long. */
static struct list list_of(int to, int most, int same)
{
    struct list list = {.reach = 0};
    for (int i = 0; i < peers; i++) {
        int from = to ? world_rank : others()[i], dest = to ? others()[i] : world_rank;
        list.counts[i] = same ? most : count_of(from, dest, most);
        list.displs[i] = list.reach + (same ? 0 : i % 2);
        list.reach = list.displs[i] + list.counts[i];
    }
    return list;
}

static void try_gather(int later, int same)
{
    struct root root = draw_root();
    int most = draw_most(), step = 1 + draw(2);
    if (side < 0) {
        return;
    }
    int to = members[root.side][root.rank];
    struct list list = list_of(0, most, same);
    int n = same ? most : count_of(world_rank, to, most);
    int *out = new_buffer(n), *in = new_buffer(list.reach * step);
    fill(out, 1, n, world_rank, to);
    if (same) {
        CALL(later, MPI_Gather, MPI_Igather, out, n, MPI_INT, in, most, types[step], root_of(root),
             inter);
    } else {
        CALL(later, MPI_Gatherv, MPI_Igatherv, out, n, MPI_INT, in, list.counts, list.displs,
             types[step], root_of(root), inter);
    }
    for (int i = 0; i < peers && is_root(root); i++) {
        expect(in + list.displs[i] * step, step, list.counts[i], others()[i], to);
    }
    free(out);
    expect_gaps(in, list.reach * step);
}

static void try_scatter(int later, int same)
{
    struct root root = draw_root();
    int most = draw_most(), step = 1 + draw(2);
    if (side < 0) {
        return;
    }
    int from = members[root.side][root.rank];
    struct list list = list_of(1, most, same);
    int n = same ? most : count_of(from, world_rank, most);
    int *out = new_buffer(list.reach), *in = new_buffer(n * step);
    for (int i = 0; i < peers; i++) {
        fill(out + list.displs[i], 1, list.counts[i], world_rank, others()[i]);
    }
    if (same) {
        CALL(later, MPI_Scatter, MPI_Iscatter, out, most, MPI_INT, in, n, types[step],
             root_of(root), inter);
    } else {
        CALL(later, MPI_Scatterv, MPI_Iscatterv, out, list.counts, list.displs, MPI_INT, in, n,
             types[step], root_of(root), inter);
    }
    if (side != root.side) {
        expect(in, step, n, from, world_rank);
    }
    free(out);
    expect_gaps(in, n * step);
}

static void try_allgather(int later, int same)
{
    int most = draw_most(), step = 1 + draw(2);
    struct list list = {.reach = 0};
    if (side < 0) {
        return;
    }
    for (int i = 0; i < peers; i++) {
        list.counts[i] = same ? most + 1 - side : count_of(others()[i], 0, most);
        list.displs[i] = list.reach;
        list.reach += list.counts[i];
    }
    /* The two groups need not send alike. */
    int n = same ? most + side : count_of(world_rank, 0, most);
    int *out = new_buffer(n), *in = new_buffer(list.reach * step);
    fill(out, 1, n, world_rank, 0);
    if (same) {
        CALL(later, MPI_Allgather, MPI_Iallgather, out, n, MPI_INT, in, most + 1 - side,
             types[step], inter);
    } else {
        CALL(later, MPI_Allgatherv, MPI_Iallgatherv, out, n, MPI_INT, in, list.counts, list.displs,
             types[step], inter);
    }
    for (int i = 0; i < peers; i++) {
        expect(in + list.displs[i] * step, step, list.counts[i], others()[i], 0);
    }
    free(out);
    expect_gaps(in, list.reach * step);
}

/* kind 0: MPI_Alltoall, 1: v, 2: w */
static void alltoall(int later, int kind, int most, int step, struct list *send,
                     struct list *receive, int *out, int *in)
{
    MPI_Datatype from[GROUP_MAX], to[GROUP_MAX];
    if (kind == 0) {
        CALL(later, MPI_Alltoall, MPI_Ialltoall, out, most, MPI_INT, in, most, types[step], inter);
    } else if (kind == 1) {
        CALL(later, MPI_Alltoallv, MPI_Ialltoallv, out, send->counts, send->displs, MPI_INT, in,
             receive->counts, receive->displs, types[step], inter);
    } else {
        struct list s = *send, r = *receive;
        for (int i = 0; i < peers; i++) {
            from[i] = MPI_INT;
            to[i] = types[step];
            s.displs[i] *= (int)sizeof(int);
            r.displs[i] *= step * (int)sizeof(int);
        }
        CALL(later, MPI_Alltoallw, MPI_Ialltoallw, out, s.counts, s.displs, from, in, r.counts,
             r.displs, to, inter);
    }
}

static void try_alltoall(int later, int kind)
{
    int most = draw_most(), step = 1 + draw(2);
    if (side < 0) {
        return;
    }
    struct list send = list_of(1, most, kind == 0), receive = list_of(0, most, kind == 0);
    int *out = new_buffer(send.reach), *in = new_buffer(receive.reach * step);
    for (int i = 0; i < peers; i++) {
        fill(out + send.displs[i], 1, send.counts[i], world_rank, others()[i]);
    }
    alltoall(later, kind, most, step, &send, &receive, out, in);
    for (int i = 0; i < peers; i++) {
        expect(in + receive.displs[i] * step, step, receive.counts[i], others()[i], world_rank);
    }
    free(out);
    expect_gaps(in, receive.reach * step);
}

/* ---- Reducing ---- */

/* x -> scale x + shift, modulo 2^32: composition does not commute. */
struct map {
    unsigned scale, shift;
};

static MPI_Datatype map_type;
static MPI_Op after;

static struct map composed(struct map left, struct map right)
{
    return (struct map){left.scale * right.scale, left.scale * right.shift + left.shift};
}

static void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    struct map *left = in, *right = inout;
    for (int i = 0; i < *n; i++) {
        right[i] = composed(left[i], right[i]);
    }
}

static struct map map_of(int from, int k)
{
    return (struct map){(unsigned)content(from, 1, k) | 1, (unsigned)content(from, 2, k)};
}

static struct map *maps_of_me(int n)
{
    struct map *maps = malloc(((size_t)n + 1) * sizeof(*maps));
    for (int k = 0; k < n; k++) {
        maps[k] = map_of(world_rank, k);
    }
    return maps;
}

/* Elements [first, first + n) of the result of the group `of`. */
static void expect_value(const struct map *maps, int first, int n, int of)
{
    for (int k = first; k < first + n; k++) {
        struct map value = map_of(members[of][0], k), got = maps[k - first];
        for (int i = 1; i < n_members[of]; i++) {
            value = composed(value, map_of(members[of][i], k));
        }
        CHECK(got.scale == value.scale && got.shift == value.shift);
        sum += mix((uint64_t)got.scale << 32 | got.shift);
    }
}

static void try_reduce(int later)
{
    struct root root = draw_root();
    int n = draw_most();
    if (side < 0) {
        return;
    }
    struct map *out = maps_of_me(n), *in = malloc(((size_t)n + 1) * sizeof(*in));
    CALL(later, MPI_Reduce, MPI_Ireduce, out, in, n, map_type, after, root_of(root), inter);
    if (is_root(root)) {
        expect_value(in, 0, n, 1 - side);
    }
    free(out);
    free(in);
}

static void try_allreduce(int later)
{
    int n = draw_most();
    if (side < 0) {
        return;
    }
    struct map *out = maps_of_me(n), *in = malloc(((size_t)n + 1) * sizeof(*in));
    CALL(later, MPI_Allreduce, MPI_Iallreduce, out, in, n, map_type, after, inter);
    expect_value(in, 0, n, 1 - side);
    free(out);
    free(in);
}

/* Both groups cut the same number of elements among their members. */
static void try_reduce_scatter(int later, int same)
{
    int most = draw_most() / 8, counts[GROUP_MAX] = {0}, first = 0;
    int total = most * n_members[0] * n_members[1];
    if (side < 0) {
        return;
    }
    for (int i = 0; i < size; i++) {
        counts[i] = total / size;
    }
    for (int i = 0; i + 1 < size && !same; i += 2) {
        int move = count_of(members[side][i], 7, counts[i]);
        counts[i] -= move;
        counts[i + 1] += move;
    }
    for (int i = 0; i < rank; i++) {
        first += counts[i];
    }
    int n = counts[rank];
    struct map *out = maps_of_me(total), *in = malloc(((size_t)n + 1) * sizeof(*in));
    if (same) {
        CALL(later, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, out, in, n, map_type,
             after, inter);
    } else {
        CALL(later, MPI_Reduce_scatter, MPI_Ireduce_scatter, out, in, counts, map_type, after,
             inter);
    }
    expect_value(in, first, n, 1 - side);
    free(out);
    free(in);
}

/* ---- All of them ---- */

static void one_operation(void)
{
    int kind = draw(15), later = draw(2) && !blocking;
    request = MPI_REQUEST_NULL;
    switch (kind) {
    case 0:
        try_barrier(later);
        break;
    case 1:
        try_bcast(later);
        break;
    case 2:
    case 3:
        try_gather(later, kind == 2);
        break;
    case 4:
    case 5:
        try_scatter(later, kind == 4);
        break;
    case 6:
    case 7:
        try_allgather(later, kind == 6);
        break;
    case 8:
    case 9:
    case 10:
        try_alltoall(later, kind - 8);
        break;
    case 11:
        try_reduce(later);
        break;
    case 12:
        try_allreduce(later);
        break;
    default:
        try_reduce_scatter(later, kind == 13);
    }
}

int main(int argc, char **argv)
{
    int rounds = inter_begin(argc, argv, 12);
    blocking = argc > 3 && atoi(argv[3]) != 0;
    types[1] = MPI_INT;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &types[2]);
    MPI_Type_commit(&types[2]);
    MPI_Type_contiguous(2, MPI_UNSIGNED, &map_type);
    MPI_Type_commit(&map_type);
    MPI_Op_create(compose, 0, &after);
    for (int i = 0; i < rounds; i++) {
        draw_members();
        inter = inter_of_members();
        for (int k = 0; k < 25; k++) {
            one_operation();
        }
        if (inter != MPI_COMM_NULL) {
            MPI_Comm_free(&inter);
        }
    }
    uint64_t total;
    MPI_Reduce(&sum, &total, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world_rank == 0) {
        printf("sum %016llx\n", (unsigned long long)total);
    }
    MPI_Op_free(&after);
    MPI_Type_free(&types[2]);
    MPI_Type_free(&map_type);
    MPI_Finalize();
    return 0;
}
