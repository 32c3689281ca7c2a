/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files. The members' data interleave, so that aggregators write for the others. What a survivor
 * has written and synced with success is in the file, whichever process failed.
 */
#include "kill_matrix.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 16, COUNT_MAX = 4000 /* ints of each member */ };

static MPI_File file = MPI_FILE_NULL;
static char name[96];

static int ints(void)
{
    return scene.count < COUNT_MAX ? scene.count / BLOCK * BLOCK : COUNT_MAX;
}

static int value_of(int i)
{
    return scene.rank * 1000003 + i;
}

/* ---- Before and after a row ---- */

static void remove_last(void)
{
    unlink(name);
}

static void choose_name(void)
{
    static int serial;
    if (serial == 0) {
        atexit(remove_last);
    }
    int pid = (int)getpid();
    unlink(name); /* of the row before, if its commit was late */
    CHECK(MPI_Bcast(&pid, 1, MPI_INT, 0, scene.comm) == MPI_SUCCESS);
    snprintf(name, sizeof(name), "/tmp/rz-kill-file-%d-%d", pid, serial++);
    file = MPI_FILE_NULL;
    for (int i = 0; i < ints(); i++) {
        out[i] = value_of(i);
        in[i] = -1;
    }
}

static int open_file(void)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "8192");
    MPI_Info_set(info, "cb_nodes", scene.how & 4 ? "2" : "0");
    MPI_Info_set(info, "rz_commit", scene.how & 8 ? "true" : "false");
    int error = MPI_File_open(scene.comm, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file);
    MPI_Info_free(&info);
    return error;
}

static int set_view(void)
{
    MPI_Datatype block, filetype;
    MPI_Aint stride = BLOCK * scene.size * (MPI_Aint)sizeof(int);
    MPI_Type_contiguous(BLOCK, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, stride, &filetype);
    MPI_Type_commit(&filetype);
    MPI_Type_free(&block);
    int error = MPI_File_set_view(file, scene.rank * BLOCK * (MPI_Offset)sizeof(int), MPI_INT,
                                  filetype, "native", MPI_INFO_NULL);
    MPI_Type_free(&filetype);
    return error;
}

static void setup(void)
{
    choose_name();
    CHECK(open_file() == MPI_SUCCESS);
    CHECK(set_view() == MPI_SUCCESS);
}

