/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folders of one process in a directory that others use, too (/tmp). The process holds its folder
 * by a lock, which the kernel releases when the process has ended in whatever way: a folder that is
 * not held was left over. A mark in it tells it from what others have given such a name.
 *
 * In a directory where other users could exchange the folder (port/own_path) none is made, and none
 * is swept.
 */
#ifndef RZ_PORT_PRIVATE_FOLDER_H
#define RZ_PORT_PRIVATE_FOLDER_H

#include "base/status.h"
#include "port/own_path.h"

#include <stdint.h>

/* A file of each such folder. */
#define RZ_PRIVATE_FOLDER_MARK ".rhizome-private"

/*
 * Makes the folder `path` with mode 0700 and holds it while *held is open, a descriptor that is
 * closed on exec. Nothing else may have this name. RZ_ERR_INVALID: *why says which folder others
 * could change. RZ_ERR_SYSTEM: errno says why. Then no folder is left.
 */
rz_status_t rz_private_folder_make(const char *path, int *held, struct rz_own_why *why);

/* Creates the file `name` for writing in a folder that is held; mode 0600, closed on exec. It
 * must not exist yet. RZ_ERR_SYSTEM: errno. */
rz_status_t rz_private_folder_create(int held, const char *name, int *fd);

/* Calls remove_it for each folder of this user in `parent` that has the mark, whose name is
 * `prefix` and `digits` hexadecimal digits, and that no process holds; an empty one without the
 * mark is removed. Where a file system has no locks, none is, nor where others could exchange them.
 */
void rz_private_folder_sweep(const char *parent, const char *prefix, unsigned digits,
                             void (*remove_it)(const char *path));

#endif
