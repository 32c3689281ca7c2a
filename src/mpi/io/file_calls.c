/* SPDX-License-Identifier: BSD-3-Clause */
/* Inquiries about files, their size, views and individual pointers. */
#include "mpi/engine/progress.h"
#include "mpi/io/file_object.h"
#include "mpi/io/shared_pointer.h"

#include <stdio.h>

int rzm_file_get_amode(struct rz_file *fh, int *amode)
{
    *amode = fh->amode;
    return MPI_SUCCESS;
}

int rzm_file_get_group(struct rz_file *fh, struct rz_group **group)
{
    rz_group_retain(fh->comm->group);
    *group = fh->comm->group;
    return MPI_SUCCESS;
}

int rzm_file_get_info(struct rz_file *fh, struct rz_info **info_used)
{
    return rz_file_hints_tell(&fh->hints, info_used);
}

/* Rank 0's hints are those of all. */
static int spread_hints(struct rz_file *file, struct rz_info *info)
{
    struct rz_file_hints hints = file->hints;
    int error = rz_file_agree(file, rz_file_hints_take(&hints, info, false));
    if (error == MPI_SUCCESS) {
        error =
            rzm_bcast(&hints, (MPI_Count)sizeof(hints), rz_datatype_of(MPI_BYTE), 0, file->comm);
    }
    if (error == MPI_SUCCESS) {
        file->hints = hints;
    }
    return error;
}

int rzm_file_set_info(struct rz_file *fh, struct rz_info *info)
{
    int error = rz_file_drain(fh, "MPI_File_set_info");
    return error != MPI_SUCCESS ? error : spread_hints(fh, info);
}

/* ---- ULFM ---- */

int rzm_file_revoke(struct rz_file *fh)
{
    return rzm_comm_revoke(fh->comm);
}

int rzm_file_is_revoked(struct rz_file *fh, int *flag)
{
    rz_engine_progress_inquiry();
    *flag = fh->comm->revoked;
    return MPI_SUCCESS;
}

/* ---- Size ---- */

int rzm_file_get_size(struct rz_file *fh, MPI_Offset *size)
{
    int64_t bytes;
    int error = rz_file_system_error(fh->system->size(fh->stored, &bytes), "look at", fh->name);
    if (error == MPI_SUCCESS) {
        *size = bytes;
    }
    return error;
}

/* Whether all members pass the same size. */
static int check_size(struct rz_file *file, MPI_Offset size)
{
    MPI_Offset mine[2] = {size, -size}, least[2];
    int error = rz_file_need_write(file);
    if (error == MPI_SUCCESS && size < 0) {
        error = rzm_error(MPI_ERR_ARG, "size is %lld, less than 0", (long long)size);
    }
    if (error == MPI_SUCCESS && (file->amode & MPI_MODE_SEQUENTIAL)) {
        error = rz_file_need_seek(file);
    }
    error = rz_file_agree(file, error);
    if (error == MPI_SUCCESS) {
        error = rzm_allreduce(mine, least, 2, rz_datatype_of(MPI_INT64_T), rz_op_predefined(0x22),
                              file->comm);
    }
    if (error == MPI_SUCCESS && least[0] != -least[1]) {
        error = rzm_error(MPI_ERR_NOT_SAME, "size is %lld here, and another one elsewhere",
                          (long long)size);
    }
    return error;
}

int rzm_file_set_size(struct rz_file *fh, MPI_Offset size)
{
    int error = rz_file_drain(fh, "MPI_File_set_size");
    error = error != MPI_SUCCESS ? error : check_size(fh, size);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (rz_comm_rank(fh->comm) == 0) {
        error = rz_file_system_error(fh->system->set_size(fh->stored, size), "set the size of",
                                     fh->name);
    }
    return rz_file_spread_error(fh, error);
}

