/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective reading and writing: MPI_File_read_all, _write_all, and their variants _at_all and
 * _ordered; without blocking; and split in two calls.
 */
#include "mpi/io/two_phase.h"

#include "mpi/request/wait.h"

/* What a call is about. */
struct file_call {
    enum call_place { CALL_AT, CALL_NEXT, CALL_ORDERED } place;
    bool writes;
    MPI_Offset offset;
    struct rz_access_data data;
};

static int start_collective(struct rz_file *file, const struct file_call *call,
                            struct rz_request **request)
{
    MPI_Count units;
    int error = call->writes ? rz_file_need_write(file) : rz_file_need_read(file);
    if (error == MPI_SUCCESS && call->place != CALL_ORDERED) {
        error = rz_file_need_seek(file);
    }
    if (error != MPI_SUCCESS) {
        return error; /* at all members alike */
    }
    struct rz_collective collective = {.from = call->place == CALL_ORDERED ? RZ_PLACE_ORDERED
                                                                           : RZ_PLACE_GIVEN,
                                       .writes = call->writes,
                                       .place = call->place == CALL_AT     ? call->offset
                                                : call->place == CALL_NEXT ? file->position
                                                                           : 0,
                                       .data = call->data};
    error = rz_collective_start(file, &collective, request, &units);
    if (error == MPI_SUCCESS && call->place == CALL_NEXT) {
        file->position += units;
    }
    return error;
}

static int run_collective(struct rz_file *file, const struct file_call *call, const char *name,
                          MPI_Status *status)
{
    struct rz_request *request;
    int error = start_collective(file, call, &request);
    return error != MPI_SUCCESS ? error : rz_file_op_wait(request, name, status);
}

#define CALL(where, writing, at)                                                                   \
    (&(struct file_call){                                                                          \
        .place = (where), .writes = (writing), .offset = (at), .data = {buf, count, datatype}})

/* ---- Blocking ---- */

int rzm_file_read_all(struct rz_file *fh, void *buf, MPI_Count count, struct rz_datatype *datatype,
                      MPI_Status *status)
{
    return run_collective(fh, CALL(CALL_NEXT, false, 0), "MPI_File_read_all", status);
}

int rzm_file_write_all(struct rz_file *fh, const void *buf, MPI_Count count,
                       struct rz_datatype *datatype, MPI_Status *status)
{
    return run_collective(fh, CALL(CALL_NEXT, true, 0), "MPI_File_write_all", status);
}

int rzm_file_read_at_all(struct rz_file *fh, MPI_Offset offset, void *buf, MPI_Count count,
                         struct rz_datatype *datatype, MPI_Status *status)
{
    return run_collective(fh, CALL(CALL_AT, false, offset), "MPI_File_read_at_all", status);
}

int rzm_file_write_at_all(struct rz_file *fh, MPI_Offset offset, const void *buf, MPI_Count count,
                          struct rz_datatype *datatype, MPI_Status *status)
{
    return run_collective(fh, CALL(CALL_AT, true, offset), "MPI_File_write_at_all", status);
}

int rzm_file_read_ordered(struct rz_file *fh, void *buf, MPI_Count count,
                          struct rz_datatype *datatype, MPI_Status *status)
{
    return run_collective(fh, CALL(CALL_ORDERED, false, 0), "MPI_File_read_ordered", status);
}

int rzm_file_write_ordered(struct rz_file *fh, const void *buf, MPI_Count count,
                           struct rz_datatype *datatype, MPI_Status *status)
{
    return run_collective(fh, CALL(CALL_ORDERED, true, 0), "MPI_File_write_ordered", status);
}

/* ---- Non-blocking ---- */

int rzm_file_iread_all(struct rz_file *fh, void *buf, MPI_Count count, struct rz_datatype *datatype,
                       struct rz_request **request)
{
    return start_collective(fh, CALL(CALL_NEXT, false, 0), request);
}

int rzm_file_iwrite_all(struct rz_file *fh, const void *buf, MPI_Count count,
                        struct rz_datatype *datatype, struct rz_request **request)
{
    return start_collective(fh, CALL(CALL_NEXT, true, 0), request);
}

int rzm_file_iread_at_all(struct rz_file *fh, MPI_Offset offset, void *buf, MPI_Count count,
                          struct rz_datatype *datatype, struct rz_request **request)
{
    return start_collective(fh, CALL(CALL_AT, false, offset), request);
}

int rzm_file_iwrite_at_all(struct rz_file *fh, MPI_Offset offset, const void *buf, MPI_Count count,
                           struct rz_datatype *datatype, struct rz_request **request)
{
    return start_collective(fh, CALL(CALL_AT, true, offset), request);
}

/* ---- Split ---- */

static const char *const split_names[][2] = {
    {"MPI_File_read_at_all", "MPI_File_write_at_all"},
    {"MPI_File_read_all", "MPI_File_write_all"},
    {"MPI_File_read_ordered", "MPI_File_write_ordered"},
};

