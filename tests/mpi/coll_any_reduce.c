/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks that reduce: the predefined operations on all predefined types they are defined on, and
 * operations of the user on structs with holes. Values are such that the result does not depend on
 * brackets (how floating-point results are bracketed is the matter of coll_reduce); the order of
 * operands is, and 2 by 2 matrices tell it.
 */
#include "coll_any.h"

#include <string.h>

/* ---- Numbers ---- */

enum family {
    INTEGER = 1,
    REAL = 2,
    COMPLEX = 4,
    LOGICAL = 8,
    OCTET = 16,
    PAIR = 32,
    FIELDS = 64, /* FIELD unsigned integers anywhere in a struct: for operations of the user */
};
enum { FIELD = 4 };

/* Bits as an integer; or a floating-point number of this number of bytes. */
enum format { SIGNED, UNSIGNED, FLOATING, LONG_DOUBLE };

struct number {
    MPI_Datatype type;
    enum family family;
    enum format format, index_format;
    int bytes, index_bytes; /* index: of a pair, or the imaginary part */
};

#define INTEGER_OF(type, c)                                                                        \
    {                                                                                              \
        type, INTEGER, (c)-1 < 0 ? SIGNED : UNSIGNED, SIGNED, sizeof(c), 0                         \
    }
#define SIGNED_OF(type, bytes)                                                                     \
    {                                                                                              \
        type, INTEGER, SIGNED, SIGNED, bytes, 0                                                    \
    }
#define UNSIGNED_OF(type, bytes)                                                                   \
    {                                                                                              \
        type, INTEGER, UNSIGNED, SIGNED, bytes, 0                                                  \
    }
#define LOGICAL_OF(type, bytes)                                                                    \
    {                                                                                              \
        type, LOGICAL, UNSIGNED, SIGNED, bytes, 0                                                  \
    }
#define REAL_OF(type, bytes)                                                                       \
    {                                                                                              \
        type, REAL, FLOATING, SIGNED, bytes, 0                                                     \
    }
#define COMPLEX_OF(type, bytes)                                                                    \
    {                                                                                              \
        type, COMPLEX, FLOATING, FLOATING, bytes, bytes                                            \
    }
#define PAIR_OF(type, format, bytes)                                                               \
    {                                                                                              \
        type, PAIR, format, SIGNED, bytes, sizeof(int)                                             \
    }
enum { LONG_DOUBLE_BYTES = sizeof(long double) };

/* What not every compiler has; the library, built by the same one, does not compute with it,
 * either. */
#ifdef __FLT16_MAX__
#define NUMBERS_16 REAL_OF(MPI_REAL2, 2), COMPLEX_OF(MPI_COMPLEX4, 2),
typedef _Float16 half_real;
#else
#define NUMBERS_16
typedef float half_real;
#endif
#ifdef __SIZEOF_FLOAT128__
#define NUMBERS_128 REAL_OF(MPI_REAL16, 16), COMPLEX_OF(MPI_COMPLEX32, 16),
#ifdef __clang__
typedef __float128 quad_real;
#else
typedef _Float128 quad_real;
#endif
#else
#define NUMBERS_128
typedef long double quad_real;
#endif