int rzm_file_preallocate(struct rz_file *fh, MPI_Offset size)
{
    int error = rz_file_drain(fh, "MPI_File_preallocate");
    error = error != MPI_SUCCESS ? error : check_size(fh, size);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (rz_comm_rank(fh->comm) == 0) {
        error =
            rz_file_system_error(fh->system->allocate(fh->stored, size), "preallocate", fh->name);
    }
    return rz_file_spread_error(fh, error);
}

int rzm_file_sync(struct rz_file *fh)
{
    int error = rz_file_drain(fh, "MPI_File_sync");
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = rz_file_system_error(fh->system->sync(fh->stored), "sync", fh->name);
    return rz_file_agree(fh, error);
}

/* ---- Views ---- */

/* The arguments of MPI_File_set_view that all members must have alike. */
static int check_alike(struct rz_file *file, const struct rz_view *view)
{
    uint64_t name = 14695981039346656037U; /* FNV-1a of the representation */
    for (const char *c = rz_datarep_name(view->datarep); *c; c++) {
        name = (name ^ (unsigned char)*c) * 1099511628211U;
    }
    int64_t mark = (int64_t)(name >> 1), mine[4] = {mark, -mark, view->unit, -view->unit};
    int64_t least[4];
    int error = rzm_allreduce(mine, least, 4, rz_datatype_of(MPI_INT64_T), rz_op_predefined(0x22),
                              file->comm);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (least[0] != -least[1]) {
        return rzm_error(MPI_ERR_NOT_SAME, "datarep is \"%.40s\" here, and another one elsewhere",
                         rz_datarep_name(view->datarep));
    }
    if (least[2] != -least[3]) {
        return rzm_error(MPI_ERR_NOT_SAME, "etype has %lld bytes here, and others elsewhere",
                         (long long)view->unit);
    }
    return MPI_SUCCESS;
}

/* What is known without the other members. */
static int make_view(struct rz_file *file, MPI_Offset disp, struct rz_datatype *etype,
                     struct rz_datatype *filetype, const char *datarep, struct rz_view *view)
{
    const struct rz_datarep *found = rz_datarep_find(datarep);
    bool current = disp == MPI_DISPLACEMENT_CURRENT;
    if ((file->amode & MPI_MODE_SEQUENTIAL) != 0 && !current) {
        return rzm_error(MPI_ERR_ARG, "disp must be MPI_DISPLACEMENT_CURRENT in a file opened "
                                      "with MPI_MODE_SEQUENTIAL");
    }
    if (disp < 0 && !(current && (file->amode & MPI_MODE_SEQUENTIAL))) {
        return rzm_error(MPI_ERR_ARG, "disp is %lld, less than 0", (long long)disp);
    }
    if (!found) {
        return rzm_error(MPI_ERR_UNSUPPORTED_DATAREP,
                         "datarep \"%.40s\" is unknown (MPI_Register_datarep)", datarep);
    }
    if (current) {
        MPI_Offset place;
        int error = rzm_file_get_position_shared(file, &place);
        if (error != MPI_SUCCESS) {
            return error;
        }
        disp = rz_view_offset(&file->view, place * file->view.unit);
    }
    return rz_view_make(view, disp, etype, filetype, found, rz_file_writes(file));
}

int rzm_file_set_view(struct rz_file *fh, MPI_Offset disp, struct rz_datatype *etype,
                      struct rz_datatype *filetype, const char *datarep, struct rz_info *info)
{
    struct rz_view view;
    int error = rz_file_drain(fh, "MPI_File_set_view");
    if (error != MPI_SUCCESS) {
        return error;
    }
    int own = make_view(fh, disp, etype, filetype, datarep, &view);
    error = rz_file_agree(fh, own);
    error = error != MPI_SUCCESS ? error : check_alike(fh, &view);
    error = error != MPI_SUCCESS ? error : spread_hints(fh, info);
    if (error != MPI_SUCCESS) {
        if (own == MPI_SUCCESS) {
            rz_view_release(&view);
        }
        return error;
    }
    rz_view_release(&fh->view);
    fh->view = view;
    fh->position = 0;
    rz_shared_pointer_begin(fh, 0);
    return MPI_SUCCESS;
}

