/*
 * Checkpoints in files, for the ULFM way: each process writes its own, to a directory that all
 * nodes see. It bears the loss of any processes and nodes, as long as one process lives.
 *
 *     DIR/JOB/rank-3.KEY       JOB is drawn by each run; KEY says which iteration, after which
 * repair
 *
 * A file gets its name when its content is on the disk: it is written under another one,
 * synchronised, named, and the directory synchronised. The newest two that all have agreed on stay.
 * What is read is checked: whose it is, and by a checksum; of a file that is damaged that is said,
 * and all go back to the one before. A file that cannot be written ends the job.
 *
 * At the end of the loop the files go. After any other end they stay, of use for nobody: this way
 * has no job that goes on in the place of another one.
 */
#ifndef RECOVERY_FILES_H
#define RECOVERY_FILES_H

#include "recovery_ulfm.h"

/* Before recovery_ulfm_run; the string stays the caller's. Made if its parent is there. */
void recovery_files_open(const char *directory);

extern const struct recovery_store recovery_files;

#endif
