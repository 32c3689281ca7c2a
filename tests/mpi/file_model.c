/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading and writing of files against a naive model: the file as an array of bytes that each rank
 * keeps, views and datatypes written out as lists of offsets. Every rank draws the same random
 * numbers, so each knows what all write. Arguments: [SEED [ROUNDS]].
 *
 * In each round the ranks open a new file with random hints. Steps of a round: all write, by any
 * call, through views that share no byte; all read, by any call, through views that may share
 * bytes; rank 0 compares the file itself with the model.
 */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "type_map.h"

#include "coll_random.h"

enum { FILE_MAX = 40000, STEPS = 4, PIECES = 12, DATA_MAX = 3000 };

static unsigned char model[FILE_MAX];
static int model_size;
static int rank, size;
static uint64_t seed_of_round;

/* ---- Views: the offsets of their data in the file, from the first on ---- */

struct view {
    MPI_Offset disp;
    int unit;
    MPI_Datatype etype, filetype;
    int tile, n_tile;     /* extent of the filetype, and how many bytes of data it has */
    int span;             /* from its first byte to its last, and gaps behind it */
    MPI_Offset low, high; /* where data may lie */
    bool one_tile;        /* an access must not go further */
    int at[4 * DATA_MAX]; /* of each byte of data within a tile */
};

static MPI_Offset offset_of(const struct view *view, MPI_Offset place)
{
    return view->disp + place / view->n_tile * view->tile + view->at[place % view->n_tile];
}

static MPI_Datatype committed(MPI_Datatype type)
{
    CHECK(MPI_Type_commit(&type) == MPI_SUCCESS);
    return type;
}

static MPI_Datatype unit_type(int unit)
{
    MPI_Datatype type;
    static const MPI_Datatype predefined[] = {[1] = MPI_BYTE, [2] = MPI_INT16_T, [4] = MPI_INT};
    if (unit != 3) {
        return predefined[unit];
    }
    MPI_Type_contiguous(3, MPI_BYTE, &type);
    return committed(type);
}

/* The extent may be less than the span, 0 or negative: then tiles overlap. What is written must
 * not overlap that of other ranks: either in one tile only, or each rank in a part of the file. */
static void draw_extent(struct view *view, bool shares)
{
    int part = FILE_MAX / size;
    view->tile = view->span;
    view->low = 0;
    view->high = FILE_MAX;
    view->one_tile = false;
    if (draw(3) > 0) {
        return;
    }
    view->tile = draw(4) == 0 ? 0 : draw(2 * view->span) - view->span;
    if (draw(2) == 0) {
        view->one_tile = !shares;
        view->disp += view->tile < 0 ? FILE_MAX / 2 : 0;
        return;
    }
    view->low = (MPI_Offset)rank * part;
    view->high = view->low + part;
    view->disp += view->tile < 0 ? view->high - view->span - 20 : view->low;
}

/* Tiles of blocks; each block belongs to one of the ranks, or to none. All ranks draw the tile of
 * all, and keep their own part. */
static void draw_view(struct view *view, bool shares)
{
    static const int units[] = {1, 2, 3, 4};
    int lengths[PIECES], n = 0;
    MPI_Aint places[PIECES];
    int blocks = 1 + draw(PIECES), at = 0, whole = draw(6) == 0;
    view->unit = units[draw(4)];
    view->disp = draw(3) * 7;
    view->n_tile = 0;
    int holes = draw(2), longest = draw(3) == 0 ? 40 : 4;
    for (int i = 0; i < blocks; i++) {
        int length = 1 + draw(longest), owner = draw(size + holes),
            gap = draw(3) == 0 ? draw(9) : 0;
        at += holes ? gap : 0;
        bool mine = shares ? ((draw(4) ^ rank) & 1) != 0 || i == 0
                           : owner == rank || (whole && i % size == rank);
        mine = whole && !shares ? i % size == rank : mine;
        if (mine) {
            lengths[n] = length;
            places[n++] = at;
            for (int k = 0; k < length * view->unit; k++) {
                view->at[view->n_tile++] = at + k;
            }
        }
        at += length * view->unit;
    }
    view->span = at + draw(4);
    draw_extent(view, shares);
    MPI_Datatype blocked;
    view->etype = unit_type(view->unit);
    MPI_Type_create_hindexed(n, lengths, places, view->etype, &blocked);
    MPI_Type_create_resized(blocked, 0, view->tile, &view->filetype);
    MPI_Type_free(&blocked);
    view->filetype = committed(view->filetype);
}

static void drop_view(struct view *view)
{
    MPI_Type_free(&view->filetype);
    if (view->unit == 3) {
        MPI_Type_free(&view->etype);
    }
}

/* ---- Memory: bytes, or a random datatype with its map ---- */

