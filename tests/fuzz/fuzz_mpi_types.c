/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes: constructors with arguments of any value, in any nesting; each is taken to pieces by
 * MPI_Type_get_contents and made again; external32 of any bytes is read into memory of just the
 * size that the type says, and written again.
 */
#include "fuzz.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES_MAX = 8, LIST_MAX = 6, CONTENTS_MAX = 64, SPAN_MAX = 1 << 16, ELEMENTS_MAX = 4096 };

#define FAR_MAX ((MPI_Count)1 << 40) /* data farther away would be outside of the address space */

static MPI_Datatype types[TYPES_MAX];
static int n_types;
static struct rz_fuzz_input *input;

static uint64_t below(uint64_t bound)
{
    return rz_fuzz_below(input, bound);
}

static MPI_Datatype basic(void)
{
    static const MPI_Datatype list[] = {MPI_CHAR,
                                        MPI_BYTE,
                                        MPI_SHORT,
                                        MPI_INT,
                                        MPI_LONG,
                                        MPI_UNSIGNED_LONG,
                                        MPI_DOUBLE,
                                        MPI_FLOAT,
                                        MPI_WCHAR,
                                        MPI_LONG_DOUBLE,
                                        MPI_LONG_LONG,
                                        MPI_DOUBLE_INT,
                                        MPI_C_BOOL,
                                        MPI_AINT,
                                        MPI_C_LONG_DOUBLE_COMPLEX,
                                        MPI_INT64_T,
                                        MPI_LONG_DOUBLE_INT,
                                        MPI_SHORT_INT};
    return list[below(sizeof(list) / sizeof(*list))];
}

static MPI_Datatype any_type(void)
{
    uint64_t which = below(n_types > 0 ? 2 * (uint64_t)n_types : 1);
    return which < (uint64_t)n_types ? types[which] : basic();
}

/* Mostly small, now and then anything. */
static int any_int(void)
{
    uint64_t what = below(64);
    if (what == 63) {
        return (int)(int32_t)rz_fuzz_take(input, 4);
    }
    return what < 56 ? (int)(what % 7) : (int)below(2000) - 1000;
}

static MPI_Aint any_aint(void)
{
    uint64_t what = below(64);
    if (what == 63) {
        return (MPI_Aint)rz_fuzz_take(input, 8);
    }
    return what < 40 ? (MPI_Aint)what * 4 : (MPI_Aint)below(4000) - 2000;
}

/* ---- constructors ---- */

static int make(MPI_Datatype *made)
{
    int lengths[LIST_MAX], places[LIST_MAX], sub[3][LIST_MAX];
    MPI_Aint bytes[LIST_MAX];
    MPI_Datatype parts[LIST_MAX], old = any_type();
    int n = (int)below(LIST_MAX), a = any_int(), b = any_int();
    for (int i = 0; i < LIST_MAX; i++) {
        lengths[i] = any_int(), places[i] = any_int(), bytes[i] = any_aint(), parts[i] = any_type();
        sub[0][i] = 1 + (int)below(6), sub[1][i] = (int)below(7), sub[2][i] = (int)below(7) - 1;
    }
    switch (below(13)) {
    case 0:
        return MPI_Type_contiguous(a, old, made);
    case 1:
        return MPI_Type_vector(a, b, any_int(), old, made);
    case 2:
        return MPI_Type_create_hvector(a, b, any_aint(), old, made);
    case 3:
        return MPI_Type_indexed(n, lengths, places, old, made);
    case 4:
        return MPI_Type_create_hindexed(n, lengths, bytes, old, made);
    case 5:
        return MPI_Type_create_indexed_block(n, a, places, old, made);
    case 6:
        return MPI_Type_create_hindexed_block(n, a, bytes, old, made);
    case 7:
        return MPI_Type_create_struct(n, lengths, bytes, parts, made);
    case 8:
        return MPI_Type_create_resized(old, any_aint(), any_aint(), made);
    case 9:
        return MPI_Type_dup(old, made);
    case 10:
        return MPI_Type_create_subarray(n, sub[0], sub[1], sub[2],
                                        below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, old, made);
    case 11: {
        static const int ways[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC,
                                   MPI_DISTRIBUTE_NONE};
        for (int i = 0; i < LIST_MAX; i++) {
            places[i] = ways[below(3)];
            sub[1][i] = below(2) ? MPI_DISTRIBUTE_DFLT_DARG : (int)below(4);
            sub[2][i] = 1 + (int)below(2);
        }
        return MPI_Type_create_darray(any_int(), any_int(), n, sub[0], places, sub[1], sub[2],
                                      MPI_ORDER_C, old, made);
    }
    default: {
        MPI_Count counts[] = {any_aint(), any_aint()};
        return MPI_Type_vector_c(counts[0], counts[1], any_int(), old, made);
    }
    }
}

