/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Predefined types by their content: MPI_Type_match_size, MPI_Type_get_value_index, and the types
 * of Fortran's kinds, MPI_Type_create_f90_*. The kinds are those of compilers for x86-64 and
 * AArch64: SELECTED_REAL_KIND and SELECTED_INT_KIND choose the smallest sufficient one.
 */
#include "mpi/type/number.h"
#include "mpi/type/type_recipe.h"

#include <float.h>
#include <stdlib.h>

#include <mpi-ext.h>

/* ---- MPI_Type_match_size ---- */

int rzm_type_match_size(int typeclass, int size, struct rz_datatype **datatype)
{
    static const struct {
        int typeclass, size;
        uint16_t handle;
    } types[] = {
        {MPI_TYPECLASS_INTEGER, 1, 0x2c1},  {MPI_TYPECLASS_INTEGER, 2, 0x2c9},
        {MPI_TYPECLASS_INTEGER, 4, 0x2d1},  {MPI_TYPECLASS_INTEGER, 8, 0x2d9},
        {MPI_TYPECLASS_INTEGER, 16, 0x2e1}, {MPI_TYPECLASS_REAL, 2, 0x2ca},
        {MPI_TYPECLASS_REAL, 4, 0x2d2},     {MPI_TYPECLASS_REAL, 8, 0x2da},
        {MPI_TYPECLASS_REAL, 16, 0x2e2},    {MPI_TYPECLASS_COMPLEX, 4, 0x2d3},
        {MPI_TYPECLASS_COMPLEX, 8, 0x2db},  {MPI_TYPECLASS_COMPLEX, 16, 0x2e3},
        {MPI_TYPECLASS_COMPLEX, 32, 0x2eb}, {MPIX_TYPECLASS_LOGICAL, 1, 0x2c0},
        {MPIX_TYPECLASS_LOGICAL, 2, 0x2c8}, {MPIX_TYPECLASS_LOGICAL, 4, 0x2d0},
        {MPIX_TYPECLASS_LOGICAL, 8, 0x2d8}, {MPIX_TYPECLASS_LOGICAL, 16, 0x2e0},
    };
    bool class_known = false;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        class_known |= types[i].typeclass == typeclass;
        if (types[i].typeclass == typeclass && types[i].size == size) {
            *datatype = rz_datatype_predefined(types[i].handle);
            return MPI_SUCCESS;
        }
    }
    return class_known ? rzm_error(MPI_ERR_ARG, "size is %d: typeclass has no such type", size)
                       : rzm_error(MPI_ERR_ARG, "typeclass is %d, no MPI_TYPECLASS_*", typeclass);
}

/* ---- Predefined types without a number in the ABI ---- */

/* Types that were made once are returned again: equal recipes give the same handle. They are never
 * freed. */
struct kept {
    struct kept *next;
    struct rz_datatype *type;
};
static struct kept *kept_first;

static bool same_recipe(const struct rz_recipe *a, const struct rz_recipe *b)
{
    return a->combiner == b->combiner && a->n_integers == b->n_integers &&
           a->n_types == b->n_types &&
           memcmp(a->integers, b->integers, (size_t)a->n_integers * sizeof(a->integers[0])) == 0 &&
           memcmp(a->types, b->types, (size_t)a->n_types * sizeof(a->types[0])) == 0;
}

/* As rz_datatype_done, but returns the type that was made before with an equal recipe, if there is
 * one. */