static const struct number plain[] = {
    INTEGER_OF(MPI_AINT, (MPI_Aint)0),
    INTEGER_OF(MPI_COUNT, (MPI_Count)0),
    INTEGER_OF(MPI_OFFSET, (MPI_Offset)0),
    SIGNED_OF(MPI_SHORT, sizeof(short)),
    SIGNED_OF(MPI_INT, sizeof(int)),
    SIGNED_OF(MPI_LONG, sizeof(long)),
    SIGNED_OF(MPI_LONG_LONG, sizeof(long long)),
    UNSIGNED_OF(MPI_UNSIGNED_SHORT, sizeof(short)),
    UNSIGNED_OF(MPI_UNSIGNED, sizeof(int)),
    UNSIGNED_OF(MPI_UNSIGNED_LONG, sizeof(long)),
    UNSIGNED_OF(MPI_UNSIGNED_LONG_LONG, sizeof(long long)),
    SIGNED_OF(MPI_SIGNED_CHAR, 1),
    UNSIGNED_OF(MPI_UNSIGNED_CHAR, 1),
    SIGNED_OF(MPI_INT8_T, 1),
    SIGNED_OF(MPI_INT16_T, 2),
    SIGNED_OF(MPI_INT32_T, 4),
    SIGNED_OF(MPI_INT64_T, 8),
    UNSIGNED_OF(MPI_UINT8_T, 1),
    UNSIGNED_OF(MPI_UINT16_T, 2),
    UNSIGNED_OF(MPI_UINT32_T, 4),
    UNSIGNED_OF(MPI_UINT64_T, 8),
    SIGNED_OF(MPI_INTEGER, 4),
    SIGNED_OF(MPI_INTEGER1, 1),
    SIGNED_OF(MPI_INTEGER2, 2),
    SIGNED_OF(MPI_INTEGER4, 4),
    SIGNED_OF(MPI_INTEGER8, 8),
    SIGNED_OF(MPI_INTEGER16, 16),
    REAL_OF(MPI_FLOAT, sizeof(float)),
    REAL_OF(MPI_DOUBLE, sizeof(double)),
    {MPI_LONG_DOUBLE, REAL, LONG_DOUBLE, SIGNED, LONG_DOUBLE_BYTES, 0},
    REAL_OF(MPI_REAL, 4),
    REAL_OF(MPI_DOUBLE_PRECISION, 8),
    REAL_OF(MPI_REAL4, 4),
    REAL_OF(MPI_REAL8, 8),
    COMPLEX_OF(MPI_C_FLOAT_COMPLEX, sizeof(float)),
    COMPLEX_OF(MPI_C_DOUBLE_COMPLEX, sizeof(double)),
    {MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, LONG_DOUBLE, LONG_DOUBLE, LONG_DOUBLE_BYTES,
     LONG_DOUBLE_BYTES},
    COMPLEX_OF(MPI_CXX_FLOAT_COMPLEX, sizeof(float)),
    COMPLEX_OF(MPI_CXX_DOUBLE_COMPLEX, sizeof(double)),
    {MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX, LONG_DOUBLE, LONG_DOUBLE, LONG_DOUBLE_BYTES,
     LONG_DOUBLE_BYTES},
    COMPLEX_OF(MPI_COMPLEX, 4),
    COMPLEX_OF(MPI_DOUBLE_COMPLEX, 8),
    COMPLEX_OF(MPI_COMPLEX8, 4),
    COMPLEX_OF(MPI_COMPLEX16, 8),
    LOGICAL_OF(MPI_C_BOOL, 1),
    LOGICAL_OF(MPI_CXX_BOOL, 1),
    LOGICAL_OF(MPI_LOGICAL, 4),
    LOGICAL_OF(MPI_LOGICAL1, 1),
    LOGICAL_OF(MPI_LOGICAL2, 2),
    LOGICAL_OF(MPI_LOGICAL4, 4),
    LOGICAL_OF(MPI_LOGICAL8, 8),
    LOGICAL_OF(MPI_LOGICAL16, 16),
    {MPI_BYTE, OCTET, UNSIGNED, SIGNED, 1, 0},
    PAIR_OF(MPI_FLOAT_INT, FLOATING, sizeof(float)),
    PAIR_OF(MPI_DOUBLE_INT, FLOATING, sizeof(double)),
    PAIR_OF(MPI_LONG_INT, SIGNED, sizeof(long)),
    PAIR_OF(MPI_2INT, SIGNED, sizeof(int)),
    PAIR_OF(MPI_SHORT_INT, SIGNED, sizeof(short)),
    PAIR_OF(MPI_LONG_DOUBLE_INT, LONG_DOUBLE, LONG_DOUBLE_BYTES),
    PAIR_OF(MPI_2INTEGER, SIGNED, 4),
    {MPI_2REAL, PAIR, FLOATING, FLOATING, 4, 4},
    {MPI_2DOUBLE_PRECISION, PAIR, FLOATING, FLOATING, 8, 8},
    NUMBERS_16 NUMBERS_128};
enum { PLAIN = sizeof(plain) / sizeof(plain[0]) };