/* The same again, from what the library says of it. */
static int make_again(int how, const int *i, const MPI_Aint *a, const MPI_Datatype *d,
                      MPI_Datatype *made)
{
    switch (how) {
    case MPI_COMBINER_DUP:
        return MPI_Type_dup(d[0], made);
    case MPI_COMBINER_CONTIGUOUS:
        return MPI_Type_contiguous(i[0], d[0], made);
    case MPI_COMBINER_VECTOR:
        return MPI_Type_vector(i[0], i[1], i[2], d[0], made);
    case MPI_COMBINER_HVECTOR:
        return MPI_Type_create_hvector(i[0], i[1], a[0], d[0], made);
    case MPI_COMBINER_INDEXED:
        return MPI_Type_indexed(i[0], i + 1, i + 1 + i[0], d[0], made);
    case MPI_COMBINER_HINDEXED:
        return MPI_Type_create_hindexed(i[0], i + 1, a, d[0], made);
    case MPI_COMBINER_INDEXED_BLOCK:
        return MPI_Type_create_indexed_block(i[0], i[1], i + 2, d[0], made);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return MPI_Type_create_hindexed_block(i[0], i[1], a, d[0], made);
    case MPI_COMBINER_STRUCT:
        return MPI_Type_create_struct(i[0], i + 1, a, d, made);
    case MPI_COMBINER_RESIZED:
        return MPI_Type_create_resized(d[0], a[0], a[1], made);
    case MPI_COMBINER_SUBARRAY:
        return MPI_Type_create_subarray(i[0], i + 1, i + 1 + i[0], i + 1 + 2 * i[0],
                                        i[1 + 3 * i[0]], d[0], made);
    case MPI_COMBINER_DARRAY:
        return MPI_Type_create_darray(i[0], i[1], i[2], i + 3, i + 3 + i[2], i + 3 + 2 * i[2],
                                      i + 3 + 3 * i[2], i[3 + 4 * i[2]], d[0], made);
    default:
        return MPI_ERR_OTHER;
    }
}

static void same(MPI_Datatype one, MPI_Datatype other)
{
    MPI_Count size[2], lb[2], extent[2], true_lb[2], true_extent[2];
    MPI_Datatype both[] = {one, other};
    for (int k = 0; k < 2; k++) {
        rz_fuzz_holds(MPI_Type_size_c(both[k], &size[k]) == MPI_SUCCESS);
        rz_fuzz_holds(MPI_Type_get_extent_c(both[k], &lb[k], &extent[k]) == MPI_SUCCESS);
        rz_fuzz_holds(MPI_Type_get_true_extent_c(both[k], &true_lb[k], &true_extent[k]) ==
                      MPI_SUCCESS);
    }
    rz_fuzz_holds(size[0] == size[1] && lb[0] == lb[1] && extent[0] == extent[1]);
    rz_fuzz_holds(true_lb[0] == true_lb[1] && true_extent[0] == true_extent[1]);
    rz_fuzz_holds(size[0] >= 0);
}

static void check_contents(MPI_Datatype type)
{
    int ni, na, nd, how, i[CONTENTS_MAX];
    MPI_Aint a[CONTENTS_MAX];
    MPI_Datatype d[CONTENTS_MAX], made = MPI_DATATYPE_NULL;
    if (MPI_Type_get_envelope(type, &ni, &na, &nd, &how) != MPI_SUCCESS) {
        return; /* of a large-count constructor */
    }
    rz_fuzz_holds(ni <= CONTENTS_MAX && na <= CONTENTS_MAX && nd <= CONTENTS_MAX);
    /* A buffer of exactly the size; one byte less is refused. */
    int *exact = malloc((size_t)ni * sizeof(*exact));
    if (ni > 0) {
        rz_fuzz_holds(MPI_Type_get_contents(type, ni - 1, na, nd, i, a, d) != MPI_SUCCESS);
    }
    rz_fuzz_holds(MPI_Type_get_contents(type, ni, na, nd, exact, a, d) == MPI_SUCCESS);
    rz_fuzz_holds(make_again(how, exact, a, d, &made) == MPI_SUCCESS);
    same(type, made);
    MPI_Type_free(&made);
    for (int k = 0; k < nd; k++) {
        MPI_Count n[4];
        int named;
        rz_fuzz_holds(MPI_Type_get_envelope_c(d[k], &n[0], &n[1], &n[2], &n[3], &named) ==
                      MPI_SUCCESS);
        if (named != MPI_COMBINER_NAMED) {
            MPI_Type_free(&d[k]);
        }
    }
    free(exact);
}

/* ---- external32 ---- */

