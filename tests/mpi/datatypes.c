/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random datatypes against their type maps: bounds, packing, external32, counting, decoding and
 * making again; and messages between types that differ but match. Arguments: the seed (the one a
 * failure names shows it alone), how many types.
 */
#include "type_map.h"

#include <string.h>

enum { MARGIN = 40000, COUNT_MAX = 3, TAG = 7 };

static unsigned char memory[2 * MARGIN], expected[2 * MARGIN];
static int rank, n_ranks, seed_now;

/* A failed check ends the process: it names the seed first. */
static void tell_seed(void)
{
    if (seed_now != 0) {
        fprintf(stderr, "replay: datatypes %d\n", seed_now);
    }
}

static void fill(unsigned char *bytes, size_t n, unsigned salt)
{
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (unsigned char)(i * 7 + (i >> 8) + salt);
    }
}

/* Byte by byte along the type map of count elements at `user`. */
static void naive_copy(const struct map *map, int count, unsigned char *user, unsigned char *packed,
                       bool packing)
{
    for (int c = 0; c < count; c++) {
        for (int i = 0; i < map->n; i++) {
            unsigned char *at = user + c * map_extent(map) + map->entries[i].at;
            for (int k = 0; k < map->entries[i].bytes; k++, packed++) {
                *(packing ? packed : at + k) = *(packing ? at + k : packed);
            }
        }
    }
}

/* Whether count elements fit the memory of this test. */
static bool is_small(const struct map *map, int count)
{
    MPI_Aint reach = labs((long)map_extent(map)) * count + labs((long)map_true_lb(map)) +
                     labs((long)map_true_ub(map));
    return reach < MARGIN && map_size(map) * count < MARGIN;
}

/* Whether no byte belongs to two entries: only then may it be received into. */
static bool is_disjoint(const struct map *map, int count)
{
    memset(expected, 0, sizeof(expected));
    for (int c = 0; c < count; c++) {
        for (int i = 0; i < map->n; i++) {
            unsigned char *at = expected + MARGIN + c * map_extent(map) + map->entries[i].at;
            for (int k = 0; k < map->entries[i].bytes; k++) {
                if (at[k]++ != 0) {
                    return false;
                }
            }
        }
    }
    return true;
}

static void check_bounds(MPI_Datatype type, const struct map *map)
{
    int size;
    MPI_Aint lb, extent;
    MPI_Count wide, wide_lb, wide_extent;
    MPI_Type_size(type, &size);
    CHECK(size == map_size(map));
    MPI_Type_get_extent(type, &lb, &extent);
    CHECK(lb == map_lb(map) && extent == map_extent(map));
    MPI_Type_get_true_extent(type, &lb, &extent);
    CHECK(lb == map_true_lb(map) && extent == map_true_ub(map) - map_true_lb(map));
    MPI_Type_size_x(type, &wide);
    CHECK(wide == size);
    MPI_Type_get_extent_x(type, &wide_lb, &wide_extent);
    CHECK(wide_lb == map_lb(map) && wide_extent == map_extent(map));
    MPI_Type_get_true_extent_x(type, &wide_lb, &wide_extent);
    CHECK(wide_lb == lb && wide_extent == extent);
}

static void check_same_map(const struct map *a, const struct map *b)
{
    CHECK(a->n == b->n && map_lb(a) == map_lb(b) && map_extent(a) == map_extent(b));
    for (int i = 0; i < a->n; i++) {
        CHECK(a->entries[i].at == b->entries[i].at && a->entries[i].basic == b->entries[i].basic);
    }
}

static void check_rebuilt(MPI_Datatype type, const struct map *map)
{
    struct map again = {0};
    MPI_Datatype made = type_rebuild(type);
    map_decode(made, &again);
    check_same_map(map, &again);
    check_bounds(made, map);
    map_free(&again);
    type_drop(&made);
}