struct memory {
    MPI_Datatype type;
    int count, bytes;
    MPI_Aint extent;
    struct map map;
    unsigned char *room, *buffer; /* the type's origin lies inside of the room */
    size_t room_bytes;
};

/* The address of each byte of data in order. */
static unsigned char *byte_at(const struct memory *memory, int i)
{
    if (memory->map.n == 0) {
        return memory->buffer + i;
    }
    int each = (int)map_size(&memory->map), left = i % each, entry = 0;
    while (left >= memory->map.entries[entry].bytes) {
        left -= memory->map.entries[entry++].bytes;
    }
    return memory->buffer + i / each * memory->extent + memory->map.entries[entry].at + left;
}

/* Bytes of data, at most `most`, a multiple of unit. For reading the parts of the type must not
 * overlap. Not the same at all ranks. */
static bool overlaps(const struct memory *memory)
{
    bool found = false;
    memset(memory->room, 0, memory->room_bytes);
    for (int i = 0; i < memory->bytes && !found; i++) {
        found = (*byte_at(memory, i))++ != 0;
    }
    memset(memory->room, 0xee, memory->room_bytes);
    return found;
}

static void plain_memory(struct memory *memory, int most, int unit, struct dice *dice)
{
    memory->map = (struct map){0};
    memory->bytes = most < unit ? 0 : dice_below(dice, most / unit + 1) * unit;
    memory->type = MPI_BYTE;
    memory->count = memory->bytes;
    memory->room_bytes = (size_t)memory->bytes + 1;
    memory->room = memory->buffer = malloc(memory->room_bytes);
    memset(memory->room, 0xee, memory->room_bytes);
}

static void draw_memory(struct memory *memory, int most, int unit, struct dice *dice)
{
    if (dice_below(dice, 3) == 0) {
        plain_memory(memory, most, unit, dice);
        return;
    }
    memory->type = committed(type_draw(dice, 2));
    memory->map = (struct map){0};
    map_decode(memory->type, &memory->map);
    int each = (int)map_size(&memory->map), n = each > 0 ? most / each : 0;
    memory->count = n > 0 ? dice_below(dice, n + 1) : 0;
    while (memory->count * each % unit != 0) {
        memory->count--;
    }
    memory->bytes = memory->count * each;
    memory->extent = map_extent(&memory->map);
    MPI_Aint step = memory->extent < 0 ? -memory->extent : memory->extent;
    MPI_Aint low = each > 0 ? map_true_lb(&memory->map) : 0,
             high = each > 0 ? map_true_ub(&memory->map) : 0;
    MPI_Aint before = step * memory->count + (low < 0 ? -low : low) + 8;
    memory->room_bytes = (size_t)(before + step * memory->count + (high < 0 ? -high : high) + 8);
    memory->room = malloc(memory->room_bytes);
    memory->buffer = memory->room + before;
    if (overlaps(memory)) {
        free(memory->room);
        map_free(&memory->map);
        type_drop(&memory->type);
        plain_memory(memory, most, unit, dice);
    }
}

static void drop_memory(struct memory *memory)
{
    free(memory->room);
    if (memory->map.n > 0 || memory->type != MPI_BYTE) {
        map_free(&memory->map);
        type_drop(&memory->type);
    }
}

/* ---- The calls ---- */

static void check_count(MPI_Status *status, int bytes)
{
    MPI_Count got;
    CHECK(MPI_Get_elements_x(status, MPI_BYTE, &got) == MPI_SUCCESS);
    CHECK(got == bytes);
}

enum call {
    AT,
    NEXT,
    I_AT,
    I_NEXT,
    AT_ALL,
    ALL,
    I_AT_ALL,
    I_ALL,
    SPLIT_AT,
    SPLIT,
    SHARED_ALL,
    CALLS
};

static int write_by(enum call call, MPI_File file, MPI_Offset place, struct memory *m,
                    MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int error = MPI_SUCCESS;
    MPI_File_seek(file, place, MPI_SEEK_SET);
    switch (call) {
    case AT:
        return MPI_File_write_at(file, place, m->buffer, m->count, m->type, status);
    case NEXT:
        return MPI_File_write(file, m->buffer, m->count, m->type, status);
    case I_AT:
        error = MPI_File_iwrite_at(file, place, m->buffer, m->count, m->type, &request);
        break;
    case I_NEXT:
        error = MPI_File_iwrite(file, m->buffer, m->count, m->type, &request);
        break;
    case AT_ALL:
        return MPI_File_write_at_all(file, place, m->buffer, m->count, m->type, status);
    case I_AT_ALL:
        error = MPI_File_iwrite_at_all(file, place, m->buffer, m->count, m->type, &request);
        break;
    case I_ALL:
        error = MPI_File_iwrite_all(file, m->buffer, m->count, m->type, &request);
        break;
    case SPLIT_AT:
        error = MPI_File_write_at_all_begin(file, place, m->buffer, m->count, m->type);
        CHECK(error == MPI_SUCCESS);
        return MPI_File_write_at_all_end(file, m->buffer, status);
    case SPLIT:
        error = MPI_File_write_all_begin(file, m->buffer, m->count, m->type);
        CHECK(error == MPI_SUCCESS);
        return MPI_File_write_all_end(file, m->buffer, status);
    default:
        return MPI_File_write_all(file, m->buffer, m->count, m->type, status);
    }
    CHECK(error == MPI_SUCCESS);
    return MPI_Wait(&request, status);
}