/* And the pairs that have no name. */
enum { VALUES_OF_PAIRS = 11, NUMBERS_MAX = PLAIN + 2 * VALUES_OF_PAIRS };
static struct number numbers[NUMBERS_MAX];
static int n_numbers;
static const struct number fields = {MPI_DATATYPE_NULL, FIELDS, UNSIGNED, SIGNED, 4, 0};

static void find_pairs(void)
{
    static const struct number values[VALUES_OF_PAIRS] = {
        SIGNED_OF(MPI_INT8_T, 1),
        SIGNED_OF(MPI_INT16_T, 2),
        SIGNED_OF(MPI_INT32_T, 4),
        SIGNED_OF(MPI_INT64_T, 8),
        UNSIGNED_OF(MPI_UINT8_T, 1),
        UNSIGNED_OF(MPI_UINT16_T, 2),
        UNSIGNED_OF(MPI_UINT32_T, 4),
        UNSIGNED_OF(MPI_UINT64_T, 8),
        REAL_OF(MPI_FLOAT, 4),
        REAL_OF(MPI_DOUBLE, 8),
        {MPI_LONG_DOUBLE, REAL, LONG_DOUBLE, SIGNED, LONG_DOUBLE_BYTES, 0},
    };
    memcpy(numbers, plain, sizeof(plain));
    n_numbers = PLAIN;
    for (int i = 0; i < 2 * VALUES_OF_PAIRS; i++) {
        struct number pair = values[i / 2];
        bool wide = i % 2;
        MPI_Type_get_value_index(pair.type, wide ? MPI_INT64_T : MPI_INT32_T, &pair.type);
        pair.family = PAIR;
        pair.index_bytes = wide ? 8 : 4;
        if (pair.type != MPI_DATATYPE_NULL) {
            numbers[n_numbers++] = pair;
        }
    }
    CHECK(n_numbers == NUMBERS_MAX);
}

/* ---- Values ---- */

typedef unsigned __int128 bits_t;

struct value {
    bits_t bits;      /* an integer of any width */
    long real, index; /* floating-point values are small whole numbers */
    uint32_t field[FIELD];
};

static bits_t trim(const struct number *number, bits_t bits)
{
    int spare = 128 - 8 * number->bytes;
    return number->format == SIGNED ? (bits_t)((__int128)(bits << spare) >> spare)
                                    : bits << spare >> spare;
}

static void put_real(unsigned char *at, enum format format, int bytes, long value)
{
    half_real half = (half_real)value;
    float single = (float)value;
    double twice = (double)value;
    long double extended = (long double)value;
    quad_real quad = (quad_real)value;
    const void *from = format == LONG_DOUBLE ? (const void *)&extended
                       : bytes == 2          ? (const void *)&half
                       : bytes == 4          ? (const void *)&single
                       : bytes == 8          ? (const void *)&twice
                                             : (const void *)&quad;
    memcpy(at, from, (size_t)bytes);
}

static void put(const struct task *task, unsigned char *element, struct value value)
{
    const struct number *number = task->number;
    const struct layout *layout = &task->layouts[0];
    bool real = number->format >= FLOATING;
    if (number->family == FIELDS) {
        for (int i = 0; i < FIELD; i++) {
            memcpy(element + layout->at[i], &value.field[i], sizeof(uint32_t));
        }
        return;
    }
    if (real) {
        put_real(element, number->format, number->bytes, value.real);
    } else {
        memcpy(element, &value.bits, (size_t)number->bytes);
    }
    if (number->family == COMPLEX || (number->family == PAIR && number->index_format == FLOATING)) {
        put_real(element + layout->at[1], number->index_format, number->index_bytes, value.index);
    } else if (number->family == PAIR) {
        memcpy(element + layout->at[1], &value.index, (size_t)number->index_bytes);
    }
}

/* ---- Operations ---- */

enum what { SUM, PROD, MIN, MAX, BAND, BOR, BXOR, LAND, LOR, LXOR, MINLOC, MAXLOC, MATRIX, XOR };

struct operation {
    enum what what;
    int families;
    MPI_Op op;
};

