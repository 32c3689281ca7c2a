/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scratch folder of a job on a node: files in the machine's memory that belong to the job's
 * processes and go with the node. Its name is the variable RZ_SCRATCH of every process; the first
 * process that needs it makes it, mode 0700. Whatever ends the node, it is removed when all of the
 * node's processes are gone: by the daemon at its end in order, else by the keeper.
 */
#ifndef RZ_DAEMON_SCRATCH_H
#define RZ_DAEMON_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#define RZ_SCRATCH_PATH_MAX 64

/* Emulated nodes share a machine's memory: each has a folder of its own, with its number. */
void rz_scratch_path(char path[RZ_SCRATCH_PATH_MAX], uint64_t job, uint32_t node);

/* Removes the folder with all that is in it; none, or one of another user, is no error. Follows no
 * link. "": nothing. */
void rz_scratch_remove(const char *path);

#endif