static int keep(int error, struct rz_recipe *recipe, struct rz_datatype *const *built,
                enum rz_number number, struct rz_datatype **newtype)
{
    struct rz_datatype *made = NULL;
    error = rz_datatype_done(error, recipe, built, &made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (const struct kept *kept = kept_first; kept; kept = kept->next) {
        if (same_recipe(kept->type->recipe, made->recipe)) {
            rz_datatype_release(made);
            *newtype = kept->type;
            return MPI_SUCCESS;
        }
    }
    struct kept *kept = malloc(sizeof(*kept));
    if (!kept) {
        rz_datatype_release(made);
        return MPI_ERR_NO_MEM;
    }
    made->object.flags = RZ_DATATYPE_COMMITTED | RZ_DATATYPE_PERMANENT;
    made->number = (uint8_t)number;
    *kept = (struct kept){.next = kept_first, .type = made};
    kept_first = kept;
    *newtype = made;
    return MPI_SUCCESS;
}

/* ---- MPI_Type_get_value_index ---- */

static struct rz_datatype *named_pair(unsigned value, unsigned index)
{
    static const struct {
        uint16_t value, index, pair;
    } pairs[] = {
        {0x210, 0x209, 0x228}, /* MPI_FLOAT_INT */
        {0x214, 0x209, 0x229}, /* MPI_DOUBLE_INT */
        {0x20a, 0x209, 0x22a}, /* MPI_LONG_INT */
        {0x209, 0x209, 0x22b}, /* MPI_2INT */
        {0x208, 0x209, 0x22c}, /* MPI_SHORT_INT */
        {0x220, 0x209, 0x22d}, /* MPI_LONG_DOUBLE_INT */
        {0x21a, 0x21a, 0x230}, /* MPI_2REAL */
        {0x21c, 0x21c, 0x231}, /* MPI_2DOUBLE_PRECISION */
        {0x219, 0x219, 0x232}, /* MPI_2INTEGER */
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (pairs[i].value == value && pairs[i].index == index) {
            return rz_datatype_predefined(pairs[i].pair);
        }
    }
    return NULL;
}

/* The pairs that reductions support: their contents, and the position of the index. */
#define UNNAMED(kind, pair, value_number, value_type, index_number, index_type)                    \
    {value_number, index_number, RZ_NUMBER_##kind, offsetof(pair, index)},
static const struct {
    uint8_t value, index, number, index_at;
} unnamed_pairs[] = {RZ_UNNAMED_PAIRS(UNNAMED)};

static int pair_of(struct rz_datatype *value_type, struct rz_datatype *index_type,
                   MPI_Count index_at, enum rz_number number, struct rz_datatype **pair_type)
{
    struct rz_block blocks[2] = {
        {.length = 1, .repeat = 1, .type = value_type},
        {.displacement = index_at, .length = 1, .repeat = 1, .type = index_type}};
    struct rz_recipe_shape shape = {.combiner = MPI_COMBINER_VALUE_INDEX, .types = 2};
    struct rz_recipe *recipe = rz_recipe_new(&shape);
    struct rz_datatype *made = NULL;
    rz_recipe_type(recipe, value_type);
    rz_recipe_type(recipe, index_type);
    return keep(rz_datatype_build(blocks, 2, &made), recipe, &made, number, pair_type);
}

int rzm_type_get_value_index(struct rz_datatype *value_type, struct rz_datatype *index_type,
                             struct rz_datatype **pair_type)
{
    if (!rz_datatype_is_permanent(value_type)) {
        return rzm_error(MPI_ERR_TYPE, "value_type is not predefined");
    }
    if (!rz_datatype_is_permanent(index_type)) {
        return rzm_error(MPI_ERR_TYPE, "index_type is not predefined");
    }
    *pair_type = named_pair(value_type->object.predefined, index_type->object.predefined);
    size_t i = 0, n = sizeof(unnamed_pairs) / sizeof(unnamed_pairs[0]);
    while (i < n && (unnamed_pairs[i].value != rz_number_of(value_type) ||
                     unnamed_pairs[i].index != rz_number_of(index_type))) {
        i++;
    }
    if (*pair_type || i == n) { /* NULL gives MPI_DATATYPE_NULL: there is no such pair */
        return MPI_SUCCESS;
    }
    return pair_of(value_type, index_type, unnamed_pairs[i].index_at,
                   (enum rz_number)unnamed_pairs[i].number, pair_type);
}

/* ---- MPI_Type_create_f90_ ---- */

/* One kind of number: decimal digits, decimal exponent range (of reals), its type, and the complex
 * type. */
struct kind {
    int digits, range;
    uint16_t type, complex;
};

static const struct kind integers[] = {
    {2, 0, 0x2c1, 0}, {4, 0, 0x2c9, 0}, {9, 0, 0x2d1, 0}, {18, 0, 0x2d9, 0}, {38, 0, 0x2e1, 0},
};

static const struct kind reals[] = {
    {FLT_DIG, FLT_MAX_10_EXP - 1, 0x2d2, 0x2db},
    {DBL_DIG, DBL_MAX_10_EXP - 1, 0x2da, 0x2e3},
    {LDBL_DIG, LDBL_MAX_10_EXP - 1, 0x220, 0x224}, /* the 10-byte kind of x86 */
    {33, 4931, 0x2e2, 0x2eb},
};

static int f90_get(const struct rz_recipe_shape *shape, const int *arguments, unsigned handle,
                   struct rz_datatype **newtype)
{
    struct rz_datatype *made = NULL, *base = rz_datatype_predefined(handle);
    struct rz_recipe *recipe = rz_recipe_new(shape);
    rz_recipe_integers(recipe, arguments, shape->integers);
    return keep(rz_datatype_clone(base, &made), recipe, &made, rz_number_of(base), newtype);
}

static int bad_f90(const char *name, int value)
{
    return rzm_error(MPI_ERR_ARG, "%s is %d: there is no such kind of number", name, value);
}

/* The smallest kind of real for p and r, of which one may be MPI_UNDEFINED. */
static int find_real(int p, int r, const struct kind **kind)
{
    if (p == MPI_UNDEFINED && r == MPI_UNDEFINED) {
        return rzm_error(MPI_ERR_ARG, "p and r are both MPI_UNDEFINED");
    }
    if (p < 0 && p != MPI_UNDEFINED) {
        return bad_f90("p", p);
    }
    if (r < 0 && r != MPI_UNDEFINED) {
        return bad_f90("r", r);
    }
    size_t i = 0, n = sizeof(reals) / sizeof(reals[0]);
    while (i < n && (p > reals[i].digits || r > reals[i].range)) {
        i++;
    }
    if (i == n) {
        return p > reals[n - 1].digits ? bad_f90("p", p) : bad_f90("r", r);
    }
    *kind = &reals[i];
    return MPI_SUCCESS;
}

int rzm_type_create_f90_real(int p, int r, struct rz_datatype **newtype)
{
    struct rz_recipe_shape shape = {.combiner = MPI_COMBINER_F90_REAL, .integers = 2};
    const struct kind *kind = NULL;
    int error = find_real(p, r, &kind);
    return error != MPI_SUCCESS ? error : f90_get(&shape, (int[]){p, r}, kind->type, newtype);
}

int rzm_type_create_f90_complex(int p, int r, struct rz_datatype **newtype)
{
    struct rz_recipe_shape shape = {.combiner = MPI_COMBINER_F90_COMPLEX, .integers = 2};
    const struct kind *kind = NULL;
    int error = find_real(p, r, &kind);
    return error != MPI_SUCCESS ? error : f90_get(&shape, (int[]){p, r}, kind->complex, newtype);
}

int rzm_type_create_f90_integer(int r, struct rz_datatype **newtype)
{
    struct rz_recipe_shape shape = {.combiner = MPI_COMBINER_F90_INTEGER, .integers = 1};
    size_t i = 0, n = sizeof(integers) / sizeof(integers[0]);
    while (i < n && r > integers[i].digits) {
        i++;
    }
    return i == n || r < 0 ? bad_f90("r", r) : f90_get(&shape, &r, integers[i].type, newtype);
}
