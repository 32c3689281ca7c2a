/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sections of arrays (rhizome/section.h): random sections with random datatypes along their rows,
 * against a copy byte by byte along the type map: datatypes of sections, and bounce buffers.
 * Arguments: the seed (the one that a failure names shows it alone), how many.
 */
#include <rhizome/section.h>
#include <string.h>

#include "type_map.h"

enum { ARRAY = 1 << 17, COUNT_MAX = 3 };

#define END INT64_MIN /* the end of a number, where a byte is expected */

static unsigned char array[ARRAY], expected[ARRAY], row[ARRAY], packed[2][ARRAY];
static int seed_now;

static void tell_seed(void)
{
    if (seed_now != 0) {
        fprintf(stderr, "replay: sections %d\n", seed_now);
    }
}

static void fill(unsigned char *bytes, size_t n, unsigned salt)
{
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (unsigned char)(i * 7 + (i >> 8) + salt);
    }
}

/* ---- The reference ---- */

static MPI_Count section_bytes(const RZ_Section *section)
{
    MPI_Count bytes = section->element_bytes;
    for (int i = 0; i < section->rank; i++) {
        bytes *= section->extents[i];
    }
    return bytes;
}

/* Where a byte of the row is. */
static MPI_Count place_of(const RZ_Section *section, MPI_Count at)
{
    MPI_Count element = at / section->element_bytes, place = at % section->element_bytes;
    for (int i = 0; i < section->rank; i++) {
        place += element % section->extents[i] * section->strides[i];
        element /= section->extents[i];
    }
    return place;
}

/* Calls with(at, arg) for each byte of the type map, from the start of the row; at is END at the
 * end of a number. */
static void each_byte(const struct map *map, int count, void (*with)(MPI_Count at, void *arg),
                      void *arg)
{
    for (int c = 0; c < count; c++) {
        for (int i = 0; i < map->n; i++) {
            MPI_Count at = c * (MPI_Count)map_extent(map) + map->entries[i].at;
            for (int k = 0; k < map->entries[i].bytes; k++) {
                with(at + k, arg);
            }
            with(END, arg);
        }
    }
}

struct walk {
    const RZ_Section *section;
    unsigned char *at;    /* packed data */
    MPI_Count last;       /* the place of the byte before in the same number; -1: none */
    bool outside, across; /* bytes that the section does not have; numbers that it divides */
};

static void look_at(MPI_Count at, void *arg)
{
    struct walk *walk = arg;
    if (at == END) {
        walk->last = -1;
        return;
    }
    if (at < 0 || at >= section_bytes(walk->section)) {
        walk->outside = true;
        return;
    }
    MPI_Count offset = (unsigned char *)walk->section->base - array;
    MPI_Count place = offset + place_of(walk->section, at);
    walk->across = walk->across || (walk->last >= 0 && place != walk->last + 1);
    walk->last = place;
}

static void gather_byte(MPI_Count at, void *arg)
{
    struct walk *walk = arg;
    if (at != END) {
        *walk->at++ = *((unsigned char *)walk->section->base + place_of(walk->section, at));
    }
}

static void scatter_byte(MPI_Count at, void *arg)
{
    struct walk *walk = arg;
    MPI_Count offset = (unsigned char *)walk->section->base - array;
    if (at != END) {
        expected[offset + place_of(walk->section, at)] = *walk->at++;
    }
}

/* ---- A random section: no two of its dimensions are one behind the other in memory ---- */

static RZ_Section draw_section(struct dice *dice)
{
    RZ_Section section = {.element_bytes = 1 << dice_below(dice, 6),
                          .rank = 1 + dice_below(dice, 4)};
    MPI_Aint step = section.element_bytes * (1 + dice_below(dice, 2));
    MPI_Count offset = 0;
    for (int i = 0; i < section.rank; i++) {
        section.extents[i] = 1 + dice_below(dice, 6);
        section.strides[i] = step;
        step = step * section.extents[i] + section.element_bytes * (1 + dice_below(dice, 2));
        if (dice_below(dice, 3) == 0) {
            offset += section.strides[i] * (section.extents[i] - 1);
            section.strides[i] = -section.strides[i];
        }
    }
    CHECK(step < ARRAY);
    section.base = array + offset;
    return section;
}

/* ---- Checks ---- */

static void check_type(const RZ_Section *section, MPI_Datatype type, int count,
                       const struct map *map)
{
    struct walk walk = {.section = section, .last = -1};
    each_byte(map, count, look_at, &walk);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int class = class_of(RZ_Type_create_section(section, count, type, &made));
    if (walk.outside) {
        CHECK(class == MPI_ERR_COUNT);
        return;
    }
    if (walk.across) {
        CHECK(class == MPI_ERR_TYPE);
        return;
    }
    CHECK(class == MPI_SUCCESS);
    MPI_Type_commit(&made);
    int position = 0, size;
    MPI_Type_size(made, &size);
    CHECK(size == (int)map_size(map) * count);
    fill(array, sizeof(array), 1);
    walk.at = packed[0];
    each_byte(map, count, gather_byte, &walk);
    MPI_Pack(section->base, 1, made, packed[1], size, &position, MPI_COMM_SELF);
    CHECK(position == size && memcmp(packed[0], packed[1], (size_t)size) == 0);
    MPI_Type_free(&made);
}

