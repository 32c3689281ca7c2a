/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints what a random datatype was made of, and where its data lies: compiled with two MPI
 * libraries, both must print the same. Argument: the seed. Constants are printed by name, for
 * libraries have different ones; large-count constructors are not used.
 */
#include "type_map.h"

static const char *combiner_name(int combiner)
{
    const struct {
        int combiner;
        const char *name;
    } names[] = {
        {MPI_COMBINER_NAMED, "named"},
        {MPI_COMBINER_DUP, "dup"},
        {MPI_COMBINER_CONTIGUOUS, "contiguous"},
        {MPI_COMBINER_VECTOR, "vector"},
        {MPI_COMBINER_HVECTOR, "hvector"},
        {MPI_COMBINER_INDEXED, "indexed"},
        {MPI_COMBINER_HINDEXED, "hindexed"},
        {MPI_COMBINER_INDEXED_BLOCK, "indexed_block"},
        {MPI_COMBINER_HINDEXED_BLOCK, "hindexed_block"},
        {MPI_COMBINER_STRUCT, "struct"},
        {MPI_COMBINER_SUBARRAY, "subarray"},
        {MPI_COMBINER_DARRAY, "darray"},
        {MPI_COMBINER_RESIZED, "resized"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].combiner == combiner) {
            return names[i].name;
        }
    }
    return "?";
}

static void print_order(int order)
{
    printf(" %s", order == MPI_ORDER_C ? "C" : order == MPI_ORDER_FORTRAN ? "Fortran" : "?");
}

/* Integer i of a darray of so many dimensions. */
static void print_darray_integer(int ndims, MPI_Count i, int value)
{
    if (i == 3 + 4 * ndims) {
        print_order(value);
    } else if (i >= 3 + ndims && i < 3 + 2 * ndims) {
        printf(" %s", value == MPI_DISTRIBUTE_NONE     ? "none"
                      : value == MPI_DISTRIBUTE_BLOCK  ? "block"
                      : value == MPI_DISTRIBUTE_CYCLIC ? "cyclic"
                                                       : "?");
    } else if (i >= 3 + 2 * ndims && i < 3 + 3 * ndims && value == MPI_DISTRIBUTE_DFLT_DARG) {
        printf(" default");
    } else {
        printf(" %d", value);
    }
}

static void print_type(MPI_Datatype type, int depth)
{
    struct recipe recipe;
    int size;
    recipe_get(type, &recipe);
    MPI_Type_size(type, &size);
    printf("%*s%s of %d bytes:", 2 * depth, "", combiner_name(recipe.combiner), size);
    for (MPI_Count i = 0; i < recipe.n_integers; i++) {
        if (recipe.combiner == MPI_COMBINER_DARRAY) {
            print_darray_integer(recipe.integers[2], i, recipe.integers[i]);
        } else if (recipe.combiner == MPI_COMBINER_SUBARRAY && i == recipe.n_integers - 1) {
            print_order(recipe.integers[i]);
        } else {
            printf(" %d", recipe.integers[i]);
        }
    }
    for (MPI_Count i = 0; i < recipe.n_addresses; i++) {
        printf(" @%ld", (long)recipe.addresses[i]);
    }
    printf("\n");
    for (MPI_Count i = 0; i < recipe.n_types; i++) {
        print_type(recipe.types[i], depth + 1);
    }
    recipe_free(&recipe);
}

/* By what MPI_Pack takes: where each packed byte came from. */
static void print_places(MPI_Datatype type)
{
    enum { REACH = 1 << 20 };
    static uint32_t memory[REACH];
    MPI_Aint true_lb, true_extent;
    int size, position = 0;
    MPI_Type_size(type, &size);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    if (size == 0 || true_extent > 1 << 16) {
        return;
    }
    unsigned char *bytes = malloc((size_t)size), *user = (unsigned char *)memory;
    printf("places:");
    for (int half = 0; half < 2; half++) { /* low, then high byte of each place */
        for (MPI_Aint i = 0; i < true_extent; i++) {
            user[i] = (unsigned char)(i >> (8 * half));
        }
        position = 0;
        MPI_Pack(user - true_lb, 1, type, bytes, size, &position, MPI_COMM_SELF);
        for (int i = 0; i < size; i++) {
            printf("%s%02x", i % 40 == 0 ? "\n" : "", bytes[i]);
        }
    }
    printf("\n");
    free(bytes);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int seed = argc > 1 ? atoi(argv[1]) : 1;
    struct dice dice = {UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(seed + 1)};
    type_draw_large = false;
    MPI_Datatype type = type_draw(&dice, 1 + dice_below(&dice, 4));
    MPI_Aint lb, extent;
    MPI_Type_get_extent(type, &lb, &extent);
    printf("%d: lb %ld, extent %ld\n", seed, (long)lb, (long)extent);
    print_type(type, 1);
    MPI_Type_commit(&type);
    print_places(type);
    type_drop(&type);
    MPI_Finalize();
    return 0;
}
