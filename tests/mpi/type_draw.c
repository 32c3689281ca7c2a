/* SPDX-License-Identifier: BSD-3-Clause */
/* Random datatypes, and making one again from its contents. */
#include "type_map.h"

/* Calls the large-count variant of a constructor where there is one. */
#if MPI_VERSION >= 4
#define LARGE(call) call
#else
#define LARGE(call) CHECK(false)
#endif

enum { SIZE_MAX_BYTES = 200, LIST_MAX = 5, DIMS = 3 };

bool type_draw_large = MPI_VERSION >= 4;

int dice_below(struct dice *dice, int bound)
{
    dice->state ^= dice->state << 13;
    dice->state ^= dice->state >> 7;
    dice->state ^= dice->state << 17;
    return (int)((dice->state * UINT64_C(0x2545f4914f6cdd1d) >> 33) % (unsigned)bound);
}

/* ---- Constructors by combiner: what a recipe says is what is called ---- */

/* int arrays for the small variants, wide ones for the large */
struct arrays {
    int narrow[3][64];
    MPI_Aint places[64];
    MPI_Count wide[3][64];
};

static MPI_Datatype build_regular(struct reader *in, MPI_Datatype old)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    bool large = in->recipe->large;
    int combiner = in->recipe->combiner;
    MPI_Count count = read_count(in);
    if (combiner == MPI_COMBINER_CONTIGUOUS) {
        if (large) {
            LARGE(MPI_Type_contiguous_c(count, old, &type));
        } else {
            MPI_Type_contiguous((int)count, old, &type);
        }
        return type;
    }
    MPI_Count length = read_count(in);
    if (combiner == MPI_COMBINER_VECTOR) {
        MPI_Count stride = read_count(in);
        if (large) {
            LARGE(MPI_Type_vector_c(count, length, stride, old, &type));
        } else {
            MPI_Type_vector((int)count, (int)length, (int)stride, old, &type);
        }
        return type;
    }
    MPI_Count stride = read_address(in);
    if (large) {
        LARGE(MPI_Type_create_hvector_c(count, length, stride, old, &type));
    } else {
        MPI_Type_create_hvector((int)count, (int)length, (MPI_Aint)stride, old, &type);
    }
    return type;
}

static void read_array(struct reader *in, struct arrays *arrays, int which, MPI_Count n)
{
    CHECK(n <= 64);
    for (MPI_Count i = 0; i < n; i++) {
        arrays->wide[which][i] = read_count(in);
        arrays->narrow[which][i] = (int)arrays->wide[which][i];
    }
}

static void read_places(struct reader *in, struct arrays *arrays, MPI_Count n)
{
    for (MPI_Count i = 0; i < n; i++) {
        arrays->wide[1][i] = read_address(in);
        arrays->places[i] = (MPI_Aint)arrays->wide[1][i];
    }
}

static MPI_Datatype build_listed_small(int combiner, int n, int length, struct arrays *a,
                                       const MPI_Datatype *types)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (combiner == MPI_COMBINER_INDEXED) {
        MPI_Type_indexed(n, a->narrow[0], a->narrow[1], types[0], &type);
    } else if (combiner == MPI_COMBINER_HINDEXED) {
        MPI_Type_create_hindexed(n, a->narrow[0], a->places, types[0], &type);
    } else if (combiner == MPI_COMBINER_INDEXED_BLOCK) {
        MPI_Type_create_indexed_block(n, length, a->narrow[1], types[0], &type);
    } else if (combiner == MPI_COMBINER_HINDEXED_BLOCK) {
        MPI_Type_create_hindexed_block(n, length, a->places, types[0], &type);
    } else {
        MPI_Type_create_struct(n, a->narrow[0], a->places, types, &type);
    }
    return type;
}

