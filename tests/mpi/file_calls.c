/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls on files that file_model.c does not make: shared pointers, ordered access, modes, sizes,
 * info, error handlers, data representations. Each scene is made by all ranks.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

enum { SHARED_WRITES = 20 };

static int rank, size;
static char name[128];

static MPI_File open_file(int amode)
{
    MPI_File file;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    return file;
}

static MPI_File open_new(void)
{
    return open_file(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
}

static void close_file(MPI_File file)
{
    CHECK(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL);
}

static void everyone(MPI_File file)
{
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void view_of_ints(MPI_File file)
{
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
}

/* ---- Shared pointers ---- */

/* Every record is in the file once, and those of each rank in their order. */
static void check_records(MPI_File file, int each)
{
    int n = each * size, *records = malloc((size_t)n * sizeof(int)),
        *next = calloc((size_t)size, sizeof(int));
    MPI_Status status;
    CHECK(MPI_File_read_at(file, 0, records, n, MPI_INT, &status) == MPI_SUCCESS);
    int got;
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(got == n);
    for (int i = 0; i < n; i++) {
        int writer = records[i] / 1000;
        CHECK(writer >= 0 && writer < size && records[i] % 1000 == next[writer]++);
    }
    free(records);
    free(next);
}

static void shared_pointer(void)
{
    MPI_File file = open_new();
    MPI_Offset place;
    view_of_ints(file);
    for (int i = 0; i < SHARED_WRITES; i++) {
        int record = rank * 1000 + i;
        MPI_Request request;
        if (i % 2) {
            CHECK(MPI_File_write_shared(file, &record, 1, MPI_INT, MPI_STATUS_IGNORE) ==
                  MPI_SUCCESS);
        } else {
            CHECK(MPI_File_iwrite_shared(file, &record, 1, MPI_INT, &request) == MPI_SUCCESS);
            CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
    }
    everyone(file);
    CHECK(MPI_File_get_position_shared(file, &place) == MPI_SUCCESS);
    CHECK(place == (MPI_Offset)SHARED_WRITES * size);
    check_records(file, SHARED_WRITES);
    CHECK(MPI_File_seek_shared(file, -1, MPI_SEEK_CUR) == MPI_SUCCESS);
    CHECK(MPI_File_get_position_shared(file, &place) == MPI_SUCCESS);
    CHECK(place == (MPI_Offset)SHARED_WRITES * size - 1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    int mine = -1, all = 0, sum = 0;
    CHECK(MPI_File_read_shared(file, &mine, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) {
        int record;
        CHECK(MPI_File_read_at(file, i, &record, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        all += record;
    }
    CHECK(all == sum);
    view_of_ints(file); /* sets it to 0 */
    CHECK(MPI_File_get_position_shared(file, &place) == MPI_SUCCESS && place == 0);
    close_file(file);
}

/* Each rank has rank + 1 records. */
static void ordered(bool split)
{
    MPI_File file = open_new();
    int records[64], got[64], before = rank * (rank + 1) / 2, all = size * (size + 1) / 2;
    MPI_Offset place;
    view_of_ints(file);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i <= rank; i++) {
            records[i] = round * 100000 + before + i;
        }
        if (split) {
            CHECK(MPI_File_write_ordered_begin(file, records, rank + 1, MPI_INT) == MPI_SUCCESS);
            CHECK(MPI_File_write_ordered_end(file, records, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        } else {
            CHECK(MPI_File_write_ordered(file, records, rank + 1, MPI_INT, MPI_STATUS_IGNORE) ==
                  MPI_SUCCESS);
        }
    }
    everyone(file);
    CHECK(MPI_File_get_position_shared(file, &place) == MPI_SUCCESS && place == 3 * all);
    for (int i = 0; i < 3 * all; i++) {
        int record;
        CHECK(MPI_File_read_at(file, i, &record, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(record == i / all * 100000 + i % all);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    memset(got, 0, sizeof(got));
    if (split) {
        CHECK(MPI_File_read_ordered_begin(file, got, rank + 1, MPI_INT) == MPI_SUCCESS);
        CHECK(MPI_File_read_ordered_end(file, got, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } else {
        CHECK(MPI_File_read_ordered(file, got, rank + 1, MPI_INT, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
    }
    for (int i = 0; i <= rank; i++) {
        CHECK(got[i] == before + i);
    }
    close_file(file);
}

/* ---- Modes, sizes, views ---- */

static void modes(void)
{
    MPI_File file;
    MPI_Offset place, bytes;
    int amode, data = rank;
    file = open_file(MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL);
    CHECK(MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof(int), &data, 1, MPI_INT,
                                MPI_STATUS_IGNORE) == MPI_SUCCESS);
    close_file(file);
    CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, name,
                                 MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL,
                                 &file)) == MPI_ERR_FILE_EXISTS);
    file = open_file(MPI_MODE_RDWR | MPI_MODE_APPEND);
    CHECK(MPI_File_get_amode(file, &amode) == MPI_SUCCESS);
    CHECK(amode == (MPI_MODE_RDWR | MPI_MODE_APPEND));
    CHECK(MPI_File_get_position(file, &place) == MPI_SUCCESS);
    CHECK(place == size * (MPI_Offset)sizeof(int));
    CHECK(MPI_File_get_position_shared(file, &place) == MPI_SUCCESS);
    CHECK(place == size * (MPI_Offset)sizeof(int));
    CHECK(MPI_File_set_size(file, 10000) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == 10000);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_preallocate(file, 20000) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == 20000);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_set_size(file, 100) == MPI_SUCCESS);
    CHECK(MPI_File_seek(file, -10, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &place) == MPI_SUCCESS && place == 90);
    CHECK(MPI_File_seek(file, 5, MPI_SEEK_CUR) == MPI_SUCCESS);
    CHECK(MPI_File_get_byte_offset(file, 95, &bytes) == MPI_SUCCESS && bytes == 95);
    close_file(file);
    if (rank == 0) {
        CHECK(MPI_File_delete(name, MPI_INFO_NULL) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void sequential(void)
{
    MPI_File file = open_file(MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL);
    int record = rank;
    CHECK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_ordered(file, &record, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_write_all(file, &record, 1, MPI_INT, MPI_STATUS_IGNORE)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    close_file(file);
    file = open_file(MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
    CHECK(MPI_File_read_at(file, rank * (MPI_Offset)sizeof(int), &record, 1, MPI_INT,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(record == rank);
    close_file(file);
    CHECK(access(name, F_OK) != 0);
}

static void views(void)
{
    MPI_File file = open_new();
    MPI_Datatype etype, filetype, type;
    MPI_Offset disp, bytes;
    char datarep[MPI_MAX_DATAREP_STRING];
    int combiner, n;
    MPI_Group group, world;
    CHECK(MPI_File_get_view(file, &disp, &etype, &filetype, datarep) == MPI_SUCCESS);
    CHECK(disp == 0 && etype == MPI_BYTE && filetype == MPI_BYTE && strcmp(datarep, "native") == 0);
    MPI_Type_vector(3, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_set_view(file, 12, MPI_INT, type, "internal", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&type);
    CHECK(MPI_File_get_view(file, &disp, &etype, &filetype, datarep) == MPI_SUCCESS);
    CHECK(disp == 12 && etype == MPI_INT && strcmp(datarep, "internal") == 0);
    MPI_Type_get_envelope(filetype, &n, &n, &n, &combiner);
    CHECK(combiner == MPI_COMBINER_VECTOR);
    MPI_Type_free(&filetype);
    CHECK(MPI_File_get_byte_offset(file, 4, &bytes) == MPI_SUCCESS);
    CHECK(bytes == 12 + 20 + 8); /* the second of the second tile, whose extent is 5 ints */
    CHECK(MPI_File_get_group(file, &group) == MPI_SUCCESS);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    CHECK(MPI_Group_compare(group, world, &n) == MPI_SUCCESS && n == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    close_file(file);
}

/* Two blocks of `each` bytes, the second at the offset `second`, in tiles of that extent. */
static MPI_Datatype two_blocks(int each, MPI_Aint second, MPI_Aint extent)
{
    MPI_Datatype blocks, type;
    const MPI_Aint places[] = {0, second};
    MPI_Type_create_hindexed_block(2, each, places, MPI_BYTE, &blocks);
    MPI_Type_create_resized(blocks, 0, extent, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&blocks);
    return type;
}

/* Writes text through tiles of two blocks, all of one rank. */
static void tiles_of(int each, MPI_Aint second, MPI_Aint extent, MPI_Offset disp,
                     const char *expected)
{
    char text[26], found[64] = "";
    MPI_File file;
    MPI_Datatype type = two_blocks(each, second, extent);
    int n = 0, got;
    for (int i = 0; i < 26; i++) {
        text[i] = (char)('a' + i);
        n += strchr(expected, text[i]) ? i + 1 - n : 0;
    }
    CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
    CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, disp, MPI_BYTE, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(file, 0, text, n, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Status status;
    CHECK(MPI_File_read_at(file, 0, found, 63, MPI_BYTE, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_BYTE, &got);
    for (int i = 0; i < got; i++) {
        found[i] = (char)(found[i] == 0 ? '.' : found[i]);
    }
    CHECK(strcmp(found, expected) == 0);
    MPI_Type_free(&type);
    close_file(file);
    CHECK(MPI_File_delete(name, MPI_INFO_NULL) == MPI_SUCCESS);
}

static void refused(MPI_File file, MPI_Datatype type, const char *why)
{
    char text[MPI_MAX_ERROR_STRING];
    int n, error = MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL);
    CHECK(class_of(error) == MPI_ERR_ARG);
    MPI_Error_string(error, text, &n);
    CHECK(rank != 0 || strstr(text, why));
    MPI_Type_free(&type);
}

/* One tile must not fall or overlap; tiles may begin before the last one ends, as those of HDF5 and
 * PnetCDF do. Data lie where the formula says, the later ones above. */
static void tiles(void)
{
    if (rank == 0) {
        tiles_of(4, 8, 12, 0, "abcd....efghijkl....mnop");
        tiles_of(4, 8, 4, 0, "abcdijklefghmnop");
        tiles_of(2, 2, 2, 0, "abefijkl"); /* the middle of each tile is written twice */
        tiles_of(2, 2, 0, 1, ".efgh");
        tiles_of(2, 4, -2, 2,
                 "efab"
                 "gh"
                 "cd");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File file = open_new();
    MPI_Datatype type = two_blocks(4, 8, -4);
    char data[12] = "";
    int got = class_of(MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL));
    CHECK(got == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(file, 0, data, 8, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    got = class_of(MPI_File_write_at_all(file, 0, data, 9, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(got == MPI_ERR_ARG); /* the second tile would lie before the file */
    CHECK(class_of(MPI_File_seek(file, 0, MPI_SEEK_END)) == MPI_ERR_ARG);
    MPI_Type_free(&type);
    refused(file, two_blocks(4, 2, 20), "displacements that do not grow");
    refused(file, two_blocks(4, -8, 20), "displacements that do not grow");
    close_file(file);
}

static void check_hint(MPI_Info info, const char *key, const char *expected)
{
    char value[MPI_MAX_INFO_VAL];
    int flag, length = (int)sizeof(value);
    CHECK(MPI_Info_get_string(info, key, &length, value, &flag) == MPI_SUCCESS);
    CHECK(flag && strcmp(value, expected) == 0);
}

static void hints(void)
{
    MPI_File file;
    MPI_Info info, used;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "4096");
    MPI_Info_set(info, "cb_nodes", "nonsense");
    MPI_Info_set(info, "romio_cb_write", "disable");
    MPI_Info_set(info, "access_style", "write_once,sequential");
    MPI_Info_set(info, "an_unknown_hint", "1");
    MPI_Info_set(info, "file_perm", "600");
    CHECK(MPI_File_open(MPI_COMM_WORLD, name,
                        MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info,
                        &file) == MPI_SUCCESS);
    MPI_Info_set(info, "cb_buffer_size", "8192");
    CHECK(MPI_File_set_info(file, info) == MPI_SUCCESS);
    CHECK(MPI_File_get_info(file, &used) == MPI_SUCCESS);
    check_hint(used, "cb_buffer_size", "8192");
    check_hint(used, "cb_nodes", "0");
    check_hint(used, "romio_cb_write", "disable");
    check_hint(used, "romio_cb_read", "automatic");
    check_hint(used, "access_style", "write_once,sequential");
    check_hint(used, "rz_commit", "false");
    check_hint(used, "file_perm", "600");
    struct stat status;
    CHECK(stat(name, &status) == 0 && (status.st_mode & 0777) == 0600);
    MPI_Info_free(&used);
    MPI_Info_free(&info);
    close_file(file);
}

/* With rz_commit the file keeps its contents until the close, and begins as a copy of them. */
static void commits(void)
{
    MPI_File file = open_file(MPI_MODE_WRONLY | MPI_MODE_CREATE);
    MPI_Info info;
    int data = 5, found;
    CHECK(MPI_File_write_at_all(file, 4L * rank, &data, 1, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    close_file(file);
    MPI_Info_create(&info);
    MPI_Info_set(info, "rz_commit", "true");
    for (int pass = 0; pass < 2; pass++) { /* in the first a write fails */
        MPI_File old, changed;
        CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, info, &changed) == MPI_SUCCESS);
        CHECK(MPI_File_read_at(changed, 4L * rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(found == 5);
        data = 7 + pass;
        MPI_Offset place = pass == 0 && rank == 0 ? -1 : 4L * rank;
        int error = MPI_File_write_at_all(changed, place, &data, 1, MPI_INT, MPI_STATUS_IGNORE);
        CHECK(class_of(error) == (place < 0 ? MPI_ERR_ARG : MPI_SUCCESS));
        old = open_file(MPI_MODE_RDONLY);
        CHECK(MPI_File_read_at(old, 4L * rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(found == 5);
        close_file(old);
        error = class_of(MPI_File_close(&changed));
        CHECK(error == (pass == 0 ? MPI_ERR_IO : MPI_SUCCESS) && changed == MPI_FILE_NULL);
    }
    MPI_Info_free(&info);
    file = open_file(MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
    CHECK(MPI_File_read_at(file, 4L * rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(found == 8);
    close_file(file);
}

/* ---- Error handlers ---- */

static int seen, seen_code;
static MPI_File seen_file;

static void on_error(MPI_File *file, int *code, ...)
{
    seen++;
    seen_code = class_of(*code);
    seen_file = *file;
}

static void error_handlers(void)
{
    MPI_File file, other;
    MPI_Errhandler handler, got;
    MPI_Request request;
    int data = 0;
    MPI_File_create_errhandler(on_error, &handler);
    file = open_new();
    CHECK(MPI_File_get_errhandler(file, &got) == MPI_SUCCESS && got == MPI_ERRORS_RETURN);
    CHECK(MPI_File_set_errhandler(file, handler) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_seek(file, -1, MPI_SEEK_SET)) == MPI_ERR_ARG);
    CHECK(seen == 1 && seen_code == MPI_ERR_ARG && seen_file == file);
    CHECK(MPI_File_call_errhandler(file, MPI_ERR_IO) == MPI_SUCCESS);
    CHECK(seen == 2 && seen_code == MPI_ERR_IO && seen_file == file);
    /* MPI_File_open has no file yet */
    CHECK(class_of(MPI_File_open(MPI_COMM_SELF, "/nowhere/nothing", MPI_MODE_RDONLY, MPI_INFO_NULL,
                                 &other)) == MPI_ERR_NO_SUCH_FILE);
    CHECK(seen == 2);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, handler) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_open(MPI_COMM_SELF, "/nowhere/nothing", MPI_MODE_RDONLY, MPI_INFO_NULL,
                                 &other)) == MPI_ERR_NO_SUCH_FILE);
    CHECK(seen == 3 && seen_file == MPI_FILE_NULL);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_free(&got);
    /* an error of a collective request: one rank passes a wrong offset, the others write */
    CHECK(MPI_File_iwrite_at_all(file, rank == 0 ? -1 : rank * 4, &data, 1, MPI_INT, &request) ==
          MPI_SUCCESS);
    int error = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(rank == 0 ? error == MPI_ERR_ARG && seen == 4 && seen_file == file
                    : error == MPI_SUCCESS && seen == 3);
    close_file(file);
}

/* ---- Data representations ---- */

static void external32(void)
{
    MPI_File file = open_new();
    long longs[8], back[8];
    unsigned char bytes[4];
    MPI_Aint extent;
    MPI_Datatype filetype;
    MPI_Status status;
    int n;
    MPI_Type_vector(4, 2, 2 * size, MPI_LONG, &filetype);
    MPI_Type_commit(&filetype);
    for (int i = 0; i < 8; i++) {
        longs[i] = rank * 1000 - i;
    }
    CHECK(MPI_File_set_view(file, rank * 8L, MPI_LONG, filetype, "external32", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    CHECK(MPI_File_get_type_extent(file, MPI_LONG, &extent) == MPI_SUCCESS && extent == 4);
    CHECK(MPI_File_write_all(file, longs, 8, MPI_LONG, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_LONG, &n);
    CHECK(n == 8);
    everyone(file);
    CHECK(MPI_File_read_at_all(file, 0, back, 8, MPI_LONG, &status) == MPI_SUCCESS);
    CHECK(memcmp(back, longs, sizeof(longs)) == 0);
    longs[0] = 1L << 40; /* does not fit 4 bytes */
    CHECK(class_of(MPI_File_write_at(file, 0, longs, 1, MPI_LONG, MPI_STATUS_IGNORE)) ==
          MPI_ERR_CONVERSION);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(file, rank * 8 + 4, bytes, 4, MPI_BYTE, &status) == MPI_SUCCESS);
    int32_t value = rank * 1000 - 1;
    for (int i = 0; i < 4; i++) {
        CHECK(bytes[i] == (unsigned char)((uint32_t)value >> (24 - 8 * i)));
    }
    MPI_Type_free(&filetype);
    close_file(file);
}

/* Ints as two bytes, high one first. */
static int short_extent(MPI_Datatype datatype, MPI_Aint *extent, void *extra)
{
    (void)datatype;
    CHECK(*(int *)extra == 7);
    *extent = 2;
    return MPI_SUCCESS;
}

static int short_write(void *user, MPI_Datatype datatype, MPI_Count count, void *stored,
                       MPI_Offset position, void *extra)
{
    CHECK(datatype == MPI_INT && position == 0 && *(int *)extra == 7);
    for (MPI_Count i = 0; i < count; i++) {
        ((unsigned char *)stored)[2 * i] = (unsigned char)(((int *)user)[i] >> 8);
        ((unsigned char *)stored)[2 * i + 1] = (unsigned char)((int *)user)[i];
    }
    return MPI_SUCCESS;
}

/* A request that the conversion asks about while it is being ended: the null handle by then. */
static MPI_Request *asked_meanwhile;

static int short_read(void *user, MPI_Datatype datatype, MPI_Count count, void *stored,
                      MPI_Offset position, void *extra)
{
    CHECK(datatype == MPI_INT && position == 0 && *(int *)extra == 7);
    for (MPI_Count i = 0; i < count; i++) {
        const unsigned char *bytes = (unsigned char *)stored + 2 * i;
        ((int *)user)[i] = bytes[0] << 8 | bytes[1];
    }
    int flag = 1;
    CHECK(!asked_meanwhile || MPI_Test(asked_meanwhile, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(flag);
    return MPI_SUCCESS;
}

static void registered(void)
{
    static int seven = 7;
    MPI_File file = open_new();
    MPI_Request request;
    int data[5], back[5] = {0}, n;
    MPI_Offset bytes;
    MPI_Status status;
    CHECK(MPI_Register_datarep_c("short", short_read, short_write, short_extent, &seven) ==
          MPI_SUCCESS);
    CHECK(class_of(MPI_Register_datarep_c("short", short_read, short_write, short_extent,
                                          &seven)) == MPI_ERR_DUP_DATAREP);
    for (int i = 0; i < 5; i++) {
        data[i] = rank * 100 + i;
    }
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "short", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_iwrite_at_all(file, rank * 5, data, 5, MPI_INT, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    everyone(file);
    CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == 10L * size);
    CHECK(MPI_File_iread_at(file, rank * 5, back, 5, MPI_INT, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_INT, &n);
    CHECK(n == 5 && memcmp(data, back, sizeof(data)) == 0);
    asked_meanwhile = &request;
    for (int all = 0; all < 2; all++) {
        memset(back, 0, sizeof(back));
        CHECK((all ? MPI_File_iread_at_all : MPI_File_iread_at)(file, rank * 5, back, 5, MPI_INT,
                                                                &request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(request == MPI_REQUEST_NULL && memcmp(data, back, sizeof(data)) == 0);
    }
    asked_meanwhile = NULL;
    /* past the end: fewer */
    CHECK(MPI_File_read_at(file, 5 * size - 2, back, 5, MPI_INT, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_INT, &n);
    CHECK(n == 2 && back[1] == (size - 1) * 100 + 4);
    close_file(file);
}

/* ---- Several requests and files at once ---- */

static void many_at_once(void)
{
    enum { N = 6 };
    MPI_File files[2] = {MPI_FILE_NULL, MPI_FILE_NULL};
    MPI_Request requests[4 * N];
    int data[4 * N], back[4 * N];
    char other[160];
    snprintf(other, sizeof(other), "%s-other", name);
    files[0] = open_new();
    CHECK(MPI_File_open(MPI_COMM_WORLD, other,
                        MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &files[1]) == MPI_SUCCESS);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < 4 * N; i++) {
            MPI_File file = files[i % 2];
            MPI_Offset place = 4L * (i * size + rank);
            data[i] = rank * 1000 + i;
            int error = pass == 0 ? (i % 4 < 2 ? MPI_File_iwrite_at_all : MPI_File_iwrite_at)(
                                        file, place, &data[i], 1, MPI_INT, &requests[i])
                                  : (i % 4 < 2 ? MPI_File_iread_at_all : MPI_File_iread_at)(
                                        file, place, &back[i], 1, MPI_INT, &requests[i]);
            CHECK(error == MPI_SUCCESS);
        }
        CHECK(MPI_Waitall(4 * N, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    }
    CHECK(memcmp(data, back, sizeof(data)) == 0);
    close_file(files[1]);
    close_file(files[0]);
}

/* In atomic mode a record that several ranks write is that of one of them. */
static void atomic(void)
{
    enum { N = 5000 };
    static int mine[N], got[N];
    MPI_File file = open_new();
    int flag;
    CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
    CHECK(MPI_File_get_atomicity(file, &flag) == MPI_SUCCESS && flag);
    for (int i = 0; i < N; i++) {
        mine[i] = rank;
    }
    for (int round = 0; round < 10; round++) {
        CHECK(MPI_File_write_at(file, 0, mine, N, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_read_at(file, 0, got, N, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (int i = 1; i < N; i++) {
            CHECK(got[i] == got[0]);
        }
        CHECK(MPI_File_write_at_all(file, 0, mine, N, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    close_file(file);
}

/* No call waits for the other end of a pipe; a device in which one can seek is a file. */
static void pipes(void)
{
    static const int modes[] = {MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR,
                                MPI_MODE_WRONLY | MPI_MODE_CREATE};
    char text[MPI_MAX_ERROR_STRING];
    MPI_File file;
    MPI_Info info;
    int length;
    MPI_Info_create(&info);
    MPI_Info_set(info, "rz_commit", "true");
    CHECK(rank != 0 || mkfifo(name, 0600) == 0);
    for (int i = 0; i < 8; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        int error =
            MPI_File_open(MPI_COMM_WORLD, name, modes[i % 4], i < 4 ? MPI_INFO_NULL : info, &file);
        CHECK(class_of(error) == MPI_ERR_BAD_FILE);
        MPI_Error_string(error, text, &length);
        CHECK(strstr(text, "it is a pipe") != NULL);
    }
    MPI_Info_free(&info);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank != 0 || unlink(name) == 0);
    CHECK(MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
          MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(file, 8, &length, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    close_file(file);
}

/* Pieces of one length, of each rank in turn; long ones are written without aggregators on a node,
 * unless a hint asks for them. Rank 0 may have short ones beside the long ones of the others. */
static void pieces_in_turn(int bytes, int bytes_of_first, const char *with_aggregators)
{
    enum { N = 5 };
    int n = (rank == 0 ? bytes_of_first : bytes) / 4, before = rank == 0 ? 0 : bytes_of_first / 4;
    int whole = bytes_of_first / 4 + (size - 1) * (bytes / 4);
    int *mine = malloc((size_t)N * (size_t)n * 4), *all = malloc((size_t)N * (size_t)whole * 4);
    MPI_Datatype piece;
    MPI_Info info;
    MPI_Status status;
    before += rank > 1 ? (rank - 1) * (bytes / 4) : 0;
    for (int i = 0; i < N * n; i++) {
        mine[i] = i / n * whole + before + i % n;
    }
    MPI_Type_create_subarray(1, &whole, &n, &before, MPI_ORDER_C, MPI_INT, &piece);
    MPI_Type_commit(&piece);
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", with_aggregators);
    MPI_File file = open_new();
    CHECK(MPI_File_set_view(file, 0, MPI_INT, piece, "native", info) == MPI_SUCCESS);
    CHECK(MPI_File_write_all(file, mine, N * n, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    everyone(file);
    view_of_ints(file);
    CHECK(MPI_File_read_at_all(file, 0, all, N * whole, MPI_INT, &status) == MPI_SUCCESS);
    int got;
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(got == N * whole);
    for (int i = 0; i < N * whole; i++) {
        CHECK(all[i] == i);
    }
    close_file(file);
    MPI_Info_free(&info);
    MPI_Type_free(&piece);
    free(mine);
    free(all);
}

static void pieces(void)
{
    const char *ways[] = {"automatic", "enable", "disable"};
    for (int i = 0; i < 3; i++) {
        pieces_in_turn(4000, 4000, ways[i]);
        pieces_in_turn(16384, 16384, ways[i]);
        pieces_in_turn(40000, 8, ways[i]);
    }
}

/* ---- Reads past the end of the file ---- */

enum {
    READ_ALL,
    READ_AT_ALL,
    IREAD_ALL,
    IREAD_AT_ALL,
    SPLIT,
    SPLIT_AT,
    ORDERED,
    SPLIT_ORDERED,
    READS
};

/* Three elements, from the beginning of the file on, or of the part of this rank. */
static void read_by(int call, MPI_File file, int *buffer, MPI_Datatype type, MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int error = MPI_SUCCESS;
    CHECK(MPI_File_seek(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    if (call == READ_ALL) {
        error = MPI_File_read_all(file, buffer, 3, type, status);
    } else if (call == READ_AT_ALL) {
        error = MPI_File_read_at_all(file, 0, buffer, 3, type, status);
    } else if (call == IREAD_ALL) {
        error = MPI_File_iread_all(file, buffer, 3, type, &request);
    } else if (call == IREAD_AT_ALL) {
        error = MPI_File_iread_at_all(file, 0, buffer, 3, type, &request);
    } else if (call == SPLIT) {
        CHECK(MPI_File_read_all_begin(file, buffer, 3, type) == MPI_SUCCESS);
        error = MPI_File_read_all_end(file, buffer, status);
    } else if (call == SPLIT_AT) {
        CHECK(MPI_File_read_at_all_begin(file, 0, buffer, 3, type) == MPI_SUCCESS);
        error = MPI_File_read_at_all_end(file, buffer, status);
    } else if (call == ORDERED) {
        error = MPI_File_read_ordered(file, buffer, 3, type, status);
    } else {
        CHECK(MPI_File_read_ordered_begin(file, buffer, 3, type) == MPI_SUCCESS);
        error = MPI_File_read_ordered_end(file, buffer, status);
    }
    CHECK(error == MPI_SUCCESS);
    if (request != MPI_REQUEST_NULL) {
        CHECK(MPI_Wait(&request, status) == MPI_SUCCESS);
    }
}

/* What lies behind the end of the file leaves the memory as it is; the status counts the rest. */
static void past_end(const char *with_aggregators)
{
    enum { IN_FILE = 9, EACH = 12 };
    const int in_file[IN_FILE] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    MPI_File file = open_new();
    MPI_Datatype pairs;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_read", with_aggregators);
    MPI_Info_set(info, "cb_buffer_size", "16");
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", info) == MPI_SUCCESS);
    if (rank == 0) {
        CHECK(MPI_File_write_at(file, 0, in_file, IN_FILE, MPI_INT, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
    }
    everyone(file);
    MPI_Type_vector(2, 2, 3, MPI_INT, &pairs); /* 4 ints in 5 */
    MPI_Type_commit(&pairs);
    for (int call = 0; call < READS; call++) {
        int buffer[15], n, first = call >= ORDERED ? rank * EACH : 0;
        int there = IN_FILE - first < 0 ? 0 : IN_FILE - first;
        MPI_Status status;
        memset(buffer, 0xee, sizeof(buffer));
        read_by(call, file, buffer, pairs, &status);
        CHECK(MPI_Get_elements(&status, pairs, &n) == MPI_SUCCESS && n == there);
        for (int i = 0, data = 0; i < 15; i++) {
            bool read = i % 5 != 2 && data < there;
            CHECK(buffer[i] == (read ? in_file[data] : (int)0xeeeeeeee));
            data += i % 5 != 2;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&pairs);
    MPI_Info_free(&info);
    close_file(file);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(name, sizeof(name), "/tmp/rz-file-calls-%d", (int)getpid());
    MPI_Bcast(name, (int)sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);
    shared_pointer();
    ordered(false);
    ordered(true);
    modes();
    sequential();
    views();
    tiles();
    hints();
    commits();
    error_handlers();
    external32();
    registered();
    many_at_once();
    atomic();
    pipes();
    pieces();
    past_end("enable");
    past_end("automatic");
    past_end("disable");
    MPI_Finalize();
    return 0;
}