static int read_by(enum call call, MPI_File file, MPI_Offset place, struct memory *m,
                   MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int error = MPI_SUCCESS;
    MPI_File_seek(file, place, MPI_SEEK_SET);
    switch (call) {
    case AT:
        return MPI_File_read_at(file, place, m->buffer, m->count, m->type, status);
    case NEXT:
        return MPI_File_read(file, m->buffer, m->count, m->type, status);
    case I_AT:
        error = MPI_File_iread_at(file, place, m->buffer, m->count, m->type, &request);
        break;
    case I_NEXT:
        error = MPI_File_iread(file, m->buffer, m->count, m->type, &request);
        break;
    case AT_ALL:
        return MPI_File_read_at_all(file, place, m->buffer, m->count, m->type, status);
    case I_AT_ALL:
        error = MPI_File_iread_at_all(file, place, m->buffer, m->count, m->type, &request);
        break;
    case I_ALL:
        error = MPI_File_iread_all(file, m->buffer, m->count, m->type, &request);
        break;
    case SPLIT_AT:
        error = MPI_File_read_at_all_begin(file, place, m->buffer, m->count, m->type);
        CHECK(error == MPI_SUCCESS);
        return MPI_File_read_at_all_end(file, m->buffer, status);
    case SPLIT:
        error = MPI_File_read_all_begin(file, m->buffer, m->count, m->type);
        CHECK(error == MPI_SUCCESS);
        return MPI_File_read_all_end(file, m->buffer, status);
    default:
        return MPI_File_read_all(file, m->buffer, m->count, m->type, status);
    }
    CHECK(error == MPI_SUCCESS);
    return MPI_Wait(&request, status);
}

static bool moves_pointer(enum call call)
{
    return call == NEXT || call == I_NEXT || call == ALL || call == I_ALL || call == SPLIT ||
           call == SHARED_ALL;
}

/* ---- Steps ---- */

static unsigned char value_of(int step, int writer, int i)
{
    return (unsigned char)mix(seed_of_round + (uint64_t)step * 1000003 + (uint64_t)writer * 1009 +
                              (uint64_t)i);
}

/* What each rank has written, told to all: offsets and values. */
static void tell_model(const struct view *view, MPI_Offset place, int bytes, int step)
{
    int *mine = malloc(((size_t)bytes * 2 + 1) * sizeof(int)),
        *counts = malloc((size_t)size * sizeof(int));
    int *starts = malloc((size_t)size * sizeof(int)), all = 0, n = 2 * bytes;
    for (int i = 0; i < bytes; i++) {
        mine[2 * i] = (int)offset_of(view, place * view->unit + i);
        mine[2 * i + 1] = value_of(step, rank, i);
    }
    MPI_Allgather(&n, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) {
        starts[i] = all;
        all += counts[i];
    }
    int *told = malloc(((size_t)all + 1) * sizeof(int));
    MPI_Allgatherv(mine, n, MPI_INT, told, counts, starts, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < all; i += 2) {
        CHECK(told[i] < FILE_MAX);
        model[told[i]] = (unsigned char)told[i + 1];
        model_size = told[i] + 1 > model_size ? told[i] + 1 : model_size;
    }
    free(mine);
    free(counts);
    free(starts);
    free(told);
}

static void check_position(MPI_File file, enum call call, MPI_Offset place, int bytes, int unit)
{
    MPI_Offset now;
    CHECK(MPI_File_get_position(file, &now) == MPI_SUCCESS);
    CHECK(now == place + (moves_pointer(call) ? bytes / unit : 0));
}

/* How much data an access may have from that place on. */
static int most_of(const struct view *view, MPI_Offset place)
{
    MPI_Offset tiles = DATA_MAX;
    if (view->one_tile) {
        tiles = 1;
    } else if (view->tile > 0) {
        tiles = (view->high - view->disp - view->span) / view->tile + 1;
    } else if (view->tile < 0) {
        tiles = (view->disp - view->low) / -view->tile + 1;
    }
    MPI_Offset most = tiles * view->n_tile - place * view->unit;
    return most < 0 ? 0 : most > DATA_MAX ? DATA_MAX : (int)most;
}

