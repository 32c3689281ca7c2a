/* SPDX-License-Identifier: BSD-3-Clause */
/* The begin and the end of window objects. */
#include "mpi/rma/window_life.h"

#include "mpi/core/errhandler.h"
#include "mpi/rma/window_memory.h"
#include "mpi/type/attribute.h"

#include <stdlib.h>

int rz_win_new(struct rz_comm *comm, uint64_t operation, struct rz_win **win)
{
    int size = rz_comm_size(comm);
    struct rz_win *made = calloc(1, sizeof(*made));
    if (made) {
        made->targets = calloc((size_t)size, sizeof(*made->targets));
        made->post_open = calloc((size_t)size, sizeof(*made->post_open));
    }
    int error = made && made->targets && made->post_open ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (error == MPI_SUCCESS) {
        error = rz_comm_derive(comm, comm->group, operation, 0x3e12d0, &made->comm);
    }
    if (error != MPI_SUCCESS) {
        if (made) {
            free(made->targets);
            free(made->post_open);
        }
        free(made);
        return error;
    }
    rz_object_init(&made->object, RZ_OBJECT_WIN, 0);
    made->fd = -1;
    made->model = MPI_WIN_UNIFIED;
    made->rank = rz_comm_rank(comm);
    made->members = size;
    made->errhandler = rz_errhandler_predefined(0x141);
    rz_errhandler_retain(made->errhandler);
    made->comm->window = made;
    made->waiting_last = &made->waiting;
    for (int i = 0; i < size; i++) {
        made->targets[i].process = rz_comm_process(comm, i);
        made->targets[i].memory_fd = -1;
        made->targets[i].parts_last = &made->targets[i].parts;
    }
    *win = made;
    return MPI_SUCCESS;
}

static void end_regions(struct rz_win *win)
{
    struct rz_win_region *region;
    while ((region = win->regions) != NULL) {
        win->regions = region->next;
        free(region);
    }
}

void rz_win_end(struct rz_win *win, bool with_epoch)
{
    rz_win_unlist(win);
    rz_win_memory_end(win);
    rz_attributes_forget(&win->attributes);
    rz_errhandler_release(win->errhandler);
    if (win->started) {
        rz_group_release(win->started);
    }
    if (win->posted) {
        rz_group_release(win->posted);
    }
    end_regions(win);
    free(win->targets);
    free(win->post_open);
    win->comm->window = NULL;
    if (!with_epoch) {
        rz_comm_release(win->comm);
    }
    rz_object_release(&win->object);
    rz_object_retire(&win->object, sizeof(*win));
}