static void setup_full(void)
{
    setup();
    CHECK(MPI_File_write_all(file, out, ints(), MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_seek(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
}

/* A call has ended with `error`: the file is closed, which ends, and removed. */
static int closed(int error)
{
    if (file != MPI_FILE_NULL) {
        int class = class_of(MPI_File_close(&file));
        CHECK(class == MPI_SUCCESS || class == MPI_ERR_PROC_FAILED);
        CHECK(file == MPI_FILE_NULL);
        error = error == MPI_SUCCESS ? class : error;
    }
    unlink(name);
    return error;
}

/* All of this survivor's data are in the file that the others see. */
static int written(int error)
{
    if (error == MPI_SUCCESS && MPI_File_sync(file) == MPI_SUCCESS) {
        for (int i = 0; i < ints(); i++) {
            int found = -1;
            CHECK(MPI_File_read_at(file, i, &found, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(found == value_of(i));
        }
    }
    return closed(error);
}

static int read_back(int error)
{
    if (error == MPI_SUCCESS) {
        CHECK(memcmp(in, out, (size_t)ints() * sizeof(int)) == 0);
    }
    return closed(error);
}

static int end_of(int error, MPI_Request *request)
{
    return error != MPI_SUCCESS ? error : ended(request, MPI_STATUS_IGNORE);
}

/* ---- Rows ---- */

static int row_open(void)
{
    return closed(open_file());
}

static int row_close(void)
{
    return closed(MPI_SUCCESS);
}

/* The file is the new one, or not there at all, and complete if it is. */
static int row_commit(void)
{
    int error = MPI_File_write_all(file, out, ints(), MPI_INT, MPI_STATUS_IGNORE);
    int class = class_of(MPI_File_close(&file)), fd = open(name, O_RDONLY);
    CHECK(class == MPI_SUCCESS || class == MPI_ERR_PROC_FAILED);
    if (fd >= 0 && scene.how & 8) {
        for (int i = 0; i < ints(); i++) {
            int found = -1, at = (i / BLOCK * scene.size + scene.rank) * BLOCK + i % BLOCK;
            CHECK(pread(fd, &found, sizeof(found), at * (off_t)sizeof(int)) == sizeof(found));
            CHECK(found == value_of(i));
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return error == MPI_SUCCESS ? class : error;
}

static int row_set_view(void)
{
    return closed(set_view());
}

static int row_set_size(void)
{
    return closed(MPI_File_set_size(file, 5000));
}

static int row_preallocate(void)
{
    return closed(MPI_File_preallocate(file, 5000));
}

static int row_sync(void)
{
    return closed(MPI_File_sync(file));
}

static int row_set_info(void)
{
    return closed(MPI_File_set_info(file, MPI_INFO_NULL));
}

static int row_set_atomicity(void)
{
    return closed(MPI_File_set_atomicity(file, 1));
}

static int row_seek_shared(void)
{
    return closed(MPI_File_seek_shared(file, 3, MPI_SEEK_SET));
}

static int row_shared(void)
{
    MPI_Offset place;
    CHECK(MPI_File_write_shared(file, out, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_read_shared(file, in, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_get_position_shared(file, &place) == MPI_SUCCESS && place >= 2);
    return closed(MPI_SUCCESS);
}

static int row_independent(void)
{
    MPI_Request request;
    CHECK(MPI_File_iwrite_at(file, 0, out, ints(), MPI_INT, &request) == MPI_SUCCESS);
    CHECK(ended(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_iread_at(file, 0, in, ints(), MPI_INT, &request) == MPI_SUCCESS);
    CHECK(ended(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    return read_back(MPI_SUCCESS);
}

static int row_write_all(void)
{
    return written(MPI_File_write_all(file, out, ints(), MPI_INT, MPI_STATUS_IGNORE));
}

static int row_write_at_all(void)
{
    return written(MPI_File_write_at_all(file, 0, out, ints(), MPI_INT, MPI_STATUS_IGNORE));
}

static int row_iwrite_all(void)
{
    MPI_Request request;
    int error = MPI_File_iwrite_all(file, out, ints(), MPI_INT, &request);
    return written(end_of(error, &request));
}

static int row_iwrite_at_all(void)
{
    MPI_Request request;
    int error = MPI_File_iwrite_at_all(file, 0, out, ints(), MPI_INT, &request);
    return written(end_of(error, &request));
}

static int row_write_split(void)
{
    int error = MPI_File_write_all_begin(file, out, ints(), MPI_INT);
    error = error != MPI_SUCCESS ? error : MPI_File_write_all_end(file, out, MPI_STATUS_IGNORE);
    return written(error);
}

static int row_write_at_split(void)
{
    int error = MPI_File_write_at_all_begin(file, 0, out, ints(), MPI_INT);
    error = error != MPI_SUCCESS ? error : MPI_File_write_at_all_end(file, out, MPI_STATUS_IGNORE);
    return written(error);
}

static int row_write_ordered(void)
{
    return closed(MPI_File_write_ordered(file, out, ints(), MPI_INT, MPI_STATUS_IGNORE));
}

static int row_write_ordered_split(void)
{
    int error = MPI_File_write_ordered_begin(file, out, ints(), MPI_INT);
    error = error != MPI_SUCCESS ? error : MPI_File_write_ordered_end(file, out, MPI_STATUS_IGNORE);
    return closed(error);
}

static int row_read_all(void)
{
    return read_back(MPI_File_read_all(file, in, ints(), MPI_INT, MPI_STATUS_IGNORE));
}

static int row_read_at_all(void)
{
    return read_back(MPI_File_read_at_all(file, 0, in, ints(), MPI_INT, MPI_STATUS_IGNORE));
}

static int row_iread_all(void)
{
    MPI_Request request;
    int error = MPI_File_iread_all(file, in, ints(), MPI_INT, &request);
    return read_back(end_of(error, &request));
}

static int row_iread_at_all(void)
{
    MPI_Request request;
    int error = MPI_File_iread_at_all(file, 0, in, ints(), MPI_INT, &request);
    return read_back(end_of(error, &request));
}

static int row_read_split(void)
{
    int error = MPI_File_read_all_begin(file, in, ints(), MPI_INT);
    error = error != MPI_SUCCESS ? error : MPI_File_read_all_end(file, in, MPI_STATUS_IGNORE);
    return read_back(error);
}

static int row_read_at_split(void)
{
    int error = MPI_File_read_at_all_begin(file, 0, in, ints(), MPI_INT);
    error = error != MPI_SUCCESS ? error : MPI_File_read_at_all_end(file, in, MPI_STATUS_IGNORE);
    return read_back(error);
}

static int row_read_ordered(void)
{
    return closed(MPI_File_read_ordered(file, in, ints(), MPI_INT, MPI_STATUS_IGNORE));
}

static int row_read_ordered_split(void)
{
    int error = MPI_File_read_ordered_begin(file, in, ints(), MPI_INT);
    error = error != MPI_SUCCESS ? error : MPI_File_read_ordered_end(file, in, MPI_STATUS_IGNORE);
    return closed(error);
}

#define FILE_ROW (ROW_FAILS | ROW_FILES)

const struct kill_row kill_file_rows[] = {
    {"file_open", row_open, choose_name, FILE_ROW},
    {"file_close", row_close, setup, FILE_ROW},
    {"file_commit", row_commit, setup, FILE_ROW},
    {"file_set_view", row_set_view, setup, FILE_ROW},
    {"file_set_size", row_set_size, setup, FILE_ROW},
    {"file_preallocate", row_preallocate, setup, FILE_ROW},
    {"file_sync", row_sync, setup, FILE_ROW},
    {"file_set_info", row_set_info, setup, FILE_ROW},
    {"file_set_atomicity", row_set_atomicity, setup, FILE_ROW},
    {"file_seek_shared", row_seek_shared, setup, FILE_ROW},
    {"file_shared", row_shared, setup, FILE_ROW},
    {"file_independent", row_independent, setup, FILE_ROW},
    {"file_write_all", row_write_all, setup, FILE_ROW},
    {"file_write_at_all", row_write_at_all, setup, FILE_ROW},
    {"file_iwrite_all", row_iwrite_all, setup, FILE_ROW},
    {"file_iwrite_at_all", row_iwrite_at_all, setup, FILE_ROW},
    {"file_write_all_begin", row_write_split, setup, FILE_ROW},
    {"file_write_at_all_begin", row_write_at_split, setup, FILE_ROW},
    {"file_write_ordered", row_write_ordered, setup, FILE_ROW},
    {"file_write_ordered_begin", row_write_ordered_split, setup, FILE_ROW},
    {"file_read_all", row_read_all, setup_full, FILE_ROW},
    {"file_read_at_all", row_read_at_all, setup_full, FILE_ROW},
    {"file_iread_all", row_iread_all, setup_full, FILE_ROW},
    {"file_iread_at_all", row_iread_at_all, setup_full, FILE_ROW},
    {"file_read_all_begin", row_read_split, setup_full, FILE_ROW},
    {"file_read_at_all_begin", row_read_at_split, setup_full, FILE_ROW},
    {"file_read_ordered", row_read_ordered, setup_full, FILE_ROW},
    {"file_read_ordered_begin", row_read_ordered_split, setup_full, FILE_ROW},
    {NULL, NULL, NULL, 0},
};