static struct operation operations[] = {
    {SUM, INTEGER | REAL | COMPLEX, MPI_SUM},
    {PROD, INTEGER | REAL | COMPLEX, MPI_PROD},
    {MIN, INTEGER | REAL, MPI_MIN},
    {MAX, INTEGER | REAL, MPI_MAX},
    {BAND, INTEGER | OCTET, MPI_BAND},
    {BOR, INTEGER | OCTET, MPI_BOR},
    {BXOR, INTEGER | OCTET, MPI_BXOR},
    {LAND, INTEGER | LOGICAL, MPI_LAND},
    {LOR, INTEGER | LOGICAL, MPI_LOR},
    {LXOR, INTEGER | LOGICAL, MPI_LXOR},
    {MINLOC, PAIR, MPI_MINLOC},
    {MAXLOC, PAIR, MPI_MAXLOC},
    {MATRIX, FIELDS, MPI_OP_NULL}, /* each with int counts, and with those of MPI_Op_create_c */
    {MATRIX, FIELDS, MPI_OP_NULL},
    {XOR, FIELDS, MPI_OP_NULL},
    {XOR, FIELDS, MPI_OP_NULL},
};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]), USERS = OPERATIONS - 4 };

static void combine_fields(enum what what, const uint32_t *a, const uint32_t *b, uint32_t *result)
{
    uint32_t matrix[FIELD] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                              a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
    for (int i = 0; i < FIELD; i++) {
        result[i] = what == MATRIX ? matrix[i] : a[i] ^ b[i];
    }
}

static struct value combine_pairs(enum what what, struct value a, struct value b)
{
    __int128 left = (__int128)a.bits + a.real, right = (__int128)b.bits + b.real;
    if (left == right) {
        a.index = a.index < b.index ? a.index : b.index;
        return a;
    }
    return (left < right) == (what == MINLOC) ? a : b;
}

static struct value combine_reals(const struct number *number, enum what what, struct value a,
                                  struct value b)
{
    struct value value = a;
    if (what == SUM) {
        value.real = a.real + b.real;
        value.index = a.index + b.index;
    } else if (what == PROD) {
        value.real = a.real * b.real - a.index * b.index;
        value.index = a.real * b.index + a.index * b.real;
    } else {
        CHECK(number->family == REAL);
        value.real = (a.real < b.real) == (what == MIN) ? a.real : b.real;
    }
    return value;
}

static bits_t combine_bits(const struct number *number, enum what what, bits_t a, bits_t b)
{
    bool less = number->format == SIGNED ? (__int128)a < (__int128)b : a < b;
    switch (what) {
    case SUM:
        return trim(number, a + b);
    case PROD:
        return trim(number, a * b);
    case MIN:
        return less ? a : b;
    case MAX:
        return less ? b : a;
    case BAND:
        return a & b;
    case BOR:
        return a | b;
    case BXOR:
        return a ^ b;
    case LAND:
        return a != 0 && b != 0;
    case LOR:
        return a != 0 || b != 0;
    default:
        return (a != 0) != (b != 0);
    }
}

static struct value combine(const struct task *task, struct value a, struct value b)
{
    const struct number *number = task->number;
    enum what what = task->operation->what;
    struct value value = {0};
    if (number->family == FIELDS) {
        combine_fields(what, a.field, b.field, value.field);
    } else if (number->family == PAIR) {
        value = combine_pairs(what, a, b);
    } else if (number->family & (REAL | COMPLEX)) {
        value = combine_reals(number, what, a, b);
    } else {
        value.bits = combine_bits(number, what, a.bits, b.bits);
    }
    return value;
}

/* Element k of a rank. */
static struct value value_of(const struct task *task, int rank, int k)
{
    const struct number *number = task->number;
    uint64_t drawn = chance_mix(task->contents ^ (uint64_t)rank << 48, (uint64_t)k);
    struct value value = {.index = number->index_bytes > 0 ? (long)(drawn >> 8 & 3) : 0};
    bool product = task->operation->what == PROD;
    if (number->family == FIELDS) {
        for (int i = 0; i < FIELD; i++) {
            value.field[i] = (uint32_t)(drawn >> 9 * i);
        }
    } else if (number->family == LOGICAL) {
        value.bits = drawn & 1;
    } else if (number->family == PAIR && number->format < FLOATING) {
        value.bits = trim(number, (bits_t)(drawn & 3) - (number->format == SIGNED ? 2 : 0));
    } else if (number->format < FLOATING) {
        bool zero = (drawn & 7) == 0; /* else logical operations rarely meet one */
        value.bits = zero ? 0 : trim(number, (bits_t)drawn << 64 | chance_mix(drawn, 1));
    } else if (number->family == COMPLEX && product) {
        value.real = drawn & 1 ? (long)(drawn & 2) - 1 : 0;
        value.index = drawn & 1 ? 0 : (long)(drawn & 2) - 1;
    } else if (product) {
        value.real = (drawn & 1 && rank < 8 ? 2 : 1) * (drawn & 2 ? 1 : -1);
    } else {
        value.real = (long)(drawn & 7) - 3;
    }
    return value;
}

