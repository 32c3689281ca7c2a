/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that the program opens, writes to and closes between two snapshots. An image has the files
 * that are open; of others it has the length, if this process has written to them before. Of one
 * that it opens for writing for the first time the daemons get a mark before the program writes
 * (daemon/service/file_marks.h): which file it is, and how long; and one before that it is about to
 * make it, if it is not there. A process that continues from an image cuts all these files before
 * any rank goes on.
 *
 * What is in a small file (RZ_FILE_CONTENT_MAX) goes to the daemons before the program changes it
 * for the first time after a snapshot: empties or cuts it, opens it to write anywhere in it, gives
 * its name to another file, or another name to it; and at once after the snapshot if it is open so.
 * A process that continues from the image writes it back. Of a larger file they get a mark without
 * content if the program has opened it for reading since the snapshot: then it may depend on what
 * is gone, and the image is not restored. If it has not, it writes the file again when it runs
 * again, as it did before.
 *
 * What was written after the image, and stays, is not read by the process that continues from it
 * (undone_files.h): before the program does, the daemons get a mark with which the images of that
 * moment and before are not restored, and the process ends.
 *
 * Calls that open files are led here (port/redirect.h) from MPI_Init to MPI_Finalize, in a job that
 * rewinds. If an image has a file open that is emptied ("w", ftruncate), what it had is gone that
 * the image needs, and the daemons get a mark of that image's moment: it is not restored.
 */
#ifndef RZ_MPI_CLOSED_FILES_H
#define RZ_MPI_CLOSED_FILES_H

#include "image/image.h"
#include "link/link.h"

/* Before main: also pointers that the program takes to these calls before MPI_Init mean those that
 * are led. */
void rz_closed_files_lead(void);

/* From MPI_Init to MPI_Finalize. */
void rz_closed_files_begin(void);
void rz_closed_files_close(void);

/* Before this process is saved: until rz_closed_files_go_on no thread opens a file for writing. The
 * image has these files, [*n], and marks from now on are made after this moment. */
const struct rz_image_closed *rz_closed_files_hold(uint64_t moment, uint32_t *n);
void rz_closed_files_go_on(void); /* in this process, or in the restored one */

/* What all processes have in common that restore files at the start of this epoch, and no others.
 */
uint64_t rz_closed_files_round(const struct rz_link *link, uint32_t epoch);

/* In the restored process, before the epoch begins, until which no rank writes. False: *why says
 * which file it has open that the image is of no use with. */
bool rz_closed_files_undone(uint32_t epoch, char *why, size_t max);

/* In a new process, before it becomes an image of that moment: cuts the files that were appended to
 * since, and writes back what was in others; and waits until the processes in the place of all
 * ranks have. RZ_ERR_UNSUPPORTED: *why says what is in the way. */
rz_status_t rz_closed_files_restore(struct rz_link *link, uint32_t epoch, uint64_t since, char *why,
                                    size_t max);

/* In one that begins at its start: says which files have what this rank has written in the failed
 * run, the first one and how many more. They cannot be cut, since other ranks may have begun to
 * write. */
void rz_closed_files_tell(struct rz_link *link, uint32_t epoch);

#endif
