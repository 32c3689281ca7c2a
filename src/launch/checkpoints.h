/*
 * The folder of a job's checkpoint files, seen from rzrun: nobody else works in it, and before each
 * attempt the newest generation that is whole is found. Reads and removes; what is written is the
 * daemons' (daemon/store/store_files.h). What lies there: ckpt/file.h.
 */
#ifndef RZ_LAUNCH_CHECKPOINTS_H
#define RZ_LAUNCH_CHECKPOINTS_H

#include "ckpt/file.h"
#include "launch/rzrun_options.h"

struct rz_checkpoints {
    bool used; /* there is a folder; else nothing below counts */
    struct rz_ckpt_folder folder;
    char path[4096];
    int lock_fd;
    uint32_t run;                       /* of this attempt */
    struct rz_ckpt_generation restored; /* to begin from; number 0: nothing */
    bool none_whole;                    /* of the generations that earlier runs have left */
};

/*
 * Makes the folder and takes it. A folder that another rzrun works in, or that holds checkpoints
 * which nobody asked to go on from, is refused, as is one that cannot be written: false, and it was
 * said on standard error. Without --checkpoint-dir there is nothing to do.
 */
bool rz_checkpoints_open(struct rz_checkpoints *checkpoints,
                         const struct rz_rzrun_options *options);

/*
 * Before an attempt: clears up after the one before, and finds where to begin. Generations that are
 * not whole are said on standard error and passed over; when there is none, it is said that the job
 * begins at its beginning. False: the folder cannot be used, or, when
 * the user asked to go on from it, none of its generations is whole.
 */
bool rz_checkpoints_attempt(struct rz_checkpoints *checkpoints,
                            const struct rz_rzrun_options *options, bool first);

/* The job is over: after success its checkpoints go, unless they are to be kept; else it is said
 * where they are, if any can be gone on from. */
void rz_checkpoints_close(struct rz_checkpoints *checkpoints,
                          const struct rz_rzrun_options *options, int status);

#endif
