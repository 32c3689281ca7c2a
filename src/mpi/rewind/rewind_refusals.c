/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects whose state lies outside of the process: windows, open files, ports, published names. */
#include "mpi/rewind/rewind_refusals.h"

#include "base/no_memory.h"
#include "image/image.h"
#include "mpi/create/service.h"
#include "mpi/engine/paths.h"
#include "mpi/io/file_object.h"
#include "mpi/io/file_request.h"
#include "mpi/rewind/image_keep.h"
#include "mpi/rma/window_life.h"

#include <stdio.h>
#include <stdlib.h>

bool rz_snapshot_objects(char *why, size_t max)
{
    const char *what = rz_wins_first()        ? "a window exists (MPI_Win_create and others)"
                       : rz_win_is_made_now() ? "a window is being made (MPI_Win_create and others)"
                       : rz_file_is_open()    ? "a file is open (MPI_File_open)"
                       : rz_port_first() > 0  ? "a port is open (MPI_Open_port)"
                       : rz_service_publishes() ? "it has published a name (MPI_Publish_name)"
                                                : NULL;
    if (what) {
        snprintf(why, max, "%s", what);
    }
    return what;
}

/* ---- What is the library's, and in no image ---- */

static struct {
    int *fds; /* [n], as they were at the last look: a number may be the program's by now */
    unsigned n, max;
} ours;
static int excluded_thread; /* of the link */

static void exclude_descriptor(void *arg, int fd)
{
    (void)arg;
    if (ours.n == ours.max) {
        unsigned more = ours.max == 0 ? 64 : ours.max * 2;
        int *bigger = realloc(ours.fds, more * sizeof(*bigger));
        rz_need_memory(bigger, "for a snapshot");
        ours.fds = bigger;
        ours.max = more;
    }
    ours.fds[ours.n++] = fd;
    rz_image_exclude_descriptor(fd);
}

void rz_snapshot_leave_out(void)
{
    while (ours.n > 0) {
        rz_image_include_descriptor(ours.fds[--ours.n]);
    }
    rz_link_descriptors(rz_engine.link, exclude_descriptor, NULL);
    rz_paths_descriptors(exclude_descriptor, NULL);
    rz_image_each_descriptor(exclude_descriptor, NULL);
    int thread = rz_link_thread(rz_engine.link);
    if (thread != excluded_thread) {
        rz_image_include_thread(excluded_thread);
        rz_image_exclude_thread(thread);
        excluded_thread = thread;
    }
}

bool rz_snapshot_possible(char *why, size_t max)
{
    if (rz_snapshot_objects(why, max)) {
        return false;
    }
    rz_file_requests_rest(); /* no image can have its thread */
    rz_snapshot_leave_out();
    return rz_image_check(why, max) == RZ_OK;
}
