/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scratch folder of a job on a node: files in the machine's memory that belong to the job's
 * processes and disappear with the node. Its name has a random part, so that no other user of the
 * machine can make it first. The variable RZ_SCRATCH of every process names it; the daemon makes it
 * for a gateway, else the first process that needs it does, with mode 0700. It is removed when all
 * processes of the node have ended, however the node ends: by the daemon when it ends in order,
 * else by the keeper.
 */
#ifndef RZ_DAEMON_SCRATCH_H
#define RZ_DAEMON_SCRATCH_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define RZ_SCRATCH_PATH_MAX 256

/* Chooses a name; a new one each time. Emulated nodes share a machine's memory: each has a folder
 * of its own, named with its number. */
void rz_scratch_choose(char path[RZ_SCRATCH_PATH_MAX], uint64_t job, uint32_t node);

/* RZ_ERR_SYSTEM: it cannot be made, or something has this name; errno. */
rz_status_t rz_scratch_make(const char *path);

/* Removes the folder with everything in it. No folder, or a folder of another user, is no error.
 * Follows no links. path "": nothing to do. */
void rz_scratch_remove(const char *path);

#endif