/* Where an element would be if the block of `span` bytes began where its data begin. */
static char *block(size_t span, MPI_Count true_lb, char **at)
{
    char *memory = malloc(span);
    memset(memory, 0, span);
    *at = (char *)((uintptr_t)memory - (uintptr_t)true_lb);
    return memory;
}

/* Whether no two elements of the type share a byte: what is unpacked is packed as it was. */
static bool disjoint(MPI_Datatype type, char *at, size_t size)
{
    bool good = true;
    uint8_t *given = malloc(size), *taken = malloc(size);
    for (int shift = 0; shift <= 8; shift += 8) {
        int in = 0, out = 0;
        for (size_t k = 0; k < size; k++) {
            given[k] = (uint8_t)(k >> shift);
        }
        rz_fuzz_holds(MPI_Unpack(given, (int)size, &in, at, 1, type, MPI_COMM_SELF) == MPI_SUCCESS);
        rz_fuzz_holds(MPI_Pack(at, 1, type, taken, (int)size, &out, MPI_COMM_SELF) == MPI_SUCCESS);
        rz_fuzz_holds(in == (int)size && out == (int)size);
        good = good && (size == 0 || memcmp(given, taken, size) == 0);
    }
    free(given);
    free(taken);
    return good;
}

/* Reads and writes it twice, each time into memory of just its size. */
static void read_and_write(MPI_Datatype type, MPI_Aint bytes, uint8_t *external[3], char *at[2],
                           bool plain)
{
    for (int k = 0; k < 2; k++) {
        MPI_Aint in = 0, out = 0;
        rz_fuzz_holds(MPI_Unpack_external("external32", external[k], bytes, &in, at[k], 1, type) ==
                          MPI_SUCCESS &&
                      in == bytes);
        int error = MPI_Pack_external("external32", at[k], 1, type, external[k + 1], bytes, &out);
        rz_fuzz_holds(!plain || (error == MPI_SUCCESS && out == bytes));
    }
    /* What was read once is read the same ever after. */
    rz_fuzz_holds(!plain || bytes == 0 || memcmp(external[1], external[2], (size_t)bytes) == 0);
}

static void check_external(MPI_Datatype type)
{
    MPI_Count true_lb, true_extent, size;
    MPI_Aint bytes = -1, position = 0;
    MPI_Type_get_true_extent_c(type, &true_lb, &true_extent);
    MPI_Type_size_c(type, &size);
    if (MPI_Pack_external_size("external32", 1, type, &bytes) != MPI_SUCCESS ||
        bytes > ELEMENTS_MAX || size > ELEMENTS_MAX || true_extent < 0 || true_extent > SPAN_MAX ||
        true_lb > FAR_MAX || true_lb < -FAR_MAX) {
        return;
    }
    uint8_t *external[3];
    char *at[2], *memory[2];
    for (int k = 0; k < 3; k++) {
        external[k] = calloc(1, (size_t)bytes);
    }
    for (int k = 0; k < 2; k++) {
        memory[k] = block((size_t)true_extent, true_lb, &at[k]);
    }
    size_t n = (size_t)bytes;
    const uint8_t *from = rz_fuzz_bytes(input, &n);
    if (n > 0) {
        memcpy(external[0], from, n);
    }
    if (bytes > 0) { /* one byte is missing */
        rz_fuzz_holds(MPI_Unpack_external("external32", external[0], bytes - 1, &position, at[0], 1,
                                          type) != MPI_SUCCESS &&
                      position == 0);
    }
    read_and_write(type, bytes, external, at, disjoint(type, at[0], (size_t)size));
    for (int k = 0; k < 3; k++) {
        free(external[k]);
    }
    for (int k = 0; k < 2; k++) {
        free(memory[k]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input bytes = {data, data + size};
    int initialized;
    MPI_Initialized(&initialized);
    if (!initialized) {
        rz_fuzz_holds(MPI_Init(NULL, NULL) == MPI_SUCCESS);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    }
    input = &bytes;
    check_external(basic());
    while (n_types < TYPES_MAX && rz_fuzz_left(input) > 0) {
        MPI_Datatype made = MPI_DATATYPE_NULL;
        if (make(&made) != MPI_SUCCESS) {
            continue;
        }
        rz_fuzz_holds(made != MPI_DATATYPE_NULL && MPI_Type_commit(&made) == MPI_SUCCESS);
        types[n_types++] = made;
        check_contents(made);
        check_external(made);
    }
    while (n_types > 0) {
        MPI_Type_free(&types[--n_types]);
    }
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return number < 16 ? rz_fuzz_seed_noise(number, 64u << number % 4, bytes, max) : 0;
}

/* The first input starts MPI. */
const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_mpi_types",
                                              .input_max = 1024,
                                              .memory_fixed = 64u << 20,
                                              .memory_factor = 16384,
                                              .seed = seed};
