/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints in files, for the ULFM way: each process writes its own, to a directory that all
 * nodes see. It tolerates the loss of any processes and nodes, as long as one process lives.
 *
 *     DIR/JOB/rank-3.KEY       JOB is drawn by each run; KEY says which iteration, after which
 * repair
 *
 * A file gets its name when its content is on disk: it is written under another one, synchronised,
 * named, and the directory synchronised. The newest two that all have agreed on stay. Files are
 * checked when they are read: the owner, and a checksum; a damaged file is reported, and all go
 * back to the previous one. A file that cannot be written ends the job.
 *
 * At the end of the loop the files are removed. After any other end they stay, without use: in this
 * way no job continues another one.
 */
#ifndef RECOVERY_FILES_H
#define RECOVERY_FILES_H

#include "recovery_ulfm.h"

/* Before recovery_ulfm_run; the string stays the caller's. Made if its parent exists. */
void recovery_files_open(const char *directory);

extern const struct recovery_store recovery_files;

#endif
