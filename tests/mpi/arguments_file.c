/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong arguments of calls on files: what is wrong by meaning. */
#include <stddef.h>

#include "arguments.h"

static void rows_open(void)
{
    const char *name = "/tmp/rz-arguments-none";
    MPI_File file;
    ROW(MPI_ERR_AMODE, "MPI_File_open", "amode",
        MPI_File_open(good.comm, name, 0, MPI_INFO_NULL, &file));
    ROW(MPI_ERR_AMODE, "MPI_File_open", "amode",
        MPI_File_open(good.comm, name, MPI_MODE_RDONLY | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    ROW(MPI_ERR_AMODE, "MPI_File_open", "amode",
        MPI_File_open(good.comm, name, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    ROW(MPI_ERR_AMODE, "MPI_File_open", "amode",
        MPI_File_open(good.comm, name, MPI_MODE_RDONLY | MPI_MODE_EXCL, MPI_INFO_NULL, &file));
    ROW(MPI_ERR_AMODE, "MPI_File_open", "amode",
        MPI_File_open(good.comm, name, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file));
    ROW(MPI_ERR_AMODE, "MPI_File_open", "amode",
        MPI_File_open(good.comm, name, MPI_MODE_RDONLY | 0x8000, MPI_INFO_NULL, &file));
    ROW(MPI_ERR_BAD_FILE, "MPI_File_open", "filename",
        MPI_File_open(good.comm, "", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    ROW(MPI_ERR_COMM, "MPI_File_open", "comm",
        MPI_File_open(good.inter, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    ROW(MPI_ERR_NO_SUCH_FILE, "MPI_File_open", "",
        MPI_File_open(good.comm, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    ROW(MPI_ERR_BAD_FILE, "MPI_File_open", "",
        MPI_File_open(good.comm, "/tmp", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    ROW(MPI_ERR_NO_SUCH_FILE, "MPI_File_delete", "", MPI_File_delete(name, MPI_INFO_NULL));
    ROW(MPI_ERR_BAD_FILE, "MPI_File_delete", "filename", MPI_File_delete("", MPI_INFO_NULL));
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "rz_commit", "yes");
    ROW(MPI_ERR_INFO_VALUE, "MPI_File_open", "rz_commit",
        MPI_File_open(good.comm, name, MPI_MODE_WRONLY, info, &file));
    MPI_Info_free(&info);
}

static void rows_view(void)
{
    MPI_Datatype falls, wide;
    int lengths[] = {1, 1}, places[] = {1, 0};
    MPI_Type_indexed(2, lengths, places, MPI_INT, &falls);
    MPI_Type_commit(&falls);
    MPI_Type_create_hvector(2, 2, 4, MPI_INT, &wide);
    MPI_Type_commit(&wide);
#define VIEW(disp, etype, filetype, datarep)                                                       \
    MPI_File_set_view(good.file, disp, etype, filetype, datarep, MPI_INFO_NULL)
    ROW(MPI_ERR_ARG, "MPI_File_set_view", "disp", VIEW(-1, MPI_INT, MPI_INT, "native"));
    ROW(MPI_ERR_ARG, "MPI_File_set_view", "disp", VIEW(-7, MPI_INT, MPI_INT, "native"));
    ROW(MPI_ERR_TYPE, "MPI_File_set_view", "filetype",
        VIEW(0, MPI_INT, good.uncommitted, "native"));
    ROW(MPI_ERR_TYPE, "MPI_File_set_view", "etype", VIEW(0, good.uncommitted, MPI_INT, "native"));
    ROW(MPI_ERR_ARG, "MPI_File_set_view", "filetype", VIEW(0, MPI_INT, MPI_SHORT, "native"));
    ROW(MPI_ERR_ARG, "MPI_File_set_view", "filetype", VIEW(0, MPI_INT, falls, "native"));
    ROW(MPI_ERR_ARG, "MPI_File_set_view", "filetype", VIEW(0, MPI_INT, wide, "native"));
    ROW(MPI_ERR_UNSUPPORTED_DATAREP, "MPI_File_set_view", "datarep",
        VIEW(0, MPI_INT, MPI_INT, "nothing"));
    MPI_Type_free(&falls);
    MPI_Type_free(&wide);
}

static void rows_places(void)
{
    MPI_Offset offset;
    MPI_File file = good.file;
    ROW(MPI_ERR_ARG, "MPI_File_seek", "whence", MPI_File_seek(file, 0, 7));
    ROW(MPI_ERR_ARG, "MPI_File_seek", "offset", MPI_File_seek(file, -1, MPI_SEEK_SET));
    ROW(MPI_ERR_ARG, "MPI_File_seek_shared", "whence", MPI_File_seek_shared(file, 0, 7));
    ROW(MPI_ERR_ARG, "MPI_File_seek_shared", "offset",
        MPI_File_seek_shared(file, -1, MPI_SEEK_SET));
    ROW(MPI_ERR_ARG, "MPI_File_get_byte_offset", "offset",
        MPI_File_get_byte_offset(file, -1, &offset));
    ROW(MPI_ERR_ARG, "MPI_File_set_size", "size", MPI_File_set_size(file, -1));
    ROW(MPI_ERR_ARG, "MPI_File_preallocate", "size", MPI_File_preallocate(file, -1));
#define AT(function, ...)                                                                          \
    ROW(MPI_ERR_ARG, #function, "offset", function(file, -1, out.buffer, 1, MPI_INT, __VA_ARGS__))
    AT(MPI_File_read_at, &out.status);
    AT(MPI_File_write_at, &out.status);
    AT(MPI_File_read_at_all, &out.status);
    AT(MPI_File_write_at_all, &out.status);
    AT(MPI_File_iread_at, &out.request);
    AT(MPI_File_iwrite_at, &out.request);
}

static void rows_modes(void)
{
    MPI_File reader, writer, tape;
    const char *name = good.file_name;
    MPI_File_open(good.comm, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &reader);
    MPI_File_open(good.comm, name, MPI_MODE_WRONLY, MPI_INFO_NULL, &writer);
    MPI_File_open(good.comm, name, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &tape);
    ROW(MPI_ERR_READ_ONLY, "MPI_File_write", "",
        MPI_File_write(reader, good.buffer, 1, MPI_INT, &out.status));
    ROW(MPI_ERR_READ_ONLY, "MPI_File_write_all", "",
        MPI_File_write_all(reader, good.buffer, 1, MPI_INT, &out.status));
    ROW(MPI_ERR_READ_ONLY, "MPI_File_write_shared", "",
        MPI_File_write_shared(reader, good.buffer, 1, MPI_INT, &out.status));
    ROW(MPI_ERR_READ_ONLY, "MPI_File_set_size", "", MPI_File_set_size(reader, 1));
    ROW(MPI_ERR_ACCESS, "MPI_File_read", "",
        MPI_File_read(writer, out.buffer, 1, MPI_INT, &out.status));
    ROW(MPI_ERR_ACCESS, "MPI_File_read_ordered", "",
        MPI_File_read_ordered(writer, out.buffer, 1, MPI_INT, &out.status));
    ROW(MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_write", "",
        MPI_File_write(tape, good.buffer, 1, MPI_INT, &out.status));
    ROW(MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_write_at", "",
        MPI_File_write_at(tape, 0, good.buffer, 1, MPI_INT, &out.status));
    ROW(MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_seek", "", MPI_File_seek(tape, 0, MPI_SEEK_SET));
    MPI_File_close(&reader);
    MPI_File_close(&writer);
    MPI_File_close(&tape);
}

static void rows_split(void)
{
    MPI_File file = good.file, copy = file;
    double data = 0, other = 0;
    ROW(MPI_ERR_OTHER, "MPI_File_read_all_end", "",
        MPI_File_read_all_end(file, out.buffer, &out.status));
    MPI_File_write_all_begin(file, &data, 1, MPI_DOUBLE);
    ROW(MPI_ERR_OTHER, "MPI_File_write_all_begin", "",
        MPI_File_write_all_begin(file, &data, 1, MPI_DOUBLE));
    ROW(MPI_ERR_OTHER, "MPI_File_read_all_end", "",
        MPI_File_read_all_end(file, &data, &out.status));
    ROW(MPI_ERR_BUFFER, "MPI_File_write_all_end", "buf",
        MPI_File_write_all_end(file, &other, &out.status));
    ROW(MPI_ERR_OTHER, "MPI_File_close", "", MPI_File_close(&copy));
    MPI_File_write_all_end(file, &data, MPI_STATUS_IGNORE);
}

static int read_nothing(void *user, MPI_Datatype datatype, int count, void *stored,
                        MPI_Offset position, void *extra)
{
    (void)user, (void)datatype, (void)count, (void)stored, (void)position, (void)extra;
    return MPI_SUCCESS;
}

void rows_file(void)
{
    rows_open();
    rows_view();
    rows_places();
    rows_modes();
    rows_split();
    ROW(MPI_ERR_ERRHANDLER, "MPI_File_set_errhandler", "errhandler",
        MPI_File_set_errhandler(good.file, good.errhandler));
    ROW(MPI_ERR_DUP_DATAREP, "MPI_Register_datarep", "datarep",
        MPI_Register_datarep("native", read_nothing, read_nothing, extent_nothing, NULL));
    ROW(MPI_ERR_DUP_DATAREP, "MPI_Register_datarep_c", "datarep",
        MPI_Register_datarep_c("external32", NULL, NULL, extent_nothing, NULL));
    ROW(MPI_ERR_ARG, "MPI_Register_datarep", "datarep",
        MPI_Register_datarep("", read_nothing, read_nothing, extent_nothing, NULL));
}
