/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In a job that rewinds: how long files were before a process wrote to them that its image does not
 * have open, and what was in small ones before it changed them (mpi/rewind/closed_files.h). A mark
 * is with the daemon of the process, and with that of another node, before the process writes: so
 * it outlives either. After a failure the processes in the place of all ranks ask for the marks of
 * what is rolled back, and restore the files, before the epoch begins.
 *
 * A mark belongs to the moment of the last snapshot before it; one of a file that was emptied, to
 * that of the last one that had the file open, which is of no use then. It is kept as long as the
 * job may go back to that snapshot, or to an earlier one. A daemon keeps RZ_FILE_MARKS_EACH of each
 * rank. Of more those are forgotten whose file was created after the snapshot and is gone; then the
 * oldest of this rank are dropped, and the job does not go back to a snapshot before them. So it is
 * with what was in files, of which a daemon keeps RZ_FILE_CONTENTS_EACH bytes of each rank: the
 * oldest marks lose it.
 *
 * All nodes know who has marks of which moment (mark_keepers.h): if these nodes fail at once, an
 * image of that moment or an earlier one is not restored.
 *
 * A mark of a rename goes to all daemons, so that each knows which names ranks have used: an image
 * after which two of them have used one name is not restored.
 */
#ifndef RZ_DAEMON_FILE_MARKS_H
#define RZ_DAEMON_FILE_MARKS_H

#include "daemon/overlay/overlay.h"
#include "daemon/overlay/overlay_router.h"
#include "daemon/process/link_router.h"

struct rz_file_marks;

#define RZ_FILE_MARKS_EACH 16384          /* of each rank, that a daemon keeps */
#define RZ_FILE_CONTENTS_EACH (16u << 20) /* bytes of what was in files, of each rank */

struct rz_file_marks_config {
    const struct rz_own_node *own;
    struct rz_link_router *router;
    struct rz_overlay *overlay;
    struct rz_overlay_router *overlay_router;
    /* The process cannot become the image that it was given (rz_store_unrestored). */
    void (*unrestored)(void *arg, struct rz_child *process, const char *why);
    void *arg;
};

/* In a job without RZ_JOB_REWIND there is nothing to mark: *marks is NULL. */
rz_status_t rz_file_marks_open(struct rz_file_marks **marks,
                               const struct rz_file_marks_config *config);
void rz_file_marks_close(struct rz_file_marks *marks); /* NULL: nothing */

/* Images are committed; those before are of that moment (0: not known, or of another epoch), and
 * the job may still go back to them, but to no older ones, so that their marks are forgotten. NULL:
 * nothing. */
void rz_file_marks_committed(struct rz_file_marks *marks, uint64_t before);

/* A subscriber of the membership. */
void rz_file_marks_node_failed(void *marks, rz_id node, bool proof, bool first);

#endif