/* The handle for the user: a predefined type itself, otherwise a new object. */
static int give_type(struct rz_datatype *type, struct rz_datatype **given)
{
    if (rz_datatype_is_permanent(type)) {
        *given = type;
        return MPI_SUCCESS;
    }
    int error = rz_datatype_clone(type, given);
    if (error == MPI_SUCCESS) {
        (*given)->object.flags |= type->object.flags & RZ_DATATYPE_COMMITTED;
    }
    return error;
}

int rzm_file_get_view(struct rz_file *fh, MPI_Offset *disp, struct rz_datatype **etype,
                      struct rz_datatype **filetype, char *datarep)
{
    struct rz_datatype *unit;
    int error = give_type(fh->view.etype, &unit);
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = give_type(fh->view.filetype, filetype);
    if (error != MPI_SUCCESS) {
        if (!rz_datatype_is_permanent(unit)) {
            rz_datatype_release(unit);
        }
        return error;
    }
    *etype = unit;
    *disp = fh->view.disp;
    snprintf(datarep, MPI_MAX_DATAREP_STRING, "%s", rz_datarep_name(fh->view.datarep));
    return MPI_SUCCESS;
}

int rzm_file_get_type_extent(struct rz_file *fh, struct rz_datatype *datatype, MPI_Count *extent)
{
    struct rz_datatype *stored;
    int error = rz_datarep_type(fh->view.datarep, datatype, &stored);
    if (error == MPI_SUCCESS) {
        *extent = stored->extent;
        rz_datatype_release(stored);
    }
    return error;
}

int rzm_file_get_byte_offset(struct rz_file *fh, MPI_Offset offset, MPI_Offset *disp)
{
    int error = rz_file_need_seek(fh);
    if (error == MPI_SUCCESS && offset < 0) {
        error = rzm_error(MPI_ERR_ARG, "offset is %lld, less than 0", (long long)offset);
    }
    if (error == MPI_SUCCESS) {
        *disp = rz_view_offset(&fh->view, offset * fh->view.unit);
    }
    return error;
}

/* ---- The individual pointer ---- */

int rzm_file_get_position(struct rz_file *fh, MPI_Offset *offset)
{
    int error = rz_file_need_seek(fh);
    if (error == MPI_SUCCESS) {
        *offset = fh->position;
    }
    return error;
}

int rz_file_seek_from(struct rz_file *file, MPI_Count from, MPI_Offset offset, int whence,
                      MPI_Count *place)
{
    MPI_Offset size;
    int error = MPI_SUCCESS;
    switch (whence) {
    case MPI_SEEK_SET:
        from = 0;
        break;
    case MPI_SEEK_CUR:
        break;
    case MPI_SEEK_END:
        error = rzm_file_get_size(file, &size);
        if (error != MPI_SUCCESS) {
            return error;
        }
        from = rz_view_place(&file->view, size);
        if (from < 0) {
            return rzm_error(MPI_ERR_ARG, "no place of the view lies behind the end of the file");
        }
        from = (from + file->view.unit - 1) / file->view.unit;
        break;
    default:
        return rzm_error(MPI_ERR_ARG,
                         "whence is %d, not MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END", whence);
    }
    MPI_Count to;
    if (__builtin_add_overflow(from, offset, &to) || to < 0) {
        return rzm_error(MPI_ERR_ARG, "offset is %lld: that is before the begin of the view",
                         (long long)offset);
    }
    *place = to;
    return MPI_SUCCESS;
}

int rzm_file_seek(struct rz_file *fh, MPI_Offset offset, int whence)
{
    MPI_Count place;
    int error = rz_file_need_seek(fh);
    if (error == MPI_SUCCESS) {
        error = rz_file_seek_from(fh, fh->position, offset, whence, &place);
    }
    if (error == MPI_SUCCESS) {
        fh->position = place;
    }
    return error;
}