/* From the left, over the ranks [0, n). */
static struct value fold(const struct task *task, int n, int k)
{
    struct value value = value_of(task, 0, k);
    for (int rank = 1; rank < n; rank++) {
        value = combine(task, value, value_of(task, rank, k));
    }
    return value;
}

/* ---- Operations of the user ---- */

/* Structs in use, for functions that get a handle. */
enum { IN_USE_MAX = 16 };
static const struct layout *in_use[IN_USE_MAX];

static const struct layout *layout_of(MPI_Datatype type)
{
    for (int i = 0; i < IN_USE_MAX; i++) {
        if (in_use[i] && in_use[i]->type == type) {
            return in_use[i];
        }
    }
    CHECK(!"a function of the user is given the datatype of the call");
    return NULL;
}

static void apply(enum what what, const unsigned char *in, unsigned char *inout, MPI_Count n,
                  MPI_Datatype type)
{
    const struct layout *layout = layout_of(type);
    for (MPI_Count k = 0; k < n; k++, in += layout->extent, inout += layout->extent) {
        uint32_t a[FIELD], b[FIELD];
        for (int i = 0; i < FIELD; i++) {
            memcpy(&a[i], in + layout->at[i], sizeof(a[i]));
            memcpy(&b[i], inout + layout->at[i], sizeof(b[i]));
        }
        combine_fields(what, a, b, b);
        for (int i = 0; i < FIELD; i++) {
            memcpy(inout + layout->at[i], &b[i], sizeof(b[i]));
        }
    }
}

static void multiply(void *in, void *inout, int *n, MPI_Datatype *type)
{
    apply(MATRIX, in, inout, *n, *type);
}

static void multiply_c(void *in, void *inout, MPI_Count *n, MPI_Datatype *type)
{
    apply(MATRIX, in, inout, *n, *type);
}

static void differ(void *in, void *inout, int *n, MPI_Datatype *type)
{
    apply(XOR, in, inout, *n, *type);
}

static void differ_c(void *in, void *inout, MPI_Count *n, MPI_Datatype *type)
{
    apply(XOR, in, inout, *n, *type);
}

void reduce_begin(void)
{
    MPI_Op_create(multiply, 0, &operations[USERS].op);
    MPI_Op_create_c(multiply_c, 0, &operations[USERS + 1].op);
    MPI_Op_create(differ, 1, &operations[USERS + 2].op);
    MPI_Op_create_c(differ_c, 1, &operations[USERS + 3].op);
    find_pairs();
}

void reduce_end(void)
{
    for (int i = USERS; i < OPERATIONS; i++) {
        MPI_Op_free(&operations[i].op);
    }
}

/* ---- Drawing ---- */

/* A struct of FIELD integers, the same at all ranks, as the standard requires; or a predefined
 * type. */
static void draw_layout(struct task *task, struct chance *chance)
{
    struct layout *layout = &task->layouts[0];
    const struct number *number = task->number;
    *layout = (struct layout){.type = number->type};
    if (number->family == FIELDS) {
        MPI_Datatype types[FIELD] = {MPI_UINT32_T, MPI_UINT32_T, MPI_UINT32_T, MPI_UINT32_T};
        layout->n = FIELD;
        for (int i = 0; i < FIELD; i++) {
            layout->bytes[i] = sizeof(uint32_t);
        }
        layout_place(layout, types, chance);
        int i = 0;
        while (in_use[i]) {
            i++;
            CHECK(i < IN_USE_MAX);
        }
        in_use[i] = layout;
        return;
    }
    MPI_Aint lb, extent;
    MPI_Type_get_extent(layout->type, &lb, &extent);
    layout->n = number->index_bytes > 0 ? 2 : 1;
    layout->bytes[0] = number->bytes;
    layout->bytes[1] = number->index_bytes;
    int align = number->index_bytes;
    layout->at[1] = align > 0 ? (number->bytes + align - 1) / align * align : 0;
    layout->extent = layout->high = extent;
}

