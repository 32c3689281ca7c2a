/* SPDX-License-Identifier: BSD-3-Clause */
/* Type maps of datatypes, by MPI's own calls, and random datatypes. */
#include "type_map.h"

#include <string.h>

/* ---- Maps ---- */

void map_free(struct map *map)
{
    free(map->entries);
    *map = (struct map){0};
}

static void map_add(struct map *map, struct map_entry entry)
{
    if (map->n == map->max) {
        map->max = map->max == 0 ? 16 : 2 * map->max;
        map->entries = realloc(map->entries, (size_t)map->max * sizeof(entry));
        CHECK(map->entries != NULL);
    }
    map->entries[map->n++] = entry;
}

static void map_mark(struct map *map, MPI_Aint lb, MPI_Aint ub)
{
    map->lb_mark = !map->marked || lb < map->lb_mark ? lb : map->lb_mark;
    map->ub_mark = !map->marked || ub > map->ub_mark ? ub : map->ub_mark;
    map->marked = true;
}

static void map_append(struct map *map, const struct map *part, MPI_Aint at)
{
    for (int i = 0; i < part->n; i++) {
        struct map_entry entry = part->entries[i];
        entry.at += at;
        map_add(map, entry);
    }
    if (part->marked) {
        map_mark(map, part->lb_mark + at, part->ub_mark + at);
    }
}

/* length copies, one after the other. */
static void map_append_block(struct map *map, const struct map *part, MPI_Aint at, MPI_Aint length)
{
    for (MPI_Aint i = 0; i < length; i++) {
        map_append(map, part, at + i * map_extent(part));
    }
}

MPI_Aint map_size(const struct map *map)
{
    MPI_Aint size = 0;
    for (int i = 0; i < map->n; i++) {
        size += map->entries[i].bytes;
    }
    return size;
}

MPI_Aint map_true_lb(const struct map *map)
{
    MPI_Aint low = map->n > 0 ? map->entries[0].at : 0;
    for (int i = 0; i < map->n; i++) {
        low = map->entries[i].at < low ? map->entries[i].at : low;
    }
    return low;
}

MPI_Aint map_true_ub(const struct map *map)
{
    MPI_Aint high = map_true_lb(map);
    for (int i = 0; i < map->n; i++) {
        MPI_Aint end = map->entries[i].at + map->entries[i].bytes;
        high = end > high ? end : high;
    }
    return high;
}

MPI_Aint map_lb(const struct map *map)
{
    return map->marked ? map->lb_mark : map_true_lb(map);
}

MPI_Aint map_extent(const struct map *map)
{
    if (map->marked) {
        return map->ub_mark - map->lb_mark;
    }
    MPI_Aint extent = map_true_ub(map) - map_true_lb(map), alignment = 1;
    for (int i = 0; i < map->n; i++) {
        alignment = map->entries[i].alignment > alignment ? map->entries[i].alignment : alignment;
    }
    return (extent + alignment - 1) / alignment * alignment;
}

/* ---- Predefined types ---- */

#define PLAIN(type, ctype, external)                                                               \
    {                                                                                              \
        type, 1,                                                                                   \
        {                                                                                          \
            {                                                                                      \
                0, type, sizeof(ctype), _Alignof(ctype), external                                  \
            }                                                                                      \
        }                                                                                          \
    }
#define PAIR(type, ctype, basic, vtype, external)                                                  \
    {                                                                                              \
        type, 2,                                                                                   \
        {                                                                                          \
            {0, basic, sizeof(vtype), _Alignof(vtype), external},                                  \
                {offsetof(ctype, index), MPI_INT, 4, 4, 4},                                        \
        }                                                                                          \
    }
struct double_int {
    double value;
    int index;
};
struct short_int {
    short value;
    int index;
};
struct long_double_int {
    long double value;
    int index;
};

static const struct leaf {
    MPI_Datatype type;
    int n;
    struct map_entry entries[2];
} * leaves_get(void)
{
    static struct leaf leaves[TYPE_LEAVES];
    const struct leaf all[TYPE_LEAVES] = {
        PLAIN(MPI_CHAR, char, 1),
        PLAIN(MPI_SHORT, short, 2),
        PLAIN(MPI_INT, int, 4),
        PLAIN(MPI_LONG, long, 4),
        PLAIN(MPI_UNSIGNED_LONG, unsigned long, 4),
        PLAIN(MPI_FLOAT, float, 4),
        PLAIN(MPI_DOUBLE, double, 8),
        PLAIN(MPI_LONG_DOUBLE, long double, 16),
        PLAIN(MPI_C_DOUBLE_COMPLEX, double _Complex, 16),
        PLAIN(MPI_UINT64_T, uint64_t, 8),
        PAIR(MPI_DOUBLE_INT, struct double_int, MPI_DOUBLE, double, 8),
        PAIR(MPI_SHORT_INT, struct short_int, MPI_SHORT, short, 2),
        PAIR(MPI_LONG_DOUBLE_INT, struct long_double_int, MPI_LONG_DOUBLE, long double, 16),
    };
    memcpy(leaves, all, sizeof(leaves)); /* handles need not be constants of C */
    return leaves;
}