static void check_packing(MPI_Datatype type, const struct map *map, int count)
{
    int size = (int)map_size(map) * count, position = 0, room;
    unsigned char *packed = malloc((size_t)size + 1), *naive = malloc((size_t)size + 1);
    fill(memory, sizeof(memory), 0);
    MPI_Pack_size(count, type, MPI_COMM_WORLD, &room);
    CHECK(room >= size);
    MPI_Pack(memory + MARGIN, count, type, packed, size, &position, MPI_COMM_WORLD);
    naive_copy(map, count, memory + MARGIN, naive, true);
    CHECK(position == size && memcmp(packed, naive, (size_t)size) == 0);
    for (int i = 0; i < size; i++) {
        packed[i] ^= 0xff;
    }
    memcpy(expected, memory, sizeof(memory));
    naive_copy(map, count, expected + MARGIN, packed, false);
    position = 0;
    MPI_Unpack(packed, size, &position, memory + MARGIN, count, type, MPI_COMM_WORLD);
    CHECK(position == size && memcmp(memory, expected, sizeof(memory)) == 0);
    free(packed);
    free(naive);
}

/* ---- external32 ---- */

/* A value that any type of number holds, there and here. */
static void set_number(const struct map_entry *entry, unsigned char *at, int value)
{
    if (entry->basic == MPI_FLOAT) {
        memcpy(at, &(float){(float)value}, sizeof(float));
    } else if (entry->basic == MPI_DOUBLE) {
        memcpy(at, &(double){value}, sizeof(double));
    } else if (entry->basic == MPI_C_DOUBLE_COMPLEX) {
        memcpy(at, (double[2]){value, -value}, 2 * sizeof(double));
    } else if (entry->basic == MPI_LONG_DOUBLE) {
        long double number = value;
        memset(at, 0, sizeof(number));
        memcpy(at, &number, 10);
    } else {
        int64_t number = value; /* little-endian: its first bytes are the same number */
        memcpy(at, &number, (size_t)entry->bytes);
    }
}

static void check_external(MPI_Datatype type, const struct map *map, int count)
{
    MPI_Aint size, room = 0, position = 0;
    for (int i = 0; i < map->n; i++) {
        room += map->entries[i].external * count;
    }
    MPI_Pack_external_size("external32", count, type, &size);
    CHECK(size == room);
    memset(memory, 0, sizeof(memory));
    for (int c = 0; c < count; c++) {
        for (int i = 0; i < map->n; i++) {
            set_number(&map->entries[i], memory + MARGIN + c * map_extent(map) + map->entries[i].at,
                       (i + c) % 60 + 1);
        }
    }
    unsigned char *packed = malloc((size_t)size + 1);
    memcpy(expected, memory, sizeof(memory));
    MPI_Pack_external("external32", memory + MARGIN, count, type, packed, size, &position);
    CHECK(position == size);
    memset(memory, 0, sizeof(memory));
    position = 0;
    MPI_Unpack_external("external32", packed, size, &position, memory + MARGIN, count, type);
    CHECK(position == size && memcmp(memory, expected, sizeof(memory)) == 0);
    free(packed);
}

/* ---- Counting ---- */

static void check_elements(struct dice *dice, MPI_Datatype type, const struct map *map)
{
    MPI_Status status;
    int want = map->n > 0 ? dice_below(dice, 3 * map->n) : 0, got, count;
    MPI_Count wide;
    memset(&status, 0, sizeof(status));
    MPI_Status_set_elements(&status, type, want);
    MPI_Get_elements(&status, type, &got);
    CHECK(got == want);
    MPI_Status_set_elements_x(&status, type, want);
    MPI_Get_elements_x(&status, type, &wide);
    CHECK(wide == want);
    MPI_Get_count(&status, type, &count);
    CHECK(count == (map->n == 0 ? 0 : want % map->n == 0 ? want / map->n : MPI_UNDEFINED));
}

/* ---- Messages ---- */

/* Another type with the same numbers in the same order, elsewhere: one element of it matches
 * `count` of the other. */
static MPI_Datatype matching_type(struct dice *dice, const struct map *map, int count)
{
    size_t n = (size_t)map->n * (size_t)count;
    int *lengths = malloc((n + 1) * sizeof(*lengths));
    MPI_Aint *places = malloc((n + 1) * sizeof(*places)), next = -dice_below(dice, 50);
    MPI_Datatype *types = malloc((n + 1) * sizeof(MPI_Datatype)), type;
    for (size_t i = 0; i < n; i++) {
        const struct map_entry *entry = &map->entries[i % (size_t)map->n];
        lengths[i] = 1;
        places[i] = next + dice_below(dice, 3);
        types[i] = entry->basic;
        next = places[i] + entry->bytes;
    }
    MPI_Type_create_struct((int)n, lengths, places, types, &type);
    free(lengths);
    free(places);
    free(types);
    return type;
}