static void draw_number(struct task *task, struct chance *chance)
{
    task->operation = &operations[chance_below(chance, OPERATIONS)];
    if (task->operation->families == FIELDS) {
        task->number = &fields;
        return;
    }
    do {
        task->number = &numbers[chance_below(chance, n_numbers)];
    } while (!(task->number->family & task->operation->families));
}

static int elements_of(const struct task *task, bool result)
{
    bool scatter = task->kind == REDUCE_SCATTER || task->kind == REDUCE_SCATTER_BLOCK;
    int n = 0;
    for (int i = 0; i < task->size && scatter; i++) {
        n += task->counts[i];
    }
    return !scatter ? task->counts[0] : result && !task->in_place ? task->counts[task->rank] : n;
}

static void make_image(struct task *task, struct parts *parts, int n)
{
    const struct layout *layout = &task->layouts[0];
    ptrdiff_t reach = n > 0 ? (n - 1) * layout->extent : 0;
    parts->part[0] = (struct part){.layout = layout, .count = n};
    image_make(&parts->image, layout->low + (reach < 0 ? reach : 0),
               layout->high + (reach > 0 ? reach : 0));
}

static void reduce_draw(struct task *task, struct chance *chance)
{
    static const int edges[] = {8192, 32768, 65536}; /* bytes where ways of doing it change */
    draw_number(task, chance);
    draw_layout(task, chance);
    int bytes = task->number->bytes * (task->number->family == FIELDS ? FIELD : 1);
    int n = chance_length(chance, chance_below(chance, 8) == 0 ? (1 << 18) / bytes : 600);
    if (chance_below(chance, 6) == 0) {
        int edge = edges[chance_below(chance, 3)] * (chance_below(chance, 3) ? 1 : task->size);
        n = edge / bytes - 2 + chance_below(chance, 4);
    }
    bool block = task->kind == REDUCE_SCATTER_BLOCK;
    for (int i = 0; i < task->size; i++) {
        int share = block ? n / task->size : chance_length(chance, 2 * n / task->size);
        task->counts[i] = block || task->kind == REDUCE_SCATTER ? share : n;
        task->out.wide_counts[i] = task->counts[i];
    }
    task->in_place = chance_below(chance, 3) == 0;
    make_image(task, &task->out, elements_of(task, false));
    make_image(task, &task->in, elements_of(task, true));
}

/* ---- One start ---- */

static unsigned char *element_at(const struct parts *parts, int side, int k)
{
    return image_at(&parts->image, side) + k * parts->part[0].layout->extent;
}

static bool has_result(const struct task *task)
{
    return (task->kind != REDUCE || task->rank == task->root) &&
           (task->kind != EXSCAN || task->rank > 0);
}

static bool gives_in_place(const struct task *task)
{
    return task->in_place && task->kind != REDUCE_LOCAL &&
           (task->kind != REDUCE || task->rank == task->root);
}

/* Of how many ranks the result is. */
static int ranks_in(const struct task *task)
{
    return task->kind == SCAN ? task->rank + 1 : task->kind == EXSCAN ? task->rank : task->size;
}

/* MPI_Reduce_local has the values of ranks 0 and 1, wherever it is called. */
static void reduce_fill(struct task *task)
{
    bool local = task->kind == REDUCE_LOCAL, in_place = gives_in_place(task);
    for (int k = 0; k < task->out.part[0].count; k++) {
        put(task, element_at(&task->out, IS, k), value_of(task, local ? 0 : task->rank, k));
    }
    for (int k = 0; k < task->in.part[0].count; k++) {
        int rank = local ? 1 : in_place ? task->rank : RANKS_MAX;
        put(task, element_at(&task->in, IS, k), value_of(task, rank, k));
    }
    image_settle(&task->out.image);
    image_settle(&task->in.image);
    bool scatter = task->kind == REDUCE_SCATTER || task->kind == REDUCE_SCATTER_BLOCK;
    int first = 0, n = scatter ? task->counts[task->rank] : task->counts[0];
    for (int i = 0; i < task->rank && scatter; i++) {
        first += task->counts[i];
    }
    for (int k = 0; k < n && has_result(task); k++) {
        put(task, element_at(&task->in, SHOULD_BE, k),
            fold(task, local ? 2 : ranks_in(task), first + k));
    }
}