MPI_Datatype type_leaf(int i)
{
    return leaves_get()[i].type;
}

static void map_named(MPI_Datatype type, struct map *map)
{
    const struct leaf *leaves = leaves_get();
    for (int i = 0; i < TYPE_LEAVES; i++) {
        for (int k = 0; leaves[i].type == type && k < leaves[i].n; k++) {
            map_add(map, leaves[i].entries[k]);
        }
    }
    CHECK(map->n > 0);
}

void type_drop(MPI_Datatype *type)
{
    int i, a, d, combiner = 0;
#if MPI_VERSION >= 4
    MPI_Count I, A, C, D;
    MPI_Type_get_envelope_c(*type, &I, &A, &C, &D, &combiner);
    (void)i, (void)a, (void)d;
#else
    MPI_Type_get_envelope(*type, &i, &a, &d, &combiner);
#endif
    if (combiner != MPI_COMBINER_NAMED) {
        MPI_Type_free(type);
    }
}

/* ---- Recipes ---- */

void recipe_get(MPI_Datatype type, struct recipe *recipe)
{
    *recipe = (struct recipe){0};
#if MPI_VERSION >= 4
    MPI_Type_get_envelope_c(type, &recipe->n_integers, &recipe->n_addresses, &recipe->n_counts,
                            &recipe->n_types, &recipe->combiner);
#else
    int i, a, d;
    MPI_Type_get_envelope(type, &i, &a, &d, &recipe->combiner);
    recipe->n_integers = i;
    recipe->n_addresses = a;
    recipe->n_types = d;
#endif
    if (recipe->combiner == MPI_COMBINER_NAMED) {
        return;
    }
    recipe->large = recipe->n_counts > 0;
    recipe->integers = malloc((size_t)(recipe->n_integers + 1) * sizeof(int));
    recipe->addresses = malloc((size_t)(recipe->n_addresses + 1) * sizeof(MPI_Aint));
    recipe->counts = malloc((size_t)(recipe->n_counts + 1) * sizeof(MPI_Count));
    recipe->types = malloc((size_t)(recipe->n_types + 1) * sizeof(MPI_Datatype));
#if MPI_VERSION >= 4
    MPI_Type_get_contents_c(type, recipe->n_integers, recipe->n_addresses, recipe->n_counts,
                            recipe->n_types, recipe->integers, recipe->addresses, recipe->counts,
                            recipe->types);
#else
    MPI_Type_get_contents(type, i, a, d, recipe->integers, recipe->addresses, recipe->types);
#endif
}

void recipe_free(struct recipe *recipe)
{
    for (MPI_Count i = 0; recipe->types && i < recipe->n_types; i++) {
        type_drop(&recipe->types[i]);
    }
    free(recipe->integers);
    free(recipe->addresses);
    free(recipe->counts);
    free(recipe->types);
}

int read_integer(struct reader *reader)
{
    CHECK(reader->integer < reader->recipe->n_integers);
    return reader->recipe->integers[reader->integer++];
}

MPI_Count read_count(struct reader *reader)
{
    if (!reader->recipe->large) {
        return read_integer(reader);
    }
    CHECK(reader->count < reader->recipe->n_counts);
    return reader->recipe->counts[reader->count++];
}

MPI_Count read_address(struct reader *reader)
{
    if (reader->recipe->large) {
        return read_count(reader);
    }
    CHECK(reader->address < reader->recipe->n_addresses);
    return reader->recipe->addresses[reader->address++];
}

/* ---- Decoding, by the type maps of the standard ---- */

/* vector, hvector: step in bytes or in extents. */
static void decode_regular(struct reader *in, const struct map *part, struct map *map)
{
    MPI_Count count = read_count(in), length = read_count(in);
    MPI_Count step = in->recipe->combiner == MPI_COMBINER_VECTOR ? read_count(in) * map_extent(part)
                                                                 : read_address(in);
    for (MPI_Count i = 0; i < count; i++) {
        map_append_block(map, part, i * step, length);
    }
}

static void decode_listed(struct reader *in, const struct map *parts, struct map *map)
{
    int combiner = in->recipe->combiner;
    bool one_length =
        combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK;
    bool in_extents = combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_INDEXED;
    MPI_Count count = read_count(in);
    MPI_Count *lengths = malloc((size_t)(count + 1) * sizeof(*lengths));
    if (one_length) {
        lengths[0] = read_count(in);
    }
    for (MPI_Count i = 0; i < count; i++) {
        lengths[i] = one_length ? lengths[0] : read_count(in);
    }
    for (MPI_Count i = 0; i < count; i++) {
        const struct map *part = &parts[combiner == MPI_COMBINER_STRUCT ? i : 0];
        MPI_Count at = in_extents ? read_count(in) * map_extent(part) : read_address(in);
        map_append_block(map, part, at, lengths[i]);
    }
    free(lengths);
}

enum { DIMS_MAX = 8 };

