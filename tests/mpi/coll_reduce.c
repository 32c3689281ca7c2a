/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions with random operations, types, lengths, roots and communicators, blocking or not, in
 * place or not, against the bracketing that src/mpi/coll/coll.h promises: results are the same to
 * the last bit, whatever the call and the root, and an operation that does not commute sees its
 * operands in the order of ranks.
 *
 * Arguments: [SEED [ROUNDS]]; replay a failure with the seed it was run with.
 */
#include "check.h"
#include "coll_random.h"

#include <string.h>

static MPI_Comm comm;
static int rank, size, salt;

/* x -> a x + b, modulo 2^32: composing them is associative and does not commute. */
struct line {
    uint32_t a, b;
};
struct located {
    double value;
    int index;
};

static struct line compose(struct line f, struct line g)
{
    return (struct line){f.a * g.a, f.b * g.a + g.b};
}

static void compose_all(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int bytes;
    MPI_Type_size(*type, &bytes);
    CHECK(bytes == sizeof(struct line));
    for (int i = 0; i < *len; i++) {
        ((struct line *)inout)[i] = compose(((struct line *)in)[i], ((struct line *)inout)[i]);
    }
}

/* ---- What is reduced: element k of a rank, and two elements combined ---- */

union element {
    double f64;
    int32_t i32;
    uint64_t u64;
    struct located located;
    struct line line;
};

enum { SUM_DOUBLE, SUM_INT, BXOR_LONG, MINLOC, LINES, KINDS };
static struct {
    MPI_Datatype type;
    MPI_Op op;
    size_t bytes;
} kinds[KINDS];

static union element element_of(int kind, int from, int k)
{
    union element e;
    uint64_t bits = mix((uint64_t)from << 44 ^ (uint64_t)salt << 24 ^ (uint64_t)k);
    memset(&e, 0, sizeof(e));
    switch (kind) {
    case SUM_DOUBLE:
        e.f64 = ((double)(int64_t)bits) * ((bits & 8) ? 1e-9 : 1.0);
        break;
    case SUM_INT:
        e.i32 = (int32_t)(bits & 0xffffff);
        break;
    case BXOR_LONG:
        e.u64 = bits;
        break;
    case MINLOC:
        e.located.value = (double)(bits % 5);
        e.located.index = from;
        break;
    default:
        e.line = (struct line){(uint32_t)bits | 1, (uint32_t)(bits >> 32)};
    }
    return e;
}

static union element combined(int kind, union element left, union element right)
{
    switch (kind) {
    case SUM_DOUBLE:
        left.f64 += right.f64;
        break;
    case SUM_INT:
        left.i32 += right.i32;
        break;
    case BXOR_LONG:
        left.u64 ^= right.u64;
        break;
    case MINLOC:
        left = right.located.value < left.located.value ? right : left;
        break;
    default:
        left.line = compose(left.line, right.line);
    }
    return left;
}

/* ---- The brackets ---- */

static int split_at(int lo, int hi)
{
    int span = 1;
    while (2 * span < hi - lo) {
        span *= 2;
    }
    return lo + span;
}

static union element of_range(int kind, int lo, int hi, int k)
{
    if (hi - lo == 1) {
        return element_of(kind, lo, k);
    }
    int mid = split_at(lo, hi);
    return combined(kind, of_range(kind, lo, mid, k), of_range(kind, mid, hi, k));
}

/* Of all ranks before `me`, which is not 0. */
static union element before(int kind, int me, int k)
{
    union element e = {0};
    int some = 0;
    for (int lo = 0, hi = size; hi - lo > 1;) {
        int mid = split_at(lo, hi);
        if (me < mid) {
            hi = mid;
            continue;
        }
        union element left = of_range(kind, lo, mid, k);
        e = some ? combined(kind, e, left) : left;
        some = 1;
        lo = mid;
    }
    return e;
}

static void put(char *buffer, int kind, int k, union element e)
{
    memcpy(buffer + (size_t)k * kinds[kind].bytes, &e, kinds[kind].bytes);
}

static void expect(const char *buffer, int kind, int k, union element e)
{
    size_t data = kind == MINLOC ? sizeof(double) + sizeof(int) : kinds[kind].bytes;
    CHECK(memcmp(buffer + (size_t)k * kinds[kind].bytes, &e, data) == 0);
}

static void finish(MPI_Request *request)
{
    if (*request != MPI_REQUEST_NULL) {
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
}

/* ---- The operations ---- */

static void try_reduce(int kind, char *mine, char *result, int count, int root, int in_place,
                       int later)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const void *from = in_place && rank == root ? MPI_IN_PLACE : (const void *)mine;
    char *to = from == MPI_IN_PLACE ? mine : result;
    if (later) {
        MPI_Ireduce(from, to, count, kinds[kind].type, kinds[kind].op, root, comm, &request);
    } else {
        MPI_Reduce(from, to, count, kinds[kind].type, kinds[kind].op, root, comm);
    }
    finish(&request);
    for (int k = 0; k < count; k++) {
        if (rank == root) {
            expect(to, kind, k, of_range(kind, 0, size, k));
        } else {
            expect(mine, kind, k, element_of(kind, rank, k));
        }
    }
}