static void reduce_call(struct task *t)
{
    const void *from = gives_in_place(t) ? MPI_IN_PLACE : image_at(&t->out.image, IS);
    void *to = image_at(&t->in.image, IS);
    MPI_Datatype type = t->layouts[0].type;
    MPI_Op op = t->operation->op;
    int n = t->counts[0];
    switch (t->kind) {
    case REDUCE:
        to = t->rank == t->root ? to : NULL;
        CALL_SAME(t, Reduce, reduce, (from, to, n, type, op, t->root, t->comm))
        break;
    case ALLREDUCE:
        CALL_SAME(t, Allreduce, allreduce, (from, to, n, type, op, t->comm))
        break;
    case REDUCE_SCATTER:
        CALL(t, Reduce_scatter, reduce_scatter, (from, to, t->counts, type, op, t->comm),
             (from, to, t->out.wide_counts, type, op, t->comm))
        break;
    case REDUCE_SCATTER_BLOCK:
        CALL_SAME(t, Reduce_scatter_block, reduce_scatter_block, (from, to, n, type, op, t->comm))
        break;
    case SCAN:
        CALL_SAME(t, Scan, scan, (from, to, n, type, op, t->comm))
        break;
    case EXSCAN:
        CALL_SAME(t, Exscan, exscan, (from, to, n, type, op, t->comm))
        break;
    default:
        if (t->form == BLOCKING) {
            MPI_Reduce_local(from, to, n, type, op);
        } else {
            MPI_Reduce_local_c(from, to, n, type, op);
        }
    }
}

/* What a floating-point number leaves open: the sign of zero, and what fills up a long double. */
static void wipe_real(unsigned char *is, const unsigned char *should_be, enum format format,
                      int bytes)
{
    enum { EXTENDED_BYTES = 10 };
    bool zero = true;
    int used = format == LONG_DOUBLE && __LDBL_MANT_DIG__ == 64 ? EXTENDED_BYTES : bytes;
    memcpy(is + used, should_be + used, (size_t)(bytes - used));
    for (int i = 0; i < used; i++) {
        zero = zero && (i == used - 1 ? is[i] & 0x7f : is[i]) == 0;
    }
    if (zero) {
        is[used - 1] = 0;
    }
}

/* And MPI_Reduce_scatter in place: what lies behind the result. */
static void reduce_wipe(struct task *task)
{
    const struct number *number = task->number;
    const struct layout *layout = &task->layouts[0];
    for (int k = 0; k < task->in.part[0].count; k++) {
        unsigned char *is = element_at(&task->in, IS, k);
        const unsigned char *should_be = element_at(&task->in, SHOULD_BE, k);
        bool behind = (task->kind == REDUCE_SCATTER || task->kind == REDUCE_SCATTER_BLOCK) &&
                      k >= task->counts[task->rank];
        for (int i = 0; i < layout->n && behind; i++) {
            memcpy(is + layout->at[i], should_be + layout->at[i], (size_t)layout->bytes[i]);
        }
        if (number->format >= FLOATING) {
            wipe_real(is, should_be, number->format, number->bytes);
        }
        if (number->index_format >= FLOATING && number->index_bytes > 0) {
            wipe_real(is + layout->at[1], should_be + layout->at[1], number->index_format,
                      number->index_bytes);
        }
    }
}

static void reduce_end_task(struct task *task)
{
    for (int i = 0; i < IN_USE_MAX; i++) {
        in_use[i] = in_use[i] == &task->layouts[0] ? NULL : in_use[i];
    }
    layout_free(&task->layouts[0]);
    image_free(&task->out.image);
    image_free(&task->in.image);
}

const struct task_ops reduce_ops = {reduce_draw, reduce_fill, reduce_call, reduce_wipe,
                                    reduce_end_task};