static MPI_Datatype build_listed_large(int combiner, MPI_Count n, MPI_Count length,
                                       struct arrays *a, const MPI_Datatype *types)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    (void)n, (void)length, (void)a, (void)types;
    if (combiner == MPI_COMBINER_INDEXED) {
        LARGE(MPI_Type_indexed_c(n, a->wide[0], a->wide[1], types[0], &type));
    } else if (combiner == MPI_COMBINER_HINDEXED) {
        LARGE(MPI_Type_create_hindexed_c(n, a->wide[0], a->wide[1], types[0], &type));
    } else if (combiner == MPI_COMBINER_INDEXED_BLOCK) {
        LARGE(MPI_Type_create_indexed_block_c(n, length, a->wide[1], types[0], &type));
    } else if (combiner == MPI_COMBINER_HINDEXED_BLOCK) {
        LARGE(MPI_Type_create_hindexed_block_c(n, length, a->wide[1], types[0], &type));
    } else {
        LARGE(MPI_Type_create_struct_c(n, a->wide[0], a->wide[1], types, &type));
    }
    return type;
}

static MPI_Datatype build_listed(struct reader *in, const MPI_Datatype *types)
{
    struct arrays arrays = {0};
    int combiner = in->recipe->combiner;
    MPI_Count n = read_count(in), length = 0;
    if (combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK) {
        length = read_count(in);
    } else {
        read_array(in, &arrays, 0, n);
    }
    if (combiner == MPI_COMBINER_INDEXED || combiner == MPI_COMBINER_INDEXED_BLOCK) {
        read_array(in, &arrays, 1, n);
    } else {
        read_places(in, &arrays, n);
    }
    return in->recipe->large ? build_listed_large(combiner, n, length, &arrays, types)
                             : build_listed_small(combiner, (int)n, (int)length, &arrays, types);
}

static MPI_Datatype build_subarray(struct reader *in, MPI_Datatype old)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    struct arrays a = {0};
    int ndims = read_integer(in);
    for (int i = 0; i < 3; i++) {
        read_array(in, &a, i, ndims);
    }
    int order = read_integer(in);
    if (in->recipe->large) {
        LARGE(
            MPI_Type_create_subarray_c(ndims, a.wide[0], a.wide[1], a.wide[2], order, old, &type));
    } else {
        MPI_Type_create_subarray(ndims, a.narrow[0], a.narrow[1], a.narrow[2], order, old, &type);
    }
    return type;
}

static MPI_Datatype build_darray(struct reader *in, MPI_Datatype old)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    struct arrays a = {0};
    int lists[3][DIMS];
    int size = read_integer(in), rank = read_integer(in), ndims = read_integer(in);
    read_array(in, &a, 0, ndims);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < ndims; i++) {
            lists[k][i] = read_integer(in);
        }
    }
    int order = read_integer(in);
    if (in->recipe->large) {
        LARGE(MPI_Type_create_darray_c(size, rank, ndims, a.wide[0], lists[0], lists[1], lists[2],
                                       order, old, &type));
    } else {
        MPI_Type_create_darray(size, rank, ndims, a.narrow[0], lists[0], lists[1], lists[2], order,
                               old, &type);
    }
    return type;
}

static MPI_Datatype build_resized(struct reader *in, MPI_Datatype old)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Count lb = read_address(in), extent = read_address(in);
    if (in->recipe->large) {
        LARGE(MPI_Type_create_resized_c(old, lb, extent, &type));
    } else {
        MPI_Type_create_resized(old, (MPI_Aint)lb, (MPI_Aint)extent, &type);
    }
    return type;
}

static MPI_Datatype build(const struct recipe *recipe, const MPI_Datatype *types)
{
    struct reader in = {.recipe = recipe};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int combiner = recipe->combiner;
    if (combiner == MPI_COMBINER_DUP) {
        MPI_Type_dup(types[0], &type);
        return type;
    }
    if (combiner == MPI_COMBINER_CONTIGUOUS || combiner == MPI_COMBINER_VECTOR ||
        combiner == MPI_COMBINER_HVECTOR) {
        return build_regular(&in, types[0]);
    }
    return combiner == MPI_COMBINER_SUBARRAY  ? build_subarray(&in, types[0])
           : combiner == MPI_COMBINER_DARRAY  ? build_darray(&in, types[0])
           : combiner == MPI_COMBINER_RESIZED ? build_resized(&in, types[0])
                                              : build_listed(&in, types);
}

