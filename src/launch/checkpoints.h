/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The folder of a job's checkpoint files, for rzrun. No other rzrun works in it, and before each
 * attempt the newest complete generation is found. This module reads and removes; the daemons write
 * (daemon/store/store_files.h). ckpt/file.h describes the files.
 */
#ifndef RZ_LAUNCH_CHECKPOINTS_H
#define RZ_LAUNCH_CHECKPOINTS_H

#include "ckpt/file.h"
#include "launch/rzrun_options.h"

struct rz_checkpoints {
    bool used; /* there is a folder; otherwise the other fields are not valid */
    struct rz_ckpt_folder folder;
    char path[4096];
    int lock_fd;
    uint32_t run;                       /* the number of this attempt */
    struct rz_ckpt_generation restored; /* the generation to begin from; number 0: none */
    /* What runs up to this one wrote from this number on is not used; number 0: all is. */
    struct rz_ckpt_generation given_up;
    struct rz_ckpt_generation fell_from; /* where the last attempt that gave one up had begun, */
    uint32_t fell_in;                    /* and its number */
    bool none_whole;                     /* none of the generations of earlier runs is complete */
};

/*
 * Makes the folder and locks it. A folder that another rzrun works in, that holds checkpoints
 * without a request to continue from them, or that cannot be written, is refused: false, after a
 * message on standard error. Without --checkpoint-dir there is nothing to do.
 */
bool rz_checkpoints_open(struct rz_checkpoints *checkpoints,
                         const struct rz_rzrun_options *options);

/*
 * Before an attempt: cleans up after the one before, and finds where to begin. Incomplete
 * generations are reported on standard error and skipped; if there is no complete one, a message
 * says that the job begins at its beginning. False: the folder cannot be used, or the user
 * requested to continue from it and none of its generations is complete.
 */
bool rz_checkpoints_attempt(struct rz_checkpoints *checkpoints,
                            const struct rz_rzrun_options *options, bool first);

/* A rank of this attempt could not be restored from this generation, or not go on: the following
 * attempts use an older one. If two in turn began from the same one, that leads here, too. */
void rz_checkpoints_give_up(struct rz_checkpoints *checkpoints, uint64_t number);

/* The job is over: after success its checkpoints are removed, unless they are to be kept; else a
 * message says where they are, if a job can continue from any. */
void rz_checkpoints_close(struct rz_checkpoints *checkpoints,
                          const struct rz_rzrun_options *options, int status);

#endif