/* Whether index x of a dimension belongs to the part. */
struct slice {
    MPI_Count size;
    MPI_Count first, end; /* subarray */
    MPI_Count block;      /* darray: indices go around the places in blocks */
    int places, place;
};

static bool slice_has(const struct slice *slice, MPI_Count x)
{
    return slice->places > 0 ? x / slice->block % slice->places == slice->place
                             : x >= slice->first && x < slice->end;
}

/* Goes through all elements of the array as they lie in memory. */
static void decode_slices(const struct slice *slices, int ndims, int order, const struct map *part,
                          struct map *map)
{
    MPI_Count cells = 1;
    for (int i = 0; i < ndims; i++) {
        cells *= slices[i].size;
    }
    for (MPI_Count cell = 0; cell < cells; cell++) {
        MPI_Count rest = cell;
        bool has = true;
        for (int i = 0; i < ndims; i++) {
            const struct slice *slice = &slices[order == MPI_ORDER_C ? ndims - 1 - i : i];
            has = has && slice_has(slice, rest % slice->size);
            rest /= slice->size;
        }
        if (has) {
            map_append(map, part, cell * map_extent(part));
        }
    }
    map->marked = false;
    map_mark(map, 0, cells * map_extent(part));
}

static void decode_subarray(struct reader *in, const struct map *part, struct map *map)
{
    struct slice slices[DIMS_MAX] = {{0}};
    int ndims = read_integer(in);
    for (int i = 0; i < ndims; i++) {
        slices[i].size = read_count(in);
    }
    for (int i = 0; i < ndims; i++) {
        slices[i].end = read_count(in);
    }
    for (int i = 0; i < ndims; i++) {
        slices[i].first = read_count(in);
        slices[i].end += slices[i].first;
    }
    decode_slices(slices, ndims, read_integer(in), part, map);
}

static void decode_darray(struct reader *in, const struct map *part, struct map *map)
{
    struct slice slices[DIMS_MAX] = {{0}};
    int distribs[DIMS_MAX], dargs[DIMS_MAX], size = read_integer(in), rank = read_integer(in);
    int ndims = read_integer(in);
    for (int i = 0; i < ndims; i++) {
        slices[i].size = read_count(in);
    }
    for (int i = 0; i < ndims; i++) {
        distribs[i] = read_integer(in);
    }
    for (int i = 0; i < ndims; i++) {
        dargs[i] = read_integer(in);
    }
    for (int i = 0; i < ndims; i++) {
        struct slice *slice = &slices[i];
        slice->places = read_integer(in);
        size /= slice->places; /* the grid is in the order of C */
        slice->place = rank / size;
        rank %= size;
        slice->block = dargs[i];
        if (distribs[i] == MPI_DISTRIBUTE_NONE) {
            slice->block = slice->size;
        } else if (dargs[i] == MPI_DISTRIBUTE_DFLT_DARG) {
            slice->block = distribs[i] == MPI_DISTRIBUTE_CYCLIC
                               ? 1
                               : (slice->size + slice->places - 1) / slice->places;
        }
    }
    decode_slices(slices, ndims, read_integer(in), part, map);
}

static void decode_resized(struct reader *in, const struct map *part, struct map *map)
{
    MPI_Count lb = read_address(in), extent = read_address(in);
    map_append(map, part, 0);
    map->marked = false;
    map_mark(map, lb, lb + extent);
}

void map_decode(MPI_Datatype type, struct map *map)
{
    struct recipe recipe;
    struct reader in = {.recipe = &recipe};
    recipe_get(type, &recipe);
    struct map *parts = calloc((size_t)recipe.n_types + 1, sizeof(*parts));
    for (MPI_Count i = 0; i < recipe.n_types; i++) {
        map_decode(recipe.types[i], &parts[i]);
    }
    if (recipe.combiner == MPI_COMBINER_NAMED) {
        map_named(type, map);
    } else if (recipe.combiner == MPI_COMBINER_DUP) {
        map_append(map, parts, 0);
    } else if (recipe.combiner == MPI_COMBINER_CONTIGUOUS) {
        map_append_block(map, parts, 0, read_count(&in));
    } else if (recipe.combiner == MPI_COMBINER_VECTOR || recipe.combiner == MPI_COMBINER_HVECTOR) {
        decode_regular(&in, parts, map);
    } else if (recipe.combiner == MPI_COMBINER_SUBARRAY) {
        decode_subarray(&in, parts, map);
    } else if (recipe.combiner == MPI_COMBINER_DARRAY) {
        decode_darray(&in, parts, map);
    } else if (recipe.combiner == MPI_COMBINER_RESIZED) {
        decode_resized(&in, parts, map);
    } else {
        decode_listed(&in, parts, map);
    }
    /* Every argument was read. */
    CHECK(in.integer == recipe.n_integers && in.address == recipe.n_addresses &&
          in.count == recipe.n_counts);
    for (MPI_Count i = 0; i < recipe.n_types; i++) {
        map_free(&parts[i]);
    }
    free(parts);
    recipe_free(&recipe);
}