static void try_allreduce(int kind, char *mine, char *result, int count, int in_place, int later)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const void *from = in_place ? MPI_IN_PLACE : (const void *)mine;
    char *to = in_place ? mine : result;
    if (later) {
        MPI_Iallreduce(from, to, count, kinds[kind].type, kinds[kind].op, comm, &request);
    } else {
        MPI_Allreduce(from, to, count, kinds[kind].type, kinds[kind].op, comm);
    }
    finish(&request);
    for (int k = 0; k < count; k++) {
        expect(to, kind, k, of_range(kind, 0, size, k));
        if (!in_place) {
            expect(mine, kind, k, element_of(kind, rank, k));
        }
    }
}

static void try_scan(int kind, char *mine, char *result, int count, int in_place, int later,
                     int exclusive)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const void *from = in_place ? MPI_IN_PLACE : (const void *)mine;
    char *to = in_place ? mine : result;
    MPI_Datatype type = kinds[kind].type;
    MPI_Op op = kinds[kind].op;
    if (exclusive && later) {
        MPI_Iexscan(from, to, count, type, op, comm, &request);
    } else if (exclusive) {
        MPI_Exscan(from, to, count, type, op, comm);
    } else if (later) {
        MPI_Iscan(from, to, count, type, op, comm, &request);
    } else {
        MPI_Scan(from, to, count, type, op, comm);
    }
    finish(&request);
    for (int k = 0; k < count; k++) {
        union element own = element_of(kind, rank, k);
        if (rank > 0) {
            union element all = before(kind, rank, k);
            expect(to, kind, k, exclusive ? all : combined(kind, all, own));
        } else if (!exclusive) {
            expect(to, kind, k, own);
        }
    }
}

static void try_reduce_scatter(int kind, char *mine, char *result, int count, int in_place,
                               int later, int regular)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const void *from = in_place ? MPI_IN_PLACE : (const void *)mine;
    char *to = in_place ? mine : result;
    MPI_Datatype type = kinds[kind].type;
    MPI_Op op = kinds[kind].op;
    int counts[64], at = 0;
    for (int i = 0, next = 0; i < size; i++) {
        counts[i] = regular ? count / size : i == size - 1 ? count - next : draw(count - next + 1);
        at = i == rank ? next : at;
        next += counts[i];
    }
    if (regular && later) {
        MPI_Ireduce_scatter_block(from, to, counts[0], type, op, comm, &request);
    } else if (regular) {
        MPI_Reduce_scatter_block(from, to, counts[0], type, op, comm);
    } else if (later) {
        MPI_Ireduce_scatter(from, to, counts, type, op, comm, &request);
    } else {
        MPI_Reduce_scatter(from, to, counts, type, op, comm);
    }
    finish(&request);
    for (int k = 0; k < counts[rank]; k++) {
        expect(to, kind, k, of_range(kind, 0, size, at + k));
    }
}

static void round_of_all(void)
{
    static const int counts[] = {0, 1, 2, 17, 17, 1000, 20000};
    int count = counts[draw(7)], kind = draw(KINDS), root = draw(64) % size;
    int in_place = draw(2), later = draw(2), what = draw(6);
    count += count > 2 ? draw(5) : 0;
    salt = draw(1 << 16);
    size_t bytes = ((size_t)count + 1) * kinds[kind].bytes;
    char *mine = malloc(bytes), *result = malloc(bytes);
    memset(result, 0x55, bytes);
    for (int k = 0; k < count; k++) {
        put(mine, kind, k, element_of(kind, rank, k));
    }
    switch (what) {
    case 0:
        try_reduce(kind, mine, result, count, root, in_place, later);
        break;
    case 1:
        try_allreduce(kind, mine, result, count, in_place, later);
        break;
    case 2:
    case 3:
        try_scan(kind, mine, result, count, in_place, later, what == 2);
        break;
    default:
        try_reduce_scatter(kind, mine, result, count, in_place, later, what == 4);
    }
    free(mine);
    free(result);
}

/* The same wrong pair at all ranks: an error at all of them, and the communicator is as good as
 * before. */
static void try_mismatch(void)
{
    double in = 1, out = 0;
    int class;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int error = MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD);
    MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_OP);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    int n;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    CHECK(out == n);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rounds = arguments(argc, argv, 20);
    MPI_Datatype lines;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_UINT32_T, &lines);
    MPI_Type_commit(&lines);
    MPI_Op_create(compose_all, 0, &op);
    kinds[SUM_DOUBLE].type = MPI_DOUBLE;
    kinds[SUM_INT].type = MPI_INT;
    kinds[BXOR_LONG].type = MPI_UINT64_T;
    kinds[MINLOC].type = MPI_DOUBLE_INT;
    kinds[LINES].type = lines;
    kinds[SUM_DOUBLE].op = kinds[SUM_INT].op = MPI_SUM;
    kinds[BXOR_LONG].op = MPI_BXOR;
    kinds[MINLOC].op = MPI_MINLOC;
    kinds[LINES].op = op;
    kinds[SUM_DOUBLE].bytes = kinds[BXOR_LONG].bytes = kinds[LINES].bytes = 8;
    kinds[SUM_INT].bytes = 4;
    kinds[MINLOC].bytes = sizeof(struct located);
    for (int i = 0; i < rounds; i++) {
        uint64_t start = random_state;
        comm = draw_comm();
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        for (int k = 0; k < 25; k++) {
            round_of_all();
        }
        MPI_Comm_free(&comm);
        random_state =
            start + UINT64_C(0x5851f42d4c957f2d); /* parts of unequal size drew differently often */
    }
    try_mismatch();
    MPI_Op_free(&op);
    MPI_Type_free(&lines);
    MPI_Finalize();
    return 0;
}