/* What a request writes to the buffer is in the section when it has ended, and nothing else is. */
static void check_bounce(const RZ_Section *section, MPI_Datatype type, int count,
                         const struct map *map)
{
    struct walk walk = {.section = section, .last = -1};
    each_byte(map, count, look_at, &walk);
    void *buffer = NULL;
    RZ_Bounce bounce = RZ_BOUNCE_NULL;
    fill(array, sizeof(array), 2);
    int class = class_of(RZ_Bounce_create(section, count, type, RZ_BOUNCE_WRITE, &buffer, &bounce));
    CHECK(class == (walk.outside ? MPI_ERR_COUNT : MPI_SUCCESS));
    if (walk.outside) {
        return;
    }
    int size = (int)map_size(map) * count;
    int position = 0;
    walk.at = packed[0];
    each_byte(map, count, gather_byte, &walk);
    MPI_Pack(buffer, count, type, packed[1], size, &position, MPI_COMM_SELF);
    CHECK(memcmp(packed[0], packed[1], (size_t)size) == 0);
    fill(row, sizeof(row), 3);
    memcpy(expected, array, sizeof(array));
    walk.at = row;
    each_byte(map, count, scatter_byte, &walk);
    MPI_Request request;
    MPI_Irecv(buffer, count, type, 0, 1, MPI_COMM_SELF, &request);
    CHECK(RZ_Bounce_bind(&bounce, request) == MPI_SUCCESS && bounce == RZ_BOUNCE_NULL);
    MPI_Send(row, size, MPI_PACKED, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(memcmp(array, expected, sizeof(array)) == 0);
}

static void check_seed(int seed)
{
    struct dice dice = {UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(seed + 1)};
    struct map map = {0};
    RZ_Section section = draw_section(&dice);
    MPI_Datatype type = type_draw(&dice, dice_below(&dice, 3));
    int count = dice_below(&dice, COUNT_MAX + 1);
    map_decode(type, &map);
    if (map_size(&map) * count < ARRAY / 2) {
        MPI_Type_commit(&type);
        check_type(&section, type, count, &map);
        check_bounce(&section, type, count, &map);
    }
    map_free(&map);
    type_drop(&type);
}

static void check_wrong(void)
{
    RZ_Section section = {
        .base = array, .element_bytes = 4, .rank = 1, .extents = {10}, .strides = {8}};
    RZ_Section none = {.base = array, .element_bytes = 4};
    RZ_Bounce bounce = RZ_BOUNCE_NULL;
    MPI_Datatype type;
    void *buffer;
    CHECK(class_of(RZ_Type_create_section(&none, 1, MPI_INT, &type)) == MPI_ERR_ARG);
    CHECK(class_of(RZ_Type_create_section(NULL, 1, MPI_INT, &type)) == MPI_ERR_ARG);
    CHECK(class_of(RZ_Type_create_section(&section, -1, MPI_INT, &type)) == MPI_ERR_COUNT);
    CHECK(class_of(RZ_Bounce_create(&section, 1, MPI_INT, 0, &buffer, &bounce)) == MPI_ERR_ARG);
    CHECK(class_of(RZ_Bounce_bind(&bounce, MPI_REQUEST_NULL)) == MPI_ERR_REQUEST);
    CHECK(class_of(RZ_Bounce_free(&bounce)) == MPI_ERR_ARG);
    CHECK(RZ_Bounce_create(&section, 10, MPI_INT, RZ_BOUNCE_READ, &buffer, &bounce) == MPI_SUCCESS);
    CHECK(class_of(RZ_Bounce_bind(&bounce, MPI_REQUEST_NULL)) == MPI_ERR_REQUEST);
    CHECK(RZ_Bounce_free(&bounce) == MPI_SUCCESS && bounce == RZ_BOUNCE_NULL);
}

/* A request that has ended before it gets the buffer; one that never starts. */
static void check_ends(void)
{
    RZ_Section section = {
        .base = array, .element_bytes = 4, .rank = 1, .extents = {10}, .strides = {8}};
    RZ_Bounce bounce;
    MPI_Request request;
    void *buffer;
    memset(array, 0, sizeof(array));
    RZ_Bounce_create(&section, 10, MPI_INT, RZ_BOUNCE_WRITE, &buffer, &bounce);
    memset(buffer, 1, 40);
    MPI_Irecv(buffer, 10, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF, &request);
    RZ_Bounce_bind(&bounce, request);
    CHECK(array[8] == 1 && array[4] == 0 && array[75] == 1 && array[76] == 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    RZ_Bounce_create(&section, 10, MPI_INT, RZ_BOUNCE_WRITE, &buffer, &bounce);
    MPI_Recv_init(buffer, 10, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    memset(buffer, 2, 40);
    RZ_Bounce_bind(&bounce, request);
    MPI_Request_free(&request);
    CHECK(array[8] == 1);
}

int main(int argc, char **argv)
{
    int first = argc > 1 ? atoi(argv[1]) : 1, n = argc > 2 ? atoi(argv[2]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    atexit(tell_seed);
    check_wrong();
    check_ends();
    for (int seed = first; seed < first + n; seed++) {
        seed_now = seed;
        check_seed(seed);
    }
    seed_now = 0;
    MPI_Finalize();
    return 0;
}