static void write_step(MPI_File file, int step, struct dice *dice)
{
    struct view view;
    struct memory memory;
    MPI_Status status;
    draw_view(&view, false);
    enum call call = (enum call)draw(CALLS);
    MPI_Offset place = draw(20);
    CHECK(MPI_File_set_view(file, view.disp, view.etype, view.filetype, "native", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    draw_memory(&memory, view.n_tile == 0 ? 0 : most_of(&view, place), view.unit, dice);
    for (int i = 0; i < memory.bytes; i++) {
        *byte_at(&memory, i) = value_of(step, rank, i);
    }
    CHECK(write_by(call, file, place, &memory, &status) == MPI_SUCCESS);
    check_count(&status, memory.bytes);
    check_position(file, call, place, memory.bytes, view.unit);
    tell_model(&view, place, memory.bytes, step);
    drop_memory(&memory);
    drop_view(&view);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
}

static void read_step(MPI_File file, struct dice *dice)
{
    struct view view;
    struct memory memory;
    MPI_Status status;
    draw_view(&view, true);
    enum call call = (enum call)draw(CALLS);
    MPI_Offset place = draw(20);
    CHECK(MPI_File_set_view(file, view.disp, view.etype, view.filetype, "native", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    draw_memory(&memory, view.tile < 0 ? most_of(&view, place) : DATA_MAX, view.unit, dice);
    CHECK(read_by(call, file, place, &memory, &status) == MPI_SUCCESS);
    int there = 0;
    while (there < memory.bytes && offset_of(&view, place * view.unit + there) < model_size) {
        there++;
    }
    check_count(&status, there);
    check_position(file, call, place, memory.bytes, view.unit);
    for (int i = 0; i < there; i++) {
        CHECK(*byte_at(&memory, i) == model[offset_of(&view, place * view.unit + i)]);
        *byte_at(&memory, i) = 0xee;
    }
    for (size_t i = 0; i < memory.room_bytes; i++) { /* all else is as it was */
        CHECK(memory.room[i] == 0xee);
    }
    drop_memory(&memory);
    drop_view(&view);
}

/* The file itself, by the calls of the system. */
static void check_file(const char *name)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        unsigned char *bytes = malloc(FILE_MAX);
        FILE *file = fopen(name, "rb");
        CHECK(file != NULL);
        CHECK((int)fread(bytes, 1, FILE_MAX, file) == model_size);
        CHECK(memcmp(bytes, model, (size_t)model_size) == 0);
        fclose(file);
        free(bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_Info draw_hints(void)
{
    static const char *const switches[] = {"enable", "automatic", "disable"};
    static const char *const sizes[] = {"64", "100", "1000", "65536"};
    MPI_Info info;
    char nodes[8];
    snprintf(nodes, sizeof(nodes), "%d", draw(size + 1));
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", nodes);
    MPI_Info_set(info, "cb_buffer_size", sizes[draw(4)]);
    MPI_Info_set(info, "ind_rd_buffer_size", sizes[draw(4)]);
    MPI_Info_set(info, "ind_wr_buffer_size", sizes[draw(4)]);
    MPI_Info_set(info, "striping_unit", sizes[draw(4)]);
    MPI_Info_set(info, "romio_cb_write", switches[draw(2)]);
    MPI_Info_set(info, "romio_cb_read", switches[draw(2)]);
    MPI_Info_set(info, "romio_ds_read", switches[draw(3)]);
    MPI_Info_set(info, "rz_commit", draw(8) == 0 ? "true" : "false");
    return info;
}

static void round_of(const char *name, struct dice *dice)
{
    MPI_File file;
    MPI_Info info = draw_hints();
    memset(model, 0, sizeof(model));
    model_size = 0;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file) ==
          MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(MPI_File_set_atomicity(file, draw(6) == 0) == MPI_SUCCESS);
    for (int step = 0; step < STEPS; step++) {
        write_step(file, step, dice);
        read_step(file, dice);
        MPI_Barrier(MPI_COMM_WORLD); /* all have read before one writes */
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL);
    check_file(name);
    if (rank == 0) {
        CHECK(MPI_File_delete(name, MPI_INFO_NULL) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rounds = arguments(argc, argv, 60);
    char name[128];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(name, sizeof(name), "/tmp/rz-file-model-%d", (int)getpid());
    MPI_Bcast(name, (int)sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);
    struct dice dice = {.state = random_state * 1000 + (uint64_t)rank + 1};
    for (int i = 0; i < rounds; i++) {
        seed_of_round = random_state;
        round_of(name, &dice);
    }
    MPI_Finalize();
    return 0;
}