MPI_Datatype type_rebuild(MPI_Datatype type)
{
    struct recipe recipe;
    recipe_get(type, &recipe);
    if (recipe.combiner == MPI_COMBINER_NAMED) {
        return type;
    }
    MPI_Datatype parts[64], again;
    CHECK(recipe.n_types <= 64);
    for (MPI_Count i = 0; i < recipe.n_types; i++) {
        parts[i] = type_rebuild(recipe.types[i]);
    }
    again = build(&recipe, parts);
    for (MPI_Count i = 0; i < recipe.n_types; i++) {
        type_drop(&parts[i]);
    }
    recipe_free(&recipe);
    return again;
}

/* ---- Random recipes ---- */

struct writer {
    struct recipe recipe;
    int integers[64];
    MPI_Aint addresses[64];
    MPI_Count counts[64];
};

static void write_integer(struct writer *out, int value)
{
    out->integers[out->recipe.n_integers++] = value;
}

static void write_count(struct writer *out, int value)
{
    if (out->recipe.large) {
        out->counts[out->recipe.n_counts++] = value;
    } else {
        write_integer(out, value);
    }
}

static void write_address(struct writer *out, int value)
{
    if (out->recipe.large) {
        write_count(out, value);
    } else {
        out->addresses[out->recipe.n_addresses++] = value;
    }
}

/* Bytes at places: anywhere, or in one of three lists each block directly behind the last one. */
static void draw_places(struct dice *dice, struct writer *out, const int *lengths,
                        const MPI_Datatype *parts, int n)
{
    bool in_a_row = dice_below(dice, 3) == 0;
    int next = dice_below(dice, 20) - 4;
    for (int i = 0; i < n; i++) {
        int size;
        MPI_Type_size(parts[out->recipe.combiner == MPI_COMBINER_STRUCT ? i : 0], &size);
        write_address(out, in_a_row ? next : dice_below(dice, 300) - 80);
        next += lengths[i] * size;
    }
}

static void draw_listed(struct dice *dice, struct writer *out, const MPI_Datatype *parts, int n)
{
    int lengths[LIST_MAX];
    int combiner = out->recipe.combiner;
    bool in_extents = combiner == MPI_COMBINER_INDEXED || combiner == MPI_COMBINER_INDEXED_BLOCK;
    write_count(out, n);
    if (combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK) {
        int length = dice_below(dice, 3);
        write_count(out, length);
        for (int i = 0; i < n; i++) {
            lengths[i] = length;
        }
    } else {
        for (int i = 0; i < n; i++) {
            lengths[i] = dice_below(dice, 3);
            write_count(out, lengths[i]);
        }
    }
    for (int i = 0; i < n && in_extents; i++) {
        write_count(out, dice_below(dice, 14) - 4);
    }
    if (!in_extents) {
        draw_places(dice, out, lengths, parts, n);
    }
}

static void draw_subarray(struct dice *dice, struct writer *out)
{
    int ndims = 1 + dice_below(dice, DIMS), sizes[DIMS], subs[DIMS];
    write_integer(out, ndims);
    for (int i = 0; i < ndims; i++) {
        sizes[i] = 1 + dice_below(dice, 4);
        write_count(out, sizes[i]);
    }
    for (int i = 0; i < ndims; i++) {
        subs[i] = 1 + dice_below(dice, sizes[i]);
        write_count(out, subs[i]);
    }
    for (int i = 0; i < ndims; i++) {
        write_count(out, dice_below(dice, sizes[i] - subs[i] + 1));
    }
    write_integer(out, dice_below(dice, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN);
}

static void draw_darray(struct dice *dice, struct writer *out)
{
    int ndims = 1 + dice_below(dice, DIMS), size = 1;
    int sizes[DIMS], distribs[DIMS], dargs[DIMS], places[DIMS];
    for (int i = 0; i < ndims; i++) {
        static const int bound[DIMS] = {17, 7, 5};
        int kind = dice_below(dice, 4);
        sizes[i] = 1 + dice_below(dice, bound[ndims - 1]);
        places[i] = kind == 0 ? 1 : 1 + dice_below(dice, 4);
        distribs[i] = kind == 0   ? MPI_DISTRIBUTE_NONE
                      : kind == 1 ? MPI_DISTRIBUTE_BLOCK
                                  : MPI_DISTRIBUTE_CYCLIC;
        int least = kind == 1 ? (sizes[i] + places[i] - 1) / places[i] : 1;
        dargs[i] = kind == 0 || dice_below(dice, 3) == 0 ? MPI_DISTRIBUTE_DFLT_DARG
                                                         : least + dice_below(dice, 4);
        size *= places[i];
    }
    write_integer(out, size);
    write_integer(out, dice_below(dice, size));
    write_integer(out, ndims);
    for (int i = 0; i < ndims; i++) {
        write_count(out, sizes[i]);
    }
    const int *lists[3] = {distribs, dargs, places};
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < ndims; i++) {
            write_integer(out, lists[k][i]);
        }
    }
    write_integer(out, dice_below(dice, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN);
}

