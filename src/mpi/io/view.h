/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A view: the part of a file that a process sees, as a row of data bytes. A place in it is a
 * number of data bytes (or of etypes), and lies at an offset of the file.
 */
#ifndef RZ_MPI_VIEW_H
#define RZ_MPI_VIEW_H

#include "mpi/io/datarep.h"
#include "mpi/io/walk.h"

struct rz_view {
    MPI_Offset disp;
    struct rz_datatype *etype, *filetype; /* the program's, retained */
    const struct rz_datarep *datarep;
    struct rz_datatype *stored; /* the filetype as it is in the file, retained */
    MPI_Count unit;             /* bytes of an etype in the file */
    bool is_row;                /* the data are one row, from disp + stored->true_lb on */
    bool overlaps; /* within a tile a byte belongs to several places: only for reading */
    bool
        tiles_mix; /* a tile (a repetition of the filetype) begins before the end of the last one */
};

/* The arguments of MPI_File_set_view; disp >= 0. writes: the file may be written. An error about
 * them: MPI_ERR_ARG, MPI_ERR_TYPE; of the representation; MPI_ERR_NO_MEM. Nothing is made then. */
int rz_view_make(struct rz_view *view, MPI_Offset disp, struct rz_datatype *etype,
                 struct rz_datatype *filetype, const struct rz_datarep *datarep, bool writes);

/* Another reference to the same. */
void rz_view_copy(struct rz_view *view, const struct rz_view *from);
void rz_view_release(struct rz_view *view);

/* Begins a walk at a place of a view that has data (stored->size > 0). */
void rz_view_walk(const struct rz_view *view, MPI_Count place, struct rz_walk *walk);

/* The offset in the file of that place. */
MPI_Offset rz_view_offset(const struct rz_view *view, MPI_Count place);

/* Whether the offsets of these places grow from each to the next. bytes > 0 in this and the next.
 */
bool rz_view_grows(const struct rz_view *view, MPI_Count place, MPI_Count bytes);

/* All these places lie in [*begin, *end), which is no larger than needed if their offsets grow. */
void rz_view_span(const struct rz_view *view, MPI_Count place, MPI_Count bytes, MPI_Offset *begin,
                  MPI_Offset *end);

/* The first place of [low, high] that does not lie before that offset of the file, or high. The
 * offsets of the places must grow. */
MPI_Count rz_view_search(const struct rz_view *view, MPI_Count low, MPI_Count high,
                         MPI_Offset offset);

/* The first place of the view that does not lie before that offset; -1: there is none (the tiles
 * do not move ahead). If offsets grow it is also how many bytes of data lie before. */
MPI_Count rz_view_place(const struct rz_view *view, MPI_Offset offset);

#endif