static int split_kind(enum call_place place, bool writes)
{
    return 2 * (int)place + writes;
}

static int begin_split(struct rz_file *file, const struct file_call *call)
{
    if (file->split) {
        return rzm_error(MPI_ERR_OTHER, "a split collective call (%s_begin) has not ended",
                         split_names[file->split_kind / 2][file->split_kind % 2]);
    }
    struct rz_request *request;
    int error = start_collective(file, call, &request);
    if (error == MPI_SUCCESS) {
        file->split = request;
        file->split_kind = split_kind(call->place, call->writes);
        file->split_buffer = call->data.buffer;
    }
    return error;
}

static int end_split(struct rz_file *file, enum call_place place, bool writes, const void *buffer,
                     MPI_Status *status)
{
    struct rz_request *request = file->split;
    if (!request && file->comm->revoked) { /* begin has said so, and has begun nothing */
        return rzm_error(MPI_ERR_REVOKED, "\"%.120s\" was revoked", file->name);
    }
    if (!request || file->split_kind != split_kind(place, writes)) {
        return rzm_error(MPI_ERR_OTHER, "%s_begin was not called before",
                         split_names[place][writes]);
    }
    if (file->split_buffer != buffer) {
        return rzm_error(MPI_ERR_BUFFER, "buf is not the one of %s_begin",
                         split_names[place][writes]);
    }
    int error = rz_file_op_wait(request, split_names[place][writes], status);
    if (error != RZM_ROLLBACK) {
        file->split = NULL;
    }
    return error;
}

int rzm_file_read_all_begin(struct rz_file *fh, void *buf, MPI_Count count,
                            struct rz_datatype *datatype)
{
    return begin_split(fh, CALL(CALL_NEXT, false, 0));
}

int rzm_file_write_all_begin(struct rz_file *fh, const void *buf, MPI_Count count,
                             struct rz_datatype *datatype)
{
    return begin_split(fh, CALL(CALL_NEXT, true, 0));
}

int rzm_file_read_at_all_begin(struct rz_file *fh, MPI_Offset offset, void *buf, MPI_Count count,
                               struct rz_datatype *datatype)
{
    return begin_split(fh, CALL(CALL_AT, false, offset));
}

int rzm_file_write_at_all_begin(struct rz_file *fh, MPI_Offset offset, const void *buf,
                                MPI_Count count, struct rz_datatype *datatype)
{
    return begin_split(fh, CALL(CALL_AT, true, offset));
}

int rzm_file_read_ordered_begin(struct rz_file *fh, void *buf, MPI_Count count,
                                struct rz_datatype *datatype)
{
    return begin_split(fh, CALL(CALL_ORDERED, false, 0));
}

int rzm_file_write_ordered_begin(struct rz_file *fh, const void *buf, MPI_Count count,
                                 struct rz_datatype *datatype)
{
    return begin_split(fh, CALL(CALL_ORDERED, true, 0));
}

int rzm_file_read_all_end(struct rz_file *fh, void *buf, MPI_Status *status)
{
    return end_split(fh, CALL_NEXT, false, buf, status);
}

int rzm_file_write_all_end(struct rz_file *fh, const void *buf, MPI_Status *status)
{
    return end_split(fh, CALL_NEXT, true, buf, status);
}

int rzm_file_read_at_all_end(struct rz_file *fh, void *buf, MPI_Status *status)
{
    return end_split(fh, CALL_AT, false, buf, status);
}

int rzm_file_write_at_all_end(struct rz_file *fh, const void *buf, MPI_Status *status)
{
    return end_split(fh, CALL_AT, true, buf, status);
}

int rzm_file_read_ordered_end(struct rz_file *fh, void *buf, MPI_Status *status)
{
    return end_split(fh, CALL_ORDERED, false, buf, status);
}

int rzm_file_write_ordered_end(struct rz_file *fh, const void *buf, MPI_Status *status)
{
    return end_split(fh, CALL_ORDERED, true, buf, status);
}

/* ---- Atomic mode ---- */

int rzm_file_set_atomicity(struct rz_file *fh, int flag)
{
    int mine[2] = {flag != 0, -(flag != 0)}, least[2];
    int error = rz_file_drain(fh, "MPI_File_set_atomicity");
    error = error != MPI_SUCCESS ? error
                                 : rzm_allreduce(mine, least, 2, rz_datatype_of(MPI_INT),
                                                 rz_op_predefined(0x22), fh->comm);
    if (error == MPI_SUCCESS && least[0] != -least[1]) {
        error = rzm_error(MPI_ERR_NOT_SAME, "flag is not the same at all processes");
    }
    if (error == MPI_SUCCESS) {
        fh->atomic = flag != 0;
    }
    return error;
}

int rzm_file_get_atomicity(struct rz_file *fh, int *flag)
{
    *flag = fh->atomic;
    return MPI_SUCCESS;
}