static void draw_arguments(struct dice *dice, struct writer *out, const MPI_Datatype *parts)
{
    int combiner = out->recipe.combiner;
    if (combiner == MPI_COMBINER_CONTIGUOUS) {
        write_count(out, dice_below(dice, 5));
    } else if (combiner == MPI_COMBINER_VECTOR || combiner == MPI_COMBINER_HVECTOR) {
        write_count(out, dice_below(dice, 4));
        write_count(out, dice_below(dice, 4));
        if (combiner == MPI_COMBINER_VECTOR) {
            write_count(out, dice_below(dice, 9) - 3);
        } else {
            write_address(out, dice_below(dice, 200) - 60);
        }
    } else if (combiner == MPI_COMBINER_SUBARRAY) {
        draw_subarray(dice, out);
    } else if (combiner == MPI_COMBINER_DARRAY) {
        draw_darray(dice, out);
    } else if (combiner == MPI_COMBINER_RESIZED) {
        write_address(out, dice_below(dice, 60) - 30);
        write_address(out, dice_below(dice, 160) - 20);
    } else if (combiner != MPI_COMBINER_DUP) {
        draw_listed(dice, out, parts,
                    combiner == MPI_COMBINER_STRUCT ? (int)out->recipe.n_types
                                                    : dice_below(dice, LIST_MAX));
    }
}

MPI_Datatype type_draw(struct dice *dice, int depth)
{
    const int combiners[] = {
        MPI_COMBINER_DUP,      MPI_COMBINER_RESIZED,       MPI_COMBINER_CONTIGUOUS,
        MPI_COMBINER_VECTOR,   MPI_COMBINER_HVECTOR,       MPI_COMBINER_INDEXED,
        MPI_COMBINER_HINDEXED, MPI_COMBINER_INDEXED_BLOCK, MPI_COMBINER_HINDEXED_BLOCK,
        MPI_COMBINER_STRUCT,   MPI_COMBINER_STRUCT,        MPI_COMBINER_SUBARRAY,
        MPI_COMBINER_DARRAY,
    };
    bool large = dice_below(dice, 3) == 0;
    struct writer out = {.recipe = {.large = large && type_draw_large}};
    MPI_Datatype parts[LIST_MAX], type;
    int n_types = 1, size;
    if (depth == 0) {
        return type_leaf(dice_below(dice, TYPE_LEAVES));
    }
    parts[0] = type_draw(dice, depth - 1 - (depth > 1 ? dice_below(dice, 2) : 0));
    MPI_Type_size(parts[0], &size);
    int kinds = size > SIZE_MAX_BYTES ? 2 : (int)(sizeof(combiners) / sizeof(combiners[0]));
    out.recipe.combiner = combiners[dice_below(dice, kinds)];
    if (out.recipe.combiner == MPI_COMBINER_STRUCT) {
        n_types = 1 + dice_below(dice, LIST_MAX - 1);
        for (int i = 1; i < n_types; i++) {
            parts[i] = type_draw(dice, dice_below(dice, depth));
        }
    }
    out.recipe.n_types = n_types;
    draw_arguments(dice, &out, parts);
    out.recipe.integers = out.integers;
    out.recipe.addresses = out.addresses;
    out.recipe.counts = out.counts;
    type = build(&out.recipe, parts);
    for (int i = 0; i < n_types; i++) {
        type_drop(&parts[i]);
    }
    return type;
}