/* The even rank sends `from`, the odd one receives `to`: all but what arrives stays as it was. */
static void transfer(MPI_Datatype from, const struct map *from_map, int from_count, MPI_Datatype to,
                     const struct map *to_map, int to_count)
{
    int peer = rank ^ 1, size = (int)map_size(from_map) * from_count, elements, count;
    fill(memory, sizeof(memory), 1);
    if (rank % 2 == 0) {
        MPI_Send(memory + MARGIN, from_count, from, peer, TAG, MPI_COMM_WORLD);
        return;
    }
    unsigned char *data = malloc((size_t)size + 1);
    naive_copy(from_map, from_count, memory + MARGIN, data, true);
    fill(memory, sizeof(memory), 2);
    memcpy(expected, memory, sizeof(memory));
    naive_copy(to_map, to_count, expected + MARGIN, data, false);
    MPI_Status status;
    MPI_Recv(memory + MARGIN, to_count, to, peer, TAG, MPI_COMM_WORLD, &status);
    CHECK(memcmp(memory, expected, sizeof(memory)) == 0);
    MPI_Get_elements(&status, to, &elements);
    MPI_Get_count(&status, to, &count);
    CHECK(elements == to_map->n * to_count && count == (to_map->n > 0 ? to_count : 0));
    free(data);
}

/* Sent as elements, received as one row for MPI_Unpack. */
static void transfer_packed(MPI_Datatype type, const struct map *map, int count)
{
    int peer = rank ^ 1, size = (int)map_size(map) * count, position = 0;
    fill(memory, sizeof(memory), 3);
    if (rank % 2 == 0) {
        MPI_Send(memory + MARGIN, count, type, peer, TAG, MPI_COMM_WORLD);
        return;
    }
    unsigned char *data = malloc((size_t)size + 1), *packed = malloc((size_t)size + 1);
    naive_copy(map, count, memory + MARGIN, data, true);
    MPI_Recv(packed, size, MPI_PACKED, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fill(memory, sizeof(memory), 4);
    memcpy(expected, memory, sizeof(memory));
    naive_copy(map, count, expected + MARGIN, data, false);
    MPI_Unpack(packed, size, &position, memory + MARGIN, count, type, MPI_COMM_WORLD);
    CHECK(memcmp(memory, expected, sizeof(memory)) == 0);
    free(data);
    free(packed);
}

static void check_messages(struct dice *dice, MPI_Datatype type, const struct map *map, int count)
{
    struct map other_map = {0};
    MPI_Datatype other = matching_type(dice, map, count);
    MPI_Type_commit(&other);
    map_decode(other, &other_map);
    if ((rank ^ 1) < n_ranks && is_small(&other_map, 1)) {
        transfer(type, map, count, other, &other_map, 1);
        transfer_packed(type, map, count);
        if (is_disjoint(map, count)) {
            transfer(other, &other_map, 1, type, map, count);
        }
    }
    map_free(&other_map);
    MPI_Type_free(&other);
}

/* ---- One type ---- */

static bool check_seed(int seed)
{
    struct dice dice = {UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(seed + 1)};
    struct map map = {0};
    MPI_Datatype type = type_draw(&dice, 1 + dice_below(&dice, 4));
    int count = dice_below(&dice, COUNT_MAX + 1);
    map_decode(type, &map);
    check_bounds(type, &map);
    bool small = is_small(&map, count);
    if (small) {
        check_rebuilt(type, &map);
        MPI_Type_commit(&type);
        check_packing(type, &map, count);
        check_elements(&dice, type, &map);
        if (is_disjoint(&map, count)) {
            check_external(type, &map, count);
        }
        check_messages(&dice, type, &map, count);
    }
    map_free(&map);
    type_drop(&type);
    return small;
}

int main(int argc, char **argv)
{
    int first = argc > 1 ? atoi(argv[1]) : 1, n = argc > 2 ? atoi(argv[2]) : 1, checked = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    atexit(tell_seed);
    for (int seed = first; seed < first + n; seed++) {
        seed_now = seed;
        checked += check_seed(seed);
    }
    CHECK(checked * 10 >= n * 9);
    seed_now = 0;
    MPI_Finalize();
    return 0;
}
